"""ForkPrefix: a sub-call stands on the parent's prefix where it needs it or where that pays; a fan-out waits for the first."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from peek_core.context_pipe.cache_model import link
from peek_core.context_pipe.catalog import PAPER
from peek_core.context_pipe.fork import ForkPrefix, forked, freeze
from peek_core.context_pipe.rules.working import Placed
from peek_core.errors import Cancelled, EndpointFailed
from peek_core.ports import CacheRules, CancelToken
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.simulator import OPENAI_PREFIX, HttpError, Simulator, SlowFirstByte
from peek_core.settings import EndpointSettings
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope
from tests.context_pipe.kit import (
    CHEAP_CACHE,
    QUESTION,
    Kit,
    Model,
    Prices,
    Spills,
    assembled,
    named,
    record,
    snapshot,
    steps,
)

IDENTITY = record("identity", Kind.IDENTITY, "#500 identity", Scope.GLOBAL, role="system", priority=Priority.NEVER)
MAP = record("map", Kind.MEMORY, "#500 map", Scope.SESSION)
PARENT = [IDENTITY, MAP, QUESTION]


def asked(text: str = "#10 one", name: str = "prompt", **more):
    return [record(name, Kind.SUB_CALL, text, **more)]


def prefix_of(records=PARENT, **more) -> ForkPrefix:
    made = assembled(snapshot(records, **more))
    return freeze(made.placed, [s.sent for s in made.explain.sections], "p", "m")


def sent(made: Kit, n: int = -1) -> list[str]:
    return [row["name"] for row in json.loads(made.provider.wires[n])]


# Freezing


def test_the_prefix_is_what_leads_a_request_and_is_of_wider_scope_than_its_turn() -> None:
    prefix = prefix_of()
    assert [r.name for r in prefix.records] == ["identity", "map"]
    assert len(prefix.hashes) == 2 and prefix.sha256.startswith("sha256:")
    assert prefix_of([QUESTION, IDENTITY, MAP]).records == ()


def test_one_hash_is_over_everything_a_cache_looks_at() -> None:
    one = prefix_of()
    assert one.sha256 == prefix_of().sha256 == prefix_of([IDENTITY, MAP, *steps(1, 8)]).sha256
    others = [
        prefix_of([IDENTITY, replace(MAP, text="#500 another")]).sha256,
        prefix_of([IDENTITY, replace(MAP, role="system")]).sha256,
        prefix_of([MAP, IDENTITY]).sha256,
        freeze(assembled(snapshot(PARENT)).placed, [500, 500, 3], "p", "another model").sha256,
    ]
    assert len({one.sha256, *others}) == 5


def test_what_was_shortened_for_the_parent_is_so_for_the_child() -> None:
    long = record("profile", Kind.PROFILE, "x" * 60_000, Scope.SESSION, recoverable=True)
    made = assembled(snapshot([IDENTITY, long, QUESTION], spill_backend=True))
    frozen = freeze(made.placed, [s.sent for s in made.explain.sections], "p", "m")
    assert frozen.records[1].text == made.placed[1].section.text != long.text


# Whether it is used


def test_it_is_used_only_where_reading_it_costs_less_than_what_the_child_sends_itself() -> None:
    """1,000 tokens at a twentieth cost 50."""
    prefix = replace(prefix_of(), tokens=1_000)
    for own, used in ((49, False), (50, False), (51, True), (5_000, True)):
        records, decision = forked(prefix, asked(), own, False, CHEAP_CACHE)
        assert decision.applied is used, own
        assert [r.name for r in records] == (["identity", "map", "prompt"] if used else ["prompt"])
    assert forked(prefix, asked(), 50, False, CHEAP_CACHE)[1].reason == (
        "a fresh prompt of 50 tokens is cheaper than reading 1,000 at 0.05 of the price (50)"
    )
    applied = forked(prefix, asked(), 51, False, CHEAP_CACHE)[1]
    assert applied.reason == f"reading it costs 50 against 51; prefix {prefix.sha256[7:19]}"
    assert (applied.sections, applied.tokens_before, applied.tokens_after) == (("identity", "map"), 51, 1_051)


def test_where_the_price_of_reading_is_unknown_a_tenth_is_assumed() -> None:
    prefix = replace(prefix_of(), tokens=1_000)
    assert not forked(prefix, asked(), 100, False, None)[1].applied
    assert forked(prefix, asked(), 101, False, replace(CHEAP_CACHE, cached=None))[1].applied


def test_who_needs_what_it_holds_gets_it_whatever_it_costs() -> None:
    records, decision = forked(prefix_of(), asked(), 1, True, CHEAP_CACHE)
    assert len(records) == 3 and decision.reason.startswith("the sub-call asked for what the prefix holds; prefix ")


@pytest.mark.parametrize("prefix", [None, ForkPrefix((), (), 0, "p", "m", "")])
def test_without_a_parent_there_is_nothing_to_share(prefix: ForkPrefix | None) -> None:
    records, decision = forked(prefix, asked(), 5_000, True, None)
    assert [r.name for r in records] == ["prompt"]
    assert decision.reason == "no request of this run has been answered yet, so there is no prefix to share"


def test_what_the_child_says_can_not_get_in_front_of_the_prefix() -> None:
    """Neither as a system section nor by a wide scope."""
    own = [record("instructions", Kind.SUB_CALL, "i", Scope.GLOBAL, role="system"), *asked()]
    records, _ = forked(prefix_of(), own, 5_000, False, None)
    made = assembled(snapshot(records))
    assert [p.record.name for p in made.placed] == ["identity", "map", "instructions", "prompt"]
    assert shared(prefix_of(), made.placed)
    assert [p.section.role for p in made.placed] == ["system", "user", "user", "user"]


def test_a_request_that_begins_otherwise_does_not_share() -> None:
    placed = assembled(snapshot(PARENT)).placed
    assert shared(prefix_of(), placed)
    assert not shared(prefix_of(), placed[1:])
    changed = [Placed(p.record, replace(p.section, hash="x")) if n == 1 else p for n, p in enumerate(placed)]
    assert not shared(prefix_of(), changed)


# Through the pipe


def test_sub_calls_share_the_prefix_of_the_latest_step() -> None:
    made = Kit(provider=Model())
    made.pipe.batch("llm_query", [asked()], needs_prefix=True)
    made.pipe("step", PARENT)
    made.pipe.batch("llm_query", [asked(), asked("#10 two")], needs_prefix=True)
    assert [sent(made, n) for n in range(4)] == [
        ["prompt"], ["identity", "map", "question"], ["identity", "map", "prompt"], ["identity", "map", "prompt"],
    ]  # fmt: skip
    assert [named(t, "fork_prefix").applied for t in made.sink.traces if t.source == "llm_query"] == [False, True, True]
    rows = [json.loads(w)[:2] for w in made.provider.wires[1:]]
    assert rows[0] == rows[1] == rows[2]


def test_a_short_prompt_of_its_own_goes_alone() -> None:
    made = Kit(provider=Model(), prices=Prices())
    made.pipe("step", PARENT)
    made.pipe.batch("llm_query", [asked("#49 short"), asked("#51 long")])
    assert [sent(made, n) for n in (1, 2)] == [["prompt"], ["identity", "map", "prompt"]]


def test_a_later_step_renews_the_prefix() -> None:
    made = Kit(provider=Model())
    made.pipe("step", PARENT)
    made.pipe("step", [IDENTITY, replace(MAP, text="#500 new"), QUESTION])
    made.pipe.batch("llm_query", [asked()], needs_prefix=True)
    assert b"#500 new" in made.provider.wires[-1]


def test_what_a_sub_call_carries_is_not_what_recall_reads() -> None:
    """The child's copy of a spilled section is its placeholder; the model asks for the whole."""
    long = record("profile", Kind.PROFILE, "y" * 60_000, Scope.SESSION, recoverable=True)
    made = Kit(provider=Model(), spills=Spills())
    made.pipe("step", [IDENTITY, long, QUESTION])
    assert named(made.last, "spill").applied
    made.pipe.batch("llm_query", [asked(name="profile")], needs_prefix=True)
    assert made.pipe.recall("profile", 30_000).startswith("y" * 4_000 + "\n(… 26,000 more characters")


