"""What happened to a map: events that rebuild it, and the diff of two versions.

Owns: the event vocabulary, what an event must carry so that nothing else is needed to rebuild the map, and the diff.
Refuses to know: where events are kept.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from peek_core.context_map.definitions import Definition
from peek_core.context_map.evictor import Eviction
from peek_core.context_map.map import ContextMap, MapItem
from peek_core.values.canon import plain
from peek_core.values.codec import build


@dataclass(frozen=True, slots=True)
class MapEvent:
    """One act on the map: tag, add, replace, delete, evict, refuse, suggest, pin, score, propose, accept, undo …"""

    name: str
    item: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    author: str = "agent"


@dataclass(frozen=True, slots=True)
class Told:
    """An event as it is kept: in which version of the map it stands, when that was (seconds since the epoch), and the
    run that taught it, empty for a person's act."""

    id: int
    version: int
    at: float
    run: str
    event: MapEvent


COUNTERS = ("next_number", "next_definition", "questions", "quiet", "frozen", "frozen_why", "frozen_by")
"""Fields of a map beside its items and definitions."""
GONE = frozenset({"delete", "evict"})
NEW_DATA = "new_data"
"""The event of a map held against a new dataset version; map versions before it belong to earlier data."""
UNAPPLIED = frozenset({"refuse", "suggest"})
"""Events of edits that changed nothing."""


def completed(before: ContextMap, after: ContextMap, events: Sequence[MapEvent]) -> tuple[MapEvent, ...]:
    """`events` of the change from `before` to `after`, such that they alone rebuild it (`rebuilt`).

    The last event of each changed item or definition carries it, as `whole`; that of one that left carries what left.
    Changes nobody told of get an event of their own, whose `act` is what was told first; counters come last.
    """
    told = list(events)
    was, now = _by_id(before), _by_id(after)
    first = told[0] if told else MapEvent("")
    for id, value in now.items():
        if was.get(id) != value:
            _tell(told, id, {"whole": plain(value)}, first, "change", lambda e: e.name not in UNAPPLIED)
    for id in sorted(was.keys() - now.keys()):
        known = {"whole": plain(was[id])}
        known |= next((e.body for e in reversed(told) if e.item == id and e.name in GONE), {})
        _tell(told, id, known, first, "delete", lambda e: e.name in GONE)
    counters = {name: getattr(after, name) for name in COUNTERS}
    if counters != {name: getattr(before, name) for name in COUNTERS}:
        told.append(MapEvent("count", "", counters, first.author))
    return tuple(told)


def _by_id(current: ContextMap) -> dict[str, MapItem | Definition]:
    return {**{i.id: i for i in current.items}, **{d.id: d for d in current.definitions}}


def _tell(
    told: list[MapEvent],
    id: str,
    more: Mapping[str, Any],
    first: MapEvent,
    otherwise: str,
    fits: Callable[[MapEvent], bool],
) -> None:
    for n in range(len(told) - 1, -1, -1):
        if told[n].item == id and fits(told[n]):
            told[n] = replace(told[n], body={**told[n].body, **more})
            return
    told.append(MapEvent(otherwise, id, {**more, "act": first.name}, first.author))


def evicted(gone: Sequence[Eviction], author: str = "agent") -> list[MapEvent]:
    """What is told of items that left so that the map fits its budget, each with the item as it left."""
    return [
        MapEvent(
            "evict",
            g.item.id,
            {
                "text": g.item.text,
                "why": g.why,
                "before": g.before,
                "after": g.after,
                "score": g.item.score,
                "whole": plain(g.item),
            },
            author,
        )
        for g in gone
    ]


def rebuilt(events: Iterable[MapEvent], version: int = 0) -> ContextMap:
    """The map that completed events, oldest first, lead to; `version` is its number."""
    items: dict[str, MapItem] = {}
    definitions: dict[str, Definition] = {}
    counters: dict[str, Any] = {}
    for event in events:
        whole = event.body.get("whole")
        if event.name == "count":
            counters = {name: event.body[name] for name in COUNTERS}
        elif event.name in GONE:
            items.pop(event.item, None)
            definitions.pop(event.item, None)
        elif isinstance(whole, Mapping) and event.item.startswith("def-"):
            definitions[event.item] = build(Definition, whole)
        elif isinstance(whole, Mapping):
            items[event.item] = build(MapItem, whole)
    return ContextMap(
        items=tuple(sorted(items.values(), key=lambda i: int(i.id[3:]))),
        definitions=tuple(sorted(definitions.values(), key=lambda d: int(d.id[4:]))),
        version=version,
        **counters,
    )


class MapBook(Protocol):
    """Where one map's versions live."""

    def current(self) -> ContextMap: ...

    def events(self, *names: str) -> tuple[Told, ...]:
        """All events of these names, oldest first."""

    def commit(self, based_on: ContextMap, new: ContextMap, events: Sequence[MapEvent], *, run: str = "") -> ContextMap:
        """Save `new` as the version after `based_on`; raises Conflict when another came first."""


def unlearned(now: ContextMap, before: ContextMap, after: ContextMap) -> ContextMap:
    """`now` without what led from `before` to `after`; what others changed since stays as they left it.

    An item added then goes, a text changed then gets its old one back, unless it was changed again since; what left
    then comes back; scores lose what was added then. Definitions proposed then go while nobody has decided on them.
    """
    items = {i.id: i for i in now.items}
    for id in {i.id for i in (*before.items, *after.items)}:
        was, then, held = before.item(id), after.item(id), items.get(id)
        if was is not None and then is None and held is None:
            items[id] = was
        elif was is None and then is not None and held is not None and held.text == then.text:
            del items[id]
        elif was is not None and then is not None and held is not None:
            back = replace(held, score=held.score - (then.score - was.score))
            if then.text != was.text and held.text == then.text:
                back = replace(
                    back,
                    text=was.text,
                    evidence=was.evidence,
                    template=was.template,
                    state=was.state,
                    detail=was.detail,
                )
            items[id] = back
    new = {d.id for d in after.definitions} - {d.id for d in before.definitions}
    return replace(
        now,
        items=tuple(sorted(items.values(), key=lambda i: int(i.id[3:]))),
        definitions=tuple(d for d in now.definitions if not (d.id in new and d.state == "proposed")),
    )


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


Word = tuple[str, Literal["same", "gone", "new"]]
_WORDS = re.compile(r"\s+|\S+")


def word_diff(before: str, after: str) -> tuple[Word, ...]:
    """What turned one text into another, as pieces of whole words and spaces.

    Pieces that are the same or gone make up `before`, those that are the same or new make up `after`.

    >>> word_diff("8,000 rows of May", "9,100 rows of May")
    (('8,000', 'gone'), ('9,100', 'new'), (' rows of May', 'same'))
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    words: list[Word] = []
    gone = come = ""
    for n, (op, a, b, c, d) in enumerate(blocks):
        # A space between two changed words belongs to the change: nobody reads word by word.
        between = op == "equal" and b - a == 1 and old[a].isspace() and 0 < n < len(blocks) - 1
        if op != "equal" or between:
            gone, come = gone + "".join(old[a:b]), come + "".join(new[c:d])
            continue
        words += _both(gone, come)
        gone = come = ""
        words.append(("".join(old[a:b]), "same"))
    words += _both(gone, come)
    return tuple(words)


def _both(gone: str, come: str) -> list[Word]:
    changed: list[Word] = [(gone, "gone")] if gone else []
    return [*changed, (come, "new")] if come else changed
