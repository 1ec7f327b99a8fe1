"""Stable order by rising volatility: global, session, then this turn; O(n log n) (ContextPipe, section 4).

Anchors (identity, constraints) keep their places and nothing moves across one: only what lies between two of them is
ordered. Sections of one pair move as one, what depends on another section stays behind it, and when more would move
against the latest request than allowed, the old order stays and the decision says so.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import groupby, pairwise

from peek_core.context_pipe.rules.working import Placed, RuleContext
from peek_core.values.call_trace import Decision
from peek_core.values.sources import ANCHORS, Scope

NAME = "order_by_volatility"
_RANKS = {scope: scope.rank for scope in Scope}
Unit = tuple[Placed, ...]


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Reorder; keeps every section and every token."""
    total = context.tokens(placed)
    if _rising(placed):
        return tuple(placed), Decision(NAME, False, "already in order of volatility", total, total)
    units = [tuple(unit) for _, unit in groupby(placed, key=lambda p: p.record.pair or id(p))]
    ordered = [u for segment in _segments(units) for u in _sorted(segment)]
    moved = _moved(ordered, units)
    if not moved:
        return tuple(placed), Decision(NAME, False, "already in order of volatility", total, total)
    old = [u for segment in _segments(units) for u in _as_before(segment, context.snapshot.held.order)]
    against = len(_moved(ordered, old))
    limit = context.snapshot.configuration.max_reorder_moves
    if context.snapshot.held.order and against > limit:
        reason = f"{against} sections would move against the latest request, at most {limit} may; its order stays"
        return _flat(old), Decision(NAME, False, reason, total, total)
    reason = f"{len(moved)} sections moved: global, session, this turn"
    return _flat(ordered), Decision(NAME, True, reason, total, total, tuple(p.record.name for p in _flat(moved)))


def _rising(placed: Sequence[Placed]) -> bool:
    """Whether nothing is less volatile than what stands before it since the last anchor: then nothing moves."""
    last = 0
    for p in placed:
        if p.record.kind in ANCHORS:
            last = 0
            continue
        rank = _RANKS[p.record.scope]
        if rank < last:
            return False
        last = rank
    return True


def _segments(units: Sequence[Unit]) -> list[list[Unit]]:
    """Cut at anchors; each anchor is a segment of its own."""
    segments: list[list[Unit]] = [[]]
    for unit in units:
        if any(p.record.kind in ANCHORS for p in unit):
            segments += [[unit], []]
        else:
            segments[-1].append(unit)
    return segments


def _sorted(segment: Sequence[Unit]) -> list[Unit]:
    """By scope, stable; a unit waits until those it depends on have been placed (Kahn 1962 over a heap)."""
    scopes = [max(p.record.scope.rank for p in unit) for unit in segment]
    if all(a <= b for a, b in pairwise(scopes)):
        return list(segment)
    home = _places(segment)
    # What came behind when the records were given is not waited for: whoever wrote them knows better.
    needs = [{home[d] for p in u for d in p.record.depends if home.get(d, n) < n} for n, u in enumerate(segment)]
    followers: dict[int, list[int]] = {}
    for n, wanted in enumerate(needs):
        for w in wanted:
            followers.setdefault(w, []).append(n)
    ready = [(scopes[n], n) for n, wanted in enumerate(needs) if not wanted]
    heapq.heapify(ready)
    out: list[Unit] = []
    while ready:
        _, n = heapq.heappop(ready)
        out.append(segment[n])
        for follower in followers.get(n, ()):
            needs[follower].discard(n)
            if not needs[follower]:
                heapq.heappush(ready, (scopes[follower], follower))
    return out


def _as_before(segment: Sequence[Unit], order: Sequence[str]) -> list[Unit]:
    """Known sections in their old order, new ones behind them."""
    at = {name: n for n, name in enumerate(order)}
    ranked = sorted(segment, key=lambda unit: min(at.get(p.record.name, len(at)) for p in unit))
    given, here = _places(segment), _places(ranked)
    needs = [(p.record.name, d) for unit in ranked for p in unit for d in p.record.depends if d in here]
    right = all(here[d] <= here[name] for name, d in needs if given[d] <= given[name])
    return ranked if right else list(segment)


def _places(segment: Sequence[Unit]) -> dict[str, int]:
    return {p.record.name: n for n, unit in enumerate(segment) for p in unit}


def _moved(ordered: Sequence[Unit], old: Sequence[Unit]) -> list[Unit]:
    """Those with another place than in the old order."""
    return [a for a, b in zip(ordered, old, strict=True) if a is not b]


def _flat(units: Sequence[Unit]) -> tuple[Placed, ...]:
    return tuple(p for unit in units for p in unit)
