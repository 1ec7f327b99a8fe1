"""A run as pages and terminal see it.

Owns: the shape. Refuses to know: the store's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peek_core.values.trajectory import Trajectory, Turn


@dataclass(frozen=True)
class RunHead:
    """A run without what it did and gave; cheap to list."""

    id: str
    arm: str
    question: str
    analyst: str
    status: str
    phase: str
    created: float
    ended: float | None
    reason: str = ""


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
    version: int = 1
    """The dataset version it was asked of."""

    @property
    def active(self) -> bool:
        return self.phase != "done"


def turns(runs: Sequence[RunView]) -> tuple[Turn, ...]:
    """The last three of `runs` that came to an end, oldest first, as the next question's conversation.

    One that found no answer is told too: a follow-up may mean it.
    """
    found = []
    for r in [r for r in runs if r.status in ("answered", "partly", "no_answer") and r.trajectory][-3:]:
        answer = r.trajectory.answer if r.trajectory else None
        if r.status == "no_answer" or answer is None:
            found.append(Turn(r.question, f"(no answer: {answer.text if answer else r.reason})", None, (), None))
        else:
            columns, count = (answer.table.columns, answer.table.row_count) if answer.table else ((), None)
            found.append(Turn(r.question, answer.text, answer.sql, columns, count, answer.reading))
    return tuple(found)
