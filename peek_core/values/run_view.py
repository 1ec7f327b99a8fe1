"""A run as pages and terminal see it.

Owns: the shape. Refuses to know: the store's rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peek_core.values.trajectory import Trajectory


@dataclass(frozen=True)
class RunView:
    """A run as pages and terminal see it."""

    id: str
    dataset: str
    arm: str
    question: str
    analyst: str
    status: str
    phase: str
    reason: str
    created: float
    ended: float | None
    map_version: int | None
    trajectory: Trajectory | None
    summary: Mapping[str, Any]
    feedback: str | None

    @property
    def active(self) -> bool:
        return self.phase != "done"
