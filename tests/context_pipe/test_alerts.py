"""The eight alerts: each one raised by what it is about, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peek_core.context_pipe.alerts import Seen, cause_of, changed_prefix, first_miss, hit_rate, raised
from peek_core.context_pipe.catalog import PAPER
from peek_core.ports import CacheRules
from peek_core.values.call_trace import Analyze, Decision, Explain, SectionTrace
from peek_core.values.messages import Usage
from peek_core.values.sources import Kind, Scope
from tests.context_pipe.kit import QUESTION, RULES, Kit, Model, record, steps

PREFIX = CacheRules("prefix", minimum=1_000)


def explain(
    names: str = "ab", *decisions: Decision, tokens: int = 1_000, predicted: float = 0.5, **more: Any
) -> Explain:
    """A request of one section per letter, each of so many tokens; equal letters are equal sections."""
    made = tuple(
        SectionTrace(n, "memory", "user", "none", "per_turn", "normal", tokens, tokens, tokens, f"sha256:{n}")
        for n in names
    )
    told: dict[str, Any] = {"predicted_cached": 0, **more}
    return Explain(made, decisions, "default", "count", 64_000, 0, 0.5, predicted, "normal", "p", "m", "s", **told)


def analyze(input: int | None = 2_000, cached: int | None = None) -> Analyze:
    return Analyze(Usage(input=input, cached=cached, output=1), 1.0, 0.1, "stop")


def names(
    now: Explain, then: Analyze, *before: Seen, rules: CacheRules = PREFIX, recoveries: int = 0, overflowed: int = 0
) -> list[str]:
    """Names of what is raised."""
    found = raised(now, then, before, rules, recoveries=recoveries, overflowed=overflowed)
    assert all(a.cause and a.todo for a in found)
    return [a.name for a in found]


def seen(letters: str = "ab", cached: int | None = None, *decisions: Decision, **more: Any) -> Seen:
    return Seen(explain(letters, *decisions, **more), analyze(len(letters) * 1_000, cached))


def cut(*sections: str, rule: str = "clear_observations") -> Decision:
    return Decision(rule, True, "why", 100, 50, sections)


def test_a_request_as_expected_raises_nothing() -> None:
    assert names(explain("abc", predicted_cached=2_000), analyze(3_000, 2_000), seen("ab")) == []


# Cache break


@pytest.mark.parametrize(
    ("before", "now", "at"),
    [
        ("ab", "abc", None),
        ("ab", "ab", None),
        ("ab", "ax", "x"),
        ("ab", "xab", "x"),
        ("abc", "ab", "c"),
        ("", "ab", None),
    ],
)
def test_a_prefix_is_left_where_both_go_on_differently_or_one_ends(before: str, now: str, at: str | None) -> None:
    assert changed_prefix(explain(now), [seen(before)]) == at
    assert ("cache_break" in names(explain(now), analyze(None), seen(before))) == (at is not None)


def test_the_first_request_breaks_nothing() -> None:
    assert changed_prefix(explain("ab"), []) is None


def test_a_role_is_part_of_the_prefix() -> None:
    now = explain("ab")
    spoken = replace(now, sections=(now.sections[0], replace(now.sections[1], role="assistant")))
    assert changed_prefix(spoken, [seen("ab")]) == "b"


def test_a_break_names_the_latch_the_decision_or_the_notice_behind_it() -> None:
    before = [seen("ab", None, cut("a"))]
    assert cause_of(explain("ax", flips=("x",)), "x", before) == "the latched section x has a new value"
    assert cause_of(explain("ax", cut("a", "x")), "x", before) == "clear_observations: why"
    assert cause_of(explain("ax", cut("a", "b", rule="drop_rounds")), "x", before) == "drop_rounds: why"
    moved = Decision("order_by_volatility", True, "2 moved", 1, 1)
    assert cause_of(explain("ax", moved), "x", before) == "order_by_volatility moved sections"
    assert cause_of(explain("ax", cut("a")), "x", before) == "the text of x changed"
    notice = explain("ax")
    notice = replace(notice, sections=(replace(notice.sections[0], name="notice 3"),))
    assert cause_of(explain("x"), "x", [Seen(notice, None)]) == "a notice for one turn came or went"
    marker = Decision("place_markers", True, "1 of 4", 1, 1, ("x",))
    assert cause_of(explain("ax", marker), "x", before) == "the text of x changed"


# Cold start


def test_a_cold_start_is_said_where_something_should_have_been_there() -> None:
    assert names(explain("abc", predicted_cached=2_000), analyze(3_000, 0), seen("ab")) == [
        "cold_start",
        "predictive_miss",
    ]


@pytest.mark.parametrize(
    ("now", "then", "before"),
    [
        (explain("abc", predicted_cached=2_000), analyze(3_000, 0), []),  # the first request
        (explain("abc", predicted_cached=999), analyze(3_000, 0), [seen()]),  # below the minimum
        (explain("abc", predicted_cached=0), analyze(3_000, 0), [seen()]),  # idle for too long
        (explain("abc", predicted_cached=2_000), analyze(3_000, 1), [seen()]),
        (explain("abc", predicted_cached=2_000), analyze(3_000, None), [seen()]),  # nothing is said
    ],
)
def test_a_cold_start_as_expected_is_none(now: Explain, then: Analyze, before: list[Seen]) -> None:
    assert "cold_start" not in names(now, then, *before)


def test_where_no_minimum_is_known_a_cold_start_still_needs_a_prediction() -> None:
    assert "cold_start" not in names(explain("abc"), analyze(3_000, 0), seen(), rules=CacheRules("prefix"))


# Hit rate regression


def usual(*hits: int) -> list[Seen]:
    return [seen("ab", hit) for hit in hits]


def test_a_hit_rate_twenty_points_below_the_usual_is_a_regression() -> None:
    assert "hit_rate_regression" in names(explain("ab"), analyze(2_000, 1_200), *usual(1_600, 1_600, 1_600))
    assert "hit_rate_regression" not in names(explain("ab"), analyze(2_000, 1_202), *usual(1_600, 1_600, 1_600))


def test_fewer_than_three_requests_or_an_endpoint_that_says_nothing_are_no_measure() -> None:
    assert "hit_rate_regression" not in names(explain("ab"), analyze(2_000, 0), *usual(1_600, 1_600))
    assert "hit_rate_regression" not in names(explain("ab"), analyze(2_000, None), *usual(1_600, 1_600, 1_600))


def test_only_the_latest_eight_requests_are_compared() -> None:
    long_ago = usual(*[2_000] * 8)
    assert "hit_rate_regression" not in names(explain("ab"), analyze(2_000, 0), *long_ago, *usual(*[0] * 8))
    assert "hit_rate_regression" in names(explain("ab"), analyze(2_000, 0), *usual(*[0] * 8), *long_ago)


def test_the_hit_rate_is_read_over_input_and_unknown_where_either_is() -> None:
    assert hit_rate(analyze(2_000, 500)) == 0.25
    assert hit_rate(analyze(2_000, 5_000)) == 1.0
    assert hit_rate(analyze(None, 5)) is hit_rate(analyze(0, 5)) is hit_rate(analyze(5, None)) is hit_rate(None) is None


# Predictive miss


@pytest.mark.parametrize(
    ("actual", "raises"), [(2_500, False), (2_501, True), (1_667, False), (1_666, True), (0, False), (None, False)]
)
def test_an_estimate_more_than_a_fifth_off_is_a_miss(actual: int | None, raises: bool) -> None:
    assert (names(explain("ab"), analyze(actual)) == ["predictive_miss"]) == raises


def test_a_cache_prediction_more_than_a_fifth_of_the_request_off_is_a_miss() -> None:
    assert names(explain("ab", predicted_cached=1_400), analyze(2_000, 1_000)) == []
    assert names(explain("ab", predicted_cached=1_401), analyze(2_000, 1_000)) == ["predictive_miss"]


# Compaction cascade


def test_three_requests_in_a_row_that_remove_something_new_are_a_cascade() -> None:
    before = [seen("ab", None, cut("a")), seen("ab", None, cut("a", "b"))]
    assert "compaction_cascade" in names(explain("ab", cut("a", "b", "c")), analyze(None), *before)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([cut("a")], cut("a", "b")),  # two only
        ([cut("a"), cut("a")], cut("a", "b")),  # the second repeats
        ([cut("a"), cut("a", "b")], cut("a", "b")),  # the third repeats
        ([cut("a", rule="spill"), cut("a", "b", rule="spill")], cut("a", "b", "c", rule="spill")),  # spills take nothing away
    ],
)  # fmt: skip
def test_what_repeats_an_earlier_removal_is_no_cascade(before: list[Decision], now: Decision) -> None:
    assert "compaction_cascade" not in names(explain("ab", now), analyze(None), *(seen("ab", None, d) for d in before))


# Recovery loop, pressure spike, emergent overflow


def test_two_failures_before_a_reply_are_a_loop() -> None:
    assert names(explain(), analyze(None), recoveries=2) == ["recovery_loop"]
    assert names(explain(), analyze(None), recoveries=1) == []


def test_a_quarter_of_the_base_in_one_turn_is_a_spike() -> None:
    assert names(explain("ab", predicted=0.75), analyze(None), seen("ab", predicted=0.5)) == ["pressure_spike"]
    assert names(explain("ab", predicted=0.74), analyze(None), seen("ab", predicted=0.5)) == []
    assert names(explain("ab", predicted=0.95), analyze(None)) == []


def test_notices_without_room_are_said() -> None:
    assert names(explain(), analyze(None), overflowed=3) == ["emergent_overflow"]


def test_the_first_miss_is_the_first_section_not_read_whole() -> None:
    assert first_miss(explain("abc"), 1_999) == "b"
    assert first_miss(explain("abc"), 2_000) == "c"
    assert first_miss(explain("abc"), 3_000) is None
    assert first_miss(explain("abc"), None) is None


# Through the pipe


def test_an_overflow_of_notices_is_raised_by_the_step_that_should_have_carried_them_once() -> None:
    made = Kit(provider=Model())
    for n in range(20):
        made.pipe.notice(f"notice {n}")
    made.pipe("llm_query", [record("prompt", Kind.SUB_CALL, "a prompt")])
    made.pipe("step", [RULES, QUESTION])
    made.pipe("step", [RULES, QUESTION])
    raised_by = [(t.source, "emergent_overflow" in {a.name for a in t.alerts}) for t in made.sink.traces]
    assert raised_by == [("llm_query", False), ("step", True), ("step", False)]


def test_sub_calls_with_prompts_of_their_own_are_no_cache_break() -> None:
    made = Kit(provider=Model())
    told = record("instructions", Kind.IDENTITY, "classify", role="system")
    for n in range(3):
        made.pipe("llm_query", [told, record("prompt", Kind.SUB_CALL, f"a prompt {n}")])
    assert [a.name for t in made.sink.traces for a in t.alerts] == []


def test_instructions_that_all_sub_calls_share_are_expected_to_stay() -> None:
    made = Kit(provider=Model())
    for n in range(2):
        told = record("instructions", Kind.IDENTITY, f"classify {n}", Scope.GLOBAL, role="system")
        made.pipe("llm_query", [told, record("prompt", Kind.SUB_CALL, "a prompt")])
    assert [a.name for a in made.last.alerts] == ["cache_break"]


def test_a_break_is_stored_in_the_ring_and_told_to_the_run() -> None:
    made = Kit(provider=Model(window=40_000, count=len), configuration=PAPER, count=len)
    made.pipe("step", [RULES, QUESTION, *steps(5, 1_000)])
    made.pipe("step", [RULES, QUESTION, *steps(20, 1_700)])
    assert [a.name for a in made.last.alerts] == ["cache_break", "pressure_spike"]
    cause = made.last.alerts[0].cause
    assert made.stats.as_data()["breaks"] == [{"call": "c2", "cause": cause}]
    assert ("alert", {"source": "step", "call": "c2", "name": "cache_break", "cause": cause}) in made.events
