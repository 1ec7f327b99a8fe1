"""The pipe against every provider there is: laws that no double can stand in for.

The cache model is checked against the simulator, which keeps real prefixes by each provider's documented rule: what EXPLAIN
predicts is what is read, turn by turn, through clearing, idling and forks.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.cache_model import KEPT
from peek_core.context_pipe.catalog import DEFAULT, FLAT, PAPER
from peek_core.context_pipe.execute import verify, verify_wire
from peek_core.providers.builtin.provider import BuiltinAnalyst
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.scripted import Scripted
from peek_core.providers.simulator import PROFILES, Simulator
from peek_core.providers.simulator.tokens import count
from peek_core.settings import DayLimits, EndpointSettings, RunLimits
from peek_core.values.sources import Kind, Priority, Scope
from tests.context_pipe.kit import Clock, Kit, named, record, steps

LOOP = LoopThread()
CACHED = ["openai-prefix", "openai", "anthropic", "deepseek", "gemini"]
FIXED = [
    record("identity", Kind.IDENTITY, "i" * 8_000, Scope.GLOBAL, role="system", priority=Priority.NEVER),
    record("functions", Kind.HOST_FUNCTIONS, "f" * 8_000, Scope.GLOBAL, role="system", priority=Priority.NEVER),
    record("profile", Kind.PROFILE, "p" * 8_000, Scope.SESSION, priority=Priority.NEVER),
    record("map", Kind.MEMORY, "m" * 4_000, Scope.SESSION, priority=Priority.NEVER),
    record("question", Kind.QUESTION, "q" * 400, priority=Priority.NEVER),
]
FRAMING = 40
"""Tokens by which message joints may move a boundary where sections are joined to messages."""


def cell(n: int) -> str:
    return f"code {n}\n" * 40


def history(count: int, size: int = 4_000) -> list:
    """Rounds whose cells are the replies the script gives."""
    made = steps(count, size)
    return [replace(r, text=cell(int(r.name.split()[1]))) if r.name.startswith("cell") else r for r in made]


class Endpoint:
    """A pipe over a simulator of one profile, on one clock."""

    def __init__(self, name: str, configuration=DEFAULT, **settings) -> None:
        self.clock = Clock(1_000_000.0)
        self.server = Simulator(PROFILES[name], script=lambda r: cell(r.number + 1), clock=self.clock)
        told = {"window": 64_000, "budget": 64_000, "retries": 0, **settings}
        provider = ChatCompletions(EndpointSettings(self.server.base_url, "m", cache=name, **told), LOOP)
        limits, day = RunLimits(wall_s=1e9), DayLimits(wall_s=1e9)
        self.kit = Kit(
            provider=provider, clock=self.clock, count=count, configuration=configuration, limits=limits, day=day
        )

    def __enter__(self) -> Endpoint:
        self.server.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self.server.__exit__(*failure)

    def step(self, rounds: int, size: int = 4_000) -> tuple[int, int]:
        """Tokens predicted and really read."""
        self.clock.now += 5.0
        self.kit.pipe("step", [*FIXED, *history(rounds, size)])
        return self.kit.last.explain.predicted_cached, self.server.log[-1].cached


@pytest.mark.parametrize("configuration", [FLAT, PAPER, DEFAULT], ids=lambda c: c.name)
@pytest.mark.parametrize("name", CACHED)
def test_what_is_predicted_is_what_is_read_while_a_run_grows(name: str, configuration) -> None:
    with Endpoint(name, configuration) as endpoint:
        seen = [endpoint.step(n) for n in range(8)]
    assert seen[0] == (0, 0)
    marked = bool(PROFILES[name].marker) and configuration is not FLAT
    for predicted, read in seen[1:]:
        assert abs(predicted - read) <= (0 if marked else FRAMING + PROFILES[name].step), seen
        assert read > 4_000 or (configuration is FLAT and name == "anthropic"), seen


@pytest.mark.parametrize("name", CACHED)
def test_clearing_moves_the_prediction_to_where_the_prefix_now_ends(name: str) -> None:
    with Endpoint(name, replace(DEFAULT, pays=False), budget=22_000, window=22_000) as endpoint:
        seen = [endpoint.step(n, size=8_000) for n in range(KEPT)]  # what is older is forgotten, and predicted as gone
        cleared = [named(t, "clear_observations").sections for t in endpoint.kit.sink.traces]
    assert len(set(cleared)) >= 3, "it must clear more than once"
    for predicted, read in seen[1:]:
        assert abs(predicted - read) <= FRAMING + PROFILES[name].step, (name, seen, cleared)


@pytest.mark.parametrize("name", CACHED)
def test_after_idling_for_as_long_as_entries_live_the_cache_is_cold(name: str) -> None:
    with Endpoint(name) as endpoint:
        endpoint.step(0)
        endpoint.step(1)
        endpoint.clock.now += PROFILES[name].ttl_s() - 5.0
        assert endpoint.step(2) == (0, 0)
        assert endpoint.kit.last.explain.cold
        predicted, read = endpoint.step(3)
        assert predicted > 4_000 < read and not endpoint.kit.last.explain.cold


@pytest.mark.parametrize("name", CACHED)
def test_a_sub_call_on_the_prefix_reads_what_its_parent_wrote(name: str) -> None:
    with Endpoint(name) as endpoint:
        endpoint.step(0)
        endpoint.step(1)
        asked = [[record("prompt", Kind.SUB_CALL, f"{n}" * 400)] for n in range(2)]
        for prompt in asked:
            endpoint.kit.pipe.batch("llm_query", [prompt], needs_prefix=True)
            predicted, read = endpoint.kit.last.explain.predicted_cached, endpoint.server.log[-1].cached
            assert abs(predicted - read) <= FRAMING + PROFILES[name].step
        assert read >= 6_500


@pytest.mark.parametrize("configuration", [FLAT, PAPER, DEFAULT], ids=lambda c: c.name)
@pytest.mark.parametrize(
    "provider",
    [Scripted([]), BuiltinAnalyst(), *(ChatCompletions(EndpointSettings("http://127.0.0.1:9/v1", "m", cache=c), LOOP)
                                       for c in ("plain", "openai", "anthropic"))],
    ids=lambda p: f"{p.name} {p.capabilities.cache.marker}",
)  # fmt: skip
def test_every_provider_sends_what_was_decided(provider, configuration) -> None:
    made = Kit(provider=provider, configuration=configuration)
    for n in range(0, 30, 6):
        prepared = made.pipe.prepare("step", [*FIXED, *history(n, 16_000)])
        verify(prepared.snapshot.records, prepared.placed)
        verify_wire(prepared.wire, prepared.placed, structured=not provider.capabilities.language_model)
        assert provider.encode([p.section for p in prepared.placed], None) == prepared.wire


@pytest.mark.parametrize("cache", ["openai", "anthropic"])
def test_a_marker_changes_no_other_byte(cache: str) -> None:
    """Else the request after the next would not find what the marker wrote."""
    provider = ChatCompletions(EndpointSettings("http://127.0.0.1:9/v1", "m", cache=cache), LOOP)
    sections = [p.section for p in Kit(provider=provider).pipe.prepare("step", [*FIXED, *history(2)]).placed]
    marked = provider.encode([replace(s, marker=True) for s in sections], None)
    field = {
        "anthropic": b',"cache_control":{"type":"ephemeral"}',
        "openai": b',"prompt_cache_breakpoint":{"mode":"explicit"}',
    }
    assert marked.count(field[cache]) == len(sections)
    assert marked.replace(field[cache], b"") == provider.encode([replace(s, marker=False) for s in sections], None)
