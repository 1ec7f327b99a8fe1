"""Trim descriptions of what the model may call down to their signatures, as the paper's first level does.

Gate: compression level trim_schemas or above. Our agent has no tool schemas, only a description of host functions near
the start of every prompt: trimming it breaks the cache for everything behind it, so `default` keeps this gate closed.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_pipe.plan import CompressionLevel
from peek_core.context_pipe.rules.working import Placed, RuleContext, gain_gate
from peek_core.values.call_trace import Decision
from peek_core.values.sources import Kind

NAME = "trim_schemas"


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Replace descriptions by their `trimmed` text; once trimmed they stay so."""
    before, level = context.tokens(placed), context.plan.level
    able = [p for p in placed if trimmable(p)]
    held = tuple(p.record.name for p in able if p.record.name in context.snapshot.held.trimmed)

    def kept(why: str) -> tuple[tuple[Placed, ...], Decision]:
        said = f"trimmed before, stays trimmed; {why}" if held else why
        return tuple(placed), Decision(NAME, bool(held), said, before, before, held)

    if level.rank < CompressionLevel.TRIM_SCHEMAS.rank:
        return kept(f"level {level.value} is below trim_schemas")
    new = {
        p.record.name: Placed(p.record, context.rebind(p.record, p.record.trimmed))
        for p in able
        if p.record.name not in held
    }
    if not new:
        return kept("nothing more can be trimmed")
    out = tuple(new.get(p.record.name, p) for p in placed)
    verdict = gain_gate(placed, out, 0, context)
    if not verdict.open:
        return kept(verdict.why)
    reason = f"descriptions cut to signatures; level {level.value}; {verdict.why}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), (*held, *new))


def trimmable(p: Placed) -> bool:
    """Whether a section is a description with a short form."""
    return p.record.kind is Kind.HOST_FUNCTIONS and bool(p.record.trimmed)
