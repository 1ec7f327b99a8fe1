"""From the sheets of a workbook (XLSX, XLSM, XLSB, XLS, ODS) to typed DuckDB tables.

Owns: which sheets are read and what the others hold. Refuses to know where a table lies in its sheet (`sheet_layout`)
and how columns get their types (`sheet_columns`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from python_calamine import (
    CalamineError,
    CalamineWorkbook,
    PasswordError,
    SheetMetadata,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from peek_core.corpus import names
from peek_core.corpus.cells import CellFile, create_table
from peek_core.corpus.described import describe, renamed
from peek_core.corpus.desk import Desk, Loaded
from peek_core.corpus.refusals import spoken
from peek_core.corpus.typed import columns as typed
from peek_core.corpus.typed import types
from peek_core.corpus.wording import count, some
from peek_core.corpus.workbook.sheet_columns import read_column
from peek_core.corpus.workbook.sheet_grid import Row
from peek_core.corpus.workbook.sheet_layout import SheetTable, find_table
from peek_core.corpus.workbook.sheet_readings import sheet_readings
from peek_core.corpus.workbook.workbook_survey import Survey, survey
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt, ReadChoices, TableReport

ALL_VISIBLE = "*"
"""The choice of every visible sheet that holds a table."""

_ERROR = re.compile(r"#(?:DIV/0!|N/A|NAME\?|NULL!|NUM!|REF!|VALUE!|SPILL!|CALC!|GETTING_DATA)|Err:5\d\d")


@dataclass(frozen=True)
class _Sheet:
    """A sheet that was looked at. `words` say what it holds; `errors` are error cells that arrived as text."""

    name: str
    hidden: bool
    table: SheetTable | None
    words: str
    errors: int

    def is_better(self, other: _Sheet) -> bool:
        """Whether it holds more. A header alone is less than any row."""
        mine, others = self.table, other.table
        return others is None or (mine is not None and (bool(mine.rows), mine.size) > (bool(others.rows), others.size))


def load_workbook(desk: Desk, source: Path) -> tuple[Loaded, ...]:
    """Reads the chosen sheets, each into a new table, or the visible sheet that holds most.

    A table is named after its sheet where there are several, else after the file. Raises `UnreadableFile` for damaged
    and encrypted workbooks, for sheets that are not there, and where no sheet holds a table.
    """
    desk.tell("opening the workbook", None)
    with spoken("opening the workbook"), _panics(desk.label):
        found = survey(source, desk.label)
        book = CalamineWorkbook.from_path(str(source))
        chosen, others = _choose(desk, _Book(book, found, desk.choices))
    loaded = [_load(desk, sheet, found, several=len(chosen) > 1) for sheet in chosen]
    # What concerns the whole workbook is said with its first table.
    loaded[0] = _with_notes(loaded[0], chosen, others, found)
    return tuple(loaded)


@contextmanager
def _panics(label: str) -> Iterator[None]:
    """Turns what the reader of cells raises, its panics included, into a refusal."""
    try:
        yield
    except PasswordError as error:
        raise UnreadableFile(f"{label} is encrypted", next="Save it without a password.") from error
    except (CalamineError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # trouble with the disk, not with what was read
            raise
        raise UnreadableFile(
            f"{label} is a damaged workbook ({error})", next="Open and save it in Excel, and load it again."
        ) from error
    except BaseException as error:
        # Raised by the Rust library itself; it derives from BaseException and can't be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableFile(f"{label} is a damaged workbook", next="Open and save it in Excel.") from error


class _Book:
    """The worksheets of a workbook, read one at a time."""

    def __init__(self, book: CalamineWorkbook, found: Survey, choices: ReadChoices) -> None:
        self._book, self._survey, self._choices = book, found, choices
        self.sheets: list[SheetMetadata] = [m for m in book.sheets_metadata if m.typ == SheetTypeEnum.WorkSheet]

    def read(self, meta: SheetMetadata) -> _Sheet:
        sheet = self._book.get_sheet_by_name(meta.name)
        errors = 0
        grid: list[Row] = []
        for row in sheet.to_python(skip_empty_area=False):
            made: Row = [None if cell == "" else cell for cell in row]
            for n, cell in enumerate(made):
                if isinstance(cell, str) and _ERROR.fullmatch(cell):
                    made[n] = None
                    errors += 1
            grid.append(made)
        merges = sheet.merged_cell_ranges
        held = self._survey.merges.get(meta.name, []) if merges is None else list(merges)
        table = find_table(meta.name, grid, held, self._choices)
        hidden = meta.visible != SheetVisibleEnum.Visible
        rows = "empty" if table is None else count(len(table.rows), "row")
        return _Sheet(meta.name, hidden, table, f"{meta.name} ({'hidden, ' if hidden else ''}{rows})", errors)


def _choose(desk: Desk, book: _Book) -> tuple[list[_Sheet], list[_Sheet]]:
    """The sheets to load and the others, whose rows are let go."""
    wanted = desk.choices.sheets
    known = [meta.name for meta in book.sheets]
    missing = [name for name in wanted if name not in known and name != ALL_VISIBLE]
    if missing:
        raise UnreadableFile(
            f"{desk.label} has no sheet {some([f'“{name}”' for name in missing])}", next=f"It has: {some(known)}."
        )
    chosen: list[_Sheet] = []
    others: list[_Sheet] = []
    for n, meta in enumerate(book.sheets):
        desk.tell("reading sheets", n / len(book.sheets))
        sheet = book.read(meta)
        fits = sheet.table is not None and (bool(sheet.table.rows) or meta.name in wanted)
        if wanted:
            named = meta.name in wanted
            if named and not fits:
                raise UnreadableFile(f"Sheet “{meta.name}” is empty", next=f"Choose another one: {some(known)}.")
            take = named or (ALL_VISIBLE in wanted and not sheet.hidden and fits)
        else:
            take = not sheet.hidden and sheet.table is not None and (not chosen or sheet.is_better(chosen[0]))
            if take:
                others += [replace(one, table=None) for one in chosen]
                chosen.clear()
        (chosen if take else others).append(sheet if take else replace(sheet, table=None))
    if not chosen:
        raise UnreadableFile(f"{desk.label} has no visible sheet with data", next="Unhide the sheet and save it.")
    order = {name: n for n, name in enumerate(known)}
    return chosen, sorted(others, key=lambda sheet: order[sheet.name])


def _load(desk: Desk, sheet: _Sheet, found: Survey, *, several: bool) -> Loaded:
    """One sheet into its table."""
    held = sheet.table
    assert held is not None
    table = desk.name(sheet.name if several else desk.label)
    columns = names.unique(held.labels)
    chosen = {
        column: way
        for column, way in desk.choices.columns.items()
        if way in types.WAYS and (way != types.EXCEL or not found.days_1904)
    }
    desk.tell("reading cells", None)
    read = [
        read_column(
            held.rows, n, label or column, chosen.get(column, ""),
            days_1904=found.days_1904, certain_days=found.certain_days,
        )
        for n, (label, column) in enumerate(zip(held.labels, columns, strict=True))
    ]  # fmt: skip
    with spoken("checking the values"):
        with CellFile(desk.work / f"{table}.csv") as out:
            for cells in zip(*(column.cells for column in read), strict=True):
                out.write(cells)
        desk.tell("checking values", None)
        source = out.relation(columns)
        readings = sheet_readings(desk.con, source, columns, held.labels, read, chosen)
    with spoken("loading the rows"):
        desk.tell("loading rows", None)
        create_table(desk.con, table, typed.selected(columns, readings), source, len(held.rows))
        samples = [next((cell for cell in column.cells if cell is not None), "") for column in read]
        described = describe(desk.con, table, typed.laid_out(columns, held.labels, readings, samples))
    hidden = found.hidden[sheet.name].said(held.numbers, held.places, held.labels) if sheet.name in found.hidden else ()
    last = held.header_row + held.header_rows - 1
    header = f"header in row {last}" if held.header_rows == 1 else f"header in rows {held.header_row} to {last}"
    report = TableReport(
        name=table,
        rows=len(held.rows),
        columns=described,
        encoding=found.kind,
        dialect=f"sheet “{sheet.name}”, {header if held.header_rows else 'no header'}",
        header_rows=held.header_rows,
        repairs=(*held.repairs, *(line for column in read for line in column.repairs), *renamed(described)),
        assumptions=(*hidden, *(line for reading in readings for line in reading.assumptions)),
        source=desk.label,
        read=ReadChoices(
            sheets=(sheet.name,),
            skip=held.header_row - 1,
            header_rows=held.header_rows,
            columns={c.name: c.way for c in described if c.way},
        ),
    )
    return Loaded(report, (*held.doubts, *(doubt for reading in readings for doubt in reading.doubts)))


def _with_notes(first: Loaded, chosen: Sequence[_Sheet], others: Sequence[_Sheet], found: Survey) -> Loaded:
    """The first table with what is said of the whole workbook."""
    said: list[str] = []
    if others:
        read = f"Only sheet “{chosen[0].name}” was read" if len(chosen) == 1 else f"{len(chosen)} sheets were read"
        said.append(f"{read}. Other sheets: {some([sheet.words for sheet in others])}.")
    errors = found.errors + sum(sheet.errors for sheet in (*chosen, *others))
    if errors:
        cells = "cell holds an error" if errors == 1 else "cells hold errors"
        said.append(f"In the workbook {errors:,} {cells} such as #DIV/0!; read as missing.")
    if found.kind == "XLS":
        said.append("Cells with errors such as #DIV/0! can't be told from empty ones in an XLS; read as missing.")
    doubts = first.doubts
    if found.unsolved:
        formulas = "formula has" if found.unsolved == 1 else "formulas have"
        what = f"{found.unsolved:,} {formulas} no stored result; such cells were read as missing"
        doubts = (*doubts, Doubt("the workbook", what, "open it in Excel, save it and load it again"))
    return Loaded(replace(first.report, assumptions=(*first.report.assumptions, *said)), doubts)
