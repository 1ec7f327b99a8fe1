"""Rows of a file that could not be read, kept beside the table they are missing from.

Owns: where they lie (schema `rejects`, a table of the same name) and their shape. Refuses to know why a row was bad.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

import duckdb

from peek_core.corpus.names import quoted

SCHEMA = "rejects"
MAX_TEXT = 2_000
"""Characters kept of a row's text."""
_BATCH = 1_000


def write_rejects(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[tuple[int, str, str]]) -> int:
    """Keeps (line, reason, text) of rows that `table` lacks, and returns their number; without a row nothing is made.

    Raises `duckdb.Error` where the database cannot be written.
    """
    left = iter(rows)
    first = next(left, None)
    if first is None:
        return 0
    target = f"{SCHEMA}.{quoted(table)}"
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    con.execute(f"CREATE TABLE {target} (line BIGINT, reason VARCHAR, text VARCHAR)")
    count = 0
    left = chain([first], left)
    while batch := list(islice(left, _BATCH)):
        lines, reasons, texts = zip(*((line, reason, text[:MAX_TEXT]) for line, reason, text in batch), strict=True)
        con.execute(
            f"INSERT INTO {target} SELECT unnest($1), unnest($2), unnest($3)", [list(lines), list(reasons), list(texts)]
        )
        count += len(batch)
    return count
