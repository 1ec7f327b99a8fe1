"""From an Excel workbook to one typed DuckDB table.

Owns: which sheet is read, where its header is, and the types that its cells already have. Refuses to know CSV rules:
cells are typed by the workbook, so text that looks like a number stays text.
"""

from __future__ import annotations

import csv
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from peek_core.corpus import names, types
from peek_core.corpus.csv_reader import describe, renamed
from peek_core.corpus.desk import Desk, Loaded
from peek_core.corpus.dialect import MAX_COLUMNS, Dialect
from peek_core.corpus.refusals import spoken
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt, TableReport

MAX_UNPACKED = 1 << 30
"""Bytes that all parts of a workbook may have together when unpacked."""

MAX_AREA = 1 << 26
"""Cells that one sheet may span, filled or not: the reader of cells keeps room for all of them."""

_EPOCH = datetime(1899, 12, 30)
_SERIAL = range(18_264, 73_415)  # 1950 .. 2100 as Excel counts days

_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_REFERENCE = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"[^>/]*>')
_ERROR = re.compile(rb'<(?:\w+:)?c\b[^>]*\bt="e"')
_UNSOLVED = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</(?:\w+:)?f>)"
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)

Cell = int | float | str | bool | time | date | datetime | timedelta | None


def check_archive(source: Path, limit: int = MAX_UNPACKED) -> None:
    """Refuses a zip that is no workbook, is encrypted or damaged, or unpacks to more than `limit` bytes.

    The sizes that an archive states may be lies, so its parts are really unpacked and counted, without being kept.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            parts = archive.infolist()
            held = {part.filename for part in parts}
            if "xl/workbook.xml" not in held:
                what = (
                    "an OpenDocument or other Office file"
                    if "mimetype" in held or "word/document.xml" in held
                    else ("a zip archive")
                )
                raise UnreadableFile(
                    f"{source.name} is {what}, not an XLSX workbook",
                    next="Unpack it, or save the table as XLSX or CSV.",
                )
            if any(part.flag_bits & 1 for part in parts):
                raise UnreadableFile(f"{source.name} is encrypted", next="Save it without a password.")
            stated = sum(part.file_size for part in parts)
            left = limit
            if stated <= limit:
                with source.open("rb") as raw:
                    for part in parts:
                        left -= _unpacked(raw, part, left)
            if stated > limit or left < 0:
                raise UnreadableFile(
                    f"{source.name} unpacks to more than {limit >> 20:,} MB",
                    next="Save the sheet as CSV and load that.",
                )
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UnreadableFile(f"{source.name} is a damaged archive", next="Save the workbook again.") from error


def _unpacked(raw: object, part: zipfile.ZipInfo, left: int) -> int:
    """Bytes that one part really unpacks to; counting stops above `left`."""
    file = raw
    assert hasattr(file, "seek") and hasattr(file, "read")
    file.seek(part.header_offset)
    header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("no local header")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    if part.compress_type == zipfile.ZIP_STORED:
        return part.compress_size
    if part.compress_type != zipfile.ZIP_DEFLATED:
        raise NotImplementedError(f"compression {part.compress_type}")
    unpacker = zlib.decompressobj(-15)
    packed, size = part.compress_size, 0
    data = b""
    while size <= left and not unpacker.eof:
        if not data:
            data = file.read(min(packed, 1 << 16))
            packed -= len(data)
            if not data:
                break
        size += len(unpacker.decompress(data, 1 << 20))
        data = unpacker.unconsumed_tail
    return size


@dataclass
class CellNotes:
    """What the reader of cells would pass over in silence, counted over all worksheets."""

    errors: int = 0
    """Cells such as #DIV/0!; they arrive empty."""
    unsolved: int = 0
    """Formulas without a stored result; they arrive empty."""


