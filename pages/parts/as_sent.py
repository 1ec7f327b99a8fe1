"""What the model will see of the map, byte for byte, each line with its tokens.

Owns: how it is drawn. Refuses to know: what else stands in a prompt; Explain shows that.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, head
from peek_core.endpoints import NeedsConsent
from peek_core.policies.seen import Seen, SeenRecord


def shown(dataset: str) -> None:
    """Both records."""
    try:
        seen = state.workspace().seen(dataset)
    except NeedsConsent as wanted:
        draw(f'<div class="pk-note">{esc(wanted.sentence())}</div>')
        return
    for record in seen.records:
        draw(head(record.name.capitalize(), f"{record.tokens:,} tokens") + _lines(record))
    _foot(seen)


def _lines(record: SeenRecord) -> str:
    rows = "".join(
        f'<span class="n">{line.tokens}</span><span>{esc(line.text) or "&nbsp;"}</span>' for line in record.lines
    )
    return f'<div class="pk-seen">{rows}</div>'


def _foot(seen: Seen) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        draw(
            f'<div class="pk-small pk-muted">{seen.tokens:,} tokens; sha256 <span class="pk-mono">{esc(seen.sha256[:16])}…'
            "</span></div>",
            width="stretch",
        )
        st.download_button(
            "Download these bytes", seen.text.encode(), file_name="as-sent.txt", mime="text/plain", type="tertiary",
            icon=":material/download:", key="download-seen", on_click="ignore",
        )  # fmt: skip
