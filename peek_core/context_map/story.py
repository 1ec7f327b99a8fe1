"""The story of a map, read off its events: the life of one item, every score, what was last used, what left.

Owns: what each event means for an item. Refuses to know: storage and maps as they are stored; one pass over the events
is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from peek_core.context_map.history import GONE, MapEvent, Told
from peek_core.context_map.map import SCORES, MapItem
from peek_core.values.codec import build

WHAT = {
    "add": "born",
    "admit": "born",
    "replace": "edited",
    "tag": "tagged",
    "score": "scored",
    "pin": "pinned",
    "unpin": "unpinned",
    "lock": "locked",
    "unlock": "unlocked",
    "freeze": "frozen",
    "unfreeze": "thawed",
    "suggest": "suggested",
    "revive": "revived",
    "evict": "evicted",
    "delete": "deleted",
    "change": "changed",
}
"""What happened to an item, by the event's name."""
BY = {"undo": "undone", "redo": "redone", "restore": "restored", "unlearn": "unlearned"}
"""The same, by the act that changed the item without naming it."""
CHECKED = {"holds": "verified", "drifted": "drifted", "broken": "broken", "unverifiable": "verified"}
_SHOWN = ("text", "score", "state", "pinned", "locked", "frozen")


@dataclass(frozen=True)
class Moment:
    """One thing that happened to an item. `before` and `after` are what changed: its text, its score, its evidence's
    state, or marks; `evidence` is its query as of then, empty where it has none. `at` is seconds since the epoch."""

    version: int
    at: float
    what: str
    before: str
    after: str
    why: str
    author: str
    run: str
    question: str
    evidence: str


@dataclass(frozen=True)
class Mark:
    """A remark on an item's line of scores. what: born, back, edited, pinned, unpinned, drifted, broken, evicted, deleted,
    or how an act such as undo took it away."""

    version: int
    item: str
    what: str


