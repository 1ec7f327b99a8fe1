"""Review: a person takes or turns down what the agent suggested.

Owns: what taking a suggestion makes of the map. Refuses to know: how suggestions come about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from peek_core.context_map import map as maps
from peek_core.context_map.evidence import verified
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap, Edit, MapItem, update_item
from peek_core.context_map.review import NAMES, Suggestion, against, sorted_out
from peek_core.curating.hands import Hands, template_of
from peek_core.errors import NotFound, Refused
from peek_core.ports import RunQuery

Taken = tuple[ContextMap, list[MapEvent]]


class Reviewing(Hands):
    """The part of a curator that decides on suggestions."""

    def suggestions(self) -> tuple[Suggestion, ...]:
        """What waits, oldest first, each beside the map as it is now."""
        return self._waiting(self._book.current())

    def _waiting(self, current: ContextMap) -> tuple[Suggestion, ...]:
        return tuple(against(s, current) for s in sorted_out(self._book.events(*NAMES))[0])

    def take(self, id: int, text: str | None = None) -> ContextMap:
        """Apply a suggestion: as it is, as the agent's; or with another text, as the person's. Its evidence runs again.

        Raises NotFound, and Refused where it no longer applies, or its query no longer shows what it says.
        """
        current = self._book.current()
        found = self._one(current, id)
        new, events = self._as_it_is(current, [found]) if text is None else self._in_words(current, found, text)
        return self._save(current, new, *events)

    def take_all(self) -> ContextMap:
        """Apply every suggestion that can be taken as it is, as one version; the others go on waiting.

        Raises Refused where there is none.
        """
        current = self._book.current()
        new, events = self._as_it_is(current, self._waiting(current))
        return self._save(current, new, *events)

    def turn_down(self, id: int) -> ContextMap:
        """The suggestion waits no longer, and the agent does not make it again. Raises NotFound."""
        current = self._book.current()
        return self._book.commit(current, current, [_decision("turn_down", self._one(current, id))])

    def turn_down_all(self) -> ContextMap:
        """Turn down everything that waits, as one version. Raises Refused where nothing does."""
        current = self._book.current()
        waiting = self._waiting(current)
        if not waiting:
            raise Refused("No suggestion waits")
        return self._book.commit(current, current, [_decision("turn_down", s) for s in waiting])

    def _one(self, current: ContextMap, id: int) -> Suggestion:
        found = next((s for s in self._waiting(current) if s.id == id), None)
        if found is None:
            raise NotFound(f"No suggestion {id} waits", next="`peek map DATASET suggestions` lists those that do.")
        return found

    def _as_it_is(self, current: ContextMap, some: Sequence[Suggestion]) -> Taken:
        """Those of them that can be taken as they are. Raises Refused where none can, with the reason of the last."""
        if not some:
            raise Refused("No suggestion waits")

        def applied(query: RunQuery) -> tuple[ContextMap, list[MapEvent], list[Refused]]:
            new, events, refusals = current, list[MapEvent](), list[Refused]()
            for one in some:
                try:
                    new, told = self._applied(new, one, query)
                except Refused as refusal:
                    refusals.append(refusal)
                else:
                    events += told
            return new, events, refusals

        new, events, refusals = self._query_with(applied, current.active)
        if not events:
            raise refusals[-1]
        return new, events

    def _applied(self, current: ContextMap, one: Suggestion, query: RunQuery) -> Taken:
        one = against(one, current)
        if one.outdated:
            raise Refused(f"It can't be taken: {one.outdated}", next="Turn it down, or take it with a text of yours.")
        new, item, refusal = maps.apply(
            current, one.edit, author="agent", run=one.run, question=one.question, state=one.state
        )
        if refusal or item is None:
            raise Refused(f"It can't be taken: {refusal}", next="Turn it down.")
        if one.edit.evidence is not None:
            item = verified(item, query, self._version)
            if item.state == "broken":
                raise Refused(
                    f"Its query no longer shows what it says: {item.detail}",
                    next="Turn it down, or take it with a text of yours.",
                )
            new = update_item(new, item.id, lambda _: item)
        self._fits(item)
        return new, _told(one, one.edit, item, "agent")

    def _in_words(self, current: ContextMap, one: Suggestion, text: str) -> Taken:
        if one.edit.op == "DELETE":
            raise Refused(
                "To take an item away needs no text", next="Take it as it is, turn it down, or edit the item."
            )
        item = current.item(one.edit.id)
        sql = one.edit.evidence or (item.evidence if item else None)
        edit = replace(one.edit, op="ADD" if item is None else "REPLACE", text=text, evidence=sql)
        evidence, state = self._evidence_for(current, edit)
        edit = replace(edit, evidence=evidence, template=template_of(text, evidence))
        new, item, refusal = maps.apply(current, edit, author="person", run=one.run, question=one.question, state=state)
        if refusal or item is None:
            raise Refused(f"It can't be taken: {refusal}", next="Take it with another text, or turn it down.")
        self._fits(item)
        return new, _told(one, edit, item, "person")


def _told(one: Suggestion, edit: Edit, item: MapItem, author: str) -> list[MapEvent]:
    """The decision, and the edit as any other of its kind is told."""
    body = {
        "text": item.text,
        "state": item.state,
        "section": item.section.value,
        "why": one.why,
        "run": one.run,
        "question": one.question,
    }
    return [_decision("take", one), MapEvent(edit.op.lower(), item.id, body, author)]


def _decision(name: str, one: Suggestion) -> MapEvent:
    return MapEvent(name, "", {"suggestion": one.id, "op": one.edit.op, "text": one.edit.text}, "person")
