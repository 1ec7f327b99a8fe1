"""`peek lab …`: the pipeline's own experiments, on simulated providers.

Owns: starting simulators and printing tables. Refuses to know: what an experiment means. No model is asked and nothing
is paid: costs are what the same tokens would cost at a known model's prices.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import replace

from peek_core import tokens
from peek_core.context_pipe.catalog import Configuration
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.pipe import Pipe
from peek_core.context_pipe.session import Surroundings
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import Refused
from peek_core.jobs import CancelSignal
from peek_core.lab import ablations, sessions
from peek_core.lab.ablations import ABLATIONS, Ablation
from peek_core.lab.sessions import Outcome, Workload
from peek_core.ports import PriceBook
from peek_core.prices import PriceTable
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.simulator import PROFILES, Simulator
from peek_core.settings import DayLimits, EndpointSettings, RunLimits
from peek_core.values.call_trace import CallTrace
from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates

PRICED_AS = {
    "openai-prefix": "gpt-6-luna",
    "openai": "gpt-6.1-sol",
    "anthropic": "claude-sonnet-5-5",
    "deepseek": "deepseek-flash",
    "gemini": "gemini-3.8-flash",
}
"""Whose prices stand for a simulated provider's."""
ENDLESS = 10**12


class AsIf:
    """Implements ports.PriceBook: a simulated endpoint at a known model's rates, cliffs left aside."""

    def __init__(self, rates: Rates | None) -> None:
        self._rates = rates

    def rates(self, model: str, base_url: str, at: float) -> Rates | None:
        return self._rates

    def cost(self, model: str, base_url: str, usage: Usage, at: float) -> Cost | None:
        """By the rates; what the endpoint does not tell as written is billed as read fresh."""
        r = self._rates
        if r is None or usage.input is None or usage.output is None:
            return None
        cached, written = usage.cached or 0, usage.cache_write or 0
        return Cost(r.usd(usage.input - cached - written, cached, written, usage.output), r.source, r.date)

    def known(self, at: float) -> tuple[tuple[str, Rates], ...]:
        return ()


class Memory:
    """A trace sink and spill store of one session."""

    def __init__(self) -> None:
        self.traces: list[CallTrace] = []
        self._texts: dict[str, str] = {}

    def add_call(self, trace: CallTrace, bodies: Mapping[str, str], reply: str | None) -> None:
        self.traces.append(trace)

    def write(self, hash: str, text: str) -> None:
        self._texts[hash] = text

    def read(self, hash: str) -> str | None:
        return self._texts.get(hash)


class SimulatedClock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += seconds


def play(
    profile: str,
    configuration: Configuration,
    work: Workload,
    prices: PriceBook,
    loop: LoopThread,
    *,
    window: int | None = None,
    budget: int = 64_000,
    sent: list[bytes] | None = None,
) -> Outcome:
    """One session on a fresh simulated provider, over real HTTP on loopback and a clock of its own.

    `sent` is filled with the body of every request.
    """
    provided = PROFILES[profile] if window is None else replace(PROFILES[profile], window=window)
    clock, held, cancel = SimulatedClock(), Memory(), CancelSignal()
    with Simulator(provided, script=lambda r: sessions.reply(r.prompt.text), clock=clock) as simulator:
        known = None if profile == "local" else provided.window
        settings = EndpointSettings(
            simulator.base_url, "simulator", window=known, budget=budget, cache=profile, retries=0
        )
        limits = RunLimits(model_calls=ENDLESS, tokens=ENDLESS, usd=ENDLESS, wall_s=ENDLESS)
        pipe = Pipe(
            Surroundings(
                run="session",
                provider=ChatCompletions(settings, loop),
                counter=tokens.counter(),
                stats=PipelineStats(),
                sink=held,
                ledger=Ledger(limits, clock, cancel, day=DayLimits(ENDLESS, ENDLESS, ENDLESS, ENDLESS)),
                cancel=cancel,
                clock=clock,
                ids=(f"call {n}" for n in itertools.count(1)).__next__,
                emit=lambda name, body: None,
                configuration=configuration,
                prices=prices,
                spills=held,
                turns=work.turns,
            )
        )
        outcome = sessions.play(pipe, work, clock.tick, lambda: held.traces)
        if sent is not None:
            sent += [exchange.body for exchange in simulator.log]
        return outcome


def prices_of(profile: str, at: float) -> AsIf:
    """The prices that stand for a simulated provider's; unknown where none do."""
    return AsIf(dict(PriceTable().known(at)).get(PRICED_AS.get(profile, "")))


def ablate(name: str, profiles: list[str], seeds: int, turns: int | None) -> tuple[str, dict[str, list[list[str]]]]:
    """The report of an ablation, as text and as tables by provider. Raises Refused for an unknown provider."""
    unknown = sorted(set(profiles) - set(PROFILES))
    if unknown:
        raise Refused(f"The simulator has no profile {unknown[0]!r}", next=f"There are: {', '.join(PROFILES)}.")
    ablation, loop, now = ABLATIONS[name], LoopThread(), time.time()
    tables, said = (
        {},
        [f"{name}: {ablation.about}", f"{seeds} seeded sessions an arm; medians, with their range in brackets"],
    )
    for profile in profiles:
        found = _compared(ablation, profile, loop, seeds, turns, now)
        tables[profile] = ablations.rows(found)
        said += ["", f"{profile}{_priced(profile, now)}", *_lined(tables[profile]), ablations.verdict(found)]
    return "\n".join(said), tables


def _compared(
    ablation: Ablation, profile: str, loop: LoopThread, seeds: int, turns: int | None, now: float
) -> dict[str, tuple[Outcome, ...]]:
    prices = prices_of(profile, now)

    def one(arm: Configuration, work: Workload) -> Outcome:
        return play(profile, arm, work, prices, loop, window=ablation.window, budget=ablation.budget)

    return ablations.compared(ablation, one, seeds, turns)


def _priced(profile: str, at: float) -> str:
    rates = prices_of(profile, at).rates("", "", at)
    if rates is None:
        return " (no prices)"
    return f" (dollars as of {PRICED_AS[profile]}: estimates, {rates.source}, {rates.date})"


def _lined(table: list[list[str]]) -> list[str]:
    widths = [max(len(row[n]) for row in table) for n in range(len(table[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
