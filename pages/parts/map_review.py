"""What the agent would change while review mode is on: accepted, edited or rejected, one by one or together.

Owns: the list and its buttons. Refuses to know: how a suggestion is applied.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import map_drawers, state
from pages.parts.html import draw, esc, tag
from peek_core.context_map.map import MapSection
from peek_core.context_map.review import Suggestion

OPS = {"ADD": "new", "REPLACE": "change", "DELETE": "delete"}


def listed(dataset: str, on: bool) -> None:
    """Oldest first, as they were made."""
    w = state.workspace()
    waiting = w.curator(dataset).suggestions()
    if not waiting:
        said = (
            "Nothing waits. What the next questions teach will stand here first."
            if on
            else "Review mode is off: what questions teach is applied at once. Switch it on above to decide yourself."
        )
        draw(f'<div class="pk-note">{said}</div>')
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        draw(f'<div class="pk-cap">{len(waiting)} edit{"s" * (len(waiting) != 1)} wait for you</div>', width="stretch")
        if st.button("Accept all", type="primary", key="take-all"):
            state.attempt(lambda: w.curator(dataset).take_all(), "Accepted")
            st.rerun()
        if st.button("Reject all", key="turn-down-all"):
            state.attempt(lambda: w.curator(dataset).turn_down_all(), "Rejected")
            st.rerun()
    with st.container(gap="xsmall"):
        for one in waiting:
            _row(dataset, one)


def _row(dataset: str, one: Suggestion) -> None:
    w = state.workspace()
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"row-suggestion-{one.id}"):
        section = MapSection(one.edit.section).heading if one.edit.section in {s.value for s in MapSection} else ""
        told = [
            f"{section} {one.edit.id}".strip(),
            f"from the question “{one.question}”" if one.question else "",
            one.why,
            one.outdated,
        ]
        draw(
            f'<div class="pk-refused"><div>{_text(one)}<span class="pk-rowtag">{tag(OPS[one.edit.op], "accent")}'
            f"{tag(one.state, map_drawers.STATES[one.state]) if one.edit.op != 'DELETE' else ''}</span></div>"
            f'<div class="pk-small pk-muted">{esc("; ".join(filter(None, told)))}</div></div>',
            width="stretch",
        )
        if one.applies and st.button("Accept", key=f"take-{one.id}"):
            state.attempt(lambda: w.curator(dataset).take(one.id), "Accepted")
            st.rerun()
        if one.edit.op != "DELETE" and st.button("Edit", key=f"reword-{one.id}", type="tertiary"):
            reword(dataset, one)
        if st.button("Reject", key=f"turn-down-{one.id}", type="tertiary"):
            state.attempt(lambda: w.curator(dataset).turn_down(one.id), "Rejected")
            st.rerun()


def _text(one: Suggestion) -> str:
    if one.edit.op == "DELETE":
        return f"<del>{esc(one.before)}</del>"
    return map_drawers.words_changed(one.present or one.before, one.edit.text) if one.before else esc(one.edit.text)


@st.dialog("Accept in your words", width=460, position="right")
def reword(dataset: str, one: Suggestion) -> None:
    """The suggestion, worded otherwise; it is the person's then."""
    text = st.text_area("Text", one.edit.text, height=140, key="reword-text")
    map_drawers.weight(dataset, one.edit.id or None, one.edit.section, text)
    if st.button("Accept", type="primary", shortcut="Mod+Enter", key="reword-save", disabled=not text.strip()):
        if state.attempt(lambda: state.workspace().curator(dataset).take(one.id, text), "Accepted; the item is yours"):
            st.rerun()
        state.pending_error()
