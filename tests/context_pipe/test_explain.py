"""EXPLAIN ANALYZE: what each section really took adds up to the request, and its text is stable to the byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_pipe.catalog import FLAT
from peek_core.context_pipe.explain import explain_analyze_text, explain_text, rows
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import EndpointFailed
from peek_core.ports import CacheRules
from peek_core.values.call_trace import Analyze, CallTrace, Explain, SectionTrace
from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope
from tests.context_pipe.kit import CHEAP_CACHE, QUESTION, RULES, Kit, Model, Prices, Spills, quarter, record, steps

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


PRICED = Cost(1.0, "t", "d")


def trace(sizes: list[int], usage: Usage, rates: Rates | None = CHEAP_CACHE, cost: Cost | None = PRICED) -> CallTrace:
    """A call of sections of these estimated sizes."""
    made = tuple(
        SectionTrace(f"s{n}", "memory", "user", "none", "per_turn", "normal", t, t, t, f"h{n}")
        for n, t in enumerate(sizes)
    )
    explain = Explain(made, (), "default", "count", 1, 1, 0.1, 0.1, "normal", "p", "m", "s", rates=rates)
    return CallTrace("c", "r", "step", 1, explain, Analyze(usage, 1.0, 0.1, "stop", cost=cost), None, "h", 1, 0.0)


# Rows


@given(
    st.lists(st.integers(0, 100_000), min_size=1, max_size=60),
    st.integers(1, 2_000_000),
    st.floats(0.0, 1.0),
    st.booleans(),
)
def test_what_sections_took_adds_up_to_the_request(sizes: list[int], input: int, share: float, known: bool) -> None:
    if not sum(sizes):
        sizes = [*sizes, 1]
    cached = round(share * input)
    rates = CHEAP_CACHE if known else replace(CHEAP_CACHE, cached=None)
    found = rows(trace(sizes, Usage(input=input, cached=cached, output=5), rates))
    assert sum(r.actual for r in found) == pytest.approx(input)
    assert sum(r.cached for r in found) == pytest.approx(cached)
    read = 0.1 if known else 2.0
    assert sum(r.usd for r in found) == pytest.approx(((input - cached) * 2.0 + cached * read) / 1e6)
    assert all(0 <= r.cached <= r.actual + 1e-6 for r in found)


def test_the_cached_tokens_are_those_in_front() -> None:
    found = rows(trace([100, 100, 100], Usage(input=600, cached=300, output=1)))
    assert [(r.actual, r.cached) for r in found] == [(200, 200), (200, 100), (200, 0)]


def test_what_nobody_said_is_unknown_and_not_zero() -> None:
    assert [(r.actual, r.cached, r.usd) for r in rows(trace([1], Usage()))] == [(None, None, None)]
    assert [(r.actual, r.cached) for r in rows(trace([1], Usage(input=5)))] == [(5, None)]
    assert rows(trace([1], Usage(input=5, cached=1), rates=None))[0].usd is None
    assert rows(trace([1], Usage(input=5, cached=1), cost=None))[0].usd is None
    assert rows(replace(trace([1], Usage(input=5)), analyze=None))[0].actual is None


# The text

MAP = record("map", Kind.MEMORY, "m" * 80, Scope.SESSION, tier=LifecycleTier.LATCHED)


def first_of_a_run() -> str:
    """The simplest: a scripted provider, nothing known, observations cleared for the window's sake."""
    made = Kit(["reply"], window=2_000)
    made.pipe("step", [RULES, MAP, *steps(5, 1_200)])
    return explain_analyze_text(made.last)


def everything_at_once() -> str:
    """Prices, calibration, a flipped latch, markers, a spill, clearing, a shadow, a notice without room, cached tokens, an alert."""
    stats = PipelineStats()
    for _ in range(3):
        stats.measured("https://models.example/v1", "m", {"observation": 1_000}, 1_200, 1_000)
    cache = CacheRules("breakpoints", minimum=100, marker="anthropic", max_markers=4)

    def run() -> Kit:
        model = Model(window=9_000, budget=6_000, count=quarter, cache=cache, cached=lambda counted: counted // 8)
        return Kit(
            provider=model, prices=Prices(replace(CHEAP_CACHE, cliff=5_000)), spills=Spills(), shadow=FLAT, stats=stats
        )

    profile = record("profile", Kind.PROFILE, "p" * 41_000, Scope.SESSION, recoverable=True, priority=Priority.NEVER)
    run().pipe("step", [RULES, profile, replace(MAP, text="an older map"), QUESTION])
    made = run()
    made.pipe.notice("The map was changed meanwhile.")
    made.pipe("step", [RULES, profile, MAP, QUESTION, *steps(5, 3_000)])
    return explain_analyze_text(made.last)


def failed() -> str:
    """A call that failed."""
    made = Kit(
        provider=Model(
            [EndpointFailed("The endpoint failed (500)", next="Wait a little and ask again.")], count=quarter
        )
    )
    with pytest.raises(EndpointFailed):
        made.pipe("step", [RULES, QUESTION])
    return explain_analyze_text(made.last)


def cut() -> str:
    """A small server that read only a part."""
    made = Kit(provider=Model(dense=0.4, count=quarter))
    made.pipe("step", [RULES, QUESTION])
    return explain_analyze_text(made.last)


@pytest.mark.parametrize(
    ("name", "text"),
    [("explain_analyze", first_of_a_run), ("explain_analyze_full", everything_at_once), ("explain_analyze_failed", failed),
     ("explain_analyze_cut", cut)],
)  # fmt: skip
def test_explain_analyze_reads_as_the_golden_file(name: str, text) -> None:
    assert text().encode() == (GOLDEN / f"{name}.txt").read_bytes()


def test_explain_is_the_part_of_it_that_is_known_before_sending() -> None:
    made = Kit(["reply"], window=2_000)
    explain = made.pipe.prepare("step", [RULES, MAP, *steps(5, 1_200)]).explain
    made.pipe("step", [RULES, MAP, *steps(5, 1_200)])
    text = explain_text(explain)
    assert text.startswith("EXPLAIN  scripted / scripted  configuration default\n")
    before, after = text.splitlines(), explain_analyze_text(made.last).splitlines()
    assert [line for line in before[1:] if not line.startswith("  ")] == [
        line for line in after[1 : after.index("analyze:")] if not line.startswith("  ")
    ]
    assert all(any(a.startswith(line) for a in after) for line in before[1:])
