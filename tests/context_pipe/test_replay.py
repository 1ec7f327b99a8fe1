"""Replay: a stored request is planned again; where its bytes differ, what changed is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from peek_core.context_pipe.replay import Replay, replay
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import EndpointFailed, NotFound, Refused
from peek_core.ports import CacheRules, Provider
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.values.call_trace import CallTrace
from peek_core.values.canon import SERIALIZER, content_hash
from peek_core.values.sources import Kind, LifecycleTier, Scope
from tests.context_pipe.kit import QUESTION, RULES, Kit, Model, Prices, Spills, quarter, record, steps

ANTHROPIC = CacheRules("breakpoints", marker="anthropic", max_markers=4)
MAP = record("map", Kind.MEMORY, "the map", Scope.SESSION, tier=LifecycleTier.LATCHED)
LONG = record("profile", Kind.PROFILE, "p" * 41_000, Scope.SESSION, recoverable=True)


def run(**more) -> Kit:
    """Three steps that clear, spill, mark, notice and fail on their way."""
    told = {"provider": Model(["a", EndpointFailed("down"), "b", "c"], window=9_000, count=quarter, cache=ANTHROPIC),
            "prices": Prices(), "spills": Spills(), **more}  # fmt: skip
    made = Kit(**told)
    made.pipe("step", [RULES, MAP, LONG, QUESTION])
    made.pipe.notice("careful")
    with pytest.raises(EndpointFailed):
        made.pipe("step", [RULES, MAP, LONG, QUESTION, *steps(4, 6_000)])
    made.pipe("step", [RULES, MAP, LONG, QUESTION, *steps(4, 6_000)])
    made.pipe("step", [RULES, MAP, LONG, QUESTION, *steps(5, 6_000)])
    return made


def again(made: Kit, trace: CallTrace, provider: Provider | None = None, text: Callable[[str], str | None] | None = None,
          **more) -> Replay:  # fmt: skip
    return replay(trace, text or made.sink.texts.get, provider or made.provider, ("chars/4", quarter), **more)


def test_every_request_of_a_run_is_the_same_again_failed_ones_too() -> None:
    made = run()
    assert [t.error for t in made.sink.traces] == [None, "down", None, None]
    applied = {d.rule for t in made.sink.traces for d in t.explain.decisions if d.applied}
    assert applied >= {"clear_observations", "spill", "place_markers"}
    for trace in made.sink.traces:
        found = again(made, trace)
        assert found.same and found.differs == () and found.prepared.wire_hash == trace.wire_hash
        assert found.prepared.explain == replace(trace.explain, shadow=None)
    assert len(made.provider.wires) == 4


def test_a_replay_sends_nothing() -> None:
    made = run()
    other = Model(window=9_000, count=quarter, cache=ANTHROPIC)
    again(made, made.last, other)
    assert other.wires == []


def test_another_serializer_is_said() -> None:
    made = run()
    old = replace(made.last, explain=replace(made.last.explain, serializer="peek-canon-0"))
    found = again(made, old)
    assert not found.same and found.differs == (f"serializer: peek-canon-0 then, {SERIALIZER} now",)


def test_other_bytes_of_the_same_sections_are_the_serializers() -> None:
    made = run()
    wire_form = ChatCompletions.offline("m", made.provider.capabilities, LoopThread())
    found = again(made, made.last, wire_form)
    assert found.differs == ("serializer: the same sections gave other bytes",)


def test_another_provider_policy_is_said_with_what_it_changes() -> None:
    made = run()
    found = again(made, made.last, Model(window=9_000, count=quarter, cache=CacheRules("prefix")))
    assert found.differs == (
        "provider policy: breakpoints/anthropic then, prefix/no markers now",
        "section: rules has another marker",
        "section: profile has another marker",
        "section: observation 5 has another marker",
    )


def test_statistics_that_moved_are_said_even_where_no_byte_changed() -> None:
    made = Kit(provider=Model(count=quarter))
    made.pipe("step", [RULES, QUESTION])
    found = again(made, made.last, factors={"memory": 1.5})
    assert found.prepared.wire_hash == made.last.wire_hash and not found.same
    assert found.differs == ("statistics: the calibration of token counts has moved",)
    assert again(made, made.last, factors=dict(made.last.snapshot["factors"])).same


def test_statistics_that_change_a_decision_name_the_sections() -> None:
    made = Kit(provider=Model(window=9_000, count=quarter))
    made.pipe("step", [RULES, QUESTION, *steps(5, 4_000)])
    assert made.last.explain.level == "trim_schemas"
    found = again(made, made.last, factors={"observation": 1.5})
    assert found.prepared.explain.level == "aggressive_prune"
    assert found.differs == (
        "statistics: the calibration of token counts has moved",
        "section: observation 1 has another text",
        "section: observation 2 has another text",
    )


def test_a_latched_value_that_changed_is_said_as_such() -> None:
    """A store that gives another text under the same hash is the only way a value can have changed since."""
    made = run()
    old, new = "the map", "another map"
    texts = {h: (new if t == old else t) for h, t in made.sink.texts.items()}
    found = again(made, made.last, text=texts.get)
    assert found.differs[0] == "latch: map has another text" and not found.same


def test_a_text_that_is_gone_is_said_and_not_replaced_by_a_placeholder() -> None:
    made = run()
    kept = {h: t for h, t in made.sink.texts.items() if h != content_hash(LONG.text)}
    with pytest.raises(NotFound, match=r"is no longer kept"):
        again(made, made.last, text=kept.get)


def test_a_trace_without_a_snapshot_can_not_be_replayed_and_says_so() -> None:
    made = run()
    with pytest.raises(Refused, match="was stored without what a replay needs"):
        again(made, replace(made.last, snapshot=None))


def test_what_was_learned_since_does_not_change_a_replay() -> None:
    stats = PipelineStats()
    made = run(stats=stats)
    first = made.sink.traces[0]
    for n in range(100):
        stats.succeeded("m", "step", 7_000 + n)
        stats.failed("m", "step")
    assert again(made, first).same


def test_a_sub_call_on_the_parents_prefix_is_the_same_again() -> None:
    made = run()
    made.pipe.batch("llm_query", [[record("prompt", Kind.SUB_CALL, "x" * 400)]], needs_prefix=True)
    assert made.last.source == "llm_query" and len(made.last.explain.sections) > 1
    assert again(made, made.last).same
