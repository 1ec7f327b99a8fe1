"""Items that left the map: which, when, why, and the way back.

Owns: the list. Refuses to know: what bringing one back takes.
"""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from pages.parts import map_drawers, state
from pages.parts.html import draw, esc, signed, tag
from peek_core.context_map.map import MapSection
from peek_core.context_map.story import Gone

SHOWN = 60


def listed(dataset: str) -> None:
    """The latest first."""
    left = state.workspace().curator(dataset).graveyard()
    if not left:
        draw('<div class="pk-note">Nobody left yet. What is evicted or deleted is kept here and can come back.</div>')
        return
    with st.container(gap="xsmall"):
        for gone in left[:SHOWN]:
            _row(dataset, gone)
    if len(left) > SHOWN:
        draw(f'<div class="pk-small pk-muted">{len(left) - SHOWN:,} older ones are kept too.</div>')


def _row(dataset: str, gone: Gone) -> None:
    item = gone.item
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"row-gone-{item.id}"):
        when = datetime.fromtimestamp(gone.at).strftime("%d %b %Y")
        told = f"{gone.how} by {gone.by} in version {gone.version}, {when}" + (f": {gone.why}" if gone.why else "")
        draw(
            f'<div class="pk-refused"><div>{esc(item.text)}<span class="pk-rowtag">{tag(f"score {signed(item.score)}", "line")}'
            f'</span></div><div class="pk-small pk-muted"><span class="pk-id">{esc(item.id)}</span> '
            f"{esc(MapSection(item.section).heading)}; {esc(told)}</div></div>",
            width="stretch",
        )
        if st.button("Bring back", key=f"revive-{item.id}"):
            state.attempt(lambda: state.workspace().curator(dataset).revive(item.id), f"{item.id} is back")
            st.rerun()
        if st.button("History", key=f"gone-history-{item.id}", type="tertiary"):
            map_drawers.history(dataset, item.id)
