"""Clear the oldest observations first, leaving a placeholder that names the query to run again.

Gate: compression level compact_history or above, and only from the oldest end, never the newest few. What was
cleared once stays cleared (same bytes on every later turn), whatever the level says then.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_pipe.plan import CompressionLevel
from peek_core.context_pipe.rules.working import Placed, RuleContext, tokens
from peek_core.values.call_trace import Decision
from peek_core.values.sources import Kind

NAME = "clear_observations"


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Replace observations by their `cleared` text. Tokens fall or stay, order and count of sections stay."""
    before = tokens(placed)
    config = context.snapshot.configuration
    observations = [p for p in placed if p.record.kind is Kind.OBSERVATION and p.record.cleared]
    wanted = set(context.snapshot.cleared)
    pressing = context.plan.level in (CompressionLevel.COMPACT_HISTORY, CompressionLevel.AGGRESSIVE_PRUNE)
    if pressing:
        budget = config.clear_at_most
        for p in observations[: -config.keep_observations or None]:
            if p.record.name not in wanted and p.section.tokens <= budget:
                wanted.add(p.record.name)
                budget -= p.section.tokens
    if not any(p.record.name in wanted for p in observations):
        why = (
            f"level {context.plan.level.value} is below compact_history"
            if not pressing
            else f"no observation older than the newest {config.keep_observations}"
        )
        return tuple(placed), Decision(NAME, False, why, before, before)
    out = tuple(_cleared(p, context) if p.record.name in wanted else p for p in placed)
    count = sum(p.record.name in wanted for p in observations)
    reason = f"{count} of {len(observations)} observations cleared, oldest first; level {context.plan.level.value}"
    return out, Decision(NAME, True, reason, before, tokens(out))


def _cleared(placed: Placed, context: RuleContext) -> Placed:
    if placed.record.kind is not Kind.OBSERVATION or not placed.record.cleared:
        return placed
    return Placed(placed.record, context.rebind(placed.record, placed.record.cleared))
