"""What is told of the columns of a loaded table: missing and distinct values, and which got another name.

Owns: counting them and the sentence on names. Refuses to know how the table was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb

from peek_core.corpus import names
from peek_core.corpus.distinct import distinct_counts
from peek_core.values.dataset import Column

_AT_ONCE = 500
_SAMPLE = 60


def describe(con: duckdb.DuckDBPyConnection, table: str, laid: Sequence[Column]) -> tuple[Column, ...]:
    """The columns as they were laid out, with their nulls and distinct values counted and their samples cut."""
    made: list[Column] = []
    for start in range(0, len(laid), _AT_ONCE):
        part = laid[start : start + _AT_ONCE]
        wanted = ", ".join(f"count({names.quoted(c.name)})" for c in part)
        row = con.execute(f"SELECT count(*), {wanted} FROM {names.quoted(table)}").fetchone()
        assert row is not None
        rows, *filled = (int(n) for n in row)
        distinct = distinct_counts(con, table, [c.name for c in part], rows)
        made += [
            replace(c, nulls=rows - n, distinct=different, sample=c.sample[:_SAMPLE])
            for c, n, different in zip(part, filled, distinct, strict=True)
        ]
    return tuple(made)


def renamed(columns: Sequence[Column]) -> tuple[str, ...]:
    """One sentence on headers whose SQL name differs by more than case and spaces; the mapping is in the columns."""
    changed = [c for c in columns if c.name != c.label]
    if not changed:
        return ()
    shown = ", ".join(f"“{c.label}” is {c.name}" for c in changed[:8])
    more = f", and {len(changed) - 8:,} more" if len(changed) > 8 else ""
    return (f"Columns got names for SQL: {shown}{more}.",)
