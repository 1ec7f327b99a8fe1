"""The context map: sections, items, edits; parse, render, apply. Frozen; every change gives a new map.

Owns: ids (never reused), the text form, what an edit may do. Refuses to know: models, SQL engines, storage, time.
Text form (PEEK, section 3): `## Section`, then `[slug-NNNNN] text` lines; one counter over all sections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from peek_core.context_map.definitions import Definition
from peek_core.values.canon import plain


class MapSection(StrEnum):
    """The paper's five sections and the released code's optional sixth; the value is the id's slug."""

    ROADMAP = "cr"
    UNDERSTANDING = "cu"
    CONSTANTS = "dc"
    PARSING = "ps"
    RESULTS = "rr"
    ERRORS = "ep"

    @property
    def heading(self) -> str:
        return {
            "cr": "Context Roadmap",
            "cu": "Context Understanding",
            "dc": "Domain Constants",
            "ps": "Parsing Schema",
            "rr": "Reusable Results",
            "ep": "Error Patterns",
        }[self.value]

    @property
    def hint(self) -> str:
        """What belongs here; shown in an empty map."""
        return {
            "cr": "what is in the dataset and where",
            "cu": "what it means and what matters",
            "dc": "exact thresholds, code meanings, units",
            "ps": "how values are written, and traps in them",
            "rr": "results later questions can build on, with their query",
            "ep": "queries that fail on this dataset, and why",
        }[self.value]


EvidenceState = Literal["holds", "drifted", "broken", "unverifiable"]
Author = Literal["agent", "person"]


@dataclass(frozen=True)
class Evidence:
    """A query and the rows it gave when the item was admitted, on the dataset version named."""

    sql: str
    expect: tuple[tuple[Any, ...], ...]
    tolerance: float = 1e-6
    version: int = 1


@dataclass(frozen=True)
class MapItem:
    """One prose item. Only id, section and text reach the prompt; the rest is for people and the policy."""

    id: str
    section: MapSection
    text: str
    score: int = 0
    pinned: bool = False
    locked: bool = False
    frozen: bool = False
    author: Author = "agent"
    born: int = 0
    """The map's question count when it was added; age = questions - born."""
    question: str = ""
    run: str = ""
    evidence: Evidence | None = None
    template: str = ""
    """The text with slots over the cells of its evidence (context_map/slots.py); empty where it has none."""
    state: EvidenceState = "unverifiable"
    detail: str = ""
    """Old -> new for drifted, the reason for broken."""

    @property
    def untouchable(self) -> bool:
        """True when the agent may not edit, tag or delete it."""
        return self.locked or self.frozen

    def line(self) -> str:
        return f"[{self.id}] {self.text}"


@dataclass(frozen=True)
class Edit:
    """ADD (section, text), REPLACE (id, text) or DELETE (id). REPLACE keeps id, score and history."""

    op: Literal["ADD", "REPLACE", "DELETE"]
    id: str = ""
    section: str = ""
    text: str = ""
    evidence: Evidence | None = None
    why: str = ""
    template: str = ""
    """The text with its slots, as admission found them."""

    def as_data(self) -> dict[str, Any]:
        """The edit as events keep it; its template stays out."""
        return {
            "op": self.op,
            "id": self.id,
            "section": self.section,
            "text": self.text,
            "evidence": self.evidence.sql if self.evidence else None,
            "expect": plain(self.evidence.expect) if self.evidence else None,
            "why": self.why,
        }


@dataclass(frozen=True)
class ContextMap:
    """Everything learned of one dataset under one policy."""

    items: tuple[MapItem, ...] = ()
    definitions: tuple[Definition, ...] = ()
    version: int = 0
    next_number: int = 1
    next_definition: int = 1
    questions: int = 0
    """Teaching runs so far; m counts against it."""
    frozen: bool = False
    frozen_why: str = ""
    frozen_by: Literal["", "person", "itself"] = ""
    quiet: int = 0
    """Updates in a row that changed nothing."""

    def item(self, id: str) -> MapItem | None:
        return next((i for i in self.items if i.id == id), None)

    def definition(self, id: str) -> Definition | None:
        return next((d for d in self.definitions if d.id == id), None)

    def section(self, section: MapSection) -> tuple[MapItem, ...]:
        return tuple(i for i in self.items if i.section is section)

    def age(self, item: MapItem) -> int:
        """Questions asked since the item was added."""
        return self.questions - item.born

    @property
    def active(self) -> tuple[Definition, ...]:
        """Definitions compiled into the curated view."""
        return tuple(d for d in self.definitions if d.state == "on")


