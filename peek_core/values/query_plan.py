"""A query's plan as it ran: what a page and a terminal say of it.

Owns: the text form, byte-stable for one stored profile, and the sentence for a query without one. Refuses to know:
engines and screens. The profile is of the run itself; nothing here could run a query again.

In the text, times are shares: they say where the time went, and change less from run to run than milliseconds do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from peek_core.values.query_findings import NOTHING_UNUSUAL, Finding, called, findings, times_off
from peek_core.values.query_operators import Operator, QueryPlan, one_line, read_plan

__all__ = [
    "MOST_FINDINGS",
    "NOTHING_UNUSUAL",
    "NO_PROFILE",
    "Finding",
    "Operator",
    "QueryPlan",
    "called",
    "findings",
    "number",
    "plan_text",
    "read_plan",
    "times_off",
]

NO_PROFILE = (
    "There is no profile of this query: DuckDB gives none for what it answers from metadata (a count of a whole table, "
    "DESCRIBE), and none where the result was not read to its end."
)
MOST_FINDINGS = 6
"""Findings shown; a plan with more has the same one many times."""
DASH = "–"


def number(value: int | None) -> str:
    """Thousands with commas; unknown is a dash."""
    return DASH if value is None else f"{value:,}"


def plan_text(profile: Mapping[str, Any] | None) -> str:
    """The operators with estimate against actual, then the findings; NO_PROFILE where there is nothing to tell."""
    plan = read_plan(profile)
    if plan is None:
        return "\n".join([f"QUERY PLAN  {DASH}", *_wrapped(NO_PROFILE, "  ")]) + "\n"
    n = len(plan.operators)
    more = f", {plan.left_out:,} more not kept" if plan.left_out else ""
    lines = [f"QUERY PLAN  {n:,} operator{'' if n == 1 else 's'}{more}, {number(plan.rows_scanned)} rows read"]
    rows = [("operator", "time", "rows", "estimate", "read", "estimate was", "about")]
    rows += [
        (
            "  " * o.depth + o.name,
            DASH if o.share is None else f"{100 * o.share:.0f} %",
            number(o.rows),
            number(o.estimate),
            number(o.rows_scanned),
            times_off(o),
            one_line(o.about, 90),
        )
        for o in plan.operators
    ]
    widths = [max(len(r[i]) for r in rows) for i in range(6)]
    for r in rows:
        cells = [r[0].ljust(widths[0]), *(r[i].rjust(widths[i]) for i in range(1, 5)), r[5].ljust(widths[5]), r[6]]
        lines.append(("  " + "  ".join(cells)).rstrip())
    lines.append("findings:")
    found = findings(plan)
    for f in found[:MOST_FINDINGS]:
        lines += [*_wrapped(f"[{f.tag}] {f.what}", "  "), *_wrapped(f.advice, "    ")]
    if len(found) > MOST_FINDINGS:
        lines.append(f"  and {len(found) - MOST_FINDINGS:,} more")
    if not found:
        lines += _wrapped(NOTHING_UNUSUAL, "  ")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent=indent, subsequent_indent="    ", break_on_hyphens=False)
