"""What earlier requests of the run did is done again first, so that bytes once changed never change again.

Owns: the sections as the latest request left them, before any rule looks at them. Refuses to know: why it was done. Only
what a rule of this configuration could have done is done again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from peek_core.context_pipe.catalog import Held
from peek_core.context_pipe.rules import clear_observations, drop_rounds, spill, trim_schemas
from peek_core.context_pipe.rules.working import Placed, RuleContext, rounds


def again(placed: Sequence[Placed], context: RuleContext) -> tuple[Placed, ...]:
    """The sections with what is held applied; without held acts they are as they were bound."""
    held, gates = context.snapshot.held, context.snapshot.configuration.rules
    if not (held.cleared or held.spilled or held.trimmed or held.dropped):
        return tuple(placed)
    out = [_as_before(p, context) for p in placed]
    if drop_rounds.NAME not in gates:
        return tuple(out)
    gone = [
        (s, e)
        for s, e in rounds(out)
        if all(p.record.name in held.dropped and drop_rounds.droppable(p) for p in out[s:e])
    ]
    return drop_rounds.without_rounds(out, gone, len(gone), context)


def _as_before(p: Placed, context: RuleContext) -> Placed:
    text = short_form(p, context.snapshot.held, context.snapshot.configuration.rules)
    return p if text is None else Placed(p.record, context.rebind(p.record, text))


def short_form(p: Placed, held: Held, gates: Collection[str]) -> str | None:
    """The text that stands for a section since an earlier request; None where it stands whole."""
    record = p.record
    if record.name in held.cleared and clear_observations.NAME in gates and clear_observations.clearable(p):
        return record.cleared
    if record.name in held.trimmed and trim_schemas.NAME in gates and trim_schemas.trimmable(p):
        return record.trimmed  # may have been spilled before, never the other way round
    if record.name in held.spilled and spill.NAME in gates and spill.spillable(p):
        return spill.placeholder(record.name, p.section.text)
    return None
