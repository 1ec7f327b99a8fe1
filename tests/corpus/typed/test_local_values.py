"""Numbers and dates as people write them: converted where one reading fits, beside the text where two do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peek_core.corpus.load import Source, load_files
from peek_core.corpus.typed import columns, local_dates, local_numbers
from peek_core.corpus.typed.types import Reading
from peek_core.values.dataset import ReadChoices

D, T = date, datetime
_CON = duckdb.connect()


@dataclass(frozen=True)
class Read:
    """How one column was read: its values as they stand in its place, and beside it."""

    reading: Reading
    inside: list[Any]
    beside: list[Any]

    @property
    def typed(self) -> list[Any]:
        return self.beside if self.reading.beside else self.inside

    @property
    def type(self) -> str:
        return self.reading.beside.type if self.reading.beside else self.reading.type

    @property
    def assumed(self) -> str:
        return " ".join(self.reading.assumptions)

    @property
    def doubted(self) -> str:
        return " ".join(f"{d.where}: {d.what}; {d.alternative}." for d in self.reading.doubts)


def read(values: Sequence[str | None], label: str = "v", *, european: bool = False) -> Read:
    _CON.execute("CREATE OR REPLACE TABLE s AS SELECT unnest($1::VARCHAR[]) AS v", [list(values)])
    made = columns.readings(_CON, "s", ["v"], [label], columns.sample(_CON, "s", ["v"]), european=european)
    rows = _CON.execute(f"SELECT {columns.selected(['v'], made)} FROM s").fetchall()
    return Read(made[0], [row[0] for row in rows], [row[-1] for row in rows])


def cells(text: str) -> list[str | None]:
    """Values between bars; an empty one is missing."""
    return [value.strip() or None for value in text.split("|")]


IN_PLACE = [
    # RC-13 and its kind: money, separators, brackets
    ("$1,200.50|$75.00|($20.00)||2,000|-", "DOUBLE", [1200.5, 75, -20, None, 2000, None], "brackets read as numbers, e.g. “($20.00)” is -20.0."),
    ("1.234.567,50 €|3,00 €|-0,50 €", "DOUBLE", [1234567.5, 3, -0.5], "decimal commas and currency signs"),
    ("EUR 5.00|EUR 1,234.50", "DOUBLE", [5, 1234.5], "currency signs"),
    ("5 kr.|kr. 6,50|7", "DOUBLE", [5, 6.5, 7], "decimal commas and currency signs"),
    ("US$5.25|US$1.50", "DOUBLE", [5.25, 1.5], "currency signs"),
    ("$(20)|$5|$-3|-$4", "BIGINT", [-20, 5, -3, -4], "brackets"),
    ("£2,221,631|£922,193", "BIGINT", [2221631, 922193], "signs between thousands and currency signs"),
    ("12,34,567.50 ₹|100 ₹", "DOUBLE", [1234567.5, 100], "signs between thousands"),
    ("1 234,5|3|12 000", "DOUBLE", [1234.5, 3, 12000], "decimal commas"),
    ("1\u00a0234,5|3|12\u202f000,25", "DOUBLE", [1234.5, 3, 12000.25], "decimal commas"),
    ("1'234.5|2|1’000.25", "DOUBLE", [1234.5, 2, 1000.25], "signs between thousands"),
    ("1,5|2,25|-3", "DOUBLE", [1.5, 2.25, -3], "v: decimal commas read as numbers, e.g. “-3” is -3.0."),
    ("0,125|1,250", "DOUBLE", [0.125, 1.25], "decimal commas"),
    ("1,234|1,234,567", "BIGINT", [1234, 1234567], "e.g. “1,234,567” is 1234567."),
    ("1.234.567|5", "BIGINT", [1234567, 5], "signs between thousands"),
    ("1,200|950|12,345", "BIGINT", [1200, 950, 12345], "signs between thousands"),  # 950 beside 1,200: no decimals
    ("12.5%|3 %|-0.5%", "DOUBLE", [12.5, 3, -0.5], "percent signs read as numbers in percent points, e.g. “-0.5%” is -0.5."),
    ("12,5 %|3 %", "DOUBLE", [12.5, 3], "decimal commas and percent signs"),
    ("5-|6|1,200.50-", "DOUBLE", [-5, 6, -1200.5], "minus signs at the end"),
    ("+5|-3|+1,234.5", "DOUBLE", [5, -3, 1234.5], "plus signs"),
    ("−5|3.5|−1.25", "DOUBLE", [-5, 3.5, -1.25], ""),
    (".5|1.25|-.75", "DOUBLE", [0.5, 1.25, -0.75], ""),
    ("$0|#N/A|$1,000.00|missing|(null)", "DOUBLE", [0, None, 1000, None, None], "3 values (“#N/A” to “missing”) read as missing"),
    ("9.50|12.0|11.5", "DOUBLE", [9.5, 12, 11.5], ""),
    ("5.05|5.9|5.10", "DOUBLE", [5.05, 5.9, 5.1], ""),  # no version is written 5.05
    # RC-11 and its kind, where one order fits
    ("13/01/2024|01/02/2024", "DATE", [D(2024, 1, 13), D(2024, 2, 1)], "dates read day first, because “13/01/2024” fits no other order."),
    ("01/13/2024|1/2/2024", "DATE", [D(2024, 1, 13), D(2024, 1, 2)], "month first, because “01/13/2024” fits"),
    ("31.10.2023|1.11.2023", "DATE", [D(2023, 10, 31), D(2023, 11, 1)], "day first"),
    ("31-10-2023|01-11-2023", "DATE", [D(2023, 10, 31), D(2023, 11, 1)], "day first"),
    ("31.10.69|01.11.70|02.12.99|03.03.05", "DATE", [D(2069, 10, 31), D(1970, 11, 1), D(1999, 12, 2), D(2005, 3, 3)], "years 70 to 99 were read as 1970 to 1999"),
    ("31.10.2023|1.11.24", "DATE", [D(2023, 10, 31), D(2024, 11, 1)], "day first"),
    ("31/10/1969|01/11/69", "DATE", [D(1969, 10, 31), D(2069, 11, 1)], "day first"),
    ("99-12-31|24-01-31", "DATE", [D(1999, 12, 31), D(2024, 1, 31)], "year first"),
    ("2024/02/03|2024/2/4", "DATE", [D(2024, 2, 3), D(2024, 2, 4)], "year first"),
    ("2024.02.03", "DATE", [D(2024, 2, 3)], "year first"),
    ("3 Jan 2024|14 February 2024|31 Mar 2024", "DATE", [D(2024, 1, 3), D(2024, 2, 14), D(2024, 3, 31)], "dates with names of months read day first"),
    ("Jan 3, 2024|March 13th, 2024", "DATE", [D(2024, 1, 3), D(2024, 3, 13)], "month first"),
    ("03-Jan-24|14-FEB-70", "DATE", [D(2024, 1, 3), D(1970, 2, 14)], "day first"),
    ("03Jan2024", "DATE", [D(2024, 1, 3)], "day first"),
    ("3. März 2024|14. Okt. 2023|1. Mai 2023|2. Dezember 2022", "DATE", [D(2024, 3, 3), D(2023, 10, 14), D(2023, 5, 1), D(2022, 12, 2)], "names of months"),
    ("3 août 2024|4 juil. 2024|5 juin 2024|6 Sept 2024|7 September 2024", "DATE", [D(2024, 8, 3), D(2024, 7, 4), D(2024, 6, 5), D(2024, 9, 6), D(2024, 9, 7)], "names of months"),
    ("3 enero 2024|4 ago 2024|5 dic 2024|6 giugno 2024|7 luglio 2024", "DATE", [D(2024, 1, 3), D(2024, 8, 4), D(2024, 12, 5), D(2024, 6, 6), D(2024, 7, 7)], "names of months"),
    ("Mon, 2 Mar 2026|Tuesday 13 March 2026", "DATE", [D(2026, 3, 2), D(2026, 3, 13)], "dates with names of months read day first"),
    ("Sun, Mar 1, 2026|Mon, Mar 2, 2026", "DATE", [D(2026, 3, 1), D(2026, 3, 2)], "month first"),
    ("Montag, 2. März 2026|So., 1. Mai 2026", "DATE", [D(2026, 3, 2), D(2026, 5, 1)], "names of months"),
    ("mar. 3 mars 2026|lundi 2 févr. 2026", "DATE", [D(2026, 3, 3), D(2026, 2, 2)], "names of months"),
    ("Mon, 2 Mar 2026 10:05|3 Mar 2026 9:00 PM", "TIMESTAMP", [T(2026, 3, 2, 10, 5), T(2026, 3, 3, 21)], "day first"),
    ("2024-Jan-03|2024-Dec-31", "DATE", [D(2024, 1, 3), D(2024, 12, 31)], "year first"),
    ("13/01/2024 9:05|01/02/2024 23:59:59", "TIMESTAMP", [T(2024, 1, 13, 9, 5), T(2024, 2, 1, 23, 59, 59)], "day first"),
    ("13/01/2024, 10:00|14/01/2024", "TIMESTAMP", [T(2024, 1, 13, 10), T(2024, 1, 14)], "day first"),
    ("1/13/2024 9:05 PM|1/2/2024 12:00 AM|1/2/2024 12:30:15 pm", "TIMESTAMP", [T(2024, 1, 13, 21, 5), T(2024, 1, 2), T(2024, 1, 2, 12, 30, 15)], "month first"),
    ("Apr 13  2017 12:15:00 AM", "TIMESTAMP", [T(2017, 4, 13, 0, 15)], "month first"),
    ("2024-01-01 10:00:00,123|2024-01-02 10:00:00.1234567", "TIMESTAMP", [T(2024, 1, 1, 10, 0, 0, 123000), T(2024, 1, 2, 10, 0, 0, 123457)], ""),
    ("31.01.2024|15/02/2024|3 Jan 2024", "DATE", [D(2024, 1, 31), D(2024, 2, 15), D(2024, 1, 3)], "day first"),
    ("03/03/2024|04/04/2024", "DATE", [D(2024, 3, 3), D(2024, 4, 4)], "month first they would be the same"),
    ("13/01/2024||n/a", "DATE", [D(2024, 1, 13), None, None], "1 value (“n/a”) read as missing, because all others are dates."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "values", "said"), IN_PLACE, ids=[case[0] for case in IN_PLACE])
def test_read_in_place(text: str, kind: str, values: list[Any], said: str) -> None:
    got = read(cells(text))
    assert (got.reading.type, got.inside) == (kind, values)
    assert got.doubted == "" and said in got.assumed and got.reading.beside is None


DOUBTED = [
    # numbers that could be read otherwise, in a file cut by semicolons
    ("1,234|2", "BIGINT", [1234, 2], "“1,234” was read as 1234, but its comma could be a decimal sign; read it as 1.234."),
    ("2,000", "BIGINT", [2000], "read it as 2."),
    ("€1.234|€5.000", "BIGINT", [1234, 5000], "its point could be a decimal sign; read it as 1.234"),
    ("1.234|850", "BIGINT", [1234, 850], "“1.234” was read as 1234, but its point could be a decimal sign; read it as 1.234."),
    ("2.500|850", "BIGINT", [2500, 850], "its point could be a decimal sign"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "values", "said"), DOUBTED, ids=[case[0] for case in DOUBTED])
def test_read_in_place_with_a_doubt(text: str, kind: str, values: list[Any], said: str) -> None:
    got = read(cells(text), european=True)
    assert (got.reading.type, got.inside, got.reading.beside) == (kind, values, None)
    assert got.doubted.startswith("column v: ") and said in got.doubted


@pytest.mark.parametrize(
    ("text", "values"),
    [("1,234|2", [1234, 2]), ("2,000", [2000]), ("35,267|20,000", [35267, 20000]), ("1.234|850", [1.234, 850])],
)
def test_elsewhere_commas_stand_between_thousands_and_points_before_decimals(text: str, values: list[Any]) -> None:
    got = read(cells(text))
    assert got.inside == values and got.doubted == ""


IN_THE_PLACE_OF_NONE = [
    ("12|13|14|15|unknown", [12, 13, 14, 15, None]),
    ("1|2|3|4|5|6|7|8|9|10|****|TBD", [*range(1, 11), None, None]),
    ("$1.50|$2|$3|$4|#DIV/0!", [1.5, 2, 3, 4, None]),
    ("2024-01-01|2024-01-02|2024-01-03|2024-01-04|not asked", [*(D(2024, 1, n) for n in range(1, 5)), None]),
    ("2024-01-01T10:00:00Z|2024-01-02T10:00:00Z|2024-01-03T10:00:00Z|2024-01-04T10:00:00Z|(blank)", [*(T(2024, 1, n, 10) for n in range(1, 5)), None]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), IN_THE_PLACE_OF_NONE, ids=[case[0][:40] for case in IN_THE_PLACE_OF_NONE])
def test_words_that_stand_for_missing_are_read_as_such_and_said(text: str, values: list[Any]) -> None:
    got = read(cells(text))
    assert got.inside == values and "read as missing" in got.assumed and got.doubted == ""


KEPT = [
    ("12|13|14|15|16|17|TIE", "all but 1 value (“TIE”) are whole numbers"),
    ("13/01/2024|01/02/2024|01/03/2024|01/04/2024|open", "all but 1 value (“open”) are dates"),
    ("1,5|" * 20 + "12 apples", "1 value (“12 apples”) is no number"),
    ("31/01/2024|" * 20 + "31/02/2024", "1 value (“31/02/2024”) is no date"),
    ("13/01/2024|" * 20 + "Q1 2024", "1 value (“Q1 2024”) is no date"),
    ("13/01/2024|" * 20 + "08//01/2019", "“08//01/2019”"),
    ("2024-01-31 10:00|" * 20 + "0000-00-00 00:00", "“0000-00-00 00:00”"),
]


@pytest.mark.parametrize(("text", "said"), KEPT, ids=[case[0][:40] for case in KEPT])
def test_a_few_other_values_keep_a_column_text_and_are_named(text: str, said: str) -> None:
    got = read(cells(text))
    assert got.reading.type == "VARCHAR" and got.inside == cells(text) and got.reading.beside is None
    assert said in got.assumed and got.doubted == "" and got.reading.ways


def test_a_column_of_words_for_missing_is_empty_and_says_so() -> None:
    got = read(["NA", None, "NA"])
    assert got.inside == [None, None, None] and "holds only words for missing" in got.assumed


BESIDE = [
    ("1,1|0,25|15,300.25|15.300,25|-15.300,25", "v_number", [1.1, 0.25, 15300.25, 15300.25, -15300.25], "Numbers are written in different ways"),
    ("1.234.567|1,234,567|0,5|7.25", "v_number", [1234567, 1234567, 0.5, 7.25], "different ways"),
    ("03/01/2024|04/01/2024|05/01/2024|01/02/2024|02/03/2024|03/03/2024", "v_date", [D(2024, 1, 3), D(2024, 1, 4), D(2024, 1, 5), D(2024, 2, 1), D(2024, 3, 2), D(2024, 3, 3)], "The order of day and month cannot be told, e.g. “01/02/2024”; v_date reads it day first; month first."),
    ("03/01/2024|" * 20 + "x1", "v_date", [*[D(2024, 1, 3)] * 20, None], "1 value (“x1”) is no date; empty in v_date"),
    ("3.1.2024 10:00|4.1.2024 11:30", "v_time", [T(2024, 1, 3, 10), T(2024, 1, 4, 11, 30)], "reads it day first"),
    ("01/02/2024 9:05 PM", "v_time", [T(2024, 1, 2, 21, 5)], "reads it month first; day first."),
    ("03-01-24|04-01-24", "v_date", [D(2024, 1, 3), D(2024, 1, 4)], "month first or year first."),
    ("24-01-15|24-02-16|24-03-30", "v_date", [D(2024, 1, 15), D(2024, 2, 16), D(2024, 3, 30)], "reads it year first; day first."),
    ("24/01/15|24/02/16|24/03/30", "v_date", [D(2024, 1, 15), D(2024, 2, 16), D(2024, 3, 30)], "reads it year first; day first."),
    ("2019-01-02|01/13/2019", "v_date", [D(2019, 1, 2), D(2019, 1, 13)], "Dates are written in different ways"),
    ("2019-01-02|02/03/2019|04/04/2019", "v_date", [D(2019, 1, 2), None, D(2019, 4, 4)], "is empty for 1 value whose order cannot be told"),
    ("13/01/2024|01/13/2024|02/03/2024", "v_date", [D(2024, 1, 13), D(2024, 1, 13), None], "is empty for 1 value"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "values", "said"), BESIDE, ids=[case[0][:60] for case in BESIDE])
def test_read_beside_the_text(text: str, name: str, values: list[Any], said: str) -> None:
    got = read(cells(text))
    assert got.reading.type == "VARCHAR" and got.inside == cells(text)
    assert got.reading.beside and got.reading.beside.name == name and got.beside == values
    assert said in got.doubted and got.reading.lost == values.count(None)


TEXT = [
    ("12%|3", "some values have a percent sign and others none"),
    ("$5|€6", "values have different units, $ and €"),
    ("5 USD|6 EUR", "values have different units, EUR and USD"),
    ("(5)|(6)", "all values stand in brackets"),
    ("5-|6-", "all values end in a minus sign"),
    ("1,234|1234", "thousands and decimals cannot be told apart"),
    ("1,234|1.234", "thousands and decimals cannot be told apart"),
    ("1,234|0,5|7.25", "numbers are written in different ways"),  # 1,234 cannot be read by itself
    ("2024-01-01T10:00:00+02:00|2024-01-01 10:00:00", "is no time with a zone as the others are"),
]


@pytest.mark.parametrize(("text", "said"), TEXT, ids=[case[0][:40] for case in TEXT])
def test_kept_as_text_with_a_doubt(text: str, said: str) -> None:
    got = read(cells(text))
    assert got.reading.type == "VARCHAR" and got.inside == cells(text) and got.reading.beside is None
    assert said in got.doubted and got.reading.ways


PLAIN = [
    # codes, versions, addresses and other things that are no numbers
    "00501|12", "007,5|1,5", "+49301|1", "+49 301|1", "0 800 123|5 123", "5.9|5.10", "10.5|11.0.1", "1.2.3|1.12.24",
    "192.168.100.200|192.168.101.201", "10.0.0.1", "732 829 320|552 100 554", "555-1234", "1.234.56", "1,2,3", "1,23.4",
    "12 kg|5 kg", "1e5|$3", "5-10|3/4", "$|€", "10:30|11:45", "12/45/99|13/46/98", "Jan 2024|Feb 2024", "2024-W05",
    "Q1|Q2", "1 of 3", "--5", "(5|6)", "$5 €", "a|b|c|d|1", "0,1,2", "99999999999999999999|1",
    "1,234.56789012345678", "true|false|unknown", "14 janvember 2024", "3 jui 2024", "about 3 Mar 2024|Mond 3 Marchy 2024", "2024-13-01", "۱۲|۱۳",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text(text: str) -> None:
    got = read(cells(text))
    assert got.reading.type == "VARCHAR" and got.inside == cells(text)
    assert got.reading.beside is None and got.doubted == ""


@pytest.mark.parametrize(
    ("label", "text"),
    [("phone", "555 123|555 456"), ("IP", "10.250|10.251"), ("app version", "1,5|2"), ("iban", "1 234|5 678"), ("build_release", "01.12.24|02.10.19")],
)  # fmt: skip
def test_names_that_say_code(label: str, text: str) -> None:
    got = read(cells(text), label)
    assert got.inside == cells(text) if label != "IP" else got.reading.type == "DOUBLE"


def test_versions_and_dates_of_two_digits_are_told_apart_by_the_name() -> None:
    assert read(cells("1.12.24|2.10.19"), "build").reading.beside is None
    assert read(cells("1.12.24|22.10.19"), "order date").inside == [D(2024, 12, 1), D(2019, 10, 22)]


@pytest.mark.parametrize(
    ("label", "text", "way", "values"),
    [
        ("created_at", "1700000000|1710000000|", "epoch seconds", [T(2023, 11, 14, 22, 13, 20), T(2024, 3, 9, 16), None]),
        ("ts", "1700000000000|1700000000500", "epoch milliseconds", [T(2023, 11, 14, 22, 13, 20), T(2023, 11, 14, 22, 13, 20, 500000)]),
        ("Last Updated", "1700000000", "epoch seconds", [T(2023, 11, 14, 22, 13, 20)]),
        ("createdAt", "1700000000", "epoch seconds", [T(2023, 11, 14, 22, 13, 20)]),
        ("Order Date", "45000|45366", "Excel date", [D(2023, 3, 15), D(2024, 3, 15)]),
        ("date", "20240131|19991231|", "YYYYMMDD", [D(2024, 1, 31), D(1999, 12, 31), None]),
        ("date", "45000.5|45001", "Excel date", [T(2023, 3, 15, 12), T(2023, 3, 16)]),
    ],
)  # fmt: skip
def test_numbers_that_count_time(label: str, text: str, way: str, values: list[Any]) -> None:
    got = read(cells(text), label)
    assert (
        got.inside == values and got.reading.way == way and "whole number" in got.reading.ways
    ) or "number" in got.reading.ways
    assert got.doubted == "" and got.reading.beside is None and "read as" in got.assumed


@pytest.mark.parametrize(
    ("label", "text"),
    [("id", "1700000000"), ("candidate", "1700000000"), ("created", "1700000000|5"), ("date", "20240131|20240230"), ("date", "20240131|5"), ("date", "18991231"), ("id", "20240131"), ("date", "45000|12"), ("rate", "45000")],
)  # fmt: skip
def test_numbers_that_do_not_count_time(label: str, text: str) -> None:
    got = read(cells(text), label)
    assert got.reading.type == "BIGINT" and got.reading.beside is None and got.reading.way == "whole number"


@pytest.mark.parametrize(("days", "ways"), [(20, ("YYYYMMDD", "number", "text")), (19, ("number", "text"))])
def test_many_numbers_that_could_all_be_dates_stay_numbers_and_may_be_read_as_such(
    days: int, ways: tuple[str, ...]
) -> None:
    got = read([f"202401{day:02}" for day in range(1, days + 1)], "batch")
    assert (got.reading.type, got.reading.ways, got.assumed, got.doubted) == ("BIGINT", ways, "", "")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2024-01-01T10:00:00+02:00|2024-01-01T10:00:00Z||-", [T(2024, 1, 1, 8), T(2024, 1, 1, 10), None, None]),
        ("2024-01-01 10:00:00.250 -0530|2024-01-01 10:00+02", [T(2024, 1, 1, 15, 30, 0, 250000), T(2024, 1, 1, 8)]),
        ("2024-01-01 10:00:00 UTC|2024-01-01 10:00:00GMT", [T(2024, 1, 1, 10)] * 2),
    ],
)
def test_times_with_their_own_zone(text: str, values: list[Any]) -> None:
    got = read(cells(text))
    assert got.reading.type == "VARCHAR" and got.reading.beside and got.reading.beside.name == "v_utc"
    assert got.beside == values and got.doubted == "" and "v_utc has them in UTC" in got.assumed


@pytest.mark.parametrize("word", ["January", "mar", "März", "mrz", "août", "DÉC", "Févr", "giu", "set", "ott", "ago"])
def test_names_of_months(word: str) -> None:
    assert local_dates.month(word) and read([f"5 {word} 2024"]).inside[0].month == local_dates.month(word)


def test_every_name_of_a_month_is_read_alike_by_both_sides() -> None:
    for number, names in enumerate(local_dates._MONTHS, start=1):
        for name in names.split():
            spellings = [
                f"{n % 28 + 1} {name[:n].title()} 2024" for n in range(3, len(name) + 1) if local_dates.month(name[:n])
            ]
            assert {value.month for value in read(spellings).inside} == {number}


def test_shapes_of_numbers() -> None:
    assert local_numbers.shape("$9,999.99") == local_numbers.Shape("$", "", ",", ".", False, 6, 2, 1)
    assert local_numbers.shape("(9.999)") == local_numbers.Shape("", "()", ".", ".", True, 4, 3, 1)
    assert local_numbers.shape("99,99") == local_numbers.Shape("", "", "", ",", False, 4, 2, 0)
    assert local_numbers.shape("kr.9") is None and local_numbers.shape("9.99.9") is None


# Whoever wrote a column in one convention gets back what was written, or a doubt, or text: never another value.

_NUMBERS = st.lists(st.decimals(min_value=-(10**9), max_value=10**9, places=4), min_size=1, max_size=8)


@given(
    numbers=_NUMBERS,
    places=st.one_of(st.none(), st.integers(0, 4)),
    signs=st.sampled_from([("", "."), (",", "."), (" ", "."), ("'", "."), ("", ","), (".", ","), (" ", ","), ("\u202f", ","), ("\u00a0", ",")]),
    frame=st.sampled_from(["{}", "${}", "{} €", "EUR {}", "{}%", "{} %", "+{}"]),
    negative=st.sampled_from(["-{}", "({})", "{}-", "−{}"]),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_numbers_of_one_convention(
    numbers: list[Decimal], places: int | None, signs: tuple[str, str], frame: str, negative: str
) -> None:
    def written(number: Decimal) -> tuple[str, float]:
        size = abs(number)
        text = f"{size:,.{places}f}" if places is not None else f"{size.normalize():,f}"
        framed = frame.format(text.replace(",", "t").replace(".", signs[1]).replace("t", signs[0]))
        minus = number < 0 and float(text.replace(",", "")) != 0
        return (negative.format(framed.lstrip("+")) if minus else framed), (-1 if minus else 1) * float(
            text.replace(",", "")
        )

    texts, meant = zip(*map(written, numbers), strict=True)
    got = read(texts, european=signs[1] == ",")  # whoever writes decimal commas cuts fields at semicolons
    if not got.reading.doubts and got.type != "VARCHAR":
        assert got.typed == list(meant)


_MOMENT = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2069, 12, 31))
_EARLY = _MOMENT.map(lambda m: m.replace(day=(m.day - 1) % 12 + 1))  # days that could be months
_MOMENTS = st.one_of(st.lists(_MOMENT, min_size=1, max_size=8), st.lists(_EARLY, min_size=1, max_size=8))
_DAYS = ["%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y"]
_NAMED = ["%d %b %Y", "%B %d, %Y", "%d-%b-%y", "%d. %B %Y", "%Y-%b-%d", "%y-%m-%d"]


@given(
    moments=_MOMENTS,
    day=st.sampled_from([day.format(sep) for day in _DAYS for sep in "/.-"] + _NAMED),
    clock=st.sampled_from(["", " %H:%M", "T%H:%M:%S", ", %I:%M:%S %p", " %H:%M:%S.%f"]),
    padded=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_dates_of_one_convention(moments: list[datetime], day: str, clock: str, padded: bool) -> None:
    step = timedelta(days=1) if not clock else timedelta(seconds=1) if "%S" in clock else timedelta(minutes=1)
    meant = [m if "%f" in clock else datetime.min + (m - datetime.min) // step * step for m in moments]
    if padded:
        texts = [m.strftime(day + clock) for m in meant]
    else:
        bare = [day.replace("%d", str(m.day)).replace("%m", str(m.month)) for m in meant]
        texts = [m.strftime(text + clock) for m, text in zip(meant, bare, strict=True)]
    got = read(texts, "date")
    if not got.reading.doubts and got.type != "VARCHAR":
        assert [T(v.year, v.month, v.day) if not isinstance(v, datetime) else v for v in got.typed] == meant


# The cases themselves, from file to table.


def test_refunds(load: Callable[..., Any]) -> None:
    shelf = load('id,refund\n1,"$1,200.50"\n2,$75.00\n3,($20.00)\n4,\n5,"2,000"\n6,-\n')
    assert shelf.sql("SELECT sum(refund), avg(refund), count(refund) FROM t") == [(3255.5, 813.875, 4)]
    assert shelf.column("refund").nulls == 2 and shelf.report.doubts == ()
    said = " ".join(shelf.table.assumptions)
    assert "brackets read as numbers, e.g. “($20.00)” is -20.0." in said and "1 value (“-”) read as missing" in said


def test_ambiguous_dates_keep_their_text_and_get_a_date(load: Callable[..., Any]) -> None:
    days = ("03/01/2024", "04/01/2024", "05/01/2024", "01/02/2024", "02/03/2024", "03/03/2024")
    shelf = load("id,created,score\n" + "".join(f"{n},{day},{n}\n" for n, day in enumerate(days)))
    assert shelf.sql("SELECT month(created_date), count(*) FROM t GROUP BY 1 ORDER BY 1") == [(1, 3), (2, 1), (3, 2)]
    assert [(c.name, c.label, c.type) for c in shelf.table.columns] == [
        ("id", "id", "BIGINT"),
        ("created", "created", "VARCHAR"),
        ("created_date", "created (as date)", "DATE"),
        ("score", "score", "BIGINT"),
    ]
    assert (shelf.column("created").way, shelf.column("created").ways) == ("day first", ("month first", "text"))
    (doubt,) = shelf.report.doubts
    assert doubt.where == "column created" and "created_date reads it day first" in doubt.what
    assert doubt.alternative == "month first"


def test_versions_that_come_late_stay_text(load: Callable[..., Any]) -> None:
    rows = "".join(f"{n},10.5,{1 + n % 5}\n" for n in range(30_000))
    shelf = load("id,app_version,score\n" + rows + "".join(f"{n},11.0.1,1\n" for n in range(30_000, 30_010)))
    assert shelf.table.rows == 30_010 and shelf.column("app_version").type == "VARCHAR" and shelf.report.doubts == ()
    assert shelf.sql("SELECT count(*), avg(score) FROM t WHERE app_version = '11.0.1'") == [(10, 1.0)]


@pytest.mark.parametrize(
    ("first", "last", "kind", "got"),
    [
        ("12", "$5.50", "DOUBLE", 5.5),
        ("12", "1,234,567", "BIGINT", 1234567),
        ("10.5", "1,234.5", "DOUBLE", 1234.5),
        ("10.5", "(3)", "DOUBLE", -3),
        ("12", "1.234,5", "DOUBLE", 1234.5),
        ("", "13/01/2024", "DATE", D(2024, 1, 13)),
        ("01/02/2024", "13/02/2024", "DATE", D(2024, 2, 13)),
        ("$1.50", "3,5", "VARCHAR", "3,5"),
        ("true", "T/F", "VARCHAR", "T/F"),
        ("12", "5 apples", "VARCHAR", "5 apples"),
    ],
)
def test_the_last_of_many_values_counts(first: str, last: str, kind: str, got: Any) -> None:
    found = read([first or None] * 12_000 + [last])
    assert (found.reading.type, found.inside[-1], len(found.inside)) == (kind, got, 12_001)


@pytest.mark.parametrize("word", ["NA", "n/a", "-", "NULL", "?", "missing", "\\N", "(null)", "#NULL!", "—"])
def test_a_late_word_for_missing_keeps_the_type_in_place(word: str) -> None:
    for first, value, kind in (("true", True, "BOOLEAN"), ("12", 12, "BIGINT"), ("2024-01-31", D(2024, 1, 31), "DATE")):
        found = read([first] * 12_000 + [word])
        assert (found.reading.type, found.inside[0], found.inside[-1]) == (kind, value, None) and found.doubted == ""
        assert f"1 value (“{word}”) read as missing" in found.assumed


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (["10000"] * 12_000 + ["00501", "00501"], "00501"),
        (["08123", "81541", None], "08123"),
        (["4006381333931", "0012345678905"], "0012345678905"),
        (["+4930901820", "+4989123456"], "+4930901820"),
        (["1.5", "007.5"], "007.5"),
        (["-", "01", "02"], "01"),
    ],
)
def test_codes_keep_their_zeros_without_a_doubt(values: list[str | None], code: str) -> None:
    found = read(values, "customer_no")
    assert found.reading.type == "VARCHAR" and found.inside == values and found.doubted == ""
    assert f"customer_no: kept as text, because codes such as {code} would lose their" in found.assumed
    assert found.reading.ways == ("whole number",)


def test_a_late_date_of_another_kind_puts_the_type_beside() -> None:
    found = read(["2024-01-01"] * 12_000 + ["01/13/2024"])
    assert found.inside[-1] == "01/13/2024" and found.beside[-1] == D(2024, 1, 13) and found.doubted


def test_a_late_word_for_unknown_is_missing() -> None:
    found = read(["2024-01-01"] * 12_000 + ["unknown"])
    assert found.inside[-1] is None and found.inside[0] == D(2024, 1, 1) and "unknown" in found.assumed


_DAYS_OF_RC_11 = ("03/01/2024", "04/01/2024", "05/01/2024", "01/02/2024", "02/03/2024", "03/03/2024")


@pytest.mark.parametrize(
    ("way", "months"),
    [("day first", [(1, 3), (2, 1), (3, 2)]), ("month first", [(1, 1), (2, 1), (3, 2), (4, 1), (5, 1)])],
)
def test_the_order_of_dates_can_be_switched(tmp_path: Path, way: str, months: list[tuple[int, int]]) -> None:
    file, target = tmp_path / "t.csv", tmp_path / "v1.duckdb"
    file.write_text("id,created\n" + "".join(f"{n},{day}\n" for n, day in enumerate(_DAYS_OF_RC_11)))
    report = load_files([Source(file, "t", ReadChoices(columns={"created": way}))], target)
    with duckdb.connect(str(target), read_only=True) as con:
        assert con.execute("SELECT month(created_date), count(*) FROM t GROUP BY 1 ORDER BY 1").fetchall() == months
    assert report.doubts == () and report.tables[0].read.columns["created"] == way
    # What was read may be handed in again as it stands: the same table comes out.
    again = load_files([Source(file, "t", report.tables[0].read)], target)
    assert again.tables[0].columns == report.tables[0].columns and again.doubts == ()
