"""Context map: read, sort, pin, lock, freeze, edit; what was looked at, what was refused, and every version."""

from __future__ import annotations

import streamlit as st

from pages.parts import coverage, definitions, dials, map_items, refused, route, state, versions
from pages.parts.html import draw, esc

VERSIONS = 8
"""So many last versions stand beside an item's score."""

w = state.workspace()
dataset = state.dataset_id()


def draw_page(dataset: str) -> None:
    current, settings = w.map(dataset), w.map_settings(w.dataset(dataset))
    useless = w.cannot_pay(dataset)
    if useless:
        draw(f'<div class="pk-note">{esc(useless)}</div>')
    dials.top(dataset, current, settings)
    # Labels without counts: the address names the open tab by its label.
    tabs = dict(zip(route.TABS, st.tabs(route.TABS, key=route.TAB, bind="query-params"), strict=True))
    (name,) = (n for n, tab in tabs.items() if tab.open)
    with tabs[name]:
        if name == "Definitions":
            definitions.listed(dataset, current)
        elif name == "Coverage":
            coverage.listed(dataset)
        elif name == "Versions":
            versions.history(dataset, current)
        elif name == "Refused":
            refused.listed(dataset)
        else:
            first = max(1, current.version - VERSIONS + 1)
            past = [w.map(dataset, number=n) for n in range(first, current.version + 1)]
            map_items.listed(dataset, current, past, settings)
            map_items.past_scores(past)


if dataset is None:
    route.no_dataset()
else:
    draw_page(dataset)
