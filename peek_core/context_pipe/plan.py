"""Plan: snapshot -> reserves, pressure, compression level, section budgets. Pure; loads nothing (ContextPipe, 3.1).

Owns: the pressure formula and its thresholds. Refuses to know: section texts beyond their token counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from peek_core.context_pipe.catalog import Configuration, Snapshot
from peek_core.values.call_trace import Base, Explain
from peek_core.values.sources import ANCHORS, Priority


class CompressionLevel(StrEnum):
    """What the pressure asks for; thresholds 0.60, 0.75, 0.90 of the pressure base."""

    NORMAL = "normal"
    TRIM_SCHEMAS = "trim_schemas"
    COMPACT_HISTORY = "compact_history"
    AGGRESSIVE_PRUNE = "aggressive_prune"

    @property
    def rank(self) -> int:
        return list(CompressionLevel).index(self)


THRESHOLDS = (
    (0.90, CompressionLevel.AGGRESSIVE_PRUNE),
    (0.75, CompressionLevel.COMPACT_HISTORY),
    (0.60, CompressionLevel.TRIM_SCHEMAS),
)


@dataclass(frozen=True)
class ContextPlan:
    """What Bind and Optimize work to. Tokens throughout; pressures are shares of `limit`."""

    limit: int
    hard: int
    """What may not be exceeded."""
    reserve: int
    used: int
    pressure_raw: float
    pressure_predicted: float
    level: CompressionLevel
    budgets: Mapping[str, int]
    """By record name, for those that may be left out: the most they may take."""

    @property
    def forced(self) -> bool:
        """Whether the request is about to overflow, so that an edit needs no other reason."""
        return self.used + self.reserve >= 0.90 * self.hard


def level_of(pressure: float) -> CompressionLevel:
    """The compression level for a pressure.

    >>> level_of(0.74).value, level_of(0.75).value
    ('trim_schemas', 'compact_history')
    """
    return next((level for bound, level in THRESHOLDS if pressure >= bound), CompressionLevel.NORMAL)


def base_of(base: Base, configuration: Configuration) -> int:
    """Tokens that pressure is measured against."""
    counted = [base.window, base.ceiling]
    if configuration.base == "smallest":
        counted += [base.cliff, base.budget]
    return min(n for n in counted if n is not None)


def level_for(raw: float, predicted: float, predictive: bool, recovery: int) -> CompressionLevel:
    """Prediction may raise the level, never lower it; a request refused for its length prunes."""
    if recovery:
        return CompressionLevel.AGGRESSIVE_PRUNE
    return level_of(max(raw, predicted) if predictive else raw)


def plan(snapshot: Snapshot) -> ContextPlan:
    """P_raw = T/L and P_pred = (T + R)/L over the base of the configuration."""
    limit = base_of(snapshot.base, snapshot.configuration)
    used, reserve = sum(snapshot.estimates), snapshot.reserves.total
    raw, predicted = used / limit, (used + reserve) / limit
    level = level_for(raw, predicted, snapshot.configuration.predictive, snapshot.recovery)
    return ContextPlan(
        limit, snapshot.base.hard, reserve, used, raw, predicted, level, _budgets(snapshot, limit - reserve)
    )


def recomputed_level(explain: Explain, configuration: Configuration) -> CompressionLevel:
    """The level by what a stored trace says, for whoever doubts it. Raises ValueError where the trace is too old."""
    if explain.base is None or explain.reserves is None:
        raise ValueError("this trace was stored before levels could be recomputed")
    limit = base_of(explain.base, configuration)
    raw, predicted = explain.used / limit, (explain.used + explain.reserves.total) / limit
    return level_for(raw, predicted, configuration.predictive, explain.recovery)


def _budgets(snapshot: Snapshot, room: int) -> dict[str, int]:
    """What stays goes first; what may be left out shares the rest, the dearest first."""
    optional: dict[Priority, list[tuple[str, int]]] = {p: [] for p in Priority}
    for record, size in zip(snapshot.records, snapshot.estimates, strict=True):
        stays = Priority.NEVER if record.kind in ANCHORS else record.priority
        optional[stays].append((record.name, size))
    room -= sum(size for _, size in optional[Priority.NEVER])
    budgets: dict[str, int] = {}
    for priority in (Priority.LAST_RESORT, Priority.NORMAL, Priority.FIRST):
        for name, size in optional[priority]:
            budgets[name] = given = max(0, min(size, room))
            room -= given
    return budgets
