"""Definitions: rules about the data, proposed as data and compiled into the dataset's curated view.

Owns: the kinds of definition, their check, the SQL of the view and of a definition's effect. Refuses to know: who
proposed it, which engine runs the SQL, where the view is kept. Never takes free SQL; sqlglot builds every statement.
Order of application, fixed: sentinel, spelling_fold, code_label, unit on values; row_exclusion on rows. Exclusions
look at the values as they stand in the raw table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlglot import exp

DefinitionKind = Literal["row_exclusion", "sentinel", "spelling_fold", "code_label", "unit"]
DefinitionState = Literal["proposed", "on", "off", "rejected", "held_back"]
ORDER: tuple[DefinitionKind, ...] = ("sentinel", "spelling_fold", "code_label", "unit", "row_exclusion")
Scalar = str | int | float | bool


@dataclass(frozen=True)
class Definition:
    """One rule about one column.

    row_exclusion and sentinel use `values`; spelling_fold and code_label use `mapping` (from value to value);
    unit uses `factor` (what a raw value is multiplied by) and `unit` (its name).
    """

    id: str
    kind: DefinitionKind
    table: str
    column: str
    name: str
    values: tuple[Scalar, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    factor: float | None = None
    unit: str = ""
    state: DefinitionState = "proposed"
    author: str = "agent"
    question: str = ""
    run: str = ""
    effect: Mapping[str, Any] = field(default_factory=dict)
    """Measured on the version it was proposed on: rows_before, rows_after, values_changed."""

    @property
    def rule(self) -> str:
        """The rule in one line, for people and for the prompt's definitions block."""
        quoted = ", ".join(repr(v) if isinstance(v, str) else str(v) for v in self.values)
        pairs = ", ".join(f"{a!r} → {b!r}" for a, b in self.mapping.items())
        return {
            "row_exclusion": f"rows with {self.column} = {quoted} don't count",
            "sentinel": f"{self.column} = {quoted} is missing",
            "spelling_fold": f"{self.column}: {pairs}",
            "code_label": f"{self.column}: {pairs}",
            "unit": f"{self.column} × {self.factor:g} is in {self.unit}" if self.factor else "",
        }[self.kind]

    def same_rule(self, other: Definition) -> bool:
        """True when both say the same of the same column."""
        return _content(self) == _content(other)

    def as_data(self) -> dict[str, Any]:
        """What a prompt may know of it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "table": self.table,
            "column": self.column,
            "name": self.name,
            "values": list(self.values),
            "mapping": dict(self.mapping),
            "factor": self.factor,
            "unit": self.unit,
            "state": self.state,
        }


def _content(d: Definition) -> tuple[Any, ...]:
    values = tuple(sorted(map(str, d.values)))
    return (d.kind, d.table, d.column, values, tuple(sorted(d.mapping.items())), d.factor)


def from_data(data: Mapping[str, Any], columns: Mapping[str, Mapping[str, str]]) -> Definition | str:
    """A definition from untrusted data, or the reason it is refused.

    `columns` maps table -> column -> DuckDB type. The id is empty; whoever keeps it gives one.
    """
    kind, table, column = (data.get(k) for k in ("kind", "table", "column"))
    if kind not in ORDER:
        return f"no kind of definition is called {kind!r}"
    if not isinstance(table, str) or table not in columns:
        return f"no table {table!r}"
    if not isinstance(column, str) or column not in columns[table]:
        return f"no column {column!r} in {table}"
    values = tuple(v for v in _list(data.get("values")) if isinstance(v, (str, int, float)))
    raw = data.get("mapping")
    mapping = {str(k): str(v) for k, v in raw.items()} if isinstance(raw, Mapping) else {}
    factor = data.get("factor")
    if kind in ("row_exclusion", "sentinel") and not 1 <= len(values) <= 50:
        return f"{kind} needs 1 to 50 values"
    if kind in ("spelling_fold", "code_label") and not 1 <= len(mapping) <= 200:
        return f"{kind} needs a mapping of 1 to 200 values"
    if kind == "unit":
        if not isinstance(factor, (int, float)) or isinstance(factor, bool) or not 0 < factor < 1e12 or factor == 1:
            return "unit needs a positive factor other than 1"
        if not numeric(columns[table][column]):
            return f"{column} is not a number"
    texts = [str(v) for v in values] + list(mapping) + list(mapping.values()) + [str(data.get("unit") or "")]
    if any(len(t) > 120 for t in texts):
        return "a value is longer than 120 characters"
    name = " ".join(str(data.get("name") or "").split())[:80]
    made = Definition(
        id="",
        kind=kind,
        table=table,
        column=column,
        name=name,
        values=values,
        mapping=mapping,
        factor=float(factor) if kind == "unit" and factor is not None else None,
        unit=" ".join(str(data.get("unit") or "").split())[:30],
    )
    return made if name else Definition(**{**made.__dict__, "name": made.rule[:80]})


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else () if value is None else (value,)


def numeric(type: str) -> bool:
    """Whether a DuckDB type holds numbers."""
    return type.split("(")[0] in {
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
    }


def conflict(new: Definition, others: Sequence[Definition]) -> str | None:
    """Why `new` can't stand beside the active ones: the same kind on the same column saying something else."""
    for other in others:
        if other.id == new.id or (other.kind, other.table, other.column) != (new.kind, new.table, new.column):
            continue
        if new.kind == "unit":
            return f"“{new.name}” and “{other.name}” both give a unit to {new.column}"
        clash = {k for k, v in new.mapping.items() if other.mapping.get(k, v) != v}
        if clash:
            return f"“{new.name}” and “{other.name}” read {', '.join(map(repr, sorted(clash)))} differently"
    return None


