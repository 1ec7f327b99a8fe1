"""Statements that would take everything: stopped, or killed with the engine usable afterwards."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.errors import QueryFailed
from peek_core.settings import SqlLimits

LIMITS = SqlLimits(memory_bytes=256 * 2**20, seconds=1.0)
BOMBS = {
    "cross join": "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) % 7 = 1",
    "recursive": "WITH RECURSIVE r(n) AS (SELECT 1::BIGINT UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
    "ctas": "CREATE TABLE scratch.big AS SELECT i, md5(i::VARCHAR) AS h FROM range(100000000) r(i)",
    "sort": "SELECT * FROM (SELECT md5(i::VARCHAR) AS h FROM range(30000000) r(i)) ORDER BY h",
    "lpad": "SELECT length(lpad('x', 2000000000, 'y'))",
    "repeat": "SELECT length(repeat('ab', 2000000000))",
    "list": "SELECT length(list_transform(range(100000000), lambda x: x + 1))",
    "range list": "SELECT length(range(1000000000))",
    "bitstring": "SELECT bit_count(bitstring('1', 2000000000))",
    "printf": "SELECT length(printf('%1000000000d', 1))",
    "unions": "SELECT 1 " + "UNION ALL SELECT 1 " * 900,
    "ctes": "WITH a0 AS (SELECT 1 AS x), "
    + ", ".join(
        f"a{i} AS NOT MATERIALIZED (SELECT * FROM a{i - 1} UNION ALL SELECT * FROM a{i - 1})" for i in range(1, 26)
    )
    + " SELECT count(*) FROM a25",
}


@pytest.fixture(scope="module")
def engine(corpus: Path) -> Iterator[DuckDBEngine]:
    with DuckDBEngine(corpus, limits=LIMITS) as engine:
        yield engine


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_time_and_the_engine_lives(name: str, engine: DuckDBEngine) -> None:
    started = time.monotonic()
    # Some of them finish within the limits on a fast machine; ending in time is what counts.
    with contextlib.suppress(QueryFailed):
        engine.query(BOMBS[name], limit=10)
    assert time.monotonic() - started < LIMITS.seconds + 2 + 1.5
    assert engine.query("SELECT count(*) FROM t", limit=1).table.rows == ((5000,),)


def test_an_endless_result_streams_its_first_rows(engine: DuckDBEngine) -> None:
    outcome = engine.query("SELECT * FROM range(100000000000)", limit=1000)
    assert len(outcome.table.rows) == 1000
    assert outcome.table.truncated
    assert outcome.table.row_count is None
    assert outcome.seconds < 0.5


def test_the_timeout_of_one_query_can_be_shorter(engine: DuckDBEngine) -> None:
    started = time.monotonic()
    with pytest.raises(QueryFailed, match=r"stopped after 0\.3 s"):
        engine.query(BOMBS["cross join"], limit=1, timeout_s=0.3)
    assert time.monotonic() - started < 1.5


def test_interrupt_from_another_thread(corpus: Path) -> None:
    with DuckDBEngine(corpus, limits=SqlLimits(seconds=30)) as engine:
        engine.start()
        threading.Timer(0.3, engine.interrupt).start()
        started = time.monotonic()
        with pytest.raises(QueryFailed, match="was stopped"):
            engine.query(BOMBS["cross join"], limit=1)
        assert time.monotonic() - started < 1.5
        engine.interrupt()  # nothing runs: must not hit the next statement
        assert engine.query("SELECT 1", limit=1).table.rows == ((1,),)


def test_a_kill_says_that_scratch_is_gone(corpus: Path) -> None:
    with DuckDBEngine(corpus, limits=LIMITS) as engine:
        engine.query("CREATE TABLE scratch.x AS SELECT 1 AS a", limit=1)
        first = engine.worker_pid
        assert first is not None
        with pytest.raises(QueryFailed) as failure:
            engine.query(BOMBS["lpad"], limit=1)
        assert "scratch are gone" in failure.value.sentence()
        assert not psutil.pid_exists(first)
        with pytest.raises(QueryFailed, match="does not exist"):
            engine.query("FROM scratch.x", limit=1)
        assert engine.worker_pid not in (None, first)


def test_memory_past_twice_the_limit_is_killed(corpus: Path) -> None:
    tight = SqlLimits(memory_bytes=64 * 2**20, seconds=20.0)
    with DuckDBEngine(corpus, limits=tight, address_space=False) as engine:
        with pytest.raises(QueryFailed, match=r"memory|Memory"):
            engine.query("SELECT length(lpad('x', 2000000000, 'y'))", limit=1)
        assert engine.query("SELECT 1", limit=1).table.rows == ((1,),)


def test_a_wide_row_is_refused_and_bytes_are_capped(corpus: Path) -> None:
    with DuckDBEngine(corpus, limits=SqlLimits(bytes_to_cell=10_000)) as engine:
        with pytest.raises(QueryFailed, match="first row alone"):
            engine.query("SELECT repeat('x', 20000) AS a", limit=10)
        table = engine.query("SELECT repeat('x', 1000) AS a FROM range(50)", limit=50).table
        assert 5 <= len(table.rows) < 10
        assert table.truncated
        assert table.row_count == 50
