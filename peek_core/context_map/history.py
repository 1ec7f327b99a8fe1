"""What happened to a map: events, and the diff of two versions.

Owns: the event vocabulary and the diff. Refuses to know: where events are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from peek_core.context_map.map import ContextMap


@dataclass(frozen=True)
class MapEvent:
    """One act on the map: tag, add, replace, delete, evict, refuse, pin, lock, score, propose, accept, freeze_map …"""

    name: str
    item: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    author: str = "agent"


class MapBook(Protocol):
    """Where one map's versions live."""

    def current(self) -> ContextMap: ...

    def commit(self, based_on: ContextMap, new: ContextMap, events: Sequence[MapEvent], *, run: str = "") -> ContextMap:
        """Save `new` as the version after `based_on`; raises Conflict when another came first."""


@dataclass(frozen=True)
class Change:
    """One line of a diff. kind: added, changed, removed, re-scored, marked (pin, lock, freeze), definition."""

    kind: str
    id: str
    before: str
    after: str


def diff(old: ContextMap, new: ContextMap) -> tuple[Change, ...]:
    """What turned `old` into `new`, items first, in the order of the new map."""
    was = {i.id: i for i in old.items}
    now = {i.id: i for i in new.items}
    changes: list[Change] = []
    for id, item in now.items():
        if id not in was:
            changes.append(Change("added", id, "", item.text))
            continue
        before = was[id]
        if before.text != item.text:
            changes.append(Change("changed", id, before.text, item.text))
        if before.score != item.score:
            changes.append(Change("re-scored", id, str(before.score), str(item.score)))
        marks = [m for m in ("pinned", "locked", "frozen") if getattr(before, m) != getattr(item, m)]
        changes += [Change("marked", id, "" if getattr(item, m) else m, m if getattr(item, m) else "") for m in marks]
    changes += [Change("removed", id, item.text, "") for id, item in was.items() if id not in now]
    states = {d.id: d for d in old.definitions}
    for d in new.definitions:
        before_state = states[d.id].state if d.id in states else ""
        if before_state != d.state:
            changes.append(Change("definition", d.id, before_state, d.state))
    return tuple(changes)
