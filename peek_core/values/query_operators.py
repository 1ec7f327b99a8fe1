"""The operators of a query plan as one run left them: time, rows, and what the planner had expected.

Owns: reading the profile a query record carries into a flat, frozen list, and telling a wrong estimate from one that
was never put to the test. Refuses to know: engines, SQL text, pages, and what should be done about a plan.

The profile was stored with the run and may be of an older release: what it lacks is None, never 0. Operator names and
details are SQL and literals of the dataset; whoever draws them escapes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from peek_core.values.canon import clean_text

Kind = Literal[
    "scan", "filter", "project", "join", "aggregate", "sort", "top", "window", "limit", "union", "cte", "other"
]
Untested = Literal["", "limit", "runtime", "asked", "loop"]
"""Why an estimate says nothing of the planner. Too high: a LIMIT or an empty join stopped the operator early (`limit`),
or a filter made while the query ran took rows away (`runtime`). Too low: DuckDB wrote the LIMIT's number here (`asked`).
Either: the operator ran several times, in a recursion (`loop`)."""

_KINDS: dict[str, Kind] = {
    "TABLE_SCAN": "scan", "FILTER": "filter", "PROJECTION": "project", "ORDER_BY": "sort", "TOP_N": "top",
    "WINDOW": "window", "LIMIT": "limit", "STREAMING_LIMIT": "limit", "LIMIT_PERCENT": "limit", "UNION": "union",
    "CTE": "cte", "CROSS_PRODUCT": "join",
}  # fmt: skip
_UNCOUNTED = {"UNION", "CTE", "RECURSIVE_CTE_SCAN", "LEFT_DELIM_JOIN", "RIGHT_DELIM_JOIN"}
"""DuckDB writes 0 rows at these whatever passed through."""
_BREAKERS: frozenset[Kind] = frozenset({"aggregate", "sort", "top", "window", "cte"})
"""Operators that take in everything before they give anything: a LIMIT above does not reach below them."""
OFF = 10.0
"""From this factor on an estimate is called wrong. DuckDB takes one row in five for every condition it knows nothing of,
so a factor of five is its everyday; ten is the smallest at which it would often have planned otherwise."""
OFF_ROWS = 1_000
"""And by at least this many rows: two rows for one expected is a factor too, and no matter."""


@dataclass(frozen=True)
class Operator:
    """One operator. Times are milliseconds summed over threads."""

    at: int
    """Place in the plan, depth first; the root is 0."""
    parent: int | None
    depth: int
    name: str
    kind: Kind
    self_ms: float | None
    total_ms: float | None
    """This operator and everything below it; None where no time is known."""
    share: float | None
    """Of the time all operators took themselves, 0 to 1."""
    rows: int | None
    estimate: int | None
    rows_scanned: int | None
    """Rows read from a table, before its filters."""
    row_groups: int | None
    row_groups_total: int | None
    detail: tuple[tuple[str, tuple[str, ...]], ...] = ()
    untested: Untested = ""

    def said(self, key: str) -> tuple[str, ...]:
        """The values DuckDB gave under `key`, empty where there are none."""
        return next((values for name, values in self.detail if name == key), ())

    @property
    def filters(self) -> tuple[str, ...]:
        """Conditions of the query itself; those found while it ran (`optional:`) are not among them."""
        return tuple(f for f in (*self.said("Filters"), *self.said("Expression")) if f and not _found_running(f))

    @property
    def about(self) -> str:
        """What the operator works on, in one line."""
        parts = _ABOUT.get(self.kind, ())
        said = [(label, self.filters if key == "Filters" else self.said(key)) for key, label in parts]
        texts = [label + ", ".join(values) for label, values in said if any(values)]
        return one_line("; ".join(texts), 200)

    @property
    def off(self) -> float | None:
        """Rows over estimate, both taken as at least one; None where either is unknown."""
        if self.rows is None or self.estimate is None:
            return None
        return max(self.rows, 1) / max(self.estimate, 1)

    @property
    def misjudged(self) -> bool:
        """Whether the planner was wrong by OFF and OFF_ROWS, where that can be said at all."""
        if self.off is None or self.rows is None or self.estimate is None or self.proves_nothing:
            return False
        return max(self.off, 1 / self.off) >= OFF and abs(self.rows - self.estimate) >= OFF_ROWS

    @property
    def proves_nothing(self) -> bool:
        """Whether the estimate, off as it looks, was never put to the test."""
        high = self.off is not None and self.off < 1
        return {"": False, "limit": high, "runtime": high, "asked": not high, "loop": True}[self.untested]


_ABOUT: dict[Kind, tuple[tuple[str, str], ...]] = {
    "scan": (("Table", ""), ("Function", ""), ("Filters", "filter "), ("Projections", "columns ")),
    "filter": (("Expression", ""),),
    "project": (("Projections", ""),),
    "join": (("Join Type", ""), ("Conditions", "on "), ("Condition", "on ")),
    "aggregate": (("Groups", "by "), ("Aggregates", "")),
    "sort": (("Order By", "by "),),
    "top": (("Top", "first "), ("Order By", "by ")),
    "window": (("Projections", ""),),
    "limit": (("Limit", "first "), ("Offset", "after ")),
    "cte": (("CTE Name", ""),),
    "other": (("CTE Name", ""), ("Table", ""), ("Function", ""), ("Projections", "")),
}


@dataclass(frozen=True)
class QueryPlan:
    """The plan of one run, depth first, never empty."""

    operators: tuple[Operator, ...]
    operator_ms: float | None
    """Time of all operators, summed over threads; None where no time is known."""
    rows_scanned: int | None
    peak_memory_bytes: int | None
    left_out: int = 0
    """Operators the profile was too large to keep."""

    def children(self, of: Operator) -> tuple[Operator, ...]:
        return tuple(o for o in self.operators if o.parent == of.at)

    def above(self, of: Operator) -> tuple[Operator, ...]:
        """The operators that take its rows, nearest first."""
        found = []
        at = of.parent
        while at is not None:
            found.append(self.operators[at])
            at = self.operators[at].parent
        return tuple(found)


def read_plan(profile: Mapping[str, Any] | None) -> QueryPlan | None:
    """The plan in a query record's profile; None where there is no profile or no operator in it."""
    tree = (profile or {}).get("tree")
    if profile is None or not isinstance(tree, Mapping):
        return None
    raw = _flat(tree)
    if not raw:
        return None
    times = [_time(node.get("self_ms")) for node, _, _ in raw]
    totals = _totals([parent for _, parent, _ in raw], times)
    spent = totals[0]
    operators = [
        Operator(
            at=at,
            parent=parent,
            depth=depth,
            name=one_line(str(node.get("name") or node.get("type")), 60),
            kind=_kind(node),
            self_ms=times[at],
            total_ms=totals[at],
            share=time / spent if spent and (time := times[at]) is not None else None,
            rows=_rows(node),
            estimate=_count(node.get("estimate")),
            rows_scanned=_scanned(node),
            row_groups=_count(node.get("row_groups")),
            row_groups_total=_count(node.get("row_groups_total")),
            detail=_detail(node.get("detail")),
        )
        for at, (node, parent, depth) in enumerate(raw)
    ]
    return QueryPlan(
        tuple(_with_untested(operators)),
        spent,
        _count(profile.get("rows_scanned")),
        _count(profile.get("peak_memory_bytes")),
        _count(profile.get("left_out")) or 0,
    )


