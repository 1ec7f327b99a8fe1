"""Context map: read, find, edit, pin, lock, freeze; review, history, what left, what was refused, what the model sees."""

from __future__ import annotations

import streamlit as st

from pages.parts import (
    as_sent,
    coverage,
    definitions,
    dials,
    graveyard,
    map_history,
    map_items,
    map_review,
    refused,
    route,
    state,
)
from pages.parts.html import draw, esc

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
        elif name == "Review":
            map_review.listed(dataset, settings.review)
        elif name == "History":
            map_history.page(dataset, current, w.curator(dataset).story())
        elif name == "Graveyard":
            graveyard.listed(dataset)
        elif name == "Refused":
            refused.listed(dataset)
        elif name == "Coverage":
            coverage.listed(dataset)
        elif name == "As sent":
            as_sent.shown(dataset)
        else:
            map_items.listed(dataset, current, w.curator(dataset).story(), settings)


if dataset is None:
    route.no_dataset()
else:
    draw_page(dataset)
