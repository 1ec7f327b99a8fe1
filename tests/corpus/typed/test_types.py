"""A type is chosen only if no value could change by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from peek_core.corpus.typed import types


def column(*values: str) -> str:
    return "n,v\n" + "".join(f'{n},"{value}"\n' for n, value in enumerate(values))


def late(first: str, last: str, rows: int = 25_000) -> str:
    """A column whose last value is the first one of its kind, far behind any sample."""
    return "n,v\n" + "".join(f"{n},{first}\n" for n in range(rows)) + f"{rows},{last}\n"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "2", "-3"), "BIGINT"),
        (("1", "", "3"), "BIGINT"),
        ((" 1", "2 "), "BIGINT"),
        (("9223372036854775807",), "BIGINT"),
        (("9223372036854775808", "1"), "VARCHAR"),
        (("12345678901234567890123",), "VARCHAR"),
        (("1.5", "2"), "DOUBLE"),
        (("10.50", "3.00", "0.99"), "DOUBLE"),
        (("1.5e-07", "2.0"), "DOUBLE"),
        (("0.1234567890123456789", "1.5"), "VARCHAR"),
        (("1E5", "2E7"), "VARCHAR"),
        (("0x1F", "2"), "VARCHAR"),
        (("1_000", "2"), "VARCHAR"),
        (("+49301", "1"), "VARCHAR"),
        (("007", "12"), "VARCHAR"),
        (("5.9", "5.10"), "VARCHAR"),
        (("5", "5.10"), "DOUBLE"),
        (("5.05", "5.9", "5.10"), "DOUBLE"),
        (("-5.9", "5.10"), "DOUBLE"),
        (("9.5", "9.50", "12.0"), "DOUBLE"),
        (("1,5", "2"), "DOUBLE"),
        (("inf", "1"), "VARCHAR"),
        (("2024-02-29", "2024-03-01"), "DATE"),
        (("2024-02-30", "2024-03-01"), "VARCHAR"),
        (("2024-2-3",), "DATE"),
        (("2024/02/03",), "DATE"),
        (("infinity",), "VARCHAR"),
        (("2024-02-29", "2024-03-01 10:00"), "TIMESTAMP"),
        (("2024-03-01T10:00:00Z", "2024-03-01 10:00:00.123"), "TIMESTAMP"),
        (("2024-03-01T10:00:00+02:00",), "VARCHAR"),
        (("2024-03-01 25:00:00",), "VARCHAR"),
        (("true", "FALSE"), "BOOLEAN"),
        (("yes", "no"), "VARCHAR"),
        (("1", "0", "true"), "VARCHAR"),
        (("NA", "3"), "BIGINT"),
        (("-", "2024-01-01"), "DATE"),
    ],
)
def test_types(load: Callable[..., Any], values: tuple[str, ...], kind: str) -> None:
    shelf = load(column(*values))
    assert shelf.column("v").type == kind
    if kind == "VARCHAR":
        assert [v or "" for (v,) in shelf.sql("SELECT v FROM t ORDER BY n")] == list(values)


@pytest.mark.parametrize(
    ("first", "last", "kind"),
    [
        ("12", "00501", "VARCHAR"),
        ("12", "1.5", "DOUBLE"),
        ("12", "NA", "BIGINT"),
        ("12", "twelve", "VARCHAR"),
        ("10.5", "11.0.1", "VARCHAR"),
        ("5.9", "5.10", "VARCHAR"),
        ("2024-01-01", "2024-01-01 10:00:00", "TIMESTAMP"),
        ("2024-01-01", "01/02/2024", "VARCHAR"),
        ("true", "NA", "BOOLEAN"),
        ("true", "yes", "VARCHAR"),
        ("", "7", "BIGINT"),
        ("", "x", "VARCHAR"),
        ("", "2024-05-06", "DATE"),
    ],
)
def test_the_last_of_25001_values_counts(load: Callable[..., Any], first: str, last: str, kind: str) -> None:
    shelf = load(late(first, last))
    assert shelf.column("v").type == kind
    assert shelf.table.rows == 25_001
    ((got,),) = shelf.sql("SELECT v::VARCHAR FROM t WHERE n = 25000")
    if last == "NA" and kind != "VARCHAR":
        assert got is None
        assert any("1 value (“NA”) read as missing" in line for line in shelf.table.assumptions)
    elif kind == "VARCHAR":
        assert got == last


def test_codes_of_customers_keep_their_zeros(load: Callable[..., Any]) -> None:
    rows = "".join(f"{n},3\n" for n in range(10_000, 35_000))
    shelf = load(f"customer_no,score\n{rows}00501,1\n00501,2\n")
    assert shelf.sql("SELECT customer_no, count(*), avg(score) FROM t WHERE customer_no = '00501' GROUP BY 1") == [
        ("00501", 2, 1.5)
    ]


def test_versions_after_30000_rows(load: Callable[..., Any]) -> None:
    rows = "".join(f"{n},10.5,{1 + n % 5}\n" for n in range(30_000))
    rows += "".join(f"{n},11.0.1,1\n" for n in range(30_000, 30_010))
    shelf = load("id,app_version,score\n" + rows)
    assert shelf.table.rows == 30_010 and shelf.column("app_version").type == "VARCHAR"
    assert shelf.sql("SELECT count(*), avg(score) FROM t WHERE app_version = '11.0.1'") == [(10, 1.0)]


def test_truth_value_with_a_late_na(load: Callable[..., Any]) -> None:
    shelf = load(late("true", "NA").replace("n,v", "id,resolved"))
    assert shelf.sql("SELECT count(*), count(*) FILTER (resolved), count(*) - count(resolved) FROM t") == [
        (25_001, 25_000, 1)
    ]


def test_na_stays_text_in_a_text_column(load: Callable[..., Any]) -> None:
    shelf = load("channel\napp\nNA\nweb\n")
    assert shelf.sql("SELECT channel FROM t") == [("app",), ("NA",), ("web",)]
    assert shelf.table.assumptions == ()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (("03/01/2024", "01/02/2024"), "cannot be told"),
        (("$1.50", "€2"), "different units"),
        (("€1.234", "€2"), "could be a decimal sign"),
    ],
)
def test_what_could_be_read_otherwise_is_said(load: Callable[..., Any], values: tuple[str, ...], word: str) -> None:
    shelf = load(column(*values))
    (doubt,) = [d for d in shelf.report.doubts if d.where == "column v"]
    assert word in f"{doubt.what} {doubt.alternative}" and doubt.alternative


def test_codes_are_no_doubt(load: Callable[..., Any]) -> None:
    shelf = load(column("007", "12"))
    assert shelf.report.doubts == () and (shelf.column("v").way, shelf.column("v").ways) == ("text", ("whole number",))
    assert shelf.table.assumptions == ("v: kept as text, because codes such as 007 would lose their leading zeros.",)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("5.9", "5.10"), "values such as 5.10 would become 5.1"),
        (("9007199254740993", "1.5"), None),
        (("1.5", "9007199254740993"), None),
        (("9007199254740993",) * 5_001 + ("1.5",), "would be rounded"),
        (("123456789012345", "1.5"), None),
    ],
)
def test_text_that_loses_nothing_is_no_doubt(
    load: Callable[..., Any], values: tuple[str, ...], why: str | None
) -> None:
    shelf = load(column(*values))
    assert shelf.report.doubts == ()
    assert [line for line in shelf.table.assumptions if why and why in line] or why is None
    kind = "DOUBLE" if values[0] == "123456789012345" else "VARCHAR"
    assert shelf.column("v").type == kind
    if kind == "VARCHAR":
        assert shelf.sql("SELECT DISTINCT v FROM t ORDER BY v") == [(v,) for v in sorted(set(values))]


def test_possible_is_only_a_filter() -> None:
    assert types.possible([None, "", "NA"]) == types.TYPED
    assert types.possible(["1", "x"]) == ()
    assert types.possible(["2024-01-01"]) == ("DATE", "TIMESTAMP")
