"""How many distinct values each column of a loaded table has, where counting them is cheap enough.

Owns: when it is counted, and the shapes of SQL that stay fast. Refuses to estimate: a number is exact or None.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from peek_core.corpus.names import quoted

EXACT_ROWS = 1_000_000
"""Up to so many rows every column is counted."""
EXACT_DISTINCT = 100_000
"""In longer tables only columns with an estimate of at most so many."""

_MANY_ROWS = 100_000
# Every DISTINCT in a statement holds a table of its own, so few at a time for long tables. Between 5 and 11 of them are
# planned in a way that is several times slower (DuckDB 2.0.1).
_FEW, _SOME = 4, 12
# A short wide table is counted as one long column of (column, value): a plan for thousands of DISTINCT takes seconds.
_WIDE, _SMALL = 60, 500_000


def distinct_counts(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], rows: int) -> list[int | None]:
    """Distinct non-null values of each column, None where it was not counted. Raises `duckdb.Error`."""
    if len(columns) > _WIDE and rows * len(columns) <= _SMALL:
        return _as_rows(con, table, columns)
    if rows <= EXACT_ROWS:
        return _counted(con, table, columns, "count(DISTINCT {})", _FEW if rows > _MANY_ROWS else _SOME)
    estimates = _counted(con, table, columns, "approx_count_distinct({})", _SOME)
    few = [c for c, about in zip(columns, estimates, strict=True) if about is not None and about <= EXACT_DISTINCT]
    exact = dict(zip(few, _counted(con, table, few, "count(DISTINCT {})", _FEW), strict=True))
    return [exact.get(column) for column in columns]


def _counted(
    con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], wanted: str, step: int
) -> list[int | None]:
    found: list[int | None] = []
    for start in range(0, len(columns), step):
        part = ", ".join(wanted.format(quoted(column)) for column in columns[start : start + step])
        row = con.execute(f"SELECT {part} FROM {quoted(table)}").fetchone()
        found += row or ()
    return found


def _as_rows(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]) -> list[int | None]:
    listed = ", ".join(f"{quoted(column)}::VARCHAR" for column in columns)
    found = con.execute(
        f"SELECT n, count(DISTINCT v) FROM (SELECT unnest([{listed}]) AS v, unnest(range({len(columns)})) AS n "
        f"FROM {quoted(table)}) GROUP BY n"
    ).fetchall()
    held: dict[int, int] = dict(found)
    return [held.get(n, 0) for n in range(len(columns))]
