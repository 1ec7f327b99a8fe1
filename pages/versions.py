"""Versions: the next export of a dataset, what it changed, and what that means; asking, comparing and deleting earlier ones."""

from __future__ import annotations

import streamlit as st

from pages.parts import arrival, impact, route, state, version_list
from pages.parts.html import draw, esc

w = state.workspace()
dataset = state.dataset_id()


def report(dataset: str) -> None:
    """A version against another one."""
    numbers = [v.number for v in w.returning.versions(dataset)]
    if len(numbers) < 2:
        draw(
            '<div class="pk-note">What a new version changed will stand here: rows, columns and values, and what follows '
            "for the map, the definitions and earlier answers. It is worked out by queries, without a model.</div>"
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        after = st.selectbox("Version", numbers[:0:-1], format_func=lambda n: f"version {n}", key="after", width=150)
        earlier = [n for n in numbers[::-1] if n < after]
        before = st.selectbox(
            "against", earlier, format_func=lambda n: f"version {n}", key=f"before-{after}", width=150
        )
    with st.spinner("Comparing the two versions", show_time=True):
        found = w.returning.impact(dataset, before, after)
    draw(f'<div style="padding-top:8px"><b>Version {esc(after)} against {esc(before)}</b></div>')
    impact.report(dataset, found)


if dataset is None:
    route.no_dataset()
elif arrival.waiting(dataset):
    arrival.decide(dataset)
else:
    left, right = st.columns([0.62, 0.38], gap="large")
    with right:
        arrival.bring(dataset)
    with left:
        version_list.listed(dataset)
    report(dataset)
