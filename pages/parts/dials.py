"""The top of the Context map page: how full it is, the dials of its budget and learning, what a changed one would do.

Owns: the controls. Refuses to know: what a dial does; changes go to the workspace and the curator.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import map_drawers, map_exchange, map_items, map_panel, state
from pages.parts.html import draw, esc, meter, tag
from peek_core.context_map.evictor import ORDERS, next_out
from peek_core.context_map.map import ContextMap, render
from peek_core.settings import MapSettings

MORE = ("Export", "Import or copy")


def top(dataset: str, current: ContextMap, dials: MapSettings) -> None:
    """Budget on the left, dials on the right, and below them what a changed one would do."""
    budget, controls = st.columns([0.44, 0.56], gap="large", vertical_alignment="bottom")
    with budget:
        _filled(dataset, current, dials)
    with controls, st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        size = st.number_input("Budget B", 64, 32_000, dials.budget, step=64, width=116, key=f"budget-{dials.budget}")
        m = st.number_input(
            "Learns from m",
            0,
            10_000,
            dials.evolve_steps,
            width=116,
            key=f"m-{dials.evolve_steps}",
            placeholder="all",
            help="How many questions may change the map; empty is unlimited.",
        )
        order = st.selectbox(
            "Who leaves first", list(ORDERS), list(ORDERS).index(dials.order), width=150, key=f"order-{dials.order}"
        )
        with st.container(gap="xsmall", width="content", key="switches"):
            st.toggle(
                "Learn error patterns",
                value=dials.error_patterns,
                key=f"errors-{dials.error_patterns}",
                on_change=_learn_errors,
                args=(dataset, not dials.error_patterns),
                help="A sixth section: queries that fail on this dataset, and why. By hand you can add to it in any case.",
            )
            st.toggle(
                "Review edits first",
                value=dials.review,
                key=f"review-{dials.review}",
                on_change=_review,
                args=(dataset, not dials.review),
                help="What questions teach waits for you on the Review tab instead of being applied.",
            )
            st.toggle(
                "Freeze map",
                value=current.frozen,
                key=f"freeze-{current.version}",
                on_change=map_panel.freeze,
                args=(dataset, not current.frozen),
            )
        if st.button("Add item", key="add", type="primary", shortcut="Alt+N"):
            map_drawers.add(dataset)
        chosen = st.menu_button("", MORE, icon=":material/more_horiz:", key="map-menu", help="Export, import, copy")
    _chosen(dataset, chosen)
    if (int(size), m, order) != (dials.budget, dials.evolve_steps, dials.order):
        _preview(dataset, int(size), None if m is None else int(m), str(order))


def _chosen(dataset: str, act: str | None) -> None:
    if act == "Export":
        map_exchange.take_out(dataset)
    elif act == "Import or copy":
        map_exchange.bring_in(dataset)


def _filled(dataset: str, current: ContextMap, dials: MapSettings) -> None:
    tokens, n = state.workspace().count_tokens(render(current.items)), len(current.items)
    count = {s: sum(i.state == s for i in current.items) for s in map_items.STATES}
    waiting = len(state.workspace().curator(dataset).suggestions()) if dials.review else 0
    states = tag(f"{waiting} wait for review", "accent") if waiting else ""
    states += "".join(tag(f"{k} {'hold' if s == 'holds' else s}", map_items.STATES[s]) for s, k in count.items() if k)
    draw(
        f'<div class="pk-row"><b>{tokens:,}</b><span class="pk-muted">of {dials.budget:,} tokens, '
        f'{n} item{"s" * (n != 1)}, version {current.version}</span><span class="pk-grow"></span>{states}</div>'
        f'<div style="height:6px"></div>{meter(tokens / dials.budget, f"{tokens} of {dials.budget} tokens")}'
    )
    leaves = next_out(current, dials.order, dials.grace)
    said = (
        f"Who leaves next, if one must: {leaves.id}, “{leaves.text[:70]}”."
        if leaves and tokens > 0.7 * dials.budget
        else ""
    )
    said += f" Frozen: {current.frozen_why or 'by hand'}." if current.frozen else ""
    if said:
        draw(f'<div class="pk-small pk-muted">{esc(said.strip())}</div>')


def _preview(dataset: str, budget: int, m: int | None, order: str) -> None:
    """What a changed dial would do, before it does."""
    w = state.workspace()
    _, gone = w.curator(dataset).preview(budget, order)
    with st.container(border=True, gap="xsmall", key="preview"):
        said = "nobody leaves" if not gone else f"{len(gone)} item{'s' * (len(gone) != 1)} would leave"
        draw(
            f"<b>With {budget:,} tokens and the order {esc(order)}, {said}.</b>"
            + "".join(
                f'<div class="pk-small pk-muted"><span class="pk-id">{esc(g.item.id)}</span> {esc(g.item.text[:120])} '
                f"({g.before:,} → {g.after:,} tokens)</div>"
                for g in gone
            )
        )
        if st.button("Apply", key="apply-budget", type="primary"):
            w.set_map(dataset, budget=budget, order=order, evolve_steps=m)
            state.attempt(lambda: w.curator(dataset).apply_budget())
            st.rerun()


def _review(dataset: str, on: bool) -> None:
    state.attempt(lambda: state.workspace().set_map(dataset, review=on))


def _learn_errors(dataset: str, on: bool) -> None:
    state.attempt(lambda: state.workspace().set_map(dataset, error_patterns=on))
