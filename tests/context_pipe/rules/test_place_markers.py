"""Markers: at the ends of scopes, as many as the endpoint takes, none where they would be in vain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.catalog import DEFAULT
from peek_core.context_pipe.rules.place_markers import apply
from peek_core.ports import CacheRules
from peek_core.providers.cache_rules import RULES as CACHES
from peek_core.values.sources import Kind, LifecycleTier, Scope
from tests.context_pipe.kit import QUESTION, RULES, Worked, record, snapshot, steps

ANTHROPIC = CacheRules("breakpoints", marker="anthropic", max_markers=4)
OPENAI = CacheRules("breakpoints", marker="openai", max_markers=4, implicit=True)
FUNCTIONS = record("functions", Kind.HOST_FUNCTIONS, "f" * 400, Scope.GLOBAL, role="system")
MAP = record("map", Kind.MEMORY, "m" * 400, Scope.SESSION)
PROFILE = record("profile", Kind.PROFILE, "p" * 400, Scope.SESSION)
NOTICE = record("notice 1", Kind.NOTICE, "n" * 400, tier=LifecycleTier.EMERGENT, markerable=False)
USUAL = [RULES, FUNCTIONS, PROFILE, MAP, QUESTION, *steps(2, 400)]


def marked(records, cache: CacheRules = ANTHROPIC, **more) -> Worked:
    return Worked(snapshot(records, cache=cache, **more), apply)


def where(made: Worked) -> list[str]:
    return [p.record.name for p in made.placed if p.section.marker]


def test_markers_go_to_the_ends_of_scopes() -> None:
    made = marked(USUAL)
    assert where(made) == ["functions", "map", "observation 2"]
    assert made.decision.sections == ("functions", "map", "observation 2")
    assert made.reason == "3 of at most 4 markers, after functions, map, observation 2"
    assert [replace(p.section, marker=False) for p in made.placed] == [p.section for p in made.before]


@pytest.mark.parametrize("name", [n for n, r in CACHES.items() if not r.marker])
def test_an_endpoint_without_markers_gets_none(name: str) -> None:
    made = marked(USUAL, CACHES[name])
    assert made.unchanged and made.reason == "this endpoint takes no markers"


def test_below_the_minimum_there_is_no_marker() -> None:
    assert where(marked(USUAL, replace(ANTHROPIC, minimum=201))) == ["map", "observation 2"]
    made = marked(USUAL, replace(ANTHROPIC, minimum=10_000))
    assert made.unchanged
    assert made.reason == "no boundary at 10,000 tokens or more, the least this endpoint caches"


def test_no_more_than_the_endpoint_takes_and_the_latest_count() -> None:
    assert where(marked(USUAL, replace(ANTHROPIC, max_markers=2))) == ["map", "observation 2"]
    assert where(marked(USUAL, replace(OPENAI, max_markers=2))) == ["observation 2"]
    assert marked(USUAL, replace(OPENAI, max_markers=1)).unchanged


def test_an_emergent_item_is_never_behind_a_marker() -> None:
    assert where(marked([*USUAL, NOTICE])) == ["functions", "map", "observation 2"]


def test_what_was_said_by_the_model_is_marked_only_where_the_endpoint_takes_that() -> None:
    begun = [*USUAL, *steps(1, 400, first=3)[:1]]
    assert where(marked(begun)) == ["functions", "map", "cell 3"]
    assert where(marked(begun, OPENAI)) == ["functions", "map", "observation 2"]


def test_what_takes_no_marker_gets_none() -> None:
    assert where(marked([RULES, FUNCTIONS, replace(MAP, markerable=False), QUESTION])) == ["functions", "question"]


@pytest.mark.parametrize("cache", [ANTHROPIC, OPENAI])
def test_when_a_latch_flipped_the_marker_of_this_turn_is_left_out(cache: CacheRules) -> None:
    made = marked(USUAL, cache, flips=("map",))
    assert where(made) == ["functions", "map"]
    assert made.reason.endswith("; none for this turn, a latched section changed")


def test_fixed_markers_stand_at_the_front_the_middle_and_the_end() -> None:
    fixed = replace(DEFAULT, markers="fixed")
    assert where(marked(USUAL, configuration=fixed)) == ["rules", "question", "observation 2"]
    assert marked([], configuration=fixed).unchanged
