"""Counting records without the engine, as the witness against rows that vanish.

Owns two counts: a fast one that only knows quotes and line ends, and the standard csv reader's. Refuses to know
columns and types.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from peek_core.corpus.decode import blocks
from peek_core.corpus.dialect import Dialect

_MAX_FIELD = 64 << 20


def fast_count(path: Path, dialect: Dialect) -> int:
    """Records below the header, counting line ends that stand outside quotes.

    Exact where quotes only stand where they must; a stray quote inside plain text makes it wrong, never the caller
    sure. Blank lines are no records, except in a file of one column, where they are empty values.
    """
    quote = dialect.quote.encode()
    end = b"\r" if dialect.newline == "\r" else b"\n"
    blank = re.compile(rb"(?<=\r)\r" if end == b"\r" else rb"(?<=\n)\r?\n")
    one_column = len(dialect.labels) == 1
    inside, ends, blanks = False, 0, 0
    tail = end  # as if a line had just ended: an empty first line counts as blank
    for block in blocks(path, start=_offset(path, dialect.skip, end)):
        parts = block.split(quote)
        # What is quoted becomes one quote, so that the line ends round it do not meet and look like a blank line.
        outside = (quote if inside else tail) + quote.join(parts[int(inside) :: 2])
        seen = 1 if inside else len(tail)
        ends += outside.count(end, seen)
        if not one_column and (end + end in outside or end + b"\r" + end in outside):
            blanks += sum(match.end() > seen for match in blank.finditer(outside))
        inside ^= len(parts) % 2 == 0
        tail = (tail + block)[-2:]
    if not tail.endswith(end):
        ends += 1
    return ends - blanks - int(dialect.header)


def _offset(path: Path, lines: int, end: bytes) -> int:
    """Bytes that the first `lines` lines take."""
    if not lines:
        return 0
    with path.open("rb") as file:
        head = file.read(1 << 20)
    at = 0
    for _ in range(lines):
        at = head.find(end, at) + 1
    return at


def slow_count(path: Path, dialect: Dialect) -> int:
    """Records below the header as the standard csv reader cuts them (it takes quotes only at the start of a field)."""
    csv.field_size_limit(_MAX_FIELD)
    one_column = len(dialect.labels) == 1
    with path.open(encoding="utf-8-sig", newline="") as file:
        for _ in range(dialect.skip):
            file.readline()
        escape = dialect.escape if dialect.escape != dialect.quote else None
        reader = csv.reader(
            file,
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            escapechar=escape,
            doublequote=escape is None,
        )
        rows = sum(1 for record in reader if record or one_column)
    return rows - int(dialect.header)
