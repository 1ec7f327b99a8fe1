"""The Evictor: who leaves so that the map fits its budget exactly. Pure.

Owns: eviction orders and the grace of new items. Refuses to know: why an item was added.
Orders: `paper` by section (error patterns, parsing, results, constants, then roadmap and understanding), within it score, then age;
`paper-score-first` by score, the section rank breaking ties; `released` by score, then age (the released code).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from peek_core.context_map.map import ContextMap, MapItem, MapSection, render
from peek_core.ports import TokenCounter

SECTION_RANK = {
    MapSection.ERRORS: 0,
    MapSection.PARSING: 1,
    MapSection.RESULTS: 2,
    MapSection.CONSTANTS: 3,
    MapSection.ROADMAP: 4,
    MapSection.UNDERSTANDING: 5,
}
Key = Callable[[MapItem], tuple[int, ...]]
ORDERS: dict[str, Key] = {
    "paper": lambda i: (SECTION_RANK[i.section], i.score, i.born),
    "paper-score-first": lambda i: (i.score, SECTION_RANK[i.section], i.born),
    "released": lambda i: (i.score, i.born),
}


@dataclass(frozen=True)
class Eviction:
    """One item that leaves, and the arithmetic."""

    item: MapItem
    why: str
    before: int
    """Tokens of the map when it was chosen."""
    after: int


def evict(
    current: ContextMap, budget: int, count: TokenCounter, *, order: str = "paper", grace: int = 3
) -> tuple[ContextMap, tuple[Eviction, ...]]:
    """Remove unpinned items, lowest first, until the rendered map fits `budget` tokens.

    Items younger than `grace` questions go only when nothing older can, oldest first. Pinned items never leave:
    when they alone exceed the budget nothing more is removed (pinning refuses that case beforehand).
    """
    items = list(current.items)
    gone: list[Eviction] = []
    size = count(render(items))
    while size > budget:
        candidate = _next(current, items, order, grace)
        if candidate is None:
            break
        item, why = candidate
        items.remove(item)
        before, size = size, count(render(items))
        gone.append(Eviction(item, f"{why}; the map stood at {before:,} of {budget:,} tokens", before, size))
    return (replace(current, items=tuple(items)), tuple(gone)) if gone else (current, ())


def next_out(current: ContextMap, order: str, grace: int) -> MapItem | None:
    """Who would leave first if one had to."""
    found = _next(current, list(current.items), order, grace)
    return found[0] if found else None


def _next(current: ContextMap, items: Sequence[MapItem], order: str, grace: int) -> tuple[MapItem, str] | None:
    loose = [i for i in items if not i.pinned]
    settled = [i for i in loose if current.age(i) >= grace]
    if settled:
        item = min(settled, key=lambda i: (*ORDERS[order](i), i.id[3:]))
        return item, f"score {item.score}, lowest in the order {order}"
    if loose:
        item = min(loose, key=lambda i: (i.born, i.id[3:]))
        return item, "only pinned and new items are left; the oldest new one goes"
    return None


def pin_refusal(current: ContextMap, id: str, budget: int, count: TokenCounter) -> str | None:
    """Why pinning `id` is refused: the pinned items alone would exceed the budget. None when it is fine."""
    pinned = [i for i in current.items if i.pinned or i.id == id]
    size = count(render(pinned))
    if size <= budget:
        return None
    return f"the {len(pinned)} pinned items would take {size:,} of {budget:,} tokens; unpin one or raise the budget"
