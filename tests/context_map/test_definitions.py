"""Definitions: data in, checked SQL out; the view they make is run on DuckDB to see that it says what they say."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.definitions import Definition, block, conflict, effect_sql, from_data, touched_sql, view_sql
from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.engines.views import write_view_file

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


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"kind": "drop", "table": "t", "column": "id"}, "no kind of definition is called 'drop'"),
        ({"kind": "sentinel", "table": "x", "column": "id"}, "no table 'x'"),
        ({"kind": "sentinel", "table": "t", "column": "id; DROP TABLE t"}, "no column 'id; DROP TABLE t' in t"),
        ({"kind": "sentinel", "table": "t", "column": "nps", "values": []}, "sentinel needs 1 to 50 values"),
        ({"kind": "unit", "table": "t", "column": "nps", "factor": 0}, "unit needs a positive factor other than 1"),
        ({"kind": "unit", "table": "t", "column": "region", "factor": 0.1}, "region is not a number"),
        (
            {"kind": "code_label", "table": "t", "column": "order", "mapping": "P1"},
            "code_label needs a mapping of 1 to 200 values",
        ),
    ],
)
def test_what_is_no_definition_is_refused_with_its_reason(data: dict, why: str) -> None:
    assert from_data(data, {"t": COLUMNS}) == why


@given(st.text(max_size=40), st.text(max_size=40))
def test_hostile_values_stay_values(value: str, other: str) -> None:
    made = from_data(
        {"kind": "row_exclusion", "table": "t", "column": "status", "values": [value, other]}, {"t": COLUMNS}
    )
    assert isinstance(made, Definition)
    (statement,) = duckdb.extract_statements(view_sql("t", COLUMNS, [made]).replace("\x00", ""))
    assert statement.type.name == "SELECT"


def test_two_readings_of_one_value_conflict_with_both_names() -> None:
    other = Definition("def-9", "spelling_fold", "t", "region", "another", mapping={"D-A-CH": "Germany"})
    assert conflict(other, [FOLD]) == "“another” and “one DACH” read 'D-A-CH' differently"
    assert conflict(FOLD, [FOLD, EXCLUDE]) is None


def test_the_prompt_block_says_which_are_only_proposed() -> None:
    on = Definition(**{**EXCLUDE.__dict__, "state": "on"})
    assert block([on, SENTINEL]).splitlines() == [
        "[def-1] no tests: rows with status = 'test' don't count",
        "[def-2] 99 is missing: nps = 99 is missing (proposed, NOT applied in the view)",
    ]
