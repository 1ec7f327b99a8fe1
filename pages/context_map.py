"""Context map: read, sort, pin, lock, freeze, edit; see where each item came from and who leaves next."""

from __future__ import annotations

import streamlit as st

from pages.parts import charts, definitions, route, state
from pages.parts.html import draw, esc, meter, signed, spark, table, tag
from peek_core.context_map.evictor import ORDERS, next_out
from peek_core.context_map.history import diff
from peek_core.context_map.map import ContextMap, MapItem, MapSection, render
from peek_core.settings import MapSettings

STATE = {"holds": "ok", "drifted": "warn", "broken": "bad", "unverifiable": "line"}
VERSIONS = 8
REFUSED = 50

w = state.workspace()
dataset = state.dataset_id()


def top(current: ContextMap, dials: MapSettings) -> None:
    assert dataset is not None
    tokens = w.count_tokens(render(current.items))
    budget, controls = st.columns([0.5, 0.5], gap="large", vertical_alignment="bottom")
    with budget:
        count = {s: sum(i.state == s for i in current.items) for s in STATE}
        states = "".join(tag(f"{n} {'hold' if s == 'holds' else s}", STATE[s]) for s, n in count.items() if n)
        draw(
            f'<div class="pk-row"><b>{tokens:,}</b><span class="pk-muted">of {dials.budget:,} tokens, '
            f'{_items(current)}, version {current.version}</span><span class="pk-grow"></span>{states}</div>'
            f'<div style="height:6px"></div>{meter(tokens / dials.budget, f"{tokens} of {dials.budget} tokens")}'
        )
        if current.frozen:
            draw(f'<div class="pk-small pk-muted">Frozen: {esc(current.frozen_why or "by hand")}.</div>')
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
        st.toggle(
            "Freeze map",
            value=current.frozen,
            key=f"freeze-{current.version}",
            on_change=freeze,
            args=(not current.frozen,),
        )
        if st.button("Add item", key="add", type="primary"):
            add()
    if (int(size), m, order) != (dials.budget, dials.evolve_steps, dials.order):
        preview(int(size), None if m is None else int(m), str(order))


def _items(current: ContextMap) -> str:
    n = len(current.items)
    return f"{n} item{'s' * (n != 1)}"


def preview(budget: int, m: int | None, order: str) -> None:
    """What a changed dial would do, before it does."""
    assert dataset is not None
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


def freeze(on: bool) -> None:
    assert dataset is not None
    state.attempt(lambda: w.curator(dataset).freeze_map(on))


@st.dialog("Add item", width=460, position="right")
def add() -> None:
    assert dataset is not None
    section = st.selectbox(
        "Section", [s.value for s in MapSection], format_func=lambda v: MapSection(v).heading, key="add-section"
    )
    text = st.text_area("Text", height=120, key="add-text", placeholder="One or two plain sentences about the data.")
    sql = st.text_area(
        "Evidence query (optional)",
        height=90,
        key="add-sql",
        help="Its present result is kept; on every later version it is run again.",
    )
    if st.button("Add", type="primary", key="add-save", disabled=not text.strip()):
        if state.attempt(lambda: w.curator(dataset).add(section, text, sql)):
            st.rerun()
        state.pending_error()


@st.dialog("Edit item", width=460, position="right")
def edit(item: MapItem, version: int) -> None:
    assert dataset is not None
    draw(
        f'<div class="pk-row"><span class="pk-mono">{esc(item.id)}</span>{tag(item.state, STATE[item.state])}'
        f'<span class="pk-muted pk-small">{esc(item.section.heading)}, by {esc(item.author)}</span></div>'
    )
    text = st.text_area("Text", item.text, height=140, key="edit-text")
    sql = st.text_area("Evidence query", item.evidence.sql if item.evidence else "", height=110, key="edit-sql")
    score = st.number_input("Score", value=item.score, step=1, key="edit-score", width=140)
    if item.question:
        draw(f'<div class="pk-note">Learned from: {esc(item.question)}</div>')
    if item.detail:
        draw(f'<div class="pk-note"><b>Evidence</b>: {esc(item.detail)}</div>')
    with st.container(horizontal=True):
        if st.button(f"Save as version {version + 1}", type="primary", shortcut="Mod+Enter", key="edit-save"):
            known = item.evidence.sql if item.evidence else ""
            saved = state.attempt(
                lambda: w.curator(dataset).edit(item.id, text, sql if sql != known else None, version)
            )
            if saved and score != item.score:
                saved = state.attempt(lambda: w.curator(dataset).score(item.id, int(score)))
            if saved:
                st.rerun()
            state.pending_error()


