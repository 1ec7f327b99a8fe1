"""Load report: what was read, what was repaired and assumed, how to read it otherwise, and the columns in pictures."""

from __future__ import annotations

import streamlit as st

from pages.parts import profile_cards, reread, route, state
from pages.parts.html import draw, esc, table, tag
from peek_core.corpus.spellings import spellings_in_words
from peek_core.datasets import rejects_sql
from peek_core.values.dataset import Doubt, LoadReport, TableReport

SHOWN_REJECTS = 8

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
            ("Compared", "–" if t.compared is None else f"the cells of {t.compared:,} rows with the file"),
        ]
    facts += [
        ("Key", f"{k.left_table}.{k.left_column} = {k.right_table}.{k.right_column}, {_share(k.share)} found")
        for k in report.keys
    ]
    body = "".join(f"<dt>{esc(k)}</dt><dd>{esc(v)}</dd>" for k, v in facts)
    draw(f'<div class="pk-cap">What was read</div><dl class="pk-key">{body}</dl>')


def _share(value: float) -> str:
    """Nearly all is not all."""
    return f"{value:.0%}" if value == 1 or value < 0.995 else f"{min(value, 0.999):.1%}"


def accounts(report: LoadReport) -> None:
    rejects = sum(t.rejects for t in report.tables)
    draw(
        '<div class="pk-cap">Every row accounted for</div><div class="pk-eq" style="padding-top:4px">'
        f'<span><b>{report.rows + rejects:,}</b> <span class="pk-muted">rows in the file</span></span>'
        f'<span class="op">=</span><span><b>{report.rows:,}</b> <span class="pk-muted">rows read</span></span>'
        f'<span class="op">+</span><span><b>{rejects:,}</b> <span class="pk-muted">rejected</span></span></div>'
    )
    for t in report.tables:
        rejected(t)


def rejected(t: TableReport) -> None:
    """The lines of one table that were kept apart, to see and to download."""
    assert dataset is not None
    held = w.rejects(dataset, t.name, SHOWN_REJECTS)
    if not held.rows:
        return
    lines = [[f"{line:,}", esc(why), f'<span class="pk-mono">{esc(text[:90])}</span>'] for line, why, text in held.rows]
    draw(table(["Line", f"Kept apart from {t.name} because it", "Text"], lines, num=frozenset({0})))
    count = len(held.rows) if held.row_count is None else held.row_count
    st.download_button(
        f"Download {count:,} lines" if count <= SHOWN_REJECTS else f"Download all {count:,} lines",
        lambda: state.csv_of(dataset, rejects_sql(t.name)),
        file_name=f"{t.name}-rejects.csv",
        mime="text/csv",
        icon=":material/download:",
        type="tertiary",
        key=f"rejects-{t.name}",
        on_click="ignore",
    )


def notes(report: LoadReport) -> None:
    assert dataset is not None
    said = [(tag("doubt", "warn"), _doubt(d)) for d in report.doubts]
    several = len(report.tables) > 1
    for t in report.tables:
        of = f"{t.name}: " if several else ""
        said += [(tag("repair", "accent"), of + n) for n in t.repairs]
        said += [(tag("assumed", "line"), of + n) for n in t.assumptions]
        found = [s for s in report.spellings if s.table == t.name]
        said += [(tag("proposed", "ok"), of + spellings_in_words(s)) for s in found]
    draw(
        f'<div class="pk-sec" style="padding-top:14px"><span>Doubts, repairs and assumptions</span><span>{len(said)}; “Read it '
        "otherwise” below changes how</span></div>"
    )
    if said:
        draw(table(["", "What"], [[kind, esc(text)] for kind, text in said]))
        if report.spellings and st.button(
            "See the proposed definitions", key="see-proposed", type="tertiary", icon=":material/arrow_forward:"
        ):
            route.go("context_map", dataset=dataset, **{route.TAB: "Definitions"})
    else:
        draw('<div class="pk-note">Nothing had to be repaired or assumed.</div>')


def _doubt(d: Doubt) -> str:
    return f"{d.where}: {d.what}; otherwise {d.alternative}"


if dataset is None:
    route.no_dataset()
else:
    report = w.report(dataset)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        accounts(report)
        useless = w.cannot_pay(dataset)
        if useless:
            draw(f'<div class="pk-note">{esc(useless)}</div>')
    with right:
        what_was_read(report)
        if st.button("Ask about it", type="primary", key="ask-it"):
            route.go("ask", dataset=dataset)
    notes(report)
    reread.controls(dataset, report)
    for t in w.profile(dataset).tables:
        profile_cards.cards(t)
