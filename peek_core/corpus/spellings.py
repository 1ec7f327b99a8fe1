"""Values of a column that are one value in several spellings: they differ in case, blanks or Unicode form alone.

Owns: finding them. Refuses to merge them: what is found is proposed as a definition, which a person accepts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import duckdb

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import types
from peek_core.corpus.wording import some
from peek_core.values.dataset import Column, Spellings

MAX_DISTINCT = 5_000
"""A column with more distinct values rather holds texts or keys than names of things."""
MAX_PAIRS = 100
_NAME = 40
"""Characters that a value may have on average and still be a name."""
_ONE_VALUE = "lower(trim(regexp_replace(nfc_normalize({}), '\\s+', ' ', 'g')))"


def find_spellings(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[Column]) -> tuple[Spellings, ...]:
    """For each column of names the spellings that fold into a more frequent one. Raises `duckdb.Error`."""
    found = []
    for column in columns:
        if column.type == types.VARCHAR and column.distinct is not None and 1 < column.distinct <= MAX_DISTINCT:
            mapping = _folding(con, table, column.name)
            if 0 < len(mapping) <= MAX_PAIRS:
                found.append(Spellings(table, column.name, mapping))
    return tuple(found)


def _folding(con: duckdb.DuckDBPyConnection, table: str, column: str) -> dict[str, str]:
    """Spelling -> the most frequent spelling of the same value. Single letters are codes: `a` need not be `A`."""
    name = quoted(column)
    rows = con.execute(
        f"SELECT {_ONE_VALUE.format('v')} AS one, v FROM (SELECT {name} AS v, count(*) AS n FROM {quoted(table)} "
        f"WHERE length(trim({name})) > 1 GROUP BY 1) "
        f"QUALIFY count(*) OVER (PARTITION BY one) > 1 AND avg(length(v)) OVER () <= {_NAME} ORDER BY one, n DESC, v"
    ).fetchall()
    same: dict[str, list[str]] = defaultdict(list)
    for one, spelling in rows:
        same[one].append(spelling)
    return {other: first for first, *others in same.values() for other in others}


def spellings_in_words(found: Spellings) -> str:
    """For a person: which values seem to be one, and what becomes of it."""
    pairs = [f"“{other}” is “{first}”" for other, first in found.mapping.items()]
    return f"{found.column}: {some(pairs, 4)} in another spelling; proposed as a definition, nothing was merged."
