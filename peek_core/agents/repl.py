"""The REPL agent: ask for a cell, run it, show what it gave, until FINAL or a limit (RLM, arXiv:2512.24601).

Owns: the loop, the step, the answer. Refuses to know: providers, prompts' order, memory policies, storage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from peek_core.agents.cell import find_cell
from peek_core.agents.host import Final, Host, StepLog
from peek_core.agents.observation import Sharing, observation
from peek_core.agents.records import question_record, step_records
from peek_core.errors import Broken, Cancelled, CellFailed, OutOfBudget
from peek_core.ports import Caller, CellOutcome, Emit, Interpreter
from peek_core.settings import CellLimits, RunLimits
from peek_core.values.call_trace import STEP
from peek_core.values.canon import plain
from peek_core.values.messages import Completion
from peek_core.values.sources import SourceRecord
from peek_core.values.trajectory import Answer, SqlRecord, Status, Step, Table, Trajectory

LAST_TURNS = 3
"""Turns from the end at which the model is told."""
STUCK = 3
"""So many replies without a cell, or equal cells, in a row end the run."""


@dataclass(frozen=True)
class Surroundings:
    """What one run works with. `context` are the records before the question (fixed, profile, memory, conversation)."""

    call: Caller
    interpreter: Interpreter
    host: Host
    emit: Emit
    limits: RunLimits
    cell: CellLimits
    sharing: Sharing
    context: tuple[SourceRecord, ...]
    today: str
    notice: Callable[[str], None] = lambda text: None
    """Say something in the next request only."""
    restore: Callable[[str], str] = lambda text: text
    """Puts back what was taken out of prompts, for what runs and is shown here."""


class ReplAgent:
    """Answers one question. Implements ports.Agent."""

    def __init__(self, around: Surroundings) -> None:
        self._a = around
        self._final: Final | None = None
        self._steps: list[SourceRecord] = []

    def run(self, trajectory: Trajectory) -> Trajectory:
        """Grow the trajectory until it ends; Terminal errors become its status, with what there is."""
        question = question_record(trajectory.question, self._a.today, 1, self._a.limits.turns - 1)
        try:
            for turn in range(1, self._a.limits.turns + 1):
                self._a.emit("thinking", {"turn": turn})
                if 1 < turn == self._a.limits.turns - LAST_TURNS + 1:
                    self._a.notice(
                        f"Only {LAST_TURNS} turns are left, this one included. Answer with what you have, or FINAL(None, …)."
                    )
                reply = self._a.call(STEP, [*self._a.context, question, *self._steps])
                trajectory = trajectory.append(self._step(turn, reply, trajectory))
                if self._final is not None:
                    return self._answered(trajectory, self._final)
                stuck = _stuck(trajectory.steps)
                if stuck:
                    return trajectory.end("no_answer", stuck)
        except OutOfBudget as end:
            return trajectory.end("out_of_budget", end.sentence())
        except Cancelled as end:
            return trajectory.end("cancelled", end.sentence())
        except Broken as end:
            return trajectory.end("failed", end.sentence())
        return trajectory.end("no_answer", f"No answer after {self._a.limits.turns} turns. Ask a narrower question.")

    def _step(self, turn: int, reply: Completion, so_far: Trajectory) -> Step:
        """Run the reply's cell and record everything it did."""
        started = time.perf_counter()
        known = so_far.steps[-1].variables if so_far.steps else ()
        self._a.host.begin(turn, known)
        cell = find_cell(reply.text, reply.finish)
        if cell.problem:
            outcome = CellOutcome("", None, cell.problem, known)
        else:
            code = self._a.restore(cell.code)
            self._a.emit("cell", {"turn": turn, "code": code})
            outcome = self._a.interpreter.run(code, self._a.host.functions())
        log = self._a.host.log
        outcome = self._finish(log, outcome)
        text = observation(turn, outcome, log.queries, limit=self._a.cell.output_chars, sharing=self._a.sharing)
        step = Step(
            n=turn,
            reply=_until_fence(reply.text, cell.code),
            code=self._a.restore(cell.code),
            stdout=outcome.stdout,
            error=outcome.error,
            value=outcome.value,
            queries=tuple(log.queries),
            sub_calls=tuple(log.sub_calls),
            shown=tuple(log.shown),
            observation=text,
            seconds=time.perf_counter() - started,
            variables=outcome.variables,
        )
        self._steps += step_records(step)
        self._a.emit("step", plain(step))
        return step

    def _finish(self, log: StepLog, outcome: CellOutcome) -> CellOutcome:
        """Take the final value where the cell gave one; FINAL_VAR is read now that the cell has ended."""
        final = log.final
        if final is None:
            return outcome
        if final.variable is not None:
            try:
                final = Final(answer=self._a.interpreter.read(final.variable))
            except CellFailed as failure:
                return CellOutcome(outcome.stdout, outcome.value, failure.sentence(), outcome.variables)
        self._final = final
        return outcome

    def _answered(self, trajectory: Trajectory, final: Final) -> Trajectory:
        if final.answer is None:
            why = " ".join(final.notes) or "The question can't be answered from this dataset."
            answer = Answer(text=why, notes=final.notes, suggestions=final.suggestions, reading=plain(final.reading))
            return trajectory.end("no_answer", why, answer)
        table, sql = result_of(trajectory.steps)
        answer = Answer(
            text=_as_text(final.answer),
            value=_scalar(final),
            sql=sql,
            table=table,
            notes=final.notes,
            follow_ups=final.follow_ups,
            suggestions=final.suggestions,
            items_used=final.items,
            reading=plain(final.reading),
        )
        return trajectory.end(_status(trajectory), "", answer)


def result_of(steps: Sequence[Step]) -> tuple[Table | None, str | None]:
    """The result behind an answer: the last one shown, else the last query that answered something."""
    shown = [s for step in steps for s in step.shown]
    if shown:
        return shown[-1].table, shown[-1].sql
    queries = [q for step in steps for q in step.queries if q.table is not None]
    working: list[SqlRecord] = [q for q in queries if not q.look_up] or queries
    return (working[-1].table, working[-1].sql) if working else (None, None)


def _status(trajectory: Trajectory) -> Status:
    """Partly, when a sub-call of the run failed; answered otherwise."""
    return "partly" if any(c.error for s in trajectory.steps for c in s.sub_calls) else "answered"


def _as_text(answer: Any) -> str:
    if isinstance(answer, str):
        return answer.strip()
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return str(plain(answer))
    return f"{answer:,}"


def _scalar(final: Final) -> str | float | int | bool | None:
    value = final.value if final.value is not None else final.answer
    return (
        value if isinstance(value, (int, float, bool)) or (isinstance(value, str) and final.value is not None) else None
    )


def _until_fence(reply: str, code: str) -> str:
    """The reply as the next prompt carries it: thought and cell, nothing after the cell."""
    thought = reply.split("```", 1)[0].strip()[:1_000]
    return f"{thought}\n```python\n{code}\n```".strip() if code else reply[:1_000]


def _stuck(steps: Sequence[Step]) -> str | None:
    last = steps[-STUCK:]
    if len(last) < STUCK:
        return None
    if all(not s.code for s in last):
        return f"The model's last {STUCK} replies held no cell to run. Choose another model or ask again."
    if len({s.code for s in last}) == 1:
        return f"The model wrote the same cell {STUCK} times in a row. Ask in other words."
    return None
