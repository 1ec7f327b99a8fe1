"""The statement gate: a table of what passes and what does not."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peek_core.engines import gate
from peek_core.errors import QueryFailed

ALLOWED = [
    "SELECT 1",
    "select 1;",
    "select 1 ; ; -- done",
    "/* look */ SELECT 1",
    "\ufeffSELECT 1",
    "FROM t",
    "VALUES (1), (2)",
    "TABLE t",
    "(SELECT 1)",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "DESCRIBE t",
    "DESC t",
    "SUMMARIZE t",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "PIVOT t ON k USING count(*)",
    "UNPIVOT t ON k INTO NAME a VALUE b",
    "WITH a AS (PIVOT t ON k USING count(*)) FROM a",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (ANALYZE, FORMAT json) SELECT 1",
    "EXPLAIN (SELECT 1)",
    "EXPLAIN ANALYZE DELETE FROM scratch.x",
    "CREATE TABLE scratch.x AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE scratch.x (a INT)",
    "CREATE TABLE IF NOT EXISTS scratch.x (a INT)",
    'CREATE TABLE "scratch"."x" (a INT)',
    "CREATE TABLE memory.scratch.x (a INT)",
    "CREATE OR REPLACE VIEW scratch.v AS SELECT 1",
    "CREATE TABLE scratch.x AS PIVOT t ON k",
    "INSERT INTO scratch.x VALUES (1)",
    "INSERT INTO scratch.x VALUES (1) RETURNING a",
    "WITH a AS (SELECT 1) INSERT INTO scratch.x SELECT * FROM a",
    "UPDATE scratch.x SET a = 2",
    "DELETE FROM scratch.x",
    "TRUNCATE scratch.x",
    "ALTER TABLE scratch.x ADD COLUMN b INT",
    "COMMENT ON TABLE scratch.x IS 'mine'",
    "DROP TABLE scratch.x",
    "DROP VIEW IF EXISTS scratch.v",
    "SELECT 'a;b; DROP TABLE t'",
    "SELECT $$; SET x = 1$$",
    'SELECT 1 AS "SET"',
    "SELECT * FROM query('SELECT 1')",
    "SELECT 'é' AS ü, 1 -- ö",
]

DENIED = [
    "",
    "   ",
    "-- nothing",
    ";",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE scratch.x",
    "SELECT 1;SET threads=1",
    "/* SELECT */ SET threads = 1",
    "-- SELECT 1\nSET threads = 1",
    "SET threads = 1",
    "SET GLOBAL lock_configuration = false",
    "SET SESSION search_path = 'raw'",
    "SET VARIABLE a = 1",
    "SET schema = 'raw.main'",
    "RESET threads",
    "USE raw",
    "USE memory.scratch",
    "PRAGMA database_list",
    "PRAGMA threads = 4",
    "PRAGMA enable_profiling",
    "pragma/**/show_tables",
    "ATTACH 'x.duckdb'",
    "ATTACH ':memory:' AS raw2",
    "DETACH raw",
    "DETACH DATABASE IF EXISTS raw",
    "COPY t TO 'out.csv'",
    "COPY (SELECT 1) TO 'out.csv'",
    "COPY (PIVOT t ON k) TO 'out.csv'",
    "COPY scratch.x FROM 'in.csv'",
    "COPY FROM DATABASE raw TO memory",
    "EXPORT DATABASE 'dir'",
    "IMPORT DATABASE 'dir'",
    "CALL pragma_version()",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "VACUUM",
    "ANALYZE",
    "LOAD icu",
    "INSTALL httpfs",
    "FORCE INSTALL httpfs",
    "UPDATE EXTENSIONS",
    "CONNECT 'x'",
    "DISCONNECT",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "DEALLOCATE p",
    "BEGIN",
    "BEGIN TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "CREATE SECRET s (TYPE s3)",
    "CREATE PERSISTENT SECRET s (TYPE s3)",
    "CREATE MACRO f(a) AS a",
    "CREATE OR REPLACE MACRO t() AS TABLE SELECT 1",
    "CREATE FUNCTION f(a) AS a",
    "CREATE TYPE y AS ENUM ('a')",
    "CREATE SEQUENCE s",
    "CREATE SCHEMA s",
    "CREATE INDEX i ON scratch.x (a)",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE TEMPORARY TABLE t AS SELECT 1",
    "CREATE/**/TEMP/**/TABLE t AS SELECT 1",
    "CREATE\u00a0TEMP\u00a0TABLE t AS SELECT 1",
    "CREATE OR REPLACE TEMP VIEW t AS SELECT 1",
    "CREATE TEMP MACRO f(a) AS a",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TABLE raw.main.x AS SELECT 1",
    "CREATE TABLE memory.main.x AS SELECT 1",
    "CREATE VIEW t AS SELECT 1",
    "EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1",
    "EXPLAIN ANALYZE COPY t TO 'out.csv'",
    "EXPLAIN (ANALYZE) SET threads = 1",
    "EXPLAIN (FORMAT json) ATTACH 'x'",
    "DROP SCHEMA scratch CASCADE",
    "DROP SCHEMA memory.scratch",
    "DROP MACRO f",
    "DROP SECRET s",
    "DROP DATABASE raw",
    "MERGE INTO scratch.x USING t ON true WHEN MATCHED THEN DELETE",
    "SELECT 'x' || repeat('y', 3)" + " " * 200,
]


@pytest.fixture(scope="module")
def parse() -> gate.Parse:
    return duckdb.connect().extract_statements


@pytest.mark.parametrize("sql", ALLOWED)
def test_allowed(sql: str, parse: gate.Parse) -> None:
    assert gate.check(sql, parse, 200).sql


@pytest.mark.parametrize("sql", DENIED)
def test_denied_with_a_sentence(sql: str, parse: gate.Parse) -> None:
    with pytest.raises(QueryFailed) as failure:
        gate.check(sql, parse, 200)
    assert "llowed" in failure.value.sentence() or "Parser Error" in failure.value.what


def test_syntax_errors_keep_duckdbs_message(parse: gate.Parse) -> None:
    with pytest.raises(QueryFailed, match='syntax error at or near "selec"') as failure:
        gate.check("selec 1", parse, 200)
    assert failure.value.next == ""


def test_any_other_parser_exception_is_a_denial() -> None:
    def broken(sql: str) -> list[object]:
        raise RuntimeError("31 is not a valid StatementType")

    with pytest.raises(QueryFailed, match="not allowed"):
        gate.check("WHATEVER", broken, 200)


@pytest.mark.parametrize(
    ("sql", "again"),
    [
        ("SELECT * FROM t", True),
        ("SELECT random()", False),
        ("SELECT * FROM t USING SAMPLE 10", False),
        ("WITH x AS (INSERT INTO scratch.x VALUES (1) RETURNING a) SELECT * FROM x", False),
        ("INSERT INTO scratch.x VALUES (1) RETURNING a", False),
        ("SELECT 'insert'", True),
    ],
)
def test_only_harmless_selects_may_run_again(sql: str, again: bool, parse: gate.Parse) -> None:
    assert gate.check(sql, parse, 200).rerunnable is again


@pytest.mark.parametrize(
    ("sql", "bare"), [("SELECT 1; -- x", "SELECT 1"), ("SELECT ';' ;;", "SELECT ';'"), ("SELECT 1", "SELECT 1")]
)
def test_the_body_ends_before_the_semicolon(sql: str, bare: str) -> None:
    assert gate.body(sql) == bare


_PARTS = [
    "SELECT", "SET", "CREATE", "TEMP", "TABLE", "scratch", ".", "x", "AS", "1", ";", "--", "/*", "*/", "\n", "'", '"',
    "(", ")", "EXPLAIN", "ANALYZE", "$$", "é", "\u00a0", "USE", "raw", "PIVOT", "COPY", "TO",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(_PARTS), max_size=14))
def test_whatever_passes_is_one_statement_of_an_allowed_kind(parts: list[str]) -> None:
    connection = duckdb.connect()
    try:
        checked = gate.check(" ".join(parts), connection.extract_statements, 500)
    except QueryFailed:
        return
    (statement,) = connection.extract_statements(checked.sql)
    assert statement.type.name in {
        "SELECT", "EXPLAIN", "MULTI", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP", "CREATE",
    }  # fmt: skip
    assert not (statement.type.name == "CREATE" and "TEMP" in checked.sql.split("scratch")[0])
