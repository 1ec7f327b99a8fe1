"""Columns of a new export are recognised by header, by values, and by the rows both exports have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from peek_core.corpus.versions.matching import header_similarity
from tests.bench.rename_matching import measured
from tests.corpus.versions.conftest import Exports

PAIRS = 24
"""The whole size is 200: `python -m tests.bench.rename_matching`."""


def csv(header: str, rows: range, *makers: Callable[[int], object]) -> str:
    return "\n".join([header, *(",".join(str(m(n)) for m in makers) for n in rows)]) + "\n"


def region(n: int) -> str:
    return ("DACH", "Nordics", "UK", "APAC", "Nordics", "UK", "UK")[n * 7 % 31 % 7]


def score(n: int) -> int:
    return n * n % 5 + 1


def effort(n: int) -> int:
    return (n * 3 + n // 7) % 5 + 1


def test_generated_pairs_of_exports_are_matched_right(tmp_path: Path) -> None:
    wrong: list[str] = []
    count = measured(range(1_000, 1_000 + PAIRS), tmp_path, wrong)
    assert count.certain_wrong == 0, wrong
    assert count.right >= 0.97 * count.columns, wrong
    assert count.renamed > 20


def test_an_export_of_the_same_columns_needs_no_look(exports: Callable[..., Exports]) -> None:
    made = exports(
        csv("id,region,score", range(80), int, region, score),
        csv("score,id,region", range(40, 120), score, int, region),
    )
    found = made.proposed()
    assert found.certain
    assert {c.why for c in found.tables[0].columns} == {"same header"}


def test_a_renamed_column_is_known_by_the_rows_both_have(exports: Callable[..., Exports]) -> None:
    made = exports(
        csv("id,region,score", range(200), int, region, score),
        csv("id,market,stars", range(50, 260), int, region, score),
    )
    found = made.matched()
    assert (found["market"].old, found["stars"].old) == ("region", "score")
    assert found["market"].certain and "150 rows" in found["market"].why


def test_headers_that_changed_places_are_seen_through_and_asked_about(exports: Callable[..., Exports]) -> None:
    """The same two headers, but each now stands above the other's cells."""
    made = exports(
        csv("id,score,effort", range(200), int, score, effort), csv("id,effort,score", range(200), int, score, effort)
    )
    assert not made.proposed().certain


def test_without_rows_in_common_a_renamed_column_is_proposed_and_asked_about(exports: Callable[..., Exports]) -> None:
    made = exports(csv("id,region", range(200), int, region), csv("id,market", range(500, 700), int, region))
    found = made.matched()["market"]
    assert found.old == "region" and not found.certain and "in common" in found.why


def test_a_column_that_went_and_an_unlike_one_that_came_are_not_taken_for_one(exports: Callable[..., Exports]) -> None:
    made = exports(
        csv("id,region,age", range(200), int, region, lambda n: 20 + n % 50),
        csv(
            "id,region,comment", range(200), int, region, lambda n: f"the export number {n} was slow and then it failed"
        ),
    )
    table = made.proposed().tables[0]
    assert (table.gone, table.added) == (("age",), ("comment",))
    assert not table.certain, "somebody should look"


def test_a_number_that_starts_anew_in_each_export_pairs_no_rows(exports: Callable[..., Exports]) -> None:
    made = exports(
        csv("row,region,score", range(200), int, region, score),
        csv("row,market,points", range(200), int, lambda n: region(n * 13 + 5), lambda n: score(n * 17 + 3)),
    )
    found = made.matched()
    assert found["market"].old == "region" and not found["market"].certain
    assert "rows that both have" not in found["market"].why


def test_each_table_of_several_is_taken_for_the_one_it_is_like(exports: Callable[..., Exports]) -> None:
    people, orders = (
        csv("person,city", range(60), int, region),
        csv("order_no,amount", range(60), int, lambda n: f"{n * 1.37:.2f}"),
    )
    made = exports(
        {"people.csv": people, "orders.csv": orders},
        {"verkauf.csv": orders + "60,1.00\n", "new.csv": csv("x,y", range(30), score, effort)},
    )
    found = made.proposed()
    assert [(t.old, t.new) for t in found.tables] == [("orders", "verkauf")]
    assert (found.further, found.kept) == (("new",), ("people",))


@pytest.mark.parametrize(
    ("old", "new", "least", "most"),
    [
        ("Customer ID", "customer_id", 1.0, 1.0),
        ("CustomerId", "customer id", 1.0, 1.0),
        ("cust_id", "customer id", 0.8, 0.99),
        ("date created", "created date", 0.8, 0.99),
        ("region", "market", 0.0, 0.0),
        ("client", "comment", 0.0, 0.0),
        ("", "x", 0.0, 0.0),
    ],
)
def test_headers(old: str, new: str, least: float, most: float) -> None:
    assert least <= header_similarity(old, new) <= most
