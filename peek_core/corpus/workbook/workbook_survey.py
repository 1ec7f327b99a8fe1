"""What the reader of cells passes over in silence: errors, formulas without a result, what is merged or hidden, the day
count.

Owns: one pass over the raw parts of a workbook, which also refuses sheets that span too many cells. Refuses to know
values. The archive must have passed `check_archive`.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from peek_core.corpus.kinds import archive_damage
from peek_core.corpus.workbook.hidden import Hidden
from peek_core.corpus.workbook.workbook_guard import check_archive, check_area
from peek_core.errors import UnreadableFile

Merge = tuple[tuple[int, int], tuple[int, int]]
"""First and last cell of a merged range as (row, column), counted from 0."""

_BLOCK = 1 << 20
_REFERENCE = re.compile(rb'<(?:\w+:)?c\b[^<>]*?\br=["\']([A-Z]{1,3})(\d{1,7})["\'][^<>/]*>')
_ROW = re.compile(rb'<(?:\w+:)?row\b[^<>]*?\br=["\'](\d{1,7})["\']')
_CELL = re.compile(rb"<(?:\w+:)?c(?=[\s/>])")
_ERROR = re.compile(rb'<(?:\w+:)?c\b[^<>]*\bt="e"')
_UNSOLVED = re.compile(
    rb"<(?:\w+:)?c\b([^<>]*)>\s*<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)"
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_HIDES = rb'(?=[^<>]*\bhidden=["\'](?:1|true)["\'])'
# A pattern that begins with fixed letters is found several times faster.
_HIDDEN_ROW, _HIDDEN_PREFIXED_ROW = (
    re.compile(start + _HIDES + rb'[^<>]*?\br=["\'](\d{1,7})["\']') for start in (rb"<row\b", rb"<\w+:row\b")
)
_HIDDEN_COLUMNS = re.compile(rb"<(?:\w+:)?col\b" + _HIDES + rb"([^<>]*)")
_MIN, _MAX = (re.compile(rb"\b" + side + rb'=["\'](\d{1,5})["\']') for side in (b"min", b"max"))
_FILTERS = re.compile(rb"<(?:\w+:)?filterColumn\b[^<>]*[^<>/]>")
_SHEET_TAG = re.compile(rb"<(?:\w+:)?sheet\b([^<>]*)")
_SHEET_NAME, _SHEET_ID = re.compile(rb'\bname="([^"]*)"'), re.compile(rb'\b\w+:id="([^"]*)"')
_DAYS_1904 = re.compile(rb'\bdate1904="(?:1|true)"')
_RELATION = re.compile(
    rb'<Relationship\b[^<>]*?\bId="([^"]*)"[^<>]*?\bTarget="([^"]*)"|\bTarget="([^"]*)"[^<>]*?\bId="([^"]*)"'
)
_NOT_SHOWN = ("collapse", "filter")
# Records of the binary format.
_ROW_RECORD, _CELL_RECORDS, _ERRORS, _MERGE, _SHEET, _BOOK = 0, range(1, 12), (3, 11), 176, 156, 153


@dataclass
class Survey:
    """What one pass over a workbook found."""

    kind: str = "XLSX"
    """XLSX, XLSB, ODS or XLS."""
    errors: int = 0
    """Cells such as #DIV/0! that arrive empty; in an ODS they arrive as text, in an XLS nobody counts them."""
    unsolved: int = 0
    """Formulas without a stored result, which arrive empty."""
    days_1904: bool = False
    """Whether days may be counted from 1904."""
    merges: dict[str, list[Merge]] = field(default_factory=dict)
    """By sheet, for kinds whose merged ranges the reader of cells does not give."""
    hidden: dict[str, Hidden] = field(default_factory=dict)
    """By sheet, for XLSX and ODS."""

    @property
    def certain_days(self) -> bool:
        """Whether it is known from when days are counted."""
        return self.kind != "XLS" or not self.days_1904


