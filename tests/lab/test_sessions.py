"""Sixty turns on every simulated provider: bytes, predictions, costs and overflows of `default` beside `flat`."""

from __future__ import annotations

import functools
import json
import time
from itertools import pairwise

import pytest

from peek_core.cli_lab import ablate, play, prices_of
from peek_core.context_pipe.alerts import Seen, cause_of, changed_prefix
from peek_core.context_pipe.catalog import CONFIGURATIONS
from peek_core.context_pipe.plan import recomputed_level
from peek_core.errors import Refused
from peek_core.lab import ablations
from peek_core.lab.sessions import Outcome, Workload, fact, reply, spread
from peek_core.providers.loop import LoopThread
from peek_core.values.canon import escaped

CACHING = ("openai-prefix", "openai", "anthropic", "deepseek", "gemini")
EVERY = (*CACHING, "plain", "local")
PLAYED = [*((p, "flat") for p in CACHING), *((p, "default") for p in EVERY), ("openai", "paper")]
WORK = Workload(observation=(40, 600), reply=(30, 90))
TIGHT = 16_000
"""A window that sixty turns of this size outgrow; the roomy sessions have the provider's own."""
LOOP = LoopThread()


@functools.cache
def session(profile: str, configuration: str, tight: bool = False) -> tuple[Outcome, tuple[bytes, ...]]:
    sent: list[bytes] = []
    window = TIGHT if tight and profile != "local" else None
    outcome = play(
        profile,
        CONFIGURATIONS[configuration],
        WORK,
        prices_of(profile, time.time()),
        LOOP,
        window=window,
        budget=TIGHT,
        sent=sent,
    )
    return outcome, tuple(sent)


@pytest.mark.parametrize(("profile", "configuration"), PLAYED)
def test_bytes_are_equal_up_to_the_first_decided_break(profile: str, configuration: str) -> None:
    outcome, sent = session(profile, configuration)
    traces = [t for t in outcome.traces if t.analyze is not None]
    assert len(traces) >= 40
    for (was, before), (now, after) in pairwise(zip(traces, sent, strict=False)):
        seen = [Seen(was.explain, was.analyze)]
        broken_at = changed_prefix(now.explain, seen)
        if broken_at is not None:
            # Never "the text changed": a decision, a latch or a notice did it, and is named.
            assert not cause_of(now.explain, broken_at, seen).startswith("the text of"), (now.n, broken_at)
        same = [s.name for s in now.explain.sections]
        kept = same.index(broken_at) if broken_at in same else min(len(same), len(was.explain.sections))
        end = _end_of(before, kept)
        assert before[:end] == after[:end], (now.n, broken_at)
        assert end > 1_000


@pytest.mark.parametrize(("profile", "configuration"), PLAYED)
def test_every_level_can_be_recomputed_from_its_trace(profile: str, configuration: str) -> None:
    outcome, _ = session(profile, configuration)
    for t in outcome.traces:
        assert recomputed_level(t.explain, CONFIGURATIONS[configuration]).value == t.explain.level


@pytest.mark.parametrize(("profile", "configuration"), [c for c in PLAYED if c[0] in CACHING])
def test_the_hit_rate_is_within_two_points_of_what_was_predicted(profile: str, configuration: str) -> None:
    outcome, _ = session(profile, configuration)
    assert outcome.hit_rate is not None and outcome.predicted_rate is not None
    assert abs(outcome.hit_rate - outcome.predicted_rate) <= 0.02, (outcome.hit_rate, outcome.predicted_rate)


@pytest.mark.parametrize("profile", CACHING)
def test_default_costs_at_most_a_hundredth_more_than_flat_where_both_are_right(profile: str) -> None:
    flat, default = session(profile, "flat")[0], session(profile, "default")[0]
    assert flat.right and default.right
    assert flat.usd is not None and default.usd is not None
    assert default.usd <= 1.01 * flat.usd, (default.usd, flat.usd)


@pytest.mark.parametrize("profile", ["openai-prefix", "anthropic", "deepseek"])
def test_flat_overflows_a_tight_window_and_default_does_not(profile: str) -> None:
    flat, default = session(profile, "flat", tight=True)[0], session(profile, "default", tight=True)[0]
    assert (flat.finished, flat.refused) == (False, 1)
    assert (default.finished, default.right, default.refused) == (True, True, 0)


def test_a_small_server_that_cuts_in_silence_is_caught_at_it() -> None:
    outcome, _ = session("local", "default")
    assert any(t.analyze is not None and t.analyze.truncated for t in outcome.traces)


def test_the_little_agent_can_be_wrong() -> None:
    """What a prompt doesn't hold is read back; what it holds wrong is used wrong."""
    held = f"FACT-3 is {fact(0, 3)}\nNEXT: use FACT-3\nLENGTH: 5"
    assert f"used FACT-3 = {fact(0, 3)}" in reply(held)
    assert "recall('observation 3')" in reply("NEXT: use FACT-3\nLENGTH: 5")
    assert "used FACT-3 = 00000000" in reply("FACT-3 is 00000000\nNEXT: use FACT-3\nLENGTH: 5")


@pytest.mark.parametrize("name", list(ablations.ABLATIONS))
def test_an_ablation_tells_every_arm_and_what_may_be_said(name: str) -> None:
    text, tables = ablate(name, ["openai"], seeds=1, turns=6)
    arms = [a.name for a in ablations.ABLATIONS[name].arms]
    assert [row[0] for row in tables["openai"]] == ["arm", *arms]
    assert "estimates, genai-prices" in text
    assert "right 1 and 1 of 1" in text


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(Refused, match="no profile 'nobody'"):
        ablate("gates", ["nobody"], 1, 5)


def test_a_spread_is_a_median_and_its_range() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2 (1 to 3)"
    assert spread([1_234_567.0]) == "1,234,567"
    assert spread([None, None]) == "–"


def _end_of(wire: bytes, sections: int) -> int:
    """Where the first so many sections of a request end in its bytes. The sessions' texts hold no blank line."""
    at = 0
    for message in json.loads(wire)["messages"]:
        content = message["content"]
        for text in [p["text"] for p in content] if isinstance(content, list) else content.split("\n\n"):
            if sections == 0:
                return at
            at = wire.index(escaped(text), at) + len(escaped(text))
            sections -= 1
    return at
