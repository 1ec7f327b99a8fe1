"""The stakeholder comparison: one question series, side by side with and without the map.

Owns: playing both arms on equal terms and reading them back. Refuses to know: pages. Both arms use the same
definitions at every question; those the series states are accepted at once, which the result says.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_map.map import ContextMap
from peek_core.errors import PeekError
from peek_core.lab.grading import grade
from peek_core.lab.series import Paired, Played, Totals, paired, totals
from peek_core.values.call_trace import STEP, SUB_CALL
from peek_core.values.run_view import RunView
from peek_core.workspace import Workspace

log = logging.getLogger("peek.comparison")


@dataclass(frozen=True)
class Arms:
    """The two arms of one comparison."""

    id: str

    @property
    def with_map(self) -> str:
        return f"cmp-{self.id}-with"

    @property
    def without(self) -> str:
        return f"cmp-{self.id}-without"


@dataclass(frozen=True)
class Result:
    """What has been played so far, in question order."""

    id: str
    with_map: tuple[Played, ...]
    without: tuple[Played, ...]
    asked: int
    state: str
    analyst: str

    @property
    def sums(self) -> tuple[Totals, Totals]:
        n = len(self.without)
        return totals(self.with_map[:n]), totals(self.without)

    @property
    def paired(self) -> Paired:
        return paired(self.with_map, self.without)


class Comparisons:
    """Plays and reads comparisons of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._w = workspace
        self._stops: dict[str, threading.Event] = {}

    def start(self, dataset: str, questions: Sequence[Mapping[str, Any]]) -> str:
        """Play in the background; returns the comparison's id."""
        id = self._w.new_id()[-8:]
        self.note(
            dataset,
            id,
            {
                "asked": len(questions),
                "state": "playing",
                "analyst": self._w.endpoints.analyst(),
                "questions": [q["id"] for q in questions],
            },
        )
        stop = self._stops[id] = threading.Event()
        threading.Thread(
            target=self._play_safely, args=(dataset, id, questions, stop), daemon=True, name=f"peek-compare-{id}"
        ).start()
        return id

    def stop(self, id: str) -> None:
        if id in self._stops:
            self._stops[id].set()

    def latest(self, dataset: str) -> str | None:
        """Id of the newest comparison of a dataset."""
        held = self._w.store.dataset(dataset).options.get("comparisons", {})
        return next(reversed(held), None) if held else None

    def playing_here(self, id: str) -> bool:
        return id in self._stops

    def play(
        self,
        dataset: str,
        id: str,
        questions: Sequence[Mapping[str, Any]],
        stopped: Callable[[], bool],
        on_answer: Callable[[str, RunView], None] = lambda arm, run: None,
    ) -> None:
        """Ask each question under both arms, one after the other."""
        arms = Arms(id)
        # Nobody is there to accept or to take anything.
        held = self._w.map_settings(self._w.store.dataset(dataset))
        settings = replace(held, auto_accept=True, review=False)
        for question in questions:
            if stopped():
                return
            run = self._w.ask(dataset, question["question"], arm=arms.with_map, map_settings=settings)
            done = self._w.wait(run)
            on_answer(arms.with_map, done)
            before = self._w.map(dataset, arms.with_map, done.map_version)
            bare = ContextMap(definitions=before.definitions, version=before.version)
            run = self._w.ask(dataset, question["question"], arm=arms.without, fixed_map=bare)
            on_answer(arms.without, self._w.wait(run))

    def result(self, dataset: str, id: str, gold: Sequence[Mapping[str, Any]]) -> Result:
        """Read a comparison back from the store, graded against gold by question id."""
        note = self._w.store.dataset(dataset).options.get("comparisons", {}).get(id, {})
        by_id = {g["id"]: g for g in gold}
        lines = [by_id[q] for q in note.get("questions", []) if q in by_id]
        arms = Arms(id)
        state = note.get("state", "done")
        if state == "playing" and not self.playing_here(id):
            state = "interrupted"
        return Result(
            id,
            self._played(dataset, arms.with_map, lines),
            self._played(dataset, arms.without, lines),
            note.get("asked", 0),
            state,
            note.get("analyst", ""),
        )

    def _played(self, dataset: str, arm: str, lines: Sequence[Mapping[str, Any]]) -> tuple[Played, ...]:
        runs = [r for r in self._w.runs(dataset, arm, limit=1_000) if r.ended is not None]
        return tuple(played(line, run, self._largest(run.id)) for line, run in zip(lines, runs, strict=False))

    def _largest(self, run: str) -> tuple[int, int]:
        """(tokens of all step requests, number of calls)."""
        calls = [c for c in self._w.explaining.calls(run) if c.source in (STEP, SUB_CALL)]
        return sum(c.explain.tokens for c in calls), len(calls)

    def _play_safely(
        self, dataset: str, id: str, questions: Sequence[Mapping[str, Any]], stop: threading.Event
    ) -> None:
        state = "done"
        try:
            self.play(dataset, id, questions, stop.is_set)
            state = "stopped" if stop.is_set() else "done"
        except PeekError as failure:
            state = f"failed: {failure.sentence()}"
        except Exception:
            log.exception("comparison %s failed", id)
            state = "failed: the log has the details"
        finally:
            self.note(dataset, id, {"state": state})
            self._stops.pop(id, None)

    def note(self, dataset: str, id: str, values: Mapping[str, Any]) -> None:
        """Keep what the page must know of a comparison besides its runs."""
        held = self._w.store.dataset(dataset)
        all_of_them = dict(held.options.get("comparisons", {}))
        all_of_them[id] = {**all_of_them.get(id, {}), **values}
        self._w.store.update_dataset(dataset, options={"comparisons": all_of_them})


def played(line: Mapping[str, Any], run: RunView, size: tuple[int, int]) -> Played:
    """One graded answer."""
    trajectory = run.trajectory
    answer = trajectory.answer if trajectory else None
    tokens, calls = size
    return Played(
        id=line["id"],
        question=line["question"],
        kind=line["kind"],
        verdict=grade(line, run.status, answer),
        answer=answer.text if answer else run.reason,
        run=run.id,
        turns=len(trajectory.steps) if trajectory else 0,
        look_ups=trajectory.look_ups if trajectory else 0,
        tokens=tokens,
        calls=calls,
        map_version=run.map_version or 0,
        items_used=answer.items_used if answer else (),
        gold=line["answer"],
    )
