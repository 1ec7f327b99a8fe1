"""Acts of a person on the map: pin, lock, freeze, edit, score, add, delete, definitions, budget, and those of `curating`.

Owns: what each act does and the event it leaves. Refuses to know: pages and terminals. Every act is one map version.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core import deciding
from peek_core.context_map import map as maps
from peek_core.context_map.definitions import DefinitionState, from_data
from peek_core.context_map.definitions.export import dbt_files, plain_sql
from peek_core.context_map.evictor import Eviction, evict, pin_refusal
from peek_core.context_map.evidence import verified
from peek_core.context_map.history import NEW_DATA, MapEvent, Told, evicted
from peek_core.context_map.map import ContextMap, Edit, Evidence, MapItem, MapSection, render
from peek_core.context_map.proposals import propose
from peek_core.context_map.steps import BACK, FORTH, taken_back
from peek_core.curating.bringing import Bringing
from peek_core.curating.hands import template_of
from peek_core.curating.past import Past
from peek_core.curating.reviewing import Reviewing
from peek_core.deciding import Preview
from peek_core.errors import NotFound, Refused
from peek_core.ports import RunQuery
from peek_core.values.dataset import LoadReport
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Table

KEPT_CHARS = 400
FORMS = ("sql", "dbt")
"""What the curated view can be exported as."""
MARKS = {"pin": "pinned", "lock": "locked", "freeze": "frozen"}


def _marked(item: MapItem, act: str, on: bool) -> MapItem:
    if act == "pin":
        return replace(item, pinned=on)
    return replace(item, locked=on) if act == "lock" else replace(item, frozen=on)


@dataclass(frozen=True)
class Refusal:
    """Something that was refused, as it could still be applied: an edit of an item, or a definition as data."""

    id: int
    version: int
    """The map version whose update refused it."""
    why: str
    edit: Edit | None
    definition: Mapping[str, Any] | None

    @property
    def says(self) -> str:
        """Its text, for a person."""
        if self.edit is not None:
            return self.edit.text or f"{self.edit.op} {self.edit.id}"
        told = self.definition or {}
        where = ".".join(str(told[key]) for key in ("table", "column") if told.get(key))
        kind = str(told.get("kind") or "definition").replace("_", " ")
        return str(told.get("name") or f"{kind} of {where or '–'}")


@dataclass(frozen=True)
class Weight:
    """What an edit would cost, in tokens of the rendered map: before it, and with it while everybody is still there."""

    tokens_before: int
    tokens_after: int
    would_evict: tuple[MapItem, ...]
    """Who would leave when it is saved."""


class Curator(Past, Reviewing, Bringing):
    """One person's hands on one map."""

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
        edit = Edit("ADD", section=section, text=text, evidence=evidence, template=template_of(text, evidence))
        new, item, refusal = maps.apply(current, edit, author="person", state=state)
        if refusal or item is None:
            raise Refused(f"The item can't be added: {refusal}")
        return self._added(current, new, item)

    def keep(self, run: RunView) -> tuple[ContextMap, MapItem]:
        """Keep an answer as a reusable result: its own question, its own query, and its figures as they are now.

        One that is kept already stays as it is.
        """
        answer = run.trajectory.answer if run.trajectory else None
        if answer is None or run.status not in ("answered", "partly"):
            raise Refused("There is no answer to keep", next="Ask again, or add the item by hand.")
        if run.version != self._version:
            raise Refused(
                f"The answer is of version {run.version} of the data, the map of {self._version}", next="Ask again."
            )
        current = self._book.current()
        known = current.item(kept_answers(current).get(run.id, ""))
        if known is not None:
            return current, known
        text = textwrap.shorten(f"{run.question.rstrip(' ?.')}? {answer.text}", KEPT_CHARS, placeholder=" …")
        evidence, state = self._evidence(current, answer.sql)
        edit = Edit("ADD", section="rr", text=text, evidence=evidence, template=template_of(text, evidence))
        new, item, refusal = maps.apply(current, edit, author="person", run=run.id, question=run.question, state=state)
        if refusal or item is None:
            raise Refused(f"The answer can't be kept: {refusal}")
        return self._added(current, new, item, run=run.id)

    def _added(self, current: ContextMap, new: ContextMap, item: MapItem, **told: Any) -> tuple[ContextMap, MapItem]:
        self._fits(item)
        body = {"text": item.text, "section": item.section.value, **told}
        return self._save(current, new, MapEvent("add", item.id, body, "person")), item

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
        edit = Edit("REPLACE", id=id, text=text, evidence=evidence, template=template_of(text, evidence))
        new, changed, refusal = maps.apply(current, edit, author="person", state=state)
        if refusal == "changes nothing":
            return current
        if refusal or changed is None:
            raise Refused(f"The item can't be changed: {refusal}")
        if sql == "":
            new = maps.update_item(new, id, lambda i: replace(i, evidence=None, template="", state="unverifiable"))
        self._fits(changed)
        body = {"before": item.text, "text": changed.text, "section": item.section.value}
        return self._save(current, new, MapEvent("replace", id, body, "person"))

    def refused(self) -> tuple[Refusal, ...]:
        """What updates refused, newest first; what was admitted by hand since is left out."""
        events = self._book.events("refuse", "admit", BACK, FORTH)
        back = taken_back(events)
        taken = {t.event.body.get("refusal") for t in events if t.event.name == "admit" and t.version not in back}
        return tuple(_refusal(t) for t in reversed(events) if t.event.name == "refuse" and t.id not in taken)

    def admit(self, id: int) -> ContextMap:
        """Apply by hand what was refused; a query that fails or does not show what the text says is left out."""
        current = self._book.current()
        found = next((r for r in self.refused() if r.id == id), None)
        if found is None:
            raise NotFound(f"There is no refused edit {id}", next="`peek map DATASET refused` lists them.")
        if found.edit is None:
            raise Refused(
                f"“{found.says}” can't be admitted: {found.why}",
                next="State the rule again in a question, or otherwise.",
            )
        edit = found.edit
        state: maps.EvidenceState = "unverifiable"
        if edit.op != "DELETE":
            evidence, state = self._evidence_for(current, edit)
            edit = replace(edit, evidence=evidence, template=template_of(edit.text, evidence))
        new, item, refusal = maps.apply(current, edit, author="person", state=state)
        if refusal or item is None:
            raise Refused(f"It can't be admitted: {refusal}", next="Add it by hand, as an item of its own.")
        self._fits(item)
        body = {"text": item.text, "section": item.section.value, "refusal": id, "why": found.why}
        return self._save(current, new, MapEvent("admit", item.id, body, "person"))

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

    def propose(self, found: Sequence[Mapping[str, Any]], author: str) -> ContextMap:
        """Lay definitions (as data) before the person; one that says what a definition says already is passed over."""
        current, columns = self._book.current(), self._bench.columns
        made = [(data, from_data(data, columns)) for data in found]
        known = current.definitions
        fresh = [data for data, one in made if isinstance(one, str) or not any(one.same_rule(other) for other in known)]
        if not fresh:
            return current

        def laid(query: RunQuery) -> tuple[ContextMap, list[MapEvent]]:
            new, events = current, list[MapEvent]()
            for data in fresh:
                accept = self._settings.auto_accept
                new, more = propose(new, data, columns, query, self._version, author=author, accept=accept)
                events += more
            return new, events

        new, events = self._query_with(laid, current.active)
        return self._save(current, new, *events)

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

    def apply_budget(self) -> tuple[ContextMap, tuple[Eviction, ...]]:
        """Evict until the map fits the present settings."""
        current = self._book.current()
        new, gone = self.preview(self._settings.budget, self._settings.order)
        if not gone:
            return current, ()
        return self._save(current, new, *evicted(gone, "person")), gone

    def preview(self, budget: int, order: str) -> tuple[ContextMap, tuple[Eviction, ...]]:
        """Who would leave under a budget and order; changes nothing."""
        return evict(self._book.current(), budget, self._count, order=order, grace=self._settings.grace)

    def weigh(self, id: str | None, section: str, text: str) -> Weight:
        """What saving a text would cost: of a new item of a section (`id` None), or in place of what an item says.

        Changes nothing. Raises NotFound, and Refused where it could not be saved.
        """
        current = self._book.current() if id is None else self._item(id)[0]
        edit = Edit("ADD", section=section, text=text) if id is None else Edit("REPLACE", id=id, text=text)
        new, item, refusal = maps.apply(current, edit, author="person")
        if refusal == "changes nothing":
            new, refusal = current, None
        if refusal or item is None:
            raise Refused(f"It can't be saved: {refusal}")
        self._fits(item)
        s = self._settings
        _, gone = evict(new, s.budget, self._count, order=s.order, grace=s.grace)
        before, after = (self._count(render(m.items)) for m in (current, new))
        return Weight(before, after, tuple(g.item for g in gone))

    def renew(self, moved: Mapping[tuple[str, str], str] | None = None) -> ContextMap:
        """Hold the map against a new dataset version: a map that froze itself learns again, and all is verified.

        `moved`: (table, column) -> what became of its numbers, where all of them moved. Always makes a map version, so
        that the ones before it stay bound to the data they were verified on.
        """
        current = self._book.current()
        new, events = self.renewed(current, moved)
        return self._save(current, new, *events)

    def renewed(
        self, current: ContextMap, moved: Mapping[tuple[str, str], str] | None = None
    ) -> tuple[ContextMap, list[MapEvent]]:
        """What `renew` would make of a map; changes nothing."""
        events = [MapEvent(NEW_DATA, body={"version": self._version})]
        new = current
        if current.frozen and current.frozen_by == "itself":
            new = replace(current, frozen=False, frozen_why="", frozen_by="", quiet=0)
            events.append(MapEvent("thaw_map", "", {"why": "the dataset has a new version"}))
        new, measured = deciding.remeasured(new, replace(self._bench, moved=moved or {}))
        new, verified_ones = self._verified(new)
        return new, [*events, *measured, *verified_ones]

    def verify(self) -> ContextMap:
        """Measure every definition and run every item's evidence on the present version; what no longer fits is held
        back."""
        current = self._book.current()
        new, measured = deciding.remeasured(current, self._bench)
        new, events = self._verified(new)
        return self._save(current, new, *measured, *events) if new != current else current

    def _verified(self, new: ContextMap) -> tuple[ContextMap, list[MapEvent]]:
        if not any(i.evidence for i in new.items):
            return new, []

        def check(query: RunQuery) -> tuple[MapItem, ...]:
            return tuple(verified(i, query, self._version) for i in new.items)

        checked: tuple[MapItem, ...] = self._query_with(check, new.active)
        events = [
            MapEvent(
                "verify", now.id, {"before": was.state, "after": now.state, "detail": now.detail, "text": now.text}
            )
            for was, now in zip(new.items, checked, strict=True)
            if (was.state, was.detail, was.text) != (now.state, now.detail, now.text)
        ]
        return replace(new, items=checked), events


def _refusal(told: Told) -> Refusal:
    body = told.event.body
    why = str(body.get("why", ""))
    definition = body.get("definition")
    if definition is not None:
        return Refusal(told.id, told.version, why, None, definition)
    sql = body.get("evidence")
    evidence = Evidence(sql, ()) if isinstance(sql, str) else None
    edit = Edit(body["op"], body.get("id", ""), body.get("section", ""), body.get("text", ""), evidence)
    return Refusal(told.id, told.version, why, edit, None)


def kept_answers(current: ContextMap) -> dict[str, str]:
    """Run -> the reusable result a person keeps its answer as."""
    mine = (i for i in current.section(MapSection.RESULTS) if i.author == "person" and i.run)
    return {i.run: i.id for i in mine}


def spelling_folds(report: LoadReport) -> list[dict[str, Any]]:
    """Definitions, as data, for the spellings that reading found; merging them is a person's decision."""
    return [
        {
            "kind": "spelling_fold",
            "table": s.table,
            "column": s.column,
            "mapping": s.mapping,
            "name": f"One spelling for each {s.column}",
        }
        for s in report.spellings
    ]
