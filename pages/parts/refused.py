"""What updates wanted to write and admission refused, with the reason, and a person's way to admit it all the same.

Owns: the list and its buttons. Refuses to know: what admission checks.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, tag
from peek_core.cli_text import NOTHING_REFUSED
from peek_core.context_map.map import MapSection
from peek_core.curation import Refusal

SHOWN = 50


def listed(dataset: str) -> None:
    """Newest first."""
    kept = state.workspace().curator(dataset).refused()
    if not kept:
        draw(
            f'<div class="pk-note">{esc(NOTHING_REFUSED)} What an update may not write, such as a number its own query does '
            "not show, is kept here with the reason.</div>"
        )
        return
    draw(
        '<div class="pk-note">Admitting makes the item yours. Its query runs again; one that fails or does not show what '
        "the text says is left out.</div>"
    )
    with st.container(gap="xsmall"):
        for one in kept[:SHOWN]:
            _row(dataset, one)
    if len(kept) > SHOWN:
        draw(f'<div class="pk-small pk-muted">{len(kept) - SHOWN:,} older ones are kept too.</div>')


def _row(dataset: str, one: Refusal) -> None:
    again = ' <span class="pk-muted">State the rule again in a question.</span>' if one.edit is None else ""
    with st.container(gap="xsmall", key=f"row-refused-{one.id}"):
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            draw(
                f'<div class="pk-refused"><div>{esc(one.says)}<span class="pk-rowtag">{tag(_what(one), "line")}</span></div>'
                f'<div class="pk-small"><span class="pk-muted">Refused by the update to version {one.version}:</span> '
                f"{esc(one.why)}.{again}</div></div>",
                width="stretch",
            )
            admit = one.edit is not None and st.button("Admit", key=f"admit-{one.id}")
        if admit:
            if state.attempt(lambda: state.workspace().curator(dataset).admit(one.id), "Admitted; the item is yours"):
                st.rerun()
            state.pending_error()  # beside the button: the top of the page may be out of sight


def _what(one: Refusal) -> str:
    """What it would have done."""
    if one.edit is None:
        return "definition"
    if one.edit.op == "ADD":
        known = {s.value: s.heading for s in MapSection}
        return f"new in {known.get(one.edit.section, one.edit.section)}"
    return f"{'change' if one.edit.op == 'REPLACE' else 'delete'} {one.edit.id}"
