"""Counting records without the engine, as the witness against rows that vanish.

Owns two counts: a fast one that only knows quotes and line ends, and the standard csv reader's. Refuses to know
columns and types.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from peek_core.corpus.text.decode import SMALL, blocks
from peek_core.corpus.text.dialect import Dialect

MAX_FIELD = 64 << 20
SPOTS = 40
"""About so many places of a large file are looked into."""


@dataclass(frozen=True)
class Counted:
    """Records below the header, and places to look into the file: (record counted from 0, byte where it begins)."""

    records: int
    spots: tuple[tuple[int, int], ...]


def fast_count(path: Path, dialect: Dialect, *, blank_lines: bool = True) -> Counted:
    """Records below the header, counting line ends that stand outside quotes.

    Exact where quotes only stand where they must; a stray quote inside plain text makes it wrong, never the caller
    sure. Blank lines are no records, except in a file of one column, where they are empty values. `blank_lines=False`
    takes it that there are none, which is faster; a caller who then finds the numbers equal need not look for them.
    """
    quote = dialect.quote.encode()
    end = b"\r" if dialect.newline == "\r" else b"\n"
    others = bytes(set(range(256)) - set(quote + end))
    empty = (end + end, end + b"\r" + end) if blank_lines and len(dialect.labels) > 1 else ()
    inside, ends, blanks = False, 0, 0
    tail = end  # as if a line had just ended: an empty first line counts as blank
    at = _offset(path, dialect.skip, end)
    every = max(1, (path.stat().st_size - at) // SMALL // SPOTS)
    spots = []
    for number, block in enumerate(blocks(path, SMALL, start=at)):
        if number % every == 0 and number and not inside:
            first = block.find(end)
            if first >= 0 and block.find(quote, 0, first) < 0:
                spots.append((ends + 1 - blanks - int(dialect.header), at + first + 1))
        for pattern in empty:
            blanks += _outside(block, pattern, quote, inside) + (not inside and _across(tail, block[:2], pattern))
        parts = block.translate(None, others).split(quote)
        ends += b"".join(parts[int(inside) :: 2]).count(end)
        inside ^= len(parts) % 2 == 0
        tail = (tail + block)[-2:]
        at += len(block)
    if not tail.endswith(end):
        ends += 1
    return Counted(ends - blanks - int(dialect.header), tuple(spots))


def _outside(block: bytes, pattern: bytes, quote: bytes, inside: bool) -> int:
    """How often `pattern` stands outside quotes in the block, which begins `inside` quotes or not."""
    found = quotes = before = 0
    at = block.find(pattern)
    while at >= 0:
        quotes += block.count(quote, before, at)
        before = at
        found += inside == bool(quotes % 2)
        at = block.find(pattern, at + 1)
    return found


def _across(tail: bytes, head: bytes, pattern: bytes) -> bool:
    """Whether `pattern` begins in `tail` and ends in `head`."""
    border = tail + head
    starts = range(max(0, len(tail) - len(pattern) + 1), len(tail))
    return any(border.startswith(pattern, at) for at in starts)


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
    csv.field_size_limit(MAX_FIELD)
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
