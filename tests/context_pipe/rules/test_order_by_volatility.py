"""Ordering: global, session, this turn; nothing crosses an anchor, parts a pair or overtakes what it depends on."""

from __future__ import annotations

from dataclasses import replace

from peek_core.context_pipe.catalog import DEFAULT, Held
from peek_core.context_pipe.rules.order_by_volatility import apply
from peek_core.values.sources import Kind, Scope
from tests.context_pipe.kit import QUESTION, RULES, Worked, record, snapshot, steps


def g(name: str, **more):
    return record(name, Kind.HOST_FUNCTIONS, name, Scope.GLOBAL, **more)


def s(name: str, **more):
    return record(name, Kind.MEMORY, name, Scope.SESSION, **more)


def t(name: str, **more):
    return record(name, Kind.HISTORY, name, **more)


def ordered(records, **more) -> Worked:
    return Worked(snapshot(records, **more), apply)


def test_sections_go_from_stable_to_volatile_and_keep_their_order_otherwise() -> None:
    made = ordered([RULES, t("t1"), s("s1"), g("g1"), t("t2"), s("s2"), g("g2")])
    assert made.names == ["rules", "g1", "g2", "s1", "s2", "t1", "t2"]
    assert made.decision.applied and made.reason == "6 sections moved: global, session, this turn"
    assert made.decision.tokens_before == made.decision.tokens_after


def test_the_decision_names_the_sections_whose_places_changed() -> None:
    made = ordered([RULES, g("g1"), t("t1"), s("s1"), t("t2")])
    assert made.names == ["rules", "g1", "s1", "t1", "t2"]
    assert made.decision.sections == ("s1", "t1")


def test_what_is_in_order_is_left_alone() -> None:
    made = ordered([RULES, g("g1"), s("s1"), QUESTION, *steps(2, 8)])
    assert made.unchanged and made.reason == "already in order of volatility"


def test_nothing_moves_across_an_anchor() -> None:
    middle = record("identity", Kind.IDENTITY, "i")
    assert ordered([t("t1"), g("g1"), middle, s("s2"), g("g2"), RULES, t("t3"), s("s3")]).names == [
        "g1", "t1", "identity", "g2", "s2", "rules", "s3", "t3",
    ]  # fmt: skip


def test_a_pair_moves_as_one_and_by_the_most_volatile_of_the_two() -> None:
    pair = [g("ask", pair="p"), s("answer", pair="p")]
    assert ordered([RULES, t("t1"), *pair, g("g1")]).names == ["rules", "g1", "ask", "answer", "t1"]


def test_what_depends_on_another_waits_for_it() -> None:
    made = ordered([RULES, t("t1"), s("s1", depends=("t1",)), g("g1", depends=("s1",)), g("g2")])
    assert made.names == ["rules", "g2", "t1", "s1", "g1"]


def test_what_came_behind_when_it_was_given_is_not_waited_for() -> None:
    assert ordered([RULES, g("g1", depends=("t1",)), t("t1"), s("s1")]).names == ["rules", "g1", "s1", "t1"]


def test_beyond_so_many_moves_the_order_of_the_latest_request_stays() -> None:
    """A new global section would push ten sections back by one."""
    old = [f"t{n}" for n in range(10)]
    records = [RULES, *map(t, old), g("new")]
    held = Held(order=("rules", *old))
    made = ordered(records, held=held)
    assert made.names == ["rules", *old, "new"]
    assert made.decision.applied is False
    assert made.reason == "11 sections would move against the latest request, at most 8 may; its order stays"
    wide = ordered(records, held=held, configuration=replace(DEFAULT, max_reorder_moves=11))
    assert wide.names == ["rules", "new", *old]


def test_the_order_that_stays_is_the_one_that_was_sent_not_the_one_that_was_given() -> None:
    records = [RULES, *(t(f"t{n}") for n in range(9)), s("s0"), g("new")]
    sent = ("rules", "s0", *(f"t{n}" for n in range(9)))
    made = ordered(records, held=Held(order=sent))
    assert made.names == [*sent, "new"]


def test_the_order_that_stays_does_not_ask_for_more_than_held_when_it_was_given() -> None:
    """s0 stood in front of what it names from the start: its place behind t0 … was never promised."""
    records = [RULES, *(t(f"t{n}") for n in range(9)), s("s0", depends=("t9",)), t("t9"), g("new")]
    sent = ("rules", "s0", *(f"t{n}" for n in range(10)))
    made = ordered(records, held=Held(order=sent))
    assert made.names == [*sent, "new"]


def test_the_first_request_may_be_ordered_at_will() -> None:
    assert ordered([RULES, *(t(f"t{n}") for n in range(20)), g("g1")]).decision.applied