@pytest.mark.parametrize("configuration", [PAPER])
def test_sub_calls_of_one_batch_come_back_in_the_order_asked(configuration) -> None:
    with Simulator(script=lambda r: f"answer to {r.messages[-1]['content']}") as server:
        provider = ChatCompletions(EndpointSettings(server.base_url, "m"), LoopThread())
        made = Kit(provider=provider, configuration=configuration)
        done = made.pipe.batch("llm_query", [asked(f"prompt {n}") for n in range(9)])
    assert [d.text for d in done] == [f"answer to prompt {n}" for n in range(9)]


class Stage:
    """A provider of four at a time that tells how many requests were on their way, and begins the first when told."""

    def __init__(self, parallel: int = 4, failing: frozenset[str] = frozenset()) -> None:
        self._inner = Model(parallel=parallel)
        self.name, self.model, self.endpoint, self.capabilities = "stage", "m", "", self._inner.capabilities
        self.count, self.encode = self._inner.count, self._inner.encode
        self.begin, self.arrived, self.crowd = threading.Event(), threading.Event(), threading.Semaphore(0)
        self.events: list[str] = []
        self._failing, self._lock, self._on_stage = failing, threading.Lock(), 0
        self.most = 0

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte):
        text = json.loads(wire)[-1]["text"]
        with self._lock:
            first = not self.events
            self.events.append(f"sent {text}")
            self._on_stage += 1
            self.most = max(self.most, self._on_stage)
        self.arrived.set()
        try:
            if text in self._failing:
                raise EndpointFailed(f"{text} failed")
            if first:
                assert self.begin.wait(5.0)

            def begun() -> None:
                with self._lock:
                    self.events.append(f"first token of {text}")
                on_first_byte()

            return self._inner.send(wire, cancel, begun)
        finally:
            with self._lock:
                self._on_stage -= 1


