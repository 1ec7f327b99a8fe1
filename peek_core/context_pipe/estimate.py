"""What Plan goes by: tokens of a record before anything is loaded or decided.

Owns: that estimate. Refuses to know: pressure, and what will be decided.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.catalog import Held
from peek_core.context_pipe.rules.held import short_form
from peek_core.context_pipe.rules.working import Placed
from peek_core.context_pipe.stats import PipelineStats
from peek_core.values.sources import SourceRecord


def estimates(
    records: Sequence[SourceRecord],
    binder: Binder,
    stats: PipelineStats,
    factors: Mapping[str, float],
    held: Held,
    gates: Collection[str],
) -> tuple[int, ...]:
    """`estimated` of each; a long run has many that nothing was ever done to."""
    touched = held.cleared | held.spilled | held.trimmed | held.dropped
    bound, factor = binder.at_hand, factors.get
    return tuple(
        estimated(r, binder, stats, factors, held, gates)
        if (s := bound(r)) is None or r.name in touched
        else round(s.tokens * factor(s.kind, 1.0))
        for r in records
    )


def estimated(
    record: SourceRecord,
    binder: Binder,
    stats: PipelineStats,
    factors: Mapping[str, float],
    held: Held | None = None,
    gates: Collection[str] = (),
) -> int:
    """Calibrated tokens of a record as the latest request left it; what its kind took lately where it is not at hand.

    Pressure is that of what would be sent: what went long ago (`held`, by the rules whose `gates` are open) presses no more.
    """
    kind, held = record.kind.value, held or Held()
    if record.name in held.dropped:
        return 0
    if not binder.has(record):
        return record.est_tokens if record.est_tokens is not None else stats.tokens_of(kind)
    section = binder.section(record)
    short = short_form(Placed(record, section), held, gates)
    if short is not None:
        section = binder.replaced(record, short)
    return round(section.tokens * factors.get(kind, 1.0))
