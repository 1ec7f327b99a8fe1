"""The type of every column of a sheet, from the types its cells already have.

Owns: what becomes of columns whose cells differ in kind, and the ways that typed cells allow. Refuses to know what texts
say (`sheet_readings`), except where they stand among other cells and say the same as those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from peek_core.corpus.typed import counted_times, types
from peek_core.corpus.wording import count, some
from peek_core.corpus.workbook.sheet_grid import Cell, Row, is_number, text_of

_SERIAL = range(18_264, 73_415)  # 1950 .. 2100 as spreadsheets count days
_LIKELY_SERIAL = range(30_000, 60_000)  # 1982 .. 2064
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_MIDNIGHT = time(0)
_WHOLE, _FRACTION, _TRUTH, _DAY, _MOMENT, _TIME, _SPAN, _TEXT = (
    "numbers", "numbers with decimals", "true or false", "dates", "dates with a time", "times", "durations", "text",
)  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,9}[1-9])?", re.ASCII)
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ISO_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)


_WAYS = {
    types.BIGINT: (types.WHOLE, types.NUMBER, types.TEXT),
    types.DOUBLE: (types.NUMBER, types.TEXT),
    types.DATE: (types.PLAIN_DATE, types.TEXT),
    types.TIMESTAMP: (types.PLAIN_TIME, types.TEXT),
    types.BOOLEAN: (types.TRUTH, types.TEXT),
    types.VARCHAR: (types.TEXT,),
}


@dataclass(frozen=True)
class SheetColumn:
    """How a column is read; `cells` are its values as text, None where they are missing."""

    type: str
    cells: list[str | None]
    way: str
    ways: tuple[str, ...]
    """The other ways that its cells allow."""
    repairs: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def read_column(
    rows: Sequence[Row], n: int, label: str, chosen: str = "", *, days_1904: bool = False, certain_days: bool = True
) -> SheetColumn:
    """Reads column `n`. `certain_days`: whether it is known from when this workbook counts days.

    Where a person has `chosen` another way than that of the cells, these are given as the text that they show.
    """
    cells = [row[n] for row in rows]
    column = _Column(cells, label)
    days_1900 = certain_days and not days_1904
    column.serials(_EPOCH_1904 if days_1904 else _EPOCH, certain_days)
    column.texts_among_others()
    read = column.done(days_1900=days_1900)
    if chosen and chosen != read.way and read.type != types.VARCHAR:
        shown = [None if cell is None else text_of(cell) for cell in cells]
        return SheetColumn(types.VARCHAR, shown, read.way, read.ways)
    return read


def _kind(cell: Cell) -> str:
    if isinstance(cell, str):
        return _TEXT
    if isinstance(cell, bool):
        return _TRUTH
    if isinstance(cell, int):
        return _WHOLE
    if isinstance(cell, float):
        return _WHOLE if cell.is_integer() and abs(cell) < 2**53 else _FRACTION
    if isinstance(cell, datetime):
        return _MOMENT
    if isinstance(cell, date):
        return _DAY
    return _TIME if isinstance(cell, time) else _SPAN


def _is_missing_word(cell: Cell) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in ("", *types.MISSING_WORDS)


class _Column:
    def __init__(self, cells: list[Cell], label: str) -> None:
        self._cells, self._label = cells, label
        self._repairs: list[str] = []
        self._assumptions: list[str] = []
        self._words = Counter(str(cell) for cell in cells if _is_missing_word(cell))
        self._count()

    def _count(self) -> None:
        self._kinds = Counter(_kind(cell) for cell in self._cells if cell is not None and not _is_missing_word(cell))

    def _replace(self, which: Callable[[Cell], bool], make: Callable[[Cell], Cell]) -> None:
        self._cells = [make(cell) if which(cell) else cell for cell in self._cells]
        self._count()

    def _first(self, which: Callable[[Cell], bool]) -> str:
        return text_of(next(cell for cell in self._cells if which(cell)))[:40]

    def _days(self) -> int:
        return self._kinds[_DAY] + self._kinds[_MOMENT]

    def serials(self, epoch: datetime, certain: bool) -> None:
        """Numbers among dates are days that lost their format; a zero formatted as a date is no day at all."""
        zeros = sum(cell == _MIDNIGHT for cell in self._cells)
        if zeros and self._kinds[_TIME] == zeros and self._days() > zeros:
            self._replace(lambda cell: cell == _MIDNIGHT, lambda cell: None)
            self._assumptions.append(f"{self._label}: {count(zeros, 'cell')} with day 0 read as missing.")
        numbers = self._kinds[_WHOLE] + self._kinds[_FRACTION]
        rest = set(self._kinds) - {_DAY, _MOMENT, _WHOLE, _FRACTION}
        if not numbers or rest or numbers > self._days():
            return
        if not certain or not all(int(c) in _SERIAL for c in self._cells if isinstance(c, int | float)):
            return
        first = self._first(is_number)

        def moment(cell: Cell) -> Cell:
            assert isinstance(cell, int | float)
            made = epoch + timedelta(seconds=round(cell * 86_400))
            return made if made.time() != _MIDNIGHT else made.date()

        became = text_of(moment(next(cell for cell in self._cells if is_number(cell))))
        self._replace(is_number, moment)
        self._repairs.append(
            f"{self._label}: {count(numbers, 'number')} read as Excel dates, as the others are dates ({first} is {became})."
        )

    def texts_among_others(self) -> None:
        """Texts that say just what the other cells are, such as "12" among numbers."""
        if not self._kinds[_TEXT]:
            return
        others = set(self._kinds) - {_TEXT}
        if others and others <= {_WHOLE, _FRACTION}:
            self._convert(_NUMBER, lambda cell: float(cell) if "." in cell else int(cell), "numbers")
        elif others <= {_DAY, _MOMENT}:
            self._convert(_ISO_DAY, date.fromisoformat, "dates")
            if self._kinds[_TEXT]:
                self._convert(_ISO_MOMENT, datetime.fromisoformat, "dates with a time")

    def _convert(self, shape: re.Pattern[str], make: Callable[[str], Cell], what: str) -> None:
        """Converts all texts, or none where one of them doesn't fit."""
        made: dict[str, Cell] = {}
        for cell in self._cells:
            if isinstance(cell, str) and not _is_missing_word(cell):
                text = cell.strip()
                if not shape.fullmatch(text):
                    return
                try:
                    made[cell] = make(text)
                except ValueError:  # such as 2024-02-30
                    return
        first, texts = next(iter(made)), self._kinds[_TEXT]
        self._replace(lambda cell: cell in made if isinstance(cell, str) else False, lambda cell: made[str(cell)])
        self._repairs.append(f"{self._label}: {count(texts, 'text')} such as “{first[:40]}” read as {what}.")

    def _type(self) -> str:
        kinds = set(self._kinds)
        if kinds and kinds <= {_WHOLE, _FRACTION}:
            return types.DOUBLE if _FRACTION in kinds else types.BIGINT
        if kinds and kinds <= {_DAY, _MOMENT}:
            with_time = any(isinstance(cell, datetime) and cell.time() != _MIDNIGHT for cell in self._cells)
            return types.TIMESTAMP if with_time else types.DATE
        return types.BOOLEAN if kinds == {_TRUTH} else types.VARCHAR

    def _ways(self, kind: str, days_1900: bool) -> tuple[str, ...]:
        """The column's way and the others; a number may be a day that lost its format, or one as 20240131."""
        way, *others = _WAYS[kind]
        numbers = [cell for cell in self._cells if isinstance(cell, int | float)]
        if days_1900 and way in (types.WHOLE, types.NUMBER) and all(int(n) in _LIKELY_SERIAL for n in numbers):
            others.insert(0, types.EXCEL)
        if way == types.WHOLE and counted_times.all_compact(map(text_of, numbers)):
            others.insert(0, types.COMPACT)
        return way, *others

    def done(self, *, days_1900: bool) -> SheetColumn:
        kind, kinds = self._type(), set(self._kinds)
        if kind != types.VARCHAR and self._words:
            number = sum(self._words.values())
            shown = some([f"“{word}”" for word in sorted(self._words)], 5)
            self._assumptions.append(
                f"{self._label}: {count(number, 'cell')} ({shown}) read as missing, because all others have a type."
            )
            self._replace(lambda cell: isinstance(cell, str), lambda cell: None)
        elif kinds and kinds <= {_TIME, _SPAN}:
            shape = "hours, minutes and seconds"
            what = "times of day" if kinds == {_TIME} else "durations"
            example = self._first(lambda cell: cell is not None)
            self._assumptions.append(f"{self._label}: {what} are kept as text, in {shape} ({example}).")
        elif kind == types.VARCHAR and len(kinds) > 1:
            shown = ", ".join(f"{what}: {n:,}" for what, n in self._kinds.most_common())
            self._assumptions.append(f"{self._label}: cells of several kinds ({shown}) were all read as text.")
        cells = [None if cell is None else text_of(cell) for cell in self._cells]
        way, *ways = self._ways(kind, days_1900)
        return SheetColumn(kind, cells, way, tuple(ways), tuple(self._repairs), tuple(self._assumptions))
