"""Review: edits of the agent that wait for a person, as suggestions.

Owns: what a suggestion keeps, which of them still wait, and why one no longer applies. Refuses to know: storage, models,
how evidence is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_map.admission import twin_of
from peek_core.context_map.history import MapEvent, Told
from peek_core.context_map.map import ContextMap, Edit, Evidence, EvidenceState, MapItem, MapSection
from peek_core.context_map.steps import BACK, FORTH, taken_back
from peek_core.values.canon import fold

NAMES = ("suggest", "take", "turn_down", BACK, FORTH)
"""The events that say what was suggested and what became of it."""


@dataclass(frozen=True)
class Suggestion:
    """An admitted edit that waits. `edit.section` is the item's section, whatever the edit does."""

    id: int
    version: int
    """The map version whose update suggested it."""
    edit: Edit
    state: EvidenceState
    run: str
    question: str
    before: str = ""
    """The item's text when it was suggested; empty for a new one."""
    present: str | None = None
    """The item's text now; None for a new item and for one that is gone."""
    outdated: str = ""
    """Why it no longer applies; empty while it does."""

    @property
    def why(self) -> str:
        """The agent's reason."""
        return self.edit.why

    @property
    def applies(self) -> bool:
        return not self.outdated


def suggested(
    before: ContextMap, after: ContextMap, told: Sequence[MapEvent], known: tuple[Sequence[Suggestion], Sequence[Suggestion]],
    *, run: str, question: str,
) -> list[MapEvent]:  # fmt: skip
    """What an update would have done to `before`, one suggestion for each item that `after` has otherwise.

    `told`: the update's events, whose reasons and refusals stay. `known`: suggestions that wait, and those that were
    turned down; neither is made a second time, which is told as a refusal.
    """
    why = {e.item: str(e.body.get("why") or "") for e in told if e.name != "refuse"}
    events = [e for e in told if e.name == "refuse"]
    waiting, turned_down = ([s for s in some if against(s, before).applies] for some in known)
    for edit, state, text in _edits(before, after):
        edit = replace(edit, why=why.get(edit.id, ""))
        refusal = "waits as a suggestion already" if _said(edit, text, waiting) else ""
        refusal = refusal or ("was turned down before" if _said(edit, text, turned_down) else "")
        edit = edit if edit.op != "ADD" else replace(edit, id="")
        if refusal:
            events.append(MapEvent("refuse", edit.id, {**edit.as_data(), "why": refusal}))
            continue
        more: dict[str, Any] = {
            "template": edit.template,
            "state": state,
            "before": text,
            "run": run,
            "question": question,
        }
        if edit.evidence:
            more |= {"tolerance": edit.evidence.tolerance, "on": edit.evidence.version}
        events.append(MapEvent("suggest", edit.id, {**edit.as_data(), **more}))
    return events


def _edits(before: ContextMap, after: ContextMap) -> Iterable[tuple[Edit, EvidenceState, str]]:
    """(the edit that makes an item what `after` has of it, its evidence state, the item's text before)."""
    for item in after.items:
        was = before.item(item.id)
        # Evidence an edit did not bring along was not run for it.
        own = item.evidence if item.state != "unverifiable" else None
        edit = Edit("ADD", item.id, item.section.value, item.text, own, template=item.template)
        if was is None:
            yield edit, item.state, ""
        elif (was.text, was.evidence, was.template) != (item.text, item.evidence, item.template):
            yield replace(edit, op="REPLACE"), item.state, was.text
    for was in before.items:
        if after.item(was.id) is None:
            yield Edit("DELETE", was.id, was.section.value), "unverifiable", was.text


def _said(edit: Edit, before: str, known: Sequence[Suggestion]) -> bool:
    """Whether a known suggestion says the same."""
    if edit.op == "DELETE":
        return any((s.edit.op, s.edit.id, s.before) == ("DELETE", edit.id, before) for s in known)
    others = [s for s in known if s.edit.op != "DELETE"]
    items = tuple(MapItem(str(s.id), MapSection(s.edit.section), s.edit.text) for s in others)
    twin, contradicts = twin_of(ContextMap(items), replace(edit, id=""))
    return twin is not None and not contradicts


def sorted_out(told: Iterable[Told]) -> tuple[tuple[Suggestion, ...], tuple[Suggestion, ...]]:
    """(those that wait, those that were turned down), oldest first, from events of `NAMES`."""
    events = list(told)
    back = taken_back(events)
    decided = {
        t.event.body["suggestion"]: t.event.name
        for t in events
        if t.event.name in ("take", "turn_down") and t.version not in back
    }
    made = [_read(t) for t in events if t.event.name == "suggest"]
    return (
        tuple(s for s in made if s.id not in decided),
        tuple(s for s in made if decided.get(s.id) == "turn_down"),
    )


def _read(told: Told) -> Suggestion:
    b: Mapping[str, Any] = told.event.body
    evidence = None
    if b["evidence"] is not None:
        rows = tuple(tuple(row) for row in b["expect"])
        evidence = Evidence(b["evidence"], rows, b["tolerance"], b["on"])
    edit = Edit(b["op"], b["id"], b["section"], b["text"], evidence, b["why"], b["template"])
    return Suggestion(told.id, told.version, edit, b["state"], b["run"], b["question"], b["before"])


def against(suggestion: Suggestion, current: ContextMap) -> Suggestion:
    """The suggestion as it stands beside the map as it is now."""
    edit = suggestion.edit
    if edit.op == "ADD":
        same = (i for i in current.items if i.section.value == edit.section and fold(i.text) == fold(edit.text))
        twin = next(same, None)
        return replace(suggestion, outdated=f"{twin.id} already says this" if twin else "")
    item = current.item(edit.id)
    if item is None:
        return replace(suggestion, outdated=f"{edit.id} has left the map")
    outdated = "" if item.text == suggestion.before else f"{edit.id} was changed since"
    if not outdated and item.untouchable:
        outdated = f"{edit.id} is {'frozen' if item.frozen else 'locked'}"
    if not outdated and edit.op == "DELETE" and item.pinned:
        outdated = f"{edit.id} is pinned"
    return replace(suggestion, present=item.text, outdated=outdated)
