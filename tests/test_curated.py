"""What a query reads of the dataset's tables, which definitions that touches, and which it went around."""

from __future__ import annotations

import pytest

from peek_core import curated
from peek_core.context_map.definitions import Definition

TABLES = {
    "t": {"id": "BIGINT", "status": "VARCHAR", "score": "BIGINT", "Due Date": "VARCHAR"},
    "other": {"id": "BIGINT", "score": "BIGINT"},
}
TESTS = Definition("tests", "row_exclusion", "t", "status", "no tests", values=("test",))
SCORE = Definition("score", "sentinel", "t", "score", "99", values=(99,))
DUE = Definition("due", "date_reading", "t", "Due Date", "dates", reading="ISO", type="DATE")
LATE = Definition("late", "derived", "t", "", "late", new_column="late", expression='year("Due Date")')
OTHER = Definition("other", "unit", "other", "score", "cents", factor=0.01, unit="EUR")
ACTIVE = (TESTS, SCORE, DUE, LATE, OTHER)


def told(sql: str, *earlier: str) -> tuple[list[str], list[str]]:
    """(ids that touched, ids gone around)."""
    read = curated.reads(sql, TABLES, ACTIVE, earlier)
    return [d.id for d in curated.touched(read, ACTIVE)], [d.id for d in curated.gone_around(read, ACTIVE)]


@pytest.mark.parametrize(
    ("sql", "touched"),
    [
        ("SELECT count(*) FROM t", ["tests"]),
        ("SELECT avg(score) FROM t", ["tests", "score"]),
        ("SELECT avg(SCORE) FROM T", ["tests", "score"]),
        ("SELECT 'score' FROM t", ["tests"]),
        ("SELECT id AS score FROM t", ["tests"]),
        ("SELECT avg(o.score) FROM t JOIN other o ON t.id = o.id", ["tests", "other"]),
        ("SELECT * FROM t", ["tests", "score", "due", "late"]),
        ("FROM t", ["tests", "score", "due", "late"]),
        ("SELECT o.* FROM t JOIN other o USING (id)", ["tests", "other"]),
        ("SELECT COLUMNS('s.*') FROM t", ["tests", "score", "due", "late"]),
        ("SELECT max(late) FROM t", ["tests", "due", "late"]),
        ('SELECT count(*) FROM t WHERE "Due Date" > DATE \'2024-01-01\'', ["tests", "due"]),
        ("WITH x AS (SELECT id, score AS s FROM t) SELECT max(s) FROM x", ["tests", "score"]),
        ("WITH t AS (SELECT 1 AS score) SELECT score FROM t", []),
        ("SELECT (SELECT max(score) FROM t WHERE t.id = other.id) FROM other", ["tests", "score"]),
        ("SELECT id FROM t ORDER BY score", ["tests", "score"]),
        ("SELECT count(*) FROM other", []),
        ("SUMMARIZE t", ["tests", "score", "due", "late"]),
        ("not sql at all (", []),
    ],
)  # fmt: skip
def test_definitions_that_touch_a_query(sql: str, touched: list[str]) -> None:
    assert told(sql) == (touched, [])


@pytest.mark.parametrize(
    ("sql", "around"),
    [
        ("SELECT count(*) FROM raw.main.t", ["tests"]),
        ("SELECT count(*) FROM raw.t", ["tests"]),
        ('SELECT count(*) FROM "RAW"."main"."T"', ["tests"]),
        ("SELECT avg(score) FROM raw.main.t", ["tests", "score"]),
        ("SELECT * FROM raw.main.t", ["tests", "score", "due"]),
        ("SELECT id FROM raw.main.other", []),
        ("SELECT text FROM raw.rejects.t", []),
    ],
)
def test_definitions_a_query_goes_around(sql: str, around: list[str]) -> None:
    assert told(sql) == ([], around)


def test_both_at_once() -> None:
    assert told("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM raw.main.t)") == (["tests"], ["tests"])


def test_a_scratch_table_is_what_it_was_made_from() -> None:
    made = [
        "CREATE TABLE scratch.a AS SELECT id, score FROM raw.main.t",
        "CREATE OR REPLACE VIEW scratch.b AS FROM scratch.a",
    ]
    assert told("SELECT avg(score) FROM scratch.b", *made) == ([], ["tests", "score"])
    assert told("SELECT count(*) FROM t", *made) == (["tests"], [])


def test_the_same_query_on_the_raw_tables() -> None:
    assert curated.on_raw("WITH x AS (SELECT * FROM t) SELECT count(*) FROM x JOIN other", TABLES) == (
        "WITH x AS (SELECT * FROM raw.main.t AS t) SELECT COUNT(*) FROM x, raw.main.other AS other"
    )
    assert curated.on_raw("nonsense (", TABLES) is None


def test_an_effect_measured_on_another_version_is_no_count_of_this_one() -> None:
    counted = Definition(
        **{**TESTS.__dict__, "effect": {"rows_before": 9, "rows_after": 7, "values_changed": 0, "version": 2}}
    )
    assert curated.as_summary(counted, 2)["rows_moved"] == 2
    assert curated.as_summary(counted, 3)["rows_moved"] is None
    assert curated.as_summary(TESTS, 1)["rows_moved"] is None