def survey(source: Path, label: str) -> Survey:
    """Looks through a workbook. Raises `UnreadableFile` where it is damaged or spans too much."""
    with source.open("rb") as file:
        if file.read(2) != b"PK":
            return _old(file)
    check_archive(source, label)
    found = Survey()
    with archive_damage(label), zipfile.ZipFile(source) as archive:
        parts = {part.filename.replace("\\", "/").lower(): part for part in archive.infolist()}
        if "xl/workbook.bin" in parts:
            found.kind = "XLSB"
            _binary(archive, parts, found)
        elif "xl/workbook.xml" in parts:
            book = archive.read(parts["xl/workbook.xml"])
            found.days_1904 = bool(_DAYS_1904.search(book))
            sheets = _sheets(book, _relations(archive, parts, "xl/_rels/workbook.xml.rels"))
            # A sheet may be any part, so every one is looked at.
            for path, part in parts.items():
                hidden = found.hidden.setdefault(sheets[path], Hidden()) if path in sheets else Hidden()
                with archive.open(part) as stream:
                    _Sheet(found, hidden).read(iter(lambda stream=stream: stream.read(_BLOCK), b""))  # type: ignore[misc]
        else:
            found.kind = "ODS"
            with archive.open(parts["content.xml"]) as stream:
                _Open(found).read(iter(lambda: stream.read(_BLOCK), b""))
    return found


def _old(file: BinaryIO) -> Survey:
    """XLS: its sheets span few cells at most. The record on the day count is looked for without walking records."""
    found = Survey("XLS")
    tail = b""
    while block := file.read(_BLOCK):
        found.days_1904 = found.days_1904 or b"\x22\x00\x02\x00\x01\x00" in tail + block
        tail = block[-8:]
    return found


def _relations(archive: zipfile.ZipFile, parts: dict[str, zipfile.ZipInfo], path: str) -> dict[str, str]:
    """The parts that the workbook names, by their ids."""
    found: dict[str, str] = {}
    for one in _RELATION.finditer(archive.read(parts[path])) if path in parts else ():
        id, target = (one[1], one[2]) if one[1] is not None else (one[4], one[3])
        found[_text(id)] = "xl/" + _text(target).lower().removeprefix("/xl/")
    return found


def _sheets(book: bytes, relations: dict[str, str]) -> dict[str, str]:
    """The names of the sheets of an XLSX, by part."""
    found: dict[str, str] = {}
    for tag in _SHEET_TAG.findall(book):
        name, id = _SHEET_NAME.search(tag), _SHEET_ID.search(tag)
        if name and id and _text(id[1]) in relations:
            found[relations[_text(id[1])]] = _text(name[1])
    return found


def _text(attribute: bytes) -> str:
    return html.unescape(attribute.decode("utf-8", "replace"))


