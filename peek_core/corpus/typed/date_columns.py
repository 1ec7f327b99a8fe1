"""Which order of day and month a column of dates follows, and what should be said about it.

Owns: the decision for a whole column. Refuses to know how single values look (`local_dates`).

The order that wrote a column fits all its values, so a column is converted in its place where exactly one order fits.
Where two fit, or none fits all, the typed column stands beside the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import masks, types
from peek_core.corpus.typed.local_dates import ANY, ORDERS, Shape, has_offset, mixed_sql, says_date, shape, sql, utc_sql
from peek_core.corpus.typed.masks import Mask, Seen
from peek_core.values.dataset import Doubt

_LIKELY = 0.9
"""A column this full of dates is told of, even if it stays text."""


@dataclass(frozen=True)
class _Group:
    mask: Mask
    shape: Shape

    @property
    def example(self) -> str:
        return self.mask.low.strip()


def decide(seen: Seen) -> types.Reading | None:
    """The reading of a column whose masks are mostly dates; None where they are not."""
    if any(has_offset(mask.text) and not mask.text.endswith("Z") for mask in seen.others):
        return _with_offset(seen)
    groups = [_Group(mask, found) for mask in seen.others if (found := shape(mask.text))]
    total, dated = masks.count(seen.others), masks.count(g.mask for g in groups)
    if not groups or dated < _LIKELY * total or _like_versions(seen, groups):
        return None
    real = [g for g in groups if g.mask.bits & ANY]
    unreal = [mask for mask in seen.others if not (mask.bits & ANY and shape(mask.text))]
    if not real or masks.count(unreal) > (1 - _LIKELY) * total:
        return None
    return _ordered(seen, real, unreal)


def _with_offset(seen: Seen) -> types.Reading | None:
    timed = masks.count(mask for mask in seen.others if has_offset(mask.text) or shape(mask.text))
    if timed < _LIKELY * masks.count(seen.others):
        return None
    bad = [mask for mask in seen.others if not mask.bits & masks.OFFSET]
    if bad:
        what = f"Kept as text: {masks.some(bad, 'is', 'are')} no time with a zone as the others are"
        doubt = Doubt(seen.where, what, "convert the others to UTC")
        return types.Reading(types.VARCHAR, quoted(seen.name), (), (doubt,), ways=(types.OFFSET_TIME,))
    sql = utc_sql(seen.name)
    return masks.reading(
        seen,
        types.TIMESTAMP,
        sql,
        way=types.OFFSET_TIME,
        ways=(),
        suffix="_utc",
        said="as UTC time",
        assumptions=[lambda name: f"{seen.label}: times carry their own zone, so {name} has them in UTC."],
        beside=True,
    )


def _like_versions(seen: Seen, groups: Sequence[_Group]) -> bool:
    """1.12.24 may be a version as well as a date; 01.12.24 and 1/12/24 are dates."""
    if not all(g.shape.short and g.shape.sep in (".", "-") and not g.shape.clock for g in groups):
        return False
    ragged = any(not g.mask.text.startswith("99" + g.shape.sep + "99" + g.shape.sep) for g in groups)
    return types.says_version(seen.label) or (ragged and not says_date(seen.label))


def _fitting(groups: Sequence[_Group], seen: Seen) -> list[int]:
    """Orders that fit all values, likelier ones first."""
    found = [bit for bit in ORDERS if all(g.mask.bits & bit for g in groups)]
    if len(found) > 1 and masks.YEAR in found:
        # Hardly anyone writes two digits for the year first, so it counts only where something speaks for it.
        found.remove(masks.YEAR)
        if _year_leads(seen.sample):
            return [masks.YEAR, *found]
        if any(g.shape.sep == "-" for g in groups):
            return [*found, masks.YEAR]
    if found[:2] == [masks.DAY, masks.MONTH] and any(g.shape.noon and g.shape.sep == "/" for g in groups):
        found[:2] = [masks.MONTH, masks.DAY]
    return found


def _year_leads(sample: Sequence[str]) -> bool:
    """Whether first numbers vary less than third ones, as years do beside days."""
    found = [match for value in sample if (match := re.match(r"(\d\d)\D+(?:\d+|[^\W\d]+)\D+(\d\d?)(?!\d)", value))]
    firsts, thirds = {int(match[1]) for match in found}, {int(match[2]) for match in found}
    return bool(found) and max(firsts) - min(firsts) < max(thirds) - min(thirds)


def _ordered(seen: Seen, real: Sequence[_Group], unreal: Sequence[Mask]) -> types.Reading:
    shapes = {g.shape for g in real}
    kind = types.TIMESTAMP if any(shape.clock for shape in shapes) else types.DATE
    suffix = "_time" if kind == types.TIMESTAMP else "_date"
    assumptions: list[masks.Told] = []
    if any(g.shape.short for g in real):
        assumptions.append(f"{seen.label}: years 70 to 99 were read as 1970 to 1999, others as 2000 to 2069.")
    if any(g.shape.utc for g in real):
        assumptions.append(f"{seen.label}: times ending in Z are in UTC.")
    doubts: list[Callable[[str], Doubt]] = []
    orders = _fitting(real, seen)
    same = set(orders) == {masks.DAY, masks.MONTH} and all(g.mask.bits & masks.AGREE for g in real)
    if unreal:
        why = masks.some(unreal, "is no date", "are no dates")
        if len(orders) < 2 or same:
            ways = [ORDERS[bit] for bit in orders] or [types.DAY_FIRST, types.MONTH_FIRST]
            return types.text(seen.name, f"{seen.label}: kept as text, because {why}.", ways=tuple(ways))
        doubts.append(lambda name: Doubt(seen.where, f"{why}; empty in {name}", "correct the file"))
    if not orders:
        return _mixed(seen, real, shapes, kind, suffix, assumptions)
    way, others = ORDERS[orders[0]], [ORDERS[bit] for bit in orders[1:]]
    if len(orders) > 1 and not same:
        example = next(g.example for g in real if g.shape.sep or g.shape.short)
        doubts.insert(
            0,
            lambda name: Doubt(
                seen.where,
                f"The order of day and month cannot be told, e.g. “{example}”; {name} reads it {way}",
                " or ".join(others),
            ),
        )
    elif all(g.shape.strict for g in real):
        way = types.PLAIN_TIME if kind == types.TIMESTAMP else types.PLAIN_DATE
    else:
        assumptions.insert(0, _why(seen.label, real, orders[0], same))
    return masks.reading(
        seen,
        kind,
        sql(seen.name, way, kind, shapes),
        way=way,
        ways=others,
        suffix=suffix,
        assumptions=assumptions,
        doubts=doubts,
        beside=bool(doubts),
        lost=masks.count(unreal),
    )


def _why(label: str, groups: Sequence[_Group], order: int, same: bool) -> str:
    """Why the column was read in this order."""
    way = ORDERS[order]
    if same:
        return f"{label}: dates read {way}; month first they would be the same."
    telling = [g for g in groups if g.shape.sep and not g.mask.bits & ANY & ~order]
    if telling:
        return f"{label}: dates read {way}, because “{telling[0].example}” fits no other order."
    named = " with names of months" if any(g.shape.word for g in groups) else ""
    return f"{label}: dates{named} read {way}, e.g. “{groups[0].example}”."


def _mixed(
    seen: Seen,
    real: Sequence[_Group],
    shapes: Collection[Shape],
    kind: str,
    suffix: str,
    assumptions: Sequence[masks.Told],
) -> types.Reading:
    """Dates written in several ways: each by the order of its own kind, if that can be told."""
    orders: dict[str, int] = {}
    undecided = 0
    for sep in sorted({g.shape.sep for g in real if g.shape.sep}):
        family = [g for g in real if g.shape.sep == sep]
        found = [bit for bit in (masks.DAY, masks.MONTH) if all(g.mask.bits & bit for g in family)]
        orders[sep] = found[0] if len(found) == 1 else 0
        if not orders[sep]:
            both = masks.DAY | masks.MONTH
            undecided += masks.count(
                g.mask for g in family if g.mask.bits & both in (0, both) and not g.mask.bits & masks.AGREE
            )
    # A year of two digits before a month's name: read only where all values have it so.
    undecided += masks.count(g.mask for g in real if g.shape.word and g.mask.bits & ANY == masks.YEAR and g.shape.short)
    shown = sorted({g.shape: f"“{g.example}”" for g in real}.values())
    what = f"Dates are written in different ways, such as {' and '.join(shown[:2])}"
    empty = f", and is empty for {masks.values(undecided)} whose order cannot be told" if undecided else ""
    return masks.reading(
        seen,
        kind,
        mixed_sql(seen.name, orders, kind, shapes),
        way=types.PLAIN_TIME if kind == types.TIMESTAMP else types.PLAIN_DATE,
        ways=(types.DAY_FIRST, types.MONTH_FIRST) if orders else (),
        suffix=suffix,
        assumptions=assumptions,
        doubts=[
            lambda name: Doubt(seen.where, f"{what}; {name} reads each by itself{empty}", "keep the text only"),
        ],
        beside=True,
        lost=undecided,
    )
