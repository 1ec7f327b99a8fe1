"""Optimize: the rules of a configuration in order, the others skipped with a reason; EXPLAIN is complete behind it."""

from __future__ import annotations

import pytest

from peek_core.context_pipe.catalog import CONFIGURATIONS, DEFAULT, FLAT, PAPER
from peek_core.context_pipe.optimize import RULES as ALL_RULES
from tests.context_pipe.kit import CHEAP_CACHE, QUESTION, RULES, assembled, closed, snapshot, steps

MANY = [RULES, QUESTION, *steps(12, 1_200)]


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=lambda c: c.name)
def test_every_rule_decides_once_the_open_ones_in_order(configuration) -> None:
    explain = assembled(snapshot(MANY, window=4_000, configuration=configuration)).explain
    rules = [d.rule for d in explain.decisions]
    assert rules[0] == "bind" and rules[1 : 1 + len(configuration.rules)] == list(configuration.rules)
    assert sorted(rules[1:]) == sorted(ALL_RULES)
    assert all(d.reason for d in explain.decisions)


def test_flat_plans_and_computes_its_level_but_transforms_nothing() -> None:
    made = assembled(snapshot(MANY, window=4_000, configuration=FLAT))
    assert made.explain.level == "aggressive_prune"
    assert {d.reason for d in made.explain.decisions[1:]} == {"configuration flat runs no transform"}
    assert [p.record for p in made.placed] == MANY


def test_a_closed_gate_says_why() -> None:
    decisions = {d.rule: d for d in assembled(snapshot(MANY, configuration=closed(DEFAULT, "spill"))).explain.decisions}
    assert decisions["drop_rounds"].reason == "configuration default keeps this gate closed"
    assert decisions["trim_schemas"].reason == (
        "configuration default keeps this gate closed: what the model may call is latched for the session: "
        "trimming it would break the cache for all behind it"
    )


def test_the_published_order_and_ours() -> None:
    assert PAPER.rules == (
        "order_by_volatility",
        "trim_schemas",
        "clear_observations",
        "drop_rounds",
        "spill",
        "place_markers",
    )
    assert DEFAULT.rules == ("order_by_volatility", "clear_observations", "spill", "drop_rounds", "place_markers")


def test_explain_tells_what_was_planned_bound_and_sent() -> None:
    made = assembled(
        snapshot(MANY, window=4_000, reserve=100, rates=CHEAP_CACHE, factors={"observation": 1.5, "question": 1.0})
    )
    e = made.explain
    assert (e.provider, e.model, e.counter, e.configuration) == ("p", "m", "count", "default")
    assert e.tokens == sum(s.sent for s in e.sections) < sum(s.bound for s in e.sections)
    kept = next(s for s in e.sections if s.name == "observation 12")
    assert (kept.planned, kept.bound, kept.sent) == (300, 450, 450)
    assert e.factors == {"observation": 1.5}
    assert e.rates == CHEAP_CACHE and e.reserve == 100 == e.reserves.total
