"""SQL from a reading.

Owns: quoting, the rows a rule leaves, the answering query.
Refuses to know: how a question was parsed and what its result means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from peek_core.providers.builtin.reading import Filter, Measure, Reading, Rule

_GRAINS = {
    "day": "strftime({c}, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', {c}), '%Y-%m-%d')",
    "month": "strftime({c}, '%Y-%m')",
    "quarter": "concat(year({c}), '-Q', quarter({c}))",
    "year": "strftime({c}, '%Y')",
    "weekday": "dayname({c})",
}
_FUNCTIONS = {
    "avg": "avg({c})",
    "median": "median({c})",
    "sum": "sum({c})",
    "min": "min({c})",
    "max": "max({c})",
    "distinct": "count(DISTINCT {c})",
}


MOVES = ("row_exclusion", "sentinel", "spelling_fold", "unit")
"""Kinds of definition that can move a figure; while one is only proposed, the figure with it is said too."""


def ident(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A SQL literal of a plain value."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return (
        str(value) if isinstance(value, (int, float)) else "'" + str(value).replace("\0", "").replace("'", "''") + "'"
    )


def many(values: Iterable[Any]) -> str:
    return "(" + ", ".join(literal(v) for v in values) + ")"


def condition(f: Filter) -> str:
    """A filter as a SQL condition."""
    c = ident(f.column)
    if f.op in ("in", "not in"):
        return f"{c} IN {many(f.values)}" if f.op == "in" else f"({c} IS NULL OR {c} NOT IN {many(f.values)})"
    if f.op == "between":
        return f"{c} BETWEEN {literal(f.values[0])} AND {literal(f.values[1])}"
    if f.op == "contains":
        return f"contains(lower({c}), lower({literal(f.values[0])}))"
    return f"{c} IS {f.op.upper()}" if "null" in f.op else f"{c} {f.op} {literal(f.values[0])}"


def _all(filters: Iterable[Filter]) -> str:
    return " AND ".join(condition(f) for f in filters) or "TRUE"


def source(table: str, rules: Sequence[Rule]) -> str:
    """The rows that the rules leave: the table itself, or a subquery over it."""
    where: list[str] = []
    columns: dict[str, str] = {}
    for rule in rules:
        kind, name = rule["kind"], str(rule.get("column", ""))
        c = columns.get(name, ident(name))
        if kind == "row_exclusion" and rule.get("expression"):
            where.append(f"NOT COALESCE({rule['expression']}, FALSE)")
        elif kind == "row_exclusion":
            where.append(condition(Filter(name, "not in", tuple(rule["values"]))))
        elif kind == "unit":
            columns[name] = f"{c} * {literal(rule['factor'])}"
        elif kind == "sentinel":
            columns[name] = f"CASE WHEN {ident(name)} IN {many(rule['values'])} THEN NULL ELSE {c} END"
        elif kind in ("spelling_fold", "code_label"):
            cases = " ".join(f"WHEN {literal(k)} THEN {literal(v)}" for k, v in rule["mapping"].items())
            columns[name] = f"CASE {ident(name)} {cases} ELSE {c} END"
    if not where and not columns:
        return ident(table)
    star = "* REPLACE (" + ", ".join(f"{e} AS {ident(n)}" for n, e in columns.items()) + ")" if columns else "*"
    return f"(SELECT {star} FROM {ident(table)}{' WHERE ' + ' AND '.join(where) if where else ''}) AS t"


def where(r: Reading) -> str:
    """The reading's conditions, period included; empty for none."""
    parts = [condition(f) for f in r.filters]
    if r.period:
        edges = ((">=", r.period.start), ("<", r.period.end))
        parts += [f"{ident(r.time)} {op} DATE {literal(day)}" for op, day in edges if day]
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def answered(m: Measure) -> str:
    """Condition for the rows a share or score is of: those that answered the columns its parts look at."""
    asked = {f.column: "" for f in (*m.part, *m.minus) if "null" not in f.op and f.op != "contains"}
    return " AND ".join(f"{ident(c)} IS NOT NULL" for c in asked) or "TRUE"


def _value(m: Measure) -> str:
    if m.kind in ("share", "score"):
        part = f"count(*) FILTER (WHERE {_all(m.part)})"
        part = f"({part} - count(*) FILTER (WHERE {_all(m.minus)}))" if m.kind == "score" else part
        return f"100.0 * {part} / nullif(count(*) FILTER (WHERE {answered(m)}), 0)"
    return _FUNCTIONS[m.kind].format(c=ident(m.column)) if m.kind in _FUNCTIONS else "count(*)"


