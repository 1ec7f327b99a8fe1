"""Evidence decides: a claim holds, its numbers drifted and are filled anew, or it is broken."""

from __future__ import annotations

from typing import Any

import pytest

from peek_core.context_map.evidence import check, verified
from peek_core.context_map.map import Evidence, MapItem, MapSection
from peek_core.context_map.slots import slotted
from peek_core.errors import QueryFailed
from peek_core.values.trajectory import Table

Rows = tuple[tuple[Any, ...], ...]


def gives(rows: Rows) -> Any:
    return lambda sql: Table((), rows, len(rows))


def item(text: str, expect: Rows, frozen: bool = False) -> MapItem:
    return MapItem("cu-00001", MapSection.UNDERSTANDING, text, evidence=Evidence("SELECT", expect, version=1),
                   template=slotted(text, expect).template, state="holds", frozen=frozen)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "before", "after", "state", "says"),
    [
        ("8,000 rows", ((8000,),), ((8000.0000001,),), "holds", "8,000 rows"),
        ("8,000 rows", ((8000,),), ((9100,),), "drifted", "9,100 rows"),
        ("8,000 rows, one per id", ((8000, 8000),), ((9100, 9100),), "drifted", "9,100 rows, one per id"),
        ("8,000 rows, one per id", ((8000, 8000),), ((9100, 9050),), "broken", None),
        ("8,000 rows and 8,000 ids", ((8000, 8000),), ((9100, 9050),), "broken", None),
        ("8,000 rows, 7,990 different ones, so some repeat", ((8000, 7990),), ((8000, 8000),), "broken", None),
        ("7 regions and 7 plans", ((7, 7),), ((8, 9),), "drifted", "8 regions and 9 plans"),
        ("id is unique", ((0,),), ((3,),), "broken", None),
        ("amounts are cents", ((1234.5,),), ((12.3,),), "broken", None),
        ("amounts are cents", ((1234.5,),), ((1300.1,),), "holds", "amounts are cents"),
        ("region is north or south", (("north",), ("south",)), (("north",), ("west",)), "broken", None),
        ("region is north or south", (("north",), ("south",)), (("north",),), "broken", None),
        ("until 2026-03-31", (("2026-03-31",),), (("2026-04-30",),), "drifted", "until 2026-04-30"),
        ("late is the rule", ((True,),), ((False,),), "broken", None),
    ],
)  # fmt: skip
def test_what_a_new_result_makes_of_a_claim(text: str, before: Rows, after: Rows, state: str, says: str | None) -> None:
    now = verified(item(text, before), gives(after), version=2)
    assert (now.state, now.text) == (state, says or text)
    assert now.evidence is not None
    if state == "broken":
        assert now.evidence.expect == before and "→" in now.detail
    else:
        assert (now.evidence.expect, now.evidence.version) == (after, 2)


def test_a_frozen_item_is_told_of_but_not_filled() -> None:
    now = verified(item("8,000 rows", ((8000,),), frozen=True), gives(((9100,),)), version=2)
    assert (now.state, now.text, now.detail) == ("drifted", "8,000 rows", "8000 → 9100")


def test_a_query_that_fails_breaks_the_claim() -> None:
    def fails(sql: str) -> Table:
        raise QueryFailed("no column channel")

    assert check(Evidence("SELECT", ((1,),)), fails).detail == "no column channel"
    assert verified(item("8,000 rows", ((8000,),)), fails, version=2).state == "broken"


def test_what_drifted_holds_when_it_is_looked_at_again() -> None:
    once = verified(item("8,000 rows", ((8000,),)), gives(((9100,),)), version=2)
    assert verified(once, gives(((9100,),)), version=2).state == "holds"


def test_items_without_evidence_stay_as_they_are() -> None:
    bare = MapItem("cu-00001", MapSection.UNDERSTANDING, "said by a person")
    assert verified(bare, gives(()), version=2) == bare
