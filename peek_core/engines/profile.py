"""DuckDB's profile of a statement, reduced to what a person reads.

Owns: the compact tree. Refuses to know: how the statement was run. It is the profile of the real run: nothing here
runs a query.

A node is `{type, name, self_ms, rows, rows_scanned, row_groups, row_groups_total, estimate, detail, children}`; what
DuckDB does not tell is None. Times are summed over threads, so together they can exceed the time that passed. Bounded:
nodes by MAX_NODES, the text of a node by MAX_DETAIL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_NODES = 200
MAX_DETAIL = 1_200
"""Characters of text kept of one operator; what tells most comes first."""
_DETAIL = (
    "Table", "Function", "Type", "Join Type", "Top", "Limit", "Offset", "CTE Name", "Filters", "Expression", "Conditions",
    "Condition", "Dynamic Filters", "Groups", "Aggregates", "Order By", "Projections",
)  # fmt: skip


def compact(text: str, sql: str | None) -> dict[str, Any] | None:
    """The tree of `get_profiling_information(format='json')`, or None.

    None when DuckDB has none (metadata-only queries say `{"result": "error"}`) or when the profile is an earlier
    statement's: its text is compared with `sql`, unless that is None. Times in milliseconds.
    """
    try:
        whole = json.loads(text)
    except ValueError:
        return None
    query = whole.get("query") if isinstance(whole, dict) else None
    if not isinstance(query, dict):
        return None
    if sql is not None and str(query.get("sql", "")).strip() != sql.strip():
        return None
    roots = whole.get("operator") or []
    if not roots:
        return None
    left = [MAX_NODES]
    # The collector that hands the result to the client counts no rows and tells nothing.
    root = roots[0]
    while root.get("type") == "RESULT_COLLECTOR" and len(root.get("children") or []) == 1:
        root = root["children"][0]
    tree = _node(root, left)
    return {
        "total_ms": _ms(query.get("total_time")),
        "rows_scanned": query.get("total_rows_scanned"),
        "peak_memory_bytes": (whole.get("system") or {}).get("peak_buffer_memory"),
        "left_out": _size(root) - (MAX_NODES - left[0]),
        "tree": tree,
    }


def _size(root: Mapping[str, Any]) -> int:
    """Operators of the whole plan."""
    n, stack = 0, [root]
    while stack:
        n += 1
        stack.extend(stack.pop().get("children") or [])
    return n


def _node(raw: Mapping[str, Any], left: list[int]) -> dict[str, Any]:
    left[0] -= 1
    extra = raw.get("extra_info") or {}
    children = []
    for child in raw.get("children") or []:
        if left[0] <= 0:
            break
        children.append(_node(child, left))
    return {
        "type": raw.get("type"),
        "name": raw.get("name"),
        "self_ms": _ms(raw.get("timing")),
        "rows": raw.get("intermediate_rows"),
        "rows_scanned": raw.get("rows_scanned"),
        "row_groups": raw.get("row_groups_scanned"),
        "row_groups_total": raw.get("total_row_groups_to_scan"),
        "estimate": _number(extra.get("Estimated Cardinality")),
        "detail": _detail(extra),
        "children": children,
    }


def _ms(seconds: Any) -> float | None:
    return round(float(seconds) * 1000, 3) if isinstance(seconds, (int, float)) else None


def _number(text: Any) -> int | None:
    digits = str(text or "").lstrip("~").strip()
    return int(digits) if digits.isdigit() else None


def _detail(extra: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    room = MAX_DETAIL
    for key in _DETAIL:
        if key in extra and room > 0:
            kept[key], room = _short(extra[key], room)
    return kept


def _short(value: Any, room: int) -> tuple[Any, int]:
    """(text or list of texts within `room` characters, the room left)."""
    if not isinstance(value, list):
        text = _cut(str(value), min(300, room))
        return text, room - len(text)
    texts: list[str] = []
    for each in value[:20]:
        if room <= 0:
            break
        texts.append(_cut(str(each), min(300, room)))
        room -= len(texts[-1])
    return texts, room


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - 3)] + "..."
