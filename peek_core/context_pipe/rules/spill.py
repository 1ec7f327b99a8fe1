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
    before, config, snapshot = context.tokens(placed), context.snapshot.configuration, context.snapshot
    held = tuple(p.record.name for p in placed if p.record.name in snapshot.held.spilled and spillable(p))

    def kept(why: str) -> tuple[tuple[Placed, ...], Decision]:
        said = f"{len(held)} spilled before stay so; {why}" if held else why
        return tuple(placed), Decision(NAME, bool(held), said, before, before, held)

    large = [p for p in placed if context.size(p) >= config.spill_at and p.record.kind not in UNSPILLABLE]
    back = [p for p in large if p.record.recoverable and p.record.name not in held]
    able = [p for p in back if spillable(p)]
    if not able:
        why = "none of them can be read back" if large else f"no section of {config.spill_at:,} tokens or more"
        return kept("none of them would get shorter" if back else why)
    if not snapshot.spill_backend:
        return kept("there is no store to spill to just now")
    short = {
        p.record.name: Placed(p.record, context.rebind(p.record, placeholder(p.record.name, p.section.text)))
        for p in able
    }
    fresh = {n: p for n, p in short.items() if n not in snapshot.held.order}
    out = tuple(short.get(p.record.name, p) for p in placed)
    told = "large sections go to the store before they are ever sent"
    if len(fresh) < len(short):
        # What was never sent goes in any case: it must not pay for the cache that the others break.
        at_least = tuple(fresh.get(p.record.name, p) for p in placed)
        verdict = gain_gate(at_least, out, len(short) - len(fresh), context)
        told = verdict.why
        if not verdict.open:
            short, out = fresh, at_least
    if not short:
        return kept(told)
    reason = f"{len(short)} spilled, read back with recall(); {told}"
    return out, Decision(NAME, True, reason, before, context.tokens(out), (*held, *short))


def spillable(p: Placed) -> bool:
    """Whether a section may be spilled, and gets shorter by it. One that was spilled already is."""
    text = p.section.text
    shorter = len(text) > len(placeholder(p.record.name, text)) or f"recall({p.record.name!r}, {HEAD_CHARS})" in text
    return p.record.recoverable and p.record.kind not in UNSPILLABLE and shorter


def placeholder(name: str, text: str) -> str:
    """What stands in for a spilled section."""
    left_out = len(text) - HEAD_CHARS - TAIL_CHARS
    return (
        f"{text[:HEAD_CHARS]}\n(… {left_out:,} characters of {name!r} are left out here; "
        f"recall({name!r}, {HEAD_CHARS}) reads on …)\n{text[-TAIL_CHARS:]}"
    )