def note_cells(source: Path) -> CellNotes:
    """Counts cells that would arrive empty. Raises `UnreadableFile` where a sheet spans more than `MAX_AREA` cells.

    The archive must have passed `check_archive`.
    """
    notes = CellNotes()
    try:
        with zipfile.ZipFile(source) as archive:
            for part in archive.infolist():
                if _SHEET.fullmatch(part.filename):
                    with archive.open(part) as file:
                        _note(iter(lambda file=file: file.read(1 << 20), b""), notes)  # type: ignore[misc]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UnreadableFile(f"{source.name} is a damaged archive", next="Save the workbook again.") from error
    return notes


def _note(blocks: Iterable[bytes], notes: CellNotes) -> None:
    rest = b""
    width = height = 0
    for block in blocks:
        data = rest + block
        # Only whole cells are looked at; what follows the last one waits for the next block.
        cut = data.rfind(b"c>") + 2
        if cut < 2:  # no cell with a value in a whole block
            rest = data[-(1 << 16) :]
            continue
        data, rest = data[:cut], data[cut:]
        for column, row in _corners(data):
            width, height = max(width, column), max(height, row)
        if width * height > MAX_AREA:
            raise UnreadableFile(
                f"A sheet has cells as far as row {height:,} and column {width:,}",
                next="Usually single cells far from the table are the reason. Delete them, or save the table as CSV.",
            )
        notes.errors += len(_ERROR.findall(data)) if b't="e"' in data else 0
        if b"f>" in data or b"<f " in data:
            notes.unsolved += sum(b't="str"' not in found[1] for found in _UNSOLVED.finditer(data))


def _corners(data: bytes) -> list[tuple[int, int]]:
    """Column and row of the cells that lie farthest right and lowest, as one corner each."""
    found = _REFERENCE.findall(data)
    if not found:
        return []
    letters = max({column for column, _ in found}, key=lambda column: (len(column), column))
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return [(number, max(int(row) for row in {row for _, row in found}))]


@dataclass(frozen=True)
class _Sheet:
    name: str
    header_row: int
    """1-based, as Excel counts."""
    labels: tuple[str, ...]
    rows: list[list[Cell]]
    title_rows: int


