"""How many distinct values each column of a loaded table has, where counting them is cheap enough.

Owns: when it is counted, and the shapes of SQL that stay fast. Refuses to estimate: a number is exact or None.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from peek_core.corpus.names import quoted

EXACT_ROWS = 200_000
"""Up to so many rows every column is counted."""
ESTIMATED_ROWS = 1_000_000
"""In tables longer than this, a column is counted only where the estimate is at most `EXACT_DISTINCT`."""
EXACT_DISTINCT = 100_000

# In a long table a column that hardly repeats among so many first rows is not counted: that would take most of the time.
_FIRST, _REPEATS = 10_000, 0.5
_MANY_ROWS = 100_000
# Every DISTINCT in a statement holds a table of its own, so few at a time for long tables. Between 5 and 11 of them are
# planned in a way that is several times slower (DuckDB 2.0.1).
_FEW, _SOME = 4, 12
# A short wide table is counted as one long column of (column, value): a plan for thousands of DISTINCT takes seconds.
_WIDE, _SMALL = 60, 500_000
_COUNT = "count(DISTINCT {})"


def distinct_counts(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], rows: int) -> list[int | None]:
    """Distinct non-null values of each column, None where it was not counted. Raises `duckdb.Error`."""
    if len(columns) > _WIDE and rows * len(columns) <= _SMALL:
        return _as_rows(con, table, columns)
    relation = quoted(table)
    if rows <= EXACT_ROWS:
        return _counted(con, relation, columns, _COUNT, _FEW if rows > _MANY_ROWS else _SOME)
    first = f"(SELECT * FROM {relation} LIMIT {_FIRST})"
    left = _at_most(columns, _counted(con, first, columns, _COUNT, _SOME), int(_FIRST * _REPEATS))
    if rows > ESTIMATED_ROWS:
        left = _at_most(left, _counted(con, relation, left, "approx_count_distinct({})", _SOME), EXACT_DISTINCT)
    exact = dict(zip(left, _counted(con, relation, left, _COUNT, _FEW), strict=True))
    return [exact.get(column) for column in columns]


def _at_most(columns: Sequence[str], counts: Sequence[int | None], most: int) -> list[str]:
    return [column for column, found in zip(columns, counts, strict=True) if found is not None and found <= most]


def _counted(
    con: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[str], wanted: str, step: int
) -> list[int | None]:
    found: list[int | None] = []
    for start in range(0, len(columns), step):
        part = ", ".join(wanted.format(quoted(column)) for column in columns[start : start + step])
        row = con.execute(f"SELECT {part} FROM {relation}").fetchone()
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
