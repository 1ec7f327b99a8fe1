"""The question before the first send: what of this dataset may go to the model endpoint.

Owns: the form. Refuses to know: what each level does inside.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc

LEVELS = {
    "aggregates": "Aggregates: column names, value lists, counts and sums; no rows, no comments",
    "schema_only": "Schema only: table and column names and types; no values at all, the answer is put together here",
    "sample_rows": "Sample rows: results of queries as they are, rows and comments too",
}


def consent(dataset: str, question: str, ask: Callable[[str], None]) -> None:
    """Ask once per dataset and endpoint; the waiting question is asked after the choice."""
    w = state.workspace()
    host = w.endpoints.current.base_url if w.endpoints.current else ""
    with st.container(border=True, key="consent"):
        draw(
            f"<b>What may go to {esc(host)}?</b><div class='pk-note'>Nothing of this dataset has left this machine yet. "
            "Your question itself is always sent.</div>"
        )
        level = st.radio(
            "Sharing level",
            list(LEVELS),
            format_func=LEVELS.__getitem__,
            key="sharing-level",
            label_visibility="collapsed",
        )
        with st.container(horizontal=True):
            if st.button("Share this and ask", type="primary", key="consent-yes"):
                w.endpoints.share(dataset, level)
                st.session_state.pop("_waiting", None)
                ask(question)
            if st.button("Don’t send", key="consent-no"):
                st.session_state.pop("_waiting", None)
                st.rerun()
