"""What rules share: the gain gate, with every number worked out by hand, and what a whole round is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.break_even import edit_pays
from peek_core.context_pipe.catalog import PAPER
from peek_core.context_pipe.rules.working import Placed, gain_gate, rounds
from peek_core.ports import CacheRules
from peek_core.values.call_trace import Decision
from peek_core.values.prices import Rates
from peek_core.values.sources import Kind
from tests.context_pipe.kit import CHEAP_CACHE, QUESTION, Worked, record, snapshot, steps

CACHED = CacheRules("prefix")
SIX = [record(f"s{n}", Kind.HISTORY, "x" * 4_000) for n in range(6)]
"""1,000 tokens each."""


def gate(changed: set[str], removed: int, taken: int = 0, **more):
    """The verdict on taking `removed` tokens out of six sections of 1,000 each; all of them are cached, unless it is cold."""
    told = {"cache": CACHED, "rates": CHEAP_CACHE, "expected_calls": 1, **more}
    made = Worked(snapshot(SIX, **told), lambda placed, _: (placed, Decision("none", False, "none", 0, 0)))
    left, after = removed, []
    for p in made.before:
        cut = min(left, p.section.tokens) if p.record.name in changed else 0
        text = "y" * 4 * (p.section.tokens - cut) if p.record.name in changed else p.section.text
        after.append(Placed(p.record, made.context.rebind(p.record, text)) if p.record.name in changed else p)
        left -= cut
    return gain_gate(made.before, tuple(after), taken, made.context)


def test_an_edit_pays_only_beyond_k_times_what_stays_behind_it_over_what_goes() -> None:
    """From s2 on there are 4,000 tokens, of which 800 go: k = (1 - .05)/.05 = 19, 19 * 3,200 / 800 = 76 calls."""
    assert edit_pays(800, 3_200, 0, 0.05) == (False, pytest.approx(76))
    closed = gate({"s2", "s4"}, 800, expected_calls=75)
    assert not closed.open
    assert closed.why == (
        "takes 800 tokens out and breaks the cache for 3,200: needs more than 76 further calls, 75 expected"
    )
    assert gate({"s2", "s4"}, 800, expected_calls=77).open


def test_the_later_the_edit_the_sooner_it_pays() -> None:
    """Behind s5 nothing else must be written again: 19 * 200 / 800 = 4.75 calls."""
    assert not gate({"s5"}, 800, expected_calls=4).open
    assert gate({"s5"}, 800, expected_calls=5).open


def test_a_dearer_write_asks_for_more_calls() -> None:
    """w = 1.25: k = 24, 24 * 200 / 800 = 6 calls."""
    written = replace(CHEAP_CACHE, write=2.5)
    assert not gate({"s5"}, 800, expected_calls=5, rates=written).open
    assert gate({"s5"}, 800, expected_calls=7, rates=written).open


@pytest.mark.parametrize("rates", [None, replace(CHEAP_CACHE, cached=None)])
def test_where_the_price_of_cached_tokens_is_unknown_a_tenth_is_assumed_and_said(rates: Rates | None) -> None:
    """k = 9, 9 * 200 / 800 = 2.25 calls."""
    assert gate({"s5"}, 800, expected_calls=3, rates=rates).open
    verdict = gate({"s5"}, 800, expected_calls=2, rates=rates)
    assert not verdict.open
    assert verdict.why.endswith("needs more than 2 further calls, 2 expected; 0.10 assumed for cached tokens")


def test_where_reading_is_free_no_edit_ever_pays() -> None:
    verdict = gate({"s5"}, 800, expected_calls=1_000_000, rates=replace(CHEAP_CACHE, cached=0.0))
    assert not verdict.open and "more than inf further calls" in verdict.why


def test_taking_nothing_out_never_pays() -> None:
    verdict = gate({"s5"}, 0, expected_calls=1_000_000)
    assert (verdict.open, verdict.why) == (False, "nothing would get shorter")


def test_what_will_be_read_back_counts_too() -> None:
    """19 * 200 / 800 = 4.75 calls; and a quarter of two read back, .05 * 5,200 + 5 * 300 tokens each: 880 / 40 = 22 more."""
    told = {"refetch_rate": 0.25, "reserve": 300}
    assert gate({"s5"}, 800, taken=2, expected_calls=27, **told).open
    closed = gate({"s5"}, 800, taken=2, expected_calls=26, **told)
    assert not closed.open and "needs more than 27 further calls, 26 expected" in closed.why
    assert gate({"s5"}, 800, taken=0, expected_calls=5, **told).open


def test_what_the_cache_does_not_hold_any_more_is_not_broken() -> None:
    """Only what lies behind the edit and would have been read from the cache is lost."""
    assert gate({"s5"}, 800, expected_calls=1, cold=True).open


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"configuration": PAPER}, "this configuration asks for no gain"),
        ({"recovery": 1}, "it would not fit otherwise"),
        ({"window": 6_600}, "6,000 of at most 6,600 tokens: it must"),
        ({"window": 8_000, "reserve": 1_200}, "7,200 of at most 8,000 tokens: it must"),
        ({"ceiling": 6_500}, "6,000 of at most 6,500 tokens: it must"),
        ({"cliff": 6_000}, "beyond 6,000 tokens every token costs more"),
        ({"cache": CacheRules()}, "this endpoint has no cache to break"),
        ({"cold": True}, "nothing that is cached is broken"),
    ],
)
def test_nothing_is_asked_of_an_edit_that_must_be_or_breaks_nothing(more: dict, why: str) -> None:
    verdict = gate({"s0"}, 1, **more)
    assert (verdict.open, verdict.why) == (True, why)


@pytest.mark.parametrize("more", [{"window": 6_700}, {"window": 8_000, "reserve": 1_199}, {"cliff": 6_001}])
def test_below_the_overflow_and_the_cliff_it_is_asked(more: dict) -> None:
    assert not gate({"s0"}, 1, **more).open


def test_a_round_is_a_pair_with_an_observation_and_stands_together() -> None:
    alone = record("alone", Kind.OBSERVATION, "x")
    talk = [record("ask", Kind.HISTORY, pair="talk"), record("answer", Kind.HISTORY, pair="talk")]
    records = [QUESTION, *steps(2, 4), *talk, alone, *steps(1, 4, first=3)]
    placed = [Placed(p.record, p.section) for p in Worked(snapshot(records), lambda p, _: (p, None)).before]
    assert rounds(placed) == [(1, 3), (3, 5), (8, 10)]
