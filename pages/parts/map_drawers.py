"""Drawers over the map: to add an item, to edit one, to see what happened to one.

Owns: what is typed, and what a person is told before saving. Refuses to know: what an act does. What is typed stays while
the map moves underneath: a conflict shows both texts, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, followed, table, tag
from peek_core.context_map.history import word_diff
from peek_core.context_map.map import MapItem, MapSection
from peek_core.context_map.slots import following, pieces
from peek_core.context_map.story import Moment
from peek_core.errors import PeekError

SEEN = "_conflict_seen"
KINDS = {"born": "accent", "edited": "accent", "evicted": "warn", "deleted": "warn", "broken": "bad", "drifted": "warn"}
STATES = {"holds": "ok", "drifted": "warn", "broken": "bad", "unverifiable": "line"}


def words_changed(before: str, after: str) -> str:
    """What turned one text into another, word by word."""
    marks = {"gone": "del", "new": "ins"}
    return "".join(
        f"<{marks[how]}>{esc(text)}</{marks[how]}>" if how in marks and text.strip() else esc(text)
        for text, how in word_diff(before, after)
    )


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
    weight(dataset, None, section, text)
    if st.button("Add", type="primary", key="add-save", shortcut="Mod+Enter", disabled=not text.strip()):
        if state.attempt(lambda: state.workspace().curator(dataset).add(section, text, sql)):
            st.rerun()
        state.pending_error()


@st.dialog("Edit item", width=460, position="right")
def edit(dataset: str, item: MapItem, version: int) -> None:
    """Text, evidence and score; saved against the version that was seen."""
    w = state.workspace()
    draw(
        f'<div class="pk-row"><span class="pk-mono">{esc(item.id)}</span>{tag(item.state, STATES[item.state])}'
        f'<span class="pk-muted pk-small">{esc(item.section.heading)}, by {esc(item.author)}</span></div>'
    )
    text = st.text_area("Text", item.text, height=140, key="edit-text")
    _follows(item)
    known = item.evidence.sql if item.evidence else ""
    sql = st.text_area("Evidence query", known, height=110, key="edit-sql")
    score = int(st.number_input("Score", value=item.score, step=1, key="edit-score", width=140))
    weight(dataset, item.id, item.section.value, text)
    if item.question:
        draw(f'<div class="pk-note">Learned from: {esc(item.question)}</div>')
    if item.detail:
        draw(f'<div class="pk-note"><b>Evidence</b>: {esc(item.detail)}</div>')
    theirs = _theirs(dataset, item)
    # What stood beside the button when it was clicked was seen; what came since is a conflict of its own.
    seen = theirs is not None and st.session_state.get(SEEN) == theirs
    with st.container(horizontal=True, gap="small"):
        label = "Save mine over it" if theirs is not None else f"Save as version {w.map(dataset).version + 1}"
        if st.button(label, type="primary", shortcut="Mod+Enter", key="edit-save") and (theirs is None or seen):
            changed = sql if sql != known else None
            curator = w.curator(dataset)
            based_on = w.map(dataset).version if seen else version
            saved = state.attempt(lambda: curator.edit(item.id, text, changed, based_on))
            if saved and score != item.score:
                saved = state.attempt(lambda: curator.score(item.id, score))
            if saved:
                st.rerun()
            state.pending_error()
    st.session_state[SEEN] = theirs


def _follows(item: MapItem) -> None:
    said = following(item.template)
    if said:
        how = (
            "not refilled while the item is frozen" if item.frozen else "refilled when the evidence query gives others"
        )
        text = followed(pieces(item.text, item.template))
        draw(f'<div class="pk-note pk-follows"><b>{esc(said)}</b>, {how}: {text}</div>')


def _theirs(dataset: str, item: MapItem) -> str | None:
    """What somebody made of the item since the drawer opened, shown beside what is typed; None where nobody did."""
    now = state.workspace().map(dataset).item(item.id)
    if now is not None and now.text == item.text:
        return None
    said = "It left the map meanwhile; saving is refused." if now is None else words_changed(item.text, now.text)
    draw(
        f'<div class="pk-error" role="alert"><b>Changed meanwhile.</b> Your text is kept above; the map now says:</div>'
        f'<div class="pk-note" style="padding-top:4px">{said}</div>'
    )
    return "" if now is None else now.text


def weight(dataset: str, id: str | None, section: str, text: str) -> None:
    """What saving would cost in the map and at the next request."""
    w = state.workspace()
    if not text.strip():
        return
    try:
        found = w.curator(dataset).weigh(id, section, text)
    except PeekError as failure:
        draw(f'<div class="pk-note"><b>{esc(failure.sentence())}</b></div>')
        return
    budget = w.map_settings(w.dataset(dataset)).budget
    leaves = ", ".join(i.id for i in found.would_evict)
    said = f"The map takes <b>{found.tokens_before:,} → {found.tokens_after:,}</b> of {budget:,} tokens"
    said += f"; <b>{esc(leaves)}</b> would be evicted" if leaves else ""
    draw(f'<div class="pk-note">{said}.</div>{_anew(dataset)}')


def _anew(dataset: str) -> str:
    """What the next request pays once for any change of the map, as far as the latest one tells."""
    cost = state.workspace().explaining.cache_cost(dataset)
    if cost is None:
        return ""
    cached = "–" if cost.cached is None else f"{cost.cached:,}"
    said = f"The next question reads {cost.tokens:,} tokens anew, once; {cached} of them were cached last time"
    if cost.usd_anew is not None and cost.usd_before is not None:
        said += f": about ${max(0.0, cost.usd_anew - cost.usd_before):.4f} more (an estimate; {cost.prices})"
    return f'<div class="pk-small pk-muted">{esc(said)}.</div>'


@st.dialog("History of an item", width=640, position="right")
def history(dataset: str, id: str) -> None:
    """Every event of an item: who, when, from which question and query."""
    moments: list[Moment] = []
    state.attempt(lambda: moments.extend(state.workspace().curator(dataset).life(id)))
    state.pending_error()
    draw(f'<div class="pk-row"><span class="pk-mono">{esc(id)}</span></div>{lived(moments)}')


def lived(moments: Sequence[Moment]) -> str:
    """The moments as a table, the latest first."""
    rows = [
        [
            f"v{m.version}",
            tag(m.what, KINDS.get(m.what, "line")),
            _moved(m),
            esc(m.author),
            esc(datetime.fromtimestamp(m.at).strftime("%d %b %H:%M")),
        ]
        for m in reversed(moments)
    ]
    return table(["", "", "What", "By", "When"], rows)


def _moved(m: Moment) -> str:
    said = words_changed(m.before, m.after) if m.before and m.after else esc(m.after or m.before or "–")
    more = [f"from the question “{m.question}”" if m.question else "", m.why]
    told = "; ".join(filter(None, more))
    sql = f'<div class="pk-sql pk-muted">{esc(m.evidence)}</div>' if m.evidence and m.what in ("born", "edited") else ""
    return said + (f'<div class="pk-small pk-muted">{esc(told)}</div>' if told else "") + sql
