"""Load report: what was read, what was assumed, and the columns as the curated view shows them."""

from __future__ import annotations

import streamlit as st

from pages.parts import route, state
from pages.parts.html import draw, esc, table, tag
from peek_core.values.dataset import ColumnProfile, Doubt, LoadReport, TableProfile

w = state.workspace()
dataset = state.dataset_id()


def what_was_read(report: LoadReport) -> None:
    facts = [
        fact
        for s in report.sources
        for fact in (("File", f"{s.name}, {s.size:,} bytes"), ("sha256", f"{s.sha256[-64:][:16]}…"))
    ]
    facts += [("Time", f"{report.seconds:.2f} s")]
    for t in report.tables:
        facts += [
            ("Table", f"{t.name}: {t.rows:,} rows, {len(t.columns)} columns"),
            ("Encoding", t.encoding),
            ("Dialect", t.dialect),
        ]
    body = "".join(f"<dt>{esc(k)}</dt><dd>{esc(v)}</dd>" for k, v in facts)
    draw(f'<div class="pk-cap">What was read</div><dl class="pk-key">{body}</dl>')


def accounts(report: LoadReport) -> None:
    rejects = sum(t.rejects for t in report.tables)
    draw(
        '<div class="pk-cap">Every row accounted for</div><div class="pk-eq" style="padding-top:4px">'
        f'<span><b>{report.rows + rejects:,}</b> <span class="pk-muted">rows in the file</span></span>'
        f'<span class="op">=</span><span><b>{report.rows:,}</b> <span class="pk-muted">rows read</span></span>'
        f'<span class="op">+</span><span><b>{rejects:,}</b> <span class="pk-muted">rejected</span></span></div>'
    )
    notes = [(tag("repair", "accent"), n) for t in report.tables for n in t.repairs]
    notes += [(tag("assumed", "line"), n) for t in report.tables for n in t.assumptions]
    notes += [(tag("doubt", "warn"), _doubt(d)) for d in report.doubts]
    if notes:
        draw(
            '<div class="pk-cap" style="padding-top:10px">Repairs and assumptions</div>'
            + table(["", "What"], [[kind, esc(text)] for kind, text in notes])
        )
    else:
        draw('<div class="pk-note">Nothing had to be repaired or assumed.</div>')


def _doubt(d: Doubt) -> str:
    return f"{d.where}: {d.what}; otherwise {d.alternative}"


def columns(profile: TableProfile) -> None:
    draw(
        f'<div class="pk-sec" style="padding-top:14px"><span>Table {esc(profile.name)}, as the curated view shows it'
        f"</span><span>{profile.rows:,} rows, {len(profile.columns)} columns</span></div>"
    )
    rows = [
        [
            f"<b>{esc(c.name)}</b>"
            + (f'<div class="pk-small pk-muted">{esc(c.label)}</div>' if c.label != c.name else ""),
            esc(c.type.lower()),
            f"{c.nulls:,}",
            "–" if c.distinct is None else f"{c.distinct:,}",
            _range(c),
            _values(c),
        ]
        for c in profile.columns[:200]
    ]
    draw(table(["Column", "Type", "Missing", "Distinct", "Range", "Values"], rows, num=frozenset({2, 3})))
    if len(profile.columns) > 200:
        draw(f'<div class="pk-note">the first 200 of {len(profile.columns):,} columns</div>')


def _range(c: ColumnProfile) -> str:
    if c.free_text:
        return f"free text, {c.average_length or 0:.0f} characters on average"
    return esc(f"{c.minimum} to {c.maximum}") if c.minimum is not None else "–"


def _values(c: ColumnProfile) -> str:
    if not c.top or c.free_text:
        return "–"
    listed = ", ".join(f"{esc(v.value)} <span class='pk-muted'>{v.count:,}</span>" for v in c.top)
    return listed + ("" if c.complete else ' <span class="pk-muted">and others</span>')


if dataset is None:
    route.no_dataset()
else:
    report = w.report(dataset)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        accounts(report)
    with right:
        what_was_read(report)
        if st.button("Ask about it", type="primary", key="ask-it"):
            route.go("ask", dataset=dataset)
    for t in w.profile(dataset).tables:
        columns(t)
