"""Rows below a table that sum it up, which would be counted twice if they were read as data.

Owns: telling such a row, and proving it by its numbers. Refuses to leave a row out on its words alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from peek_core.corpus.workbook.sheet_grid import Cell, Row, is_number, text_of
from peek_core.values.dataset import Doubt

_WORDS = (
    "totals?|sums?|summe|gesamt|gesamtsumme|insgesamt|somme|totale|total général|suma|итого|всего|合计|总计"
    "|averages?|avg|means?|durchschnitt|mittelwert|moyenne|media|count|anzahl"
)
_SUMMARY = re.compile(rf"(?:(?:grand|overall|sub|zwischen)[\s-]*)?(?:{_WORDS})\s*[:.]?", re.IGNORECASE)
_BEGINS = re.compile(rf"(?:(?:grand|overall|sub|zwischen)[\s-]*)?(?:{_WORDS})\b.{{0,30}}", re.IGNORECASE)


@dataclass(frozen=True)
class Kept:
    """Places of the rows that are data, and what is said of the others."""

    rows: tuple[int, ...]
    repairs: tuple[str, ...]
    doubts: tuple[Doubt, ...]


def is_summary(row: Row) -> bool:
    """Whether the words of a row say that it sums up others."""
    return bool(_SUMMARY.fullmatch(_first_text(row)))


def without_summaries(rows: Sequence[Row], numbers: Sequence[int], labels: Sequence[str]) -> Kept:
    """Which rows are data: all but those at the end that sum up the others. `numbers` are those of the sheet."""
    start = len(rows)
    while start > 1 and _BEGINS.fullmatch(_first_text(rows[start - 1])):
        start -= 1
    left = list(range(start, len(rows)))
    proofs: dict[int, str] = {}
    while left:
        # What turns out to be data counts for the others.
        data = [row for n, row in enumerate(rows) if n not in left]
        proofs = {n: _proof(rows[n], data, labels) for n in left}
        if all(proofs.values()):
            break
        left = [n for n in left if proofs[n]]
    doubts: list[Doubt] = []
    for n in range(start, len(rows)):
        if n not in left and is_summary(rows[n]):
            what = f"“{_first_text(rows[n])}” looks like a summary, but no number proves it; it was kept as data"
            doubts.append(Doubt(f"row {numbers[n]}", what, "leave the row out"))
    inner = [n for n in range(start) if is_summary(rows[n])]
    if inner:
        where = f"row {numbers[inner[0]]}" + (f" and {len(inner) - 1:,} more" if len(inner) > 1 else "")
        what = f"“{_first_text(rows[inner[0]])}” looks like a sum of other rows; it was kept as data"
        doubts.append(Doubt(where, what, "leave such rows out"))
    repairs = [f"Row {numbers[n]} (“{_first_text(rows[n])}”) was left out as a summary: {proofs[n]}." for n in left]
    return Kept(tuple(n for n in range(len(rows)) if n not in left), tuple(repairs), tuple(doubts))


def _first_text(row: Row) -> str:
    return next((cell.strip() for cell in row if isinstance(cell, str) and cell.strip()), "")


def _proof(row: Row, above: Sequence[Row], labels: Sequence[str]) -> str:
    """What proves that the row sums up those above; empty where nothing does."""
    for n, cell in enumerate(row):
        if is_number(cell):
            values = [float(other[n]) for other in above if is_number(other[n])]  # type: ignore[arg-type]
            if not values:
                continue
            total = sum(values)
            for what, value in (("sum", total), ("mean", total / len(values)), ("number", float(len(values)))):
                if _same(float(cell), value):  # type: ignore[arg-type]
                    return f"{text_of(cell)} is the {what} of {labels[n] or f'column {n + 1}'}"
    first: list[Cell] = [other[0] for other in above]
    if row[0] is None and sum(cell is not None for cell in first) >= 0.8 * len(first):
        return f"it has no {labels[0] or 'value in the first column'}"
    return ""


def _same(stated: float, value: float) -> bool:
    """Equal but for the rounding of a cell to two decimals."""
    return abs(stated - value) <= max(0.0051, 1e-9 * abs(value))
