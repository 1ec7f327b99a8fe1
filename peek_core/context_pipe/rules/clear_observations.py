"""Clear the oldest observations first, leaving a placeholder that names the query to run again.

Gate: compression level compact_history or above, never the newest few, at most so many tokens a turn, and only where it
pays for the cache it breaks. What was cleared once stays cleared (same bytes on every later turn), whatever the level
says then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from peek_core.context_pipe.plan import CompressionLevel
from peek_core.context_pipe.rules.working import Placed, RuleContext, gain_gate
from peek_core.values.call_trace import Decision
from peek_core.values.sources import Kind, Priority

NAME = "clear_observations"


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Replace observations by their `cleared` text. Tokens fall or stay, order and count of sections stay."""
    before, level = context.tokens(placed), context.plan.level
    clearable = [p for p in placed if _clearable(p)]
    held = context.snapshot.held.cleared & {p.record.name for p in clearable}
    cleared = {p.record.name: Placed(p.record, context.rebind(p.record, p.record.cleared)) for p in clearable}

    def with_(names: set[str]) -> tuple[Placed, ...]:
        return tuple(cleared[p.record.name] if p.record.name in names else p for p in placed)

    kept = with_(set(held))
    again = f"{len(held)} cleared before stay cleared" if held else ""
    if level.rank < CompressionLevel.COMPACT_HISTORY.rank:
        why = f"level {level.value} is below compact_history"
        return kept, Decision(NAME, bool(held), again or why, before, context.tokens(kept), tuple(sorted(held)))
    new, taken = _oldest(clearable, cleared, held, context)
    if not new:
        why = f"no observation older than the newest {_keep(context)} would get shorter"
        return kept, Decision(NAME, bool(held), again or why, before, context.tokens(kept), tuple(sorted(held)))
    verdict = gain_gate(kept, new, taken, context)
    if not verdict.open:
        why = f"{verdict.why}{'; ' + again if again else ''}"
        return kept, Decision(NAME, bool(held), why, before, context.tokens(kept), tuple(sorted(held)))
    out = with_(new | held)
    reason = f"{len(new)} of {len(clearable)} observations cleared, oldest first; level {level.value}; {verdict.why}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), tuple(sorted(new | held)))


def _clearable(p: Placed) -> bool:
    return p.record.kind is Kind.OBSERVATION and bool(p.record.cleared) and p.record.priority is not Priority.NEVER


def _keep(context: RuleContext) -> int:
    """After a second refusal only the newest observation is safe."""
    return 1 if context.snapshot.recovery > 1 else context.snapshot.configuration.keep_observations


def _cap(context: RuleContext) -> float:
    """Tokens that may be cleared now; after a second refusal what the cap left over must go in the same turn."""
    return math.inf if context.snapshot.recovery > 1 else context.snapshot.configuration.clear_at_most


def _oldest(
    clearable: Sequence[Placed], cleared: dict[str, Placed], held: frozenset[str], context: RuleContext
) -> tuple[set[str], int]:
    """Names to clear now and the tokens that saves, within the turn's cap."""
    room, taken = _cap(context), 0
    names: set[str] = set()
    for p in clearable[: -_keep(context) or None]:
        saved = context.size(p) - context.size(cleared[p.record.name])
        if p.record.name not in held and saved > 0 and context.size(p) <= room:
            names.add(p.record.name)
            room -= context.size(p)
            taken += saved
    return names, taken
