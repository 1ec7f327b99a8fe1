"""The product's adapter against the simulator: every fault ends in the state it should, and both tell the same story."""

from __future__ import annotations

import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from peek_core.errors import EndpointFailed
from peek_core.jobs import CancelSignal
from peek_core.providers.chat_completions import ChatCompletions, normalised, retry_after_s
from peek_core.providers.loop import LoopThread
from peek_core.providers.simulator import (
    ALL,
    ANTHROPIC,
    DEEPSEEK,
    GEMINI,
    LOCAL,
    OPENAI,
    OPENAI_PREFIX,
    PROFILES,
    Cut,
    DuplicateChunks,
    ErrorEvent,
    Exchange,
    Fault,
    FinishLength,
    Garbage,
    Hang,
    HttpError,
    LyingUsage,
    Profile,
    Rate,
    Simulator,
    SlowChunks,
    SlowFirstByte,
    TooLong,
    WrongJson,
)
from peek_core.settings import EndpointSettings
from peek_core.values.messages import Completion, PromptSection, Usage
from tests.providers.simulator.asking import Clock, ask, part, said, text_of

LOOP = LoopThread()
TEXT = text_of(60, "r")


def adapter(sim: Simulator, *, retries: int = 2, read_timeout_s: float = 20.0) -> ChatCompletions:
    settings = EndpointSettings(sim.base_url, "m", "key", retries=retries, read_timeout_s=read_timeout_s)
    return ChatCompletions(settings, LOOP)


def through(provider: ChatCompletions, *texts: str) -> Completion:
    """One request: a system message and, if there is more, a user's."""
    roles = ("system", "user")
    sections = [PromptSection("s", "k", roles[n], t, 1, "h") for n, t in enumerate(texts)]
    return provider.send(provider.encode(sections, None), CancelSignal(), lambda: None)


def send(sim: Simulator, *texts: str, **settings: Any) -> Completion:
    """One request through an adapter of its own."""
    return through(adapter(sim, **settings), *texts or ("Hello",))


def states(sim: Simulator) -> list[tuple[int, str]]:
    return [(e.status, e.finish) for e in sim.log]


# Tried again


@pytest.mark.parametrize(
    "fault",
    [
        HttpError(429, retry_after_s=0.0),
        HttpError(429, retry_after_s=0.0, as_date=True),
        HttpError(500, retry_after_s=0.0),
        HttpError(503, retry_after_s=0.0),
    ],
)
def test_a_passing_fault_is_tried_again_with_the_same_bytes(fault: HttpError) -> None:
    with Simulator(script=[TEXT], faults=[fault, fault], clock=Clock()) as sim:
        done = send(sim)
    assert (done.text, done.retries) == (TEXT, 2)
    assert states(sim) == [(fault.code, ""), (fault.code, ""), (200, "stop")]
    assert len({e.sha256 for e in sim.log}) == 1


@pytest.mark.parametrize(("code", "told"), [(429, "busy"), (500, "failed"), (503, "failed")])
def test_a_lasting_fault_ends_the_call_with_its_status(code: int, told: str) -> None:
    with Simulator(faults=[HttpError(code, retry_after_s=0.0)] * 3) as sim:
        with pytest.raises(EndpointFailed, match=rf"{told} \({code}\)"):
            send(sim)
    assert len(sim.log) == 3


@pytest.mark.parametrize(
    ("said", "now", "seconds"),
    [
        ("0", 0.0, 0.0),
        ("1.5", 0.0, 1.5),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50.0, 10.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 70.0, 0.0),
        ("", 0.0, None),
        ("soon", 0.0, None),
        ("-1", 0.0, None),
        ("inf", 0.0, None),
        ("nan", 0.0, None),
        ("Thu, 99 Foo 1970 00:01:00 GMT", 0.0, None),
    ],
)
def test_retry_after_holds_seconds_or_a_date(said: str, now: float, seconds: float | None) -> None:
    assert retry_after_s(said, now) == seconds


# Not tried again


