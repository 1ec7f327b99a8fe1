"""Break-even: every number of the notes, from the paper's token counts and from the price ratios."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_pipe.break_even import Classes, edit_pays, equivalent, r_star, rewrite_factor
from peek_core.values.messages import Usage

# ContextPipe (arXiv:2609.00749): fresh tokens and cache reads of its two arms.
FLAT, STRUCTURED = Classes(46_581, 0, 998_641, 0), Classes(99_967, 0, 631_011, 0)
FLAT_WRITING, STRUCTURED_WRITING = Classes(0, 46_581, 998_641, 0), Classes(0, 99_967, 631_011, 0)


def test_the_counts_are_the_papers() -> None:
    assert FLAT.uncached + FLAT.read == 1_045_222 and STRUCTURED.uncached + STRUCTURED.read == 730_978


def test_the_papers_break_even() -> None:
    assert r_star(FLAT, STRUCTURED) == pytest.approx(0.1452, abs=5e-5)


@pytest.mark.parametrize(("w", "expected"), [(1.0, 0.1452), (1.25, 0.1815), (2.0, 0.290), (2.5, 0.363)])
def test_break_even_when_fresh_tokens_are_writes(w: float, expected: float) -> None:
    assert r_star(FLAT_WRITING, STRUCTURED_WRITING, w=w) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("r", "w", "percent"),
    [
        (0.05, 1.25, 45),  # gpt-6.1-sol, claude-opus-5-5, claude-sonnet-5-5
        (0.10, 1.25, 19),  # gpt-6-luna, gpt-5.6-sol, claude-haiku-5-5
        (0.025, 1.25, 69),  # claude-fable-5-2
        (0.02, 1.0, 69),  # deepseek-flash
        (0.033, 1.0, 52),  # deepseek-v4-pro; its ratio unrounded, 0.022 / 0.66, gives 51.5
        (0.05, 1.0, 36),  # gemini-4-argon
        (0.10, 1.0, 11),  # gemini-3.8-flash
        (0.25, 1.0, -13),  # gpt-4.1
        (0.50, 1.0, -24),  # gpt-4o
    ],
)
def test_the_papers_counts_at_todays_ratios(r: float, w: float, percent: int) -> None:
    """Structured against Flat, input only, fresh tokens being writes. Below r* Structured costs more."""
    ratio = equivalent(STRUCTURED_WRITING, r, w) / equivalent(FLAT_WRITING, r, w)
    assert round(100 * (ratio - 1)) == percent
    star = r_star(FLAT_WRITING, STRUCTURED_WRITING, w=w)
    assert star is not None and (ratio < 1) == (r > star)


def test_eleven_percent_of_the_one_is_ten_of_the_other() -> None:
    """The paper's "Flat about 11 % lower" is relative to Flat."""
    flat, structured = equivalent(FLAT, 0.10), equivalent(STRUCTURED, 0.10)
    assert round(100 * (structured - flat) / flat, 1) == 11.4
    assert round(100 * (structured - flat) / structured, 1) == 10.2


def test_equal_reads_leave_nothing_to_decide() -> None:
    assert r_star(Classes(10, 0, 500, 0), Classes(20, 0, 500, 0)) is None


def test_output_counts_when_it_has_a_price() -> None:
    flat, other = Classes(100, 0, 1000, 50), Classes(100, 0, 500, 70)
    assert r_star(flat, other) == 0.0
    assert r_star(flat, other, o=5.0) == pytest.approx(5 * 20 / 500)
    assert equivalent(flat, 0.1, o=5.0) == pytest.approx(100 + 100 + 250)


def test_an_endless_output_ratio_without_output_is_no_trouble() -> None:
    """Free input has an endless o; a call without output still costs what its input costs."""
    assert equivalent(Classes(10, 0, 0, 0), 0.1, o=math.inf) == 10
    assert r_star(Classes(10, 0, 100, 5), Classes(20, 0, 50, 5), o=math.inf) == pytest.approx(0.2)


CLASSES = st.builds(Classes, *(st.integers(0, 10**6) for _ in range(4)))


@given(CLASSES, CLASSES, st.sampled_from([1.0, 1.25, 2.0]), st.sampled_from([0.0, 3.0, 5.0]))
def test_at_break_even_both_cost_the_same(flat: Classes, other: Classes, w: float, o: float) -> None:
    star = r_star(flat, other, w, o)
    if star is not None:
        assert equivalent(flat, star, w, o) == pytest.approx(equivalent(other, star, w, o), rel=1e-6, abs=1e-3)


@pytest.mark.parametrize(
    ("r", "w", "k"),
    [(0.025, 1.25, 49), (0.02, 1, 49), (0.05, 1.25, 24), (0.10, 1.25, 11.5), (0.10, 1, 9), (0.25, 1, 3), (0.5, 1, 1)],
)
def test_what_a_rewrite_costs_in_reads(r: float, w: float, k: float) -> None:
    assert rewrite_factor(r, w) == pytest.approx(k)


@pytest.mark.parametrize(("after", "needed"), [(10_000, 6), (50_000, 30)])
def test_the_edit_of_the_notes(after: int, needed: int) -> None:
    """A prompt of 100k, 40k taken out, r = 0.05 and w = 1.25."""
    assert edit_pays(40_000, after, needed + 1, 0.05, 1.25) == (True, pytest.approx(needed))
    assert not edit_pays(40_000, after, needed - 1, 0.05, 1.25)[0]


def test_a_cold_cache_makes_every_edit_pay() -> None:
    assert edit_pays(1, 0, 1, 0.05, 1.25) == (True, 0.0)
    assert edit_pays(1, 0, 0, 0.05, 1.25) == (False, 0.0)  # no calls are left to gain from it


@pytest.mark.parametrize(("removed", "r"), [(0, 0.1), (-5, 0.1), (100, 0.0)])
def test_an_edit_that_saves_nothing_never_pays(removed: int, r: float) -> None:
    assert edit_pays(removed, 100, math.inf, r, 1.25) == (False, math.inf)


def test_a_cache_dearer_than_writing_costs_nothing_to_break() -> None:
    assert edit_pays(100, 100, 1, 1.5, 1.0) == (True, 0.0)


def test_classes_are_the_sum_of_the_calls() -> None:
    usages = [Usage(input=1000, cached=700, cache_write=200, output=50), Usage(input=500, cached=0, output=5)]
    assert Classes.of(usages) == Classes(uncached=600, written=200, read=700, output=55)


@pytest.mark.parametrize(
    "unknown",
    [
        Usage(),
        Usage(cached=1, output=1),
        Usage(input=10, output=1),
        Usage(input=10, cached=1),
        Usage(input=10, cached=8, cache_write=8, output=1),
    ],
)
def test_one_unknown_call_makes_the_sum_unknown(unknown: Usage) -> None:
    assert Classes.of([Usage(input=1000, cached=700, output=50), unknown]) is None


def test_no_calls_are_no_tokens() -> None:
    assert Classes.of([]) == Classes(0, 0, 0, 0)
