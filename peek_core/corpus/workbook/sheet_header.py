"""Which rows of a sheet are the header of its table, and what the columns are called.

Owns: telling titles and group headings from headers, and headers from data. Refuses to know what follows below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from peek_core.corpus import names
from peek_core.corpus.workbook.sheet_grid import Cell, Merge, Row, covered, filled, is_number, text_of
from peek_core.values.dataset import Doubt, ReadChoices

MAX_ROWS = 20
"""Rows that a header may have."""

_LOOK = 2_000
_BELOW = 50
_YEARS = range(1900, 2101)


@dataclass(frozen=True)
class Header:
    """`first` is the index of its first row, `rows` their number (0: none), `above` the filled rows above it."""

    first: int
    rows: int
    labels: tuple[str, ...]
    """One for each column of the sheet."""
    above: tuple[int, ...]
    doubts: tuple[Doubt, ...] = ()


def find_header(grid: Sequence[Row], merges: Sequence[Merge], choices: ReadChoices) -> Header | None:
    """The header of the table in the sheet; None where no cell is filled. A person's choices go first."""
    rows = [n for n, row in enumerate(grid) if filled(row)]
    if not rows:
        return None
    # Only ranges near the top matter, and only those whose value is there.
    merges = [m for m in merges if m[0][0] < rows[0] + _LOOK and _value(grid, m) is not None]
    if choices.skip is not None:
        first = named = next((n for n in rows if n >= choices.skip), rows[0])
    else:
        named = _first(grid, rows)
        first = _with_groups(grid, merges, named)
    doubts: tuple[Doubt, ...] = ()
    runs: list[Merge] = []
    if choices.header_rows is not None:
        count = min(choices.header_rows, len(grid) - first)
    else:
        last, runs = _last(grid, merges, first, named)
        count = last - first + 1
        if count == 1 and (why := _is_data(grid, first)):
            count, doubts = 0, (Doubt(f"row {first + 1}", why, f"read row {first + 1} as the header"),)
    labels = _labels(grid, [*merges, *runs], range(first, first + count))
    return Header(first, count, labels, tuple(n for n in rows if n < first), doubts)


def _value(grid: Sequence[Row], merge: Merge) -> Cell:
    (row, column), _ = merge
    return grid[row][column] if row < len(grid) and column < len(grid[row]) else None


