"""The profile of a real run, through the worker, as the plan reads it: what is unusual is found, what is not is left."""

from __future__ import annotations

import json
from collections.abc import Iterator

import duckdb
import pytest

from peek_core.engines import profile
from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.settings import SqlLimits
from peek_core.values.query_plan import QueryPlan, findings, plan_text, read_plan, times_off

SLOW_WORDS = "of the time"
"""Findings about time depend on the machine, so they are left out of what is compared."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    """`big` has 200,000 rows: id in order, u scattered, k = id % 7, one comment in a hundred a complaint; `small` 3,000."""
    path = tmp_path_factory.mktemp("plans") / "data.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute(
        "CREATE TABLE big AS SELECT i AS id, (i * 7919) % 100000 AS u, i % 7 AS k, 'name' || i AS name, "
        "CASE WHEN i % 100 = 0 THEN 'a complaint about ' || i ELSE 'fine ' || (i % 50) END AS comment, "
        "DATE '2024-01-01' + (i % 300)::INT AS day FROM range(200000) r(i)"
    )
    connection.execute("CREATE TABLE small AS SELECT i AS id, i % 7 AS k, 'n' || i AS n FROM range(3000) r(i)")
    connection.execute("CHECKPOINT")
    connection.close()
    with DuckDBEngine(path, limits=SqlLimits(memory_bytes=512 * 2**20, seconds=20.0)) as engine:
        yield engine


def ran(engine: DuckDBEngine, sql: str) -> QueryPlan:
    plan = read_plan(engine.query(sql, limit=5).profile)
    assert plan is not None
    return plan


def tags(plan: QueryPlan) -> list[tuple[str, bool]]:
    return [(f.tag, f.matters) for f in findings(plan) if f.kind != "time"]


def test_a_bad_estimate_below_a_join_and_the_full_scan_that_hides_it(engine: DuckDBEngine) -> None:
    plan = ran(
        engine,
        "SELECT count(*), max(b.comment || c.name) FROM big b JOIN big c ON b.id = c.u WHERE b.comment LIKE '%complaint%'",
    )
    assert set(tags(plan)) == {("full scan", True), ("estimate ×20 too high", True)}
    estimate = next(f for f in findings(plan) if f.kind == "estimate")
    assert estimate.what == (
        "The scan of raw.main.big (SEQ_SCAN): 40,000 rows expected, 2,000 came. DuckDB expects one row in five from a "
        "condition it knows nothing of."
    )


def test_a_bad_estimate_of_a_condition_on_text_made_of_dates(engine: DuckDBEngine) -> None:
    plan = ran(engine, "SELECT count(*) FROM big WHERE strftime(day, '%Y-%m') = '2024-03'")
    (finding,) = [f for f in findings(plan) if f.kind == "estimate"]
    assert finding.tag.endswith("too low") and not finding.matters


@pytest.mark.parametrize(
    ("where", "kept"),
    [("comment LIKE '%complaint%'", "2,000 (1.0 %)"), ("u = 1234", "2 (less than 0.1 %)"), ("u * 3 + k = 7", ""),
     ("u IN (1, 5, 77, 1000, 4)", "10 (less than 0.1 %)"), ("comment ILIKE '%<b>%'", "none")],
)  # fmt: skip
def test_a_selective_full_scan(where: str, kept: str, engine: DuckDBEngine) -> None:
    (finding,) = [f for f in findings(ran(engine, f"SELECT id, name FROM big WHERE {where}")) if f.kind == "scan"]
    assert finding.what.startswith("All 200,000 rows of raw.main.big were read and kept ") and kept in finding.what


def test_a_join_that_multiplies(engine: DuckDBEngine) -> None:
    plan = ran(engine, "SELECT sum(a.id + b.id) FROM small a JOIN small b ON a.k = b.k")
    assert tags(plan) == [("join grows ×429", True)]


def test_every_pair_compared(engine: DuckDBEngine) -> None:
    assert tags(ran(engine, "SELECT max(a.id * b.id) FROM small a, small b WHERE a.id + b.id < 50")) == [
        ("every pair compared", True)
    ]


def test_a_sort_and_a_window_of_everything(engine: DuckDBEngine) -> None:
    assert tags(ran(engine, "SELECT * FROM big ORDER BY name LIMIT (SELECT 10)")) == [("sorts everything", True)]
    assert tags(ran(engine, "SELECT id FROM (SELECT id, rank() OVER (ORDER BY u) AS r FROM big) WHERE r <= 5")) == [
        ("window over everything", True)
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM big LIMIT 10",
        "SELECT id FROM big WHERE id = 123",
        "SELECT * FROM big ORDER BY name LIMIT 10",
        "SELECT * FROM big WHERE u % 2 = 0 ORDER BY day, name LIMIT 5 OFFSET 3",
        "SELECT * FROM big USING SAMPLE 10",
        "SELECT k, avg(u) FROM big GROUP BY k ORDER BY k",
        "SELECT b.id, s.n FROM big b JOIN small s ON b.k = s.k LIMIT 5",
        "SELECT k, count(s.n) FROM big b LEFT JOIN small s USING (id, k) GROUP BY ALL",
        "SELECT count(*) FROM small s WHERE EXISTS (SELECT 1 FROM big b WHERE b.id = s.id AND b.k = 3)",
        "SELECT id FROM big WHERE u > (SELECT avg(u) FROM big) AND k = 1",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT sum(n) FROM r",
        "SELECT count(*) FROM big b JOIN small s ON b.id = s.id WHERE s.n = 'nobody'",
        "SELECT count(DISTINCT u), count(DISTINCT name) FROM big",
        "SELECT k FROM small UNION ALL SELECT k FROM small",
        "SUMMARIZE small",
    ],
)
def test_ordinary_questions_have_nothing_unusual(sql: str, engine: DuckDBEngine) -> None:
    assert tags(ran(engine, sql)) == []


def test_estimates_that_were_never_tested_say_so(engine: DuckDBEngine) -> None:
    (limit, scan) = ran(engine, "SELECT * FROM big LIMIT 10").operators
    assert (times_off(limit), times_off(scan)) == ("close", "stopped early")
    words = {times_off(o) for o in ran(engine, "SELECT * FROM big ORDER BY name LIMIT 10").operators}
    assert "filtered while running" in words and not any("too" in w for w in words)


def test_row_groups_that_were_skipped_are_known(engine: DuckDBEngine) -> None:
    (scan,) = [o for o in ran(engine, "SELECT id FROM big WHERE id = 123").operators if o.kind == "scan"]
    assert (scan.row_groups, scan.row_groups_total, scan.rows_scanned) == (1, 2, 122_880)


def test_a_union_counts_no_rows_and_a_function_reads_none(engine: DuckDBEngine) -> None:
    (union,) = [
        o for o in ran(engine, "SELECT k FROM small UNION ALL SELECT k FROM small").operators if o.kind == "union"
    ]
    assert union.rows is None
    (function,) = [o for o in ran(engine, "SELECT sum(range) FROM range(1000)").operators if o.kind == "scan"]
    assert (function.rows, function.rows_scanned) == (1000, None)


def test_a_count_from_metadata_has_no_profile(engine: DuckDBEngine) -> None:
    assert read_plan(engine.query("SELECT count(*) FROM big", limit=1).profile) is None
    assert read_plan(engine.query("DESCRIBE big", limit=1).profile) is None


def test_hostile_text_stays_text(engine: DuckDBEngine) -> None:
    sql = "SELECT id FROM big WHERE comment = '<script>alert(1)</script>\x1b[31m\u202e' || name"
    text = plan_text(engine.query(sql, limit=1).profile)
    assert "<script>alert(1)</script>" in text and "\x1b" not in text and "\u202e" not in text


def test_a_profile_is_bounded_and_says_what_it_left_out(engine: DuckDBEngine) -> None:
    wide = ", ".join(f"concat(n, '{'x' * 200}{i}') AS c{i}" for i in range(60))
    many = engine.query("SELECT k FROM small" + " UNION ALL SELECT k FROM small WHERE id < 9" * 250, limit=1).profile
    for stored in (many, engine.query(f"SELECT {wide} FROM small", limit=1).profile):
        assert stored is not None
        assert len(json.dumps(stored)) < profile.MAX_NODES * (profile.MAX_DETAIL + 400)
        assert all(
            sum(len(text) for _, values in o.detail for text in values) <= profile.MAX_DETAIL
            for o in read_plan(stored).operators
        )  # type: ignore[union-attr]
    plan = read_plan(many)
    assert plan is not None and len(plan.operators) == profile.MAX_NODES and plan.left_out > 0
    assert f"{plan.left_out:,} more not kept" in plan_text(many)
