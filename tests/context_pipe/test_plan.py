"""Plan: pressure over the smallest base, a level by published thresholds, budgets for what may be left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_pipe.catalog import DEFAULT, FLAT, PAPER
from peek_core.context_pipe.plan import (
    THRESHOLDS,
    CompressionLevel,
    base_of,
    level_for,
    level_of,
    plan,
    recomputed_level,
)
from peek_core.values.call_trace import Base
from peek_core.values.sources import Kind, Priority
from tests.context_pipe.kit import RULES, assembled, record, snapshot

EVERYTHING = Base(window=100_000, budget=64_000, cliff=90_000, ceiling=95_000)


def test_the_thresholds_are_the_published_ones() -> None:
    assert [bound for bound, _ in THRESHOLDS] == [0.90, 0.75, 0.60]


@pytest.mark.parametrize(
    ("pressure", "level"),
    [
        (0.0, "normal"),
        (0.5999, "normal"),
        (0.60, "trim_schemas"),
        (0.7499, "trim_schemas"),
        (0.75, "compact_history"),
        (0.8999, "compact_history"),
        (0.90, "aggressive_prune"),
        (7.0, "aggressive_prune"),
    ],  # fmt: skip
)
def test_each_level_begins_at_its_threshold(pressure: float, level: str) -> None:
    assert level_of(pressure).value == level


def test_pressure_is_used_over_base_and_predicted_adds_the_reserve() -> None:
    planned = plan(snapshot([record("a", Kind.MEMORY, "x" * 40_000)], window=20_000, reserve=3_000))
    assert (planned.used, planned.limit, planned.reserve) == (10_000, 20_000, 3_000)
    assert (planned.pressure_raw, planned.pressure_predicted) == (0.5, 0.65)


def test_prediction_raises_the_level_where_the_configuration_predicts_and_never_lowers_it() -> None:
    given = snapshot([record("a", Kind.MEMORY, "x" * 40_000)], window=20_000, reserve=3_000)
    assert plan(given).level is CompressionLevel.TRIM_SCHEMAS
    assert plan(replace(given, configuration=FLAT)).level is CompressionLevel.NORMAL
    assert level_for(0.8, 0.1, True, 0) is CompressionLevel.COMPACT_HISTORY


@pytest.mark.parametrize("predictive", [True, False])
@pytest.mark.parametrize("recovery", [1, 2])
def test_a_refused_request_prunes_whatever_its_pressure(predictive: bool, recovery: int) -> None:
    assert level_for(0.0, 0.0, predictive, recovery) is CompressionLevel.AGGRESSIVE_PRUNE


def test_the_base_is_the_smallest_of_what_counts_in_the_configuration() -> None:
    assert base_of(EVERYTHING, DEFAULT) == 64_000
    assert base_of(replace(EVERYTHING, budget=None), DEFAULT) == 90_000
    assert base_of(replace(EVERYTHING, budget=None, cliff=None), DEFAULT) == 95_000
    assert base_of(EVERYTHING, PAPER) == base_of(EVERYTHING, FLAT) == 95_000
    assert base_of(Base(100_000), DEFAULT) == 100_000


def test_the_budget_makes_pressure_but_only_the_window_forces() -> None:
    records = [record("a", Kind.MEMORY, "x" * 40_000)]
    tight = plan(snapshot(records, window=1_000_000, budget=10_000))
    assert (tight.level, tight.forced) == (CompressionLevel.AGGRESSIVE_PRUNE, False)
    assert plan(snapshot(records, window=11_111)).forced
    assert not plan(snapshot(records, window=11_112)).forced
    assert plan(snapshot(records, window=1_000_000, ceiling=11_000)).forced


def test_what_may_be_left_out_shares_what_the_rest_leaves_the_dearest_first() -> None:
    records = [
        RULES,
        record("never", Kind.QUESTION, "x" * 400, priority=Priority.NEVER),
        record("first", Kind.NOTICE, "x" * 400, priority=Priority.FIRST),
        record("normal", Kind.HISTORY, "x" * 400),
        record("last", Kind.MEMORY, "x" * 400, priority=Priority.LAST_RESORT),
    ]
    assert plan(snapshot(records, window=460, reserve=100)).budgets == {"last": 100, "normal": 60, "first": 0}
    assert plan(snapshot(records, window=9_000)).budgets == {"last": 100, "normal": 100, "first": 100}


@given(
    st.integers(1, 200_000), st.integers(0, 50_000), st.integers(1_000, 1_000_000), st.none() | st.integers(500, 100_000),
    st.none() | st.integers(500, 500_000), st.integers(0, 2), st.sampled_from([FLAT, PAPER, DEFAULT]),
)  # fmt: skip
def test_the_level_can_be_recomputed_from_the_trace(used: int, reserve: int, window: int, budget: int | None,
                                                    cliff: int | None, recovery: int, configuration) -> None:  # fmt: skip
    only = [record("a", Kind.MEMORY, f"#{used} ", priority=Priority.NEVER)]
    given = snapshot(only, count=lambda text: int(text[1:] or 0), window=window, reserve=reserve, budget=budget, cliff=cliff,
                     configuration=configuration, recovery=recovery)  # fmt: skip
    explain = assembled(given, count=lambda text: int(text[1:] or 0)).explain
    assert recomputed_level(explain, configuration).value == explain.level


def test_an_old_trace_says_that_its_level_can_not_be_recomputed() -> None:
    explain = assembled(snapshot([RULES])).explain
    with pytest.raises(ValueError, match="before levels could be recomputed"):
        recomputed_level(replace(explain, base=None), DEFAULT)
