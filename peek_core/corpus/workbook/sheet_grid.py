"""Cells of a sheet: what they are, how they look as text, and how a sheet speaks of their places.

Owns: the type of a cell and of a merged range. Refuses to know tables and file formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta

Cell = int | float | str | bool | time | date | datetime | timedelta | None
Row = list[Cell]
Merge = tuple[tuple[int, int], tuple[int, int]]
"""First and last cell of a merged range as (row, column), counted from 0."""


def filled(row: Sequence[Cell]) -> int:
    """Cells that hold something."""
    return len(row) - row.count(None)


def is_number(cell: Cell) -> bool:
    """Whether it is a number, which truth values are not."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def text_of(cell: Cell) -> str:
    """A cell as a person reads it; empty for an empty one."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ") if cell.time() != time(0) else cell.date().isoformat()
    if isinstance(cell, timedelta):
        seconds, rest = divmod(abs(cell), timedelta(seconds=1))
        part = f".{rest.microseconds:06}".rstrip("0") if rest else ""
        sign = "-" if cell < timedelta(0) else ""
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{part}"
    return str(cell)


def letters(column: int) -> str:
    """The name of a column: 0 is A, 26 is AA."""
    name, left = "", column + 1
    while left:
        left, digit = divmod(left - 1, 26)
        name = chr(65 + digit) + name
    return name


def covered(merge: Merge, rows: range, columns: range) -> Iterator[tuple[int, int]]:
    """The cells of a merged range that lie within rows and columns."""
    (top, left), (bottom, right) = merge
    for row in range(max(top, rows.start), min(bottom + 1, rows.stop)):
        for column in range(max(left, columns.start), min(right + 1, columns.stop)):
            yield row, column
