"""From a relation of text to typed columns: which type each one has, and the SELECT list that converts it.

Owns: the sample, the one scan over all values that the sample leaves open, and its two shapes of SQL. Refuses to know
what a type looks like (`types` does) and where the text comes from.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from peek_core.corpus import names, types

_SAMPLE_CELLS = 60_000
_SAMPLE_ROWS = 5_000
# Up to so many columns are checked side by side; the plan for more would take longer than the scan.
_SIDE_BY_SIDE = 60


def sample(con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str]) -> list[tuple[str | None, ...]]:
    """The first rows of `source`, fewer where there are many columns."""
    limit = max(50, min(_SAMPLE_ROWS, _SAMPLE_CELLS // len(columns)))
    return con.execute(f"SELECT * FROM {source} LIMIT {limit}").fetchall()


def readings(
    con: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[str],
    labels: Sequence[str],
    rows: Sequence[tuple[str | None, ...]],
) -> list[types.Reading]:
    """The type of every column, by one scan over all values of those columns that the sample `rows` leave open."""
    made = [types.Reading(types.VARCHAR, names.quoted(column)) for column in columns]
    left_open = [(n, types.possible(row[n] for row in rows)) for n in range(len(columns))]
    checked = [(n, candidates) for n, candidates in left_open if candidates and rows]
    found: list[tuple[object, ...]] = []
    if len(checked) > _SIDE_BY_SIDE:
        found = _counts_as_rows(con, source, [columns[n] for n, _ in checked])
    elif checked:
        inner = ", ".join(
            f"{names.quoted(columns[n])}, {types.shape_sql(columns[n], candidates)} AS shape_{n}"
            for n, candidates in checked
        )
        wanted = ", ".join(
            part for n, _ in checked for part in types.counts_sql(names.quoted(columns[n]), f"shape_{n}")
        )
        row = con.execute(f"SELECT {wanted} FROM (SELECT {inner} FROM {source})").fetchone()
        assert row is not None
        found = [row[at : at + types.COUNTS] for at in range(0, len(row), types.COUNTS)]
    for (n, _), counts in zip(checked, found, strict=True):
        made[n] = types.decide(columns[n], labels[n] or columns[n], counts)
    return made


def _counts_as_rows(con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """What `types.counts_sql` gives, for wide files: every value becomes a row, so that one expression does for all."""
    listed = ", ".join(names.quoted(column) for column in columns)
    wanted = ", ".join(types.counts_sql("v", "shape"))
    rows = con.execute(
        f"SELECT n, {wanted} FROM (SELECT n, v, {types.shape_sql('v', types.TYPED)} AS shape FROM "
        f"(SELECT unnest([{listed}]) AS v, unnest(range({len(columns)})) AS n FROM {source})) GROUP BY n ORDER BY n"
    ).fetchall()
    return [row[1:] for row in rows]
