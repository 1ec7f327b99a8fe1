"""Acts of a person on the map: pin, lock, freeze, edit, score, add, delete, definitions, budget, undo.

Owns: what each act does and the event it leaves. Refuses to know: pages and terminals. Every act is one map version.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core import deciding
from peek_core.book import StoreBook
from peek_core.context_map import map as maps
from peek_core.context_map.definitions import Definition, DefinitionState, from_data
from peek_core.context_map.definitions.export import dbt_files, plain_sql
from peek_core.context_map.evictor import Eviction, evict, pin_refusal
from peek_core.context_map.evidence import gather, verified
from peek_core.context_map.history import MapEvent, unlearned
from peek_core.context_map.map import ContextMap, Edit, Evidence, MapItem, MapSection, render
from peek_core.context_map.proposals import propose
from peek_core.context_map.slots import slotted
from peek_core.deciding import Bench, Preview
from peek_core.errors import NotFound, PeekError, Refused
from peek_core.ports import RunQuery, TokenCounter
from peek_core.settings import MapSettings
from peek_core.values.dataset import LoadReport
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Table

KEPT_CHARS = 400
NEW_DATA = "new_data"
"""The event of a map held against a new dataset version; map versions before it belong to earlier data."""
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
        edit = Edit("ADD", section=section, text=text, evidence=evidence, template=_template(text, evidence))
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
        edit = Edit("ADD", section="rr", text=text, evidence=evidence, template=_template(text, evidence))
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
        edit = Edit("REPLACE", id=id, text=text, evidence=evidence, template=_template(text, evidence))
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
        taken = {e.body.get("refusal") for _, _, e in self._book.events("admit")}
        return tuple(
            _refusal(id, number, e) for id, number, e in reversed(self._book.events("refuse")) if id not in taken
        )

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
            edit = replace(edit, evidence=evidence, template=_template(edit.text, evidence))
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

    def taught(self, run: str) -> bool:
        """Whether a question changed the map, and that was not undone yet."""
        undone = {e.body.get("run") for _, _, e in self._book.events("unlearn")}
        return run not in undone and self._book.version_of(run) is not None

    def unlearn(self, run: str) -> ContextMap:
        """Undo what one question taught; what a person or a later question changed since stays."""
        number = self._book.version_of(run)
        if number is None or not self.taught(run):
            raise Refused("This question taught the map nothing", next="There is nothing to undo.")
        current = self._book.current()
        new = unlearned(current, self._book.at(number - 1), self._book.at(number))
        return self._save(current, new, MapEvent("unlearn", "", {"run": run, "version": number}, "person"))

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

    def _evidence(self, current: ContextMap, sql: str | None) -> tuple[Evidence | None, maps.EvidenceState]:
        if not sql or not sql.strip():
            return None, "unverifiable"
        return self._query_with(lambda query: gather(sql, query, self._version), current.active), "holds"

    def _evidence_for(self, current: ContextMap, edit: Edit) -> tuple[Evidence | None, maps.EvidenceState]:
        """What the refused edit's query shows now; none where it fails or does not show what the text says."""
        try:
            evidence, state = self._evidence(current, edit.evidence.sql if edit.evidence else None)
        except PeekError:
            return None, "unverifiable"
        if evidence is None or slotted(edit.text, evidence.expect, evidence.sql).loose:
            return None, "unverifiable"
        return evidence, state

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


def _refusal(id: int, version: int, event: MapEvent) -> Refusal:
    body = event.body
    definition = body.get("definition")
    if definition is not None:
        return Refusal(id, version, str(body.get("why", "")), None, definition)
    sql = body.get("evidence")
    evidence = Evidence(sql, ()) if isinstance(sql, str) else None
    edit = Edit(body["op"], body.get("id", ""), body.get("section", ""), body.get("text", ""), evidence)
    return Refusal(id, version, str(body.get("why", "")), edit, None)


def _template(text: str, evidence: Evidence | None) -> str:
    """The slots of a text a person wrote; what the evidence does not show is theirs to answer for."""
    return slotted(maps.one_line(text), evidence.expect, evidence.sql).template if evidence else ""


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
