"""Rows and columns of a sheet that the spreadsheet does not show, and what is said of those that were read.

Owns: keeping them small, however many a file claims. Refuses to know file formats and why something is hidden.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from peek_core.corpus.wording import some
from peek_core.corpus.workbook.sheet_grid import letters
from peek_core.corpus.workbook.workbook_guard import MAX_HEIGHT


class Spans:
    """Numbers as ranges, added in ascending order as sheets have their rows; others than that are passed over."""

    def __init__(self) -> None:
        self._first, self._last = array("I"), array("I")

    def add(self, first: int, last: int) -> None:
        """Adds all numbers from `first` to `last`."""
        end = self._last[-1] if self._last else -1
        first, last = max(first, end + 1), min(last, MAX_HEIGHT)
        if first > last:
            return
        if self._last and first == end + 1:
            self._last[-1] = last
        else:
            self._first.append(first)
            self._last.append(last)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._first, number) - 1
        return at >= 0 and number <= self._last[at]


@dataclass
class Hidden:
    """What a sheet hides; rows and columns are counted from 0."""

    rows: Spans = field(default_factory=Spans)
    columns: Spans = field(default_factory=Spans)
    filtered: bool = False
    """Whether a filter hides rows."""

    def said(self, numbers: Sequence[int], places: Sequence[int], labels: Sequence[str]) -> Iterator[str]:
        """What to say of the rows (counted from 1, as people do) and columns (from 0) that were read."""
        rows = [number for number in numbers if number - 1 in self.rows]
        if rows:
            many = "1 hidden row was" if len(rows) == 1 else f"{len(rows):,} hidden rows were"
            why = "; the sheet has a filter on" if self.filtered else ""
            yield f"{many} read too, e.g. row {rows[0]}{why}."
        columns = [
            f"{letters(place)} (“{label}”)" if label else letters(place)
            for place, label in zip(places, labels, strict=True)
            if place in self.columns
        ]
        if columns:
            were = "column was" if len(columns) == 1 else "columns were"
            yield f"{len(columns):,} hidden {were} read too: {some(columns)}."
