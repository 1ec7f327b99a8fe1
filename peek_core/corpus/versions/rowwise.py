"""Rows of two versions held against each other: by a key where a column tells them apart, else as whole rows.

Owns: the choice of the key, which cells moved, and by what factor numbers moved throughout. Refuses to know: single values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import duckdb

from peek_core.corpus.names import quoted
from peek_core.corpus.versions import damage
from peek_core.corpus.versions.cells import NEW, OLD, comparable, digits, kind_of, relation

UNIQUE = 0.98
"""So many of the rows a key has to tell apart, in both versions."""
_LONG_KEY = 64
_SPREAD = 0.01
_FEW = 1_000
_SOME = 20_000
"""Rows whose numbers are divided by each other; a factor that holds throughout holds in some."""
_WHOLE = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT")


class Counted(Protocol):
    """What is known of a column of one version."""

    @property
    def rows(self) -> int: ...
    @property
    def filled(self) -> int: ...
    @property
    def distinct(self) -> int: ...


@dataclass(frozen=True)
class Shared:
    """A column that both versions have."""

    name: str
    before: str
    after: str
    """Types."""

    @property
    def kind(self) -> str:
        return kind_of(self.before) if kind_of(self.before) == kind_of(self.after) else "text"


@dataclass
class Rows:
    """What became of the rows. `cells`: column -> rows with the same key and another value."""

    rows_before: int = 0
    rows_after: int = 0
    key: str = ""
    said: str = ""
    added: int | None = None
    removed: int | None = None
    changed: int | None = None
    cells: dict[str, int] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    damage: dict[str, str] = field(default_factory=dict)


def row_changes(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[tuple[str, str, str]],
    before: Mapping[str, Counted],
    after: Mapping[str, Counted],
) -> Rows:
    """`columns`: (name, type before, type after) of those that both versions have."""
    shared = [Shared(*c) for c in columns]
    made = Rows(_count(con, OLD, table), _count(con, NEW, table))
    rounded = _damaged(con, table, shared, made)
    key = _key(con, table, shared, before, after)
    if key is None:
        _distributions(con, table, shared, made)
        _whole_rows(con, table, [c for c in shared if c.name not in made.factors], made)
        return made
    k, exact = key
    _by_key(con, table, shared, k, _key_sql(k, k.name in rounded), exact, made)
    if not made.cells:
        _distributions(con, table, shared, made)
    return made


def _count(con: duckdb.DuckDBPyConnection, where: str, table: str) -> int:
    row = con.execute(f"SELECT count(*) FROM {relation(where, table)}").fetchone()
    return int(row[0]) if row else 0


def _damaged(con: duckdb.DuckDBPyConnection, table: str, shared: Sequence[Shared], made: Rows) -> frozenset[str]:
    """Notes rounded numbers and lost zeros; returns the columns whose long numbers were rounded."""
    rounded = set()
    for c in shared:
        name = quoted(c.name)
        if c.before in _WHOLE and c.after in (*_WHOLE, "DOUBLE"):
            a, b = (
                con.execute(f"SELECT {damage.rounded_sql(name)} FROM {relation(where, table)}").fetchone()
                for where in (OLD, NEW)
            )
            said = damage.rounded(a or (0, 0), b or (0, 0))
            if said:
                made.damage[c.name] = said
                rounded.add(c.name)
        elif c.before == "VARCHAR":
            a, b = (
                con.execute(f"SELECT {damage.zeros_sql(name + '::VARCHAR')} FROM {relation(where, table)}").fetchone()
                for where in (OLD, NEW)
            )
            said = damage.zeros((a or (0,))[0], (b or (0,))[0])
            if said:
                made.damage[c.name] = said
    return frozenset(rounded)


def _key(
    con: duckdb.DuckDBPyConnection,
    table: str,
    shared: Sequence[Shared],
    before: Mapping[str, Counted],
    after: Mapping[str, Counted],
) -> tuple[Shared, bool] | None:
    """The first column that tells rows apart in both versions, exactly if there is one, and whether it does exactly."""
    nearly = None
    for c in shared:
        a, b = before[c.name], after[c.name]
        if kind_of(c.before) not in ("number", "text") or "DOUBLE" in (c.before, c.after):
            continue
        # Counts are estimates, a few percent off, and worse for a handful of rows: they only save counting many.
        if any(f.filled < UNIQUE * f.rows or (f.rows > _FEW and f.distinct < 0.85 * f.rows) for f in (a, b)):
            continue
        name, shares = quoted(c.name), []
        for where in (OLD, NEW):
            row = con.execute(
                f"SELECT count(DISTINCT {name}), count(*), avg(length({name}::VARCHAR)) FROM {relation(where, table)}"
            ).fetchone()
            assert row is not None
            shares.append(row[0] / row[1] if row[1] and (row[2] or 0) <= _LONG_KEY else 0.0)
        if min(shares) == 1.0:
            return c, True
        if min(shares) >= UNIQUE and nearly is None:
            nearly = c
    return (nearly, False) if nearly is not None else None


def _key_sql(c: Shared, rounded: bool) -> tuple[str, str]:
    """The key in both versions, such that the same row has the same one."""
    name = quoted(c.name)
    if rounded:
        return digits(name), digits(name)
    if c.before == c.after:
        return name, name
    return comparable(name, c.before), comparable(name, c.after)


def _by_key(
    con: duckdb.DuckDBPyConnection,
    table: str,
    shared: Sequence[Shared],
    key: Shared,
    sql: tuple[str, str],
    exact: bool,
    made: Rows,
) -> None:
    made.key = key.name
    many = "some rows share one and are not compared cell by cell" if not exact else ""
    many = "rows are matched by the digits that are left" if key.name in made.damage else many
    made.said = many
    old, new = (
        f"(SELECT *, {k} AS __k FROM {relation(where, table)})" for where, k in zip((OLD, NEW), sql, strict=True)
    )
    gone, come = (
        con.execute(f"SELECT count(*) FROM {one} x ANTI JOIN {other} y USING (__k)").fetchone()
        for one, other in ((old, new), (new, old))
    )
    made.removed, made.added = int((gone or (0,))[0]), int((come or (0,))[0])
    others = [c for c in shared if c.name != key.name]
    if not others:
        made.changed = 0
        return
    coarse = _coarser(con, table, others)
    # Keys that stand twice tell nothing of a single row. The windows cost a sort, so only where they are needed.
    once = "" if exact and key.name not in made.damage else " QUALIFY count(*) OVER (PARTITION BY __k) = 1"
    both = f"(SELECT * FROM {old}{once}) a JOIN (SELECT * FROM {new}{once}) b USING (__k)"
    _ratios(con, both, [c for c in others if c.kind == "number"], made)
    differs = {c.name: _differs(c, coarse.get(c.name, ""), made.factors.get(c.name)) for c in others}
    texts = [c for c in others if c.before == c.after == "VARCHAR"]
    parts = [f"count(*) FILTER ({' OR '.join(differs.values())})"]
    parts += [f"count(*) FILTER ({d})" for d in differs.values()]
    parts += [f"count(*) FILTER ({damage.prefixed_sql('a.' + quoted(c.name), 'b.' + quoted(c.name))})" for c in texts]
    row = con.execute(f"SELECT {', '.join(parts)} FROM {both}").fetchone()
    assert row is not None
    found = iter(row)
    made.changed = int(next(found))
    if made.added == made.rows_after:
        return  # no row is in both
    made.cells = {c.name: int(next(found)) for c in others}
    for c in texts:
        said = damage.prefixed(int(next(found)))
        made.damage |= {c.name: damage.joined(made.damage.get(c.name, ""), said)} if said else {}
    for name, unit in coarse.items():
        said = f"times came to the {'second' if unit == 'minute' else 'minute'}, before to the {unit}"
        made.damage[name] = damage.joined(made.damage.get(name, ""), said)


def _ratios(con: duckdb.DuckDBPyConnection, both: str, numbers: Sequence[Shared], made: Rows) -> None:
    """Notes numbers that were all multiplied by one factor, judged by some of the rows."""
    if not numbers:
        return
    some = f"WHERE hash(__k) % {max(1, made.rows_after // _SOME)} = 0"
    parts = [
        f"quantile_cont(b.{quoted(c.name)}::DOUBLE / a.{quoted(c.name)}, [0.05, 0.5, 0.95]) FILTER (a.{quoted(c.name)} <> 0)"
        for c in numbers
    ]
    row = con.execute(f"SELECT {', '.join(parts)} FROM {both} {some}").fetchone()
    for c, found in zip(numbers, row or (), strict=True):
        _note_factor(c.name, found, made)


def _note_factor(name: str, quantiles: Sequence[float] | None, made: Rows) -> None:
    if not quantiles or not quantiles[1]:
        return
    low, middle, high = quantiles
    if abs(middle - 1) > _SPREAD and abs(high - low) <= _SPREAD * abs(middle):
        made.factors[name] = float(f"{middle:.4g}")


def _differs(c: Shared, coarser: str, factor: float | None) -> str:
    a, b = f"a.{quoted(c.name)}", f"b.{quoted(c.name)}"
    if factor is not None:
        # What was multiplied throughout is one change of the column, not one of each row.
        expected = f"{a}::DOUBLE * {factor!r}"
        return f"coalesce(abs({b} - {expected}) > {_SPREAD} * abs({expected}) + 1e-9, ({a} IS NULL) <> ({b} IS NULL))"
    if coarser:
        return f"date_trunc('{coarser}', {a}) IS DISTINCT FROM date_trunc('{coarser}', {b})"
    if c.before == c.after == "VARCHAR":
        return f"({a} IS DISTINCT FROM {b} AND {a} IS DISTINCT FROM {damage.unprefixed_sql(b)})"
    if c.before == c.after or c.kind in ("number", "time"):
        return f"{a} IS DISTINCT FROM {b}"
    return f"{comparable(a, c.before)} IS DISTINCT FROM {comparable(b, c.after)}"


def _coarser(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[Shared]) -> dict[str, str]:
    """Moments that only one version has to the second (or minute) are compared as both have them."""
    moments = [c for c in columns if c.kind == "time" and "TIME" not in (c.before, c.after)]
    if not moments:
        return {}
    parts = [
        f"coalesce(bool_or({quoted(c.name)}::TIMESTAMP <> date_trunc('{unit}', {quoted(c.name)}::TIMESTAMP)), false)"
        for c in moments
        for unit in ("minute", "day")
    ]
    old, new = (
        con.execute(f"SELECT {', '.join(parts)} FROM {relation(where, table)}").fetchone() for where in (OLD, NEW)
    )
    assert old is not None and new is not None
    found = {}
    for n, c in enumerate(moments):
        for at, unit in ((2 * n + 1, "day"), (2 * n, "minute")):
            if old[at] != new[at]:
                found[c.name] = unit
                break
    return found


def _distributions(con: duckdb.DuckDBPyConnection, table: str, shared: Sequence[Shared], made: Rows) -> None:
    """Without rows in common: numbers whose whole distribution lies elsewhere by one factor, and far."""
    numbers = [c for c in shared if c.kind == "number"]
    if not numbers:
        return
    parts = [
        f"quantile_cont({quoted(c.name)}::DOUBLE, [0.25, 0.5, 0.75, 0.9]) FILTER ({quoted(c.name)} <> 0)"
        for c in numbers
    ]
    old, new = (
        con.execute(f"SELECT {', '.join(parts)} FROM {relation(where, table)}").fetchone() for where in (OLD, NEW)
    )
    assert old is not None and new is not None
    for c, a, b in zip(numbers, old, new, strict=True):
        if not a or not b or any(x == 0 for x in a) or a[0] == a[-1]:
            continue
        ratios = sorted(y / x for x, y in zip(a, b, strict=True))
        if ratios[0] > 0 and ratios[-1] <= 1.4 * ratios[0] and not 0.2 <= ratios[1] <= 5:
            made.factors[c.name] = float(f"{ratios[1]:.2g}")


def _whole_rows(con: duckdb.DuckDBPyConnection, table: str, shared: Sequence[Shared], made: Rows) -> None:
    made.said = "no column tells rows apart, so whole rows are compared"
    if not shared:
        return
    cells = [
        (quoted(c.name), quoted(c.name))
        if c.before == c.after
        else (comparable(quoted(c.name), c.before), comparable(quoted(c.name), c.after))
        for c in shared
    ]
    old, new = (
        f"(SELECT hash({', '.join(pair[side] for pair in cells)}) AS h, count(*) AS k FROM {relation(where, table)} GROUP BY 1)"
        for side, where in enumerate((OLD, NEW))
    )
    row = con.execute(
        f"SELECT coalesce(sum(greatest(coalesce(b.k, 0) - coalesce(a.k, 0), 0)), 0), "
        f"coalesce(sum(greatest(coalesce(a.k, 0) - coalesce(b.k, 0), 0)), 0) FROM {old} a FULL JOIN {new} b USING (h)"
    ).fetchone()
    assert row is not None
    made.added, made.removed = int(row[0]), int(row[1])
