"""Items and definitions from elsewhere: a file, or the map of another dataset.

Owns: what may come in, and the report of it. Refuses to know: where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_map import exchange
from peek_core.context_map import map as maps
from peek_core.context_map.admission import text_refusal
from peek_core.context_map.definitions import Definition, from_data
from peek_core.context_map.evidence import verified
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap, Edit, MapItem, one_line, render, update_item
from peek_core.context_map.proposals import propose
from peek_core.curating.hands import Hands
from peek_core.ports import RunQuery


@dataclass(frozen=True)
class Left:
    """Something that did not come in: its text, or a definition's name, and why."""

    text: str
    why: str


@dataclass(frozen=True)
class Brought:
    """What became of everything that was brought. `added` items and `proposed` definitions have their new ids."""

    map: ContextMap
    added: tuple[MapItem, ...] = ()
    proposed: tuple[Definition, ...] = ()
    passed: tuple[Left, ...] = ()
    """Passed over: the map says it already."""
    refused: tuple[Left, ...] = ()


class Bringing(Hands):
    """The part of a curator that takes in what others wrote."""

    def bring_text(self, text: str) -> Brought:
        """What `exchange.read` finds in a file. Whoever brings a file has not written every line of it, so what would be
        refused of the agent for how it reads stays out of it too. Raises Refused where the file can't be read."""
        edits, definitions = exchange.read(text)
        why = [(e, text_refusal(e.text)) for e in edits]
        done = self.bring([e for e, refusal in why if refusal is None], definitions)
        return replace(done, refused=(*(Left(e.text, refusal) for e, refusal in why if refusal), *done.refused))

    def bring(self, edits: Sequence[Edit], definitions: Sequence[Mapping[str, Any]] = ()) -> Brought:
        """Add items under new ids, as the person's; lay definitions (as data) before the person. One map version.

        Evidence runs first: numbers that moved are filled anew, and what it no longer shows stays out. Nobody leaves for
        what is brought: what no longer fits the budget stays out too.
        """
        current = self._book.current()

        def laid(query: RunQuery) -> tuple[Brought, list[MapEvent]]:
            done, events = Brought(current), list[MapEvent]()
            for edit in edits:
                done = self._brought(done, edit, query, events)
            for data in definitions:
                done = self._laid(done, data, query, events)
            return done, events

        told: tuple[Brought, list[MapEvent]] = self._query_with(laid, current.active)
        done, events = told
        if not events:
            return done
        return replace(done, map=self._book.commit(current, done.map, events))

    def _brought(self, done: Brought, edit: Edit, query: RunQuery, events: list[MapEvent]) -> Brought:
        text = one_line(edit.text)
        if twin := _twin(done.map, text):
            return replace(done, passed=(*done.passed, twin))
        new, item, refusal = maps.apply(done.map, edit, author="person", state="unverifiable")
        if edit.op != "ADD" or item is None or refusal:
            return _refused(done, text, refusal or "only new items can be brought")
        item = verified(item, query, self._version)
        if item.state == "broken":
            return _refused(done, text, f"its query does not show it here: {item.detail}")
        if twin := _twin(done.map, item.text):
            return replace(done, passed=(*done.passed, twin))
        new = update_item(new, item.id, lambda _: item)
        size = self._count(render(new.items))
        if size > self._settings.budget:
            return _refused(done, text, f"no room: the map would take {size:,} of {self._settings.budget:,} tokens")
        events.append(MapEvent("add", item.id, {"text": item.text, "section": item.section.value}, "person"))
        return replace(done, map=new, added=(*done.added, item))

    def _laid(self, done: Brought, data: Mapping[str, Any], query: RunQuery, events: list[MapEvent]) -> Brought:
        made = from_data(data, self._bench.columns)
        if isinstance(made, str):
            return _refused(done, str(data.get("name") or data.get("rule") or data.get("kind") or "definition"), made)
        twin = next((d for d in done.map.definitions if d.same_rule(made)), None)
        if twin is not None:
            return replace(done, passed=(*done.passed, Left(made.name, f"{twin.id} already says this ({twin.state})")))
        new, told = propose(done.map, data, self._bench.columns, query, self._version, author="person")
        if new == done.map:
            return _refused(done, made.name, str(told[-1].body["why"]))
        events += told
        return replace(done, map=new, proposed=(*done.proposed, new.definitions[-1]))


def _twin(current: ContextMap, text: str) -> Left | None:
    """A text that an item says already."""
    twin = next((i for i in current.items if i.text == text), None)
    return Left(text, f"{twin.id} already says this") if twin else None


def _refused(done: Brought, text: str, why: str) -> Brought:
    return replace(done, refused=(*done.refused, Left(text, why)))
