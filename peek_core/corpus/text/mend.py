"""Writing a clean copy of a file that breaks its own rules: every row as wide as the table, or kept apart.

Owns: what becomes of each record below the header, counted and with an example. Refuses to know SQL and types; which
columns hold numbers is told by `structure`.

A row is repaired only where there is one honest reading: the one arrangement of its fields under which every number,
date and time stands in a column of such. Otherwise it is rejected with its line, its reason and its text.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from peek_core.corpus.names import label
from peek_core.corpus.text.cutting import Cutter, Record
from peek_core.corpus.text.dialect import Head
from peek_core.corpus.text.row_kinds import neutral, sparse, typed
from peek_core.corpus.text.structure import Structure
from peek_core.corpus.text.tallies import Tallies, of_rejects
from peek_core.errors import Broken
from peek_core.values.dataset import Doubt

CELL = 40
"""Characters of a cell that an example shows."""
_MAX_EXTRA = 64


@dataclass
class Mended:
    """The clean copy and what it took."""

    path: Path
    rows: int = 0
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    outside: list[tuple[int, str, str]] = field(default_factory=list)
    """Titles and notes among and below the rows."""
    beyond: list[tuple[int, str, str]] = field(default_factory=list)
    """Rows that were read without the fields they have too many."""
    repairs: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    rest: Record | None = None
    """First record of another table below; it and all after it were not read."""


def mend(
    source: Path,
    newline: str,
    head: Head,
    found: Structure,
    target: Path,
    progress: Callable[[float], None],
) -> Mended:
    """Writes the rows below the header of `source`, which `found` places in `head`, to `target`.

    The copy has commas, doubled quotes, LF and no header.

    Raises `OSError` where the copy cannot be written.
    """
    made = Mended(target)
    size = max(1, source.stat().st_size)
    with target.open("w", encoding="utf-8", newline="") as out:
        # A row of one empty cell must not become a blank line.
        quoting: Literal[0, 1] = csv.QUOTE_ALL if found.width == 1 else csv.QUOTE_MINIMAL
        writer = csv.writer(out, lineterminator="\n", quoting=quoting)
        below = islice(head.cutter.file(source, newline, head.skip, found.width), found.body, None)
        rows = _Rows(head.cutter, found, made, head.records, below)
        done = 0
        for n, row in enumerate(rows.all()):
            writer.writerow(row)
            done += sum(map(len, row)) + len(row)
            if n % 20_000 == 0:
                progress(min(1.0, done / size))
        rows.tell()
    return made


class _Rows:
    """Decides on one record after the other; `made` collects what is to be said."""

    def __init__(
        self, cutter: Cutter, found: Structure, made: Mended, head: Sequence[Record], records: Iterator[Record]
    ) -> None:
        self._cutter, self._found, self._made, self._records = cutter, found, made, records
        regular = [
            cutter.quoted(r.raw) for r in head if r.width == found.width and not r.stray and cutter.quote in r.raw
        ]
        self._always = {n for n in range(found.width) if regular and all(flags[n] for flags in regular)}
        """Columns that stand in quotes in every regular row."""
        self._width = found.width
        self._held: list[Record] = []
        """Empty or sparse records that may turn out to stand below the table."""
        self._gap = False
        """Whether a blank line stood among them."""
        self._first: tuple[str, ...] | None = None
        self._tallies = Tallies()
        self._seen = 0

    def all(self) -> Iterator[Sequence[str]]:
        """Rows in the order of the file."""
        width = self._width
        while (record := next(self._records, None)) is not None:
            self._seen += 1
            if width > 1 and record.blank:
                self._tallies.add("blank", record.line)
                self._gap = bool(self._held) or self._gap
                continue
            if self._found.comments and record.raw.startswith("#") and record.width != width:
                self._tallies.add("comment", record.line, f"“{record.raw[:CELL]}”")
                continue
            if repeats_header(record, self._found):
                if self._another_table(record):
                    return
                continue
            if width > 1 and self._suspect(record):
                self._held.append(record)
                continue
            for earlier in self._held:
                yield from self._row(earlier)
            self._held, self._gap = [], False
            yield from self._row(record)
        yield from self._end()

    def _suspect(self, record: Record) -> bool:
        """Might belong to a footer: empty, or one cell that is no value of a row."""
        if record.filled == 0:
            return True
        if self._held and record.width * 2 <= self._width and not any(map(typed, record.fields)):
            return True  # notes hold delimiters too
        if not sparse(record, self._width) or (self._width < 3 and record.width > 1 and not self._held):
            return False
        return _is_note(record, self._width) or (bool(self._held) and not typed(record.fields[0]))

    def _row(self, record: Record) -> Iterator[Sequence[str]]:
        row = self._fit(record)
        if row is None:
            return
        if record.filled == 0:
            self._tallies.add("empty", record.line)
        if self._first is None:
            self._first = tuple(row)
        self._made.rows += 1
        yield row

    def _end(self) -> Iterator[Sequence[str]]:
        """The last records: a footer, or rows after all."""
        held = self._held
        notes = [r for r in held if r.filled]
        empty = len(held) - len(notes)
        gap = self._gap or empty
        footer = bool(notes) and (_is_note(notes[0], self._width) or (gap and notes[0].width == 1))
        if footer or (held and not notes and empty > 1):
            if notes:
                text = next(f for f in notes[0].fields if f.strip()).strip()
                lines = "line" if len(notes) == 1 else "lines"
                self._made.repairs.append(
                    f"{len(notes):,} {lines} below the table left out, e.g. line {notes[0].line:,}: “{text[:80]}”."
                )
                for note in notes:
                    self._made.outside.append((note.line, "stands below the table", note.raw))
            if empty:
                self._tallies.add("left", held[0].line, count=empty)
                self._made.repairs.append(f"{empty:,} empty row{'s' * (empty > 1)} below the table left out.")
        else:
            for record in held:
                yield from self._row(record)
        self._held = []

    def _fit(self, record: Record) -> Sequence[str] | None:
        """The record as a row, repaired where that is honest; None where it was rejected."""
        width, fields = self._width, record.fields
        if record.stray and len(fields) == width:
            self._tallies.add(
                "stray", record.line, _show(next((f for f in fields if self._cutter.quote in f), fields[0]))
            )
        if len(fields) == width:
            return fields
        if len(fields) > width:
            return self._narrow(record, fields)
        return self._widen(record, fields)

    def _narrow(self, record: Record, fields: tuple[str, ...]) -> Sequence[str] | None:
        width, extra = self._width, len(fields) - self._width
        if not any(f.strip() for f in fields[width:]):
            self._tallies.add("trimmed", record.line)
            return fields[:width]
        kinds = self._found.kinds
        flags = self._cutter.quoted(record.raw) if self._always and not record.stray else ()
        places = (
            [p for p in range(width) if not kinds[p] and self._joins(fields, p, extra, flags)]
            if extra <= _MAX_EXTRA
            else []
        )
        if len(places) > 1:
            # A blank after the delimiter is how people write inside a sentence.
            spaced = [p for p in places if all(f.startswith(" ") for f in fields[p + 1 : p + extra + 1])]
            places = spaced if spaced else places
        if len(places) != 1:
            if not self._stands(fields[:width]):
                self._reject(record, f"has {len(fields)} fields instead of {width}")
                return None
            self._tallies.add("longer", record.line, _show(self._cutter.delimiter.join(fields[width:])))
            self._made.beyond.append(
                (record.line, "fields beyond the last column; the row itself was read", record.raw)
            )
            return fields[:width]
        p = places[0]
        text = self._cutter.delimiter.join(fields[p : p + extra + 1])
        self._tallies.add("joined", record.line, f"“{text[:80]}” in {self._found.labels[p] or f'column {p + 1}'}")
        return (*fields[:p], text, *fields[p + extra + 1 :])

    def _joins(self, fields: tuple[str, ...], p: int, extra: int, flags: tuple[bool, ...]) -> bool:
        """Whether the fields from `p` on could be one text: then all others stand in columns of their kind.

        Fields in quotes are never part of another, and columns that always stand in quotes do so here.
        """
        row = (*fields[:p], "text", *fields[p + extra + 1 :])
        if flags and (
            any(flags[p : p + extra + 1]) or not self._quotes_stand((*flags[:p], False, *flags[p + extra + 1 :]))
        ):
            return False
        return self._stands(row) and any(not neutral(f) for f in fields[p : p + extra + 1])

    def _quotes_stand(self, flags: Sequence[bool]) -> bool:
        return all(flag or n not in self._always for n, flag in enumerate(flags))

    def _stands(self, row: Sequence[str]) -> bool:
        return all(not kind or neutral(cell) or typed(cell) for kind, cell in zip(self._found.kinds, row, strict=True))

    def _odd(self, row: Sequence[str]) -> bool:
        return any(wordy and typed(cell) for wordy, cell in zip(self._found.wordy, row, strict=True))

    def _widen(self, record: Record, fields: tuple[str, ...]) -> Sequence[str] | None:
        missing = self._width - len(fields)
        padded = (*fields, *("",) * missing)
        if self._stands(padded):
            # Trailing fields are what exports leave out; whether a field in between is missing shows in its neighbours.
            self._tallies.add("short", record.line, f"{len(fields)} of {self._width} fields")
            return padded
        if missing == 1:
            rows = [(p, (*fields[:p], "", *fields[p:])) for p in range(len(fields))]
            places = [p for p, row in rows if self._stands(row)]
            # A number in a column of words stands out as much as a word in one of numbers.
            places = [p for p, row in rows if p in places and not self._odd(row)] or places
            if len(places) == 1:
                p = places[0]
                self._tallies.add("shifted", record.line, f"nothing in {self._found.labels[p] or f'column {p + 1}'}")
                return (*fields[:p], "", *fields[p:])
        self._reject(record, f"has {len(fields)} fields instead of {self._width}")
        return None

    def _reject(self, record: Record, reason: str) -> None:
        self._made.rejects.append((record.line, reason, record.raw))

    def _another_table(self, record: Record) -> bool:
        """At a line that repeats the header: whether a table of its own begins. Then reading ends here."""
        below = next(self._records, None)
        copy = below is not None and self._first is not None and below.fields[: self._width] == self._first
        if copy or record.width != self._width:
            self._made.rest = record
            self._tallies.add("left", record.line, count=len(self._held) + 1)
            self._held = []
            return True
        self._tallies.add("header", record.line)
        for title in self._held:
            if title.filled:
                self._made.outside.append((title.line, "stands above a repeated header", title.raw))
            else:
                self._tallies.add("left", title.line)
        self._held = []
        if below is not None:
            self._records = chain([below], self._records)
        return False

    def tell(self) -> None:
        """Puts into words what happened. Raises `Broken` where a line is unaccounted for."""
        made, tallies = self._made, self._tallies
        told = made.rows + len(made.rejects) + len(made.outside) + tallies.count("blank", "comment", "header", "left")
        if told != self._seen:
            raise Broken(f"Of {self._seen:,} lines {told:,} are accounted for", next="Please report this file.")
        made.repairs += tallies.repairs(self._cutter.delimiter)
        made.assumptions += tallies.assumptions()
        made.doubts += [*tallies.doubts(), *of_rejects(made.rejects)]


def repeats_header(record: Record, found: Structure) -> bool:
    """Whether the record holds the table's own column names."""
    if found.width < 2 or not found.header or record.width < found.width or record.filled < 2:
        return False
    return all(
        label(field).casefold() == text.casefold() for field, text in zip(record.fields, found.labels, strict=False)
    )


def _is_note(record: Record, width: int) -> bool:
    text = next(f for f in record.fields if f.strip()).strip()
    low = text.casefold()
    marks = (
        "source",
        "note",
        "*",
        "quelle",
        "hinweis",
        "#",
        "(",
        "©",
        "generated",
        "exported",
        "printed",
        "as of",
        "data ",
    )
    alone = record.filled == 1 and record.fields[0].strip() == text
    return alone and not typed(text) and (record.width == 1 or len(text) > 60 or low.startswith(marks))


def _show(cell: str) -> str:
    return f"“{' '.join(cell.split())[:CELL]}”"
