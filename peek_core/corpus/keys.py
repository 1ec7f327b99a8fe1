"""Which columns of different tables seem to mean the same things, judged by their values.

Owns: the suggestion of join keys. Refuses to join anything: a suggestion is shown, never acted upon.

Numbers 1 to 5 lie among the ids 1 to 1,000 by chance. So where chance could do it, names have to agree too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import duckdb
from rapidfuzz import fuzz

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import types
from peek_core.values.dataset import JoinKey

SHARE = 0.9
"""So much of the left's distinct values the right must have."""
NEARLY_UNIQUE = 0.98
MIN_DISTINCT = 3
MAX_KEYS = 20

_CHANCE = 0.001
_AGREE = 85.0
_MAX_COLUMNS = 200
_MAX_PAIRS = 200
_PROBE = 1_000
_LONG_TEXT = 64
_GENERIC = frozenset(("id", "ids", "key", "code", "no", "nr", "num", "number", "name", "index", "ref", "uuid"))


@dataclass(frozen=True)
class _Column:
    table: str
    name: str
    type: str
    filled: int
    distinct: int
    density: float
    """Share of the whole numbers between its lowest and highest that it holds; 0 where it holds others."""


@dataclass(frozen=True)
class _Pair:
    left: _Column
    right: _Column
    agreement: float


def suggest_keys(con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> tuple[JoinKey, ...]:
    """Pairs of columns of the same type where the right one is (nearly) unique and has nearly all values of the left.

    Best first: names that agree, then the share. Reads only; raises `duckdb.Error` where the engine does.
    """
    if len(tables) < 2:
        return ()
    columns = [column for table in tables for column in _columns(con, table)]
    pairs = sorted(_pairs(columns), key=lambda pair: -pair.agreement)[:_MAX_PAIRS]
    found: list[tuple[_Pair, float]] = []
    for pair in pairs:
        if _share(con, pair, _PROBE) >= SHARE - 0.2 and (share := _share(con, pair)) >= SHARE:
            found.append((pair, share))
    found.sort(key=lambda one: (-round(one[0].agreement), -one[1]))
    taken: set[frozenset[tuple[str, str]]] = set()
    served: set[tuple[str, str, str]] = set()
    keys: list[JoinKey] = []
    for pair, share in found:
        left, right = pair.left, pair.right
        both = frozenset(((left.table, left.name), (right.table, right.name)))
        # One direction is enough where both are unique, and one column on the right for each on the left.
        if both in taken or (left.table, left.name, right.table) in served:
            continue
        taken.add(both)
        served.add((left.table, left.name, right.table))
        unique = right.distinct == right.filled
        keys.append(JoinKey(left.table, left.name, right.table, right.name, round(share, 4), unique))
    return tuple(keys[:MAX_KEYS])


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> Iterator[_Column]:
    """Columns that could be keys."""
    listed = con.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = $1 "
        f"AND data_type IN ('{types.BIGINT}', '{types.VARCHAR}') ORDER BY column_index LIMIT {_MAX_COLUMNS}",
        [table],
    ).fetchall()
    for name, kind in listed:
        c = quoted(name)
        whole = f"TRY_CAST({c} AS BIGINT)"
        length = f"avg(length({c}))" if kind == types.VARCHAR else "0"
        row = con.execute(
            f"SELECT count({c}), approx_count_distinct({c}), count({whole}), min({whole}), max({whole}), {length} "
            f"FROM {quoted(table)}"
        ).fetchone()
        assert row is not None
        filled, distinct, numbers, low, high, size = row
        if distinct < MIN_DISTINCT - 1 or (size or 0) > _LONG_TEXT:
            continue
        # The estimate only saves counting where it is far from unique.
        if distinct > 0.8 * filled or distinct < 100:
            counted = con.execute(f"SELECT count(DISTINCT {c}) FROM {quoted(table)}").fetchone()
            distinct = counted[0] if counted else 0
        if distinct >= MIN_DISTINCT:
            density = min(1.0, distinct / (high - low + 1)) if numbers == filled else 0.0
            yield _Column(table, name, kind, filled, distinct, density)


def _pairs(columns: Sequence[_Column]) -> Iterator[_Pair]:
    for right in columns:
        if right.distinct < NEARLY_UNIQUE * right.filled:
            continue
        for left in columns:
            if left.table == right.table or left.type != right.type or left.distinct > right.distinct / SHARE:
                continue
            agreement = name_agreement(left.name, right.table, right.name)
            by_chance = right.density ** min(left.distinct, 20) > _CHANCE
            if agreement >= _AGREE or not by_chance:
                yield _Pair(left, right, agreement)


def _share(con: duckdb.DuckDBPyConnection, pair: _Pair, rows: int | None = None) -> float:
    """Share of the left's distinct values that the right has, over all rows or the first ones."""
    left, right = quoted(pair.left.name), quoted(pair.right.name)
    limit = "" if rows is None else f" LIMIT {rows}"
    row = con.execute(
        f"SELECT count(*), count(*) FILTER (v IN (SELECT {right} FROM {quoted(pair.right.table)} "
        f"WHERE {right} IS NOT NULL)) FROM (SELECT DISTINCT v FROM (SELECT {left} AS v "
        f"FROM {quoted(pair.left.table)} WHERE {left} IS NOT NULL{limit}))"
    ).fetchone()
    return row[1] / row[0] if row and row[0] else 0.0


def name_agreement(left: str, right_table: str, right: str) -> float:
    """How well the name of the left column fits the right one, 0 to 100: `customer_id` fits `id` of `customers`."""
    ours, theirs = _words(left), _words(right)
    core = [word for word in theirs if word not in _GENERIC]
    if not core:
        core = [word for word in _words(right_table) if not word.isdigit()][-1:] or list(theirs)
    mine = [word for word in ours if word not in _GENERIC]
    if not mine:
        return 0.0
    # `customer_age` speaks of customers too, but is no key to them.
    if len(mine) != len(core) and ours[-1] not in _GENERIC and ours[-1] != theirs[-1]:
        return 0.0
    return sum(max(fuzz.ratio(word, other) for other in mine) for word in core) / len(core)


@lru_cache(maxsize=4_096)
def _words(name: str) -> tuple[str, ...]:
    """`customerids` -> customer, id; plurals become singular."""
    found: list[str] = []
    for word in re.split(r"[_\W]+", name.lower()):
        glued = re.fullmatch(r"(.{3,}?)(ids?|nr|no)", word) if word not in _GENERIC else None
        found += [glued[1], glued[2]] if glued else [word]
    return tuple(_singular(word) for word in found if word)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
