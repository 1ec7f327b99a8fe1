"""Spill very large sections to a store, leaving their beginning, their end and how to read the rest.

Gate: so many tokens or more, a store to spill to, a section whose text can be read back. Anchors and working memory are
never spilled. A section that was already sent whole is only spilled when that pays for the cache it breaks. The rule
decides; Execute writes before it sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_pipe.rules.working import Placed, RuleContext, gain_gate
from peek_core.values.call_trace import Decision
from peek_core.values.sources import UNSPILLABLE

NAME = "spill"
HEAD_CHARS, TAIL_CHARS = 6_000, 1_500


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Replace large sections by placeholders; order and count of sections stay."""
    before, config, held = context.tokens(placed), context.snapshot.configuration, context.snapshot.held.spilled
    # What was spilled stays so, although an estimate moved below the limit.
    large = [p for p in placed if context.size(p) >= config.spill_at or p.record.name in held]
    large = [p for p in large if p.record.kind not in UNSPILLABLE]
    back = [p for p in large if p.record.recoverable]
    able = [p for p in back if len(p.section.text) > len(placeholder(p))]
    if not able:
        why = "none of them can be read back" if large else f"no section of {config.spill_at:,} tokens or more"
        why = "none of them would get shorter" if back else why
        return tuple(placed), Decision(NAME, False, why, before, before)
    if not context.snapshot.spill_backend:
        return tuple(placed), Decision(NAME, False, "there is no store to spill to just now", before, before)
    short = {p.record.name: Placed(p.record, context.rebind(p.record, placeholder(p))) for p in able}
    sent_whole = {n for n in short if n in context.snapshot.held.order and n not in held}
    names, told = set(short), "large sections go to the store before they are ever sent"
    if sent_whole:
        saved = sum(context.size(p) - context.size(short[p.record.name]) for p in able if p.record.name in sent_whole)
        verdict = gain_gate(placed, sent_whole, saved, context)
        told = verdict.why
        if not verdict.open:
            names -= sent_whole
    if not names:
        return tuple(placed), Decision(NAME, False, told, before, before)
    out = tuple(short[p.record.name] if p.record.name in names else p for p in placed)
    reason = f"{len(names)} spilled, read back with recall(); {told}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), tuple(sorted(names)))


def placeholder(p: Placed) -> str:
    """What stands in for a spilled section."""
    text = p.section.text
    left_out = len(text) - HEAD_CHARS - TAIL_CHARS
    return (
        f"{text[:HEAD_CHARS]}\n(… {left_out:,} characters of {p.record.name!r} are left out here; "
        f"recall({p.record.name!r}, {HEAD_CHARS}) reads on …)\n{text[-TAIL_CHARS:]}"
    )
