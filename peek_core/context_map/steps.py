"""Undo and redo over the versions of a map, as in an editor: one line of steps, and where on it the map stands.

Owns: which versions are steps, which of them are taken back, and the map such an act makes. Refuses to know: storage.
Every version stays; an undo is a version too. A step changed something by decision, of a person or of the agent: what
changed nothing is none, and neither is what the data did to the map (evidence that was run again).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from peek_core.context_map.history import GONE, NEW_DATA, UNAPPLIED, MapEvent, Told
from peek_core.context_map.map import ContextMap

SILENT = UNAPPLIED | {"count", "verify", "measure", "hold_back", "fit_again"}
DECIDED = frozenset({"take", "turn_down"})
"""Decisions that need nothing to change in the map."""
BACK, FORTH = "undo", "redo"


@dataclass(frozen=True)
class Step:
    """A version of the map that can be taken back: its number and what was told first of it."""

    version: int
    act: MapEvent


@dataclass(frozen=True)
class Steps:
    """`done` are the steps that count, the latest last; `undone` those that redo can bring back, the next one last."""

    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()


def steps(events: Iterable[Told]) -> Steps:
    """Where the map stands after all events, oldest first. A step after an undo ends what could be redone."""
    done: list[Step] = []
    undone: list[Step] = []
    there = _There()
    for version, together in itertools.groupby(events, key=lambda told: told.version):
        told = [t.event for t in together]
        moved = _moved(told, there)
        acts = [e for e in told if e.name not in SILENT]
        if not acts or acts[0].name == NEW_DATA:
            continue
        if acts[0].name == BACK and done:
            undone.append(done.pop())
        elif acts[0].name == FORTH and undone:
            done.append(undone.pop())
        elif moved:
            done.append(Step(version, acts[0]))
            undone.clear()
    return Steps(tuple(done), tuple(undone))


@dataclass
class _There:
    """What a map holds as its events go on: ids, and who froze it."""

    ids: frozenset[str] = frozenset()
    frozen_by: str = ""


def _moved(told: Sequence[MapEvent], there: _There) -> bool:
    """Whether a version changed anything; `there` is brought up to date."""
    ids, frozen_by, changed = set(there.ids), there.frozen_by, set[str]()
    for event in told:
        if event.name == "count":
            frozen_by = event.body.get("frozen_by", "")
        elif event.name in GONE:
            ids.discard(event.item)
        elif "whole" in event.body:
            ids.add(event.item)
            changed.add(event.item)
    moved = bool(changed & ids or ids ^ there.ids or frozen_by != there.frozen_by)
    there.ids, there.frozen_by = frozenset(ids), frozen_by
    return moved or any(e.name in DECIDED for e in told)


def taken_back(events: Iterable[Told]) -> frozenset[int]:
    """The versions that were undone and not redone since; other events than those two are passed over."""
    back = set[int]()
    for told in events:
        if told.event.name == BACK:
            back.add(told.event.body["version"])
        elif told.event.name == FORTH:
            back.discard(told.event.body["version"])
    return frozenset(back)


def as_it_was(current: ContextMap, old: ContextMap) -> ContextMap:
    """The old map after the current one; ids stay used up, so nothing inherits a dead item's score, and questions count
    once."""
    return replace(
        old,
        version=current.version,
        next_number=current.next_number,
        next_definition=current.next_definition,
        questions=current.questions,
    )
