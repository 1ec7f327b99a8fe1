"""Cutting text into records and fields where the file breaks the rules of quoting.

Owns: one tolerant reading of quotes, told where it had to be tolerant. Refuses to know headers, widths and types.

A quote opens a field only at its start, and closes it only before a delimiter or a line end: so `43" screen` and
`"The 55" screen"` keep their inch signs (RFC 4180 knows neither). A quote that never closes is an ordinary sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_LINES = 2_000
"""Lines that one quoted field may span; beyond that its quote is taken as an ordinary sign."""
_LEAST_LINES = 20
_MAX_CHARS = 4 << 20
_QUOTES = 50
"""So many quotes of a line are tried as ordinary signs."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its first line (counted from 1), its fields, and whether quotes stood where they must not."""

    line: int
    fields: tuple[str, ...]
    raw: str
    stray: bool = False

    @property
    def width(self) -> int:
        return len(self.fields)

    @property
    def blank(self) -> bool:
        """A line of white space."""
        return not self.raw.strip()

    @property
    def filled(self) -> int:
        """Fields that say something."""
        return sum(1 for field in self.fields if field and not field.isspace())


@dataclass(frozen=True)
class Cutter:
    """Cuts lines at `delimiter`. `escape` stands before a quote that is text: the quote itself, or another sign."""

    delimiter: str
    quote: str
    escape: str

    def file(self, path: Path, newline: str, skip: int = 0, width: int | None = None) -> Iterator[Record]:
        """The records of a UTF-8 file from line `skip` + 1 on; `width` as in `records`."""
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            for _ in range(skip):
                file.readline()
            end = len(newline)
            yield from self.records(
                (line[:-end] if line.endswith(newline) else line for line in file), newline, skip + 1, width
            )

    def text(self, text: str, newline: str) -> list[Record]:
        """The records of a text held in memory."""
        lines = text.split(newline)
        return list(self.records(lines[:-1] if lines[-1] == "" else lines, newline))

    def records(self, lines: Iterable[str], newline: str, first: int = 1, width: int | None = None) -> Iterator[Record]:
        """Records of `lines`, given without their ends; blank lines come as blank records.

        Where quotes stand where they must not, the reading that gives `width` fields is preferred.
        """
        source = iter(lines)
        waiting: list[str] = []
        number, patience = first - 1, MAX_LINES
        while True:
            line = waiting.pop() if waiting else next(source, None)
            if line is None:
                return
            number += 1
            if self.quote not in line:
                yield Record(number, tuple(line.split(self.delimiter)), line)
                continue
            fields, opened, stray = self.cut(line)
            taken = [line]
            while opened is not None and len(taken) <= patience:
                more = waiting.pop() if waiting else next(source, None)
                if more is None:
                    break
                taken.append(more)
                # Cutting again is worth it only where the field may have been closed.
                if self._closing.search(more):
                    fields, opened, stray = self.cut(newline.join(taken))
                if len(more) > _MAX_CHARS:
                    break
            alone = self._fitting(line, width) if width and (len(taken) > 1 or stray) and len(fields) != width else ()
            if opened is None and not alone:
                yield Record(number, fields, newline.join(taken), stray)
                number += len(taken) - 1
                continue
            # It never closed: give the further lines back, and take the quote as it stands.
            patience = max(_LEAST_LINES, patience // 4) if opened is not None else patience
            waiting += reversed(taken[1:])
            yield Record(number, alone or self._plainly(line), line, True)

    @property
    def _closing(self) -> re.Pattern[str]:
        return re.compile(f"{re.escape(self.quote)} *(?:{re.escape(self.delimiter)}|$)")

    def _fitting(self, line: str, width: int) -> tuple[str, ...]:
        """The line in `width` fields, one quote that opens a field taken as an ordinary sign; empty if none will do."""
        fields, opened, _ = self.cut(line, pairs_close=True)
        if opened is None and len(fields) == width:
            return fields
        at, tried = -1, 0
        while (at := line.find(self.quote, at + 1)) >= 0 and tried < _QUOTES:
            tried += 1
            fields, opened, stray = self.cut(line, {at})
            if opened is None and len(fields) == width and not stray:
                return fields
        return ()

    def _plainly(self, line: str) -> tuple[str, ...]:
        """One line in which quotes that never close are ordinary signs."""
        literal: set[int] = set()
        while True:
            fields, opened, _ = self.cut(line, literal, pairs_close=True)
            if opened is None:
                return fields
            literal.add(opened)

    def cut(
        self, text: str, literal: Sequence[int] | set[int] = (), *, pairs_close: bool = False
    ) -> tuple[tuple[str, ...], int | None, bool]:
        """Fields, the place of a quote that was not closed, and whether a quote stood inside a quoted field.

        Quotes at the places in `literal` do not open a field. `pairs_close`: in a field that never closes otherwise, the
        second of two quotes does, as in `"a 55""`.
        """
        delimiter, quote, blanks = self.delimiter, self.quote, self.delimiter != " "
        fields: list[str] = []
        at, end, stray = 0, len(text), False
        while True:
            start = at
            while blanks and start < end and text[start] == " ":
                start += 1
            if start < end and text[start] == quote and start not in literal:
                found = self._close(text, start + 1, pairs_close=pairs_close)
                if found is None:
                    return tuple(fields), start, stray
                close, after, inner = found
                fields.append(self._plain(text[start + 1 : close]))
                stray |= inner
                at = after
            else:
                after = text.find(delimiter, at)
                after = end if after < 0 else after
                fields.append(text[at:after])
                at = after
            if at >= end:
                return tuple(fields), None, stray
            at += len(delimiter)
            if at == end:
                fields.append("")
                return tuple(fields), None, stray

    def quoted(self, text: str) -> tuple[bool, ...]:
        """For each field of a record without stray quotes whether it stands in quotes."""
        flags: list[bool] = []
        at, delimiter = 0, self.delimiter
        for field in self.cut(text)[0]:
            start = at
            while delimiter != " " and text.startswith(" ", start):
                start += 1
            opened = text.startswith(self.quote, start)
            found = self._close(text, start + 1) if opened else None
            flags.append(found is not None)
            at = (found[1] if found else at + len(field)) + len(delimiter)
        return tuple(flags)

    def _close(self, text: str, at: int, *, pairs_close: bool = False) -> tuple[int, int, bool] | None:
        """Place of the closing quote, of what follows it, and whether other quotes stood before it."""
        quote, end, inner = self.quote, len(text), False
        pair: int | None = None
        while True:
            at = text.find(quote, at)
            if at < 0:
                return (pair + 1, pair + 2, True) if pair is not None else None
            if self.escape != quote and self._escaped(text, at):
                at += 1
                continue
            if self.escape == quote and text.startswith(quote, at + 1):
                if pairs_close and (at + 2 == end or text.startswith(self.delimiter, at + 2)):
                    pair = at if pair is None else pair
                at += 2
                continue
            after = at + 1
            while after < end and text[after] == " " and self.delimiter != " ":
                after += 1
            if after == end or text.startswith(self.delimiter, after):
                return at, after, inner
            inner = True
            at += 1

    def _escaped(self, text: str, at: int) -> bool:
        count = 0
        while at - count > 0 and text[at - count - 1] == self.escape:
            count += 1
        return count % 2 == 1

    def _plain(self, text: str) -> str:
        if self.escape == "\\":
            # Only quotes were escaped: a path such as C:\temp keeps its backslashes.
            return text.replace("\\" + self.quote, self.quote)
        if self.escape != self.quote:
            text = text.replace(self.escape + self.quote, self.quote)
        return text.replace(self.escape * 2, self.escape)