def name(m: Measure) -> str:
    """What a person calls the figure; heads its column."""
    return {"count": "rows", "share": "percent", "score": "score"}.get(m.kind) or f"{m.kind}_{m.column}"


def _base(m: Measure) -> str:
    """The columns beside an ungrouped figure that say what it was worked out from; read back by `facts`."""
    if m.kind == "count":
        return ""
    if m.kind == "distinct":
        return ", count(*) AS rows"
    if m.kind in ("share", "score"):
        base = f", count(*) FILTER (WHERE {answered(m)}) AS answered, count(*) AS rows"
        return base + (_share_base(m) if m.kind == "share" else "")
    c = ident(m.column)
    return f", count({c}) AS counted, count(*) AS rows, count(*) - count({c}) AS missing"


def _share_base(m: Measure) -> str:
    part = f"count(*) FILTER (WHERE {_all(m.part)})"
    return f", {part} AS matching, 100.0 * {part} / nullif(count(*), 0) AS percent_of_all"


def facts(m: Measure, row: Sequence[Any]) -> tuple[Any, int, int, int]:
    """(figure, rows with an answer, all rows, rows in the part) of an ungrouped result."""
    if m.kind == "count":
        return row[0], row[0], row[0], row[0]
    if m.kind == "distinct":
        return row[0], row[1], row[1], row[1]
    return row[0], row[1], row[2], row[3] if len(row) > 3 else row[1]


def answer_sql(r: Reading, rules: Sequence[Rule]) -> str:
    """The query that answers the reading; ungrouped results are read by `facts`."""
    m, rows = r.measure, f" FROM {source(r.table, rules)}{where(r)}"
    if m.kind == "list":
        return f"SELECT *{rows}"
    if m.kind == "outliers":
        c = ident(m.column)
        fence = f"(SELECT quantile_cont({c}, 0.25) AS a, quantile_cont({c}, 0.75) AS b{rows})"
        return (
            f"SELECT t.* FROM (SELECT *{rows}) AS t, {fence} AS q WHERE {c} < a - 1.5 * (b - a) OR "
            f"{c} > b + 1.5 * (b - a) ORDER BY {c}"
        )
    if not r.groups:
        return f"SELECT {_value(m)} AS {ident(name(m))}{_base(m)}{rows}"
    keys = [(_GRAINS[grain].format(c=ident(c)) if grain else ident(c), grain or c) for c, grain in r.groups]
    if m.kind != "count":  # a group without a name has no average to speak of; counts keep it
        more = " AND ".join(f"{ident(c)} IS NOT NULL" for c, _ in r.groups)
        rows += f"{' AND ' if where(r) else ' WHERE '}{more}"
    names = ", ".join(str(i + 1) for i in range(len(keys)))
    value = len(keys) + 1
    order = {"asc": f"{value} ASC, 1", "desc": f"{value} DESC, 1"}.get(r.order) or (
        f"{value} DESC, 1" if len(keys) == 1 else names
    )
    if r.order in ("oldest", "newest"):
        parts = f"list_transform(string_split({keys[0][0]}::VARCHAR, '.'), lambda x: TRY_CAST(x AS BIGINT))"
        order = f"{parts} {'ASC' if r.order == 'oldest' else 'DESC'}, 1"
    elif not r.order and r.groups[0][1]:
        order = f"min(isodow({ident(r.groups[0][0])}))" if r.groups[0][1] == "weekday" else names
    head = ", ".join(f"{e} AS {ident(n)}" for e, n in keys)
    limit = f" LIMIT {r.limit}" if r.limit else ""
    if m.kind == "values":
        return f"SELECT {head}{rows} GROUP BY 1 ORDER BY 1"
    have = f" HAVING count({ident(m.column)}) > 0" if m.column else ""
    return f"SELECT {head}, {_value(m)} AS {ident(name(m))}{rows} GROUP BY {names}{have} ORDER BY {order}{limit}"


def missing_sql(table: str, columns: Iterable[str]) -> str:
    """Missing values of every column."""
    each = (
        f"SELECT {literal(c)} AS column_name, count(*) - count({ident(c)}) AS missing FROM {ident(table)}"
        for c in columns
    )
    return " UNION ALL ".join(each) + " ORDER BY 2 DESC, 1"


def total_sql(r: Reading, rules: Sequence[Rule]) -> str:
    """The reading without its groups: what the groups are parts of."""
    return answer_sql(replace(r, groups=(), order="", limit=None), rules)
