"""Explain: how one request was put together, what one run took and did, what a dataset's questions have cost."""

from __future__ import annotations

import streamlit as st

from pages.parts import explain_dataset, explain_request, explain_run, route, state
from pages.parts.html import draw, esc
from peek_core.errors import NotFound
from peek_core.values.run_view import RunHead

w = state.workspace()
dataset = state.dataset_id()
LISTED = 200
"""Runs to choose from, the latest."""


def pick_run(dataset: str) -> RunHead | None:
    """The run the address names, else the newest; a choice changes the address."""
    by_id = {r.id: r for r in reversed(w.explaining.heads(dataset, limit=LISTED)) if r.ended is not None}
    wanted = state.run_id()
    if wanted and wanted not in by_id:
        by_id |= _older(dataset, wanted)
    if not by_id:
        return None
    ids = list(by_id)
    chosen = st.selectbox(
        "Run",
        ids,
        ids.index(wanted) if wanted in by_id else 0,
        width=520,
        key=f"run-{wanted}",
        label_visibility="collapsed",
        format_func=lambda i: by_id[i].question[:90] + ("" if by_id[i].arm == "peek" else "  (comparison)"),
    )
    if chosen and chosen != wanted:
        st.query_params[state.RUN] = chosen
    return by_id[chosen] if chosen else None


def _older(dataset: str, wanted: str) -> dict[str, RunHead]:
    """A run that is not among those listed: an old one, or one that still goes on."""
    try:
        r = w.run(wanted)
    except NotFound:
        return {}
    head = RunHead(r.id, r.arm, r.question, r.analyst, r.status, r.phase, r.created, r.ended, r.reason)
    return {r.id: head} if r.dataset == dataset else {}


def of_run(dataset: str, name: str) -> None:
    """The parts that are about one run."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        run = pick_run(dataset)
        place = st.container(width="content")
    if run is None:
        draw('<div class="pk-note">No question was asked yet; every request a question makes can be opened here.</div>')
        return
    calls = w.explaining.calls(run.id)
    if not calls:
        draw(f'<div class="pk-note">This run made no model request. {esc(run.reason)}</div>')
    elif name == "Request":
        with place:
            call = explain_request.pick(calls)
        explain_request.show(dataset, run, call)
    else:
        explain_run.show(w.run(run.id), calls)


def draw_page(dataset: str) -> None:
    # Labels without counts: the address names the open tab by its label.
    tabs = dict(zip(route.EXPLAIN_TABS, st.tabs(route.EXPLAIN_TABS, key=route.TAB, bind="query-params"), strict=True))
    (name,) = (n for n, tab in tabs.items() if tab.open)
    with tabs[name]:
        if name == "Dataset":
            explain_dataset.show(dataset)
        else:
            of_run(dataset, name)


if dataset is None:
    route.no_dataset()
else:
    draw_page(dataset)
