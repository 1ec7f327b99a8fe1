"""One query's plan as it ran: what it cost, what is unusual, every operator with estimate against actual.

Owns: drawing. Refuses to know: what counts as unusual and how a profile is read (peek_core.values.query_plan).
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.parts import charts
from pages.parts.html import draw, esc, tag
from peek_core.values.query_plan import (
    MOST_FINDINGS,
    NO_PROFILE,
    NOTHING_UNUSUAL,
    Operator,
    QueryPlan,
    findings,
    number,
    read_plan,
    times_off,
)
from peek_core.values.trajectory import SqlRecord

MOST_ROWS = 16
"""Operators shown before the table scrolls in its own box."""


def show(q: SqlRecord) -> None:
    """Facts, findings in words, operators as a table and as an icicle; one sentence where there is no profile."""
    plan = read_plan(q.profile)
    facts(q, plan)
    if plan is None:
        draw(f'<div class="pk-note">{esc(NO_PROFILE)}</div>')
        return
    unusual(plan)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        operators(q, plan)
    with right:
        icicle(q, plan)


def facts(q: SqlRecord, plan: QueryPlan | None) -> None:
    """Rows and time as the person waited for them, then what the profile adds."""
    rows = None if q.table is None else q.table.row_count
    said = [f"{number(rows)} row{'' if rows == 1 else 's'}, {1000 * q.seconds:,.1f} ms"]
    if plan is not None:
        spent = "–" if plan.operator_ms is None else f"{plan.operator_ms:,.1f} ms"
        peak = "–" if plan.peak_memory_bytes is None else f"{plan.peak_memory_bytes / 2**20:,.1f} MiB"
        said += [
            f"operators {spent}, summed over threads",
            f"{number(plan.rows_scanned)} rows read",
            f"peak memory {peak}",
        ]
        if plan.left_out:
            said.append(f"{plan.left_out:,} more operators were not kept")
    draw(f'<div class="pk-small pk-muted">{esc("; ".join(said))}</div>')


def unusual(plan: QueryPlan) -> None:
    """The findings, what matters first; or that there are none."""
    found = findings(plan)
    if not found:
        draw(f'<div class="pk-note">{esc(NOTHING_UNUSUAL)}</div>')
        return
    lines = [
        f'<div style="padding-top:4px;max-width:72em;overflow-wrap:anywhere">{tag(f.tag, "warn" if f.matters else "line")} '
        f'{esc(f.what)} <span class="pk-muted">{esc(f.advice)}</span></div>'
        for f in found[:MOST_FINDINGS]
    ]
    if len(found) > MOST_FINDINGS:
        lines.append(f'<div class="pk-note">and {len(found) - MOST_FINDINGS:,} more</div>')
    draw("".join(lines))


def operators(q: SqlRecord, plan: QueryPlan) -> None:
    """Every operator, indented under the one that takes its rows."""
    rows = [
        {
            "Operator": "\u2002" * o.depth + o.name,
            "Share of time": None if o.share is None else 100 * o.share,
            "Self ms": o.self_ms,
            "Rows": o.rows,
            "Estimate": o.estimate,
            "Estimate was": times_off(o),
            "About": _about(o) or "–",
        }
        for o in plan.operators
    ]
    frame = pd.DataFrame(rows).astype(dict.fromkeys(("Rows", "Estimate"), "Int64"))
    st.dataframe(
        frame,
        hide_index=True,
        height="content" if len(rows) <= MOST_ROWS else 36 * (MOST_ROWS + 1),
        key=f"operators-{q.id}",
        placeholder="–",
        alt="Operators of the query plan, with the rows expected and the rows that came",
        column_config={
            "Operator": st.column_config.TextColumn(width=180),
            "Share of time": st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100, width=95),
            "Self ms": st.column_config.NumberColumn(format="%.2f", width=60),
            "Rows": st.column_config.NumberColumn(format="localized", width=68),
            "Estimate": st.column_config.NumberColumn(format="localized", width=68),
            "Estimate was": st.column_config.TextColumn(width=118),
            "About": st.column_config.TextColumn(width=400),
        },
    )


def icicle(q: SqlRecord, plan: QueryPlan) -> None:
    """Where the time went; nothing where no time is known."""
    if not plan.operator_ms:
        draw('<div class="pk-note">The profile holds no times.</div>')
        return
    draw(
        '<div class="pk-row"><span class="pk-cap pk-grow">Time with everything below</span>'
        '<span class="pk-small pk-muted">deeper colour: more of its own; a click enlarges, on the top one it goes back</span></div>'
    )
    cells = [(o.parent, o.name, _micros(o.total_ms), _micros(o.self_ms), _hint(o)) for o in plan.operators]
    longest = sorted((o for o in plan.operators if o.share), key=lambda o: -(o.share or 0))[:3]
    held = ", ".join(f"{o.name} {100 * (o.share or 0):.0f} %" for o in longest)
    charts.show(charts.icicle(cells), f"icicle-{q.id}", f"Icicle of the time of {len(cells)} operators; most by {held}")


def _micros(ms: float | None) -> int:
    return round(1000 * (ms or 0))


def _about(o: Operator) -> str:
    read = "" if o.rows_scanned is None else f"{o.rows_scanned:,} read"
    return "; ".join(t for t in (read, o.about) if t)


def _hint(o: Operator) -> str:
    counts = f"{number(o.rows)} rows, {number(o.estimate)} expected, estimate {times_off(o)}"
    return "\n".join(t for t in (counts, _about(o)) if t)
