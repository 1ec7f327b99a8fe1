"""What a new version of a dataset means for what is known of it: items, definitions and earlier answers.

Owns: that report and how it is worked out of a map before and after. Refuses to know: files, stores, who accepts.
Everything in it comes from queries that ran; no model is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peek_core.consequences import ChangedAnswer
from peek_core.context_map.map import ContextMap, EvidenceState
from peek_core.values.versions import ColumnDiff, DataDiff


@dataclass(frozen=True)
class ItemOutcome:
    """One item of the map. `state` is what its evidence says now; `text` differs from `before` where slots were refilled."""

    id: str
    section: str
    before: str
    text: str
    state: EvidenceState
    detail: str
    author: str = "agent"


@dataclass(frozen=True)
class DefinitionOutcome:
    """One definition that was on, or was held back. `why` says what no longer fits; effects are measured on each version."""

    id: str
    name: str
    rule: str
    was: str
    state: str
    why: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    unlabelled: int | None = None
    """For labels: distinct values that have none yet."""


@dataclass(frozen=True)
class Impact:
    """Version `after` of a dataset against version `before`."""

    dataset: str
    before: int
    after: int
    data: DataDiff
    items: tuple[ItemOutcome, ...]
    definitions: tuple[DefinitionOutcome, ...]
    answers: tuple[ChangedAnswer, ...]
    answers_run: int
    """Earlier answers whose query was run on both."""

    def items_that(self, state: EvidenceState) -> tuple[ItemOutcome, ...]:
        return tuple(i for i in self.items if i.state == state)

    @property
    def held_back(self) -> tuple[DefinitionOutcome, ...]:
        return tuple(d for d in self.definitions if d.state == "held_back")


def moved_numbers(data: DataDiff) -> dict[tuple[str, str], str]:
    """(table, column) -> what became of its numbers, where all of them were multiplied by something."""
    return {
        (
            t.name,
            c.name,
        ): f"the numbers of {c.name} are {c.factor:g} times what they were: their unit seems to have changed"
        for t in data.tables
        for c in t.columns
        if c.factor is not None
    }


def item_outcomes(old: ContextMap, new: ContextMap) -> tuple[ItemOutcome, ...]:
    """Each item of `old` as its evidence left it in `new`."""
    return tuple(
        ItemOutcome(i.id, i.section.value, i.text, now.text, now.state, now.detail, now.author)
        for i in old.items
        if (now := new.item(i.id)) is not None
    )


def definition_outcomes(
    old: ContextMap, new: ContextMap, unlabelled: Mapping[str, int]
) -> tuple[DefinitionOutcome, ...]:
    """Each definition that counted or was held back; `unlabelled`: id -> values without a label."""
    found = []
    for was in old.definitions:
        now = new.definition(was.id)
        if now is None or was.state not in ("on", "held_back"):
            continue
        why = str(now.effect.get("held_back", "")) if now.state == "held_back" else ""
        found.append(
            DefinitionOutcome(
                was.id, was.name, was.rule, was.state, now.state, why, was.effect, now.effect, unlabelled.get(was.id)
            )
        )
    return tuple(found)


def column_said(c: ColumnDiff) -> str:
    """One column's difference in words; empty where there is none to speak of."""
    if c.type_before is None:
        return f"new, {(c.type_after or '').lower()}"
    if c.type_after is None:
        return "gone"
    parts = [
        f"now called “{c.label_after}”" if c.label_before != c.label_after else "",
        f"{c.type_before.lower()} → {c.type_after.lower()}" if c.type_before != c.type_after else "",
        f"all numbers are {c.factor:g} times what they were" if c.factor is not None else "",
        c.damage,
        f"new: {_values(c.new_count, [m.value for m in c.new_values])}" if c.new_count else "",
        f"vanished: {_values(c.vanished_count, [m.value for m in c.vanished])}" if c.vanished_count else "",
        _missing(c),
    ]
    return "; ".join(filter(None, parts))


def _values(count: int | None, shown: Sequence[str]) -> str:
    more = (count or 0) - len(shown[:6])
    return ", ".join(f"“{v}”" for v in shown[:6]) + (f" and {more:,} more" if more > 0 else "")


def _missing(c: ColumnDiff) -> str:
    a, b = c.nulls_before or 0.0, c.nulls_after or 0.0
    return f"missing in {a:.1%} → {b:.1%}" if abs(a - b) >= 0.02 else ""
