"""What the agent did to answer one question: cells, queries, sub-calls, answer.

Owns: the trajectory and its parts. Refuses to know: prompts, providers and the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from peek_core.values.canon import plain

Status = Literal["running", "answered", "partly", "no_answer", "failed", "cancelled", "out_of_budget", "interrupted"]
TEACHES: frozenset[str] = frozenset({"answered", "partly", "no_answer"})
"""Runs the map may learn from (DESIGN.md, Learning)."""


@dataclass(frozen=True)
class Table:
    """A result: at most `len(rows)` rows are held; `row_count` is the true total, None if it was not counted."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    row_count: int | None
    truncated: bool = False
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class SqlRecord:
    """One query of a run, with what came back."""

    id: str
    sql: str
    seconds: float
    table: Table | None = None
    error: str | None = None
    look_up: bool = False
    """True when the query orients (DESCRIBE, DISTINCT, LIMIT probes, value checks) rather than answers."""
    profile: Mapping[str, Any] | None = None
    """DuckDB's own profile of this very run, or None where it gave none."""

    def as_data(self, rows: int = 50) -> dict[str, Any]:
        """The query as typed JSON with at most `rows` rows."""
        table = self.table
        return {
            "sql": self.sql,
            "columns": list(table.columns) if table else [],
            "rows": plain(table.rows[:rows]) if table else [],
            "row_count": table.row_count if table else None,
            "error": self.error,
            "look_up": self.look_up,
        }


@dataclass(frozen=True)
class Shown:
    """A result the agent showed to the person; `sql` re-runs it whole for the export."""

    table: Table
    title: str = ""
    sql: str | None = None


@dataclass(frozen=True)
class SubCall:
    """One llm_query of a cell."""

    prompt: str
    reply: str | None
    error: str | None = None


@dataclass(frozen=True)
class Step:
    """One turn: the model's reply, the cell in it, and what running the cell gave."""

    n: int
    reply: str
    code: str
    stdout: str
    error: str | None
    value: str | None
    """Text of the cell's trailing expression, or None."""
    queries: tuple[SqlRecord, ...] = ()
    sub_calls: tuple[SubCall, ...] = ()
    shown: tuple[Shown, ...] = ()
    observation: str = ""
    """Exactly what the model was shown of this step."""
    seconds: float = 0.0
    variables: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The step as typed JSON for a prompt section: code, output, queries with the head of their rows."""
        return {
            "n": self.n,
            "code": self.code,
            "stdout": self.stdout[:4_000],
            "error": self.error,
            "queries": [q.as_data() for q in self.queries],
        }


@dataclass(frozen=True)
class Answer:
    """The answer as given: `value` is a scalar where there is one; `notes` what the person must know to read it."""

    text: str
    value: str | float | int | bool | None = None
    sql: str | None = None
    table: Table | None = None
    notes: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    """Whole questions offered instead of an answer (nearest readings)."""
    items_used: tuple[str, ...] = ()
    reading: Any = None
    """How the question was understood: a few words, or the built-in analyst's parse (for follow-ups)."""


@dataclass(frozen=True)
class Trajectory:
    """A run as it grew. `append` returns a new one."""

    run: str
    question: str
    steps: tuple[Step, ...] = ()
    answer: Answer | None = None
    status: Status = "running"
    reason: str = ""

    def append(self, step: Step) -> Trajectory:
        return replace(self, steps=(*self.steps, step))

    def end(self, status: Status, reason: str = "", answer: Answer | None = None) -> Trajectory:
        return replace(self, status=status, reason=reason, answer=answer)

    @property
    def queries(self) -> tuple[SqlRecord, ...]:
        return tuple(q for s in self.steps for q in s.queries)

    @property
    def look_ups(self) -> int:
        return sum(q.look_up for q in self.queries)


@dataclass(frozen=True)
class Turn:
    """What the conversation section keeps of an earlier question."""

    question: str
    answer: str
    sql: str | None
    columns: tuple[str, ...]
    row_count: int | None
    reading: Any = None
    """The parse the answer carried, so that a follow-up changes one part of it."""
