"""A list of questions, pasted or from a file, asked one after the other.

Owns: the form and reading the list. Refuses to know: how questions run.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from peek_core.samples import sample

MOST = 200


def series(dataset: str) -> None:
    """A popover; each line is one question."""
    w = state.workspace()
    with st.popover("Ask a list", icon=":material/list:", type="tertiary", key="series"):
        file = st.file_uploader("From a text file, one question a line", type=["txt", "csv"], key="series-file")
        known = w.dataset(dataset).options.get("sample")
        start = file.getvalue().decode("utf-8", "replace") if file else ""
        text = st.text_area("Questions, one a line", value=start, key=f"series-text-{bool(file)}", height=180)
        use_sample = bool(known) and st.toggle("The sample’s own series", key="series-sample")
        questions = [q.strip().strip('"') for q in text.splitlines() if q.strip()]
        if use_sample:
            questions = [q["question"] for q in sample(str(known)).questions]
        if len(questions) > MOST:
            st.caption(f"Only the first {MOST} are asked.")
        if st.button(
            f"Ask {min(len(questions), MOST)} questions", type="primary", key="series-ask", disabled=not questions
        ):
            state.attempt(lambda: [w.ask(dataset, q, patient=True) for q in questions[:MOST]])
            st.rerun()