@pytest.mark.parametrize("profile", [p for p in PROFILES.values() if p is not LOCAL], ids=lambda p: p.name)
def test_beyond_the_window_each_provider_is_understood(profile: Profile) -> None:
    """Four wordings, one sentence; no retry. The window itself still fits, and leaves a reply no room."""
    with Simulator(replace(profile, window=100)) as sim:
        send(sim, text_of(100))
        with pytest.raises(EndpointFailed, match=r"longer than the model's window \(400\)"):
            send(sim, text_of(100), "one more")
    assert states(sim) == [(200, "length"), (400, "")]


WORDINGS = {
    OPENAI: "This model's maximum context length is 400000 tokens. However, your messages resulted in 3 tokens. "
    "Please reduce the length of the messages.",
    ANTHROPIC: "prompt is too long: 3 tokens > 200000 maximum",
    DEEPSEEK: "This model's maximum context length is 131072 tokens. However, you requested 103 tokens (3 in the messages, "
    "100 in the completion). Please reduce the length of the messages or completion.",
    GEMINI: "The input token count (3) exceeds the maximum number of tokens allowed (1048576).",
}


@pytest.mark.parametrize("profile", WORDINGS, ids=lambda p: p.name)
def test_the_wording_is_the_providers(profile: Profile) -> None:
    with Simulator(profile, faults=[TooLong()]) as sim:
        got = ask(sim, said("user", "The prompt."), max_tokens=100)
    assert (got.status, WORDINGS[profile] in got.body) == (400, True)


def test_prompt_and_asked_reply_fit_the_window_together() -> None:
    with Simulator(DEEPSEEK) as sim:
        fits = [ask(sim, said("user", text_of(131_000)), max_tokens=most).status for most in (72, 73)]
    assert fits == [200, 400]


def test_a_small_local_server_answers_beyond_its_window_and_reports_less() -> None:
    with Simulator(LOCAL, script=[TEXT]) as sim:
        done = send(sim, text_of(10_000), "the question")
    assert (done.text, done.usage.input, sim.log[0].prompt) == (TEXT, 4_096, 10_003)


@pytest.mark.parametrize(
    ("fault", "told", "state"),
    [
        (Garbage(), "no reply", (200, "")),
        (Garbage('{"id": "whole"}', "application/json"), "no reply", (200, "")),
        (WrongJson(), "no reply", (200, "")),
        (Cut("politely"), "cut off before it ended", (200, "stop")),
        (Cut("dropped"), "cut off before it ended", (200, "stop")),
        (Cut("silently"), "sent nothing for 0", (200, "stop")),
        (ErrorEvent(), "the model fell over", (200, "stop")),
    ],
)
def test_a_spoilt_reply_is_no_reply_and_is_not_paid_twice(fault: Fault, told: str, state: tuple[int, str]) -> None:
    with Simulator(script=[TEXT] * 2, faults=[fault]) as sim:
        with pytest.raises(EndpointFailed, match=told):
            send(sim, read_timeout_s=0.4)
        assert states(sim) == [state]


def test_silence_before_the_first_byte_is_tried_again() -> None:
    with Simulator(script=[TEXT], faults=[Hang()]) as sim:
        done = send(sim, read_timeout_s=0.4)
    assert (done.text, done.retries) == (TEXT, 1)


# Answered all the same


@pytest.mark.parametrize("fault", [SlowFirstByte(0.05), SlowChunks(0.01)])
def test_a_slow_reply_is_a_whole_one(fault: Fault) -> None:
    with Simulator(script=[TEXT], faults=[fault]) as sim:
        done = send(sim)
    assert (done.text, done.finish, done.usage.output, done.retries) == (TEXT, "stop", 60, 0)


def test_a_reply_at_its_limit_says_so() -> None:
    with Simulator(script=[TEXT], faults=[FinishLength()]) as sim:
        done = send(sim)
    assert (done.text, done.finish, done.usage.output) == (text_of(30, "r"), "length", 30)


def test_chunks_sent_twice_cannot_be_told_from_text() -> None:
    """Chat Completions numbers no chunks. What remains is the reply's token count, half of what arrived."""
    with Simulator(script=[TEXT], faults=[DuplicateChunks()]) as sim:
        done = send(sim)
    assert (done.text, done.usage.output) == (TEXT * 2, 60)


