"""What is a definition, what may stand beside what, what still fits."""

from __future__ import annotations

from typing import Any

import pytest

from peek_core.context_map.definitions import Definition, conflict, fits, from_data, needed_by

COLUMNS = {"id": "BIGINT", "nps": "BIGINT", "region": "VARCHAR", "order": "VARCHAR", "opened": "VARCHAR"}
BASE = {"table": "t", "name": "n"}


def made(kind: str, column: str = "region", name: str = "a", id: str = "", **fields: Any) -> Definition:
    found = from_data({"kind": kind, "table": "t", "column": column, "name": name, **fields}, {"t": COLUMNS})
    assert isinstance(found, Definition), found
    return Definition(**{**found.__dict__, "id": id})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"kind": "drop", "column": "id"}, "no kind of definition is called 'drop'"),
        ({"kind": "sentinel", "table": "x", "column": "id"}, "no table 'x'"),
        ({"kind": "sentinel", "column": "id; DROP TABLE t"}, "no column 'id; DROP TABLE t' in t"),
        ({"kind": "sentinel", "column": "nps", "values": []}, "sentinel needs 1 to 50 values"),
        ({"kind": "sentinel", "column": "region", "values": ["a\0b"]}, "a value holds a character that is no text"),
        ({"kind": "sentinel", "column": "region", "values": ["x" * 121]}, "a value is longer than 120 characters"),
        ({"kind": "sentinel", "column": "nps", "values": [float("nan")]}, "a value is no finite number"),
        ({"kind": "unit", "column": "nps", "factor": 0}, "unit needs a positive factor other than 1"),
        ({"kind": "unit", "column": "nps", "factor": True}, "unit needs a positive factor other than 1"),
        ({"kind": "unit", "column": "region", "factor": 0.1}, "region is not a number"),
        ({"kind": "code_label", "column": "order", "mapping": "P1"}, "code_label needs a mapping of 1 to 200 values"),
        ({"kind": "date_reading", "column": "nps", "reading": "ISO"}, "nps is no text: it was read as BIGINT"),
        ({"kind": "date_reading", "column": "opened", "reading": "ISO", "type": "time"}, "a date reading makes DATE or TIMESTAMP, not 'TIME'"),
        ({"kind": "date_reading", "column": "opened", "reading": "backwards"}, "'backwards' is no way to read dates: day first, month first, year first, ISO, or a format like %d.%m.%Y"),
        ({"kind": "date_reading", "column": "opened", "reading": "%d.%m"}, "the format %d.%m must name day, month and year once"),
        ({"kind": "date_reading", "column": "opened", "reading": "%d.%m.%Y'"}, "\"%d.%m.%Y'\" is no way to read dates: day first, month first, year first, ISO, or a format like %d.%m.%Y"),
        ({"kind": "derived", "new_column": "x", "expression": "nope + 1"}, "no column 'nope'"),
        ({"kind": "derived", "new_column": "ID", "expression": "id + 1"}, "'ID' is no name for a column: lower-case letters, digits and _ only"),
        ({"kind": "derived", "new_column": "nps", "expression": "id + 1"}, "t has a column nps already"),
        ({"kind": "label_column", "column": "region", "new_column": "topic", "mapping": {}}, "label_column needs a mapping of 1 to 5,000 values"),
        ({"kind": "label_column", "column": "region", "new_column": "x y", "mapping": {"a": "b"}}, "'x y' is no name for a column: lower-case letters, digits and _ only"),
    ],
)  # fmt: skip
def test_what_is_no_definition_is_refused_with_its_reason(data: dict[str, Any], why: str) -> None:
    assert from_data({**BASE, **data}, {"t": COLUMNS}) == why


def test_a_definition_without_a_name_is_called_by_its_rule() -> None:
    assert made("derived", name="", new_column="x", expression="ID+1 /* one more */").name == "x = id + 1"


