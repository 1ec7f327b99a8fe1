"""The map goes elsewhere and comes from elsewhere: as text, JSON, Markdown or a section for AGENTS.md; to another dataset.

Owns: the choices and the report. Refuses to know: the forms, and what is brought in.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, table, tag, words
from peek_core.context_map.exchange import FORMS, merged, written
from peek_core.curating.bringing import Brought
from peek_core.errors import PeekError, Refused

NAMES = {"text": "Text", "json": "JSON, complete", "markdown": "Markdown", "agents": "A section for AGENTS.md"}
REPORT = "_brought"


@st.dialog("Take the map elsewhere", width="medium")
def take_out(dataset: str) -> None:
    """One form, with or without its literals."""
    w = state.workspace()
    form = st.radio("Form", list(FORMS), format_func=lambda f: NAMES[f], key="export-form", horizontal=True)
    bare = st.toggle(
        "Without values",
        key="export-bare",
        help="Quoted values, numbers and dates are taken out. A reduction, not a proof: a value in a sentence can’t be told.",
    )
    text = written(form, w.map(dataset), w.dataset(dataset).title, literals=not bare)
    if form == "agents":
        there = st.file_uploader("An AGENTS.md to put it into (optional)", type=["md"], key="export-agents")
        if there is not None:
            try:
                text = merged(there.getvalue().decode("utf-8"), text)
            except (PeekError, UnicodeDecodeError) as failure:
                said = failure.sentence() if isinstance(failure, PeekError) else "The file is no UTF-8 text."
                draw(f'<div class="pk-error" role="alert">{esc(said)}</div>')
    draw(f'<div class="pk-pre" style="max-height:340px;overflow:auto" tabindex="0">{esc(text)}</div>')
    st.download_button(
        f"Download {FORMS[form]}",
        text.encode(),
        file_name=FORMS[form],
        type="primary",
        key="export-do",
        on_click="ignore",
    )


@st.dialog("Bring items in", width="medium")
def bring_in(dataset: str) -> None:
    """From a file of ours, or from another dataset's map."""
    w = state.workspace()
    held: Brought | None = st.session_state.get(REPORT)
    if held is not None:
        report(held)
        if st.button("Done", type="primary", key="brought-done"):
            del st.session_state[REPORT]
            st.rerun()
        return
    draw(
        '<div class="pk-note">Each item’s query runs on this dataset first: what it no longer shows stays out. Definitions '
        "come as proposals.</div>"
    )
    file = st.file_uploader("A map as text or JSON", type=["txt", "json"], key="import-file")
    others = {d.id: d.title for d in w.datasets() if d.id != dataset}
    source = None
    if others:
        source = st.selectbox(
            "or the map of another dataset",
            ["", *others],
            format_func=lambda id: words(others.get(id, "–")),
            key="import-from",
        )
    if st.button("Bring them in", type="primary", key="import-do", disabled=not (file or source)):
        made: list[Brought] = []
        if file is not None:
            content = file.getvalue()
            state.attempt(lambda: made.append(w.curator(dataset).bring_text(_decoded(content))))
        else:
            state.attempt(lambda: made.append(w.copy_map(str(source), dataset)))
        if made:
            st.session_state[REPORT] = made[0]
            st.rerun(scope="fragment")
        state.pending_error()


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as failure:
        raise Refused("The file is no UTF-8 text", next="Save it as UTF-8.") from failure


def report(done: Brought) -> None:
    """What came in, what was there already, what stayed out and why."""
    rows = [[tag("added", "ok"), esc(i.text), esc(i.state)] for i in done.added]
    rows += [[tag("proposed", "accent"), esc(d.name), esc(d.rule)] for d in done.proposed]
    rows += [[tag("there already", "line"), esc(one.text), esc(one.why)] for one in done.passed]
    rows += [[tag("stayed out", "warn"), esc(one.text), esc(one.why)] for one in done.refused]
    draw(table(["", "What", "Why"], rows) if rows else '<div class="pk-note">There was nothing to bring.</div>')
