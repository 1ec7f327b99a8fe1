"""What a rule works on: records beside their bound sections, and the snapshot and plan they belong to.

Owns: the shared shapes of rules and the gain gate. Refuses to know: any single rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from peek_core.context_pipe.break_even import edit_pays
from peek_core.context_pipe.catalog import Snapshot
from peek_core.context_pipe.plan import ContextPlan
from peek_core.values.call_trace import Decision
from peek_core.values.messages import PromptSection
from peek_core.values.sources import Kind, SourceRecord

ASSUMED_READ = 0.10
"""What reading from a cache is taken to cost, as a share of the input price, where nobody says."""


@dataclass(frozen=True)
class Placed:
    """A record and the section it became."""

    record: SourceRecord
    section: PromptSection


@dataclass(frozen=True)
class RuleContext:
    """What a rule may know besides the sections. `rebind` counts a replaced text (same counter as Bind)."""

    snapshot: Snapshot
    plan: ContextPlan
    rebind: Callable[[SourceRecord, str], PromptSection]

    def size(self, placed: Placed) -> int:
        """Calibrated tokens of a section."""
        return self.snapshot.calibrated(placed.section.kind, placed.section.tokens)

    def tokens(self, placed: Sequence[Placed]) -> int:
        """Calibrated tokens of all sections together."""
        return sum(map(self.size, placed))


Rule = Callable[[Sequence[Placed], RuleContext], tuple[tuple[Placed, ...], Decision]]


@dataclass(frozen=True)
class Verdict:
    """Whether an edit may break the cache, and why."""

    open: bool
    why: str


def gain_gate(before: Sequence[Placed], changed: Collection[str], removed: int, context: RuleContext) -> Verdict:
    """Whether removing `removed` tokens pays for what must be read or written again behind the first changed section.

    It pays for N further calls iff N > k*S/X with k = (w - r)/r (break_even.edit_pays). Nothing is asked where the
    configuration says so, where the request is about to overflow or to cross a price cliff, or where the cache is cold.
    """
    snapshot, plan = context.snapshot, context.plan
    if not snapshot.configuration.pays:
        return Verdict(True, "this configuration asks for no gain")
    if snapshot.recovery:
        return Verdict(True, "it would not fit otherwise")
    if plan.forced:
        return Verdict(True, f"{plan.used + plan.reserve:,} of at most {plan.hard:,} tokens: it must")
    cliff = snapshot.base.cliff
    if cliff is not None and plan.used >= cliff:
        return Verdict(True, f"beyond {cliff:,} tokens every token costs more")
    if snapshot.capabilities.cache.match == "none":
        return Verdict(True, "this endpoint has no cache to break")
    if snapshot.cold:
        return Verdict(True, "the cache is cold: nothing is broken")
    first = next((n for n, p in enumerate(before) if p.record.name in changed), len(before))
    after = context.tokens(before[first:]) - removed
    rates = snapshot.rates
    read = ASSUMED_READ if rates is None or rates.r is None else rates.r
    write = 1.0 if rates is None else rates.w
    pays, needed = edit_pays(removed, max(0, after), snapshot.expected_calls, read, write)
    told = (
        ""
        if rates is not None and rates.r is not None
        else f"; price of cached tokens unknown, {ASSUMED_READ:.2f} assumed"
    )
    calls = f"{needed:,.0f}" if needed < 1e6 else "endless"
    return Verdict(
        pays,
        f"takes {removed:,} tokens out and breaks the cache for {max(0, after):,}: needs more than {calls} further calls, "
        f"{snapshot.expected_calls} expected{told}",
    )


def rounds(placed: Sequence[Placed]) -> list[tuple[int, int]]:
    """Places (start, end) of whole rounds: neighbours of one pair with an observation among them."""
    found, at = [], 0
    while at < len(placed):
        end = at + 1
        pair = placed[at].record.pair
        while pair and end < len(placed) and placed[end].record.pair == pair:
            end += 1
        if pair and any(p.record.kind is Kind.OBSERVATION for p in placed[at:end]):
            found.append((at, end))
        at = end
    return found
