"""What the agent is told about every table free of charge: types, missing values, ranges, frequent values.

Owns: which facts are gathered and the SQL for them. Refuses to know where the tables lie: it is given a function that
runs SQL, so that the curated view is profiled in the same way as the raw tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from peek_core.corpus import guesses
from peek_core.corpus.names import quoted
from peek_core.values.dataset import Bin, ColumnProfile, Profile, TableProfile, TopValue

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

BINS = 16
"""Bars of a histogram."""
SAMPLE = 300
"""Values of a text column that are looked at for guesses."""
LONGEST_DAYS = 120
"""Up to so many days gaps are counted in days, beyond that in months."""

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
        bins = _histograms(query, relation, facts)
        gaps = _gaps(query, relation, facts)
        samples = _samples(query, relation, facts, rows)
        for n, fact in enumerate(facts):
            texts = samples.get(n, [])
            period, periods, empty = gaps.get(n, ("", None, None))
            columns.append(
                replace(
                    _column(fact, rows, tops.get(n), labels),
                    bins=bins.get(n, ()),
                    languages=guesses.languages(texts) if fact.free_text else (),
                    personal=guesses.personal(fact.name, texts),
                    period=period,
                    periods=periods,
                    empty_periods=empty,
                )
            )
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
        unique=fact.type != "DOUBLE" and rows > 1 and fact.filled == rows and fact.distinct == rows,
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


def _kind(fact: _Facts) -> str:
    base = fact.type.split("(")[0].split(" ")[0]
    return "number" if base in _NUMBERS else "time" if base in ("DATE", "TIMESTAMP") else ""


def _histograms(query: Query, relation: str, facts: Sequence[_Facts]) -> dict[int, tuple[Bin, ...]]:
    """Numbers and dates with more values than are listed, in BINS bars of one width."""
    parts = []
    for n, fact in enumerate(facts):
        if _kind(fact) and (fact.distinct is None or fact.distinct > COMPLETE):
            c = quoted(fact.name)
            value = c if _kind(fact) == "number" else f"epoch({c}::TIMESTAMP)"
            parts.append(
                f"(WITH v AS (SELECT {value}::DOUBLE AS x FROM {relation} WHERE {c} IS NOT NULL), "
                f"r AS (SELECT min(x) AS low, max(x) AS high FROM v WHERE isfinite(x)) "
                f"SELECT {n} AS n, least({BINS - 1}, floor((x - low) * {BINS} / (high - low)))::BIGINT AS b, count(*) AS k, "
                f"any_value(low) AS low, any_value(high) AS high FROM v, r WHERE isfinite(x) AND high > low GROUP BY b)"
            )
    found: dict[int, dict[int, int]] = {}
    ranges: dict[int, tuple[float, float]] = {}
    if parts:
        for number, at, count, low, high in query(" UNION ALL ".join(parts) + " ORDER BY n, b"):
            found.setdefault(_int(number), {})[_int(at)] = _int(count)
            ranges[_int(number)] = (float(str(low)), float(str(high)))
    return {n: _bars(facts[n], counts, *ranges[n]) for n, counts in found.items()}


def _bars(fact: _Facts, counts: Mapping[int, int], low: float, high: float) -> tuple[Bin, ...]:
    def shown(at: int) -> str:
        value = low + (high - low) * at / BINS
        if _kind(fact) == "time":
            return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d")
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"

    return tuple(Bin(shown(at), shown(at + 1), counts.get(at, 0)) for at in range(BINS))


def _gaps(query: Query, relation: str, facts: Sequence[_Facts]) -> dict[int, tuple[str, int, int]]:
    """For date columns: the period, how many there are between first and last date, and how many have no row."""
    times = [(n, fact) for n, fact in enumerate(facts) if _kind(fact) == "time" and fact.filled]
    if not times:
        return {}
    parts = []
    for _, fact in times:
        day = f"{quoted(fact.name)}::DATE"
        for period in ("day", "month"):
            parts += [
                f"date_diff('{period}', min({day}), max({day})) + 1",
                f"count(DISTINCT date_trunc('{period}', {day}))",
            ]
    row = query(f"SELECT {', '.join(parts)} FROM {relation}")[0]
    found = {}
    for at, (n, _) in enumerate(times):
        days, with_rows, months, months_with_rows = map(_int, row[4 * at : 4 * at + 4])
        found[n] = (
            ("day", days, days - with_rows) if days <= LONGEST_DAYS else ("month", months, months - months_with_rows)
        )
    return found


def _samples(query: Query, relation: str, facts: Sequence[_Facts], rows: int) -> dict[int, list[str]]:
    """Some values of each text column, the same ones every time."""
    every = max(1, rows // (SAMPLE * 4))
    parts = [
        f"(SELECT {n} AS n, left({c}, 400) AS v FROM {relation} WHERE {c} IS NOT NULL AND hash({c}) % {every} = 0 LIMIT {SAMPLE})"
        for n, fact in enumerate(facts)
        if fact.type == "VARCHAR" and fact.filled
        for c in [quoted(fact.name)]
    ]
    found: dict[int, list[str]] = {}
    if parts:
        for number, value in query(" UNION ALL ".join(parts)):
            found.setdefault(_int(number), []).append(str(value))
    return found


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
