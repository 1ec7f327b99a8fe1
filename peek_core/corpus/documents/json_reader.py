"""From JSON to one typed DuckDB table: lines of records, or one document that holds a list of them.

Owns: where the records lie, and which lines cannot be read. Refuses to know bytes and encodings, and what becomes of
a record's values: that is `json_values`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from peek_core.corpus import names
from peek_core.corpus.cells import CellFile, create_table
from peek_core.corpus.described import describe, renamed
from peek_core.corpus.desk import Desk, Loaded
from peek_core.corpus.documents import json_scan
from peek_core.corpus.documents.json_values import TEXT, Records
from peek_core.corpus.refusals import spoken
from peek_core.corpus.rejects import write_rejects
from peek_core.corpus.text.decode import Text, encoding_words
from peek_core.corpus.typed import columns as typed
from peek_core.corpus.typed import strings, types
from peek_core.corpus.wording import count, some
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt, ReadChoices, TableReport

MAX_DOCUMENT = 500 << 20
"""Bytes that a document may have; it is held in memory, unlike a file of lines."""
_STEP = 1 << 12
_TOO_LONG = f"longer than {json_scan.MAX_RECORD:,} characters"
_ADVICE = "Save it with one record per line (JSON Lines) and load that."

Reject = tuple[int, str, str]


def load_json(desk: Desk, text: Text) -> tuple[Loaded, ...]:
    """Reads `text` into a new table named after the file; lines that are no record are kept as rejects.

    Raises `UnreadableFile` for a broken document, by line and column, and for JSON that holds no list of records.
    """
    table = desk.name(desk.label)
    with spoken("reading the records"), _opened(text) as file:
        lines = json_scan.is_lines(file, named=desk.label.lower().endswith((".jsonl", ".ndjson")))
        file.seek(0)
        if not lines and text.size > MAX_DOCUMENT:
            raise UnreadableFile(f"A JSON document of more than {MAX_DOCUMENT >> 20:,} MB can't be read", next=_ADVICE)
        with CellFile(desk.work / "cells.csv") as out:
            reading = _Reading(out, lambda done: desk.tell("reading the records", done))
            # The rows are written on the way, the rejects straight into the database: neither is ever held as a whole.
            rejected = reading.lines(file, text.size) if lines else reading.document(file.read())
            reading.rejects = write_rejects(desk.con, table, rejected)
        reading.records.close()
    if not reading.out.rows and not reading.header_rows:
        raise UnreadableFile(
            "The file holds no record", where=reading.first_reject, next="A record is an object: {“name”: “value”, …}."
        )
    if not reading.records.columns:
        raise UnreadableFile("No record of the file has a key", next="A record is an object: {“name”: “value”, …}.")
    return (_table(desk, text, table, reading),)


class _Reading:
    """One pass over the records of a file, which gives its rejects and leaves the rest here."""

    def __init__(self, out: CellFile, tell: Callable[[float], None]) -> None:
        self.out, self._tell = out, tell
        self.records = Records()
        self.form = "JSON Lines"
        self.header_rows = 0
        self.assumptions: list[str] = []
        self.doubts: list[Doubt] = []
        self.rejects, self.first_reject = 0, ""
        self._kind: type | None = None
        self._width = self._uneven = 0

    def lines(self, file: TextIO, size: int) -> Iterator[Reject]:
        """A record a line."""
        number = seen = 0
        while line := file.readline(json_scan.MAX_RECORD + 1):
            number += 1
            seen += len(line)
            if number % _STEP == 0:
                self._tell(min(1.0, seen / max(1, size)))
            if len(line) > json_scan.MAX_RECORD:
                head = line
                while line and not line.endswith(("\n", "\r")):
                    line = file.readline(json_scan.MAX_RECORD)
                yield self._reject(number, _TOO_LONG, head)
            elif line.strip():
                why = self._line(line.strip(" \t\r\n"))
                if why:
                    yield self._reject(number, why, line.rstrip("\r\n"))

    def _line(self, line: str) -> str:
        try:
            return self._take(self.records.decoder(line).decode(line))
        except json.JSONDecodeError as error:
            return f"{error.msg.removesuffix(' at')} at column {error.pos + 1:,}"
        except RecursionError:
            return "nested too deeply"
        except ValueError as error:  # such as a number of thousands of digits
            return str(error).partition(";")[0]

    def document(self, text: str) -> Iterator[Reject]:
        """The records of the one list that a document holds."""
        try:
            yield from self._document(text)
        except json.JSONDecodeError as error:
            raise UnreadableFile(
                f"The JSON is broken: {error.msg}",
                where=f"line {error.lineno:,}, column {error.colno:,}",
                next="Correct it, or export the data again.",
            ) from error
        except RecursionError as error:
            raise UnreadableFile("The JSON is nested too deeply", next=_ADVICE) from error
        except ValueError as error:
            raise UnreadableFile(f"The JSON can't be read: {str(error).partition(';')[0]}", next=_ADVICE) from error

    def _document(self, text: str) -> Iterator[Reject]:
        start = json_scan.skip(text, 0)
        decoder = self.records.decoder(text)
        whole = text[start : start + 1] == "["
        if not whole:
            start = self._inner_list(text, start)
            if start < 0:
                self._take(decoder.decode(text.strip(" \t\r\n")))
                return
        else:
            self.form = "JSON, one list"
        line, at = 1, 0
        found = json_scan.Elements(text, start, decoder)
        for n, (begin, end, value) in enumerate(found):
            if n % _STEP == 0:
                self._tell(begin / len(text))
            why = _TOO_LONG if end - begin > json_scan.MAX_RECORD else self._take(value)
            if why:
                line, at = line + text.count("\n", at, begin), begin
                yield self._reject(line, why, text[begin:end])
        if whole:
            json_scan.end(text, found.end)

    def _inner_list(self, text: str, start: int) -> int:
        """Where the one list of records of an object begins; -1 where the object is a record itself.

        Raises `UnreadableFile` where it is neither.
        """
        lists: dict[str, int] = {}
        others: list[str] = []
        plain = False
        for key, at, records, value in json_scan.members(text, start):
            if records:
                lists[key] = at
            else:
                others.append(key)
                plain = plain or not isinstance(value, dict | list)
        if len(lists) > 1:
            raise UnreadableFile(
                f"The JSON holds several lists of records: {some(list(lists))}",
                next="Save each list as a file of its own.",
            )
        if lists:
            (key, at) = next(iter(lists.items()))
            self.form = f"JSON, list “{key[:60]}”"
            left = f"; left out: {some(others)}" if others else ""
            self.assumptions.append(f"The records are those of the list “{key[:60]}”{left}.")
            return at
        if not plain:
            raise UnreadableFile("The JSON holds no list of records at its top level", next=_ADVICE)
        self.form = "JSON, one object"
        return -1

    def _take(self, value: Any) -> str:
        """Writes one record; returns why it is none."""
        if not isinstance(value, dict | list):
            return "not an object"
        self._kind = self._kind or type(value)
        if type(value) is not self._kind:
            return "a list where the others are objects" if isinstance(value, list) else "an object among lists"
        if isinstance(value, list):
            if not self._width:
                self._width = len(value)
                if self._is_header(value):
                    return ""
            self._uneven += len(value) != self._width
        self.out.write(self.records.cells(value))
        return ""

    def _is_header(self, first: list[Any]) -> bool:
        if not first or not all(isinstance(cell, str) for cell in first):
            said = "It is not all text, so columns were numbered"
            self.doubts.append(Doubt("the first list", said, "read it as the header"))
            return False
        self.header_rows = 1
        self.records.cells([None] * len(first))
        for column, cell in zip(self.records.columns, first, strict=True):
            column.label = names.label(self.records.clean(cell)) or column.label
        return True

    def repairs(self) -> Iterator[str]:
        """What was lost or changed, in sentences."""
        yield from self.records.repairs()
        if self._uneven:
            yield f"{count(self._uneven, 'list is', 'lists are')} of another length than the first; what lacks was read as missing."
        if self.rejects:
            yield f"{count(self.rejects, 'record was', 'records were')} rejected, the first in {self.first_reject}."

    def _reject(self, line: int, why: str, text: str) -> Reject:
        self.first_reject = self.first_reject or f"line {line:,}: {why}"
        return line, why, text[:2_000].encode("utf-8", "replace").decode()


def _opened(text: Text) -> TextIO:
    # Elsewhere a CR at the end of a line is white space to JSON, so LF alone tells lines apart.
    return text.path.open(encoding="utf-8-sig", newline="\r" if text.newline == "\r" else "\n")


def _table(desk: Desk, text: Text, table: str, reading: _Reading) -> Loaded:
    records = reading.records
    labels = [column.label for column in records.columns]
    columns = names.unique(labels)
    relation = reading.out.relation(columns)
    assumptions = [*reading.assumptions, *records.assumptions()]
    made = []
    for name, column in zip(columns, records.columns, strict=True):
        kind, said = column.settle()
        made.append(types.Reading(kind, f"{names.quoted(name)}::{kind}"))
        assumptions += said
    with spoken("checking the values"):
        desk.tell("checking values", None)
        texts = [n for n, column in enumerate(records.columns) if column.kinds == TEXT]
        for n, found in strings.readings(desk.con, relation, columns, labels, texts, desk.choices.columns):
            made[n] = found
            assumptions += found.assumptions
            empty = records.columns[n].empty
            if empty and found.type != types.VARCHAR:
                assumptions.append(f"{labels[n]}: {count(empty, 'empty text')} read as missing.")
    with spoken("loading the rows"):
        desk.tell("loading rows", None)
        create_table(desk.con, table, typed.selected(columns, made), relation, reading.out.rows)
        samples = [next(iter(column.examples.values()), "") for column in records.columns]
        described = describe(desk.con, table, typed.laid_out(columns, labels, made, samples))
    report = TableReport(
        name=table,
        rows=reading.out.rows,
        columns=described,
        rejects=reading.rejects,
        encoding=encoding_words(text.encoding),
        dialect=reading.form,
        header_rows=reading.header_rows,
        repairs=(*text.repairs, *reading.repairs(), *renamed(described)),
        assumptions=tuple(assumptions),
        source=desk.label,
        read=ReadChoices(encoding=text.encoding, columns={c.name: c.way for c in described if c.way}),
    )
    return Loaded(report, (*text.doubts, *reading.doubts, *(doubt for one in made for doubt in one.doubts)))
