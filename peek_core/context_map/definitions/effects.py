"""What a definition moves: the queries that count and show it, and the measured effect.

Owns: what counts as changed and as lost. Refuses to know: which engine runs the queries, who decides on the result.
An effect is the difference between the view without the definition and the view with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from peek_core.context_map.definitions.building import column, numeric, raw_table, text
from peek_core.context_map.definitions.check import used_by
from peek_core.context_map.definitions.kinds import ADDED, Definition
from peek_core.context_map.definitions.view import cleaned, kept, left_out, view, view_sql
from peek_core.errors import QueryFailed
from peek_core.ports import RunQuery

SAMPLES = 5
Columns = Mapping[str, str]


def measure(
    d: Definition, active: Sequence[Definition], columns: Columns, query: RunQuery, version: int
) -> dict[str, Any] | str:
    """The effect of `d` if it joined the active ones, or the reason it can't.

    The view with it is bound and evaluated whole by the engine, so that types are checked where they are known.
    """
    others = [o for o in active if o.id != d.id]
    try:
        before, after, changed = query(effect_sql(d, columns, others)).rows[0]
        lost = query(lost_sql(d, columns, others)).rows[0][0] if d.kind == "date_reading" else 0
        if any(o.kind in ADDED and o.table == d.table for o in others):
            query(evaluated_sql(d, columns, others))
    except QueryFailed as failure:
        return f"its effect can't be measured: {failure.sentence()[:300]}"
    if after == 0:
        return "it would leave no row at all"
    if lost and lost == changed:
        return f"no value of {d.column} can be read so"
    return {
        "rows_before": before,
        "rows_after": after,
        "values_changed": changed,
        "values_lost": lost,
        "version": version,
    }


def effect_sql(d: Definition, columns: Columns, active: Sequence[Definition]) -> str:
    """One row: rows before, rows after, values changed, if `d` joined the active definitions."""
    others = [o for o in active if o.id != d.id]
    before = view_sql(d.table, columns, others)
    after = view_sql(d.table, columns, [*others, d])
    changed = exp.select("count(*)").from_(_pairs(d, columns, others).subquery("p")).where("changed").sql("duckdb")
    return (
        f"SELECT (SELECT count(*) FROM ({before})) AS rows_before, "
        f"(SELECT count(*) FROM ({after})) AS rows_after, ({changed}) AS values_changed"
    )


def lost_sql(d: Definition, columns: Columns, active: Sequence[Definition]) -> str:
    """How many values a date reading can't read."""
    pairs = _pairs(d, columns, [o for o in active if o.id != d.id])
    return exp.select("count(*)").from_(pairs.subquery("p")).where("before IS NOT NULL AND after IS NULL").sql("duckdb")


def evaluated_sql(d: Definition, columns: Columns, active: Sequence[Definition]) -> str:
    """Reads every value of the view with `d`: what others derive from its column may fail only then."""
    return f"SELECT count(COLUMNS(*)) FROM ({view_sql(d.table, columns, [*active, d])})"


def samples_sql(d: Definition, columns: Columns, active: Sequence[Definition]) -> str:
    """Up to five examples: what stands there before and after, and in how many rows.

    The most frequent first; values that are read and values that are lost take turns.
    """
    others = [o for o in active if o.id != d.id]
    if d.kind == "derived":
        names = [*sorted(used_by(d)), d.new_column]
        values = view(d.table, columns, [*others, d]).subquery("v")
        counted = exp.select(*map(column, names), "count(*) AS n_rows").from_(values).group_by(*map(column, names))
        by = [exp.column(exp.to_identifier("n_rows")).desc(), *map(column, names)]
        shown = counted.order_by(*by)
    else:
        pairs = _pairs(d, columns, others)
        turns = "row_number() OVER (PARTITION BY after IS NULL ORDER BY count(*) DESC, before)"
        counted = exp.select("before", "after", "count(*) AS n_rows").from_(pairs.subquery("p")).where("changed")
        if d.kind == "row_exclusion":
            counted = exp.select("before", "'left out' AS after", "count(*) AS n_rows").from_(pairs.subquery("p"))
            counted, turns = counted.where("out"), "count(*) DESC, before"
        shown = counted.group_by("before", "after").order_by(turns, "after IS NULL")
    return shown.limit(SAMPLES).sql("duckdb")


def touched_sql(d: Definition, columns: Columns, active: Sequence[Definition] = ()) -> str:
    """The rows a definition is about, as they stand in the raw table: those it leaves out, or whose value it changes.

    For a column that is made: the rows of the view where it has a value.
    """
    others = [o for o in active if o.id != d.id]
    if d.kind in ADDED:
        rows = exp.select("*").from_(view(d.table, columns, [*others, d]).subquery("v"))
        return rows.where(exp.not_(column(d.new_column).is_(exp.null()))).sql("duckdb")
    rows = exp.select("*").from_(raw_table(d.table))
    if d.kind == "row_exclusion":
        return rows.where(left_out(d, columns)).sql("duckdb")
    _, _, changed = _values(d, columns, others)
    return rows.where(changed).sql("duckdb")


def _pairs(d: Definition, columns: Columns, others: Sequence[Definition]) -> exp.Select:
    """`before`, `after` and `changed` of every row of the view; for a row exclusion the raw value and `out`."""
    if d.kind in ADDED:
        made = column(d.new_column)
        before: exp.Expr = column(d.column) if d.column else exp.null()
        select = exp.select(exp.alias_(before, "before"), exp.alias_(made, "after"))
        select = select.select(exp.alias_(exp.not_(made.copy().is_(exp.null())), "changed"))
        return select.from_(view(d.table, columns, [*others, d]).subquery("v"))
    if d.kind == "row_exclusion":
        select = exp.select(exp.alias_(column(d.column), "before"), exp.alias_(exp.false(), "changed"))
        select = select.select(exp.alias_(left_out(d, columns), "out"))
    else:
        before, after, changed = _values(d, columns, others)
        select = exp.select(exp.alias_(before, "before"), exp.alias_(after, "after"), exp.alias_(changed, "changed"))
    select = select.from_(raw_table(d.table))
    for o in others:
        if o.kind == "row_exclusion" and o.table == d.table:
            select = select.where(kept(o, columns))
    return select


def _values(d: Definition, columns: Columns, others: Sequence[Definition]) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
    """The column of a value kind before and after it, and whether that is a change."""
    mine = [o for o in others if o.table == d.table]
    before, was = cleaned(d.column, columns[d.column], mine)
    after, now = cleaned(d.column, columns[d.column], [*mine, d])
    if d.kind == "date_reading":
        # Every value becomes another thing, also where it is written the same.
        return before, after, exp.not_(exp.paren(before.copy()).is_(exp.null()))
    if was != now and not (numeric(was) and numeric(now)):
        return before, after, exp.NullSafeNEQ(this=text(before, was), expression=text(after, now))
    return before, after, exp.NullSafeNEQ(this=before.copy(), expression=after.copy())
