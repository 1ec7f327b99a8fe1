"""Trim descriptions of what the model may call down to their signatures, as the paper's first level does.

Gate: compression level trim_schemas or above. Our agent has no tool schemas, only a description of host functions near
the start of every prompt: trimming it breaks the cache for everything behind it, so `default` keeps this gate closed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from peek_core.context_pipe.plan import CompressionLevel
from peek_core.context_pipe.rules.working import Placed, RuleContext, gain_gate
from peek_core.values.call_trace import Decision
from peek_core.values.sources import Kind

NAME = "trim_schemas"


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Replace descriptions by their `trimmed` text; once trimmed they stay so."""
    before, level = context.tokens(placed), context.plan.level
    held = context.snapshot.held.trimmed
    short = {
        p.record.name: Placed(p.record, context.rebind(p.record, p.record.trimmed))
        for p in placed
        if p.record.kind is Kind.HOST_FUNCTIONS and p.record.trimmed
    }
    pressing = level.rank >= CompressionLevel.TRIM_SCHEMAS.rank
    kept = held & set(short)
    names = set(short) if pressing else kept

    def with_(names: Collection[str]) -> tuple[Placed, ...]:
        return tuple(short[p.record.name] if p.record.name in names else p for p in placed)

    out, again = with_(names), "trimmed before, stays trimmed"
    if not names:
        why = f"level {level.value} is below trim_schemas" if not pressing else "nothing can be trimmed"
        return tuple(placed), Decision(NAME, False, why, before, before)
    if names <= held:
        return out, Decision(NAME, True, again, before, context.tokens(out), tuple(sorted(names)))
    as_before = with_(kept)
    verdict = gain_gate(as_before, names - held, context.tokens(as_before) - context.tokens(out), context)
    if not verdict.open:
        why = f"{verdict.why}; {again}" if kept else verdict.why
        return as_before, Decision(NAME, bool(kept), why, before, context.tokens(as_before), tuple(sorted(kept)))
    reason = f"descriptions cut to signatures; level {level.value}; {verdict.why}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), tuple(sorted(names)))
