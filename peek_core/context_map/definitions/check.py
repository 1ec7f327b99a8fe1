"""Whether something is a definition, whether it can stand beside others, and whether it still fits its table.

Owns: the refusals and their sentences. Refuses to know: SQL engines; what only binding can tell is told by `effects`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from peek_core.context_map.definitions import dates, expressions
from peek_core.context_map.definitions.building import as_text, is_odd, numeric
from peek_core.context_map.definitions.kinds import ADDED, MAPPED, ORDER, Definition, Scalar

MAX_VALUES, MAX_PAIRS, MAX_LABELS, MAX_CHARS = 50, 200, 5_000, 120
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?")
Columns = Mapping[str, str]
"""Column -> DuckDB type, of one table as it was read."""


def from_data(data: Mapping[str, Any], columns: Mapping[str, Columns]) -> Definition | str:
    """A definition from untrusted data, or the reason it is refused.

    `columns` maps table -> column -> DuckDB type. The id is empty; whoever keeps it gives one.
    """
    kind, table, column = (data.get(k) for k in ("kind", "table", "column"))
    if kind not in ORDER:
        return f"no kind of definition is called {kind!r}"
    if not isinstance(table, str) or table not in columns:
        return f"no table {table!r}"
    free = kind == "derived" or (kind == "row_exclusion" and data.get("expression") and column is None)
    if not free and (not isinstance(column, str) or column not in columns[table]):
        return f"no column {column!r} in {table}"
    made = _read(data, Definition("", kind, table, "" if free else str(column), ""))
    texts = [str(v) for v in made.values] + [t for pair in made.mapping.items() for t in pair]
    texts += [made.otherwise or "", made.unit, made.new_column, made.reading, str(data.get("name") or "")]
    if any(is_odd(t) for t in texts):
        return "a value holds a character that is no text"
    if any(isinstance(v, float) and not math.isfinite(v) for v in made.values):
        return "a value is no finite number"
    if any(len(t) > MAX_CHARS for t in texts[:-1]):
        return f"a value is longer than {MAX_CHARS} characters"
    checked = _CHECKS[kind](made, columns[table])
    if isinstance(checked, str):
        return checked
    name = " ".join(str(data.get("name") or "").split())[:80]
    return replace(checked, name=name or checked.rule[:80])


def _read(data: Mapping[str, Any], made: Definition) -> Definition:
    """The fields the kind has, as they came; those of other kinds stay empty."""

    def said(key: str) -> str:
        return " ".join(str(data.get(key) or "").split())

    raw, factor = data.get("mapping"), data.get("factor")
    mapping = {str(k): str(v) for k, v in raw.items()} if isinstance(raw, Mapping) else {}
    match made.kind:
        case "row_exclusion" if data.get("expression"):
            return replace(made, expression=str(data["expression"]))
        case "row_exclusion" | "sentinel":
            return replace(made, values=tuple(v for v in _list(data.get("values")) if isinstance(v, Scalar)))
        case "unit":
            number = isinstance(factor, (int, float)) and not isinstance(factor, bool)
            return replace(made, factor=float(factor) if number and factor else None, unit=said("unit")[:30])
        case "date_reading":
            return replace(made, reading=said("reading"), type=said("type").upper() or "DATE")
        case "derived":
            return replace(made, new_column=said("new_column"), expression=str(data.get("expression") or ""))
        case "label_column":
            otherwise = data.get("otherwise")
            rest = None if otherwise is None else str(otherwise)
            return replace(made, new_column=said("new_column"), mapping=mapping, otherwise=rest)
        case _:
            return replace(made, mapping=mapping)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else () if value is None else (value,)


def _values(d: Definition, columns: Columns) -> Definition | str:
    return d if 1 <= len(d.values) <= MAX_VALUES else f"{d.kind} needs 1 to {MAX_VALUES} values"


def _exclusion(d: Definition, columns: Columns) -> Definition | str:
    if not d.expression:
        return _values(d, columns)
    tree = expressions.parse(d.expression, columns)
    if isinstance(tree, str):
        return tree
    if not expressions.is_condition(tree):
        return f"{d.expression[:80]!r} says of no row whether it counts"
    read = expressions.columns_of(d.expression)
    if not read:
        return f"{d.expression[:80]!r} reads no column"
    # The column that samples show.
    return replace(d, expression=expressions.written(tree), column=d.column if d.column in read else min(read))


def _mapping(d: Definition, columns: Columns) -> Definition | str:
    return d if 1 <= len(d.mapping) <= MAX_PAIRS else f"{d.kind} needs a mapping of 1 to {MAX_PAIRS} values"


def _unit(d: Definition, columns: Columns) -> Definition | str:
    if d.factor is None or not 0 < d.factor < 1e12 or d.factor == 1:
        return "unit needs a positive factor other than 1"
    return d if numeric(columns[d.column]) else f"{d.column} is not a number"


def _date(d: Definition, columns: Columns) -> Definition | str:
    if columns[d.column] != "VARCHAR":
        return f"{d.column} is no text: it was read as {columns[d.column]}"
    return dates.refusal(d.reading, d.type) or d


def _derived(d: Definition, columns: Columns) -> Definition | str:
    tree = expressions.parse(d.expression, columns)
    if isinstance(tree, str):
        return tree
    return _named(replace(d, expression=expressions.written(tree)), columns)


def _labels(d: Definition, columns: Columns) -> Definition | str:
    if not 1 <= len(d.mapping) <= MAX_LABELS:
        return f"label_column needs a mapping of 1 to {MAX_LABELS:,} values"
    return _named(d, columns)


def _named(d: Definition, columns: Columns) -> Definition | str:
    if not _NAME.fullmatch(d.new_column):
        return f"{d.new_column[:40]!r} is no name for a column: lower-case letters, digits and _ only"
    if d.new_column in {c.lower() for c in columns}:
        return f"{d.table} has a column {d.new_column} already"
    return d


_CHECKS = {
    "row_exclusion": _exclusion,
    "sentinel": _values,
    "spelling_fold": _mapping,
    "code_label": _mapping,
    "unit": _unit,
    "date_reading": _date,
    "derived": _derived,
    "label_column": _labels,
}


def conflict(new: Definition, others: Sequence[Definition]) -> str | None:
    """Why `new` can't stand beside the active ones; both are named."""
    for other in others:
        if other.id != new.id and other.table == new.table:
            why = _clash(new, other)
            if why:
                return why
    return None


