"""Telling row-level queries from aggregates, and harmless SQL errors from ones that quote a cell.

Owns: these two questions, for the sharing levels below sample rows. Refuses to know: results.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

_KIND = re.compile(r"([A-Z][A-Za-z ]{2,40}(?:Error|Exception)):")
_ABOUT_THE_TEXT = frozenset({"Parser Error", "Syntax Error", "Binder Error", "Catalog Error"})
_NAMES_FROM_CELLS = re.compile(r"\bpivot|\bscratch\b", re.I)


def row_level(sql: str) -> bool:
    """True unless the outermost SELECT aggregates, groups or is a DESCRIBE. What can't be parsed is row level.

    >>> row_level("SELECT count(*) FROM t"), row_level("SELECT comment FROM t"), row_level("DESCRIBE t")
    (False, True, False)
    >>> row_level("SELECT count(*) || (SELECT comment FROM t LIMIT 1) FROM t"), row_level("SELECT max(COLUMNS(*)) FROM t")
    (True, True)
    """
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return True
    if isinstance(tree, exp.Describe):
        return False
    if isinstance(tree, (exp.Create, exp.Drop, exp.Insert)):
        return False
    selects = list(tree.selects) if isinstance(tree, exp.Select) else []
    if not isinstance(tree, exp.Select):
        return True
    if tree.find(exp.ArrayAgg, exp.GroupConcat, exp.AnyValue, exp.First, exp.Last, exp.ArgMax, exp.ArgMin):
        return True  # these carry single cells out of an aggregate
    if any(s.find(exp.Columns) for s in selects):
        return True  # names of a pivoted table are cells
    if any(row_level(q.this.sql(dialect="duckdb")) for s in selects for q in s.find_all(exp.Subquery)):
        return True
    if tree.args.get("group"):
        return False
    return not all(s.find(exp.AggFunc) for s in selects) or any(s.find(exp.Window) for s in selects)


def without_cells(error: str, sql: str) -> str:
    """A SQL error as it may leave where rows may not: whole when it is about the query's text, else its kind.

    >>> without_cells("Conversion Error: Could not convert string 'Ann Lee' to INT32", "SELECT sum(name::INT) FROM t")
    'Conversion Error: the rest may quote a cell and is withheld at this sharing level'
    """
    kind = _KIND.match(error)
    if kind is None or (kind[1] in _ABOUT_THE_TEXT and not _NAMES_FROM_CELLS.search(sql)):
        return error
    return f"{kind[1]}: the rest may quote a cell and is withheld at this sharing level"
