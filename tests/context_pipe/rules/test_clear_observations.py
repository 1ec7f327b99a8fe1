"""Clearing: oldest observations first, never the newest few, at most so many tokens a turn, and cleared once is for good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.catalog import DEFAULT, PAPER, Held
from peek_core.context_pipe.rules.clear_observations import apply
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, Priority
from tests.context_pipe.kit import CHEAP_CACHE, RULES, Worked, record, snapshot, steps


def cleared(records, **more) -> Worked:
    return Worked(snapshot(records, **{"window": 2_000, **more}), apply)


def which(made: Worked) -> list[int]:
    """Numbers of the observations that were cleared."""
    return [n for n in range(1, 100) if made.texts.get(f"observation {n}") == f"(cleared {n})"]


SIX = [RULES, *steps(6, 1_200)]
"""100 tokens of rules, six rounds of 302."""


def test_the_oldest_are_cleared_and_the_newest_three_stay() -> None:
    made = cleared(SIX)
    assert which(made) == [1, 2, 3]
    assert made.names == [r.name for r in SIX]
    assert made.decision.applied and made.decision.sections == ("observation 1", "observation 2", "observation 3")
    assert (made.decision.tokens_before, made.decision.tokens_after) == (1_912, 1_021)
    assert made.reason == (
        "3 of 6 observations cleared, oldest first; level aggressive_prune; 1,912 of at most 2,000 tokens: it must"
    )


def test_below_compact_history_nothing_is_cleared() -> None:
    made = cleared(SIX, window=64_000)
    assert made.unchanged and made.reason == "level normal is below compact_history"
    assert cleared(SIX, window=2_550).reason == "level trim_schemas is below compact_history"
    assert which(cleared(SIX, window=2_549)) == [1, 2, 3]


def test_three_observations_and_fewer_are_left_alone() -> None:
    made = cleared([RULES, *steps(3, 2_400)])
    assert made.unchanged and made.reason == "no observation older than the newest 3 would get shorter"


def test_what_would_not_get_shorter_is_left_alone() -> None:
    assert cleared([RULES, *steps(6, 1_200, cleared="y" * 1_200)], window=2_000).unchanged


@pytest.mark.parametrize("more", [{"cleared": ""}, {"priority": Priority.NEVER}])
def test_what_has_no_placeholder_or_must_stay_is_left_alone(more: dict) -> None:
    assert cleared([RULES, *steps(6, 1_200, **more)]).unchanged


def test_only_observations_are_cleared() -> None:
    history = [record(f"h{n}", Kind.HISTORY, "x" * 1_200, cleared="(cleared)") for n in range(6)]
    assert cleared([RULES, *history]).unchanged


def test_one_turn_clears_at_most_so_many_tokens() -> None:
    big = [RULES, *steps(8, 32_000)]
    assert which(cleared(big, window=64_000)) == [1, 2, 3]
    wide = replace(DEFAULT, clear_at_most=40_000)
    assert which(cleared(big, window=64_000, configuration=wide)) == [1, 2, 3, 4, 5]


def test_what_was_cleared_stays_cleared_at_every_level() -> None:
    held = Held(cleared=frozenset({"observation 2", "observation gone"}))
    made = cleared(SIX, window=64_000, held=held)
    assert which(made) == [2]
    assert (
        made.decision.applied and made.reason == "1 cleared before stay cleared; level normal is below compact_history"
    )
    assert made.decision.sections == ("observation 2",)


def test_what_was_cleared_stays_cleared_where_the_level_is_high_and_nothing_more_can_go() -> None:
    held = Held(cleared=frozenset({"observation 1", "observation 2", "observation 3"}))
    made = cleared(SIX, held=held)
    assert which(made) == [1, 2, 3]
    assert made.decision.applied and made.reason.startswith("3 cleared before stay cleared; no observation older")


def test_what_was_cleared_before_does_not_count_against_this_turns_cap() -> None:
    held = Held(cleared=frozenset({"observation 1", "observation 2", "observation 3"}))
    assert which(cleared([RULES, *steps(8, 32_000)], window=64_000, held=held)) == [1, 2, 3, 4, 5]


def test_an_edit_that_does_not_pay_is_not_made_but_what_was_made_stays() -> None:
    """Level compact_history, far from the window: 297 tokens go, 909 stay behind; 19 * 909 / 297 = 58 calls."""
    held = Held(cleared=frozenset({"observation 1", "observation 2"}))
    made = cleared(SIX, window=64_000, budget=2_400, held=held, cache=CacheRules("prefix"), rates=CHEAP_CACHE)
    assert which(made) == [1, 2]
    assert made.decision.applied and made.decision.sections == ("observation 1", "observation 2")
    assert made.reason == (
        "2 cleared before stay cleared; "
        "takes 297 tokens out and breaks the cache for 909: needs more than 58 further calls, 1 expected"
    )
    alone = cleared(SIX, window=64_000, budget=2_400, cache=CacheRules("prefix"), rates=CHEAP_CACHE)
    assert alone.unchanged and "further calls, 1 expected" in alone.reason


def test_the_paper_asks_for_no_gain() -> None:
    made = cleared(SIX, configuration=PAPER, cache=CacheRules("prefix"), rates=CHEAP_CACHE)
    assert which(made) == [1, 2, 3]


def test_after_a_second_refusal_only_the_newest_observation_is_safe() -> None:
    assert which(cleared(SIX, window=64_000, recovery=1)) == [1, 2, 3]
    assert which(cleared(SIX, window=64_000, recovery=2)) == [1, 2, 3, 4, 5]


def test_after_a_second_refusal_the_cap_no_longer_holds() -> None:
    """What the first recovery could clear under the cap was not enough, and it is still the same turn."""
    big = [RULES, *steps(12, 16_000)]
    assert which(cleared(big, window=64_000, recovery=1)) == [1, 2, 3, 4, 5, 6]
    assert which(cleared(big, window=64_000, recovery=2)) == list(range(1, 12))
