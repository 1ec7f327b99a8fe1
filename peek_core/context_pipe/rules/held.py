"""What earlier requests of the run did is done again first, so that bytes once changed never change again.

Owns: the sections as the latest request left them, before any rule looks at them. Refuses to know: why it was done.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_pipe.rules.drop_rounds import without_rounds
from peek_core.context_pipe.rules.spill import placeholder
from peek_core.context_pipe.rules.working import Placed, RuleContext, rounds
from peek_core.values.sources import SourceRecord


def again(placed: Sequence[Placed], context: RuleContext) -> tuple[Placed, ...]:
    """The sections with what is held applied; without held acts they are as they were bound."""
    held = context.snapshot.held
    if not (held.cleared or held.spilled or held.trimmed or held.dropped):
        return tuple(placed)
    out = [_as_before(p, context) for p in placed]
    gone = [(s, e) for s, e in rounds(out) if out[s].record.name in held.dropped]
    return without_rounds(out, gone, len(gone), context)


def _as_before(p: Placed, context: RuleContext) -> Placed:
    held, record, name = context.snapshot.held, p.record, p.record.name
    if name in held.cleared and record.cleared:
        return _with(record, record.cleared, context)
    if name in held.spilled:
        return _with(record, placeholder(name, p.section.text), context)
    if name in held.trimmed and record.trimmed:
        return _with(record, record.trimmed, context)
    return p


def _with(record: SourceRecord, text: str, context: RuleContext) -> Placed:
    return Placed(record, context.rebind(record, text))