def view_sql(table: str, columns: Mapping[str, str], active: Sequence[Definition]) -> str:
    """SELECT text of the curated view of one table over `raw.main.<table>`.

    >>> d = Definition("def-1", "row_exclusion", "t", "status", "no tests", values=("test",))
    >>> view_sql("t", {"id": "BIGINT", "status": "VARCHAR"}, [d])
    "SELECT id, status FROM raw.main.t WHERE NOT COALESCE(status IN ('test'), FALSE)"
    """
    mine = [d for kind in ORDER for d in active if d.kind == kind and d.table == table]
    select = exp.select(*[_projection(c, t, mine) for c, t in columns.items()]).from_(_raw(table))
    for d in mine:
        if d.kind == "row_exclusion":
            select = select.where(exp.not_(exp.func("COALESCE", _is_one_of(d), exp.false())))
    return select.sql("duckdb", identify=False)


def _raw(table: str) -> exp.Table:
    return exp.table_(exp.to_identifier(table, quoted=_quoted(table)), db="main", catalog="raw")


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=_quoted(name)))


def _quoted(name: str) -> bool:
    # Keywords and anything beyond plain identifiers must be quoted; quoting all of them would only hurt reading.
    return not (name.isidentifier() and name.isascii() and name.islower()) or name in _RESERVED


_RESERVED = frozenset(
    [
        "all",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "case",
        "cast",
        "check",
        "collate",
        "column",
        "constraint",
        "create",
        "default",
        "deferrable",
        "desc",
        "distinct",
        "do",
        "else",
        "end",
        "except",
        "false",
        "fetch",
        "for",
        "foreign",
        "from",
        "grant",
        "group",
        "having",
        "in",
        "initially",
        "intersect",
        "into",
        "is",
        "isnull",
        "join",
        "lateral",
        "leading",
        "left",
        "like",
        "limit",
        "natural",
        "not",
        "notnull",
        "null",
        "offset",
        "on",
        "only",
        "or",
        "order",
        "outer",
        "overlaps",
        "placing",
        "primary",
        "references",
        "returning",
        "right",
        "select",
        "show",
        "similar",
        "some",
        "symmetric",
        "table",
        "then",
        "to",
        "trailing",
        "true",
        "union",
        "unique",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
        "at",
        "by",
        "date",
        "time",
        "timestamp",
        "interval",
        "day",
        "month",
        "year",
        "user",
    ]
)


def _is_one_of(d: Definition) -> exp.Expr:
    return _column(d.column).isin(*[_literal(v) for v in d.values])


def _literal(value: Scalar) -> exp.Expr:
    return exp.convert(value)


def _projection(column: str, type: str, mine: Sequence[Definition]) -> exp.Expr:
    value: exp.Expr = _column(column)
    touched = False
    for d in mine:
        if d.column != column or d.kind == "row_exclusion":
            continue
        touched = True
        if d.kind == "sentinel":
            value = exp.case().when(_compare(value, d.values), exp.null()).else_(value)
        elif d.kind in ("spelling_fold", "code_label"):
            case = exp.case()
            for old, new in d.mapping.items():
                case = case.when(exp.EQ(this=_text(value, type), expression=exp.convert(old)), exp.convert(new))
            value = case.else_(_text(value, type))
        elif d.kind == "unit" and d.factor is not None:
            value = exp.Mul(this=exp.paren(value), expression=exp.convert(d.factor))
    return exp.alias_(value, column, quoted=_quoted(column)) if touched else value


def _compare(value: exp.Expr, values: Sequence[Scalar]) -> exp.Expr:
    return exp.In(this=value.copy(), expressions=[_literal(v) for v in values])


def _text(value: exp.Expr, type: str) -> exp.Expr:
    return value.copy() if type == "VARCHAR" else exp.cast(value.copy(), "VARCHAR")


def effect_sql(d: Definition, columns: Mapping[str, str], active: Sequence[Definition]) -> str:
    """One row: rows before, rows after, values changed, if `d` joined the active definitions."""
    others = [o for o in active if o.id != d.id]
    before = view_sql(d.table, columns, others)
    after = view_sql(d.table, columns, [*others, d])
    changed = exp.select("count(*)").from_(_raw(d.table)).where(_changed(d, columns)).sql("duckdb")
    return (
        f"SELECT (SELECT count(*) FROM ({before})) AS rows_before, "
        f"(SELECT count(*) FROM ({after})) AS rows_after, ({changed}) AS values_changed"
    )


def touched_sql(d: Definition, columns: Mapping[str, str]) -> str:
    """The raw rows a definition is about: those it leaves out, or whose value it changes."""
    if d.kind == "row_exclusion":
        touched: exp.Expr = _is_one_of(d)
    else:
        touched = _changed(d, columns)
    return exp.select("*").from_(_raw(d.table)).where(touched).sql("duckdb")


def _changed(d: Definition, columns: Mapping[str, str]) -> exp.Expr:
    if d.kind == "row_exclusion":
        return exp.false()
    if d.kind == "unit":
        return exp.not_(_column(d.column).is_(exp.null()))
    return _text(_column(d.column), columns[d.column]).isin(*map(str, d.values or tuple(d.mapping)))


def block(definitions: Sequence[Definition]) -> str:
    """One line each for the prompt: what is compiled into the view, and what is only proposed."""
    lines = [
        f"[{d.id}] {d.name}: {d.rule}" + ("" if d.state == "on" else " (proposed, NOT applied in the view)")
        for d in definitions
        if d.state in ("on", "proposed")
    ]
    return "\n".join(lines)
