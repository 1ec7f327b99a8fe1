"""Every fault of an endpoint, a store or a serializer, and the state each one leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from peek_core.context_pipe.catalog import DEFAULT, FLAT, PAPER
from peek_core.errors import Broken, Cancelled, EndpointFailed, TooLong
from peek_core.providers import simulator as sim
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.simulator import LOCAL, PLAIN, Fault, Profile, Simulator
from peek_core.providers.simulator.tokens import count
from peek_core.settings import EndpointSettings
from peek_core.values.canon import canonical_json
from peek_core.values.messages import PromptSection, Usage
from peek_core.values.sources import Kind, Priority, Scope
from tests.context_pipe.kit import QUESTION, RULES, Kit, Model, Spills, named, quarter, read_back, record, steps

LOOP = LoopThread()
REPLY = "a whole reply that is longer than one chunk of forty characters. END"
RECORDS = [RULES, QUESTION, *steps(2, 400)]


def talk(server: Simulator, *, retries: int = 0, window: int = 64_000, timeout: float = 5.0, **more: Any) -> Kit:
    """A pipe over a simulator, counting as it counts."""
    settings = EndpointSettings(
        server.base_url, "m", window=window, budget=window, retries=retries, read_timeout_s=timeout
    )
    return Kit(provider=ChatCompletions(settings, LOOP), count=count, **more)


# What fails

FAILS: Sequence[tuple[Fault, str]] = (
    (sim.HttpError(429, retry_after_s=0.0), "The endpoint is busy (429)"),
    (sim.HttpError(429, retry_after_s=0.0, as_date=True), "The endpoint is busy (429)"),
    (sim.HttpError(500), "The endpoint failed (500)"),
    (sim.HttpError(503), "The endpoint failed (503)"),
    (sim.HttpError(401), "The endpoint refused the key (401)"),
    (sim.HttpError(404), "The endpoint knows no model 'm'"),
    (sim.HttpError(400), "The endpoint refused the request (400)"),
    (sim.Redirect("http://127.0.0.1:9/elsewhere"), "points to another address (307)"),
    (sim.Garbage(), "something that is no reply"),
    (sim.Garbage('{"ok": true}', "application/json"), "something that is no reply"),
    (sim.WrongJson(), "something that is no reply"),
    (sim.Cut(), "cut off before it ended"),
    (sim.Cut("dropped"), "cut off before it ended"),
    (sim.Cut("silently"), "sent nothing for"),
    (sim.Hang(), "sent nothing for"),
    (sim.Hang(headers=True), "sent nothing for"),
    (sim.ErrorEvent(), "reported an error while replying: the model fell over"),
)


@pytest.mark.parametrize(("fault", "sentence"), FAILS, ids=lambda f: str(f)[:40])
def test_a_failed_call_leaves_a_trace_a_recovery_state_and_nothing_else(fault: Fault, sentence: str) -> None:
    with Simulator(script=[REPLY] * 9, faults=[None, fault]) as server:
        made = talk(server, timeout=0.3 if "sent nothing" in sentence else 5.0)
        made.pipe("step", [RULES, QUESTION])
        made.pipe.notice("careful")
        spent, samples, trails = (
            made.ledger.spent(),
            made.stats.usage_samples(),
            made.stats.trails(made.provider.endpoint, "m"),
        )
        with pytest.raises(EndpointFailed) as failure:
            made.pipe("step", RECORDS)
        assert sentence in failure.value.sentence()
        failed = made.last
        assert (failed.analyze, failed.error, failed.alerts) == (None, failure.value.sentence(), ())
        assert failed.snapshot is not None and made.sink.replies == [REPLY, None]
        assert made.stats.usage_samples() == samples and made.stats.trails(made.provider.endpoint, "m") == trails
        assert made.stats.recoveries("m", "step") == 1
        assert made.ledger.spent() == {**spent, "model_calls": 2}
        made.pipe("step", RECORDS)
        assert made.last.wire_hash == failed.wire_hash, "the next request is what the failed one was, its notice too"
        assert [s.name for s in made.last.explain.sections][-1] == "notice 1"
        assert made.last.explain.reserves.reason.startswith("p95 after a recovery of 1 replies")
        assert made.stats.recoveries("m", "step") == 0


def test_a_refusal_for_length_that_nothing_can_help_is_that_failure_too() -> None:
    with Simulator(script=[REPLY] * 9, faults=[sim.TooLong()]) as server:
        made, records = talk(server), [RULES, record("question", Kind.QUESTION, "q" * 80_000, priority=Priority.NEVER)]
        with pytest.raises(TooLong, match="and nothing more of it can be left out"):
            made.pipe("step", records)
        assert len(server.log) == 1 == len(made.sink.traces)
        assert made.stats.recoveries("m", "step") == 1 and made.ledger.spent()["tokens"] == 0
        assert made.stats.ceiling(made.provider.endpoint, "m") is not None
        assert made.pipe("step", records).text == REPLY
        assert made.stats.ceiling(made.provider.endpoint, "m") is None, "it was no window after all"


def test_our_own_retries_are_counted_and_pay_once() -> None:
    with Simulator(script=[REPLY], faults=[sim.HttpError(429, retry_after_s=0.0), sim.HttpError(500)]) as server:
        made = talk(server, retries=2)
        assert made.pipe("step", RECORDS).text == REPLY
        assert made.last.analyze.retries == 2 and len(server.log) == 3
        assert made.ledger.spent()["model_calls"] == 1 and len(made.sink.traces) == 1
        assert made.stats.recoveries("m", "step") == 0
        assert {e.body for e in server.log} == {server.log[0].body}


def test_two_failures_in_a_row_are_a_loop_when_a_reply_comes_at_last() -> None:
    with Simulator(script=[REPLY], faults=[sim.HttpError(500)] * 2) as server:
        made = talk(server)
        for _ in range(2):
            with pytest.raises(EndpointFailed):
                made.pipe("step", RECORDS)
        made.pipe("step", RECORDS)
        assert [a.name for a in made.last.alerts] == ["recovery_loop"]


def test_a_person_who_stops_a_hanging_call_causes_no_recovery() -> None:
    with Simulator(faults=[sim.Hang()]) as server:
        made = talk(server)
        threading.Thread(target=lambda: (server.arrived.wait(5.0), made.cancel.cancel())).start()
        with pytest.raises(Cancelled):
            made.pipe("step", RECORDS)
    assert made.stats.recoveries("m", "step") == 0 and made.ledger.spent()["tokens"] == 0
    assert made.last.analyze is None and made.last.error.startswith("Stopped")
    assert made.stats.usage_samples()["replies"] == {}


# What spoils a reply and is a reply all the same

SPOILS: Sequence[tuple[Fault, str, str, Usage | None]] = (
    (sim.SlowFirstByte(0.01), REPLY, "stop", None),
    (sim.SlowChunks(0.001), REPLY, "stop", None),
    (sim.FinishLength(), REPLY[:32], "length", None),
    (sim.DuplicateChunks(), REPLY[:40] * 2 + REPLY[40:] * 2, "stop", None),
    (sim.LyingUsage("missing"), REPLY, "stop", Usage()),
    (sim.LyingUsage("negative"), REPLY, "stop", Usage()),
    (sim.LyingUsage("strings"), REPLY, "stop", None),  # the right numbers, as text
)


@pytest.mark.parametrize(("fault", "text", "finish", "usage"), SPOILS, ids=lambda f: str(f)[:30])
def test_a_spoiled_reply_is_one_and_what_was_not_said_is_unknown(
    fault: Fault, text: str, finish: str, usage: Usage | None
) -> None:
    with Simulator(script=[REPLY], faults=[fault]) as server:
        made = talk(server)
        done = made.pipe("step", RECORDS)
        (exchange,) = server.log
    assert (done.text, done.finish) == (text, finish)
    said = usage or Usage(input=exchange.prompt, output=exchange.completion)
    assert (made.last.analyze.usage.input, made.last.analyze.usage.output) == (said.input, said.output)
    assert made.last.error is None and not made.last.analyze.truncated
    taken = (said.input or made.last.explain.tokens) + (count(text) if said.output is None else said.output)
    assert made.ledger.spent()["tokens"] == taken
    assert len(made.stats.usage_samples()["replies"]["m|step"]) == 1
    assert made.stats.factors(made.provider.endpoint, "m") == {} or usage is None


def test_an_endpoint_that_counts_a_tenth_is_said_to_have_cut_and_teaches_the_calibration_nothing() -> None:
    with Simulator(script=[REPLY], faults=[sim.LyingUsage("too_small")]) as server:
        made = talk(server)
        made.pipe("step", RECORDS)
    assert made.last.analyze.truncated and made.stats.factors(made.provider.endpoint, "m") == {}


# A request longer than the endpoint takes


def small(window: int) -> Profile:
    return replace(PLAIN, window=window)


@pytest.mark.parametrize("configuration", [DEFAULT, PAPER], ids=lambda c: c.name)
@pytest.mark.parametrize(
    ("real", "rounds", "size"),
    [
        (6_000, 10, 4_000),
        (8_000, 20, 3_000),
        (16_000, 40, 4_000),
        (12_000, 12, 16_000),
        (5_000, 4, 16_000),
        (9_000, 3, 12_000),
    ],
)
def test_a_window_smaller_than_assumed_is_found_within_two_recoveries(
    configuration, real: int, rounds: int, size: int
) -> None:
    with Simulator(small(real), script=lambda _: REPLY) as server:
        made = talk(server, configuration=configuration)
        records = [RULES, QUESTION, *steps(rounds, size)]
        assert made.pipe("step", records).text == REPLY
        refused = [e for e in server.log if e.status == 400]
        assert 1 <= len(refused) <= 2 and server.log[-1].prompt <= real
        prompts = [e.prompt for e in server.log]
        assert prompts == sorted(prompts, reverse=True) and len(set(prompts)) == len(prompts)
        # Traces of all, samples of one; what was tried is told.
        assert [t.error is None for t in made.sink.traces] == [False] * len(refused) + [True]
        assert [t.explain.recovery for t in made.sink.traces][-1] >= len(refused)
        told = [body for name, body in made.events if name == "recovery"]
        assert [b["tokens_after"] < b["tokens_before"] for b in told] == [True] * len(refused)
        assert len(made.stats.usage_samples()["replies"]["m|step"]) == 1
        assert made.ledger.spent()["tokens"] == server.log[-1].prompt + server.log[-1].completion
        # The window is known from now on: the next request is not refused again.
        made.pipe("step", [*records, *steps(1, 400, first=rounds + 1)])
        assert server.log[-1].status == 200
        assert made.last.explain.base.ceiling is not None
        assert read_back(made.pipe, "observation 1") == "1" * size


def test_a_request_that_was_compacted_already_goes_straight_to_the_last_resort() -> None:
    """The first recovery could leave out nothing more than the request it follows; the second can."""
    with Simulator(small(4_000), script=lambda _: REPLY) as server:
        made = talk(server, window=8_000, configuration=replace(DEFAULT, drop_at_least=99))
        made.pipe("step", [RULES, QUESTION, *steps(4, 7_200)])
        assert [e.status for e in server.log] == [400, 200]
        assert [t.explain.recovery for t in made.sink.traces] == [0, 2]


def test_flat_leaves_out_nothing_and_says_so() -> None:
    with Simulator(small(6_000), script=lambda _: REPLY) as server:
        made = talk(server, configuration=FLAT)
        with pytest.raises(TooLong) as failure:
            made.pipe("step", [RULES, QUESTION, *steps(10, 4_000)])
        assert "and nothing more of it can be left out" in failure.value.what
        assert failure.value.next == "Ask a narrower question, or start a new conversation."
        assert len(server.log) == len(made.sink.traces) == 1
        assert [name for name, _ in made.events] == []


def test_what_does_not_fit_after_two_recoveries_is_given_up() -> None:
    with Simulator(small(500), script=lambda _: REPLY) as server:
        made = talk(server)
        with pytest.raises(TooLong):
            made.pipe("step", [RULES, QUESTION, *steps(10, 4_000)])
        assert len(server.log) == 3 and all(t.error for t in made.sink.traces)
        assert made.ledger.spent()["tokens"] == 0 and made.ledger.spent()["model_calls"] == 3


# A request that was cut in silence


@pytest.mark.parametrize("characters", [28_000, 40_000, 120_000])
def test_a_prompt_cut_in_silence_is_found_out_and_teaches_nothing(characters: int) -> None:
    """A small server keeps the last 4,096 tokens and counts what is left."""
    with Simulator(LOCAL, script=lambda _: REPLY) as server:
        made = talk(server)
        profile = record("profile", Kind.PROFILE, "p" * characters, Scope.SESSION, priority=Priority.NEVER)
        made.pipe("step", [RULES, profile, QUESTION])
        assert made.last.analyze.usage.input == 4_096 and made.last.analyze.truncated
        estimated = made.last.explain.tokens
        assert ("truncated", {"source": "step", "estimated": estimated, "counted": 4_096}) in made.events
        assert "predictive_miss" in {a.name for a in made.last.alerts}
        assert made.stats.factors(made.provider.endpoint, "m") == {}
        made.pipe("step", [RULES, profile, QUESTION])
        assert made.last.explain.tokens == estimated


def test_a_prompt_cut_in_silence_does_not_prove_that_longer_ones_are_taken() -> None:
    with Simulator(LOCAL, script=lambda _: REPLY) as server:
        made = talk(server)
        made.stats.refused_at(made.provider.endpoint, "m", 5_000)
        made.pipe("step", [RULES, record("profile", Kind.PROFILE, "p" * 40_000, priority=Priority.NEVER)])
        assert made.last.analyze.truncated and made.stats.ceiling(made.provider.endpoint, "m") == 5_000


def test_a_prompt_that_fits_is_not_said_to_be_cut() -> None:
    with Simulator(LOCAL, script=lambda _: REPLY) as server:
        made = talk(server)
        made.pipe("step", [RULES, QUESTION, record("p", Kind.PROFILE, "p" * 14_000)])
        assert not made.last.analyze.truncated and "truncated" not in [name for name, _ in made.events]


# A serializer that sends something else


class Dropping(Model):
    """Leaves out the second section."""

    def encode(self, sections: Sequence[PromptSection], schema: Any) -> bytes:
        return super().encode([s for n, s in enumerate(sections) if n != 1], schema)


class Reordering(Model):
    """Puts system sections first, as some gateways do."""

    def encode(self, sections: Sequence[PromptSection], schema: Any) -> bytes:
        return super().encode(sorted(sections, key=lambda s: s.name), schema)


class Shortening(Model):
    """Cuts long texts."""

    def encode(self, sections: Sequence[PromptSection], schema: Any) -> bytes:
        return super().encode([replace(s, text=s.text[:100]) for s in sections], schema)


class Escaping(Model):
    """Writes other characters than it was given."""

    def encode(self, sections: Sequence[PromptSection], schema: Any) -> bytes:
        return canonical_json([s.text.replace("H", "&#72;") for s in sections]).encode()


def test_a_cell_that_was_given_apart_from_its_observation_is_not_sent() -> None:
    made, (cell, observation) = Kit(provider=Model()), steps(1, 8)
    with pytest.raises(Broken, match="Prompt sections of step-1 were torn apart"):
        made.pipe("step", [RULES, cell, QUESTION, observation])
    assert made.provider.wires == []


@pytest.mark.parametrize(
    ("provider", "named_section"),
    [(Dropping, "question"), (Reordering, "question"), (Shortening, "rules"), (Escaping, "question")],
)
def test_what_would_be_sent_otherwise_than_decided_is_not_sent_at_all(
    provider: type[Model], named_section: str
) -> None:
    made = Kit(provider=provider())
    made.pipe.notice("careful")
    with pytest.raises(
        Broken, match=f"Prompt section {named_section} is not in the request as it was decided"
    ) as failure:
        made.pipe("step", RECORDS)
    assert failure.value.next == "Nothing was sent. Ask again; if it stays, report it."
    assert made.provider.wires == [] and made.sink.traces == [] and made.events == []
    assert set(made.ledger.spent().values()) == {0}
    assert made.stats.as_data() == Kit(provider=Model()).stats.as_data()
    assert len(made.pipe._session.notices.due()) == 1


# A store that can't be written

LONG = record("profile", Kind.PROFILE, "p" * 60_000, Scope.SESSION, recoverable=True, priority=Priority.NEVER)
"""15,000 tokens."""


def test_without_room_in_the_store_a_section_that_fits_is_sent_whole_and_a_decision_says_so() -> None:
    made = Kit(provider=Model(count=quarter), spills=Spills(full=True))
    made.pipe("step", [RULES, LONG, QUESTION])
    assert LONG.text.encode() in made.provider.wires[0]
    down, *_, closed = [d for d in made.last.explain.decisions if d.rule == "spill"]
    assert (down.applied, down.sections) == (False, ("profile",))
    assert down.reason == "the store failed (No space left on the device): sent whole"
    assert closed.reason == "there is no store to spill to just now"
    assert read_back(made.pipe, "profile") == LONG.text
    made.pipe._a.spills.full = False
    made.pipe("step", [RULES, LONG, QUESTION])
    assert named(made.last, "spill").applied, "nothing is cached here: it may be spilled again"


def test_without_room_in_the_store_and_in_the_window_nothing_is_sent() -> None:
    made = Kit(provider=Model(count=quarter, window=16_000), spills=Spills(full=True))
    with pytest.raises(
        Broken, match="profile must be kept in the store to fit the model's window, and the store failed"
    ) as e:
        made.pipe("step", [RULES, LONG, QUESTION])
    assert (e.value.where, e.value.next[:16]) == ("No space left on the device", "Check free space")
    assert made.provider.wires == [] and made.sink.traces == [] and set(made.ledger.spent().values()) == {0}


def test_while_the_store_is_down_plan_counts_what_was_spilled_before_as_whole() -> None:
    spills = Spills()
    made = Kit(provider=Model(count=quarter), spills=spills)
    made.pipe("step", [RULES, LONG, QUESTION])
    spills.full = True
    made.pipe("step", [RULES, LONG, QUESTION])
    assert [t.explain.used for t in made.sink.traces] == [15_103, 15_103] == [15_103, made.last.explain.tokens]
    spills.full = False
    made.pipe("step", [RULES, LONG, QUESTION])
    made.pipe("step", [RULES, LONG, QUESTION])
    assert made.last.explain.used == made.last.explain.tokens < 3_000


def test_a_store_that_fails_in_a_sub_call_leaves_the_trace_of_the_prefix_decision() -> None:
    spills = Spills()
    made = Kit(provider=Model(count=quarter), spills=spills)
    made.pipe("step", [RULES, QUESTION])
    spills.full = True
    made.pipe.batch("llm_query", [[replace(LONG, name="prompt", kind=Kind.SUB_CALL)]], needs_prefix=True)
    assert [d.rule for d in made.last.explain.decisions][:2] == ["fork_prefix", "spill"]


def test_a_store_that_fails_during_a_recovery_does_not_undo_the_recovery() -> None:
    """The second request must not be longer than the one that was refused."""
    spills = Spills()
    made = Kit(provider=Model(count=quarter, takes=20_000), spills=spills)
    made.pipe("step", [RULES, LONG, QUESTION])
    spills.full = True
    records = [RULES, LONG, QUESTION, *steps(6, 16_000)]
    made.pipe("step", records)
    tried = made.sink.traces[1:]
    assert [t.error is None for t in tried] == [False, False, True]
    assert [t.explain.recovery for t in tried] == [0, 1, 2]
    sizes = [t.explain.tokens for t in tried]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3 and all(size > 15_000 for size in sizes)
