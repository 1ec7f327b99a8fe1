"""What the definitions did to one answer: which touched its query, and the figure without them.

Owns: rewriting a query to the raw tables. Refuses to know: how views are built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from peek_core.context_map.definitions import Definition
from peek_core.errors import PeekError
from peek_core.ports import CancelToken, RunQuery


def tables_of(sql: str, known: Sequence[str]) -> set[str]:
    """Dataset tables a query reads through the view (not raw.main.…, not its own CTEs). Empty if it can't be parsed."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return set()
    ctes = {c.alias_or_name.lower() for c in tree.find_all(exp.CTE)}
    return {
        t.name for t in tree.find_all(exp.Table) if not t.catalog and t.name.lower() not in ctes and t.name in known
    }


def on_raw(sql: str, known: Sequence[str]) -> str | None:
    """The same query on the raw tables, None when it can't be rewritten."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return None
    ctes = {c.alias_or_name.lower() for c in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if not table.catalog and table.name in known and table.name.lower() not in ctes:
            qualified = exp.table_(table.this.copy(), db="main", catalog="raw", alias=table.alias or table.name)
            table.replace(qualified)
    return tree.sql("duckdb")


def counterparts(
    sql: str,
    active: Sequence[Definition],
    columns: Mapping[str, Mapping[str, str]],
    query: RunQuery,
    cancel: CancelToken,
) -> tuple[list[dict[str, Any]], str | None]:
    """(definitions that touched the query with what they moved, the one-cell figure without them or None)."""
    read = tables_of(sql, list(columns))
    touched = [
        {
            "id": d.id,
            "name": d.name,
            "kind": d.kind,
            "rows_moved": (d.effect.get("rows_before", 0) - d.effect.get("rows_after", 0)) if d.effect else None,
            "values_changed": d.effect.get("values_changed") if d.effect else None,
        }
        for d in active
        if d.table in read and (d.kind == "row_exclusion" or d.column in sql)
    ]
    if not touched or cancel.cancelled:
        return touched, None
    raw = on_raw(sql, list(columns))
    if raw is None:
        return touched, None
    try:
        table = query(raw)
    except PeekError:
        return touched, None
    if table.row_count == 1 and len(table.columns) == 1 and isinstance(table.rows[0][0], (int, float)):
        value = table.rows[0][0]
        return touched, f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return touched, None
