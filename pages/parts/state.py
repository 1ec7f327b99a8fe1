"""What a page may hold: the workspace, and ids in the session. Typed access, so that no page spells a key.

Owns: the cached workspace and session keys. Refuses to know: drawing.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable

import streamlit as st

from peek_core import settings
from peek_core.comparison import Comparisons
from peek_core.endpoints import NeedsConsent
from peek_core.errors import PeekError
from peek_core.workspace import Workspace

DATASET = "dataset"
"""Widget key and URL parameter of the dataset bar."""
RUN = "run"
AS_OF = "version"
"""URL parameter: the version of the data that questions go to, where it is not the newest."""


@st.cache_resource(show_spinner=False)
def workspace() -> Workspace:
    """One per server."""
    made = Workspace(settings.read())
    # A full collection walks everything that was imported; frozen objects are left out of it. What pages and jobs
    # would import later is imported here, so that it is frozen too and nobody waits for it.
    for name in (
        "pandas",
        "plotly.graph_objects",
        "sqlglot.dialects.duckdb",
        *(["openai"] if made.endpoints.current else []),
    ):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    return made


@st.cache_resource(show_spinner=False)
def comparisons() -> Comparisons:
    return Comparisons(workspace())


def dataset_id() -> str | None:
    """The chosen dataset, None when there is none (any more)."""
    chosen = st.session_state.get(DATASET)
    known = [d.id for d in workspace().datasets()]
    return chosen if chosen in known else known[0] if known else None


def choose(dataset: str) -> None:
    """Make a dataset the chosen one; takes effect at the next run of the frame."""
    st.session_state["_choose"] = dataset


def run_id() -> str | None:
    """The run the address points at."""
    value = st.query_params.get(RUN)
    return str(value) if value else None


def as_of(dataset: str) -> int | None:
    """The earlier version that questions go to; None where it is the newest."""
    value = st.query_params.get(AS_OF, "")
    held = workspace().dataset(dataset)
    there = {v.number for v in workspace().returning.versions(dataset)}
    return int(value) if value.isdecimal() and int(value) in there - {held.version} else None


def csv_of(dataset: str, sql: str, version: int | None = None) -> bytes:
    """The whole result of a query as CSV, run now on the version it was asked of; formula starts neutralised."""
    w = workspace()
    target = w.shelf.upload_path(".csv")
    try:
        w.export_csv(dataset, sql, target, version=version)
        return target.read_bytes()
    finally:
        target.unlink(missing_ok=True)
        target.parent.rmdir()


def attempt(act: Callable[[], object], done: str = "") -> bool:
    """Do something a person asked for; a failure becomes a sentence on the page. True when it worked."""
    try:
        act()
    except PeekError as failure:
        st.session_state["_error"] = failure.sentence()
        return False
    if done:
        st.toast(done.replace("[", "\\[").replace("!", "\\!"))
    return True


def attempt_raw(act: Callable[[], object]) -> None:
    """As `attempt`, but a missing consent is the caller's to handle."""
    try:
        act()
    except NeedsConsent:
        raise
    except PeekError as failure:
        st.session_state["_error"] = failure.sentence()


def pending_error() -> None:
    """Show the sentence of the act that just failed, once. Plain text: it may quote a file name or a cell."""
    text = st.session_state.pop("_error", None)
    if text:
        from pages.parts.html import draw, esc

        draw(f'<div class="pk-error" role="alert">{esc(text)}</div>')
