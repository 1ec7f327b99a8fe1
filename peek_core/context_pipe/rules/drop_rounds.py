"""Drop the oldest whole rounds (a cell and its observation), leaving one note that says so.

Gate: compression level aggressive_prune, at least four rounds that may go, never the newest few, and only where it pays
or must. Rounds once dropped stay dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_pipe.plan import THRESHOLDS, CompressionLevel
from peek_core.context_pipe.rules.working import Placed, RuleContext, gain_gate, rounds
from peek_core.values.call_trace import Decision
from peek_core.values.sources import ANCHORS, Kind, LifecycleTier, Priority, Scope, SourceRecord

NAME = "drop_rounds"
NOTE = "rounds left out"
TARGET = THRESHOLDS[-1][0]
"""Share of the base to come down to, so that the next drop is far away."""


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Leave out rounds from the oldest end; everything else stays, in its order."""
    before, config, held = context.tokens(placed), context.snapshot.configuration, context.snapshot.held.dropped
    found = [(s, e) for s, e in rounds(placed) if all(_droppable(p) for p in placed[s:e])]
    earlier = [(s, e) for s, e in found if placed[s].record.name in held]
    kept, gone = _without(placed, earlier, context)
    again = f"{len(earlier)} rounds dropped before stay dropped" if earlier else ""
    if context.plan.level is not CompressionLevel.AGGRESSIVE_PRUNE:
        why = again or f"level {context.plan.level.value} is below aggressive_prune"
        return kept, Decision(NAME, bool(earlier), why, before, context.tokens(kept), gone)
    last_resort = context.snapshot.recovery > 1
    keep, least = (1, 1) if last_resort else (config.keep_observations, config.drop_at_least)
    able = [r for r in found[: -keep or None] if r not in earlier]
    if len(able) < least:
        why = f"only {len(able)} rounds may go, fewer than {least}"
        return kept, Decision(NAME, bool(earlier), again or why, before, context.tokens(kept), gone)
    chosen = _enough(able, placed, context.tokens(kept), least, context)
    out, names = _without(placed, [*earlier, *chosen], context)
    removed = context.tokens(kept) - context.tokens(out)
    verdict = gain_gate(kept, set(names) - held, removed, context)
    if removed <= 0 or not verdict.open:
        why = verdict.why if removed > 0 else "they take no more than the note in their place"
        return kept, Decision(NAME, bool(earlier), again or why, before, context.tokens(kept), gone)
    reason = f"{len(chosen)} oldest rounds dropped{'; ' + again if again else ''}; {verdict.why}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), names)


def _droppable(p: Placed) -> bool:
    return p.record.priority is not Priority.NEVER and p.record.kind not in ANCHORS


def _enough(
    able: Sequence[tuple[int, int]], placed: Sequence[Placed], total: int, least: int, context: RuleContext
) -> list[tuple[int, int]]:
    """As many as bring the request down to the target, and no fewer than the gate asks for."""
    chosen: list[tuple[int, int]] = []
    goal = TARGET * context.plan.limit - context.plan.reserve
    for start, end in able:
        if total <= goal and len(chosen) >= least:
            break
        chosen.append((start, end))
        total -= context.tokens(placed[start:end])
    return chosen


def _without(
    placed: Sequence[Placed], gone: Sequence[tuple[int, int]], context: RuleContext
) -> tuple[tuple[Placed, ...], tuple[str, ...]]:
    """The sections without these rounds and with a note where the first was; the names that went."""
    if not gone:
        return tuple(placed), ()
    places = {n for start, end in gone for n in range(start, end)}
    first = min(places)
    note = _note(len(gone), context)
    out = [note if n == first else p for n, p in enumerate(placed) if n == first or n not in places]
    return tuple(out), tuple(placed[n].record.name for n in sorted(places))


def _note(count: int, context: RuleContext) -> Placed:
    record = SourceRecord(
        name=NOTE,
        kind=Kind.HISTORY,
        tier=LifecycleTier.PER_TURN,
        scope=Scope.NONE,
        priority=Priority.NORMAL,
        role="user",
        text=f"({count} earlier rounds were left out here to save room. Variables and tables made in them are still there.)",
    )
    return Placed(record, context.rebind(record, record.text))