def _clash(a: Definition, b: Definition) -> str | None:
    both = f"“{a.name}” and “{b.name}”"
    if a.kind in ADDED and b.kind in ADDED:
        return f"{both} both make a column {a.new_column}" if a.new_column == b.new_column else None
    if a.column != b.column or {a.kind, b.kind} & {*ADDED, "row_exclusion"}:
        return None
    if a.kind == b.kind:
        if a.kind == "unit":
            return f"{both} both give a unit to {a.column}"
        if a.kind == "date_reading":
            return f"{both} both read {a.column} as dates"
        clash = {k for k, v in a.mapping.items() if b.mapping.get(k, v) != v}
        return f"{both} read {_some(clash)} differently" if clash else None
    first, second = sorted((a, b), key=lambda d: ORDER.index(d.kind))
    if first.kind == "date_reading":
        # What follows sees dates: it may name a day, but no spelling of one.
        odd = {as_text(v) for v in second.values if not _DAY.fullmatch(as_text(v))} or set(second.mapping)
        return f"{both} can't both stand: {a.column} is read as dates, which {_some(odd)} is not" if odd else None
    if first.kind == "sentinel":
        missing = {as_text(v) for v in first.values} & {*second.mapping, *second.mapping.values()}
        return f"{both} can't both stand: {_some(missing)} can't be missing and have a name" if missing else None
    return None


def _some(values: set[str]) -> str:
    said = sorted(map(repr, values))
    return ", ".join(said[:5]) + (f" and {len(said) - 5} more" if len(said) > 5 else "")


def used_by(d: Definition) -> frozenset[str]:
    """The columns of the raw table a definition reads."""
    return expressions.columns_of(d.expression) if d.expression else frozenset((d.column,))


def fits(d: Definition, columns: Columns) -> bool:
    """Whether the table still has what the definition speaks of, and room for what it makes."""
    room = d.kind not in ADDED or d.new_column not in {c.lower() for c in columns}
    return bool(columns) and room and used_by(d) <= columns.keys()


def needed_by(d: Definition, active: Sequence[Definition], columns: Columns) -> tuple[Definition, ...]:
    """The derived columns that count on the type `d` gives its column: without it they may mean nothing."""
    retypes = d.kind == "date_reading" or (d.kind in MAPPED and columns.get(d.column) != "VARCHAR")
    return tuple(o for o in active if retypes and o.kind == "derived" and o.table == d.table and d.column in used_by(o))
