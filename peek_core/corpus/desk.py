"""What every reader of a format is handed, and what it gives back.

Owns: the shapes between `load` and the readers. Refuses to know formats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from peek_core.values.dataset import Doubt, ReadChoices, TableReport

Progress = Callable[[str, float | None], None]
"""Told the stage in words and the fraction done of that stage (0..1, None where unknown)."""


@dataclass(frozen=True)
class Desk:
    """Where one file is read: the database its tables go to, a folder for copies, and what was settled about it."""

    con: duckdb.DuckDBPyConnection
    work: Path
    label: str
    """What the person calls the file."""
    name: Callable[[str], str]
    """A new table name for a label; never one that is taken."""
    tell: Progress
    choices: ReadChoices
    every_cell: bool = False
    """Compare all cells of a loaded text file with the file, not only those of sampled rows."""


@dataclass(frozen=True)
class Loaded:
    """A table that now stands in the database, and what should be said about it."""

    report: TableReport
    doubts: tuple[Doubt, ...]
