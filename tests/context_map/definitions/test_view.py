"""Definitions: data in, checked SQL out; the view they make is run on DuckDB to see that it says what they say."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import duckdb
import pytest

from peek_core.context_map.definitions import Definition, effect_sql, lines, measure, samples_sql, touched_sql, view_sql
from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.engines.views import write_view_file
from tests.context_map.definitions.world import COLUMNS as RAW_COLUMNS
from tests.context_map.definitions.world import Raw

COLUMNS = {
    "id": "BIGINT",
    "status": "VARCHAR",
    "nps": "BIGINT",
    "Amount Due": "BIGINT",
    "region": "VARCHAR",
    "order": "VARCHAR",
}
ROWS = [
    (1, "open", 9, 1250, "DACH", "P1"), (2, "test", 99, 100, "D-A-CH", "P2"), (3, "open", 99, 300, "APAC", "P1"),
    (4, None, 5, None, None, "P3"),
]  # fmt: skip
EXCLUDE = Definition("def-1", "row_exclusion", "t", "status", "no tests", values=("test",))
SENTINEL = Definition("def-2", "sentinel", "t", "nps", "99 is missing", values=(99,))
UNIT = Definition("def-3", "unit", "t", "Amount Due", "cents", factor=0.01, unit="EUR")
FOLD = Definition("def-4", "spelling_fold", "t", "region", "one DACH", mapping={"D-A-CH": "DACH"})
LABEL = Definition("def-5", "code_label", "t", "order", "plans", mapping={"P1": "Free", "P2": "Team"})


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "c.duckdb"
    con = duckdb.connect(str(path))
    con.execute(
        'CREATE TABLE t (id BIGINT, status VARCHAR, nps BIGINT, "Amount Due" BIGINT, region VARCHAR, "order" VARCHAR)'
    )
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    con.close()
    return path


def through_view(corpus: Path, *active: Definition) -> tuple[tuple, ...]:
    view = corpus.with_name("v.duckdb")
    write_view_file(corpus, view, {"t": view_sql("t", COLUMNS, active)})
    with DuckDBEngine(corpus, view) as engine:
        return engine.query("SELECT * FROM t ORDER BY id", limit=100).table.rows


def test_all_kinds_together(corpus: Path) -> None:
    assert through_view(corpus, EXCLUDE, SENTINEL, UNIT, FOLD, LABEL) == (
        (1, "open", 9, 12.5, "DACH", "Free"), (3, "open", None, 3, "APAC", "Free"), (4, None, 5, None, None, "P3"),
    )  # fmt: skip


def test_the_order_in_which_definitions_were_made_does_not_matter(corpus: Path) -> None:
    active = [EXCLUDE, SENTINEL, UNIT, FOLD, LABEL]
    assert through_view(corpus, *active) == through_view(corpus, *reversed(active))


def test_a_row_without_the_value_is_never_excluded_by_it(corpus: Path) -> None:
    assert [r[0] for r in through_view(corpus, EXCLUDE)] == [1, 3, 4]


def test_the_effect_is_counted_before_anything_moves(corpus: Path) -> None:
    with DuckDBEngine(corpus) as engine:
        found = {
            d.id: engine.query(effect_sql(d, COLUMNS, []), limit=1).table.rows[0]
            for d in (EXCLUDE, SENTINEL, UNIT, FOLD, LABEL)
        }
    assert found == {"def-1": (4, 3, 0), "def-2": (4, 4, 2), "def-3": (4, 4, 3), "def-4": (4, 4, 1), "def-5": (4, 4, 3)}


def test_the_rows_a_definition_is_about_are_those_its_effect_counts(corpus: Path) -> None:
    with DuckDBEngine(corpus) as engine:
        for d in (EXCLUDE, SENTINEL, UNIT, FOLD, LABEL):
            before, after, changed = engine.query(effect_sql(d, COLUMNS, []), limit=1).table.rows[0]
            assert engine.query(touched_sql(d, COLUMNS), limit=10).table.row_count == (before - after or changed)


def test_the_prompt_block_says_which_are_only_proposed() -> None:
    on = Definition(**{**EXCLUDE.__dict__, "state": "on"})
    assert [line.whole for line in lines([on, SENTINEL])] == [
        "[def-1] no tests: rows with status = 'test' don't count",
        "[def-2] 99 is missing: nps = 99 is missing (proposed from the data, NOT applied in the view)",
    ]
    (told,) = lines([replace(SENTINEL, question="NPS 99 means not asked. What is the average NPS?")])
    assert told.remark == " (stated by the person, NOT applied in the view)"
    off = Definition(**{**on.__dict__, "id": "def-3"})
    assert lines([on, off], without=("def-3",))[1].whole == (
        "[def-3] no tests: rows with status = 'test' don't count (switched off for this question, NOT applied in the view)"
    )


def test_a_long_mapping_is_told_by_a_few_pairs_and_its_length() -> None:
    many = Definition("", "label_column", "t", "region", "n", mapping={f"v{n}": "x" for n in range(99)}, new_column="topic",
                      otherwise="rest")  # fmt: skip
    assert many.rule == "topic labels region: 'v0' → 'x', 'v1' → 'x', 'v2' → 'x', … (99 values), otherwise 'rest'"
    assert (len(many.as_data()["mapping"]), many.as_data()["pairs"]) == (3, 99)


DATED = {"id": "BIGINT", "opened": "VARCHAR", "closed": "VARCHAR", "amount": "BIGINT"}
DAYS = Definition("def-1", "date_reading", "t", "opened", "opened, day first", reading="day first", type="DATE")
ISO = Definition("def-2", "date_reading", "t", "closed", "closed", reading="ISO", type="TIMESTAMP")
AGE = Definition("def-3", "derived", "t", "", "age", new_column="age", expression="date_diff('day', opened, closed)")


@pytest.fixture
def dated() -> Raw:
    rows = [
        (1, "01.02.2024", "2024-02-05 10:00", 5), (2, "3.2.24", "2024-02-04", 0), (3, "31.02.2024", None, 7), (4, None, "x", 7),
    ]  # fmt: skip
    return Raw(rows, DATED)


def test_texts_are_read_as_dates_and_what_cannot_be_read_is_counted_as_lost(dated: Raw) -> None:
    assert dated(view_sql("t", DATED, [DAYS])).rows[1][1] == date(2024, 2, 3)
    assert measure(DAYS, [], DATED, dated, 7) == {
        "rows_before": 4, "rows_after": 4, "values_changed": 3, "values_lost": 1, "version": 7,
    }  # fmt: skip
    assert dated(samples_sql(DAYS, DATED, [])).rows == (
        ("01.02.2024", date(2024, 2, 1), 1), ("31.02.2024", None, 1), ("3.2.24", date(2024, 2, 3), 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reading", "type", "read"),
    [
        ("02/01/2024", "month first", "DATE", date(2024, 2, 1)),
        ("24-02-01", "year first", "DATE", date(2024, 2, 1)),
        ("2024/2/1 23:59:01", "year first", "TIMESTAMP", datetime(2024, 2, 1, 23, 59, 1)),
        ("1 2 2024 07:05", "day first", "TIMESTAMP", datetime(2024, 2, 1, 7, 5)),
        ("2024-02-01T07:05:00", "ISO", "TIMESTAMP", datetime(2024, 2, 1, 7, 5)),
        ("Feb 1, 2024", "%b %d, %Y", "DATE", date(2024, 2, 1)),
        ("2024-02-01", "%d.%m.%Y", "DATE", None),
    ],
)
def test_ways_to_read_a_date(text: str, reading: str, type: str, read: object) -> None:
    d = Definition("", "date_reading", "t", "opened", "n", reading=reading, type=type)
    assert Raw([(1, text, None, 1)], DATED)(view_sql("t", DATED, [d])).rows[0][1] == read


def test_a_derived_column_sees_what_the_others_made_of_its_columns(dated: Raw) -> None:
    assert [r[-1] for r in dated(view_sql("t", DATED, [AGE, ISO, DAYS])).rows] == [4, 1, None, None]
    assert dated(samples_sql(AGE, DATED, [ISO, DAYS])).columns == ("closed", "opened", "age", "n_rows")


def test_types_are_checked_by_the_engine_and_the_refusal_is_its_sentence(dated: Raw) -> None:
    refusal = measure(AGE, [DAYS], DATED, dated, 1)
    assert isinstance(refusal, str) and refusal.startswith("its effect can't be measured: Binder Error")
    glued = Definition("def-4", "derived", "t", "", "glued", new_column="glued", expression="opened = 'soon'")
    assert isinstance(measure(glued, [], DATED, dated, 1), dict)
    # The other way round: a reading under which an accepted column would mean nothing.
    assert "Conversion Error" in str(measure(DAYS, [glued], DATED, dated, 1))
    rate = Definition("def-5", "derived", "t", "", "rate", new_column="rate", expression="1 // amount")
    assert "Division by zero" in str(measure(rate, [], DATED, dated, 1))


def test_a_reading_that_reads_nothing_and_an_exclusion_that_leaves_nothing_are_refused(dated: Raw) -> None:
    american = Definition("", "date_reading", "t", "closed", "n", reading="%m/%d/%Y", type="DATE")
    assert measure(american, [], DATED, dated, 1) == "no value of closed can be read so"
    first, rest = (Definition(str(v), "row_exclusion", "t", "id", "n", values=v) for v in ((1,), (2, 3, 4)))
    assert measure(rest, [first], DATED, dated, 1) == "it would leave no row at all"


def test_a_label_column_stands_beside_its_column_and_leaves_missing_values_alone(dated: Raw) -> None:
    d = Definition(
        "", "label_column", "t", "amount", "n", mapping={"5": "some", "7": "some"}, new_column="size", otherwise="none"
    )
    assert [r[3:] for r in dated(view_sql("t", DATED, [d])).rows] == [
        (5, "some"),
        (0, "none"),
        (7, "some"),
        (7, "some"),
    ]
    dates = Definition("", "label_column", "t", "opened", "n", mapping={"2024-02-01": "start"}, new_column="when")
    assert [r[-1] for r in dated(view_sql("t", DATED, [dates, DAYS])).rows] == ["start", None, None, None]


def test_every_word_can_be_a_column() -> None:
    known = duckdb.sql("SELECT keyword_name, keyword_category FROM duckdb_keywords() ORDER BY 1").fetchall()
    # Every word that needs quotes somewhere, and some of those that need none.
    words = [w for w, kind in known if kind != "unreserved"] + [w for w, kind in known if kind == "unreserved"][::8]
    words += [
        "current_date",
        "current_user",
        "now",
        "rowid",
        "p",
        "v",
        "t",
        "raw",
        "main",
        "cleaned",
        "n_rows",
        "changed",
        "after",
    ]
    for word in words:
        columns = {word: "VARCHAR", "other": "BIGINT"}
        query = Raw([("a", 1), ("b", 2)], columns)
        keep = Definition("1", "row_exclusion", "t", word, "n", values=("a",))
        fold = Definition("2", "spelling_fold", "t", word, "n", mapping={"b": "c"})
        label = Definition("3", "label_column", "t", word, "n", mapping={"c": "d"}, new_column="new")
        assert query(view_sql("t", columns, [keep, fold, label])).rows == (("c", 2, "d"),), word
        for d in (keep, fold, label):
            others = [o for o in (fold,) if d is label]
            assert query(samples_sql(d, columns, others)).rows, word
            assert query(touched_sql(d, columns, others)).rows, word


def test_rows_are_left_out_by_a_condition_on_raw_values_and_missing_ones_stay() -> None:
    raw = Raw([(n, "open", "", "", amount, 0.0, "") for n, amount in enumerate([10, -20, None, 99])])
    refund = Definition("def-1", "row_exclusion", "t", "amount", "refunds", expression="amount < 0 OR amount = 99")
    cents = Definition("def-2", "unit", "t", "amount", "cents", factor=0.01, unit="EUR")
    rows = raw(view_sql("t", RAW_COLUMNS, [refund, cents])).rows
    assert [row[4] and float(row[4]) for row in rows] == [0.1, None]
    effect = measure(refund, [cents], RAW_COLUMNS, raw, 1)
    assert isinstance(effect, dict) and (effect["rows_before"], effect["rows_after"]) == (4, 2)
    assert [row[0] for row in raw(touched_sql(refund, RAW_COLUMNS)).rows] == [1, 3]
    assert sorted(row[0] for row in raw(samples_sql(refund, RAW_COLUMNS, [])).rows) == [-20, 99]