def _first(grid: Sequence[Row], rows: Sequence[int]) -> int:
    """The first row that is at least half as wide as the widest; what stands above is a title or a note."""
    widest = max(filled(grid[n]) for n in rows[:_LOOK])
    # Notes stand in blocks of their own, which are narrow.
    block = 0
    for n, (row, after) in enumerate(pairwise(rows[:_LOOK]), start=1):
        if after > row + 1:
            if 2 * max(filled(grid[at]) for at in rows[block:n]) > widest:
                break
            block = n
    rows = rows[block:]
    need = max(2, (widest + 1) // 2) if widest > 1 else 1
    at = next(n for n in rows if filled(grid[n]) >= need)
    above = grid[at - 1] if at else []
    if filled(above) >= 2 and all(isinstance(cell, str) for cell in above if cell is not None) and _is_data(grid, at):
        return at - 1  # a header that names few of the columns
    return at


def _span(row: Row) -> tuple[int, int]:
    at = [n for n, cell in enumerate(row) if cell is not None]
    return at[0], at[-1]


def _with_groups(grid: Sequence[Row], merges: Sequence[Merge], first: int) -> int:
    """The first row of the group headings that stand directly above: merged cells, but none as wide as the table."""
    left, right = _span(grid[first])
    while first > 0 and filled(grid[first - 1]):
        held = {m[0][1]: m for m in merges if m[0][0] == first - 1 and (m[1][1] > m[0][1] or m[1][0] >= first)}
        alone = [n for n, cell in enumerate(grid[first - 1]) if cell is not None and n not in held]
        # One heading that begins where the table begins is its title.
        title = any(m[0][1] <= left and (m[1][1] >= right or len(held) == 1) for m in held.values())
        if alone or title:
            break
        first -= 1
    return first


def _last(grid: Sequence[Row], merges: Sequence[Merge], first: int, last: int) -> tuple[int, list[Merge]]:
    """The last row of the header, at least `last`, and columns that share a heading without being merged."""
    runs: list[Merge] = []
    while True:
        reach = max((m[1][0] for m in merges if first <= m[0][0] <= last < m[1][0]), default=last)
        reach = min(reach, len(grid) - 1, first + MAX_ROWS - 1)
        within = [cell for row in grid[last + 1 : reach + 1] for cell in row if cell is not None]
        if reach > last and all(isinstance(cell, str) or _is_year(cell) for cell in within):
            last = reach
            continue
        spans = [m for m in merges if m[0][1] < m[1][1] and first <= m[0][0] <= last == m[1][0]]
        if not spans and last == first:
            spans = runs = _runs(grid, first)
        if not spans or last - first + 1 >= MAX_ROWS or not _is_below(grid, spans, last + 1, merged=not runs):
            return last, runs if last > first else []
        last += 1


def _runs(grid: Sequence[Row], row: int) -> list[Merge]:
    """Headings with empty cells to their right, as if each were merged over them."""
    below = grid[row + 1] if row + 1 < len(grid) else []
    at = [n for n, cell in enumerate(grid[row]) if cell is not None]
    ends = [*at[1:], max((n + 1 for n, cell in enumerate(below) if cell is not None), default=0)]
    return [((row, start), (row, end - 1)) for start, end in zip(at, ends, strict=True) if end - 1 > start]


def _is_below(grid: Sequence[Row], spans: Sequence[Merge], row: int, *, merged: bool) -> bool:
    """Whether a row names the columns below headings that span several: words there, and nothing elsewhere."""
    if row >= len(grid):
        return False
    under = {column for (_, left), (_, right) in spans for column in range(left, min(right + 1, len(grid[row])))}
    named = {n for n, cell in enumerate(grid[row]) if cell is not None}
    words = all(isinstance(cell := grid[row][n], str) or _is_year(cell) for n in named)
    if not words or len(named) < 2 or named - under:
        return False
    others = {n for n, cell in enumerate(grid[row - 1]) if cell is not None} - under
    data = grid[row + 1] if row + 1 < len(grid) else []
    unlike = bool(data) and all(data[n] is None or not isinstance(data[n], str) for n in named)
    if merged:
        return bool(others) or (unlike and filled(data) > 0)
    return bool(others) and named == under and unlike and all(data[n] is not None for n in others)


def _is_year(cell: Cell) -> bool:
    return is_number(cell) and cell in _YEARS


def _is_data(grid: Sequence[Row], at: int) -> str:
    """Why a row that could be the header is data, for a doubt; empty where it is a header."""
    row = grid[at]
    below = [other for other in grid[at + 1 : at + 1 + _BELOW] if filled(other)]
    named = [n for n, cell in enumerate(row) if cell is not None]
    others = [n for n in named if not isinstance(row[n], str)]
    if not others:
        return "Its single letters look like those below, so columns were numbered" if _letters(row, below) else ""
    if not below:
        return "" if len(others) < len(named) else "It looks like data, so columns were numbered"

    def kinds(n: int) -> list[bool]:
        return [isinstance(other[n], str) for other in below if other[n] is not None]

    words_over_others = any(n not in others and kinds(n) and sum(kinds(n)) < 0.1 * len(kinds(n)) for n in named)
    rising = len(others) > 1 and _rising([row[n] for n in others])
    # A date over numbers is a heading.
    unlike = all(
        isinstance(row[n], date) and all(is_number(other[n]) for other in below if other[n] is not None) for n in others
    )
    return "" if words_over_others or rising or unlike else "It looks like data, so columns were numbered"


def _rising(cells: Sequence[Cell]) -> bool:
    """Years or days that rise from column to column."""
    keys = [text_of(cell) for cell in cells]
    periods = all(_is_year(cell) for cell in cells) or all(isinstance(cell, date) for cell in cells)
    return periods and keys == sorted(set(keys))


def _letters(row: Row, below: Sequence[Row]) -> bool:
    """Single letters over columns of single letters, each standing once, and not the A, B, C of numbered columns."""

    def is_letter(cell: Cell) -> bool:
        return isinstance(cell, str) and len(cell) == 1 and cell.isalpha()

    named = [n for n, cell in enumerate(row) if cell is not None]
    if len(named) < 2 or len(below) < 3 or not all(is_letter(row[n]) for n in named):
        return False
    places = [ord(text_of(row[n]).lower()) for n in named]
    if all(after == place + 1 for place, after in pairwise(places)):
        return False
    for n in named:
        cells = [other[n] for other in below if other[n] is not None]
        single = [cell for cell in [row[n], *cells] if is_letter(cell)]
        if not cells or 2 * (len(single) - 1) < len(cells) or len(set(single)) < len(single):
            return False
    return True


def _labels(grid: Sequence[Row], merges: Sequence[Merge], rows: range) -> tuple[str, ...]:
    """The headings of each column from top to bottom, joined by spaces; merged ones stand over all their columns."""
    width = max(map(len, grid))
    cells = {
        (n, column): grid[n][column] for n in rows for column in range(len(grid[n])) if grid[n][column] is not None
    }
    # Nothing but a merged block: its columns are all there is.
    if rows and not any(filled(row) for row in grid[rows.stop :]):
        width = max(width, *(m[1][1] + 1 for m in merges if m[0][0] in rows and m[1][1] < width + 100), 0)
    for merge in merges:
        if merge[0][0] in rows:
            cells.update(dict.fromkeys(covered(merge, rows, range(width)), _value(grid, merge)))
    found = []
    for column in range(width):
        parts = [names.label(text_of(cells.get((n, column)))) for n in rows]
        parts = [part for n, part in enumerate(parts) if part and (n == 0 or part != parts[n - 1])]
        found.append(" ".join(parts))
    return tuple(found)
