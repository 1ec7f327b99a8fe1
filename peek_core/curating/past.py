"""Acts on what was: undo, redo, back to a version, what one question taught, items that left, and the story of it all.

Owns: what each of these makes of the map. Refuses to know: what made the versions it goes back to.
"""

from __future__ import annotations

from dataclasses import replace

from peek_core.context_map import story
from peek_core.context_map.evictor import evict
from peek_core.context_map.evidence import verified
from peek_core.context_map.history import GONE, MapEvent, evicted, unlearned
from peek_core.context_map.map import ContextMap, MapItem, render, update_item
from peek_core.context_map.steps import BACK, FORTH, Steps, as_it_was, steps, taken_back
from peek_core.context_map.story import Gone, Moment, Story
from peek_core.curating.hands import Hands
from peek_core.deciding import remeasured
from peek_core.errors import NotFound, Refused
from peek_core.ports import RunQuery


class Past(Hands):
    """The part of a curator that looks back."""

    def steps(self) -> Steps:
        """What undo and redo would take next: the last of each."""
        return self._steps(self._book.current())

    def _steps(self, current: ContextMap) -> Steps:
        return steps(t for t in self._book.outline() if t.version <= current.version)

    def undo(self) -> ContextMap:
        """Take back the latest step, whoever made it, as a new version; again and again, further back.

        Raises Refused where there is none.
        """
        current = self._book.current()
        done = self._steps(current).done
        if not done:
            raise Refused("There is nothing to undo", next="The map is as it began.")
        number = done[-1].version
        return self._back_to(current, number - 1, MapEvent(BACK, "", {"version": number}, "person"))

    def redo(self) -> ContextMap:
        """Bring back what the last undo took. Raises Refused where there is none, or a step came after it."""
        current = self._book.current()
        undone = self._steps(current).undone
        if not undone:
            raise Refused("There is nothing to redo", next="Only what was undone last can be brought back.")
        number = undone[-1].version
        return self._back_to(current, number, MapEvent(FORTH, "", {"version": number}, "person"))

    def restore(self, number: int) -> ContextMap:
        """Make an earlier version the newest one. Raises NotFound."""
        return self._back_to(self._book.current(), number, MapEvent("restore", "", {"version": number}, "person"))

    def _back_to(self, current: ContextMap, number: int, event: MapEvent) -> ContextMap:
        new = as_it_was(current, self._book.at(number))
        # Its definitions and its evidence may speak of an earlier version of the data.
        new, measured = remeasured(new, self._bench)
        new, checked = self._rerun(new, [i for i in new.items if i.evidence and i.evidence.version != self._version])
        return self._save(current, new, event, *measured, *checked)

    def _rerun(self, new: ContextMap, items: list[MapItem]) -> tuple[ContextMap, list[MapEvent]]:
        """The map after the evidence of some items ran, and what that changed."""
        if not items:
            return new, []

        def look(query: RunQuery) -> list[MapItem]:
            return [verified(item, query, self._version) for item in items]

        checked: dict[str, MapItem] = {i.id: i for i in self._query_with(look, new.active)}
        told = [
            MapEvent(
                "verify", now.id, {"before": was.state, "after": now.state, "detail": now.detail, "text": now.text}
            )
            for was, now in zip(items, checked.values(), strict=True)
            if (was.state, was.detail, was.text) != (now.state, now.detail, now.text)
        ]
        return replace(new, items=tuple(checked.get(i.id, i) for i in new.items)), told

    def taught(self, run: str) -> bool:
        """Whether a question changed the map, and that was not undone yet."""
        events = self._book.events("unlearn", BACK, FORTH)
        back = taken_back(events)
        unlearnt = {t.event.body["run"] for t in events if t.event.name == "unlearn" and t.version not in back}
        number = self._book.version_of(run)
        return number is not None and number not in back and run not in unlearnt

    def unlearn(self, run: str) -> ContextMap:
        """Undo what one question taught; what a person or a later question changed since stays."""
        number = self._book.version_of(run)
        if number is None or not self.taught(run):
            raise Refused("This question taught the map nothing", next="There is nothing to undo.")
        current = self._book.current()
        new = unlearned(current, self._book.at(number - 1), self._book.at(number))
        return self._save(current, new, MapEvent("unlearn", "", {"run": run, "version": number}, "person"))

    def graveyard(self) -> tuple[Gone, ...]:
        """Items that left and did not come back, the latest first."""
        there = {i.id for i in self._book.current().items}
        left = self._book.events(*GONE)
        # Where an event does not carry the item that left, an earlier one of the same item does.
        bare = {t.event.item for t in left if "whole" not in t.event.body} - there
        earlier = [t for id in sorted(bare) for t in self._book.events(item=id) if t.event.name not in GONE]
        found = story.gone(sorted([*left, *earlier], key=lambda told: told.id))
        return tuple(g for g in found if g.item.id not in there)

    def revive(self, id: str) -> ContextMap:
        """Bring an item back under its own id, without its marks, with the grace of a new one; its evidence runs again.

        Others may leave for it. Raises NotFound for an item that never left, Refused where it is there or can't fit.
        """
        current = self._book.current()
        if current.item(id) is not None:
            raise Refused(f"{id} is in the map")
        found = next((g for g in self.graveyard() if g.item.id == id), None)
        if found is None:
            raise NotFound(
                f"No item {id!r} has left the map", next="`peek map DATASET graveyard` lists those that did."
            )
        item = replace(found.item, pinned=False, locked=False, frozen=False, born=current.questions)
        self._fits(item)
        items = sorted((*current.items, item), key=lambda i: int(i.id[3:]))
        new, checked = self._rerun(replace(current, items=tuple(items)), [item] if item.evidence else [])
        # Pinned for the moment, so that it is not the one that leaves.
        new, gone = evict(
            update_item(new, id, lambda i: replace(i, pinned=True)),
            self._settings.budget,
            self._count,
            order=self._settings.order,
            grace=self._settings.grace,
        )
        size = self._count(render(new.items))
        if size > self._settings.budget:
            raise Refused(
                f"With the pinned items, {id} would take {size:,} of {self._settings.budget:,} tokens",
                next="Unpin one or raise the budget.",
            )
        new = update_item(new, id, lambda i: replace(i, pinned=False))
        body = {"text": item.text, "section": item.section.value, "left": found.version}
        return self._book.commit(
            current, new, [MapEvent("revive", id, body, "person"), *checked, *evicted(gone, "person")]
        )

    def life(self, id: str) -> tuple[Moment, ...]:
        """What happened to an item, oldest first, whether it is there or left. Raises NotFound."""
        moments = story.life(self._book.events(item=id), id, self._book.questions())
        if not moments:
            raise NotFound(f"There never was an item {id!r}", next="`peek map DATASET` shows the ids.")
        return moments

    def story(self) -> Story:
        """Every item's score in every version, and when each was last used; what `life` tells of one, for all."""
        told = self._book.outline()
        return Story(story.scores(told), story.last_used(told, self._book.named()))
