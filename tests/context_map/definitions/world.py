"""One small raw table with what makes definitions hard: odd column names, odd values, and a DuckDB that holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from peek_core.context_map.definitions import Definition
from peek_core.errors import QueryFailed
from peek_core.values.trajectory import Table

COLUMNS = {
    "id": "BIGINT",
    "status": "VARCHAR",
    "order": "VARCHAR",
    'Say "when"; x': "VARCHAR",
    "amount": "BIGINT",
    "rate": "DOUBLE",
    "before": "VARCHAR",
}
ODD = 'Say "when"; x'
Row = tuple[Any, ...]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Raw:
    """A DuckDB with one table `t` in `raw`; an instance is a query function."""

    def __init__(self, rows: Sequence[Row], columns: dict[str, str] = COLUMNS) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("ATTACH ':memory:' AS raw")
        named = ", ".join(f"{quoted(c)} {t}" for c, t in columns.items())
        self.connection.execute(f"CREATE TABLE raw.main.t ({named})")
        if rows:
            self.connection.executemany(f"INSERT INTO raw.main.t VALUES ({', '.join('?' * len(columns))})", rows)

    def __call__(self, sql: str) -> Table:
        try:
            done = self.connection.execute(sql)
        except duckdb.Error as failure:
            raise QueryFailed(str(failure)) from None
        rows = done.fetchall()
        return Table(tuple(c[0] for c in done.description), tuple(rows), len(rows))


def named(definitions: Iterable[Definition]) -> list[Definition]:
    """With ids, as a map gives them."""
    return [Definition(**{**d.__dict__, "id": f"def-{n}"}) for n, d in enumerate(definitions, 1)]