def test_a_fan_out_waits_for_the_first_token_of_the_first_reply() -> None:
    stage = Stage()
    made = Kit(provider=stage)
    texts = [f"p{n}" for n in range(8)]
    got: list[list[str]] = []
    batch = threading.Thread(
        target=lambda: got.append([d.text for d in made.pipe.batch("llm_query", map_asked(texts))])
    )
    batch.start()
    assert stage.arrived.wait(5.0)
    batch.join(0.1)
    assert stage.events == ["sent p0"], "the others must not be sent before the first token"
    stage.begin.set()
    batch.join(5.0)
    assert stage.events[:2] == ["sent p0", "first token of p0"]
    assert sorted(e for e in stage.events if e.startswith("sent")) == [f"sent p{n}" for n in range(8)]
    assert stage.most <= 4 and got == [["a reply"] * 8]


def map_asked(texts: list[str]):
    return [asked(t) for t in texts]


def test_where_one_request_at_a_time_is_taken_they_go_one_after_the_other() -> None:
    stage = Stage(parallel=1)
    stage.begin.set()
    Kit(provider=stage).pipe.batch("llm_query", map_asked(["p0", "p1", "p2"]))
    assert stage.most == 1 and [e for e in stage.events if e.startswith("sent")] == ["sent p0", "sent p1", "sent p2"]


def test_a_first_that_fails_holds_nobody_up_and_its_failure_is_raised() -> None:
    stage = Stage(failing=frozenset({"p0"}))
    with pytest.raises(EndpointFailed, match="p0 failed"):
        Kit(provider=stage).pipe.batch("llm_query", map_asked(["p0", "p1", "p2"]))


def test_a_failure_among_many_is_raised_once_all_ended_and_stops_those_that_wait() -> None:
    stage = Stage(failing=frozenset({"p2"}))
    stage.begin.set()
    made = Kit(provider=stage)
    with pytest.raises(EndpointFailed, match="p2 failed"):
        made.pipe.batch("llm_query", map_asked([f"p{n}" for n in range(50)]))
    assert stage._on_stage == 0
    sent_ones = [e for e in stage.events if e.startswith("sent")]
    assert len(made.sink.traces) == len(sent_ones)


def test_nothing_asked_is_nothing_sent() -> None:
    made = Kit(provider=Stage())
    assert made.pipe.batch("llm_query", []) == [] and made.sink.traces == []


def test_a_stopped_run_sends_no_batch() -> None:
    stage = Stage()
    made = Kit(provider=stage)
    made.cancel.cancel()
    with pytest.raises(Cancelled):
        made.pipe.batch("llm_query", map_asked(["p0", "p1"]))
    assert stage.events == []


def test_what_the_first_request_writes_the_others_read() -> None:
    """Against a cache that can be read once the reply that wrote it began: slow first bytes, and yet every other hits."""
    long = record("identity", Kind.IDENTITY, "i" * 16_000, Scope.GLOBAL, role="system", priority=Priority.NEVER)
    with Simulator(OPENAI_PREFIX, faults=[SlowFirstByte(0.05)] * 5) as server:
        settings = EndpointSettings(server.base_url, "m", cache="openai-prefix")
        provider = ChatCompletions(settings, LoopThread())
        assert provider.capabilities.parallel == 4
        Kit(provider=provider).pipe.batch("llm_query", [[long, *asked(f"prompt {n}")] for n in range(5)])
        cached = [e.cached for e in server.log]
    assert cached == [0, 3_968, 3_968, 3_968, 3_968]


def test_a_first_that_is_refused_lets_the_others_go_on_alone() -> None:
    with Simulator(faults=[HttpError(400)]) as server:
        provider = ChatCompletions(EndpointSettings(server.base_url, "m", retries=0), LoopThread())
        made = Kit(provider=provider)
        with pytest.raises(EndpointFailed, match="refused the request"):
            made.pipe.batch("llm_query", map_asked(["p0", "p1"]))
        assert server.log[0].status == 400


def test_a_prefix_is_latched_with_its_records() -> None:
    told = record("map", Kind.MEMORY, "#500 map", Scope.SESSION, tier=LifecycleTier.LATCHED)
    made = Kit(provider=Model(cache=CacheRules("prefix")))
    made.pipe("step", [IDENTITY, told, QUESTION])
    made.pipe.batch("llm_query", [asked(), asked("#10 two")], needs_prefix=True)
    assert [named(t, "fork_prefix").applied for t in made.sink.traces[1:]] == [True, True]
    assert made.last.explain.predicted_cached == 1_000


def shared(prefix: ForkPrefix, placed: Sequence[Placed]) -> bool:
    """Whether a child's request really begins with the prefix."""
    return tuple(link(p.section) for p in placed[: len(prefix.hashes)]) == prefix.hashes
