"""A thousand calls of every kind, a fifth of them spoiled: nothing of a failure is learned, paid for or taken for a reply."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from peek_core.errors import EndpointFailed
from peek_core.ports import CancelToken
from peek_core.providers import simulator as sim
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.simulator import OPENAI_PREFIX, Exchange, Rate, Request, Simulator
from peek_core.providers.simulator.tokens import count
from peek_core.settings import DayLimits, EndpointSettings, RunLimits
from peek_core.values.messages import Completion, PromptSection
from peek_core.values.sources import Kind, Priority, Scope, SourceRecord
from tests.context_pipe.kit import QUESTION, RULES, Clock, Kit, record, steps

ALONE, TOGETHER, BATCH = 700, 300, 10
"""Calls one after the other, and calls of batches from several threads."""
KINDS = tuple(f for f in sim.ALL if not isinstance(f, sim.SlowFirstByte | sim.SlowChunks))
RATE = Rate(0.20, seed=20_261_130, kinds=KINDS)
FAILING = (sim.HttpError, sim.TooLong, sim.Garbage, sim.WrongJson, sim.Cut, sim.ErrorEvent)
END = "§"
"""One character, so that a chunk sent twice ends in it too."""


class Keeping:
    """The endpoint, and every reply it gave by the request it gave it to."""

    def __init__(self, inner: ChatCompletions) -> None:
        self._inner = inner
        self.name, self.model, self.endpoint, self.capabilities = (
            inner.name,
            inner.model,
            inner.endpoint,
            inner.capabilities,
        )
        self.kept: dict[bytes, Completion] = {}

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        return self._inner.encode(sections, schema)

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        done = self.kept[wire] = self._inner.send(wire, cancel, on_first_byte)
        return done


class Tape(Keeping):
    """Replies to a request what was replied to the very same bytes before; knows no failure."""

    def __init__(self, recorded: Keeping) -> None:
        super().__init__(recorded._inner)
        self.kept = recorded.kept

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        on_first_byte()
        return self.kept[wire]


def reply_to(request: Request) -> str:
    """Two chunks and more, ending in a mark that a cut reply lacks."""
    return f"{'word ' * random.Random(request.prompt.sha256).randint(9, 60)}{END}"


def calls() -> list[tuple[str, list[SourceRecord]]]:
    """What is asked, from a seed, each with a section nobody else has. Nothing of it may be left out: what a refusal for its
    length would make shorter is another request, and teaches rightly (test_faults)."""
    dice, made = random.Random(11), []
    profile = record("profile", Kind.PROFILE, "p" * 8_000, Scope.SESSION, priority=Priority.NEVER)
    for n in range(ALONE + TOGETHER):
        source = dice.choice(("step", "step", "llm_query", "distill", "chart")) if n < ALONE else "llm_query"
        own = record(f"call {n}", Kind.SUB_CALL, f"call {n} " + "x" * dice.randint(0, 2_000), priority=Priority.NEVER)
        before = (
            [RULES, profile, QUESTION, *steps(n % 9, 200 + n % 7 * 50, cleared="", priority=Priority.NEVER)]
            if source == "step"
            else []
        )
        made.append((source, [*before, own]))
    return made


def pipe_over(provider: Any) -> Kit:
    limits, day = RunLimits(tokens=10**9, model_calls=10**6, usd=1e9), DayLimits(10**6, 10**9, 1e9, 1e9)
    return Kit(provider=provider, clock=Clock(), count=count, limits=limits, day=day)


def paid(made: Kit) -> int:
    """What the replies took, by what the endpoint said, and by our own count where it said nothing."""
    total = 0
    for trace, reply in zip(made.sink.traces, made.sink.replies, strict=True):
        if trace.analyze is not None:
            said = trace.analyze.usage
            total += said.input or trace.explain.tokens
            total += count(reply) if said.output is None else said.output
    return total


def whole(exchange: Exchange) -> bool:
    return exchange.finish != "" and not isinstance(exchange.fault, FAILING)


def alone(made: Kit, asked: Sequence[tuple[str, list[SourceRecord]]], only: Sequence[int] | None = None) -> list[int]:
    """Ask one after the other; the numbers of those that were answered."""
    answered = []
    for n in range(len(asked)) if only is None else only:
        source, records = asked[n]
        try:
            if source == "llm_query":
                (done,) = made.pipe.batch(source, [records], needs_prefix=n % 2 == 0)
            else:
                done = made.pipe(source, records)
        except EndpointFailed:
            continue
        assert done.text.endswith(END) or done.finish == "length"
        answered.append(n)
    return answered


@pytest.fixture(scope="module")
def told():
    """The whole run once: the pipe after both halves, and the statistics in between."""
    asked = calls()
    with Simulator(OPENAI_PREFIX, script=reply_to, faults=RATE) as server:
        settings = EndpointSettings(
            server.base_url, "m", retries=0, cache="openai-prefix", window=1_000_000, budget=1_000_000
        )
        keeping = Keeping(ChatCompletions(settings, LoopThread()))
        made = pipe_over(keeping)
        answered = alone(made, asked[:ALONE])
        between = made.stats.usage_samples(), made.ledger.spent(), len(made.sink.traces)
        batches = [[r for _, r in asked[at : at + BATCH]] for at in range(ALONE, ALONE + TOGETHER, BATCH)]
        threads = [threading.Thread(target=_batches, args=(made, batches[n::3])) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yield asked, keeping, made, answered, between, server.log


def _batches(made: Kit, batches: Sequence[Sequence[Sequence[SourceRecord]]]) -> None:
    for batch in batches:
        try:
            done = made.pipe.batch("llm_query", batch)
        except EndpointFailed:
            continue
        assert [d.text.endswith(END) or d.finish == "length" for d in done] == [True] * len(batch)


def test_a_fifth_failed_or_was_spoiled_in_every_way_there_is(told) -> None:
    _, _, made, answered, _, log = told
    assert {type(e.fault) for e in log} == {type(None), *map(type, KINDS)}
    assert 0.15 < sum(e.fault is not None for e in log) / len(log) < 0.25
    assert ALONE * 0.8 < len(answered) < ALONE * 0.92
    assert {t.source for t in made.sink.traces} == {"step", "llm_query", "distill", "chart"}
    assert len(made.sink.traces) == len(log) > 900


@pytest.fixture(scope="module")
def twin(told) -> Kit:
    """A second pipe, of which only what was answered one after the other was asked, and which knows no failure."""
    asked, keeping, _, answered, _, _ = told
    made = pipe_over(Tape(keeping))
    assert alone(made, asked[:ALONE], answered) == answered
    return made


def test_what_was_learned_is_what_the_answered_calls_alone_would_have_taught(told, twin: Kit) -> None:
    _, _, _, _, (samples, spent, _), _ = told
    assert twin.stats.usage_samples() == samples
    assert twin.ledger.spent()["tokens"] == spent["tokens"]


def test_from_several_threads_the_same_was_learned_whatever_their_order(told, twin: Kit) -> None:
    """Averages depend on the order of what they saw, and so do estimates; the replies themselves don't."""
    asked, _, made, answered, (_, _, before), _ = told
    by_name = {records[-1].name: records for _, records in asked}
    later = [t for t in made.sink.traces[before:] if t.analyze is not None]
    for trace in later:
        twin.pipe.batch(trace.source, [by_name[trace.explain.sections[-1].name]])
    mine, twins = made.stats.usage_samples(), twin.stats.usage_samples()
    assert {k: sorted(v) for k, v in mine["replies"].items()} == {k: sorted(v) for k, v in twins["replies"].items()}
    assert sum(len(v) for v in mine["replies"].values()) == len(answered) + len(later)
    assert mine["kinds"].keys() == twins["kinds"].keys() and mine["factors"].keys() == twins["factors"].keys()


