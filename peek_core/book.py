"""A map's versions in the store, behind context_map's MapBook.

Owns: version numbers and compare-and-set. Refuses to know: what an edit means.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from peek_core.context_map.history import UNAPPLIED, MapEvent, Told, completed
from peek_core.context_map.map import ContextMap
from peek_core.context_map.story import Named
from peek_core.errors import NotFound, Refused
from peek_core.store.sql_store import SqlStore
from peek_core.values.codec import dump, load


class StoreBook:
    """Implements MapBook for one (dataset, arm)."""

    def __init__(self, store: SqlStore, dataset: str, arm: str) -> None:
        self._store, self._dataset, self._arm = store, dataset, arm

    def current(self) -> ContextMap:
        return self.at(None)

    def at(self, number: int | None) -> ContextMap:
        """The map as of a version (None: the newest; 0: the empty one). Raises NotFound."""
        body = None if number == 0 else self._store.map_body(self._dataset, self._arm, number)
        if body is None:
            if number:
                raise NotFound(f"There is no map version {number}")
            return ContextMap()
        return load(ContextMap, body)

    def commit(self, based_on: ContextMap, new: ContextMap, events: Sequence[MapEvent], *, run: str = "") -> ContextMap:
        """Save `new` as the version after `based_on`; raises Conflict when another came first."""
        # The store takes each number once, so whoever comes second with it is told.
        saved = replace(new, version=based_on.version + 1)
        author = events[0].author if events else "agent"
        told = completed(based_on, saved, events)
        self._store.save_map(self._dataset, self._arm, saved.version, dump(saved), told, run, author)
        return saved

    def events(self, *names: str, item: str | None = None) -> tuple[Told, ...]:
        """All events of these names (or of all), oldest first; `item`: only those of that item or definition."""
        rows = self._store.map_events(self._dataset, self._arm, names=names, item=item)
        return tuple(
            Told(r.id, r.number, r.at, r.run, MapEvent(r.name, r.item, json.loads(r.body), r.author)) for r in rows
        )

    def outline(self) -> tuple[Told, ...]:
        """All events, oldest first, with no more of their bodies than scores, uses and undo need."""
        # Bodies carry whole items; read here, they would be most of what is read.
        rows = self._store.map_outline(self._dataset, self._arm, _OUTLINE)
        return tuple(
            Told(id, number, at, run, MapEvent(name, item, _outlined(*said), author))
            for id, number, at, run, name, item, author, *said in rows
        )

    def questions(self) -> dict[str, str]:
        """Run -> its question."""
        return self._store.run_questions(self._dataset, self._arm)

    def named(self) -> tuple[Named, ...]:
        """The items that answers named as used, oldest first."""
        rows = self._store.items_named(self._dataset, self._arm)
        return tuple(Named(r.run, r.at, r.version or 0, tuple(json.loads(r.items))) for r in rows if r.items)

    def version_of(self, run: str) -> int | None:
        """The version in which a run's learning changed something, None where it changed nothing."""
        changed = [
            r.number
            for r in self._store.map_events(self._dataset, self._arm, run=run)
            if r.name != "count" and r.name not in UNAPPLIED
        ]
        return int(changed[-1]) if changed else None


class ClosedBook:
    """Implements MapBook for one map of the past; nothing can be written into it."""

    def __init__(self, held: ContextMap) -> None:
        self._held = held

    def current(self) -> ContextMap:
        return self._held

    def commit(self, based_on: ContextMap, new: ContextMap, events: Sequence[MapEvent], *, run: str = "") -> ContextMap:
        raise Refused("A map of the past can't be changed", next="Change the map as it stands today.")

    def events(self, *names: str) -> tuple[Told, ...]:
        return ()


_SAID = ("after", "act", "tag", "version", "frozen_by")
_OUTLINE = ("$.whole.id", "$.whole.score", *(f"$.{name}" for name in _SAID))


def _outlined(whole: str | None, score: int | None, *said: Any) -> dict[str, Any]:
    body: dict[str, Any] = {name: value for name, value in zip(_SAID, said, strict=True) if value is not None}
    if whole is not None:
        body["whole"] = {} if score is None else {"score": score}
    return body
