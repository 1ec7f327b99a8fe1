"""Acts of a person on the map: pin, lock, freeze, edit, score, add, delete, definitions, budget, undo.

Owns: what each act does and the event it leaves. Refuses to know: pages and terminals. Every act is one map version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from peek_core import deciding
from peek_core.book import StoreBook
from peek_core.context_map import map as maps
from peek_core.context_map.admission import check_evidence
from peek_core.context_map.definitions import Definition, DefinitionState
from peek_core.context_map.definitions.export import dbt_files, plain_sql
from peek_core.context_map.evictor import Eviction, evict, pin_refusal
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap, Edit, Evidence, MapItem, MapSection, render
from peek_core.deciding import Bench, Preview
from peek_core.errors import NotFound, Refused
from peek_core.ports import RunQuery, TokenCounter
from peek_core.settings import MapSettings
from peek_core.values.canon import plain
from peek_core.values.trajectory import Table

FORMS = ("sql", "dbt")
"""What the curated view can be exported as."""
MARKS = {"pin": "pinned", "lock": "locked", "freeze": "frozen"}


def _marked(item: MapItem, act: str, on: bool) -> MapItem:
    if act == "pin":
        return replace(item, pinned=on)
    return replace(item, locked=on) if act == "lock" else replace(item, frozen=on)


class Curator:
    """One person's hands on one map. `query_view(definitions)` gives a query function over the view they make."""

    def __init__(
        self,
        book: StoreBook,
        settings: MapSettings,
        count: TokenCounter,
        query_with: Callable[[Callable[[RunQuery], Any], tuple[Definition, ...]], Any],
        columns: Mapping[str, Mapping[str, str]],
        version: int,
    ) -> None:
        self._book, self._settings, self._count = book, settings, count
        self._query_with, self._version = query_with, version
        self._bench = Bench(columns, version, lambda use: query_with(use, ()))

    def mark(self, id: str, act: str, on: bool = True) -> ContextMap:
        """pin, lock or freeze an item, or take it back. A pin that can't fit the budget is refused."""
        current, item = self._item(id)
        field = MARKS[act]
        if getattr(item, field) == on:
            return current
        if act == "pin" and on:
            refusal = pin_refusal(current, id, self._settings.budget, self._count)
            if refusal:
                raise Refused(f"{id} can't be pinned: {refusal}")
        new = maps.update_item(current, id, lambda i: _marked(i, act, on))
        return self._save(current, new, MapEvent(act if on else f"un{act}", id, author="person"))

    def score(self, id: str, value: int) -> ContextMap:
        """Correct an item's score."""
        current, item = self._item(id)
        new = maps.update_item(current, id, lambda i: replace(i, score=value))
        return self._save(current, new, MapEvent("score", id, {"before": item.score, "after": value}, "person"))

    def add(self, section: str, text: str, sql: str | None = None) -> tuple[ContextMap, MapItem]:
        """Add an item by hand; a query given becomes its evidence with the result it has now."""
        current = self._book.current()
        evidence, state = self._evidence(current, sql)
        new, item, refusal = maps.apply(
            current, Edit("ADD", section=section, text=text, evidence=evidence), author="person", state=state
        )
        if refusal or item is None:
            raise Refused(f"The item can't be added: {refusal}")
        self._fits(item)
        saved = self._save(current, new, MapEvent("add", item.id, {"text": item.text, "section": section}, "person"))
        return saved, item

    def edit(self, id: str, text: str, sql: str | None = None, based_on: int | None = None) -> ContextMap:
        """Replace an item's text (and evidence). `based_on` is the map version the person saw."""
        current, item = self._item(id)
        seen = item if based_on in (None, current.version) else self._book.at(based_on).item(id)
        if seen is None or seen.text != item.text:
            raise Refused(f"{id} was changed meanwhile; it now says: {item.text}", next="Look at it and edit again.")
        known = item.evidence.sql if item.evidence else None
        evidence, state = (
            (item.evidence, item.state)
            if sql in (None, known) and text == item.text
            else self._evidence(current, sql if sql is not None else known)
        )
        edit = Edit("REPLACE", id=id, text=text, evidence=evidence)
        new, changed, refusal = maps.apply(current, edit, author="person", state=state)
        if refusal == "changes nothing":
            return current
        if refusal or changed is None:
            raise Refused(f"The item can't be changed: {refusal}")
        if sql == "":
            new = maps.update_item(new, id, lambda i: replace(i, evidence=None, state="unverifiable"))
        self._fits(changed)
        body = {"before": item.text, "text": changed.text, "section": item.section.value}
        return self._save(current, new, MapEvent("replace", id, body, "person"))

    def delete(self, id: str) -> ContextMap:
        """Delete an item, whatever its marks."""
        current, item = self._item(id)
        new, _, _ = maps.apply(current, Edit("DELETE", id=id), author="person")
        return self._save(
            current, new, MapEvent("delete", id, {"text": item.text, "section": item.section.value}, "person")
        )

    def freeze_map(self, on: bool) -> ContextMap:
        """No learning at all while frozen; thawing also clears the count of quiet updates."""
        current = self._book.current()
        if current.frozen == on:
            return current
        new = replace(current, frozen=on, frozen_why="by hand" if on else "", frozen_by="person" if on else "", quiet=0)
        return self._save(current, new, MapEvent("freeze_map" if on else "thaw_map", "", {"why": "by hand"}, "person"))

    def preview_definition(self, id: str) -> Preview:
        """What a definition does to the present version, before it is accepted; changes nothing."""
        return deciding.preview(self._book.current(), id, self._bench)

    def decide(self, id: str, state: DefinitionState) -> ContextMap:
        """Accept (on), reject, or switch off a definition. Accepting measures its effect anew and runs all evidence."""
        current = self._book.current()
        if deciding.found(current, id).state == state:
            return current
        new, event = deciding.decided(current, id, state, self._bench)
        new, more = self._verified(new)
        return self._save(current, new, event, *more)

    def rows_of(self, id: str) -> Table:
        """The rows a definition leaves out or whose value it changes; the engine's limit of rows, and how many in all."""
        return deciding.rows_of(self._book.current(), id, self._bench)

    def export_view(self, form: str, source: str) -> dict[str, str]:
        """The curated view as files, name -> text: `sql` or `dbt` over a source of this name."""
        active = self._book.current().active
        if not active:
            raise Refused("No definition is on, so the view is the tables as read", next="Accept one first.")
        if form == "dbt":
            return dbt_files(source, self._bench.columns, active)
        return {"curated.sql": plain_sql(self._bench.columns, active)}

    def restore(self, number: int) -> ContextMap:
        """Make an earlier version the newest one; ids stay used up, so nothing inherits a dead item's score."""
        current, old = self._book.current(), self._book.at(number)
        new = replace(
            old,
            version=current.version,
            next_number=current.next_number,
            questions=current.questions,
            next_definition=current.next_definition,
        )
        # Its definitions may speak of an earlier version of the data.
        new, measured = deciding.remeasured(new, self._bench)
        return self._save(current, new, MapEvent("restore", "", {"version": number}, "person"), *measured)

    def apply_budget(self) -> tuple[ContextMap, tuple[Eviction, ...]]:
        """Evict until the map fits the present settings."""
        current = self._book.current()
        new, gone = self.preview(self._settings.budget, self._settings.order)
        if not gone:
            return current, ()
        events = [
            MapEvent("evict", g.item.id, {"text": g.item.text, "why": g.why, "score": g.item.score}, "person")
            for g in gone
        ]
        return self._save(current, new, *events), gone

    def preview(self, budget: int, order: str) -> tuple[ContextMap, tuple[Eviction, ...]]:
        """Who would leave under a budget and order; changes nothing."""
        return evict(self._book.current(), budget, self._count, order=order, grace=self._settings.grace)

    def verify(self) -> ContextMap:
        """Measure every definition and run every item's evidence on the present version; what no longer fits is held
        back."""
        current = self._book.current()
        new, measured = deciding.remeasured(current, self._bench)
        new, events = self._verified(new)
        return self._save(current, new, *measured, *events) if measured or events else current

    def _verified(self, new: ContextMap) -> tuple[ContextMap, list[MapEvent]]:
        with_evidence = [i for i in new.items if i.evidence is not None]
        if not with_evidence:
            return new, []

        def check(query: RunQuery) -> dict[str, tuple[maps.EvidenceState, str]]:
            return {i.id: check_evidence(i.evidence, query) for i in with_evidence if i.evidence}

        found = self._query_with(check, new.active)
        events = []
        for item in with_evidence:
            state, detail = found[item.id]
            if (state, detail) != (item.state, item.detail):
                events.append(MapEvent("verify", item.id, {"before": item.state, "after": state, "detail": detail}))
                checked = replace(item, state=state, detail=detail)
                new = replace(new, items=tuple(checked if i.id == item.id else i for i in new.items))
        return new, events

    def _evidence(self, current: ContextMap, sql: str | None) -> tuple[Evidence | None, maps.EvidenceState]:
        if not sql or not sql.strip():
            return None, "unverifiable"
        rows = self._query_with(lambda query: query(sql), current.active).rows
        return Evidence(sql, tuple(tuple(plain(c) for c in row) for row in rows[:200]), version=self._version), "holds"

    def _fits(self, item: MapItem) -> None:
        size = self._count(render([item]))
        if size > self._settings.budget:
            raise Refused(f"The item alone would take {size:,} of {self._settings.budget:,} tokens", next="Shorten it.")

    def _item(self, id: str) -> tuple[ContextMap, MapItem]:
        current = self._book.current()
        item = current.item(id)
        if item is None:
            raise NotFound(f"There is no item {id!r} in the map")
        return current, item

    def _save(self, current: ContextMap, new: ContextMap, *events: MapEvent) -> ContextMap:
        """Commit; items added by hand may push others out, so the budget is held here too."""
        fitted, gone = evict(
            new, self._settings.budget, self._count, order=self._settings.order, grace=self._settings.grace
        )
        out = [MapEvent("evict", g.item.id, {"text": g.item.text, "why": g.why, "score": g.item.score}) for g in gone]
        return self._book.commit(current, fitted, [*events, *out])


def sections() -> dict[str, str]:
    """slug -> heading, for forms."""
    return {s.value: s.heading for s in MapSection}