def test_the_ledger_holds_what_was_answered_to_the_token(told) -> None:
    _, _, made, _, _, log = told
    assert made.ledger.spent()["tokens"] == paid(made)
    assert made.ledger.spent()["model_calls"] == len(log)
    honest = {e.sha256: e for e in log if whole(e) and not isinstance(e.fault, sim.LyingUsage)}
    checked = 0
    for trace in made.sink.traces:
        exchange = honest.get(trace.wire_hash.removeprefix("sha256:"))
        if trace.analyze is not None and exchange is not None:
            assert (trace.analyze.usage.input, trace.analyze.usage.output) == (exchange.prompt, exchange.completion)
            checked += 1
    assert checked > 700


def test_no_cut_reply_was_ever_taken_for_one(told) -> None:
    _, keeping, made, _, _, log = told
    answered = [t for t in made.sink.traces if t.analyze is not None]
    assert len(answered) == sum(map(whole, log)) == len(keeping.kept)
    for done in keeping.kept.values():
        assert done.text.endswith(END) if done.finish == "stop" else done.finish == "length"
    broken = {e.sha256 for e in log if not whole(e)}
    failed = {t.wire_hash.removeprefix("sha256:") for t in made.sink.traces if t.error is not None}
    assert failed == broken
    assert all(
        (reply is None) == (t.error is not None) for t, reply in zip(made.sink.traces, made.sink.replies, strict=True)
    )


def test_every_call_has_a_number_and_an_id_of_its_own(told) -> None:
    _, _, made, _, _, _ = told
    numbers = [t.n for t in made.sink.traces]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len({t.id for t in made.sink.traces}) == len(numbers)