def load_xlsx(desk: Desk, source: Path) -> tuple[Loaded, ...]:
    """Reads the first visible sheet with a table into a new table named after the file.

    Raises `UnreadableFile` for archives that are no workbook, damaged workbooks, and workbooks without a table.
    """
    con, progress = desk.con, desk.tell
    table = desk.name(desk.label)
    progress("opening the workbook", None)
    with spoken("opening the workbook"):
        check_archive(source)
        notes = note_cells(source)
        try:
            book = CalamineWorkbook.from_path(str(source))
            sheet, others = _first_table(book)
        except CalamineError as error:
            raise UnreadableFile(
                f"{source.name} is a damaged workbook ({error})", next="Open and save it in Excel, and load it again."
            ) from error
    progress("reading cells", None)
    columns = names.unique(sheet.labels)
    repairs: list[str] = []
    assumptions: list[str] = []
    column_types: list[str] = []
    for n, label in enumerate(sheet.labels):
        kind, repaired, assumed = _settle(sheet, n, label or columns[n])
        column_types.append(kind)
        repairs += repaired
        assumptions += assumed
    if sheet.title_rows:
        rows_word = "row" if sheet.title_rows == 1 else "rows"
        repairs.append(
            f"{sheet.title_rows} {rows_word} above the header (row {sheet.header_row}) were left out as title."
        )
    if others:
        assumptions.append(f"Only sheet “{sheet.name}” was read. Other sheets: {', '.join(others)}.")
    if notes.errors:
        cells = "cell holds an error" if notes.errors == 1 else "cells hold errors"
        assumptions.append(f"In the workbook {notes.errors:,} {cells} such as #DIV/0!; read as missing.")
    doubts: tuple[Doubt, ...] = ()
    if notes.unsolved:
        formulas = "formula has" if notes.unsolved == 1 else "formulas have"
        said = f"{notes.unsolved:,} {formulas} no stored result; such cells were read as missing"
        doubts = (Doubt("the workbook", said, "open it in Excel, save it and load it again"),)
    with spoken("loading the rows"):
        progress("loading rows", None)
        copy = desk.work / "cells.csv"
        with copy.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=",", lineterminator="\n", quoting=csv.QUOTE_ALL)
            # One more field than the sheet has: a row of a single empty cell must not become a blank line.
            writer.writerows((*map(_text, row), "x") for row in sheet.rows)
        cut = Dialect(",", '"', '"', "\n", 0, False, (*sheet.labels, "end"))
        text_columns = (*columns, "peek_end_of_row_")
        selected = ", ".join(
            f"{names.quoted(c)}::{t} AS {names.quoted(c)}" for c, t in zip(columns, column_types, strict=True)
        )
        con.execute(f"CREATE TABLE {names.quoted(table)} AS SELECT {selected} FROM {cut.read_csv(copy, text_columns)}")
        got = con.execute(f"SELECT count(*) FROM {names.quoted(table)}").fetchone()
        if got is None or got[0] != len(sheet.rows):
            raise UnreadableFile(
                f"Sheet {sheet.name} has {len(sheet.rows):,} rows, but {got[0] if got else 0:,} arrived",
                next="Save the sheet as CSV and load that.",
            )
        samples = [
            next((_text(row[n]) for row in sheet.rows if _filled(row[n : n + 1])), "") for n in range(len(columns))
        ]
        described = describe(con, table, columns, sheet.labels, column_types, samples)
    report = TableReport(
        name=table,
        rows=len(sheet.rows),
        columns=described,
        encoding="XLSX",
        dialect=f"sheet “{sheet.name}”, header in row {sheet.header_row}",
        repairs=(*repairs, *renamed(described)),
        assumptions=tuple(assumptions),
    )
    return (Loaded(report, doubts),)


def _first_table(book: CalamineWorkbook) -> tuple[_Sheet, list[str]]:
    """The first visible worksheet with a header and a row, else the first with any cell; and names of the others."""
    chosen: _Sheet | None = None
    spare: _Sheet | None = None
    others: list[str] = []
    for meta in book.sheets_metadata:
        if meta.typ != SheetTypeEnum.WorkSheet:
            continue
        if meta.visible != SheetVisibleEnum.Visible:
            others.append(f"{meta.name} (hidden)")
            continue
        if chosen is not None:
            others.append(meta.name)
            continue
        found = _table_of(book.get_sheet_by_name(meta.name))
        if found is not None and found.rows:
            chosen = found
        else:
            others.append(meta.name if found else f"{meta.name} (empty)")
            spare = spare or found
    if chosen is None:
        if spare is None:
            raise UnreadableFile("The workbook has no visible sheet with data", next="Unhide the sheet and save it.")
        return spare, [name for name in others if name != spare.name]
    return chosen, others


def _filled(row: Sequence[Cell]) -> int:
    return sum(cell is not None and cell != "" for cell in row)


def _table_of(sheet: CalamineSheet) -> _Sheet | None:
    grid: list[list[Cell]] = [list(row) for row in sheet.to_python(skip_empty_area=False)]
    filled = [n for n, row in enumerate(grid) if _filled(row)]
    if not filled:
        return None
    # A single cell above a wider table is its title.
    header = filled[0]
    titles = 0
    widest = max(_filled(grid[n]) for n in filled[:50])
    for n in filled[:5]:
        if widest > 1 and _filled(grid[n]) == 1:
            titles += 1
            continue
        header = n
        break
    width = max(
        (n + 1 for row in grid[header:] for n, cell in enumerate(row) if cell is not None and cell != ""), default=1
    )
    if width > MAX_COLUMNS:
        raise UnreadableFile(f"The sheet has {width:,} columns; at most {MAX_COLUMNS:,} can be read")
    labels = tuple(names.label(_text(cell)) for cell in (*grid[header], *[None] * width)[:width])
    body = [(row + [None] * width)[:width] for row in grid[header + 1 :]]
    while body and not _filled(body[-1]):
        body.pop()
    rows = [row for row in body if _filled(row)]
    kept = [n for n in range(width) if labels[n] or any(row[n] not in (None, "") for row in rows)]
    if len(kept) < width:
        labels = tuple(labels[n] for n in kept)
        rows = [[row[n] for n in kept] for row in rows]
    return _Sheet(sheet.name, header + 1, labels, rows, titles if header != filled[0] else 0)


