"""Damaged files: no crash, no hang, no row lost without a word. `python -m tests.kit.fuzz` tries 20,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.fuzz import trouble
from tests.kit.mutate import damaged


@pytest.mark.parametrize("hundred", range(6))
def test_damaged_files(tmp_path: Path, hundred: int) -> None:
    found = {}
    for number in range(hundred * 100, hundred * 100 + 100):
        (tmp_path / "v.duckdb").unlink(missing_ok=True)
        found[number] = trouble(damaged(number), tmp_path)
    assert {number: said for number, said in found.items() if said} == {}