def render(items: Sequence[MapItem]) -> str:
    """The prompt-visible text of the items; an empty section shows what belongs there.

    >>> print(render([MapItem("cr-00001", MapSection.ROADMAP, "One row is one answer.")]).splitlines()[1])
    [cr-00001] One row is one answer.
    """
    lines: list[str] = []
    for section in MapSection:
        mine = [i.line() for i in items if i.section is section]
        if section is MapSection.ERRORS and not mine:
            continue
        lines.append(f"## {section.heading}")
        lines += mine or [f"({section.hint})"]
    return "\n".join(lines) + "\n"


_LINE = re.compile(r"^\[((?:cr|cu|dc|ps|rr|ep)-\d{5,})\] (.+)$")


def parse(text: str) -> tuple[MapItem, ...]:
    """Items from their text form: id, section and text. Lines that are no item are ignored."""
    found = (_LINE.match(line) for line in text.split("\n"))
    return tuple(MapItem(m[1], MapSection(m[1][:2]), m[2]) for m in found if m)


def one_line(text: str) -> str:
    """Item text as it may stand in the map: one line, single spaces."""
    return " ".join(text.split())


Refusal = str


def apply(
    current: ContextMap,
    edit: Edit,
    *,
    author: Author,
    run: str = "",
    question: str = "",
    state: EvidenceState = "unverifiable",
) -> tuple[ContextMap, MapItem | None, Refusal | None]:
    """Apply one edit. Returns the new map, the item concerned, and the reason when it is illegal (map unchanged).

    An agent may not touch locked or frozen items; a person may do everything.
    """
    text = one_line(edit.text)
    if edit.op == "ADD":
        if edit.section not in {s.value for s in MapSection}:
            return current, None, f"no section {edit.section!r}"
        if not text:
            return current, None, "empty text"
        section = MapSection(edit.section)
        item = MapItem(
            id=f"{section.value}-{current.next_number:05d}",
            section=section,
            text=text,
            author=author,
            born=current.questions,
            question=question,
            run=run,
            evidence=edit.evidence,
            template=edit.template,
            state=state,
        )
        return replace(current, items=(*current.items, item), next_number=current.next_number + 1), item, None
    item_or_none = current.item(edit.id)
    if item_or_none is None:
        return current, None, f"no item {edit.id!r}"
    item = item_or_none
    if author == "agent" and item.untouchable:
        return current, item, f"{item.id} is {'frozen' if item.frozen else 'locked'}"
    if edit.op == "DELETE":
        if author == "agent" and item.pinned:
            return current, item, f"{item.id} is pinned"
        return replace(current, items=tuple(i for i in current.items if i.id != item.id)), item, None
    if not text:
        return current, item, "empty text"
    changed = replace(
        item,
        text=text,
        evidence=edit.evidence or item.evidence,
        template=edit.template,
        state=state,
        author=author if author == "person" else item.author,
        detail="",
    )
    if changed == item:
        return current, item, "changes nothing"
    return update_item(current, item.id, lambda _: changed), changed, None


def update_item(current: ContextMap, id: str, change: Callable[[MapItem], MapItem]) -> ContextMap:
    """The map with one item replaced by `change` of it."""
    return replace(current, items=tuple(change(i) if i.id == id else i for i in current.items))


SCORES = {"helpful": 1, "harmful": -1, "stale": -1, "neutral": 0}
"""What a tag adds to an item's score (PEEK, section 3.3)."""


def tag(current: ContextMap, id: str, name: str) -> tuple[ContextMap, Refusal | None]:
    """Add a tag's worth to an item's score; illegal ones come back with their reason."""
    item = current.item(id)
    if item is None:
        return current, f"no item {id!r}"
    if name not in SCORES:
        return current, f"no tag {name!r}"
    if item.untouchable:
        return current, f"{id} is {'frozen' if item.frozen else 'locked'}"
    return update_item(current, id, lambda i: replace(i, score=i.score + SCORES[name])), None