@pytest.mark.parametrize(
    ("how", "usage"),
    [
        ("too_small", Usage(input=200, cached=192, output=6, reasoning=0)),
        ("missing", Usage()),
        ("negative", Usage()),
        ("strings", Usage(input=2_000, cached=1_920, output=60, reasoning=0)),
    ],
)
def test_usage_that_lies_is_unknown_where_that_shows(how: Any, usage: Usage) -> None:
    """A count a tenth of the truth can't be told from a true one; below zero is no count; a number as text is a number."""
    with Simulator(OPENAI_PREFIX, script=[TEXT] * 2, faults=[None, LyingUsage(how)]) as sim:
        send(sim, text_of(2_000))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            done = send(sim, text_of(2_000))
    assert (done.text, done.usage) == (TEXT, usage)
    assert (sim.log[1].cached, sim.log[1].uncached, sim.log[1].completion) == (1_920, 80, 60)


# Each provider's usage, read by the adapter


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda p: p.name)
def test_the_adapter_reads_what_was_counted_under_each_providers_names(profile: Profile) -> None:
    with Simulator(profile, script=[TEXT] * 2) as sim:
        for _ in range(2):
            done = send(sim, text_of(3_000), text_of(2_000, "q"))
            assert agrees(done, sim.log[-1], profile)


@pytest.mark.parametrize("profile", [OPENAI, ANTHROPIC], ids=lambda p: p.name)
def test_writes_are_read_too(profile: Profile) -> None:
    with Simulator(profile) as sim:
        prompt = [said("system", [part(text_of(3_000), profile.name)]), said("user", "q")]
        for _ in range(2):
            usage = normalised(ask(sim, *prompt).usage)
            entry = sim.log[-1]
            assert (usage.input, usage.cached, usage.cache_write) == (3_001, entry.cached, entry.written)
    assert [e.written for e in sim.log] == [3_001 if profile is OPENAI else 3_000, 0]


def agrees(done: Completion, entry: Exchange, profile: Profile) -> bool:
    """Whether a completion and the record of its request say the same; what a provider doesn't report is None."""
    told = done.usage
    silent = profile.match == "none" or (profile.report == "gemini" and not entry.cached)
    cached = None if silent else entry.cached
    return (told.input, told.cached, told.output) == (
        entry.cached + entry.written + entry.uncached,
        cached,
        entry.completion,
    )


# All together


@pytest.mark.parametrize("profile", [OPENAI_PREFIX, DEEPSEEK], ids=lambda p: p.name)
def test_1000_mixed_calls_with_20_percent_faults_agree_with_the_record(profile: Profile) -> None:
    """Ten conversations at once: each call ends as its last request did, and no request is lost or made up."""
    rate = Rate(0.2, seed=7, kinds=tuple(f for f in ALL if f not in (HttpError(500), HttpError(503))))
    with Simulator(profile, faults=rate) as sim, ThreadPoolExecutor(10) as pool:
        provider = adapter(sim, retries=4)

        def call(n: int) -> tuple[str, Completion | EndpointFailed]:
            name = f"call {n:04}"
            try:
                return name, through(provider, text_of(1_200, "abcdefghij"[n % 10]), name)
            except EndpointFailed as failure:
                return name, failure

        outcomes = dict(pool.map(call, range(1_000)))
        log = sim.log

    tries: dict[str, list[Exchange]] = {name: [] for name in outcomes}
    for entry in log:
        tries[entry.messages[-1]["content"]].append(entry)
    assert len(log) == sum(len(entries) for entries in tries.values())
    assert [e.fault for e in log] == [rate.of(e.number) for e in log]
    for name, outcome in outcomes.items():
        *failed, last = tries[name]
        assert all(isinstance(e.fault, HttpError) for e in failed), name
        if isinstance(outcome, EndpointFailed):
            assert isinstance(last.fault, HttpError | TooLong | Garbage | WrongJson | Cut | ErrorEvent), outcome
        else:
            assert (outcome.retries, outcome.finish) == (len(failed), last.finish)
            assert agrees(outcome, last, profile) or isinstance(last.fault, LyingUsage)
    kinds = Counter(type(e.fault).__name__ for e in log)
    assert 0.15 < 1 - kinds["NoneType"] / len(log) < 0.25
    assert set(kinds) == {"NoneType"} | {type(f).__name__ for f in rate.kinds}
