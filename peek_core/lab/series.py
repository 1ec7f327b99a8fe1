"""A question series played under two arms, and what the comparison may claim.

Owns: the record of each answer and paired sums. Refuses to know: how a question is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peek_core.lab.grading import Verdict


@dataclass(frozen=True)
class Played:
    """One question answered under one arm. `tokens` are estimates of the largest request; None where unknown."""

    id: str
    question: str
    kind: str
    verdict: Verdict
    answer: str
    run: str
    turns: int
    look_ups: int
    tokens: int
    calls: int
    map_version: int
    items_used: tuple[str, ...] = ()
    gold: Any = None


@dataclass(frozen=True)
class Totals:
    """Sums of one arm, correctness first: no saving is ever shown without it."""

    asked: int
    right: int
    wrong: int
    no_answer: int
    turns: int
    look_ups: int
    tokens: int


def totals(played: Sequence[Played]) -> Totals:
    count = {v: sum(p.verdict == v for p in played) for v in ("right", "wrong", "no_answer")}
    return Totals(
        len(played),
        count["right"],
        count["wrong"],
        count["no_answer"],
        sum(p.turns for p in played),
        sum(p.look_ups for p in played),
        sum(p.tokens for p in played),
    )


@dataclass(frozen=True)
class Paired:
    """With against without, question by question."""

    better: int
    worse: int
    same: int
    fewer_look_ups: int
    more_look_ups: int


def paired(with_map: Sequence[Played], without: Sequence[Played]) -> Paired:
    pairs = list(zip(with_map, without, strict=False))
    better = sum(a.verdict == "right" != b.verdict for a, b in pairs)
    worse = sum(b.verdict == "right" != a.verdict for a, b in pairs)
    return Paired(
        better,
        worse,
        len(pairs) - better - worse,
        sum(a.look_ups < b.look_ups for a, b in pairs),
        sum(a.look_ups > b.look_ups for a, b in pairs),
    )


@dataclass(frozen=True)
class MapUse:
    """Questions by what the map did for them. One question can be both a hit and a miss.

    hit: the answer relied on an item. missed: the map held items, yet something still had to be looked up.
    found_again: the side without the map had to look up more than the side with it.
    """

    hit: tuple[str, ...]
    missed: tuple[str, ...]
    found_again: tuple[str, ...]


def map_use(with_map: Sequence[Played], without: Sequence[Played]) -> MapUse:
    """Question ids, over the questions both sides have answered."""
    pairs = list(zip(with_map, without, strict=False))
    return MapUse(
        tuple(a.id for a, _ in pairs if a.items_used),
        tuple(a.id for a, _ in pairs if a.map_version and a.look_ups),
        tuple(a.id for a, b in pairs if b.look_ups > a.look_ups),
    )


def planted_found(
    planted: Sequence[Mapping[str, Any]], texts: Sequence[str], definitions: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(ids found, ids missing): a planted fact stands as a definition on its column, or in an item naming it."""
    found = [p["id"] for p in planted if _stands(p, texts, definitions)]
    return tuple(found), tuple(p["id"] for p in planted if p["id"] not in found)


def _stands(p: Mapping[str, Any], texts: Sequence[str], definitions: Sequence[Mapping[str, Any]]) -> bool:
    column = str(p.get("column", ""))
    values = {str(v) for v in [*p.get("values", []), *dict(p.get("mapping", {}))]}
    for d in definitions:
        held = {str(v) for v in [*d.get("values", []), *dict(d.get("mapping", {}))]}
        if d.get("kind") == p.get("kind") and d.get("column") == column and values <= held:
            return True
    return any(all(w in t.lower() for w in _words(p, column, values)) for t in texts)


def _words(p: Mapping[str, Any], column: str, values: set[str]) -> list[str]:
    """What an item's text must name to state the fact: the term and its values, or the columns it ties together."""
    terms = [str(p["term"])] if "term" in p else list(p.get("terms", {}))
    tied = [w.strip("'\"") for w in str(p.get("where", "")).replace("=", " ").split()]
    days = [str(p[k]) for k in ("first_day", "last_day") if k in p]
    words = [*terms, *sorted(values), column] if terms else [column, *sorted(values), *tied, *days]
    return [w.lower() for w in words if w]
