"""Plan: snapshot -> reserves, pressure, compression level. Pure; loads nothing (ContextPipe, section 3.1).

Owns: the pressure formula and its thresholds. Refuses to know: section texts beyond their token counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from peek_core.context_pipe.catalog import Snapshot


class CompressionLevel(StrEnum):
    """What the pressure asks for; thresholds 0.60, 0.75, 0.90 of the pressure base."""

    NORMAL = "normal"
    TRIM_SCHEMAS = "trim_schemas"
    COMPACT_HISTORY = "compact_history"
    AGGRESSIVE_PRUNE = "aggressive_prune"


THRESHOLDS = (
    (0.90, CompressionLevel.AGGRESSIVE_PRUNE),
    (0.75, CompressionLevel.COMPACT_HISTORY),
    (0.60, CompressionLevel.TRIM_SCHEMAS),
)


@dataclass(frozen=True)
class ContextPlan:
    """What Bind and Optimize work to. Tokens throughout; pressures are shares of `limit`."""

    limit: int
    reserve: int
    used: int
    pressure_raw: float
    pressure_predicted: float
    level: CompressionLevel


def level_of(pressure: float) -> CompressionLevel:
    """The compression level for a pressure.

    >>> level_of(0.74).value, level_of(0.75).value
    ('trim_schemas', 'compact_history')
    """
    return next((level for bound, level in THRESHOLDS if pressure >= bound), CompressionLevel.NORMAL)


def plan(snapshot: Snapshot) -> ContextPlan:
    """P_raw = T/L and P_pred = (T + R)/L; the level follows the higher of the two, never the lower."""
    limit = snapshot.capabilities.window
    used = sum(snapshot.estimates)
    reserve = min(snapshot.output_reserve, snapshot.capabilities.max_output)
    raw = used / limit
    predicted = (used + reserve) / limit
    return ContextPlan(limit, reserve, used, raw, predicted, level_of(max(raw, predicted)))
