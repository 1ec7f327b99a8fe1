"""What the definitions did to one answer: which touched its query, which it went around, the figure without them.

Owns: reading a query with sqlglot and rewriting it to the raw tables. Refuses to know: how views are built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from peek_core.context_map.definitions import ADDED, Definition, used_by
from peek_core.errors import PeekError
from peek_core.ports import CancelToken, RunQuery

Tables = Mapping[str, Mapping[str, str]]
"""Table -> column -> type, as read."""
Place = Literal["view", "raw", "elsewhere"]


@dataclass
class Reads:
    """What a query reads of the dataset's tables: table -> columns, in lower case; None stands for all of them."""

    view: dict[str, set[str] | None] = field(default_factory=dict)
    raw: dict[str, set[str] | None] = field(default_factory=dict)

    def add(self, place: Place, table: str, columns: set[str] | None) -> None:
        if place != "elsewhere":
            at = self.view if place == "view" else self.raw
            held = at.get(table, set())
            at[table] = None if columns is None or held is None else held | columns


def reads(sql: str, tables: Tables, active: Sequence[Definition], earlier: Sequence[str] = ()) -> Reads:
    """What a query reads, through its scratch tables too: `earlier` are the statements of the run before it."""
    found = Reads()
    wanted, done = [sql], set[str]()
    while wanted:
        text = wanted.pop()
        if text in done:
            continue
        done.add(text)
        tree = _parsed(text)
        if tree is not None:
            scratch = _read(tree, tables, active, found)
            wanted += [s for s in earlier if _makes(s) in scratch]
    return found


def _parsed(sql: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(sql, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None


def _makes(sql: str) -> str | None:
    """The table or view a statement creates, in lower case."""
    tree = _parsed(sql) if "create" in sql.lower() else None
    made = tree.find(exp.Table) if isinstance(tree, exp.Create) else None
    return made.name.lower() if made is not None else None


def _place(table: exp.Table) -> Place:
    """Where a table of a statement lies: `raw.main.t` and `raw.t` are the tables as read; a bare name is the view's."""
    where = [p.name.lower() for p in table.parts[:-1]]
    if where in (["raw", "main"], ["raw"]):
        return "raw"
    return "view" if where in ([], ["main"], ["cur", "main"], ["cur"]) else "elsewhere"


def _own(tree: exp.Expr, tables: Tables) -> list[exp.Table]:
    """The dataset's tables in a statement, under the names they are known by; its own CTEs are none of them."""
    ctes = {c.alias_or_name.lower() for c in tree.find_all(exp.CTE)}
    names = {t.lower() for t in tables}
    return [
        t
        for t in tree.find_all(exp.Table)
        if t.name.lower() in names and (t.db or t.name.lower() not in ctes) and _place(t) != "elsewhere"
    ]


def _read(tree: exp.Expr, tables: Tables, active: Sequence[Definition], found: Reads) -> set[str]:
    """Adds what one statement reads; returns the names of the scratch tables it reads."""
    scratch = {t.name.lower() for t in tree.find_all(exp.Table) if _place(t) == "elsewhere"}
    body = tree.expression if isinstance(tree, exp.Create) and tree.expression is not None else tree
    own = _own(body, tables)
    for table in own:
        found.add(_place(table), table.name.lower(), set())
    columns = _columns(body.copy(), tables, active) if isinstance(body, exp.Query) else None
    for table in own:
        key = (_place(table), table.name.lower())
        # What can't be told apart counts as read whole: better one definition too many is named than one too few.
        found.add(*key, None if columns is None else columns.get(key, set()))
    return scratch


def _columns(
    query: exp.Expr, tables: Tables, active: Sequence[Definition]
) -> dict[tuple[Place, str], set[str] | None] | None:
    """(place, table) -> columns read, by qualifying the query with the schema; None when it can't be qualified."""
    made = {t: {d.new_column: "VARCHAR" for d in active if d.table == t and d.kind in ADDED} for t in tables}
    schema = {"cur": {"main": {t: {**c, **made[t]} for t, c in tables.items()}}, "raw": {"main": dict(tables)}}
    for table in _own(query, tables):
        table.set("catalog", exp.to_identifier("raw" if _place(table) == "raw" else "cur"))
        table.set("db", exp.to_identifier("main"))
    try:
        qualified = qualify(query, dialect="duckdb", schema=schema, validate_qualify_columns=False)
        scopes = traverse_scope(qualified)
    except Exception:
        # The optimizer raises what it likes for what it does not know; then nothing is known here either.
        return None
    found: dict[tuple[Place, str], set[str] | None] = {}
    for scope in scopes:
        for source, names in _of_scope(scope):
            key = (_place(source), source.name.lower())
            held = found.get(key, set())
            found[key] = None if names is None or held is None else held | names
    return found


def _of_scope(scope: Scope) -> list[tuple[exp.Table, set[str] | None]]:
    sources = {n: s for n, s in scope.sources.items() if isinstance(s, exp.Table)}
    stars = [s for s in scope.find_all(exp.Star, exp.Columns, exp.Pivot) if not isinstance(s.parent, exp.Count)]
    if stars:
        return [(s, None) for s in sources.values()]
    return [(s, {c.name.lower() for c in scope.columns if c.table in (n, "")}) for n, s in sources.items()]


def on_raw(sql: str, tables: Tables) -> str | None:
    """The same query on the raw tables, None when it can't be rewritten."""
    tree = _parsed(sql)
    if tree is None:
        return None
    for table in _own(tree, tables):
        table.replace(exp.table_(table.this.copy(), db="main", catalog="raw", alias=table.alias or table.name))
    return tree.sql("duckdb")


def touched(read: Reads, active: Sequence[Definition]) -> list[Definition]:
    """The definitions that shaped what was read through the view."""
    return [d for d in active if d.table.lower() in read.view and _shapes(d, read.view[d.table.lower()], active)]


def gone_around(read: Reads, active: Sequence[Definition]) -> list[Definition]:
    """The definitions that would have shaped what was read from the raw tables instead."""
    raw = [d for d in active if d.table.lower() in read.raw and d.kind not in ADDED]
    return [d for d in raw if _shapes(d, read.raw[d.table.lower()], ())]


def _shapes(d: Definition, columns: set[str] | None, active: Sequence[Definition]) -> bool:
    if d.kind == "row_exclusion" or columns is None:
        return True
    # A column that is made shows what its own columns became.
    made = [o for o in active if o.kind in ADDED and o.table == d.table and o.new_column in columns]
    return d.shown.lower() in columns or any(d.column in used_by(o) for o in made)


def as_summary(d: Definition, version: int) -> dict[str, Any]:
    """What an answer says of a definition that touched it; counted once, when it was measured on this version."""
    effect = d.effect if d.effect.get("version", version) == version else {}
    moved = effect["rows_before"] - effect["rows_after"] if "rows_before" in effect else None
    changed = effect.get("values_changed")
    return {"id": d.id, "name": d.name, "kind": d.kind, "rows_moved": moved, "values_changed": changed}


def without_them(sql: str, tables: Tables, query: RunQuery, cancel: CancelToken) -> str | None:
    """The one-cell figure of the same query on the raw tables, None where there is none."""
    raw = None if cancel.cancelled else on_raw(sql, tables)
    if raw is None:
        return None
    try:
        table = query(raw)
    except PeekError:
        return None
    if table.row_count == 1 and len(table.columns) == 1 and isinstance(table.rows[0][0], (int, float)):
        value = table.rows[0][0]
        return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return None
