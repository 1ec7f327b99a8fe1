"""Attacks on the locked worker that pass the gate or go around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from peek_core.engines import locked
from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.errors import QueryFailed

FILES = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM read_duckdb('/tmp/x.duckdb')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "FROM '/etc/hosts.csv'",
    "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
    "SELECT * FROM read_text('s3://bucket/x')",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
    "SELECT * FROM query_table('/etc/passwd')",
    "CREATE TABLE scratch.stolen AS SELECT * FROM read_text('/etc/passwd')",
    "WITH x AS (COPY (SELECT 1) TO '/tmp/peek_out.csv') SELECT 1",
    "INSERT INTO scratch.nothing SELECT * FROM read_csv('/etc/passwd')",
]
CORPUS_WRITES = [
    "INSERT INTO raw.main.t SELECT * FROM raw.main.t",
    "UPDATE raw.main.t SET k = 0",
    "DELETE FROM raw.main.t",
    "TRUNCATE raw.main.t",
    "DROP TABLE raw.main.t",
    "DROP VIEW cur.main.t",
    "ALTER TABLE raw.main.t ADD COLUMN z INT",
    "COMMENT ON TABLE raw.main.t IS 'x'",
    "WITH x AS (DELETE FROM raw.main.t RETURNING *) SELECT count(*) FROM x",
    "WITH x AS (INSERT INTO raw.main.t SELECT * FROM raw.main.t RETURNING *) SELECT 1",
    "WITH x AS (UPDATE raw.main.t SET k = 0 RETURNING *) SELECT 1",
    "EXPLAIN ANALYZE DELETE FROM raw.main.t",
    "EXPLAIN ANALYZE INSERT INTO raw.main.t SELECT * FROM raw.main.t",
    "DELETE FROM t",
    "INSERT INTO t SELECT * FROM t",
]


@pytest.mark.parametrize("sql", FILES)
def test_no_file_and_no_network(sql: str, engine: DuckDBEngine) -> None:
    with pytest.raises(QueryFailed):
        engine.query(sql, limit=10)
    assert not Path("/tmp/peek_out.csv").exists()


@pytest.mark.parametrize("sql", CORPUS_WRITES)
def test_the_dataset_cannot_change(sql: str, engine: DuckDBEngine) -> None:
    with pytest.raises(QueryFailed):
        engine.query(sql, limit=10)
    assert engine.query("SELECT count(*), sum(id) FROM raw.main.t", limit=1).table.rows == ((5000, 12497500),)


def test_raw_bytes_of_the_dataset_file_are_closed(engine: DuckDBEngine, corpus: Path) -> None:
    for function in ("read_blob", "read_text"):
        with pytest.raises(QueryFailed):
            engine.query(f"SELECT * FROM {function}('{corpus}')", limit=1)


def test_host_variables_are_not_readable(engine: DuckDBEngine) -> None:
    for name in ("checked", "request", "self", "rows", "config", "source"):
        with pytest.raises(QueryFailed, match="does not exist"):
            engine.query(f"SELECT * FROM {name}", limit=1)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM duckdb_databases()",
        "SELECT * FROM duckdb_settings()",
        "FROM pragma_database_list",
        "SELECT list(path) AS p, {'a': list(path)} AS q FROM duckdb_databases()",
    ],
)
def test_paths_are_scrubbed_from_rows(sql: str, engine: DuckDBEngine, corpus: Path, view: Path) -> None:
    text = str(engine.query(sql, limit=500).table.rows)
    for path in (corpus, view, Path.home() / ".duckdb"):
        assert str(path) not in text


def test_paths_are_scrubbed_from_errors(engine: DuckDBEngine, corpus: Path) -> None:
    with pytest.raises(QueryFailed) as failure:
        engine.query(f"SELECT * FROM read_csv('{corpus}')", limit=1)
    assert str(corpus.parent) not in failure.value.sentence()


def test_a_temp_table_cannot_shadow_the_dataset(engine: DuckDBEngine) -> None:
    for sql in ("CREATE TEMP TABLE t AS SELECT 1 AS id", "EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1 AS id"):
        with pytest.raises(QueryFailed):
            engine.query(sql, limit=1)
    assert engine.query("SELECT count(*) FROM t", limit=1).table.rows == ((4000,),)


def test_scratch_cannot_shadow_the_dataset_either(engine: DuckDBEngine) -> None:
    engine.query("CREATE OR REPLACE TABLE scratch.t AS SELECT 1 AS id", limit=1)
    assert engine.query("SELECT count(*) FROM t", limit=1).table.rows == ((4000,),)
    engine.query("DROP TABLE scratch.t", limit=1)


def test_the_lock_holds_without_the_gate(corpus: Path, view: Path, tmp_path: Path) -> None:
    """What C1 stops is stopped by the connection alone, also for statements the gate would have refused."""
    connection, cursor = locked.open_locked(corpus, view, locked.Limits(256 * 2**20, 1, 5.0))
    other = tmp_path / "other.duckdb"
    for sql in (
        "SET threads = 8", "SET GLOBAL enable_external_access = true", "RESET disabled_filesystems", "LOAD httpfs",
        "SET lock_configuration = false", f"ATTACH '{other}'", f"ATTACH '{corpus}' AS again", "INSTALL httpfs",
        f"COPY raw.main.t TO '{tmp_path}/out.csv'", f"EXPORT DATABASE '{tmp_path}/dir'", "PRAGMA enable_profiling",
        f"SET profiling_output = '{tmp_path}/p.json'", f"SET temp_directory = '{tmp_path}'",
    ):  # fmt: skip
        with pytest.raises(Exception, match=r".+"):
            cursor.execute(sql).fetchall()
    assert list(tmp_path.iterdir()) == []
    connection.close()


def test_the_worker_knows_no_secret(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    from peek_core.engines.process import bare_environment

    known = bare_environment({**os.environ, "PEEK_API_KEY": "k", "OPENAI_API_KEY": "k", "HOME": "/h"})
    assert not {name for name in known if "KEY" in name or name == "HOME"}
