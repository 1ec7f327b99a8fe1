"""What every SQL engine behind the port must do. Another engine joins by one line in ENGINES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.errors import Broken, QueryFailed
from peek_core.ports import Engine


def _duckdb(directory: Path) -> Engine:
    path = directory / "data.duckdb"
    if not path.exists():
        connection = duckdb.connect(str(path))
        connection.execute("CREATE TABLE t (id INTEGER, name VARCHAR)")
        connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
        connection.close()
    return DuckDBEngine(path)


ENGINES: dict[str, Callable[[Path], Engine]] = {"duckdb": _duckdb}


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.close()


def test_rows_names_count(engine: Engine) -> None:
    outcome = engine.query("SELECT id, name FROM t ORDER BY id", limit=10)
    assert outcome.table.columns == ("id", "name")
    assert outcome.table.rows == ((1, "a"), (2, "b"), (3, None))
    assert (outcome.table.row_count, outcome.table.truncated) == (3, False)
    assert outcome.seconds >= 0


def test_the_limit_and_the_true_count(engine: Engine) -> None:
    table = engine.query("SELECT id FROM t ORDER BY id", limit=2).table
    assert table.rows == ((1,), (2,))
    assert (table.row_count, table.truncated) == (3, True)


def test_an_empty_result_keeps_its_columns(engine: Engine) -> None:
    table = engine.query("SELECT id FROM t WHERE id > 99", limit=5).table
    assert (table.columns, table.rows, table.row_count) == (("id",), (), 0)


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT nope FROM t", "SELECT 1; SELECT 2", "DELETE FROM t", ""])
def test_what_the_model_can_repair(engine: Engine, sql: str) -> None:
    with pytest.raises(QueryFailed) as failure:
        engine.query(sql, limit=5)
    assert failure.value.sentence()
    assert engine.query("SELECT count(*) AS n FROM t", limit=1).table.rows == ((3,),)


def test_interrupt_with_nothing_running_is_harmless(engine: Engine) -> None:
    engine.interrupt()
    assert engine.query("SELECT 1 AS a", limit=1).table.rows == ((1,),)


def test_export(engine: Engine, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert engine.export_csv("SELECT id, '=' || name AS f FROM t ORDER BY id", str(target)) == 3
    assert target.read_text(encoding="utf-8").splitlines() == ["id,f", "1,'=a", "2,'=b", "3,"]


def test_closed_is_broken(engine: Engine) -> None:
    engine.close()
    with pytest.raises(Broken):
        engine.query("SELECT 1", limit=1)


def test_it_says_its_dialect(engine: Engine) -> None:
    assert engine.dialect
