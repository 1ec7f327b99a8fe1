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
    able = [p for p in placed if clearable(p)]
    held = tuple(sorted(context.snapshot.held.cleared & {p.record.name for p in able}))

    def kept(why: str) -> tuple[tuple[Placed, ...], Decision]:
        said = f"{len(held)} cleared before stay cleared; {why}" if held else why
        return tuple(placed), Decision(NAME, bool(held), said, before, before, held)

    if level.rank < CompressionLevel.COMPACT_HISTORY.rank:
        return kept(f"level {level.value} is below compact_history")
    whole = [p for p in able if p.record.name not in held]
    new = _oldest(sorted(whole, key=lambda p: context.age[p.record.name]), context)
    if not new:
        return kept(f"no observation older than the newest {_keep(context)} would get shorter")
    out = tuple(new.get(p.record.name, p) for p in placed)
    verdict = gain_gate(placed, out, len(new), context)
    if not verdict.open:
        return kept(verdict.why)
    reason = f"{len(new)} of {len(able)} observations cleared, oldest first; level {level.value}; {verdict.why}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), (*held, *new))


def clearable(p: Placed) -> bool:
    """Whether a section has a placeholder that may stand for it."""
    return p.record.kind is Kind.OBSERVATION and bool(p.record.cleared) and p.record.priority is not Priority.NEVER


def _keep(context: RuleContext) -> int:
    """When it would not fit a second time, only the newest observation is safe."""
    return 1 if context.snapshot.recovery > 1 else context.snapshot.configuration.keep_observations


def _oldest(whole: Sequence[Placed], context: RuleContext) -> dict[str, Placed]:
    """What to clear now, oldest first and within the turn's cap: the placeholders by name."""
    # What the cap would leave over must go in the same turn where it would not fit a second time.
    room = math.inf if context.snapshot.recovery > 1 else context.snapshot.configuration.clear_at_most
    chosen: dict[str, Placed] = {}
    for p in whole[: -_keep(context) or None]:
        short = Placed(p.record, context.rebind(p.record, p.record.cleared))
        if context.size(short) < context.size(p) <= room:
            chosen[p.record.name] = short
            room -= context.size(p)
    return chosen
