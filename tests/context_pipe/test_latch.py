"""Latches: the first value of a run is frozen, and a flip between runs is known until a request carried it."""

from __future__ import annotations

import pytest

from peek_core.context_pipe.catalog import FLAT
from peek_core.context_pipe.latch import SessionLatches
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import EndpointFailed
from peek_core.ports import CacheRules
from peek_core.values.canon import content_hash
from peek_core.values.sources import Kind, LifecycleTier, Scope, SourceRecord
from tests.context_pipe.kit import QUESTION, RULES, Kit, Model, named, record, steps

ANTHROPIC = CacheRules("breakpoints", marker="anthropic", max_markers=4)


def the_map(text: str) -> SourceRecord:
    return record("map", Kind.MEMORY, text, Scope.SESSION, tier=LifecycleTier.LATCHED)


def marked(made: Kit) -> list[str]:
    return [s.name for s in made.last.explain.sections if s.marker]


def test_the_first_value_read_is_the_runs_value() -> None:
    latches = SessionLatches({})
    first, other = the_map("one"), the_map("two")
    assert latches.read([first]).records == (first,)
    reading = latches.read([other, QUESTION])
    assert reading.records == (first, QUESTION) and reading.held == ("map",)
    assert latches.read([the_map("one")]).held == ()
    assert latches.values() == {"map": content_hash("one")}


def test_only_latched_records_are_held() -> None:
    latches = SessionLatches({})
    latches.read([QUESTION])
    changed = record("question", Kind.QUESTION, "another")
    assert latches.read([changed]).records == (changed,)


def test_a_value_other_than_the_run_before_left_it_is_a_flip_and_the_same_or_a_new_one_is_none() -> None:
    before = {"map": content_hash("old"), "profile": content_hash("same")}
    profile = record("profile", Kind.PROFILE, "same", tier=LifecycleTier.LATCHED)
    new = record("labels", Kind.MEMORY, "new", tier=LifecycleTier.LATCHED)
    latches = SessionLatches(before)
    latches.read([the_map("new"), profile, new])
    assert latches.flipped == ("map",)


def test_within_a_run_the_prefix_can_not_drift_and_the_trace_says_so() -> None:
    made = Kit(provider=Model())
    made.pipe("step", [RULES, the_map("one"), QUESTION])
    made.pipe("step", [RULES, the_map("two"), QUESTION])
    assert b'"one"' in made.provider.wires[1] and b'"two"' not in made.provider.wires[1]
    decision = named(made.last, "latches")
    assert (decision.applied, decision.reason, decision.sections) == (
        True,
        "map: first value of the run kept",
        ("map",),
    )
    assert not made.last.alerts


def test_flat_takes_every_value_as_it_comes() -> None:
    made = Kit(provider=Model(), configuration=FLAT)
    made.pipe("step", [RULES, the_map("one")])
    made.pipe("step", [RULES, the_map("two")])
    assert b'"two"' in made.provider.wires[1]


def test_a_flip_between_runs_suppresses_the_marker_of_this_turn_once() -> None:
    stats = PipelineStats()
    Kit(provider=Model(cache=ANTHROPIC), stats=stats).pipe("step", [RULES, the_map("one"), QUESTION])
    later = Kit(provider=Model(cache=ANTHROPIC), stats=stats)
    later.pipe("step", [RULES, the_map("two"), QUESTION])
    assert later.last.explain.flips == ("map",)
    assert marked(later) == ["rules", "map"]
    assert named(later.last, "place_markers").reason.endswith("a latched section changed")
    later.pipe("step", [RULES, the_map("two"), QUESTION, *steps(1, 8)])
    assert later.last.explain.flips == ()
    assert marked(later) == ["rules", "map", "observation 1"]


def test_a_run_with_the_same_value_has_no_flip() -> None:
    stats = PipelineStats()
    for _ in range(2):
        made = Kit(provider=Model(cache=ANTHROPIC), stats=stats)
        made.pipe("step", [RULES, the_map("one"), QUESTION])
    assert made.last.explain.flips == () and marked(made) == ["rules", "map", "question"]


@pytest.mark.parametrize("refused", [None, EndpointFailed("The endpoint failed (500)")])
def test_a_flip_is_known_until_a_request_has_carried_it(refused: EndpointFailed | None) -> None:
    """Neither a dry run nor a failed request uses it up."""
    stats = PipelineStats()
    Kit(provider=Model(cache=ANTHROPIC), stats=stats).pipe("step", [RULES, the_map("one"), QUESTION])
    replies = [refused, "a"] if refused else ["a"]
    later = Kit(provider=Model(replies, cache=ANTHROPIC), stats=stats)
    records = [RULES, the_map("two"), QUESTION]
    if refused:
        with pytest.raises(EndpointFailed):
            later.pipe("step", records)
    else:
        assert later.pipe.prepare("step", records).explain.flips == ("map",)
    later.pipe("step", records)
    assert later.last.explain.flips == ("map",) and marked(later) == ["rules", "map"]


def test_a_failed_run_leaves_nothing_to_compare_with() -> None:
    stats = PipelineStats()
    broken = Kit(provider=Model([EndpointFailed("down")]), stats=stats)
    with pytest.raises(EndpointFailed):
        broken.pipe("step", [RULES, the_map("one")])
    assert stats.latched("step") == {}


def test_sources_have_latches_of_their_own() -> None:
    made = Kit(provider=Model())
    made.pipe("step", [RULES, the_map("one")])
    made.pipe("distill", [RULES, the_map("two")])
    assert b'"two"' in made.provider.wires[1]
