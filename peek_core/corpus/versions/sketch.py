"""What two tables show of themselves so that their columns can be matched: facts, samples of values, rows side by side.

Owns: the queries that gather it. Refuses to know: how it is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from peek_core.corpus.names import quoted
from peek_core.corpus.versions.cells import columns_of, comparable, kind_of, relation

VALUES = 400
"""Distinct values kept of a column: those with the smallest hashes, so that two samples can be compared."""
PART = 30_000
"""Rows looked at of a long table, twice: its ends, and a share of the rest."""
ROWS = 800
"""Rows laid side by side."""
MAX_COLUMNS = 150
FEWEST = 20
"""Rows that have to be in both to tell anything."""
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_UNIQUE = 0.98


@dataclass(frozen=True)
class ColumnSketch:
    """One column. `values` are comparable texts, all of them where `whole`; `shapes` the forms of its texts with shares."""

    name: str
    label: str
    type: str
    filled: float
    distinct: int
    unique: bool
    values: frozenset[str]
    whole: bool
    quantiles: tuple[float, ...] = ()
    length: float = 0.0
    shapes: Mapping[str, float] | None = None

    @property
    def kind(self) -> str:
        return kind_of(self.type)


@dataclass(frozen=True)
class TableSketch:
    name: str
    rows: int
    columns: tuple[ColumnSketch, ...]
    source: str = ""
    """What was looked at, as SQL names it: the table, or a part of it."""


@dataclass(frozen=True)
class Beside:
    """Rows of both tables that have the same key: comparable cells by column. `key` is (old, new); None: no such rows."""

    key: tuple[str, str] | None = None
    old: Mapping[str, Sequence[str | None]] | None = None
    new: Mapping[str, Sequence[str | None]] | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.old.values()))) if self.old else 0


def sketched(con: duckdb.DuckDBPyConnection, where: str, table: str, labels: Mapping[str, str]) -> TableSketch:
    """A table of an attached file; `labels` are the headers of its columns. Of a long one a part is looked at."""
    types = dict(list(columns_of(con, where, table).items())[:MAX_COLUMNS])
    if not types:
        return TableSketch(table, 0, ())
    source = _part(con, where, table)
    parts = ["count(*)"]
    for name, kind in types.items():
        c, what = quoted(name), kind_of(kind)
        number = f"epoch({c}::TIMESTAMP)" if what == "time" and kind != "TIME" else f"{c}::DOUBLE"
        numbers = what == "number" or (what == "time" and kind != "TIME")
        parts += [
            f"count({c})",
            f"approx_count_distinct({c})",
            f"avg(length({c}))" if what == "text" else "0",
            f"quantile_cont({number}, {list(_QUANTILES)}) FILTER (isfinite({number}))" if numbers else "NULL",
        ]
    first = con.execute(f"SELECT {', '.join(parts)} FROM {source}").fetchone()
    assert first is not None
    rows = int(first[0])
    made = []
    for n, (name, kind) in enumerate(types.items()):
        filled, distinct, length, quantiles = first[1 + 4 * n : 5 + 4 * n]
        if filled and distinct >= 0.8 * filled:
            counted = con.execute(f"SELECT count(DISTINCT {quoted(name)}) FROM {source}").fetchone()
            distinct = counted[0] if counted else distinct
        values, shapes = _values(con, source, quoted(name), kind)
        made.append(
            ColumnSketch(
                name=name,
                label=labels.get(name, name),
                type=kind,
                filled=filled / rows if rows else 0.0,
                distinct=int(distinct),
                unique=filled > 1 and filled >= _UNIQUE * rows and distinct >= _UNIQUE * filled and kind != "DOUBLE",
                values=values,
                whole=len(values) < VALUES,
                quantiles=tuple(quantiles or ()),
                length=float(length or 0),
                shapes=shapes,
            )
        )
    return TableSketch(table, rows, tuple(made), source)


def _part(con: duckdb.DuckDBPyConnection, where: str, table: str) -> str:
    """The rows to look at: all of a short table, else its head, its tail and a share of the rest.

    Exports grow at one end, or move on as a window: so the parts of two of them have rows in common where they do.
    """
    source = relation(where, table)
    row = con.execute(f"SELECT count(*) FROM {source}").fetchone()
    rows = int(row[0]) if row else 0
    if rows <= 2 * PART:
        return source
    name = quoted(f"part of {where} {table}")
    con.execute(
        f"CREATE TEMP TABLE {name} AS SELECT * FROM {source} WHERE rowid < {PART // 2} OR rowid >= {rows - PART // 2} "
        f"OR hash(rowid) % {rows // PART} = 0"
    )
    return name


def _values(
    con: duckdb.DuckDBPyConnection, source: str, column: str, type: str
) -> tuple[frozenset[str], dict[str, float] | None]:
    value = comparable(column, type)
    found = con.execute(
        f"SELECT DISTINCT left(v, 200) AS v FROM (SELECT {value} AS v FROM {source}) WHERE v IS NOT NULL "
        f"ORDER BY hash(v), v LIMIT {VALUES}"
    ).fetchall()
    if kind_of(type) != "text" or not found:
        return frozenset(r[0] for r in found), None
    # Letters become a, digits 9, and runs of them one: C-00042 and C-17 have the same shape.
    shapes = con.execute(
        "SELECT s, count(*) / sum(count(*)) OVER () FROM (SELECT regexp_replace(regexp_replace(left(v, 24), "
        f"'\\p{{L}}+', 'a', 'g'), '[0-9]+', '9', 'g') AS s FROM (SELECT {column}::VARCHAR AS v FROM {source} "
        f"WHERE {column} IS NOT NULL LIMIT 2000)) GROUP BY s ORDER BY 2 DESC, 1 LIMIT 12"
    ).fetchall()
    return frozenset(r[0] for r in found), {str(s): float(share) for s, share in shapes}


def beside(con: duckdb.DuckDBPyConnection, old: TableSketch, new: TableSketch) -> Beside:
    """Rows that both tables have, by the pair of unique columns that finds the most."""
    pairs = [
        (o, n)
        for o in old.columns
        for n in new.columns
        if o.unique and n.unique and (o.values & n.values or not (o.whole or n.whole)) and o.kind == n.kind != "time"
    ]
    one, other = old.source, new.source
    best, found = None, 0
    for o, n in sorted(pairs, key=lambda p: -len(p[0].values & p[1].values))[:6]:
        mine = comparable(f"a.{quoted(o.name)}", o.type)
        theirs = comparable(f"b.{quoted(n.name)}", n.type)
        row = con.execute(
            f"SELECT count(*) FROM (SELECT {mine} AS k FROM {one} a) x "
            f"SEMI JOIN (SELECT {theirs} AS k FROM {other} b) y USING (k)"
        ).fetchone()
        shared = int(row[0]) if row else 0
        if shared > found:
            best, found = (o, n), shared
    if best is None or found < FEWEST:
        return Beside()
    o, n = best
    cells = [f"{comparable('a.' + quoted(c.name), c.type)} AS o{i}" for i, c in enumerate(old.columns)]
    cells += [f"{comparable('b.' + quoted(c.name), c.type)} AS n{i}" for i, c in enumerate(new.columns)]
    left, right = comparable(f"a.{quoted(o.name)}", o.type), comparable(f"b.{quoted(n.name)}", n.type)
    # The rows with the smallest hashes: the same ones every time, and not only the oldest.
    rows = con.execute(
        f"WITH a AS (SELECT *, {left} AS k FROM {one} a QUALIFY count(*) OVER (PARTITION BY k) = 1), "
        f"b AS (SELECT *, {right} AS k FROM {other} b QUALIFY count(*) OVER (PARTITION BY k) = 1) "
        f"SELECT {', '.join(cells)} FROM a JOIN b ON a.k = b.k ORDER BY hash(a.k), a.k LIMIT {ROWS}"
    ).fetchall()
    found_cells = list(zip(*rows, strict=True))
    split = len(old.columns)
    return Beside(
        (o.name, n.name),
        {c.name: found_cells[i] for i, c in enumerate(old.columns)},
        {c.name: found_cells[split + i] for i, c in enumerate(new.columns)},
    )
