"""What a rule works on: records beside their bound sections, and the snapshot and plan they belong to.

Owns: the shared shapes of rules and the gain gate. Refuses to know: any single rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from peek_core.context_pipe.break_even import edit_pays
from peek_core.context_pipe.cache_model import predicted
from peek_core.context_pipe.catalog import Snapshot
from peek_core.context_pipe.plan import ContextPlan
from peek_core.values.call_trace import Decision
from peek_core.values.messages import PromptSection
from peek_core.values.prices import Rates
from peek_core.values.sources import Kind, SourceRecord

ASSUMED_READ, ASSUMED_OUTPUT = 0.10, 5.0
"""What cached and output tokens are taken to cost, as shares of the input price, where nobody says."""


class Placed(NamedTuple):
    """A record and the section it became. A tuple: a long run makes very many."""

    record: SourceRecord
    section: PromptSection


@dataclass(frozen=True)
class RuleContext:
    """What a rule may know besides the sections. `rebind` counts a replaced text (same counter as Bind)."""

    snapshot: Snapshot
    plan: ContextPlan
    rebind: Callable[[SourceRecord, str], PromptSection]
    _sizes: dict[int, int] = field(default_factory=dict, repr=False, compare=False)
    _totals: dict[int, tuple[Sequence[Placed], int]] = field(default_factory=dict, repr=False, compare=False)
    """Held beside what they are of, so that its identity stays taken."""

    @cached_property
    def age(self) -> Mapping[str, int]:
        """Places of the records as they were given: the order they came about in, wherever they stand by now."""
        return {record.name: n for n, record in enumerate(self.snapshot.records)}

    def size(self, placed: Placed) -> int:
        """Calibrated tokens of a section."""
        key = id(placed.section)
        size = self._sizes.get(key)
        if size is None:
            size = self._sizes[key] = self.snapshot.calibrated(placed.section.kind, placed.section.tokens)
        return size

    def cached(self, placed: Sequence[Placed]) -> int:
        """Tokens of these sections that the endpoint's cache should still hold."""
        sections = [p.section for p in placed]
        rules = self.snapshot.capabilities.cache
        return predicted(sections, [self.size(p) for p in placed], rules, self.snapshot.cache)

    def tokens(self, placed: Sequence[Placed]) -> int:
        """Calibrated tokens of all sections together; rules that change nothing pass the same tuple on."""
        held = self._totals.get(id(placed))
        if held is None:
            held = self._totals[id(placed)] = placed, sum(map(self.size, placed))
        return held[1]


Rule = Callable[[Sequence[Placed], RuleContext], tuple[tuple[Placed, ...], Decision]]


@dataclass(frozen=True)
class Verdict:
    """Whether an edit may break the cache, and why."""

    open: bool
    why: str


def gain_gate(before: Sequence[Placed], after: Sequence[Placed], taken: int, context: RuleContext) -> Verdict:
    """Whether an edit pays for the cache it breaks, and for what will have to be read back.

    `taken` counts what the model may ask for again. The edit takes X tokens out; S tokens behind it lose their place in
    the cache, by the provider's own boundaries; q of what was taken is read back, a call each. It pays for N further calls
    iff N > ((w - r)*S + q*taken*(r*T + o*R)) / (r*X), which without q is the k*S/X of break_even. Nothing is asked where
    the configuration says so, where the request would overflow or cross a price cliff, or where no cache is broken.
    """
    snapshot, plan = context.snapshot, context.plan
    removed = context.tokens(before) - context.tokens(after)
    if removed <= 0:
        return Verdict(False, "nothing would get shorter")
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
    lost = max(0, context.cached(before) - context.cached(after) - removed)
    if lost == 0:
        return Verdict(True, "nothing that is cached is broken")
    read, write, output = _ratios(snapshot.rates)
    again = snapshot.refetch_rate * taken * (read * context.tokens(after) + output * snapshot.reserves.output)
    _, needed = edit_pays(removed, lost, snapshot.expected_calls, read, write)
    needed += again / (read * removed) if read else 0.0
    told = (
        ""
        if snapshot.rates is not None and snapshot.rates.r is not None
        else f"; {ASSUMED_READ:.2f} assumed for cached tokens"
    )
    return Verdict(
        snapshot.expected_calls > needed,
        f"takes {removed:,} tokens out and breaks the cache for {lost:,}: needs more than "
        f"{needed:,.0f} further calls, {snapshot.expected_calls} expected{told}",
    )


def _ratios(rates: Rates | None) -> tuple[float, float, float]:
    """Prices of cached, written and output tokens as shares of the input's; assumed where nobody says."""
    if rates is None:
        return ASSUMED_READ, 1.0, ASSUMED_OUTPUT
    return ASSUMED_READ if rates.r is None else rates.r, rates.w, rates.o


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
