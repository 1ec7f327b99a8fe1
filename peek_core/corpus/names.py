"""Safe SQL names for headers and tables.

Owns the mapping from a header as it stood in the file to an identifier that needs no quotes. Refuses to know values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_MAX = 60
# Words that DuckDB does not accept as a column name without quotes, and its own `rowid`.
_RESERVED_WORDS = """
all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
collate collation column concurrently constraint create cross default deferrable desc describe distinct do
else end except false fetch for foreign freeze from full glob group having ilike in initially inner intersect
into is isnull join lambda lateral leading left like limit natural not notnull null offset on only or order
outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify references returning right
rowid select semi show similar some summarize symmetric table tablesample then to trailing true union unique
unpack unpivot using variadic verbose when where window with
"""
RESERVED = frozenset(_RESERVED_WORDS.split())


def label(header: str) -> str:
    """The header as people see it: outer and repeated white space (also line breaks) reduced to single spaces."""
    return " ".join(unicodedata.normalize("NFC", header).split())


def identifier(text: str, fallback: str) -> str:
    """One safe identifier: lower snake case, letters of any script kept, never a reserved word, at most 60 long."""
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text).lower()).strip("_")
    name = re.sub(r"_+", "_", name)[:_MAX].rstrip("_")
    if not name:
        return fallback
    if name[0].isdigit():
        name = f"c_{name}"
    return f"{name}_" if name in RESERVED else name


def unique(labels: Iterable[str], *, fallback: str = "column") -> tuple[str, ...]:
    """Identifiers for all labels in order; SQL ignores case, so `Rating` and `rating` become rating, rating_2."""
    taken: set[str] = set()
    made = []
    for number, text in enumerate(labels, start=1):
        base = identifier(text, f"{fallback}_{number}")
        name, n = base, 1
        while name in taken:
            n += 1
            name = f"{base.rstrip('_')}_{n}"
        taken.add(name)
        made.append(name)
    return tuple(made)


def quoted(name: str) -> str:
    """The name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
