"""Stable order by rising volatility: global, session, then this turn; O(n log n) (ContextPipe, section 4).

Anchors (identity, constraints) stay in front in their given order. Sections of one pair stay adjacent, because a
pair is sorted as one unit. When the new order would move more sections than allowed, the old one stays and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from peek_core.context_pipe.rules.working import Placed, RuleContext, tokens
from peek_core.values.call_trace import Decision
from peek_core.values.sources import ANCHORS

NAME = "order_by_volatility"


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Reorder; keeps every section and every token."""
    total = tokens(placed)
    units = [tuple(unit) for _, unit in groupby(placed, key=lambda p: p.record.pair or id(p))]
    ordered = sorted(units, key=_rank)
    moves = sum(a is not b for a, b in zip(units, ordered, strict=True))
    limit = context.snapshot.configuration.max_reorder_moves
    if moves == 0:
        return tuple(placed), Decision(NAME, False, "already in order of volatility", total, total)
    if moves > limit:
        reason = f"{moves} sections would move, at most {limit} may; order kept"
        return tuple(placed), Decision(NAME, False, reason, total, total)
    out = tuple(p for unit in ordered for p in unit)
    return out, Decision(NAME, True, f"{moves} sections moved: global, session, this turn", total, total)


def _rank(unit: tuple[Placed, ...]) -> tuple[int, int]:
    if any(p.record.kind in ANCHORS for p in unit):
        return 0, 0
    return 1, max(p.record.scope.rank for p in unit)
