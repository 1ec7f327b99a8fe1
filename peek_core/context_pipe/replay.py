"""Plan a stored request again and compare its bytes.

Owns: the comparison and the words for what differs. Refuses to know: where traces and texts are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from peek_core.context_pipe.assemble import Prepared, assemble
from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.packing import unpacked
from peek_core.errors import Refused
from peek_core.ports import Provider, TokenCounter
from peek_core.values.call_trace import CallTrace
from peek_core.values.canon import SERIALIZER


@dataclass(frozen=True)
class Replay:
    """A request planned again. `differs` says what, in words; empty: the same bytes and the same decisions."""

    trace: CallTrace
    prepared: Prepared
    differs: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.prepared.wire_hash == self.trace.wire_hash and not self.differs


def replay(
    trace: CallTrace,
    text: Callable[[str], str | None],
    provider: Provider,
    counter: tuple[str, TokenCounter],
    *,
    factors: dict[str, float] | None = None,
) -> Replay:
    """Plan, bind and optimize the stored snapshot for the provider as it is now. Sends nothing.

    `factors`: today's calibration, for a replay that shall say whether statistics have moved since. Raises NotFound where
    a text is no longer kept, Refused where the trace holds no snapshot.
    """
    if trace.snapshot is None:
        raise Refused(f"Call {trace.id} was stored without what a replay needs", next="Newer calls can be replayed.")
    snapshot = unpacked(trace.snapshot, text)
    differs = []
    if trace.explain.serializer != SERIALIZER:
        differs.append(f"serializer: {trace.explain.serializer} then, {SERIALIZER} now")
    if provider.capabilities.cache != snapshot.capabilities.cache:
        then, now = snapshot.capabilities.cache, provider.capabilities.cache
        differs.append(
            f"provider policy: {then.match}/{then.marker or 'no markers'} then, {now.match}/{now.marker or 'no markers'} now"
        )
        snapshot = replace(snapshot, capabilities=provider.capabilities)
    if factors is not None and factors != dict(snapshot.factors):
        differs.append("statistics: the calibration of token counts has moved")
        before = {**dict.fromkeys(factors, 1.0), **snapshot.factors}
        moved = {kind: factors.get(kind, 1.0) / was for kind, was in before.items()}
        sizes = (
            round(n * moved.get(r.kind.value, 1.0)) for r, n in zip(snapshot.records, snapshot.estimates, strict=True)
        )
        snapshot = replace(snapshot, factors=factors, estimates=tuple(sizes))
    made = assemble(snapshot, Binder(counter[1]), provider)
    if made.wire_hash != trace.wire_hash:
        differs += _sections(trace, made) or ["serializer: the same sections gave other bytes"]
    return Replay(trace, made, tuple(differs))


def _sections(trace: CallTrace, made: Prepared) -> list[str]:
    """Which sections are not where or what they were; a latched one is named as such."""
    then, now = trace.explain.sections, made.explain.sections
    found = [
        f"{'latch' if a.tier == 'latched' else 'section'}: {a.name} "
        + (f"then, {b.name} now" if a.name != b.name else f"has another {'text' if a.hash != b.hash else 'marker'}")
        for a, b in zip(then, now, strict=False)
        if (a.name, a.hash, a.marker) != (b.name, b.hash, b.marker)
    ]
    if len(then) != len(now):
        found.append(f"section: {len(then)} sections then, {len(now)} now")
    return found[:5]
