"""DuckDB's profile of a statement, reduced to what a person reads.

Owns: the compact tree. Refuses to know: how the statement was run. It is the profile of the real run: nothing here
runs a query.

A node is `{type, name, self_ms, rows, estimate, detail, children}`; `rows` and `estimate` are None where unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_NODES = 200
_DETAIL = (
    "Table", "Function", "Type", "Filters", "Expression", "Conditions", "Join Type", "Groups", "Aggregates", "Order By",
    "Top", "Projections",
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
        "tree": tree,
    }


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
        "estimate": _number(extra.get("Estimated Cardinality")),
        "detail": {key: _short(extra[key]) for key in _DETAIL if key in extra},
        "children": children,
    }


def _ms(seconds: Any) -> float | None:
    return round(float(seconds) * 1000, 3) if isinstance(seconds, (int, float)) else None


def _number(text: Any) -> int | None:
    digits = str(text or "").lstrip("~").strip()
    return int(digits) if digits.isdigit() else None


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(v) for v in value[:20]]
    text = str(value)
    return text if len(text) <= 300 else text[:297] + "..."
