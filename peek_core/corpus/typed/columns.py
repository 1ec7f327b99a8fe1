"""From a relation of text to typed columns: how each one is read, and the SELECT list that converts it.

Owns: the sample, the scans over all values that the sample leaves open, and their SQL. Refuses to know what a type
looks like (`types` and `local` do) and where the text comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import duckdb

from peek_core.corpus import names
from peek_core.corpus.typed import local, masks, number_columns, types
from peek_core.values.dataset import Column

_SAMPLE_CELLS = 60_000
_SAMPLE_ROWS = 5_000
# Up to so many columns are checked side by side; the plan for more would take longer than the scan.
_SIDE_BY_SIDE = 60
# A column with more masks than this is text.
_MASKS = 2_000
_LONGEST_NAME = 60
# Characters; plain conversions are shorter.
_LONG_SQL = 200

_Rows = Sequence[tuple[str | None, ...]]
_AS_FOUND: Mapping[str, str] = MappingProxyType({})


def sample(con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str]) -> list[tuple[str | None, ...]]:
    """The first rows of `source`, fewer where there are many columns."""
    limit = max(50, min(_SAMPLE_ROWS, _SAMPLE_CELLS // len(columns)))
    return con.execute(f"SELECT * FROM {source} LIMIT {limit}").fetchall()


def readings(
    con: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[str],
    labels: Sequence[str],
    rows: _Rows,
    chosen: Mapping[str, str] = _AS_FOUND,
    *,
    european: bool = False,
    taken: Sequence[str] = (),
) -> list[types.Reading]:
    """How every column is read. `rows` is a sample; `chosen` maps names of columns to ways that a person settled.

    `european`: fields are cut by semicolons, as where commas stand before decimals. `taken`: names that the table has
    besides, so that no new column gets them.

    Columns that the sample leaves open are checked in one scan over all their values; those that have local shapes, or
    turn out not to be plain, in a second one. Chosen ways are checked in a third.
    """
    called = [label or column for label, column in zip(labels, columns, strict=True)]
    said = [_said(rows, n) for n in range(len(columns))]
    made = [types.text(column) for column in columns]
    candidates = {n: open_types for n, values in enumerate(said) if rows and (open_types := types.possible(values))}
    looked: list[int] = []
    for n in range(len(columns)):
        if n not in candidates:
            code = number_columns.code_column(called[n], said[n])
            if code:
                made[n] = types.text(columns[n], code, ways=(types.WHOLE,))
            elif local.worth(said[n]):
                looked.append(n)
    counted = _plain_counts(con, source, columns, candidates)
    others = _others(con, source, columns, {n: candidates[n] for n in counted if types.broken(counted[n])})
    for n, counts in counted.items():
        made[n] = types.decide(columns[n], called[n], counts)
        odd = others.get(n, [])
        code = number_columns.code_column(called[n], odd) if odd and types.numeric(counts) else None
        if code:
            made[n] = types.text(columns[n], code, ways=(types.WHOLE,))
        elif local.worth_leftovers(odd, words=types.may_hold_words(counts)) or local.worth_numbers(
            made[n], called[n], said[n]
        ):
            looked.append(n)
    ways = {n: chosen[column] for n, column in enumerate(columns) if chosen.get(column) in types.WAYS}
    looked += [n for n, way in ways.items() if way not in (types.TEXT, made[n].way) and n not in looked]
    named = _Names(columns, taken)
    looks: dict[int, tuple[masks.Seen, types.Reading]] = {}
    for n, found in _masks(con, source, columns, {n: local.wanted(map(masks.of, said[n])) for n in looked}).items():
        seen = masks.look(columns[n], called[n], found, said[n], named.of(n))
        looks[n] = replace(seen, european=european), made[n]
        if len(found) <= _MASKS:
            made[n] = local.decide(*looks[n])
    # A table has one way to write decimals, so that columns which leave it open follow those that do not.
    decimals, dots = local.signs(seen for seen, _ in looks.values())
    if any(r.type == types.DOUBLE and n not in looks for n, r in enumerate(made)):
        decimals |= {"."}
    for n, (seen, plain) in looks.items() if decimals or dots else ():
        made[n] = local.decide(replace(seen, decimals=decimals, dots=dots), plain)
    unsettled: dict[int, tuple[masks.Seen, str]] = {}
    for n, way in ways.items():
        seen = looks[n][0] if n in looks else masks.look(columns[n], called[n], (), said[n], named.of(n))
        settled = local.settled(made[n], way, seen)
        if settled is None:
            unsettled[n] = seen, way
        else:
            made[n] = settled
    for n, (conversion, unfit, example) in _unfit(con, source, unsettled).items():
        seen, way = unsettled[n]
        made[n] = local.follow(made[n], way, conversion, seen, unfit, example)
    return made


def _said(rows: _Rows, n: int) -> list[str]:
    """What column `n` says in the sample, without words for missing."""
    found = [value for row in rows if (raw := row[n]) is not None and (value := raw.strip())]
    return [value for value in found if not types.is_missing(value)]


class _Names:
    """Free names for typed columns that stand beside their text; asking again gives the same name."""

    def __init__(self, columns: Sequence[str], taken: Sequence[str]) -> None:
        self._columns = columns
        self._taken = {*columns, *taken}
        self._given: dict[tuple[int, str], str] = {}

    def of(self, n: int) -> Callable[[str], str]:
        """Names for the text column `n`, by suffix."""

        def beside(suffix: str) -> str:
            if (n, suffix) not in self._given:
                wanted = self._columns[n][: _LONGEST_NAME - len(suffix)] + suffix
                name, times = names.identifier(wanted, f"column{suffix}"), 1
                while name in self._taken:
                    times += 1
                    name = f"{names.identifier(wanted, f'column{suffix}')}_{times}"
                self._taken.add(name)
                self._given[n, suffix] = name
            return self._given[n, suffix]

        return beside


def _plain_counts(
    con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str], candidates: Mapping[int, tuple[str, ...]]
) -> dict[int, Sequence[object]]:
    """What `types.counts_sql` gives for the columns that the sample leaves open, by one scan."""
    if not candidates:
        return {}
    if len(candidates) > _SIDE_BY_SIDE:
        return dict(zip(candidates, _counts_as_rows(con, source, [columns[n] for n in candidates]), strict=True))
    inner = ", ".join(
        f"{names.quoted(columns[n])}, {types.shape_sql(columns[n], open_types)} AS shape_{n}"
        for n, open_types in candidates.items()
    )
    wanted = ", ".join(part for n in candidates for part in types.counts_sql(names.quoted(columns[n]), f"shape_{n}"))
    row = con.execute(f"SELECT {wanted} FROM (SELECT {inner} FROM {source})").fetchone()
    assert row is not None
    return {n: row[at : at + types.COUNTS] for n, at in zip(candidates, range(0, len(row), types.COUNTS), strict=True)}


def _counts_as_rows(con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """What `types.counts_sql` gives, for wide files: every value becomes a row, so that one expression does for all."""
    wanted = ", ".join(types.counts_sql("v", "shape"))
    rows = con.execute(
        f"SELECT n, {wanted} FROM (SELECT n, v, {types.shape_sql('v', types.TYPED)} AS shape FROM "
        f"({_as_rows(source, columns)})) GROUP BY n ORDER BY n"
    ).fetchall()
    return [row[1:] for row in rows]


def _others(
    con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str], candidates: Mapping[int, tuple[str, ...]]
) -> dict[int, list[str]]:
    """At most two values without a plain shape of the columns that are broken by such, by one scan."""
    if not candidates:
        return {}
    wanted = [
        part
        for n, open_types in candidates.items()
        for part in types.others_sql(names.quoted(columns[n]), types.shape_sql(columns[n], open_types))
    ]
    row = con.execute(f"SELECT {', '.join(wanted)} FROM {source}").fetchone()
    assert row is not None
    pairs = zip(candidates, row[::2], row[1::2], strict=True)
    return {n: [str(value).strip() for value in pair if value is not None] for n, *pair in pairs}


def _as_rows(source: str, columns: Sequence[str]) -> str:
    listed = ", ".join(names.quoted(column) for column in columns)
    return f"SELECT unnest([{listed}]) AS v, unnest(range({len(columns)})) AS n FROM {source}"


def _masks(
    con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str], looked: Mapping[int, local.Wanted]
) -> dict[int, list[masks.Mask]]:
    """All masks of the columns `looked`, or one more than `_MASKS` of them, by one scan.

    Columns that turn out to hold more than was looked for are scanned once more.
    """
    if len(looked) > _SIDE_BY_SIDE:
        parts = (dict(list(looked.items())[at : at + _SIDE_BY_SIDE]) for at in range(0, len(looked), _SIDE_BY_SIDE))
        return {n: some for part in parts for n, some in _masks(con, source, columns, part).items()}
    if not looked:
        return {}
    normal, helped, shown = [], [], []
    for n, wanted in looked.items():
        column, s = names.quoted(columns[n]), f"s{n}"
        normal.append(f"{column} AS v{n}, {masks.normal_sql(column)} AS {s}")
        helpers, bits = wanted.bits_sql(s)
        helped += [f"v{n}, {s}", *(f"{sql} AS {name}" for name, sql in helpers.items())]
        shown.append((f"v{n}", masks.of_sql(s), bits))
    each = (f"unnest([{', '.join(parts)}])" for parts in zip(*shown, strict=True))
    listed = ", ".join(f"{values} AS {name}" for values, name in zip(each, ("v", "mask", "bits"), strict=True))
    rows = con.execute(
        f"SELECT n, mask, bits, count(*) AS k, min(v), max(v) FROM (SELECT {listed}, unnest({list(looked)}) AS n FROM "
        f"(SELECT {', '.join(helped)} FROM (SELECT {', '.join(normal)} FROM {source}))) WHERE v IS NOT NULL "
        f"GROUP BY n, mask, bits QUALIFY row_number() OVER (PARTITION BY n ORDER BY k DESC, mask, bits) <= {_MASKS + 1} "
        "ORDER BY n, k DESC, mask, bits"
    ).fetchall()
    found: dict[int, list[masks.Mask]] = {n: [] for n in looked}
    for n, *mask in rows:
        found[n].append(masks.Mask(*mask))
    really = {n: local.wanted(mask.text for mask in some) for n, some in found.items() if len(some) <= _MASKS}
    again = {n: wanted for n, wanted in really.items() if not looked[n].covers(wanted)}
    return {**found, **_masks(con, source, columns, again)}


def _unfit(
    con: duckdb.DuckDBPyConnection, source: str, ways: Mapping[int, tuple[masks.Seen, str]]
) -> dict[int, tuple[local.Conversion, int, str]]:
    """For chosen ways: the conversion, how many values do not fit it, and one of those."""
    if not ways:
        return {}
    made = {n: local.conversion(seen, way) for n, (seen, way) in ways.items()}
    wanted = []
    for n, (seen, _) in ways.items():
        c = names.quoted(seen.name)
        unfit = f"FILTER (NOT {types.missing_sql(c)} AND ({made[n].sql}) IS NULL)"
        wanted += [f"count(*) {unfit}", f"min({c}) {unfit}"]
    row = con.execute(f"SELECT {', '.join(wanted)} FROM {source}").fetchone()
    assert row is not None
    return {n: (made[n], int(row[2 * at]), str(row[2 * at + 1] or "").strip()) for at, n in enumerate(ways)}


def selected(columns: Sequence[str], made: Sequence[types.Reading]) -> str:
    """The SELECT list that converts all columns; a typed column beside its text comes right after it."""
    parts = []
    for column, reading in zip(columns, made, strict=True):
        parts.append(f"{_apart(column, reading.sql)} AS {names.quoted(column)}")
        if reading.beside:
            parts.append(f"{_apart(column, reading.beside.sql)} AS {names.quoted(reading.beside.name)}")
    return ", ".join(parts)


def _apart(column: str, sql: str) -> str:
    """A long expression as a branch, where the engine does not look for parts that other columns have as well.

    It compares all of them with each other, which takes a minute for a thousand columns.
    """
    return f"CASE WHEN {names.quoted(column)} IS NOT NULL THEN {sql} END" if len(sql) > _LONG_SQL else sql


def laid_out(
    columns: Sequence[str], labels: Sequence[str], made: Sequence[types.Reading], samples: Sequence[str]
) -> list[Column]:
    """The columns that `selected` makes, with their nulls still to be counted."""
    laid = []
    for column, label, reading, sample in zip(columns, labels, made, samples, strict=True):
        laid.append(Column(column, label, reading.type, 0, sample=sample, way=reading.way, ways=reading.ways))
        if reading.beside:
            said = f"{label or column} ({reading.beside.said})"
            laid.append(Column(reading.beside.name, said, reading.beside.type, 0, sample=sample))
    return laid