FOLD = made("spelling_fold", mapping={"D-A-CH": "DACH"}, name="one DACH", id="def-1")
CENTS = made("unit", "nps", factor=0.01, unit="EUR", name="cents", id="def-2")
DAYS = made("date_reading", "opened", reading="day first", name="days", id="def-3")
GONE = made("sentinel", values=["n/a"], name="gone", id="def-4")
TOPIC = made("label_column", new_column="topic", mapping={"x": "y"}, name="topics", id="def-5")


@pytest.mark.parametrize(
    ("new", "other", "why"),
    [
        (made("spelling_fold", mapping={"D-A-CH": "Germany"}), FOLD, "“a” and “one DACH” read 'D-A-CH' differently"),
        (made("unit", "nps", factor=10, unit="x"), CENTS, "“a” and “cents” both give a unit to nps"),
        (made("date_reading", "opened", reading="ISO"), DAYS, "“a” and “days” both read opened as dates"),
        (made("code_label", mapping={"n/a": "none"}), GONE, "“a” and “gone” can't both stand: 'n/a' can't be missing and have a name"),
        (made("sentinel", values=["DACH"]), FOLD, "“a” and “one DACH” can't both stand: 'DACH' can't be missing and have a name"),
        (made("sentinel", "opened", values=["00.00.0000"]), DAYS, "“a” and “days” can't both stand: opened is read as dates, which '00.00.0000' is not"),
        (made("code_label", "opened", mapping={"x": "y"}), DAYS, "“a” and “days” can't both stand: opened is read as dates, which 'x' is not"),
        (made("derived", new_column="topic", expression="id"), TOPIC, "“a” and “topics” both make a column topic"),
        (made("sentinel", "opened", values=["1900-01-01"]), DAYS, None),
        (made("sentinel", values=["x"]), GONE, None),
        (made("row_exclusion", values=["n/a"]), GONE, None),
        (made("spelling_fold", mapping={"dach": "DACH"}), FOLD, None),
        (FOLD, FOLD, None),
    ],
)  # fmt: skip
def test_what_cannot_stand_side_by_side_is_refused_with_both_names(
    new: Definition, other: Definition, why: str | None
) -> None:
    assert conflict(new, [other]) == why


def test_a_new_version_may_lack_a_column_or_have_taken_the_name() -> None:
    age = made("derived", new_column="age", expression="id - nps")
    assert fits(age, COLUMNS) and fits(FOLD, COLUMNS)
    assert not fits(age, {"id": "BIGINT"}) and not fits(FOLD, {"id": "BIGINT"})
    assert not fits(age, {**COLUMNS, "Age": "BIGINT"})


def test_a_derived_column_needs_the_reading_of_its_dates() -> None:
    year = made("derived", new_column="y", expression="year(opened)", id="def-9")
    assert needed_by(DAYS, [DAYS, year, FOLD], COLUMNS) == (year,)
    assert needed_by(FOLD, [DAYS, year, FOLD], COLUMNS) == ()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"expression": "nps"}, "'nps' says of no row whether it counts"),
        ({"expression": "1 = 1"}, "'1 = 1' reads no column"),
        ({"expression": "nps < (SELECT 1)"}, "a subquery is not allowed in an expression"),
        ({"expression": "price < 0"}, "no column 'price'"),
        ({"column": "gone", "expression": "nps < 0"}, "no column 'gone' in t"),
        ({}, "no column None in t"),
    ],
)
def test_rows_can_be_left_out_by_a_condition_and_by_nothing_else(data: dict[str, Any], why: str) -> None:
    assert from_data({"kind": "row_exclusion", **BASE, **data}, {"t": COLUMNS}) == why


def test_a_condition_is_its_own_rule_and_names_the_column_that_samples_show() -> None:
    found = from_data({"kind": "row_exclusion", "table": "t", "expression": "nps < 0 OR nps > 10"}, {"t": COLUMNS})
    assert isinstance(found, Definition)
    assert (found.column, found.rule) == ("nps", "rows where nps < 0 OR nps > 10 don't count")
    assert found.as_data()["expression"] == "nps < 0 OR nps > 10"
    assert not fits(found, {"id": "BIGINT"})
