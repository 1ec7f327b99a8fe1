"""The versions of a dataset: when each came, what belongs to it; asking one as it was, deleting one.

Owns: the list and its acts. Refuses to know: what a version is made of.
"""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from pages.parts import route, state
from pages.parts.html import draw, esc, head, tag
from peek_core.returning import Depends
from peek_core.values.dataset import DatasetVersion


def listed(dataset: str) -> None:
    """Newest first."""
    w = state.workspace()
    held = w.returning.versions(dataset)
    draw(head("Versions", f"{len(held)}; each keeps its rows, its answers and the map as it stood"))
    with st.container(gap="xsmall"):
        for v in reversed(held):
            _row(dataset, v, w.returning.depends(dataset, v.number), alone=len(held) == 1)


def _row(dataset: str, v: DatasetVersion, on: Depends, alone: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-version-{v.number}"):
        when = datetime.fromtimestamp(v.created).strftime("%d %b %Y")
        files = ", ".join(s.name for s in v.report.sources)
        newest = tag("newest", "ok") if on.newest else ""
        draw(
            f'<div class="pk-row"><b>Version {v.number}</b>{newest}<span class="pk-muted pk-small">{esc(when)}</span></div>'
            f'<div class="pk-small pk-muted">{v.report.rows:,} rows from {esc(files)}; {_count(on.questions, "question")} '
            f"asked of it, {_count(on.map_versions, 'map version')} verified on it</div>",
            width="stretch",
        )
        if not on.newest and st.button("Ask it", key=f"ask-version-{v.number}", type="tertiary"):
            route.go("ask", dataset=dataset, **{state.AS_OF: str(v.number)})
        if not alone and st.button(
            "", key=f"delete-version-{v.number}", type="tertiary", icon=":material/delete:", help="Delete this version"
        ):
            delete(dataset, on)


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"


@st.dialog("Delete a version")
def delete(dataset: str, on: Depends) -> None:
    """Says what depends on it first."""
    after = " The one before becomes the newest again, and the map is checked on it." if on.newest else ""
    draw(
        f"<b>Version {on.number}</b>: its rows and its kept file are erased. {_count(on.questions, 'question')} asked of it "
        f"and {_count(on.map_versions, 'map version')} verified on it stay, but those answers can’t be run again.{after} "
        "This can’t be undone."
    )
    if st.button(f"Delete version {on.number}", type="primary", key="delete-version-do") and state.attempt(
        lambda: state.workspace().returning.delete(dataset, on.number), f"Version {on.number} is deleted"
    ):
        st.rerun()
    state.pending_error()