def menu(item: MapItem) -> list[str]:
    return [
        "Unpin" if item.pinned else "Pin",
        "Unlock" if item.locked else "Lock",
        "Thaw item" if item.frozen else "Freeze item",
        "Raise score",
        "Lower score",
        "Delete",
    ]


def act(item: MapItem, chosen: str) -> None:
    assert dataset is not None
    curator = w.curator(dataset)
    acts = {
        "Pin": lambda: curator.mark(item.id, "pin"),
        "Unpin": lambda: curator.mark(item.id, "pin", False),
        "Lock": lambda: curator.mark(item.id, "lock"),
        "Unlock": lambda: curator.mark(item.id, "lock", False),
        "Freeze item": lambda: curator.mark(item.id, "freeze"),
        "Thaw item": lambda: curator.mark(item.id, "freeze", False),
        "Raise score": lambda: curator.score(item.id, item.score + 1),
        "Lower score": lambda: curator.score(item.id, item.score - 1),
        "Delete": lambda: curator.delete(item.id),
    }
    state.attempt(acts[chosen])
    st.rerun()


def line(item: MapItem, current: ContextMap, history: list[int | None], leaves: bool, change: str) -> str:
    flags = "".join(tag(f, "line") for f in ("pinned", "locked", "frozen") if getattr(item, f))
    new = tag(f"{change} last", "accent") if change else ""
    out = tag("next to be evicted", "warn") if leaves else ""
    note = f"; {esc(item.detail)}" if item.detail else ""
    return (
        f'<div class="pk-line"><span class="pk-num"><b>{signed(item.score)}</b></span>'
        f'<div class="txt">{esc(item.text)}<span class="pk-rowtag">{flags}{new}{out}</span>'
        f'<div class="meta"><span class="pk-id">{esc(item.id)}</span>, by {esc(item.author)}{note}</div></div>'
        f'<span class="h-wide">{spark(history)}</span><span class="pk-num meta h-wide">{current.age(item)} q</span>'
        f'<span class="pk-num meta h-wide">{w.count_tokens(item.line())}</span>'
        f'<span class="ev">{tag(item.state, STATE[item.state])}</span></div>'
    )


def items(current: ContextMap, past: list[ContextMap], dials: MapSettings) -> None:
    assert dataset is not None
    if not current.items:
        draw('<div class="pk-note">No items yet. They come from questions, or by hand with “Add item”.</div>')
        return
    head = (
        '<span class="pk-num">Score</span><span>Item</span><span>Last versions</span><span class="pk-num">Age</span>'
        '<span class="pk-num">Tokens</span><span>Evidence</span>'
    )
    draw(f'<div class="pk-line head pk-hide-s">{head}</div>')
    leaving = next_out(current, dials.order, dials.grace)
    before = past[-2] if len(past) > 1 else ContextMap()
    changed = {c.id: c.kind for c in diff(before, current) if c.kind in ("added", "changed")}
    with st.container(gap="xsmall"):
        for section in MapSection:
            mine = current.section(section)
            if not mine:
                continue
            size = sum(w.count_tokens(i.line()) for i in mine)
            draw(
                f'<div class="pk-sec"><span>{esc(section.heading)}</span><span>{len(mine)} item{"s" * (len(mine) != 1)}, '
                f"{size:,} tokens</span></div>"
            )
            for item in mine:
                with st.container(horizontal=True, gap="small", key=f"row-{item.id}", vertical_alignment="center"):
                    history = [_score(m, item.id) for m in past]
                    draw(line(item, current, history, leaving == item, changed.get(item.id, "")), width="stretch")
                    if st.button("Edit", key=f"edit-{item.id}", type="tertiary"):
                        edit(item, current.version)
                    chosen = st.menu_button(
                        "", menu(item), icon=":material/more_horiz:", key=f"menu-{item.id}", type="tertiary"
                    )
                    if chosen:
                        act(item, chosen)


def _score(m: ContextMap, id: str) -> int | None:
    item = m.item(id)
    return item.score if item else None


