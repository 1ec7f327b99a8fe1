"""Row values on their way through JSON and back.

Owns: which Python value a DuckDB value becomes (notes C8). Refuses to know: queries and pipes.

Scalars JSON has travel bare. Every JSON list is a tagged value, so nothing in the data can be mistaken for a tag:
`["d", iso]` date, `["t", iso]` datetime, `["n", text]` exact decimal (exports only), `["l", ...]` list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

Convert = Callable[[Any], Any]
_BARE = frozenset({
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "UHUGEINT", "VARCHAR", "JSON",
})  # fmt: skip
"""Types whose values already are what JSON holds."""


def encode(value: Any, exact: bool = False) -> Any:
    """One value as JSON can hold it: NaN, infinity and NaT are None, decimals int where exact, else float.

    `exact` keeps decimals as their text, for exports.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return _decimal(value, exact)
    if isinstance(value, datetime):
        return ["t", value.isoformat()]
    if isinstance(value, date):
        return ["d", value.isoformat()]
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(k): encode(v, exact) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return ["l", *(encode(v, exact) for v in value)]
    return str(value)


def _decimal(value: Decimal, exact: bool) -> Any:
    if not value.is_finite():
        return None
    if exact:
        return ["n", format(value, "f")]
    return int(value) if value == value.to_integral_value() else float(value)


def row_encoder(types: Sequence[str], exact: bool = False) -> Callable[[tuple[Any, ...]], Sequence[Any]]:
    """A function that encodes one row; columns whose values need no change cost nothing."""
    work = tuple((i, _column_encoder(types[i], exact)) for i in _converted(types))
    if not work:
        return lambda row: row

    def convert(row: tuple[Any, ...]) -> list[Any]:
        out = list(row)
        for i, encoder in work:
            if out[i] is not None:
                out[i] = encoder(out[i])
        return out

    return convert


def _converted(types: Sequence[str]) -> tuple[int, ...]:
    """Columns whose values change on the way."""
    return tuple(i for i, name in enumerate(types) if name not in _BARE and not name.startswith("ENUM"))


def _column_encoder(name: str, exact: bool) -> Convert:
    """The encoder of a whole column; the common types skip the search for the value's kind."""
    if name in ("DOUBLE", "FLOAT"):
        return lambda v: v if math.isfinite(v) else None
    if name == "DATE":
        # Dates Python has no value for arrive as text.
        return lambda v: v if isinstance(v, str) else ["d", v.isoformat()]
    return lambda v: encode(v, exact)


def decode(value: Any) -> Any:
    """The value an encoded one stands for. Lists and dicts keep their nesting."""
    if isinstance(value, list):
        return _decode_tagged(value)
    if isinstance(value, dict):
        return {k: decode(v) for k, v in value.items()}
    return value


def _decode_tagged(value: list[Any]) -> Any:
    tag, rest = value[0], value[1:]
    if tag == "d":
        return date.fromisoformat(rest[0])
    if tag == "t":
        return datetime.fromisoformat(rest[0])
    if tag == "n":
        return Decimal(rest[0])
    return [decode(v) for v in rest]


def decode_rows(rows: Sequence[Sequence[Any]], types: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    """Rows as tuples; only columns of types that were converted need a look."""
    work = _converted(types)
    if not work:
        return tuple(map(tuple, rows))
    out = []
    for row in rows:
        cells = list(row)
        for i in work:
            if isinstance(cells[i], (list, dict)):
                cells[i] = decode(cells[i])
        out.append(tuple(cells))
    return tuple(out)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Column names with repeats told apart: `a, a` becomes `a, a_2`; a name that exists already is never reused."""
    taken, out = set(names), []
    seen: set[str] = set()
    for name in names:
        fresh, n = name, 2
        while fresh in seen or (fresh != name and fresh in taken):
            fresh, n = f"{name}_{n}", n + 1
        seen.add(fresh)
        out.append(fresh)
    return tuple(out)
