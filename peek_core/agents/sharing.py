"""Telling row-level queries from aggregates, for the sharing level `aggregates`.

Owns: that one question. Refuses to know: results.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp


def row_level(sql: str) -> bool:
    """True unless the outermost SELECT aggregates, groups or is a DESCRIBE. What can't be parsed is row level.

    >>> row_level("SELECT count(*) FROM t"), row_level("SELECT comment FROM t"), row_level("DESCRIBE t")
    (False, True, False)
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
    if tree.find(exp.ArrayAgg, exp.GroupConcat, exp.AnyValue, exp.First, exp.Last):
        return True  # these carry single cells out of an aggregate
    if tree.args.get("group"):
        return False
    return not all(s.find(exp.AggFunc) for s in selects) or any(s.find(exp.Window) for s in selects)