def _settle(sheet: _Sheet, n: int, label: str) -> tuple[str, list[str], list[str]]:
    """Fixes the type of column `n`, changing cells of `sheet.rows` where the report says so."""
    values = [row[n] for row in sheet.rows]
    real = [v for v in values if v is not None and v != ""]
    words = [v for v in real if isinstance(v, str) and v.strip().lower() in ("", *types.MISSING_WORDS)]
    others = [v for v in real if not (isinstance(v, str) and v.strip().lower() in ("", *types.MISSING_WORDS))]
    repairs: list[str] = []
    assumptions: list[str] = []
    kinds = {_kind(v) for v in others}
    if kinds == {types.TIMESTAMP, types.BIGINT} or kinds == {types.DATE, types.BIGINT}:
        serials = [v for v in others if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(serials) * 2 <= len(others) and all(int(v) in _SERIAL for v in serials):
            for row in sheet.rows:
                cell = row[n]
                if isinstance(cell, int | float) and not isinstance(cell, bool):
                    row[n] = _EPOCH + timedelta(days=int(cell))
            count = len(serials)
            repairs.append(
                f"{label}: {count:,} number{'s' * (count > 1)} read as Excel dates, as the others are dates."
            )
            kinds = {_kind(row[n]) for row in sheet.rows if _kind(row[n]) in (types.DATE, types.TIMESTAMP)}
    if kinds <= {types.BIGINT, types.DOUBLE} and kinds:
        kind = types.DOUBLE if types.DOUBLE in kinds else types.BIGINT
    elif kinds <= {types.DATE, types.TIMESTAMP} and kinds:
        kind = types.TIMESTAMP if types.TIMESTAMP in kinds else types.DATE
        if kind == types.TIMESTAMP and not any(_has_time(row[n]) for row in sheet.rows):
            kind = types.DATE
    elif kinds == {types.BOOLEAN}:
        kind = types.BOOLEAN
    else:
        kind = types.VARCHAR
        if len(kinds) > 1:
            assumptions.append(f"{label}: cells of several kinds (numbers, dates, text) were all read as text.")
    if kind != types.VARCHAR and words:
        for row in sheet.rows:
            if isinstance(row[n], str):
                row[n] = None
        shown = ", ".join(f"“{w}”" for w in sorted({str(w) for w in words})[:5])
        verb = "cell" if len(words) == 1 else "cells"
        assumptions.append(f"{label}: {len(words):,} {verb} ({shown}) read as missing, because all others have a type.")
    return kind, repairs, assumptions


def _has_time(cell: Cell) -> bool:
    return isinstance(cell, datetime) and cell.time() != time(0)


def _kind(cell: Cell) -> str:
    if isinstance(cell, bool):
        return types.BOOLEAN
    if isinstance(cell, int):
        return types.BIGINT
    if isinstance(cell, float):
        return types.BIGINT if cell.is_integer() and abs(cell) < 2**53 else types.DOUBLE
    if isinstance(cell, datetime):
        return types.TIMESTAMP
    if isinstance(cell, date):
        return types.DATE
    return types.VARCHAR


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, float):
        return repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ") if cell.time() != time(0) else cell.date().isoformat()
    return str(cell)