def one_line(text: str, most: int) -> str:
    """Text of a plan on one line, without control characters, at most `most` long."""
    text = " ".join(clean_text(text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _flat(tree: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int | None, int]]:
    """(node, place of its parent, depth) depth first; a node without a name stands for nothing and is passed over."""
    found: list[tuple[Mapping[str, Any], int | None, int]] = []
    stack: list[tuple[Any, int | None, int]] = [(tree, None, 0)]
    while stack:
        node, parent, depth = stack.pop()
        if not isinstance(node, Mapping):
            continue
        if node.get("name") or node.get("type"):
            found.append((node, parent, depth))
            parent, depth = len(found) - 1, depth + 1
        children = node.get("children")
        stack.extend((c, parent, depth) for c in reversed(children if isinstance(children, Sequence) else ()))
    # A nameless root over several operators would leave a forest; the rest of this module wants one root.
    return found if sum(parent is None for _, parent, _ in found) == 1 else []


def _totals(parents: Sequence[int | None], times: Sequence[float | None]) -> list[float | None]:
    totals = list(times)
    for at in range(len(totals) - 1, 0, -1):
        parent, below = parents[at], totals[at]
        if parent is not None and below is not None:
            # Rounded to what the profile holds, so that equal sums are equal numbers.
            totals[parent] = round((totals[parent] or 0.0) + below, 3)
    return totals


def _kind(node: Mapping[str, Any]) -> Kind:
    for name in (str(node.get("type")), str(node.get("name"))):
        if name in _KINDS:
            return _KINDS[name]
        if name.endswith("_JOIN"):
            return "join"
        if name.endswith(("GROUP_BY", "AGGREGATE")):
            return "aggregate"
    return "other"


def _rows(node: Mapping[str, Any]) -> int | None:
    rows = _count(node.get("rows"))
    return None if rows == 0 and str(node.get("type")) in _UNCOUNTED else rows


def _scanned(node: Mapping[str, Any]) -> int | None:
    """Rows read; a table function says 0 and gives rows all the same, which is 'not counted'."""
    scanned = _count(node.get("rows_scanned"))
    return None if scanned == 0 and _count(node.get("rows")) else scanned


def _count(value: Any) -> int | None:
    number = _time(value)
    return None if number is None else int(value)


def _time(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
    return float(value) if known else None


def _detail(raw: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(raw, Mapping):
        return ()
    return tuple(
        (str(key), tuple(one_line(str(v), 300) for v in (value if isinstance(value, (list, tuple)) else [value])))
        for key, value in raw.items()
    )


def _found_running(condition: str) -> bool:
    return condition.lstrip("( ").startswith("optional:")


def _with_untested(operators: Sequence[Operator]) -> list[Operator]:
    """The operators with the reason why too high an estimate proves nothing, where there is one."""
    children: list[list[int]] = [[] for _ in operators]
    for o in operators:
        if o.parent is not None:
            children[o.parent].append(o.at)
    why: list[Untested] = [""] * len(operators)
    for o in operators:  # parents come before their children
        if o.kind == "limit":
            why[o.at] = why[o.at] or "limit"
        for n, child in enumerate(children[o.at]):
            below = [operators[c] for c in children[o.at]]
            why[child] = _asked(o, why[o.at], below[n]) or _from_above(o, why[o.at], n, below)
    for o in reversed(operators):  # and here after them
        narrowed = o.said("Dynamic Filters") or any(_found_running(f) for f in o.said("Filters"))
        if not why[o.at] and narrowed:
            why[o.at] = "runtime"
        inherited = next((why[c] for c in children[o.at] if why[c] != "" and _explains(operators[c], o)), None)
        if not why[o.at] and inherited:
            why[o.at] = inherited
    return [replace(o, untested=w) for o, w in zip(operators, why, strict=True)]


def _asked(o: Operator, why: Untested, child: Operator) -> Untested:
    """`asked` where the child's estimate is how many rows `o` was asked for."""
    if o.kind == "project" and why == "asked":
        return "asked"
    takes_few = o.kind in ("limit", "top") or o.name.endswith("_SAMPLE")
    if not takes_few or child.rows is None or child.estimate is None or o.estimate is None:
        return ""
    return "asked" if child.estimate <= o.estimate < child.rows else ""


def _from_above(o: Operator, why: Untested, n: int, children: Sequence[Operator]) -> Untested:
    """What the `n`-th child of `o` is subject to."""
    if why == "asked":
        why = ""
    if why == "loop" or o.name in ("RECURSIVE_CTE", "REC_CTE"):
        return "loop"
    if o.kind == "join":
        # The second side is read whole before the first begins; if it is empty the first is hardly read at all.
        first = n == 0
        return "limit" if first and (why == "limit" or (len(children) > 1 and children[1].rows == 0)) else ""
    if o.kind == "cte":
        return why if n == len(children) - 1 else ""
    return "limit" if o.kind == "limit" or (why == "limit" and o.kind not in _BREAKERS) else ""


def _explains(child: Operator, o: Operator) -> bool:
    """Whether `o` got fewer rows than expected because its child did."""
    return child.off is not None and o.off is not None and child.off < 1 and o.off < 1 and o.off * OFF > child.off
