"""What differs between the rows of two versions: rows by key, columns, values, ranges, and what a spreadsheet broke.

Owns: the comparison, one query for each question, run on both files side by side. Refuses to know: maps, and what follows
from it. Both files carry the same names for the same things already (`settle`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from peek_core.corpus.desk import Progress
from peek_core.corpus.names import quoted
from peek_core.corpus.typed import types
from peek_core.corpus.versions import damage
from peek_core.corpus.versions.cells import NEW, OLD, both, columns_of, kind_of, relation
from peek_core.corpus.versions.rowwise import Rows, row_changes
from peek_core.values.dataset import LoadReport, TableReport
from peek_core.values.versions import BinMove, ColumnDiff, DataDiff, TableDiff, ValueMove

FEW = 300
"""Columns with at most so many distinct values are compared value by value."""
SHOWN = 12
CUT = 60
BINS = 16


def compare(
    old: Path,
    new: Path,
    before: LoadReport,
    after: LoadReport,
    spill: Path,
    progress: Progress = lambda stage, done: None,
) -> DataDiff:
    """Tables and columns are the same where their names are. Raises `duckdb.Error` where the engine does."""
    started = time.perf_counter()
    was, now = {t.name: t for t in before.tables}, {t.name: t for t in after.tables}
    common = [name for name in was if name in now]
    with both(old, new, spill) as con:
        made = []
        for n, name in enumerate(common):
            progress(f"comparing {name}", n / len(common))
            made.append(_table(con, was[name], now[name]))
    return DataDiff(
        tuple(made),
        tuple(n for n in now if n not in was),
        tuple(n for n in was if n not in now),
        round(time.perf_counter() - started, 3),
    )


def _table(con: duckdb.DuckDBPyConnection, was: TableReport, now: TableReport) -> TableDiff:
    types_before, types_after = columns_of(con, OLD, was.name), columns_of(con, NEW, now.name)
    shared = [c for c in types_before if c in types_after]
    facts_before, facts_after = _facts(con, OLD, was.name, types_before), _facts(con, NEW, now.name, types_after)
    rows = row_changes(con, was.name, [(c, types_before[c], types_after[c]) for c in shared], facts_before, facts_after)
    labels_before = {c.name: c.label for c in was.columns}
    labels_after = {c.name: c.label for c in now.columns}
    ways = {c.name: (b.way, c.way) for c in now.columns for b in was.columns if b.name == c.name}
    columns = []
    for name in [*types_before, *(c for c in types_after if c not in types_before)]:
        a, b = facts_before.get(name), facts_after.get(name)
        column = ColumnDiff(
            name,
            labels_before.get(name, name) if a else None,
            labels_after.get(name, name) if b else None,
            types_before.get(name),
            types_after.get(name),
            a.nulls if a else None,
            b.nulls if b else None,
            a.distinct if a else None,
            b.distinct if b else None,
            a.range if a else None,
            b.range if b else None,
        )
        if a and b:
            column = _compared(con, was.name, column, rows)
            came = ways.get(name, ("", ""))
            if came[1] == types.EXCEL != came[0]:
                column = replace(column, damage=damage.joined(damage.SERIAL, column.damage))
        columns.append(column)
    return TableDiff(
        was.name,
        rows.rows_before,
        rows.rows_after,
        tuple(columns),
        rows.key,
        rows.said,
        rows.added,
        rows.removed,
        rows.changed,
    )


@dataclass(frozen=True)
class Facts:
    """One column of one version; `distinct` is an estimate."""

    rows: int
    filled: int
    distinct: int
    low: str | None
    high: str | None

    @property
    def nulls(self) -> float:
        return 1 - self.filled / self.rows if self.rows else 0.0

    @property
    def range(self) -> tuple[str, str] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def _facts(con: duckdb.DuckDBPyConnection, where: str, table: str, columns: dict[str, str]) -> dict[str, Facts]:
    parts = ["count(*)"]
    for name, kind in columns.items():
        c = quoted(name)
        # The first and the last of many texts say nothing of them.
        ends = [f"left(min({c})::VARCHAR, {CUT})", f"left(max({c})::VARCHAR, {CUT})"]
        parts += [
            f"count({c})",
            f"approx_count_distinct({c})",
            *(ends if kind_of(kind) != "text" else ["NULL", "NULL"]),
        ]
    row = con.execute(f"SELECT {', '.join(parts)} FROM {relation(where, table)}").fetchone()
    assert row is not None
    return {name: Facts(row[0], *row[1 + 4 * n : 5 + 4 * n]) for n, name in enumerate(columns)}


def _compared(con: duckdb.DuckDBPyConnection, table: str, column: ColumnDiff, rows: Rows) -> ColumnDiff:
    """A column that both versions have: its values or its distribution, and how its cells moved."""
    column = replace(column, changed=rows.cells.get(column.name), factor=rows.factors.get(column.name))
    column = replace(column, damage=damage.joined(rows.damage.get(column.name, ""), column.damage))
    if column.name == rows.key:
        return column  # what came and went of it are the rows
    most = max(column.distinct_before or 0, column.distinct_after or 0)
    if most <= FEW * 1.1:  # the count is an estimate
        return _valued(con, table, column)
    before, after = column.type_before, column.type_after
    assert before and after
    drawn = kind_of(before) == kind_of(after) in ("number", "time") and "TIME" not in (before, after)
    if drawn and column.factor is None:  # two scales have no bars in common
        return replace(column, bins=_bins(con, table, column))
    return column


def _valued(con: duckdb.DuckDBPyConnection, table: str, column: ColumnDiff) -> ColumnDiff:
    c = quoted(column.name)
    found = con.execute(
        f"WITH a AS (SELECT left({c}::VARCHAR, {CUT}) AS v, count(*) AS k FROM {relation(OLD, table)} WHERE {c} IS NOT NULL "
        f"GROUP BY 1), b AS (SELECT left({c}::VARCHAR, {CUT}) AS v, count(*) AS k FROM {relation(NEW, table)} "
        f"WHERE {c} IS NOT NULL GROUP BY 1) SELECT v, coalesce(a.k, 0), coalesce(b.k, 0) FROM a FULL JOIN b USING (v) "
        f"ORDER BY coalesce(a.k, 0) + coalesce(b.k, 0) DESC, v"
    ).fetchall()
    moves = [ValueMove(str(v), int(a), int(b)) for v, a, b in found]
    new, gone = [m for m in moves if not m.before], [m for m in moves if not m.after]
    if column.factor is not None or len(new) + len(gone) > 0.9 * len(moves) > FEW / 10:
        return replace(column, values=tuple(moves[:SHOWN]))  # every value is another one: naming them says nothing
    return replace(
        column,
        distinct_before=sum(m.before > 0 for m in moves),
        distinct_after=sum(m.after > 0 for m in moves),
        new_values=tuple(new[:SHOWN]),
        vanished=tuple(gone[:SHOWN]),
        new_count=len(new),
        vanished_count=len(gone),
        values=tuple(moves[:SHOWN]),
    )


def _bins(con: duckdb.DuckDBPyConnection, table: str, column: ColumnDiff) -> tuple[BinMove, ...]:
    """Both versions in bars over their common range."""
    c, time_like = quoted(column.name), kind_of(column.type_after or "") == "time"
    value = f"epoch({c}::TIMESTAMP)" if time_like else f"{c}::DOUBLE"
    found = con.execute(
        f"WITH v AS (SELECT 0 AS side, {value} AS x FROM {relation(OLD, table)} UNION ALL SELECT 1, {value} FROM "
        f"{relation(NEW, table)}), r AS (SELECT min(x) AS low, max(x) AS high FROM v WHERE isfinite(x)) "
        f"SELECT side, least({BINS - 1}, floor((x - low) * {BINS} / (high - low)))::BIGINT AS b, count(*), any_value(low), "
        "any_value(high) FROM v, r WHERE isfinite(x) AND high > low GROUP BY side, b"
    ).fetchall()
    if not found:
        return ()
    low, high = float(found[0][3]), float(found[0][4])
    counts = {(side, b): int(k) for side, b, k, _, _ in found}
    ends = [low + (high - low) * n / BINS for n in range(BINS + 1)]
    said = _moments(ends) if time_like else [f"{x:,.0f}" if abs(x) >= 1_000 else f"{x:.4g}" for x in ends]
    return tuple(BinMove(said[n], said[n + 1], counts.get((0, n), 0), counts.get((1, n), 0)) for n in range(BINS))


def _moments(ends: Sequence[float]) -> list[str]:
    return [datetime.fromtimestamp(x, UTC).strftime("%Y-%m-%d") for x in ends]
