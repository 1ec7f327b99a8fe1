"""Strings of files that know numbers and dates themselves: workbooks, Parquet, JSON.

Owns: what such a string may become without being asked. Refuses to know what it says (`types`, `local`).

Whoever wrote "5" as a string beside numbers meant a text, so it stays one until a person chooses otherwise. Dates in
text were mostly just not recognised when somebody typed or exported them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import duckdb

from peek_core.corpus import names
from peek_core.corpus.typed import columns as typed
from peek_core.corpus.typed import types

_FIRST_ROWS = 5_000
_AS_FOUND: Mapping[str, str] = MappingProxyType({})
_COUNTS = (types.SECONDS, types.MILLISECONDS, types.EXCEL)


def readings(
    con: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[str],
    labels: Sequence[str],
    strings: Sequence[int],
    chosen: Mapping[str, str] = _AS_FOUND,
) -> Iterator[tuple[int, types.Reading]]:
    """How the columns at `strings`, all of them text in `source`, are read: as a person chose, or as dates, or as text.

    All other ways that their values allow are offered.
    """
    if not strings:
        return
    looked = [columns[n] for n in strings]
    relation = f"(SELECT {', '.join(map(names.quoted, looked))} FROM {source})"
    sample = typed.sample(con, relation, looked)
    found = typed.readings(con, relation, looked, [labels[n] for n in strings], sample, chosen, taken=columns)
    for n, reading in zip(strings, found, strict=True):
        if chosen.get(columns[n]) in types.WAYS:
            said = types.chosen_said(labels[n] or columns[n], reading.way)
            yield n, replace(reading, assumptions=tuple(dict.fromkeys((*reading.assumptions, said))))
        else:
            yield n, reading if _is_date(reading) else types.offered(columns[n], reading)


def chosen_only(
    con: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[str],
    labels: Sequence[str],
    strings: Sequence[int],
    chosen: Mapping[str, str],
) -> Iterator[tuple[int, types.Reading]]:
    """`readings` for files that know dates as well, where strings stay text until a person chooses.

    What is offered is seen in the first rows only, so that a large file need not be read for it; whether it fits all
    values is checked once it is chosen.
    """
    wanted = [n for n in strings if chosen.get(columns[n]) in types.WAYS]
    others = [n for n in strings if n not in wanted]
    for n, reading in readings(con, f"(FROM {source} LIMIT {_FIRST_ROWS})", columns, labels, others):
        yield n, types.offered(columns[n], reading)
    yield from readings(con, source, columns, labels, wanted, chosen)


def _is_date(reading: types.Reading) -> bool:
    """Whether it was read as a date or time that is written as one, rather than as a number that counts time."""
    kind = reading.beside.type if reading.beside else reading.type
    return kind in (types.DATE, types.TIMESTAMP) and reading.way not in _COUNTS
