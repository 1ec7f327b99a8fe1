"""The language of derived columns and of row exclusions: one scalar expression over the columns of one table.

Owns: what may stand in an expression, node by node; all else is refused by name. Refuses to know: types. Whether an
expression means anything on the data is for the engine to say, when the effect is measured.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp

from peek_core.context_map.definitions.building import TYPES, column, is_odd

MAX_CHARS, MAX_NODES, MAX_DEPTH = 1_000, 60, 12
_UNITS = "MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY DOW ISODOW DOY WEEK MONTH QUARTER YEAR EPOCH"
UNITS = frozenset(_UNITS.split())
_ALLOWED = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.Column, exp.Paren),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.And, exp.Or, exp.Not, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Between, exp.In, exp.Is),
    *(exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Round, exp.Abs, exp.Floor, exp.Ceil, exp.Least, exp.Greatest),
    *(exp.TimestampTrunc, exp.DateTrunc, exp.Extract, exp.DateDiff, exp.Year, exp.Month, exp.Day),
    *(exp.Concat, exp.DPipe, exp.Substring, exp.Replace, exp.Contains, exp.StartsWith, exp.EndsWith),
)
FUNCTIONS = (
    "abs, ceil, coalesce, concat, contains, date_diff, date_part, date_trunc, day, ends_with, extract, floor, greatest, "
    "if, least, length, lower, month, nullif, replace, round, starts_with, substr, trim, upper, year"
)


def parse(text: str, columns: Collection[str]) -> exp.Expr | str:
    """The expression with its columns resolved, or the reason it is refused.

    >>> parse("amount / nullif(days, 0)", ["amount", "days"]).sql("duckdb")
    'amount / NULLIF(days, 0)'
    >>> parse("(SELECT 1)", [])
    'a subquery is not allowed in an expression'
    """
    if len(text) > MAX_CHARS or is_odd(text):
        return f"the expression is longer than {MAX_CHARS:,} characters, or holds odd ones"
    if _depth(text) > MAX_DEPTH:
        return f"the expression is nested more than {MAX_DEPTH} deep"
    try:
        statements = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return f"{text[:80]!r} can't be read as an expression"
    if len(statements) != 1 or statements[0] is None:
        return "an expression is exactly one"
    tree = statements[0]
    nodes = [n for n in tree.walk() if not isinstance(n, exp.Identifier)]
    if len(nodes) > MAX_NODES:
        return f"the expression has {len(nodes)} parts; at most {MAX_NODES} are allowed"
    known = {c.lower(): c for c in columns} | {c: c for c in columns}
    refused = next((why for n in nodes if (why := _refusal(n, known))), None)
    return refused or tree.transform(_settled, known)


def columns_of(text: str) -> frozenset[str]:
    """Names of the columns an accepted expression reads, as it writes them."""
    return frozenset(c.name for c in sqlglot.parse_one(text, dialect="duckdb").find_all(exp.Column))


def written(tree: exp.Expr) -> str:
    """The text kept of an expression: one spelling, no comments."""
    return tree.sql("duckdb", comments=False)


def _depth(text: str) -> int:
    depth = most = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        most = max(most, depth)
    return most


def _refusal(node: exp.Expr, known: dict[str, str]) -> str | None:
    """Why a node may not stand in an expression."""
    if isinstance(node, exp.Column):
        if len(node.parts) != 1 or isinstance(node.this, exp.Star):
            return f"{node.sql('duckdb')[:60]!r} is no column of this table"
        if node.name not in known and node.name.lower() not in known:
            return f"no column {node.name[:60]!r}"
        return None
    if isinstance(node, (exp.Cast, exp.TryCast)):
        to = node.to.sql("duckdb").upper()
        names = {"TEXT": "VARCHAR"}
        return None if names.get(to, to) in TYPES else f"a cast to {to[:40]} is not allowed, only to {', '.join(TYPES)}"
    if isinstance(node, exp.DataType):
        return None
    if isinstance(node, exp.Var):
        return None if node.name.upper() in UNITS else f"{node.name[:40]!r} is no unit of time"
    if isinstance(node, exp.In) and not all(_is_literal(v) for v in node.expressions or [node]):
        return "IN needs a list of literals"
    if isinstance(node, exp.Is) and not isinstance(node.expression, (exp.Null, exp.Boolean)):
        return "IS is for NULL, TRUE and FALSE"
    if isinstance(node, exp.Anonymous):
        return None if _date_part(node) else _function(node.name)
    return None if isinstance(node, _ALLOWED) else _named(node)


def _is_literal(node: exp.Expr) -> bool:
    return isinstance(node.this if isinstance(node, exp.Neg) else node, (exp.Literal, exp.Boolean, exp.Null))


def _date_part(node: exp.Anonymous) -> bool:
    args = node.expressions
    return (
        node.name.lower() in ("date_part", "datepart")
        and len(args) == 2
        and isinstance(args[0], exp.Literal)
        and args[0].name.upper() in UNITS
    )


def _function(name: str) -> str:
    return f"the function {name.lower()[:40]} is not allowed; there are {FUNCTIONS}"


def _named(node: exp.Expr) -> str:
    if isinstance(node, exp.Query):
        return "a subquery is not allowed in an expression"
    if isinstance(node, exp.Window):
        return "a window function is not allowed in an expression"
    if isinstance(node, exp.Lambda):
        return "a lambda is not allowed in an expression"
    if isinstance(node, exp.AggFunc):
        return f"{node.sql_name().lower()} looks at many rows; an expression looks at one"
    if isinstance(node, exp.Func):
        return _function(node.sql_name())
    return f"{node.key.upper()} is not allowed in an expression"


def _settled(node: exp.Expr, known: dict[str, str]) -> exp.Expr:
    """Columns by their own names; casts that give NULL instead of failing, for one value must not break the view."""
    if isinstance(node, exp.Column):
        return column(known.get(node.name) or known[node.name.lower()])
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        return exp.TryCast(this=node.this, to=node.to)
    if isinstance(node, exp.Anonymous):
        return exp.Extract(this=exp.var(node.expressions[0].name.upper()), expression=node.expressions[1])
    return node


def is_condition(tree: exp.Expr) -> bool:
    """Whether a parsed expression is true or false of a row."""
    kinds = (exp.Predicate, exp.Connector, exp.Not, exp.Contains, exp.StartsWith, exp.EndsWith)
    return isinstance(tree.unnest(), kinds)
