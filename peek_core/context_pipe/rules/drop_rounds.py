"""Drop the oldest whole rounds (a cell and its observation), leaving one note that says so.

Gate: compression level aggressive_prune even after what other rules took out, at least four rounds that may go, never the
newest few, and only where it pays or must. Rounds once dropped stay dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from peek_core.context_pipe.plan import THRESHOLDS, CompressionLevel, level_of
from peek_core.context_pipe.rules.working import Placed, RuleContext, gain_gate, rounds
from peek_core.values.call_trace import Decision
from peek_core.values.sources import ANCHORS, Kind, LifecycleTier, Priority, Scope, SourceRecord

NAME = "drop_rounds"
NOTE = "rounds left out"
TARGET = THRESHOLDS[-1][0]
"""Share of the base to come down to, so that the next drop is far away."""


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Leave out rounds from the oldest end; everything else stays, in its order."""
    before, config, snapshot = context.tokens(placed), context.snapshot.configuration, context.snapshot
    here = {p.record.name for p in placed}
    gone = [r for r in snapshot.records if r.name in snapshot.held.dropped and r.name not in here]
    held = tuple(r.name for r in gone) if NOTE in here else ()
    earlier = len({r.pair for r in snapshot.records if r.name in held})

    def kept(why: str) -> tuple[tuple[Placed, ...], Decision]:
        said = f"{earlier} rounds dropped before stay dropped; {why}" if earlier else why
        return tuple(placed), Decision(NAME, bool(earlier), said, before, before, held)

    if context.plan.level is not CompressionLevel.AGGRESSIVE_PRUNE:
        return kept(f"level {context.plan.level.value} is below aggressive_prune")
    left = level_of((before + context.plan.reserve) / context.plan.limit)
    if left is not CompressionLevel.AGGRESSIVE_PRUNE and not snapshot.recovery:
        return kept(f"after what other rules took out the level is {left.value}")
    keep, least = (1, 1) if snapshot.recovery > 1 else (config.keep_observations, config.drop_at_least)
    able = [(s, e) for s, e in rounds(placed) if all(droppable(p) for p in placed[s:e])]
    able = sorted(able, key=lambda r: context.age[placed[r[0]].record.name])[: -keep or None]
    if len(able) < least:
        return kept(f"only {len(able)} rounds may go, fewer than {least}")
    chosen = _enough(able, placed, least, context)
    out = without_rounds(placed, chosen, earlier + len(chosen), context)
    verdict = gain_gate(placed, out, len(chosen), context)
    if not verdict.open:
        return kept(verdict.why)
    names = tuple(p.record.name for start, end in chosen for p in placed[start:end])
    reason = f"{len(chosen)} oldest rounds dropped; {verdict.why}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), (*held, *names))


def without_rounds(
    placed: Sequence[Placed], gone: Sequence[tuple[int, int]], count: int, context: RuleContext
) -> tuple[Placed, ...]:
    """The sections without the rounds at these places, and with one note, where the first of all `count` was."""
    if not gone:
        return tuple(placed)
    places = {n for start, end in gone for n in range(start, end)}
    noted = next((n for n, p in enumerate(placed) if p.record.name == NOTE), None)
    at = min(places) if noted is None else noted
    note = _note(count, context)
    return tuple(note if n == at else p for n, p in enumerate(placed) if n == at or n not in places)


def droppable(p: Placed) -> bool:
    """Whether a section may go with its round."""
    return p.record.priority is not Priority.NEVER and p.record.kind not in ANCHORS


def _enough(
    able: Sequence[tuple[int, int]], placed: Sequence[Placed], least: int, context: RuleContext
) -> list[tuple[int, int]]:
    """As many as bring the request down to the target, and no fewer than the gate asks for."""
    chosen: list[tuple[int, int]] = []
    total, goal = context.tokens(placed), TARGET * context.plan.limit - context.plan.reserve
    for start, end in able:
        if total <= goal and len(chosen) >= least:
            break
        chosen.append((start, end))
        total -= context.tokens(placed[start:end])
    return chosen


def _note(count: int, context: RuleContext) -> Placed:
    record = _record(count)
    return Placed(record, context.rebind(record, record.text))


@lru_cache(maxsize=256)
def _record(count: int) -> SourceRecord:
    """The same object for the same count, so that it is bound once."""
    return SourceRecord(
        name=NOTE,
        kind=Kind.HISTORY,
        tier=LifecycleTier.PER_TURN,
        scope=Scope.NONE,
        priority=Priority.NORMAL,
        role="user",
        text=f"({count} earlier rounds were left out here to save room. Variables and tables made in them are still there.)",
    )
