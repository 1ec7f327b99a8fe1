"""Where the table lies in a sheet: its header, its rows, and all that stands around it.

Owns: titles, merged cells, blank rows, headings and notes between and below the rows. Refuses to know types of columns
and file formats: it is given a grid of cells. Whatever is left out, filled or joined is said, with an example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from peek_core.corpus import names
from peek_core.corpus.text.dialect import MAX_COLUMNS
from peek_core.corpus.wording import count, some
from peek_core.corpus.workbook.sheet_grid import Merge, Row, covered, filled, is_number, letters, text_of
from peek_core.corpus.workbook.sheet_header import Header, find_header
from peek_core.corpus.workbook.summary_rows import is_summary, without_summaries
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt, ReadChoices


@dataclass
class SheetTable:
    """A table as it lies in a sheet. `numbers` are those of the rows as the spreadsheet shows them."""

    sheet: str
    header_row: int
    """Number of the first header row, or of the first row where there is no header."""
    header_rows: int
    labels: tuple[str, ...]
    rows: list[Row]
    numbers: list[int]
    places: list[int]
    """Where its columns stand in the sheet, counted from 0."""
    repairs: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Filled cells."""
        return sum(filled(row) for row in self.rows) + sum(bool(label) for label in self.labels)


def find_table(
    sheet: str, grid: list[Row], merges: Sequence[Merge], choices: ReadChoices | None = None
) -> SheetTable | None:
    """The table of a sheet; None where no cell is filled. The grid begins at cell A1 and is changed.

    Raises `UnreadableFile` where the table has too many columns.
    """
    header = find_header(grid, merges, choices or ReadChoices())
    if header is None:
        return None
    body = _Body(grid, merges, header)
    return body.table(sheet)


