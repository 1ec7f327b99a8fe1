"""Two exports as files, read, matched and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from peek_core.corpus.load import Source, load_files
from peek_core.corpus.versions.compare import compare
from peek_core.corpus.versions.propose import propose
from peek_core.corpus.versions.settle import settle
from peek_core.values.dataset import LoadReport
from peek_core.values.versions import ColumnMatch, DataDiff, Proposal


@dataclass
class Exports:
    """The old and the new file of rows, and how each was read."""

    old: Path
    new: Path
    before: LoadReport
    after: LoadReport
    folder: Path

    def proposed(self) -> Proposal:
        return propose(self.old, self.new, self.before, self.after, self.folder / "spill")

    def matched(self) -> dict[str, ColumnMatch]:
        """By the new column."""
        return {c.new: c for t in self.proposed().tables for c in t.columns}

    def settled(self, agreed: Proposal | None = None) -> LoadReport:
        return settle(self.old, self.new, self.before, self.after, agreed or self.proposed())

    def compared(self) -> DataDiff:
        report = self.settled()
        return compare(self.old, self.new, self.before, report, self.folder / "spill")

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Of the new file as it stands."""
        con = duckdb.connect(str(self.new), read_only=True)
        try:
            return con.execute(sql).fetchall()
        finally:
            con.close()


@pytest.fixture
def exports(tmp_path: Path) -> Callable[..., Exports]:
    """From texts of CSV files: name -> text of each export."""

    def made(old: dict[str, str] | str, new: dict[str, str] | str) -> Exports:
        files = []
        for n, texts in enumerate((old, new)):
            named = {"feedback.csv": texts} if isinstance(texts, str) else texts
            folder = tmp_path / str(n)
            folder.mkdir()
            sources = []
            for name, text in named.items():
                (folder / name).write_text(text, "utf-8")
                sources.append(Source(folder / name, name))
            target = tmp_path / f"{n}.duckdb"
            files.append((target, load_files(sources, target)))
        (a, before), (b, after) = files
        return Exports(a, b, before, after, tmp_path)

    return made