def past_scores(past: list[ContextMap]) -> None:
    ids = list(dict.fromkeys(i.id for m in past for i in m.items))
    if len(past) > 1 and ids:
        draw(
            '<div class="pk-row" style="padding-top:10px"><span class="pk-cap pk-grow">Score by version</span>'
            '<span class="pk-small pk-muted">empty: not yet born, or gone</span></div>'
        )
        figure = charts.heat(ids, [f"v{m.version}" for m in past], [[_score(m, i) for m in past] for i in ids])
        charts.show(figure, "heat", "Heat map of item scores over the last map versions")


def history(current: ContextMap) -> None:
    assert dataset is not None
    rows = w.store.map_versions(dataset, "peek")
    if not rows:
        draw('<div class="pk-note">No version yet.</div>')
        return
    numbers = [r.number for r in rows]
    number = (
        st.select_slider(
            "Version", numbers, value=numbers[-1], format_func=lambda n: f"v{n}", key=f"version-{numbers[-1]}"
        )
        if len(numbers) > 1
        else numbers[0]
    )
    shown = w.map(dataset, number=number)
    before = w.map(dataset, number=number - 1) if number > 1 else ContextMap()
    sizes = [f"{w.count_tokens(render(m.items)):,}" for m in (before, shown)]
    changes = [
        [
            tag(c.kind, "warn" if c.kind == "removed" else "accent" if c.kind in ("added", "changed") else "line"),
            f'<span class="pk-id">{esc(c.id)}</span>',
            _change(c.before, c.after),
        ]
        for c in diff(before, shown)
    ]
    events = w.store.map_events(dataset, "peek", number=number)
    draw(
        f'<div class="pk-row"><span class="pk-cap pk-grow">Version {number} against {number - 1}</span>'
        f'<span class="pk-small pk-muted">{sizes[0]} → {sizes[1]} tokens; '
        f"{len(events)} event{'s' * (len(events) != 1)}</span></div>"
        + (table(["", "Item", "Change"], changes) if changes else '<div class="pk-note">No text changed.</div>')
    )
    older = number != current.version
    if older and st.button(f"Restore version {number}", type="tertiary", icon=":material/undo:", key="restore"):
        state.attempt(lambda: w.curator(dataset).restore(number))
        st.rerun()


def _change(before: str, after: str) -> str:
    if before and after and max(len(before), len(after)) > 20:
        return f"<del>{esc(before)}</del> <ins>{esc(after)}</ins>"
    return f"{esc(before)} → {esc(after)}" if before and after else esc(after or before)


def refused() -> None:
    assert dataset is not None
    kept = w.curator(dataset).refused()
    if not kept:
        draw('<div class="pk-note">Nothing was refused.</div>')
        return
    draw(
        '<div class="pk-small pk-muted">Admitting runs its query again and makes the item yours; '
        "a definition is stated again in a question.</div>"
    )
    for one in kept[:REFUSED]:
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"row-refused-{one.id}"):
            op = "" if one.edit is None or one.edit.op == "ADD" else f"{one.edit.op.lower()} {one.edit.id}: "
            draw(
                f'<div class="txt">{esc(op + one.says)}<div class="meta">v{one.version}, {esc(one.why)}</div></div>',
                width="stretch",
            )
            if one.edit is not None and one.edit.op != "DELETE":
                st.button("Admit", key=f"admit-{one.id}", on_click=admit, args=(one.id,))
    if len(kept) > REFUSED:
        draw(f'<div class="pk-small pk-muted">{len(kept) - REFUSED:,} older ones are kept too.</div>')


def admit(refusal: int) -> None:
    assert dataset is not None
    state.attempt(lambda: w.curator(dataset).admit(refusal), "Admitted")


if dataset is None:
    route.no_dataset()
else:
    current = w.map(dataset)
    dials = w.map_settings(w.dataset(dataset))
    first = max(1, current.version - VERSIONS + 1)
    past = [w.map(dataset, number=n) for n in range(first, current.version + 1)]
    top(current, dials)
    tabs = st.tabs(
        [
            f"Items {len(current.items)}",
            f"Definitions {len(current.definitions)}",
            f"Versions {current.version}",
            "Refused",
        ]
    )
    with tabs[0]:
        items(current, past, dials)
        past_scores(past)
    with tabs[1]:
        definitions.listed(dataset, current)
    with tabs[2]:
        history(current)
    with tabs[3]:
        refused()
