"""The curated view of one table, as one SELECT over its raw table.

Owns: the SQL of each kind and the order they are applied in. Refuses to know: effects, where the view is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from peek_core.context_map.definitions import dates, expressions
from peek_core.context_map.definitions.building import as_text, column, identifier, literals, raw_table, text
from peek_core.context_map.definitions.kinds import ADDED, ORDER, Definition, DefinitionKind
from peek_core.errors import QueryFailed

Typed = tuple[exp.Expr, str]
"""SQL of a value and its DuckDB type."""


def view_sql(table: str, columns: Mapping[str, str], active: Sequence[Definition]) -> str:
    """SELECT text of the curated view of one table over `raw.main.<table>`.

    >>> d = Definition("def-1", "row_exclusion", "t", "status", "no tests", values=("test",))
    >>> view_sql("t", {"id": "BIGINT", "status": "VARCHAR"}, [d])
    "SELECT id, status FROM raw.main.t WHERE NOT COALESCE(status IN ('test'), FALSE)"
    """
    return view(table, columns, active).sql("duckdb")


def view(
    table: str, columns: Mapping[str, str], active: Sequence[Definition], source: exp.Table | None = None
) -> exp.Select:
    """The view as sqlglot's tree; `source` stands for the raw table where it has another name."""
    mine = [d for d in active if d.table == table]
    select = exp.select(*[_projection(c, t, mine) for c, t in columns.items()]).from_(source or raw_table(table))
    for d in mine:
        if d.kind == "row_exclusion":
            select = select.where(kept(d, columns))
    added = [added_column(d, columns, mine) for kind in ADDED for d in mine if d.kind == kind]
    if not added:
        return select
    # One level above, where a column's name stands for what the value kinds made of it.
    return exp.select(*[column(c) for c in columns], *added).from_(select.subquery("cleaned"))


def kept(d: Definition, columns: Mapping[str, str]) -> exp.Expr:
    """Condition for the raw rows a row exclusion leaves; a missing value leaves a row in."""
    return exp.not_(exp.func("COALESCE", left_out(d, columns), exp.false()))


def left_out(d: Definition, columns: Mapping[str, str]) -> exp.Expr:
    """Condition for the raw rows it leaves out."""
    if d.expression:
        condition = expressions.parse(d.expression, columns)
        if isinstance(condition, str):
            raise QueryFailed(f"“{d.name}” can't be compiled: {condition}", where=d.id)
        return exp.paren(condition)
    return exp.In(this=column(d.column), expressions=literals(d.values, columns[d.column]))


def cleaned(name: str, type: str, mine: Sequence[Definition]) -> Typed:
    """A column as the value kinds leave it, over the raw table, and its type then."""
    value: Typed = (column(name), type)
    for kind in ORDER:
        of_kind = [d for d in mine if d.kind == kind and d.column == name]
        if of_kind and kind not in ADDED and kind != "row_exclusion":
            value = _applied(kind, of_kind, *value)
    return value


def _projection(name: str, type: str, mine: Sequence[Definition]) -> exp.Expr:
    value, _ = cleaned(name, type, mine)
    return value if isinstance(value, exp.Column) else exp.alias_(value, identifier(name))


def _applied(kind: DefinitionKind, of_kind: Sequence[Definition], value: exp.Expr, type: str) -> Typed:
    """One kind on one column. Definitions of a kind see the same value, so the order they were made in is nothing."""
    if kind == "date_reading":
        (d,) = of_kind
        return dates.read(value, d.reading, d.type), d.type
    if kind == "sentinel":
        missing = exp.In(this=value.copy(), expressions=literals((v for d in of_kind for v in d.values), type))
        return exp.case().when(missing, exp.null()).else_(value), type
    if kind == "unit":
        (d,) = of_kind
        return exp.Mul(this=exp.paren(value), expression=exp.convert(d.factor)), "DOUBLE"
    mapping = {old: new for d in of_kind for old, new in d.mapping.items()}
    case = exp.case(text(value, type))
    for old, new in mapping.items():
        case = case.when(exp.convert(old), exp.convert(new))
    return case.else_(text(value, type)), "VARCHAR"


def added_column(d: Definition, columns: Mapping[str, str], mine: Sequence[Definition]) -> exp.Expr:
    """A column that is made, over the columns as the value kinds left them."""
    if d.kind == "derived":
        value = expressions.parse(d.expression, columns)
        if isinstance(value, str):
            raise QueryFailed(f"“{d.name}” can't be compiled: {value}", where=d.id)
    else:
        value = _label(d, cleaned(d.column, columns[d.column], mine)[1])
    return exp.alias_(value, identifier(d.new_column))


def _label(d: Definition, type: str) -> exp.Expr:
    """The labels, each with the values that have it; a missing value has none."""
    of_label: dict[str, list[str]] = {}
    for old, new in d.mapping.items():
        of_label.setdefault(new, []).append(as_text(old))
    case = exp.case()
    value = text(column(d.column), type)
    for label, values in of_label.items():
        case = case.when(exp.In(this=value.copy(), expressions=literals(values, "VARCHAR")), exp.convert(label))
    if d.otherwise is None:
        return case
    return case.when(exp.not_(column(d.column).is_(exp.null())), exp.convert(d.otherwise))