class _Body:
    """The rows below a header, on the way to a table."""

    def __init__(self, grid: list[Row], merges: Sequence[Merge], header: Header) -> None:
        self._grid, self._header = grid, header
        self._start = header.first + header.rows
        self._merges = [m for m in merges if m[0][0] >= self._start and self._value(m) is not None]
        self._repairs: list[str] = []
        self._doubts: list[Doubt] = list(header.doubts)
        named = [n for n, label in enumerate(header.labels) if label]
        below = range(self._start, len(grid))
        used = {n for at in below for n, cell in enumerate(grid[at]) if cell is not None}
        self._columns = sorted({*named, *used})
        self._rows = [at for at in below if filled(grid[at])]

    def _value(self, merge: Merge) -> object:
        (row, column), _ = merge
        return self._grid[row][column] if row < len(self._grid) and column < len(self._grid[row]) else None

    def table(self, sheet: str) -> SheetTable:
        if len(self._columns) > MAX_COLUMNS:
            raise UnreadableFile(
                f"Sheet {sheet} has {len(self._columns):,} columns; at most {MAX_COLUMNS:,} can be read"
            )
        self._say_header()
        self._without_notes()
        self._without_headings()
        self._fill()
        self._without_headers()
        self._say_blanks()
        labels = [self._header.labels[n] for n in self._columns]
        if not self._header.rows:
            labels = [f"column {n}" for n in range(1, len(labels) + 1)]
        rows = [[self._grid[at][n] for n in self._columns] for at in self._rows]
        if len(labels) == 1 and self._header.rows == 1 and rows and all(isinstance(cell, str) for (cell,) in rows):
            what = f"“{labels[0][:60]}” was taken as the column's header"
            self._doubts.append(Doubt(f"row {self._header.first + 1}", what, "read it as data"))
        numbers = [at + 1 for at in self._rows]
        kept = without_summaries(rows, numbers, labels)
        return SheetTable(
            sheet,
            self._header.first + 1,
            self._header.rows,
            tuple(labels),
            [rows[n] for n in kept.rows],
            [numbers[n] for n in kept.rows],
            self._columns,
            [*self._repairs, *kept.repairs],
            [*self._doubts, *kept.doubts],
        )

    def _text(self, at: int) -> str:
        """A row by its number and its first cell."""
        cell = next(cell for cell in self._grid[at] if cell is not None)
        return f"row {at + 1} (“{names.label(text_of(cell))[:40]}”)"

    def _say_header(self) -> None:
        above, rows = self._header.above, self._header.rows
        if above:
            left = "was left out as title" if len(above) == 1 else "were left out as title"
            self._repairs.append(
                f"{count(len(above), 'row')} above the table {left}: {some([self._text(n) for n in above], 3)}."
            )
        if rows > 1:
            first = self._header.first + 1
            self._repairs.append(f"The header stands in rows {first} to {first + rows - 1}; its parts were joined.")
        held = set(self._columns)
        empty = [letters(n) for n in range(max(held, default=0)) if n not in held]
        if empty:
            left = "was left out" if len(empty) == 1 else "were left out"
            self._repairs.append(f"{count(len(empty), 'empty column')} {left}: {some(empty)}.")

    def _leave_out(self, left: list[int], what: str) -> None:
        if left:
            rows = "row was" if len(left) == 1 else "rows were"
            shown = some([self._text(at) for at in left], 2)
            self._repairs.append(f"{len(left):,} {rows} left out as {what}: {shown}.")
            gone = set(left)
            self._rows = [at for at in self._rows if at not in gone]

    def _without_notes(self) -> None:
        """Single texts below the table, with a blank row between."""
        notes: list[int] = []
        for n in range(len(self._rows) - 1, 0, -1):
            row = self._grid[self._rows[n]]
            alone = filled(row) == 1 and all(cell is None or isinstance(cell, str) for cell in row)
            if not alone or len(self._columns) < 2 or is_summary(row):
                break
            notes.append(self._rows[n])
            if self._rows[n - 1] < self._rows[n] - 1 and filled(self._grid[self._rows[n - 1]]) > 1:
                self._leave_out(notes[::-1], "notes below the table")
                break

    def _without_headings(self) -> None:
        """Texts merged over the whole width, between the rows."""
        wide = {
            m[0][0]
            for m in self._merges
            if m[0][0] == m[1][0] and m[0][1] <= self._columns[0] and m[1][1] >= self._columns[-1]
        }
        headings = [at for at in self._rows if at in wide and filled(self._grid[at]) == 1]
        if len(self._columns) > 2 and len(headings) < len(self._rows):
            self._leave_out(headings, "headings between the rows")

    def _fill(self) -> None:
        """Merged cells: every cell of the range gets its value, in rows that hold something besides."""
        cells, example = 0, ""
        held = set(self._rows)
        columns = range(self._columns[0], self._columns[-1] + 1) if self._columns else range(0)
        for merge in self._merges:
            value = self._grid[merge[0][0]][merge[0][1]]
            for at, n in covered(merge, range(self._start, len(self._grid)), columns):
                if at in held and self._grid[at][n] is None:
                    self._grid[at][n] = value
                    cells += 1
                    example = example or f"{letters(n)}{at + 1} (“{names.label(text_of(value))[:40]}”)"
        if cells:
            got = "cell got the value of its" if cells == 1 else "cells got the value of their"
            self._repairs.append(f"{cells:,} empty {got} merged range, such as {example}.")

    def _without_headers(self) -> None:
        """The header once more, as printed pages have it."""
        named = [n for n in self._columns if self._header.labels[n]]
        if self._header.rows != 1 or len(named) < 2:
            return
        first = self._grid[self._header.first][named[0]]
        head = [self._header.labels[n] for n in self._columns]
        # Most rows differ from the header in their first cell already.
        likely = [at for at in self._rows if self._grid[at][named[0]] == first]
        again = [at for at in likely if [names.label(text_of(self._grid[at][n])) for n in self._columns] == head]
        self._leave_out(again, "the header once more")

    def _say_blanks(self) -> None:
        gaps = [(at, after) for at, after in zip(self._rows, self._rows[1:], strict=False) if after > at + 1]
        blank = [n for at, after in gaps for n in range(at + 1, after) if not filled(self._grid[n])]
        if blank:
            rows = "blank row was" if len(blank) == 1 else "blank rows were"
            self._repairs.append(f"{len(blank):,} {rows} skipped inside the table, the first is row {blank[0] + 1}.")
        for _, after in gaps:
            if self._begins_another(after):
                what = f"After a blank row {self._text(after)} looks like the header of another table"
                self._doubts.append(Doubt(f"row {after + 1}", what, "load the part below as a sheet of its own"))
                break

    def _begins_another(self, at: int) -> bool:
        """Whether all cells of a row are words, some of them in columns of numbers."""
        row = self._grid[at]
        held = [n for n in self._columns if row[n] is not None]
        above = [self._grid[n] for n in self._rows if n < at][-50:]
        numbers = [n for n in held if above and all(is_number(other[n]) for other in above)]
        return len(held) > 1 and all(isinstance(row[n], str) for n in held) and bool(numbers)
