"""A small dataset, its view file, and engines over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.engines.views import write_view_file
from peek_core.settings import SqlLimits

SMALL = SqlLimits(memory_bytes=512 * 2**20, seconds=2.0, rows_to_cell=1000)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`t` has 5,000 rows: id, k = id % 7, name, d decimal, day."""
    path = tmp_path_factory.mktemp("corpus") / "data.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 7 AS k, 'name' || i AS name, (i * 1.5)::DECIMAL(10,2) AS d, "
        "DATE '2024-01-01' + (i % 300)::INT AS day FROM range(5000) r(i)"
    )
    connection.execute("CHECKPOINT")
    connection.close()
    return path


@pytest.fixture(scope="session")
def view(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`t` without the last 1,000 rows, k moved up by one; `days` over it."""
    path = tmp_path_factory.mktemp("views") / "views.duckdb"
    write_view_file(
        corpus,
        path,
        {
            "t": "SELECT * REPLACE (k + 1 AS k) FROM raw.main.t WHERE id < 4000; -- the curated rows",
            "days": "SELECT day, count(*) AS n FROM raw.main.t GROUP BY day",
        },
    )
    return path


@pytest.fixture(scope="module")
def engine(corpus: Path, view: Path) -> Iterator[DuckDBEngine]:
    """One engine a test module; tests leave scratch as they found it or name their tables apart."""
    with DuckDBEngine(corpus, view, limits=SMALL) as engine:
        yield engine
