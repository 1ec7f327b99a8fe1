"""A relation of text becomes typed columns: names beside, a person's choice, and no work on plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import duckdb
import pytest

from peek_core.corpus.typed import columns, types


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


def fill(con: duckdb.DuckDBPyConnection, table: Mapping[str, Sequence[str | None]]) -> list[str]:
    listed = ", ".join(f'unnest($1[{n}]::VARCHAR[]) AS "{name}"' for n, name in enumerate(table, start=1))
    con.execute(f"CREATE TABLE s AS SELECT {listed}", [[list(values) for values in table.values()]])
    return list(table)


def readings(
    con: duckdb.DuckDBPyConnection,
    table: Mapping[str, Sequence[str | None]],
    labels: Sequence[str] | None = None,
    chosen: Mapping[str, str] | None = None,
) -> list[types.Reading]:
    named = fill(con, table)
    return columns.readings(con, "s", named, labels or named, columns.sample(con, "s", named), chosen or {})


def one(
    con: duckdb.DuckDBPyConnection, values: Sequence[str | None], way: str, label: str = "v"
) -> tuple[types.Reading, list[Any]]:
    """A column read by a choice, and its typed values."""
    (reading,) = readings(con, {"v": values}, [label], {"v": way})
    return reading, [row[-1] for row in con.execute(f"SELECT {columns.selected(['v'], [reading])} FROM s").fetchall()]


def test_columns_beside_have_free_names(con: duckdb.DuckDBPyConnection) -> None:
    long = "x" * 60
    made = readings(con, {"a": ["01/02/2024"], "a_date": ["x"], long: ["01/02/2024"], "order_": ["01/02/2024"]})
    beside = [reading.beside.name if reading.beside else None for reading in made]
    assert beside == ["a_date_2", None, "x" * 55 + "_date", "order_date"]
    named = ["a", "a_date", long, "order_"]
    rows = con.execute(f"SELECT {columns.selected(named, made)} FROM s")
    assert [d[0] for d in rows.description or ()] == [
        "a",
        "a_date_2",
        "a_date",
        long,
        beside[2],
        "order_",
        "order_date",
    ]
    laid = columns.laid_out(named, ["A", "A date", "X", ""], made, ["01/02/2024", "x", "", ""])
    assert [c.label for c in laid] == ["A", "A (as date)", "A date", "X", "X (as date)", "", "order_ (as date)"]
    assert [c.way for c in laid[:3]] == ["day first", "", "text"] and laid[0].ways == ("month first", "text")


@pytest.mark.parametrize(
    ("values", "way", "ways"),
    [
        (("1", "2"), "whole number", ("number", "text")),
        (("1.5", "2"), "number", ("text",)),
        (("1,5", "2"), "number, decimal comma", ("text",)),
        (("1,234", "2"), "whole number", ("number, decimal comma", "text")),
        (("€1.234", "€2"), "whole number", ("number", "text")),
        (("01/02/2024",), "day first", ("month first", "text")),
        (("01/13/2024",), "month first", ("text",)),
        (("2024/01/13",), "year first", ("text",)),
        (("2024-01-13",), "date", ("text",)),
        (("2024-01-13 10:00",), "time", ("text",)),
        (("2024-01-13 10:00+01",), "time with offset", ("text",)),
        (("true",), "true or false", ("text",)),
        (("007", "8"), "text", ("whole number",)),
        (("5.9", "5.10"), "text", ("number",)),
        (("hello",), "text", ()),
    ],
)
def test_ways(con: duckdb.DuckDBPyConnection, values: Sequence[str], way: str, ways: tuple[str, ...]) -> None:
    (reading,) = readings(con, {"v": values})
    assert (reading.way, reading.ways) == (way, ways) and {way, *ways} <= set(types.WAYS)


@pytest.mark.parametrize(
    ("values", "way", "typed"),
    [
        (("007", "8"), "whole number", [7, 8]),
        (("1,234", "2"), "number, decimal comma", [1.234, 2]),
        (("1.234", "2"), "whole number", [1234, 2]),
        (("1.5e-3", "2"), "number", [0.0015, 2]),
        (("5.9", "5.10"), "number", [5.9, 5.1]),
        (("13/01/2024", "2024-01-02"), "day first", [date(2024, 1, 13), date(2024, 1, 2)]),
        (("yes", "No", "1", "-"), "true or false", [True, False, True, None]),
        (("1,234", "2"), "text", ["1,234", "2"]),
        (("2024-01-01", "2"), "text", ["2024-01-01", "2"]),
        (("1", "2"), "number", [1.0, 2.0]),
    ],
)
def test_a_choice_that_fits_is_followed_without_a_doubt(
    con: duckdb.DuckDBPyConnection, values: Sequence[str], way: str, typed: list[Any]
) -> None:
    reading, got = one(con, values, way)
    assert got == typed and reading.beside is None and reading.doubts == () and reading.way == way
    assert way not in reading.ways


@pytest.mark.parametrize(("way", "month"), [("day first", 1), ("month first", 3)])
def test_the_order_chosen_for_dates_changes_no_name(con: duckdb.DuckDBPyConnection, way: str, month: int) -> None:
    reading, got = one(con, ["03/01/2024", "04/02/2024"], way)
    assert got[0].month == month and reading.beside and reading.beside.name == "v_date" and reading.doubts == ()
    assert reading.way == way and set(reading.ways) == {"day first", "month first", "text"} - {way}
    assert reading.assumptions == (f"v: read as {way}, as chosen.",)


@pytest.mark.parametrize(
    ("values", "way", "typed", "said"),
    [
        (("03/01/2024", "13/01/2024"), "month first", [date(2024, 3, 1), None], "1 value (“13/01/2024”) cannot be read as month first; empty in v_date"),
        (("1.5", "2", "3.5"), "whole number", [None, 2, None], "2 values such as “1.5” cannot be read as whole number; empty in v_number"),
        (("1", "x", "NA"), "number", [1.0, None, None], "1 value (“x”)"),
        (("yes", "maybe"), "true or false", [True, None], "1 value (“maybe”)"),
        (("2024-01-01T00:00:00Z", "2024-01-01"), "time with offset", [datetime(2024, 1, 1), None], "1 value (“2024-01-01”)"),
        (("Order 12 of 3 in 2024", "12/03/2024"), "day first", [None, date(2024, 3, 12)], "1 value (“Order 12 of 3 in 2024”)"),
    ],
)  # fmt: skip
def test_a_choice_that_does_not_fit_stands_beside(
    con: duckdb.DuckDBPyConnection, values: Sequence[str], way: str, typed: list[Any], said: str
) -> None:
    reading, got = one(con, values, way)
    assert got == typed and reading.type == "VARCHAR" and reading.beside
    (doubt,) = reading.doubts
    assert doubt.where == "column v" and said in doubt.what


@pytest.mark.parametrize(
    ("value", "way", "typed"),
    [
        ("1700000000", "epoch seconds", datetime(2023, 11, 14, 22, 13, 20)),
        ("1700000000000", "epoch milliseconds", datetime(2023, 11, 14, 22, 13, 20)),
        ("45000", "Excel date", date(2023, 3, 15)),
        ("18991231", "YYYYMMDD", date(1899, 12, 31)),
        ("45000.5", "Excel date", datetime(2023, 3, 15, 12)),
    ],
)
def test_chosen_counts_of_time_are_times(con: duckdb.DuckDBPyConnection, value: str, way: str, typed: object) -> None:
    reading, got = one(con, [value, None], way)
    assert got == [typed, None] and reading.type in ("DATE", "TIMESTAMP") and reading.doubts == ()


@pytest.mark.parametrize("way", ["epoch seconds", "epoch milliseconds", "Excel date", "YYYYMMDD"])
def test_numbers_that_no_calendar_has_are_no_counts_of_time(con: duckdb.DuckDBPyConnection, way: str) -> None:
    values = ["20240131" if way == "YYYYMMDD" else "45000", "999999999999999999", "1e300", "-999999999999999999", "nan"]
    reading, got = one(con, values, way)
    assert [value is not None for value in got] == [True, False, False, False, False]
    assert "3 values such as" in reading.doubts[0].what


def test_a_choice_for_an_unknown_column_or_way_changes_nothing(con: duckdb.DuckDBPyConnection) -> None:
    (reading,) = readings(con, {"v": ["1"]}, None, {"w": "text", "v": "Roman"})
    assert reading.type == "BIGINT" and reading.assumptions == ()


def test_what_was_found_may_be_chosen_again(con: duckdb.DuckDBPyConnection) -> None:
    table = {"a": ["1", "2"], "b": ["x", "y"], "c": ["13/01/2024", "01/02/2024"], "d": ["1,5", "2"]}
    found = readings(con, table)
    con.execute("DROP TABLE s")
    again = readings(con, table, None, {name: r.way for name, r in zip(table, found, strict=True)})
    assert again == found


@pytest.mark.parametrize(
    ("values", "elsewhere", "kind", "doubts"),
    [
        ("1,234", ("1.5", "2.25"), "BIGINT", 0),
        ("1,234", ("1,234.5", "2"), "BIGINT", 0),
        ("1,234", ("1,234,567", "2"), "BIGINT", 0),
        ("1,234", ("1,200", "950"), "BIGINT", 0),
        ("1,234", ("12.5%", "2%"), "BIGINT", 0),
        ("1,234", ("1,5", "2,25"), "DOUBLE", 0),
        ("1,234", ("1", "2"), "BIGINT", 0),
        ("1,234", ("1,234", "2"), "BIGINT", 0),
        ("1.234", ("1,5", "2,25"), "BIGINT", 0),
        ("1.234", ("1.234.567", "2"), "BIGINT", 0),
        ("1.234", ("2.500", "850"), "BIGINT", 1),
        ("1.234", ("1.5", "2.25"), "DOUBLE", 0),
        ("1.234", ("1", "2"), "DOUBLE", 0),
    ],
)
def test_a_column_that_leaves_its_decimals_open_follows_the_others(
    con: duckdb.DuckDBPyConnection, values: str, elsewhere: Sequence[str], kind: str, doubts: int
) -> None:
    made = readings(con, {"v": [values, "345" if kind == "BIGINT" else values], "w": elsewhere})
    assert (made[0].type, len(made[0].doubts)) == (kind, doubts)


def test_wide_tables_are_read_alike(con: duckdb.DuckDBPyConnection) -> None:
    kinds = {"n": "7", "m": "$1,200.50", "d": "13/01/2024", "a": "01/02/2024", "t": "2024-01-01", "z": "007", "x": "hm"}
    table = {f"{kind}{n}": [value, value] for n in range(20) for kind, value in kinds.items()}
    made = dict(zip(table, readings(con, table), strict=True))
    assert [made[f"{kind}19"].type for kind in kinds] == [
        *("BIGINT", "DOUBLE", "DATE", "VARCHAR", "DATE", "VARCHAR", "VARCHAR")
    ]
    beside = made["a19"].beside
    assert beside and beside.name == "a19_date"


def test_plain_text_is_not_scanned(con: duckdb.DuckDBPyConnection) -> None:
    named = fill(con, {"c": [f"comment {n}, it came {n} days late" for n in range(200)], "p": ["P1", "P2"] * 100})
    sample = columns.sample(con, "s", named)
    con.execute("DROP TABLE s")  # whoever looks at it now fails
    made = columns.readings(con, "s", named, named, sample)
    assert [r.type for r in made] == ["VARCHAR", "VARCHAR"] and all(not r.ways and not r.doubts for r in made)


def test_too_many_shapes_are_text(con: duckdb.DuckDBPyConnection) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"{a}{b}{c} 1" for a in letters for b in letters for c in letters[:6]]
    (reading,) = readings(con, {"v": ["$1.50"] * 6_000 + words})
    assert reading.type == "VARCHAR" and reading.beside is None


def test_shapes_that_the_sample_did_not_show_are_found(con: duckdb.DuckDBPyConnection) -> None:
    (reading,) = readings(con, {"v": ["13/01/2024"] * 6_000 + ["14/01/2024 10:30", "14. März 2024"]})
    assert reading.type == "TIMESTAMP"
    rows = con.execute(f"SELECT DISTINCT {reading.sql} FROM s ORDER BY 1").fetchall()
    assert rows == [(datetime(2024, 1, 13),), (datetime(2024, 1, 14, 10, 30),), (datetime(2024, 3, 14),)]


def test_an_empty_relation_is_text(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE s (a VARCHAR, b VARCHAR)")
    made = columns.readings(con, "s", ["a", "b"], ["a", "b"], [])
    assert [r.type for r in made] == ["VARCHAR", "VARCHAR"]
