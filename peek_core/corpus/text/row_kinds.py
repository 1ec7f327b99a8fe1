"""What the columns of a file hold, words or values, and which rows look like a header above them.

Owns: telling words from numbers, dates and times in single cells, in columns and in rows. Refuses to know where the
table begins.

What tells a header from data are the columns that hold numbers, dates or times below: a header row holds words there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from peek_core.corpus.text.cutting import Record
from peek_core.corpus.typed.types import MISSING_WORDS

MAX_HEADER_ROWS = 8
BODY = 300
"""Rows that are looked at below a header."""
_TYPED = re.compile(
    r"[-+(]*\s?(?:[$€£¥]|[A-Z]{3}\s)?\s?[-+]?[.,]?\d[\d.,:/'\u00a0\u202f -]*(?:[eE][+-]?\d+)?\s?(?:%|€|\$|£|¥|[A-Z]{3})?\)?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|true|false",
    re.ASCII,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
Kind = Literal["", "value", "year"]
"""What a column holds: words, or numbers, dates or times, or of these only years."""


def neutral(cell: str) -> bool:
    """Says nothing about its column: empty, a word for missing, or only signs such as ****."""
    text = cell.strip()
    return not text or text.lower() in MISSING_WORDS or not any(c.isalnum() for c in text)


def typed(cell: str) -> bool:
    """Looks like a number, a date or a time."""
    return bool(_TYPED.fullmatch(cell.strip()))


def sparse(record: Record, width: int) -> bool:
    """So little filled that it is rather a title or a note than a row."""
    return record.filled <= max(1, width // 12)


def no_kinds(width: int) -> tuple[Kind, ...]:
    """Columns that hold words only."""
    none: Kind = ""
    return (none,) * width


def kinds(rows: Sequence[Record], width: int) -> tuple[Kind, ...]:
    """Which columns hold numbers, dates or times: nearly all cells of the lower rows do."""
    fitting = [r for r in rows if r.width == width and not (width > 2 and sparse(r, width))]
    # Far enough down to be below any header, yet in a short table at least its last row.
    body = fitting[max(1, min(len(fitting) - 1, -(-2 * len(fitting) // 3), MAX_HEADER_ROWS)) :][:BODY]
    found: list[Kind] = []
    for n in range(width):
        cells = [r.fields[n] for r in body if not neutral(r.fields[n])]
        valued = cells and sum(map(typed, cells)) >= 0.8 * len(cells)
        years = valued and sum(bool(_YEAR.fullmatch(c.strip())) for c in cells) >= 0.8 * len(cells)
        found.append("year" if years else "value" if valued else "")
    return tuple(found)


def wordy(rows: Sequence[Record], width: int) -> tuple[bool, ...]:
    """For each column whether it holds no numbers, dates or times at all, but words."""
    fitting = [r.fields for r in rows if r.width == width]
    cells = [[f[n] for f in fitting if not neutral(f[n])] for n in range(width)]
    return tuple(bool(column) and not any(map(typed, column)) for column in cells)


def data_like(record: Record, kinds: Sequence[Kind]) -> bool:
    """Holds a number, date or time where its column does."""
    return any(kind and typed(cell) for kind, cell in zip(kinds, record.fields, strict=False))


def _words_over(record: Record, kinds: Sequence[Kind]) -> bool:
    """Holds a word where its column holds numbers, dates or times."""
    return any(
        k and any(map(str.isalpha, c)) and not neutral(c) and not typed(c)
        for k, c in zip(kinds, record.fields, strict=False)
    )


def names_years(record: Record, kinds: Sequence[Kind]) -> bool:
    """Columns named by years, such as `region,2024,2025`: they differ, rise, and all else are words."""
    over = [(k, c.strip()) for k, c in zip(kinds, record.fields, strict=False) if k and typed(c)]
    numbers = [c for _, c in over]
    return (
        len(numbers) > 1
        and all(k != "year" and _YEAR.fullmatch(c) for k, c in over)
        and numbers == sorted(set(numbers))
        and (len(numbers) > 2 or any(not neutral(c) and not typed(c) for c in record.fields))
    )


def header_like(record: Record, kinds: Sequence[Kind]) -> bool:
    """Whether a row names columns of these kinds."""
    if names_years(record, kinds):
        return True
    return not data_like(record, kinds) and (_words_over(record, kinds) or not any(kinds))
