"""A curator over a store, with data that is a table of answers instead of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from peek_core.book import StoreBook
from peek_core.curation import Curator
from peek_core.errors import QueryFailed
from peek_core.settings import MapSettings
from peek_core.store.sql_store import SqlStore
from peek_core.values.trajectory import Table

COLUMNS = {"t": {"status": "VARCHAR", "n": "BIGINT"}}


class Data:
    """What queries give: as many rows as `rows` says, and the number a query of `SELECT n FROM t` asks for; nothing where
    the table is `gone`."""

    def __init__(self) -> None:
        self.rows, self.gone = 10, False

    def __call__(self, sql: str) -> Table:
        if self.gone:
            raise QueryFailed("no such table")
        if "rows_before" in sql:
            return Table(("b", "a", "c"), ((10, 9, 0),), 1)
        if "n_rows" in sql:
            return Table(("before", "after", "n_rows"), (), 0)
        if sql == "SELECT count(*) FROM t":
            return Table(("n",), ((self.rows,),), 1)
        if sql.startswith("SELECT ") and sql.endswith(" FROM t") and sql.split()[1].isdecimal():
            return Table(("n",), ((int(sql.split()[1]),),), 1)
        raise QueryFailed("no such column")


class Bench:
    """Curators and books of any number of datasets in one store."""

    def __init__(self, path: Path) -> None:
        self.now = 1_000.0
        self.store = SqlStore(f"sqlite:///{path / 'peek.sqlite'}", self._clock)
        self.data = Data()
        self.settings = MapSettings()
        self._datasets = 0

    def _clock(self) -> float:
        self.now += 1
        return self.now

    def dataset(self) -> str:
        self._datasets += 1
        return f"d{self._datasets}"

    def book(self, dataset: str) -> StoreBook:
        return StoreBook(self.store, dataset, "peek")

    def curator(self, dataset: str, settings: MapSettings | None = None, version: int = 1) -> Curator:
        def query_with(use: Callable[[Any], Any], definitions: Any) -> Any:
            return use(self.data)

        return Curator(
            self.book(dataset), settings or self.settings, lambda text: len(text) // 4, query_with, COLUMNS, version
        )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("curating"))
    yield made
    made.store.close()


@pytest.fixture
def curator(bench: Bench) -> Curator:
    """Of a new dataset with an empty map."""
    bench.data.rows = 10
    return bench.curator(bench.dataset())
