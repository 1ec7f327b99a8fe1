"""Inspected regions: which columns, values and periods the questions so far have looked at.

Owns: reading that off SQL, adding up, what is left of each table, and saying it in one line. Refuses to know who asked,
results, and where it is kept. Counted from the queries that ran, never from what a model says it looked at; outside
the map's token budget.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp

from peek_core.values.codec import build

Columns = Mapping[str, Mapping[str, str]]
"""table -> column -> type."""
MAX_VALUES = 50
"""Values kept of a column; beyond that only their number would help, and the profile has it."""
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")


@dataclass(frozen=True)
class Region:
    """What was seen of one column: `values` it was compared with, and the first and last date."""

    table: str
    column: str
    values: tuple[str, ...] = ()
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class Regions:
    """What was seen of a dataset, ordered by table and column."""

    queries: int = 0
    seen: tuple[Region, ...] = ()

    def of(self, table: str) -> tuple[Region, ...]:
        return tuple(r for r in self.seen if r.table == table)


@dataclass(frozen=True)
class Coverage:
    """One table, in the order of its columns: what was seen, and the columns no question looked at."""

    table: str
    seen: tuple[Region, ...]
    never: tuple[str, ...]

    @property
    def columns(self) -> int:
        return len(self.seen) + len(self.never)


@dataclass
class _Found:
    values: set[str] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)


def inspected(statements: Iterable[str], columns: Columns) -> Regions:
    """The regions that SELECT statements of DuckDB name; what can't be parsed, and `SELECT *`, name none."""
    found: dict[tuple[str, str], _Found] = defaultdict(_Found)
    count = 0
    for sql in statements:
        try:
            tree = sqlglot.parse_one(sql, dialect="duckdb")
        except (sqlglot.errors.SqlglotError, RecursionError):
            continue
        if isinstance(tree, exp.Query):
            count += 1
            _read(tree, columns, found)
    return _regions(count, found)


def of_run(summary: Mapping[str, Any]) -> Regions:
    """What a stored run's summary says it looked at; nothing for runs from before this was counted."""
    held: Regions = build(Regions, summary.get("regions") or {})
    return held


def joined(parts: Iterable[Regions]) -> Regions:
    """All that any of them saw."""
    found: dict[tuple[str, str], _Found] = defaultdict(_Found)
    count = 0
    for part in parts:
        count += part.queries
        for region in part.seen:
            one = found[region.table, region.column]
            one.values.update(region.values)
            one.dates.update(d for d in (region.since, region.until) if d)
    return _regions(count, found)


def _regions(count: int, found: Mapping[tuple[str, str], _Found]) -> Regions:
    seen = (
        Region(
            table,
            column,
            tuple(sorted(one.values)[:MAX_VALUES]),
            min(one.dates, default=""),
            max(one.dates, default=""),
        )
        for (table, column), one in sorted(found.items())
    )
    return Regions(count, tuple(seen))


def by_table(regions: Regions, columns: Mapping[str, Iterable[str]]) -> tuple[Coverage, ...]:
    """Each table of `columns` (table -> its columns) with what was seen of it."""
    made = []
    for table, names in columns.items():
        seen, known = {r.column: r for r in regions.of(table)}, tuple(names)
        made.append(
            Coverage(table, tuple(seen[c] for c in known if c in seen), tuple(c for c in known if c not in seen))
        )
    return tuple(made)


def in_words(regions: Regions, columns: Columns, *, values: bool = True) -> str:
    """One line for a prompt. `values`: whether what columns were compared with may be told.

    >>> in_words(Regions(2, (Region("t", "a", ("x",)),)), {"t": {"a": "VARCHAR", "b": "BIGINT"}})
    'Looked at so far, in 2 queries: t: a (x); never b.'
    """
    if not regions.queries:
        return "Looked at so far: nothing."
    parts = []
    for t in by_table(regions, columns):
        if not t.seen:
            parts.append(f"{t.table}: nothing yet")
            continue
        looked = ", ".join(column_in_words(r, values) for r in t.seen)
        parts.append(f"{t.table}: {looked}" + (f"; never {_some(t.never, 20)}" if t.never else ""))
    many = "query" if regions.queries == 1 else "queries"
    return f"Looked at so far, in {regions.queries:,} {many}: {'. '.join(parts)}."


def column_in_words(region: Region, values: bool = True) -> str:
    """A column with the values and the period it was looked at for."""
    if not values:
        return region.column
    said = [_some([v[:40] for v in region.values], 6)] if region.values else []
    said += [f"{region.since} to {region.until}"] if region.since else []
    return f"{region.column} ({', '.join(said)})" if said else region.column


def _some(words: Sequence[str], most: int) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def _read(tree: exp.Expr, columns: Columns, found: dict[tuple[str, str], _Found]) -> None:
    tables = {t.alias_or_name.lower(): t.name for t in tree.find_all(exp.Table) if t.name in columns}
    for column in tree.find_all(exp.Column):
        # An alias says which table; without one it is whichever of the query's tables has such a column.
        named = tables.get(column.table.lower()) if column.table else None
        for table in [named] if named else dict.fromkeys(tables.values()):
            if column.name in columns[table]:
                _note(column, found[table, column.name])


def _note(column: exp.Column, one: _Found) -> None:
    """Adds the literals a column is compared with."""
    around = column.parent
    while isinstance(around, (exp.Cast, exp.Lower, exp.Upper, exp.Trim, exp.Paren)):
        around = around.parent
    if isinstance(around, exp.Between):
        others: list[exp.Expr | None] = [around.args.get("low"), around.args.get("high")]
        low, high = others
        if isinstance(low, exp.Literal) and isinstance(high, exp.Literal) and not low.is_string and not high.is_string:
            one.values.add(f"{low.this} to {high.this}")
    elif isinstance(around, exp.In):
        others = list(around.expressions)
    elif isinstance(around, (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)):
        others = [around.this, around.expression]
    else:
        return
    for other in others:
        for literal in (
            other.find_all(exp.Literal) if other is not None and column not in other.find_all(exp.Column) else ()
        ):
            text = str(literal.this)
            if _DATE.match(text):
                one.dates.add(text[:10])
            elif isinstance(around, (exp.EQ, exp.NEQ, exp.In)):
                one.values.add(text[:80])