@dataclass(frozen=True)
class Scores:
    """Scores by version and item: `table[v][i]` is the score of `items[i]` in `versions[v]`, None where it was not there.

    Shape: versions × items. Items stand in the order they came; `times` are seconds since the epoch.
    """

    versions: tuple[int, ...]
    times: tuple[float, ...]
    items: tuple[str, ...]
    table: tuple[tuple[int | None, ...], ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Named:
    """The items an answer named as used: its run, when it came, and the map version it was answered with."""

    run: str
    at: float
    version: int
    items: tuple[str, ...]


@dataclass(frozen=True)
class Use:
    """The last use of an item: tagged helpful in that version, or named by an answer that had that version."""

    version: int
    at: float
    run: str
    how: Literal["helpful", "answer"]


@dataclass(frozen=True)
class Gone:
    """An item that left, as it was. how: evicted, deleted, undone, redone, restored, unlearned; `by` is who did it."""

    item: MapItem
    how: str
    by: str
    why: str
    version: int
    at: float
    run: str


@dataclass(frozen=True)
class Story:
    """A map at a glance: all scores, and item -> its last use."""

    scores: Scores
    last_used: Mapping[str, Use]


def life(events: Iterable[Told], id: str, questions: Mapping[str, str] | None = None) -> tuple[Moment, ...]:
    """What happened to one item, oldest first; nothing where no event names it. `questions`: run -> its question."""
    asked, moments = questions or {}, list[Moment]()
    was: MapItem | None = None
    there = False
    for told in events:
        event, body = told.event, told.event.body
        if event.item != id or event.name == "refuse" or id.startswith("def-"):
            continue
        now = _item(body, was)
        what, before, after = _moment(event, was if there else None, now)
        run = told.run or str(body.get("run") or "")
        born = now.question if now is not None and what == "born" else ""
        sql = now.evidence.sql if now is not None and now.evidence else ""
        why = str(body.get("why") or body.get("detail") or "")
        question = asked.get(run) or str(body.get("question") or born)
        moments.append(Moment(told.version, told.at, what, before, after, why, event.author, run, question, sql))
        if event.name != "suggest":
            was, there = now or was, event.name not in GONE
    return tuple(moments)


def _item(body: Mapping[str, Any], was: MapItem | None) -> MapItem | None:
    """The item after an event: as the event carries it, else as far as the event tells."""
    if "whole" in body:
        return build(MapItem, body["whole"])  # type: ignore[no-any-return]
    return replace(was, score=was.score + SCORES.get(str(body["tag"]), 0)) if was is not None and "tag" in body else was


def _moment(event: MapEvent, was: MapItem | None, now: MapItem | None) -> tuple[str, str, str]:
    """(what happened, before, after)."""
    name, body = event.name, event.body
    text = was.text if was is not None else ""
    said = str(body.get("text") or (now.text if now is not None else ""))
    if name == "verify":
        moved = was is not None and said != was.text
        told = (text, said) if moved else (str(body.get("before", "")), str(body.get("after", "")))
        return CHECKED.get(str(body.get("after")), "verified"), *told
    if name in GONE:
        return _how(event), text or said, ""
    if name == "suggest":
        return WHAT[name], text, "" if body.get("op") == "DELETE" else said
    if name == "admit" and was is not None:
        return "edited", text, said
    what = BY.get(str(body.get("act"))) or WHAT.get(name, name)
    return (what, text, said) if was is None or name == "replace" else (what, *_difference(was, now or was))


def _difference(was: MapItem, now: MapItem) -> tuple[str, str]:
    """What changed between two states of an item: the first of text, score, state, marks; empty where nothing did."""
    for name in _SHOWN:
        before, after = getattr(was, name), getattr(now, name)
        if before != after:
            if isinstance(before, bool):
                return ("", name) if after else (name, "")
            return str(before), str(after)
    return "", ""


def scores(events: Iterable[Told]) -> Scores:
    """Every item's score in every version that an event speaks of, with remarks; one pass, no map is rebuilt."""
    now: dict[str, int] = {}
    place: dict[str, int] = {}
    rows: list[dict[str, int]] = []
    versions: list[int] = []
    times: list[float] = []
    marks: list[Mark] = []
    for told in events:
        event, id = told.event, told.event.item
        if not versions or versions[-1] != told.version:
            rows += [dict(now)] if versions else []
            versions.append(told.version)
            times.append(told.at)
        if not id or id.startswith("def-"):
            continue
        whole = None if event.name in GONE else event.body.get("whole")
        mark = _mark(event, there=id in now, known=id in place, whole=whole is not None)
        if event.name in GONE:
            now.pop(id, None)
        elif whole is not None:
            now[id] = whole.get("score", 0)
            place.setdefault(id, len(place))
        marks += [Mark(told.version, id, mark)] if mark else []
    rows += [dict(now)] if versions else []
    table = tuple(tuple(row.get(id) for id in place) for row in rows)
    return Scores(tuple(versions), tuple(times), tuple(place), table, tuple(marks))


def _mark(event: MapEvent, *, there: bool, known: bool, whole: bool) -> str:
    """What is to be remarked of an event, empty for nothing. `there`: in the map before; `known`: was there once."""
    if event.name in GONE:
        return _how(event) if there else ""
    if not there:
        return ("back" if known else "born") if whole else ""
    if event.name == "verify":
        after = str(event.body.get("after"))
        return after if after in ("drifted", "broken") else ""
    return {"replace": "edited", "admit": "edited", "pin": "pinned", "unpin": "unpinned"}.get(event.name, "")


def last_used(events: Iterable[Told], named: Sequence[Named] = ()) -> dict[str, Use]:
    """Item -> its last use; items nobody used are missing. `named`: what answers say they used."""
    found: dict[str, Use] = {}
    uses = [
        (t.event.item, Use(t.version, t.at, t.run, "helpful"))
        for t in events
        if t.event.name == "tag" and t.event.body.get("tag") == "helpful"
    ]
    uses += [(id, Use(n.version, n.at, n.run, "answer")) for n in named for id in n.items]
    for id, use in uses:
        if id not in found or found[id].at < use.at:
            found[id] = use
    return found


def gone(events: Iterable[Told]) -> tuple[Gone, ...]:
    """Items that left and did not come back, the latest first, each as it left."""
    there: dict[str, Any] = {}
    left: dict[str, tuple[Told, Any]] = {}
    for told in events:
        event, id = told.event, told.event.item
        if not id or id.startswith("def-"):
            continue
        whole = event.body.get("whole")
        if event.name in GONE:
            known = there.pop(id, None)
            if whole or known:
                left.pop(id, None)
                left[id] = told, whole or known
        elif whole:
            there[id] = whole
            left.pop(id, None)
    return tuple(_gone(told, whole) for told, whole in reversed(left.values()))


def _gone(told: Told, whole: Any) -> Gone:
    body = told.event.body
    item: MapItem = build(MapItem, whole)
    item = replace(item, score=body.get("score", item.score))
    return Gone(item, _how(told.event), told.event.author, str(body.get("why") or ""), told.version, told.at, told.run)


def _how(event: MapEvent) -> str:
    """How an item left, by an event of GONE."""
    return BY.get(str(event.body.get("act"))) or WHAT[event.name]
