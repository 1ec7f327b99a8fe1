"""The Evictor: the budget is held exactly, pins never leave, new items have their grace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.evictor import ORDERS, evict, next_out, pin_refusal
from peek_core.context_map.map import ContextMap, MapItem, MapSection, render


def count(text: str) -> int:
    """Four characters a token; the real counter is tested elsewhere."""
    return (len(text) + 3) // 4


BASE = count(render(()))
ITEMS = st.lists(
    st.tuples(
        st.sampled_from(list(MapSection)), st.integers(-5, 9), st.integers(0, 12), st.booleans(), st.integers(4, 200)
    ),
    max_size=25,
)


def build(rows: list[tuple[MapSection, int, int, bool, int]]) -> ContextMap:
    items = tuple(
        MapItem(f"{s.value}-{n:05d}", s, "x" * size, score=score, born=born, pinned=pinned)
        for n, (s, score, born, pinned, size) in enumerate(rows, 1)
    )
    return ContextMap(items=items, questions=12)


@given(ITEMS, st.integers(BASE, 900), st.sampled_from(sorted(ORDERS)))
def test_the_budget_holds_unless_only_pins_are_left_and_pins_never_leave(rows: list, budget: int, order: str) -> None:
    before = build(rows)
    after, gone = evict(before, budget, count, order=order)
    assert [i for i in before.items if i.pinned] == [i for i in after.items if i.pinned]
    assert count(render(after.items)) <= budget or all(i.pinned for i in after.items)
    assert {g.item.id for g in gone} | {i.id for i in after.items} == {i.id for i in before.items}
    assert all(g.before > budget for g in gone)


@given(ITEMS, st.integers(BASE, 900))
def test_a_new_item_goes_only_when_nothing_older_can(rows: list, budget: int) -> None:
    before = build(rows)
    after, gone = evict(before, budget, count)
    if any(before.age(g.item) < 3 for g in gone):
        assert all(i.pinned or before.age(i) < 3 for i in after.items)


@pytest.mark.parametrize(
    ("order", "first"),
    [("paper", "ps-00003"), ("paper-score-first", "cu-00001"), ("released", "cu-00001")],
)
def test_the_orders_disagree_as_the_sources_do(order: str, first: str) -> None:
    current = ContextMap(
        items=(
            MapItem("cu-00001", MapSection.UNDERSTANDING, "a", score=-2),
            MapItem("dc-00002", MapSection.CONSTANTS, "b", score=0),
            MapItem("ps-00003", MapSection.PARSING, "c", score=5),
        ),
        questions=9,
    )
    leaving = next_out(current, order, 3)
    assert leaving is not None
    assert leaving.id == first


def test_a_pin_that_cannot_fit_is_refused_with_the_arithmetic() -> None:
    current = ContextMap(
        items=tuple(MapItem(f"cu-0000{n}", MapSection.UNDERSTANDING, "y" * 400, pinned=n == 1) for n in (1, 2))
    )
    said = pin_refusal(current, "cu-00002", 200, count)
    assert said is not None
    assert said.startswith("the 2 pinned items would take 2")
    assert pin_refusal(current, "cu-00002", 2_000, count) is None
