"""How a text file is cut into records and fields.

Owns: delimiter, quote, header and the lines before it. Refuses to know encodings, types and tables.

DuckDB's sniffer proposes; the head of the file, cut by the standard csv reader, decides. The sniffer alone is not
trusted with the header: where rows change their width it drops the header and all rows before the change.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from peek_core.corpus.decode import Text
from peek_core.corpus.names import label, literal
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt

MAX_COLUMNS = 16_384
# One column: a delimiter that no text holds, so that nothing is cut.
NO_DELIMITER = "\x1f"
_HEAD = 1 << 18
_RECORDS = 400
_WHOLE = 8 << 20
_SNIFF_ROWS = 40_960
_NUMBER = re.compile(r"[-+(]?[$€£]?\d[\d.,:/ -]*[%)]?")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", NO_DELIMITER: "one column"}


@dataclass(frozen=True)
class Dialect:
    """How to cut the file. `skip` counts lines before the header; `labels` are headers as people see them."""

    delimiter: str
    quote: str
    escape: str
    newline: str
    skip: int
    header: bool
    labels: tuple[str, ...]
    repairs: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    def words(self) -> str:
        """For example `comma, double quote, header in line 1`."""
        quote = {'"': "double quote", "'": "single quote"}.get(self.quote, self.quote)
        header = f"header in line {self.skip + 1}" if self.header else "no header"
        return f"{_NAMES.get(self.delimiter, self.delimiter)}, {quote}, {header}"

    def read_csv(self, path: Path, columns: Sequence[str]) -> str:
        """The table function that reads every column as text in exactly this dialect and refuses all else.

        Strict mode is the default and must not be named: naming it makes DuckDB 2.0.1 read CRLF files as empty.
        """
        struct = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in columns)
        newline = {"\n": "\\n", "\r\n": "\\r\\n", "\r": "\\r"}[self.newline]
        return (
            f"read_csv({literal(str(path))}, auto_detect=false, delim={literal(self.delimiter)}, "
            f"quote={literal(self.quote)}, escape={literal(self.escape)}, new_line='{newline}', comment='', "
            f"skip={self.skip}, header={'true' if self.header else 'false'}, nullstr='', null_padding=false, "
            f"ignore_errors=false, columns={{{struct}}})"
        )


@dataclass(frozen=True)
class _Cut:
    """The head of the file as one delimiter cuts it."""

    delimiter: str
    width: int
    share: float
    """Share of records as wide as the first one."""
    records: tuple[tuple[str, ...], ...]


def _head(path: Path) -> tuple[str, bool]:
    """The first 256 kB of the file as text, and whether that is all of it."""
    with path.open("rb") as file:
        data = file.read(_HEAD + 1)
    whole = len(data) <= _HEAD
    return data[:_HEAD].decode("utf-8-sig", "ignore"), whole


def _sniff(con: duckdb.DuckDBPyConnection, text: Text) -> tuple[str, str, str] | None:
    """Delimiter, quote and escape as DuckDB proposes them, or None where it finds nothing."""
    rows = -1 if text.path.stat().st_size <= _WHOLE else _SNIFF_ROWS
    try:
        found = con.execute(
            "SELECT Delimiter, Quote, Escape FROM sniff_csv($1, sample_size=$2)", [str(text.path), rows]
        ).fetchone()
    except duckdb.Error:
        return None
    return (str(found[0]), str(found[1]), str(found[2])) if found else None


def _cut(head: str, whole: bool, delimiter: str, quote: str) -> _Cut | None:
    csv.field_size_limit(_HEAD * 4)
    records: list[tuple[str, ...]] = []
    try:
        for record in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter, quotechar=quote):
            if record:
                records.append(tuple(record))
            if len(records) > _RECORDS:
                break
    except csv.Error:
        return None
    if (not whole or len(records) > _RECORDS) and len(records) > 1:
        records.pop()  # may be cut short
    if not records:
        return None
    first = records[0]
    width = _width(first)
    same = sum(len(r) == width or (len(r) > width and not any(r[width:])) for r in records)
    return _Cut(delimiter, width, same / len(records), tuple(records))


def _width(record: Sequence[str]) -> int:
    """Fields up to the last one that says something."""
    width = len(record)
    while width > 1 and not record[width - 1].strip():
        width -= 1
    return width


def _choose(cuts: Sequence[_Cut]) -> _Cut | None:
    """The first perfect cut in the order given, else the one that fits most records; None for one column.

    A header that is cut by a delimiter which no record below it holds is the header of one column. Where records and
    header disagree otherwise, the delimiter stands, so that reading refuses the first bad record by its line.
    """
    wide = [cut for cut in cuts if cut.width > 1]
    for cut in wide:
        if cut.share == 1.0:
            return cut
    cutting = [cut for cut in wide if len(cut.records) == 1 or any(len(record) > 1 for record in cut.records[1:])]
    if cutting:
        return max(cutting, key=lambda cut: (cut.share, cut.width))
    return None


def _refuse_title(cuts: Sequence[_Cut]) -> None:
    """A title above the table: the first line has one field and all further ones have the same number, above one."""
    for cut in cuts:
        for start in (1, 2, 3):
            widths = {len(record) for record in cut.records[start:]}
            if cut.width == 1 and len(cut.records) - start >= 3 and len(widths) == 1 and widths.pop() > 1:
                raise UnreadableFile(
                    f"The table seems to begin below line {start}: the lines above it have fewer fields",
                    where="line 1",
                    next="Delete the lines above the header and load the file again.",
                )


def _has_header(records: Sequence[Sequence[str]], width: int) -> bool:
    """A first record is a header unless it holds numbers like the records below it."""
    first = [cell.strip() for cell in records[0][:width]]
    numeric = [n for n, cell in enumerate(first) if _NUMBER.fullmatch(cell)]
    if not numeric:
        return True
    below = [record for record in records[1:50] if len(record) >= width]
    if not below:
        return len(numeric) < len(first)
    words_over_numbers = any(
        cell and n not in numeric and sum(bool(_NUMBER.fullmatch(r[n].strip())) for r in below) > 0.9 * len(below)
        for n, cell in enumerate(first)
    )
    # `region,2024,2025`: year columns are headers if they differ from each other and stand over other numbers.
    years = all(re.fullmatch(r"(19|20)\d\d", first[n]) for n in numeric) and len(numeric) > 1
    rising = years and [first[n] for n in numeric] == sorted({first[n] for n in numeric})
    return words_over_numbers or rising


def find(con: duckdb.DuckDBPyConnection, text: Text) -> Dialect:
    """The dialect of a decoded file. Raises `UnreadableFile` for files without records or with too many columns."""
    head, whole = _head(text.path)
    skip, repairs = 0, []
    told = re.match(r"sep=(.)\r?\n", head)
    if told:  # a line that spreadsheets write for themselves
        skip, head = 1, head[told.end() :]
        repairs.append(f"The first line ({told[0].strip()}) only names the separator; it was not read as data.")
    if not head.strip():
        raise UnreadableFile("The file holds only white space", next="Export the data again.")
    blank = re.match(r"(?:[ \t]*(?:\r\n|\n|\r))+", head)
    if blank:
        skip += blank[0].count(text.newline)
        head = head[blank.end() :]
    sniffed = _sniff(con, text)
    quote = sniffed[1] if sniffed and sniffed[1] == "'" and '"' not in head else '"'
    escape = sniffed[2] if sniffed and sniffed[2] == "\\" and sniffed[1] == quote else quote
    order = [told[1]] if told else [sniffed[0]] if sniffed and len(sniffed[0]) == 1 else []
    order += [d for d in (",", ";", "\t", "|") if d not in order]
    cuts = [cut for d in order if d not in '\r\n"' and (cut := _cut(head, whole, d, quote))]
    if not cuts:
        raise UnreadableFile(
            "The first row is longer than 256 kB or its quotes never close",
            where="line 1",
            next="Check the quotes of the first row and load the file again.",
        )
    chosen = _choose(cuts)
    if chosen is None:
        if not told:
            _refuse_title(cuts)
        chosen = _cut(head, whole, NO_DELIMITER, quote) or cuts[0]
    delimiter, width = chosen.delimiter, chosen.width
    if width > MAX_COLUMNS:
        raise UnreadableFile(
            f"The file has {width:,} columns; at most {MAX_COLUMNS:,} can be read",
            next="Leave out columns, or turn the table so that columns become rows.",
        )
    if len(chosen.records[0]) > width:
        repairs.append("The header ends with an empty field; it was left out.")
    header = _has_header(chosen.records, width)
    doubts: list[Doubt] = []
    if escape == "\\":
        said = 'Backslashes were read as escape signs and left out, because quotes inside text are written \\"'
        doubts.append(Doubt("the whole file", said, "double quotes inside text, and backslashes stay"))
    if header:
        labels = tuple(label(cell) for cell in chosen.records[0][:width])
        if width == 1:
            doubts.append(Doubt("line 1", f"“{labels[0][:60]}” was taken as the column's header", "read it as data"))
    else:
        labels = tuple(f"column {n}" for n in range(1, width + 1))
        doubts.append(Doubt("line 1", "It looks like data, so columns were numbered", "read line 1 as the header"))
    return Dialect(delimiter, quote, escape, text.newline, skip, header, labels, tuple(repairs), tuple(doubts))