class _Sheet:
    """One part of an XLSX, which may be a sheet."""

    def __init__(self, found: Survey, hidden: Hidden) -> None:
        self._found, self._hidden = found, hidden
        self._width = self._height = self._rows = self._in_row = 0

    def read(self, blocks: Iterable[bytes]) -> None:
        rest = b""
        for block in blocks:
            data = rest + block
            if b"filterColumn" in data and _FILTERS.search(data):
                self._hidden.filtered = True
            # Only whole cells are looked at; what follows the last one waits for the next block.
            cut = data.rfind(b"c>") + 2
            if cut < 2:
                cut = data.rfind(b"/>") + 2
            if cut < 2:  # no cell at all in a whole block
                rest = data[-(1 << 16) :]
                continue
            self._note(data[:cut])
            rest = data[cut:]

    def _note(self, data: bytes) -> None:
        if b"<c" not in data and b":c" not in data and b"row" not in data:
            return
        references = _REFERENCE.findall(data)
        if references:
            letters = max({column for column, _ in references}, key=lambda column: (len(column), column))
            self._width = max(self._width, _number(letters))
            self._height = max(self._height, max(int(row) for row in {row for _, row in references}))
        rows = [int(row) for row in _ROW.findall(data)]
        self._height = max(self._height, max(rows, default=0))
        cells = len(_CELL.findall(data)) if b":c" in data else sum(map(data.count, (b"<c ", b"<c>", b"<c/")))
        if len(references) < cells:
            self._count(data)
        check_area(self._width, self._height)
        if b"hidden=" in data:
            self._note_hidden(data)
        self._found.errors += len(_ERROR.findall(data)) if b't="e"' in data else 0
        if b"f>" in data or b"<f " in data:
            self._found.unsolved += sum(b't="str"' not in found[1] for found in _UNSOLVED.finditer(data))

    def _note_hidden(self, data: bytes) -> None:
        """Rows that do not say their number are passed over: the programs that write such hide nothing."""
        for number in (_HIDDEN_ROW if b"<row" in data else _HIDDEN_PREFIXED_ROW).findall(data):
            self._hidden.rows.add(int(number) - 1, int(number) - 1)
        for attributes in _HIDDEN_COLUMNS.findall(data) if b"cols>" in data else ():
            first, last = _MIN.search(attributes), _MAX.search(attributes)
            if first and last:
                self._hidden.columns.add(int(first[1]) - 1, int(last[1]) - 1)

    def _count(self, data: bytes) -> None:
        """Cells need not say where they are; then each is the next one of its row."""
        first, *others = re.split(rb"<(?:\w+:)?row\b", data)
        self._rows += len(others)
        self._in_row += len(_CELL.findall(first))
        for row in others:
            self._width = max(self._width, self._in_row)
            self._in_row = len(_CELL.findall(row))
        self._width, self._height = max(self._width, self._in_row), max(self._height, self._rows)


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and body of each record of a binary part."""
    at, end = 0, len(data)
    while at < end:
        kind = data[at]
        at += 1
        if kind & 0x80 and at < end:
            kind = kind & 0x7F | (data[at] & 0x7F) << 7
            at += 1
        size = shift = 0
        while at < end:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80 or shift > 21:
                break
        yield kind, data[at : at + size]
        at += size


def _int(body: bytes, at: int) -> int:
    return int.from_bytes(body[at : at + 4], "little")


def _wide(body: bytes, at: int) -> tuple[str, int]:
    """A string and the place behind it."""
    end = at + 4 + 2 * _int(body, at)
    return body[at + 4 : end].decode("utf-16-le", "replace"), end


def _binary(archive: zipfile.ZipFile, parts: dict[str, zipfile.ZipInfo], found: Survey) -> None:
    relations = _relations(archive, parts, "xl/_rels/workbook.bin.rels")
    names: dict[str, str] = {}
    for kind, body in _records(archive.read(parts["xl/workbook.bin"])):
        if kind == _BOOK:
            found.days_1904 = found.days_1904 or bool(body[:1] and body[0] & 1)
        elif kind == _SHEET:
            relation, end = _wide(body, 8)
            names[relations.get(relation, "")] = _wide(body, end)[0]
    for path, part in parts.items():
        if path.endswith(".bin"):
            _binary_sheet(archive.read(part), found, found.merges.setdefault(names.get(path, ""), []))


def _binary_sheet(data: bytes, found: Survey, merges: list[Merge]) -> None:
    row = width = height = 0
    for kind, body in _records(data):
        if kind == _ROW_RECORD:
            row = _int(body, 0)
        elif kind in _CELL_RECORDS:
            width, height = max(width, _int(body, 0) + 1), max(height, row + 1)
            found.errors += kind in _ERRORS
        elif kind == _MERGE:
            merges.append(((_int(body, 0), _int(body, 8)), (_int(body, 4), _int(body, 12))))
    check_area(width, height)


class _Open:
    """The sheets of an ODS."""

    def __init__(self, found: Survey) -> None:
        self._found = found
        self._merges: list[Merge] = []
        self._hidden = Hidden()
        self._row = self._column = self._repeat = self._width = self._last = self._described = 0

    def read(self, blocks: Iterable[bytes]) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._refuse
        try:
            for block in blocks:
                parser.Parse(block)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ValueError("broken XML") from error

    def _refuse(self, *declared: object) -> None:
        raise UnreadableFile("The workbook declares entities, as no ordinary one does", next="Save it again.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table:table":
            self._merges = self._found.merges.setdefault(attributes.get("table:name", ""), [])
            self._hidden = self._found.hidden.setdefault(attributes.get("table:name", ""), Hidden())
            self._row = self._column = self._width = self._last = self._described = 0
        elif name == "table:table-column":
            described = self._described + _often(attributes, "columns-repeated")
            if attributes.get("table:visibility") in _NOT_SHOWN:
                self._hidden.columns.add(self._described, described - 1)
            self._described = described
        elif name == "table:table-row":
            self._column, self._repeat = 0, _often(attributes, "rows-repeated")
            shown = attributes.get("table:visibility")
            if shown in _NOT_SHOWN:
                self._hidden.rows.add(self._row, self._row + self._repeat - 1)
                self._hidden.filtered |= shown == "filter"
        elif name in ("table:table-cell", "table:covered-table-cell"):
            wide = _often(attributes, "columns-repeated")
            if "office:value-type" in attributes or "table:formula" in attributes:
                self._width = max(self._width, self._column + wide)
                self._last = self._row + self._repeat
            across = _often(attributes, "columns-spanned")
            down = _often(attributes, "rows-spanned")
            if across > 1 or down > 1:
                first = self._row, self._column
                self._merges.append((first, (first[0] + down - 1, first[1] + across - 1)))
            self._column += wide

    def _end(self, name: str) -> None:
        if name == "table:table-row":
            self._row += self._repeat
            check_area(self._width, self._last)


def _often(attributes: dict[str, str], what: str) -> int:
    return max(1, int(attributes.get(f"table:number-{what}", 1)))
