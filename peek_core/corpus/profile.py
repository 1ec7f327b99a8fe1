"""What the agent is told about every table free of charge: types, missing values, ranges, frequent values.

Owns: which facts are gathered and the SQL for them. Refuses to know where the tables lie: it is given a function that
runs SQL, so that the curated view is profiled in the same way as the raw tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from peek_core.corpus.names import quoted
from peek_core.values.dataset import ColumnProfile, Profile, TableProfile, TopValue

CUT = 60
"""Characters that are kept of any value."""
COMPLETE = 12
"""Columns with at most so many distinct values are listed completely."""
TOP = 5
EXACT_ROWS = 1_000_000
"""Up to so many rows distinct values are counted exactly in every column."""
EXACT_DISTINCT = 100_000
"""In longer tables they are counted exactly only where the estimate is at most this."""

Query = Callable[[str], Sequence[tuple[object, ...]]]

_BATCH = 100
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("DATE", "TIME", "TIMESTAMP")


def profile(query: Query, tables: Sequence[str], labels: Mapping[str, str] | None = None) -> Profile:
    """Profiles tables or views by running SELECTs through `query`, which returns all rows of a statement.

    `tables` are names, optionally qualified by dots (`raw.product_feedback`); the last part names the result.
    `labels` maps column names to the headers that people know. Distinct counts are exact or None, never estimates;
    values are cut at 60 characters. Errors of `query` pass through.
    """
    return Profile(tuple(_table(query, table, labels or {}) for table in tables))


def _relation(table: str) -> str:
    return ".".join(quoted(part) for part in table.split("."))


@dataclass(frozen=True)
class _Facts:
    """First pass over one column."""

    name: str
    type: str
    filled: int
    minimum: str | None
    maximum: str | None
    average_length: float | None
    spaced: int
    distinct: int | None

    @property
    def free_text(self) -> bool:
        """Sentences rather than names: longish, mostly with spaces, and mostly different."""
        if self.type != "VARCHAR" or not self.filled or self.average_length is None:
            return False
        varied = self.distinct is None or self.distinct > 200 or self.distinct >= max(2, 0.3 * self.filled)
        return self.average_length >= 15 and self.spaced >= 0.5 * self.filled and varied


def _table(query: Query, table: str, labels: Mapping[str, str]) -> TableProfile:
    relation = _relation(table)
    described = [(str(row[0]), str(row[1])) for row in query(f"DESCRIBE SELECT * FROM {relation}")]
    rows = _int(query(f"SELECT count(*) FROM {relation}")[0][0])
    columns: list[ColumnProfile] = []
    for start in range(0, len(described), _BATCH):
        facts = _facts(query, relation, described[start : start + _BATCH], rows)
        tops = _tops(query, relation, facts)
        columns += [_column(fact, rows, tops.get(n), labels) for n, fact in enumerate(facts)]
    return TableProfile(table.split(".")[-1], rows, tuple(columns))


def _column(fact: _Facts, rows: int, top: tuple[TopValue, ...] | None, labels: Mapping[str, str]) -> ColumnProfile:
    complete = top is not None and fact.distinct is not None and len(top) == fact.distinct
    return ColumnProfile(
        name=fact.name,
        label=labels.get(fact.name, fact.name),
        type=fact.type,
        nulls=rows - fact.filled,
        distinct=fact.distinct,
        minimum=None if fact.free_text else fact.minimum,
        maximum=None if fact.free_text else fact.maximum,
        top=top or (),
        complete=complete,
        average_length=fact.average_length,
        free_text=fact.free_text,
    )


def _facts(query: Query, relation: str, described: Sequence[tuple[str, str]], rows: int) -> list[_Facts]:
    parts: list[str] = []
    for name, kind in described:
        c = quoted(name)
        text = kind == "VARCHAR"
        parts += [
            f"count({c})",
            f"left(min({c})::VARCHAR, {CUT})",
            f"left(max({c})::VARCHAR, {CUT})",
            f"avg(length({c}))" if text else "NULL",
            f"count(*) FILTER (contains({c}, ' '))" if text else "0",
            f"count(DISTINCT {c})" if rows <= EXACT_ROWS else f"approx_count_distinct({c})",
        ]
    found = query(f"SELECT {', '.join(parts)} FROM {relation}")[0]
    facts: list[_Facts] = []
    for n, (name, kind) in enumerate(described):
        filled, low, high, length, spaced, distinct = found[6 * n : 6 * n + 6]
        facts.append(
            _Facts(
                name=name,
                type=kind,
                filled=_int(filled),
                minimum=None if low is None else str(low),
                maximum=None if high is None else str(high),
                average_length=round(float(length), 1) if isinstance(length, int | float) else None,
                spaced=_int(spaced),
                distinct=_int(distinct),
            )
        )
    return facts if rows <= EXACT_ROWS else _exact(query, relation, facts)


def _exact(query: Query, relation: str, facts: Sequence[_Facts]) -> list[_Facts]:
    """Replaces estimates by exact counts where they are small, and by None elsewhere."""
    few = [n for n, fact in enumerate(facts) if (fact.distinct or 0) <= EXACT_DISTINCT]
    counts: dict[int, int] = {}
    if few:
        wanted = ", ".join(f"count(DISTINCT {quoted(facts[n].name)})" for n in few)
        counts = dict(zip(few, map(_int, query(f"SELECT {wanted} FROM {relation}")[0]), strict=True))
    return [
        _Facts(f.name, f.type, f.filled, f.minimum, f.maximum, f.average_length, f.spaced, counts.get(n))
        for n, f in enumerate(facts)
    ]


def _wants_top(fact: _Facts) -> int:
    """How many frequent values to list: all of a few, some of values that repeat, none of ids, texts and moments."""
    if fact.distinct is None or not fact.distinct or fact.free_text:
        return 0
    if fact.distinct <= COMPLETE:
        return COMPLETE
    kind = fact.type.split("(")[0]
    if kind.split(" ")[0] in _TIMES or not (kind == "VARCHAR" or kind in _NUMBERS):
        return 0
    return TOP if fact.distinct <= 0.5 * fact.filled else 0


def _tops(query: Query, relation: str, facts: Sequence[_Facts]) -> dict[int, tuple[TopValue, ...]]:
    parts = []
    for n, fact in enumerate(facts):
        if limit := _wants_top(fact):
            c = quoted(fact.name)
            parts.append(
                f"(SELECT {n} AS n, left({c}::VARCHAR, {CUT}) AS v, count(*) AS k FROM {relation} "
                f"WHERE {c} IS NOT NULL GROUP BY {c} ORDER BY k DESC, {c} LIMIT {limit})"
            )
    if not parts:
        return {}
    found: dict[int, list[TopValue]] = {}
    for number, value, count in query(" UNION ALL ".join(parts) + " ORDER BY n, k DESC, v"):
        found.setdefault(_int(number), []).append(TopValue(str(value), _int(count)))
    return {n: tuple(values) for n, values in found.items()}


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
