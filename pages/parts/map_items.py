"""The items of a map, a row each: score, history, age, size, evidence; and the drawers to add and edit one.

Owns: how an item is drawn and which acts it offers. Refuses to know: what an act does; clicks go to the curator.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import charts, state
from pages.parts.html import draw, esc, followed, signed, spark, tag
from peek_core.context_map.evictor import next_out
from peek_core.context_map.history import diff
from peek_core.context_map.map import ContextMap, MapItem, MapSection
from peek_core.context_map.slots import following, pieces
from peek_core.settings import MapSettings

STATES = {"holds": "ok", "drifted": "warn", "broken": "bad", "unverifiable": "line"}


@st.dialog("Add item", width=460, position="right")
def add(dataset: str) -> None:
    """By hand, to any section."""
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
        if state.attempt(lambda: state.workspace().curator(dataset).add(section, text, sql)):
            st.rerun()
        state.pending_error()


@st.dialog("Edit item", width=460, position="right")
def edit(dataset: str, item: MapItem, version: int) -> None:
    """Text, evidence and score; saved against the version that was seen."""
    curator = state.workspace().curator(dataset)
    draw(
        f'<div class="pk-row"><span class="pk-mono">{esc(item.id)}</span>{tag(item.state, STATES[item.state])}'
        f'<span class="pk-muted pk-small">{esc(item.section.heading)}, by {esc(item.author)}</span></div>'
    )
    text = st.text_area("Text", item.text, height=140, key="edit-text")
    follows = following(item.template)
    if follows:
        how = (
            "not refilled while the item is frozen" if item.frozen else "refilled when the evidence query gives others"
        )
        draw(f'<div class="pk-note pk-follows"><b>{esc(follows)}</b>, {how}: {_text(item)}</div>')
    sql = st.text_area("Evidence query", item.evidence.sql if item.evidence else "", height=110, key="edit-sql")
    score = st.number_input("Score", value=item.score, step=1, key="edit-score", width=140)
    if item.question:
        draw(f'<div class="pk-note">Learned from: {esc(item.question)}</div>')
    if item.detail:
        draw(f'<div class="pk-note"><b>Evidence</b>: {esc(item.detail)}</div>')
    with st.container(horizontal=True):
        if st.button(f"Save as version {version + 1}", type="primary", shortcut="Mod+Enter", key="edit-save"):
            known = item.evidence.sql if item.evidence else ""
            saved = state.attempt(lambda: curator.edit(item.id, text, sql if sql != known else None, version))
            if saved and score != item.score:
                saved = state.attempt(lambda: curator.score(item.id, int(score)))
            if saved:
                st.rerun()
            state.pending_error()


def _text(item: MapItem) -> str:
    return followed(pieces(item.text, item.template))


def _menu(item: MapItem) -> list[str]:
    return [
        "Unpin" if item.pinned else "Pin",
        "Unlock" if item.locked else "Lock",
        "Thaw item" if item.frozen else "Freeze item",
        "Raise score",
        "Lower score",
        "Delete",
    ]


def _act(dataset: str, item: MapItem, chosen: str) -> None:
    curator = state.workspace().curator(dataset)
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


def _line(item: MapItem, current: ContextMap, history: list[int | None], leaves: bool, change: str) -> str:
    flags = "".join(tag(f, "line") for f in ("pinned", "locked", "frozen") if getattr(item, f))
    new = tag(f"{change} last", "accent") if change else ""
    out = tag("next to be evicted", "warn") if leaves else ""
    note = f"; {esc(item.detail)}" if item.detail else ""
    return (
        f'<div class="pk-line"><span class="pk-num"><b>{signed(item.score)}</b></span>'
        f'<div class="txt">{_text(item)}<span class="pk-rowtag">{flags}{new}{out}</span>'
        f'<div class="meta"><span class="pk-id">{esc(item.id)}</span>, by {esc(item.author)}{note}</div></div>'
        f'<span class="h-wide">{spark(history)}</span><span class="pk-num meta h-wide">{current.age(item)} q</span>'
        f'<span class="pk-num meta h-wide">{state.workspace().count_tokens(item.line())}</span>'
        f'<span class="ev">{tag(item.state, STATES[item.state])}</span></div>'
    )


def listed(dataset: str, current: ContextMap, past: list[ContextMap], dials: MapSettings) -> None:
    """All items by section, each with its acts; `past` are the last versions, the present one at the end."""
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
            size = sum(state.workspace().count_tokens(i.line()) for i in mine)
            draw(
                f'<div class="pk-sec"><span>{esc(section.heading)}</span><span>{len(mine)} item{"s" * (len(mine) != 1)}, '
                f"{size:,} tokens</span></div>"
            )
            for item in mine:
                with st.container(horizontal=True, gap="small", key=f"row-{item.id}", vertical_alignment="center"):
                    history = [_score(m, item.id) for m in past]
                    draw(_line(item, current, history, leaving == item, changed.get(item.id, "")), width="stretch")
                    if st.button("Edit", key=f"edit-{item.id}", type="tertiary"):
                        edit(dataset, item, current.version)
                    chosen = st.menu_button(
                        "", _menu(item), icon=":material/more_horiz:", key=f"menu-{item.id}", type="tertiary"
                    )
                    if chosen:
                        _act(dataset, item, chosen)


def _score(m: ContextMap, id: str) -> int | None:
    item = m.item(id)
    return item.score if item else None


def past_scores(past: list[ContextMap]) -> None:
    """Scores over the last versions as a heat map."""
    ids = list(dict.fromkeys(i.id for m in past for i in m.items))
    if len(past) > 1 and ids:
        draw(
            '<div class="pk-row" style="padding-top:10px"><span class="pk-cap pk-grow">Score by version</span>'
            '<span class="pk-small pk-muted">empty: not yet born, or gone</span></div>'
        )
        figure = charts.heat(ids, [f"v{m.version}" for m in past], [[_score(m, i) for m in past] for i in ids])
        charts.show(figure, "heat", "Heat map of item scores over the last map versions")
