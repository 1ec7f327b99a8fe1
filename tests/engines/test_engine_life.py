"""Starting, dying, restarting, closing, and several engines at once; exports and view files."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import psutil  # type: ignore[import-untyped]
import pytest

from peek_core.engines.csv_export import neutral
from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.engines.views import write_view_file
from peek_core.errors import Broken, QueryFailed
from peek_core.settings import SqlLimits


def _gone(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_a_missing_file_is_broken_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(Broken) as failure:
        DuckDBEngine(tmp_path / "nothing.duckdb").start()
    assert str(tmp_path) not in failure.value.sentence()


def test_close_ends_the_worker_and_later_queries_are_broken(corpus: Path) -> None:
    engine = DuckDBEngine(corpus)
    engine.start()
    pid = engine.worker_pid
    engine.close()
    engine.close()
    assert pid is not None and _gone(pid)
    with pytest.raises(Broken):
        engine.query("SELECT 1", limit=1)


def test_close_from_another_thread_ends_a_running_query(corpus: Path) -> None:
    engine = DuckDBEngine(corpus, limits=SqlLimits(seconds=30))
    engine.start()
    threading.Timer(0.3, engine.close).start()
    with pytest.raises(Broken):
        engine.query(
            "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) = 1", limit=1
        )


def test_a_worker_that_died_between_queries_is_replaced(corpus: Path) -> None:
    with DuckDBEngine(corpus) as engine:
        engine.start()
        assert engine.worker_pid is not None
        os.kill(engine.worker_pid, signal.SIGKILL)
        time.sleep(0.2)
        assert engine.query("SELECT 1", limit=1).table.rows == ((1,),)
        engine.query("CREATE TABLE scratch.x AS SELECT 1 AS a", limit=1)
        os.kill(engine.worker_pid, signal.SIGKILL)
        time.sleep(0.2)
        with pytest.raises(QueryFailed) as failure:
            engine.query("SELECT 1", limit=1)
        assert "scratch are gone" in failure.value.sentence()
        assert engine.query("SELECT 1", limit=1).table.rows == ((1,),)


PARENT = """
import sys, time
from pathlib import Path
from peek_core.engines.duckdb_engine import DuckDBEngine
engine = DuckDBEngine(Path(sys.argv[1]))
engine.start()
print(engine.worker_pid, flush=True)
engine.query("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) = 1", limit=1)
"""


def test_the_worker_ends_when_its_parent_is_killed_in_mid_query(corpus: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(corpus)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.3)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert _gone(pid)


def test_two_engines_on_one_file(corpus: Path, view: Path) -> None:
    with DuckDBEngine(corpus) as one, DuckDBEngine(corpus, view) as two:
        one.query("CREATE TABLE scratch.mine AS SELECT 1 AS a", limit=1)
        assert one.query("SELECT count(*) FROM t", limit=1).table.rows == ((5000,),)
        assert two.query("SELECT count(*) FROM t", limit=1).table.rows == ((4000,),)
        with pytest.raises(QueryFailed):
            two.query("FROM scratch.mine", limit=1)


def test_threads_take_turns(corpus: Path) -> None:
    with DuckDBEngine(corpus) as engine:
        got: list[int] = []

        def ask(n: int) -> None:
            got.append(engine.query(f"SELECT {n} + count(*) FROM t", limit=1).table.rows[0][0])

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(got) == [5000 + n for n in range(8)]


def test_export_neutralises_formulas_and_keeps_numbers(engine: DuckDBEngine, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    count = engine.export_csv(
        "SELECT * FROM (VALUES ('=1+1', -5, 1.50::DECIMAL(4,2), DATE '2024-01-01'), ('+x', 1, NULL, NULL), "
        "('-y', 2, 0, NULL), ('@z', 3, 0, NULL), (chr(9) || 'a', 4, 0, NULL), (chr(13), 5, 0, NULL), "
        '(\'fine, "quoted"\', 6, 0, NULL)) v("=name", n, d, day)',
        str(target),
    )
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert count == 7
    assert rows[0] == ["'=name", "n", "d", "day"]
    assert rows[1] == ["'=1+1", "-5", "1.50", "2024-01-01"]
    assert [row[0] for row in rows[2:]] == ["'+x", "'-y", "'@z", "'\ta", "'\r", 'fine, "quoted"']


def test_export_is_whole_and_leaves_nothing_behind_on_failure(engine: DuckDBEngine, tmp_path: Path) -> None:
    assert engine.export_csv("FROM range(50000)", str(tmp_path / "all.csv")) == 50_000
    with pytest.raises(QueryFailed):
        engine.export_csv("SELECT error('late') FROM range(10)", str(tmp_path / "bad.csv"))
    with pytest.raises(QueryFailed, match="reads"):
        engine.export_csv("CREATE TABLE scratch.e AS SELECT 1 AS a", str(tmp_path / "bad.csv"))
    with pytest.raises(OSError):
        engine.export_csv("FROM range(100000)", str(tmp_path / "no" / "such" / "dir.csv"))
    assert [p.name for p in tmp_path.iterdir()] == ["all.csv"]
    assert engine.query("SELECT 1", limit=1).table.rows == ((1,),)


def test_neutral_leaves_numbers_alone() -> None:
    assert neutral(-1) == -1 and neutral("-1") == "'-1" and neutral(None) == "" and neutral(["=x"]) == '["=x"]'


def test_views_work_under_the_lock_and_raw_stays_reachable(engine: DuckDBEngine) -> None:
    assert engine.query("SELECT min(k), max(k) FROM t", limit=1).table.rows == ((1, 7),)
    assert engine.query("SELECT min(k), max(k) FROM raw.t", limit=1).table.rows == ((0, 6),)
    assert engine.query("SELECT count(*) FROM days", limit=1).table.rows == ((300,),)


def test_a_view_that_cannot_be_bound_writes_nothing(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "v.duckdb"
    for text in (
        "SELECT nope FROM raw.main.t",
        "SELECT 1; DROP TABLE x",
        "SELECT * FROM read_text('/etc/hostname')",
        "DELETE FROM raw.main.t",
        "SELEC",
    ):
        with pytest.raises(QueryFailed) as failure:
            write_view_file(corpus, target, {"fine": "FROM raw.main.t", 'odd "name"': text})
        assert "odd" in failure.value.where
        assert str(tmp_path) not in failure.value.sentence()
    assert list(tmp_path.iterdir()) == []


def test_a_view_file_is_replaced_whole(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "v.duckdb"
    write_view_file(corpus, target, {"a": "FROM raw.main.t"})
    with DuckDBEngine(corpus, target) as old:
        old.start()
        write_view_file(corpus, target, {"b": "SELECT count(*) AS n FROM raw.main.t"})
        assert old.query("SELECT count(*) FROM a", limit=1).table.rows == ((5000,),)
    with DuckDBEngine(corpus, target) as new:
        assert new.query("FROM b", limit=1).table.rows == ((5000,),)
    assert [p.name for p in tmp_path.iterdir()] == ["v.duckdb"]


def test_the_parent_never_loads_the_dataset(corpus: Path) -> None:
    """The file stays readable for every other process, and a writer is only ever refused by readers."""
    with DuckDBEngine(corpus) as engine:
        engine.start()
        assert duckdb.connect(str(corpus), read_only=True).execute("SELECT count(*) FROM t").fetchone() == (5000,)


def test_scratch_lost_to_a_failed_export_is_said_later(corpus: Path, tmp_path: Path) -> None:
    with DuckDBEngine(corpus) as engine:
        engine.query("CREATE TABLE scratch.x AS SELECT 1 AS a", limit=1)
        with pytest.raises(OSError):
            engine.export_csv("FROM range(1000000)", str(tmp_path / "no" / "dir.csv"))
        with pytest.raises(QueryFailed) as failure:
            engine.query("FROM scratch.x", limit=1)
        assert "scratch are gone" in failure.value.sentence()


def test_an_export_can_be_interrupted_while_it_streams(corpus: Path, tmp_path: Path) -> None:
    with DuckDBEngine(corpus) as engine:
        engine.start()
        threading.Timer(0.5, engine.interrupt).start()
        started = time.monotonic()
        with pytest.raises(QueryFailed, match="stopped"):
            engine.export_csv("FROM range(100000000000)", str(tmp_path / "endless.csv"))
        assert time.monotonic() - started < 3.5
        assert list(tmp_path.iterdir()) == []
        assert engine.query("SELECT 1", limit=1).table.rows == ((1,),)


def test_wide_rows_are_exported_in_smaller_frames(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "wide.csv"
    with DuckDBEngine(corpus) as engine:
        assert engine.export_csv("SELECT repeat('x', 200000) AS a FROM range(500)", str(target)) == 500
    assert target.stat().st_size == 500 * 200_001 + len("a\n") + 501
