"""Evidence: the query behind a claim is run, and its result decides whether the claim stands.

Owns: comparing what came with what was expected, and refilling a text whose numbers moved. Refuses to know models,
storage and where the query runs.

- *holds*: the same rows, numbers within the tolerance; or numbers moved of which the text says nothing, by less than
  a factor of two and not to or from zero.
- *drifted*: numbers or dates moved that the text shows in slots. The text is filled anew.
- *broken*: the query fails, or its result says something else of what the text claims.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_map.map import Evidence, EvidenceState, MapItem
from peek_core.context_map.slots import cells_of, fill
from peek_core.errors import PeekError
from peek_core.ports import RunQuery
from peek_core.values.canon import plain

Rows = tuple[tuple[Any, ...], ...]
MAX_ROWS = 200
_FACTOR = 2.0
_LARGE = 100
"""Small numbers are equal by chance."""


@dataclass(frozen=True)
class Checked:
    """What running a piece of evidence gave: `detail` is old → new, `rows` None where the query failed."""

    state: EvidenceState
    detail: str = ""
    rows: Rows | None = None


def gather(sql: str, query: RunQuery, version: int) -> Evidence:
    """Evidence as it stands now. Raises what the query raises."""
    return Evidence(sql, _rows(sql, query), version=version)


def check(evidence: Evidence, query: RunQuery, template: str = "") -> Checked:
    """Run the query and judge. `template`: the item's text with its slots."""
    try:
        got = _rows(evidence.sql, query)
    except PeekError as failure:
        return Checked("broken", failure.what[:200])
    if equal(evidence.expect, got, evidence.tolerance):
        return Checked("holds", "", got)
    moved, shown = f"{short(evidence.expect)} → {short(got)}", cells_of(template)
    if not _only_moved(evidence.expect, got, shown):
        return Checked("broken", moved, got)
    told = any(not _same(evidence.expect[r][c], got[r][c], evidence.tolerance) for r, c in shown)
    return Checked("drifted" if told else "holds", moved, got)


def verified(item: MapItem, query: RunQuery, version: int) -> MapItem:
    """The item after its evidence ran on `version`; a drifted one says the new numbers, unless it is frozen."""
    if item.evidence is None:
        return item
    found = check(item.evidence, query, item.template)
    text = item.text
    if found.state == "broken" or (found.state == "drifted" and item.frozen):
        return replace(item, state=found.state, detail=found.detail)
    if found.state == "drifted":
        filled = fill(item.template, found.rows or ())
        if filled is None:
            return replace(item, state="broken", detail=found.detail)
        text = filled
    now = replace(item.evidence, expect=found.rows or (), version=version)
    return replace(item, state=found.state, detail=found.detail, text=text, evidence=now)


def equal(a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]], tolerance: float) -> bool:
    """Same shape and cells; numbers within the relative tolerance."""
    return _alike(a, b) and all(
        _same(u, v, tolerance) for x, y in zip(a, b, strict=True) for u, v in zip(x, y, strict=True)
    )


def short(rows: Sequence[Sequence[Any]]) -> str:
    """Rows in a few words."""
    text = "; ".join(", ".join("–" if c is None else str(c) for c in row) for row in rows[:3])
    return (text[:60] + " …") if len(text) > 60 or len(rows) > 3 else text or "no rows"


def _rows(sql: str, query: RunQuery) -> Rows:
    return tuple(tuple(plain(cell) for cell in row) for row in query(sql).rows[:MAX_ROWS])


def _alike(a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]]) -> bool:
    return len(a) == len(b) and all(len(x) == len(y) for x, y in zip(a, b, strict=True))


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if _number(a) and _number(b):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-9)
    return bool(a == b) or str(a) == str(b)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _only_moved(before: Rows, after: Rows, shown: frozenset[tuple[int, int]]) -> bool:
    """Whether nothing changed but numbers, and none of those in a way that would change what the text claims."""
    if not _alike(before, after):
        return False
    told = {
        (r, c): (old, new)
        for r, (was, now) in enumerate(zip(before, after, strict=True))
        for c, (old, new) in enumerate(zip(was, now, strict=True))
    }
    for cell, (old, new) in told.items():
        if cell in shown or _same(old, new, 0.0):
            continue
        if not (_number(old) and _number(new)) or old * new <= 0 or not 1 / _FACTOR <= new / old <= _FACTOR:
            return False
    # "8,000 rows, one per id": that two large numbers were the same, or were not, is part of what is claimed of them.
    large = [(old, new) for old, new in told.values() if _number(old) and _number(new) and abs(old) >= _LARGE]
    return all((a == b) == (now_a == now_b) for (a, now_a), (b, now_b) in itertools.combinations(large, 2))
