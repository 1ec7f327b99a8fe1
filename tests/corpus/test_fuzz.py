"""Damaged files: no crash, no hang, no row lost without a word. `python -m tests.kit.fuzz` tries 20,000."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kit.fuzz import trouble
from tests.kit.mutate import damaged

FILES = int(os.environ.get("PEEK_FUZZ", "240"))
"""The whole size is 600."""


@pytest.mark.parametrize("part", range(4))
def test_damaged_files(tmp_path: Path, part: int) -> None:
    found = {}
    for number in range(part, FILES, 4):
        (tmp_path / "v.duckdb").unlink(missing_ok=True)
        found[number] = trouble(damaged(number), tmp_path)
    assert {number: said for number, said in found.items() if said} == {}
