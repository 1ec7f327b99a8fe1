"""The frame: page set-up, navigation, dataset bar. Every page is drawn inside it.

Owns: which pages there are, and the bar. Refuses to know: what pages show.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import route, state
from pages.parts.html import CSS, draw, esc, tag
from peek_core.errors import PeekError

st.set_page_config(page_title="PEEK", layout="wide")
st.html(CSS)
page = st.navigation([route.page(name) for name in route.TITLES], position="top")


def bar() -> None:
    """Which dataset, what view of it, who answers: one line on every page."""
    w = state.workspace()
    datasets = {d.id: d for d in w.datasets()}
    # The address wins over the session, so that a link, a reload and the back button all mean what they say.
    asked = (
        st.session_state.pop("_choose", None),
        st.query_params.get(state.DATASET),
        st.session_state.get(state.DATASET),
        next(iter(datasets), None),
    )
    chosen = next((id for id in asked if id in datasets), None)
    if not datasets:
        return
    st.session_state[state.DATASET] = chosen
    st.query_params[state.DATASET] = str(chosen)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="dataset-bar"):
        st.selectbox(
            "Dataset",
            list(datasets),
            format_func=lambda id: datasets[id].title,
            key=state.DATASET,
            label_visibility="collapsed",
            width=240,
            on_change=switched,
        )
        draw(_facts(str(chosen)), width="stretch")


def switched() -> None:
    """Another dataset was picked: the address follows, and the run it named is another dataset's."""
    st.query_params[state.DATASET] = st.session_state[state.DATASET]
    if state.RUN in st.query_params:
        del st.query_params[state.RUN]


def _facts(id: str) -> str:
    w = state.workspace()
    report, current = w.report(id), w.map(id)
    columns = sum(len(t.columns) for t in report.tables)
    on, waiting = len(current.active), sum(d.state == "proposed" for d in current.definitions)
    left_out = sum(d.effect.get("rows_before", 0) - d.effect.get("rows_after", 0) for d in current.active)
    text = f"{report.rows:,} rows, {columns} columns" + (f"; view leaves out {left_out:,}" if left_out else "")
    parts = [f'<span class="pk-muted pk-small">{esc(text)}</span>&nbsp;']
    parts.append(tag(f"{on} definition{'s' * (on != 1)} on") if on else "")
    parts.append(tag(f"{waiting} proposed", "accent") if waiting else "")
    parts.append(tag(w.endpoints.analyst()[:1].upper() + w.endpoints.analyst()[1:], "line"))
    return " ".join(filter(None, parts))


try:
    bar()
    with st.container():  # always there, so that a sentence does not move the page's tabs back to the first
        state.pending_error()
    page.run()
except PeekError as failure:
    draw(f'<div class="pk-error" role="alert">{esc(failure.sentence())}</div>')
