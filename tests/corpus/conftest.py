"""Helpers of the corpus tests: write a file, load it for real, look into the DuckDB file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from peek_core.corpus.load import load_file
from peek_core.values.dataset import Column, LoadReport, TableReport


@dataclass(frozen=True)
class Shelf:
    """One loaded file: its report, and SQL over its table `t`."""

    report: LoadReport
    path: Path

    @property
    def table(self) -> TableReport:
        return self.report.tables[0]

    def column(self, name: str) -> Column:
        return next(c for c in self.table.columns if c.name == name)

    def types(self) -> dict[str, str]:
        return {c.name: c.type for c in self.table.columns}

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.path), read_only=True) as con:
            return con.execute(query).fetchall()


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Shelf]:
    """Loads bytes or text (as UTF-8) and checks that nothing but the source and the target is left."""

    def run(content: bytes | str, *, name: str = "t.csv") -> Shelf:
        source = tmp_path / name
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        target = folder / "v1.duckdb"
        try:
            report = load_file(source, target, label="t")
        finally:
            assert [p.name for p in folder.iterdir() if p.name != "v1.duckdb"] == []
        return Shelf(report, target)

    return run
