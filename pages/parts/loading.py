"""Loading a file with progress in sight and a way to stop.

Owns: the load job of a session. Refuses to know: how files are read.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import streamlit as st

from pages.parts import state
from peek_core.corpus.load import Source
from peek_core.errors import PeekError
from peek_core.values.dataset import Dataset
from peek_core.workspace import Workspace


class LoadJob:
    """One load on its own thread; `stage` and `done` are what the page shows."""

    def __init__(self, source: Source, title: str, keep: bool) -> None:
        self.stage, self.done = "starting", None
        self.made: Dataset | None = None
        self.failure: PeekError | None = None
        self.stop = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(state.workspace(), source, title, keep), daemon=True)
        self._thread.start()

    def _work(self, w: Workspace, source: Source, title: str, keep: bool) -> None:
        try:
            self.made = w.load(source, title=title, keep=keep, progress=self._tell, cancelled=self.stop.is_set)
        except PeekError as failure:
            self.failure = failure

    def _tell(self, stage: str, done: float | None) -> None:
        self.stage, self.done = stage, done

    @property
    def running(self) -> bool:
        return self._thread.is_alive()


def load_with_progress(source: Source, title: str, keep: bool) -> Dataset | None:
    """Load and show progress; None when it failed (the sentence shows at the next run) or was stopped.

    Clicking Stop reruns the page, which ends this script; the `finally` then stops the worker.
    """
    job = LoadJob(source, title, keep)
    bar = st.progress(0.0, text=f"Reading {Path(title).name[:60]}")
    st.button("Stop", key="stop-load", icon=":material/stop_circle:")
    try:
        while job.running:
            bar.progress(min(1.0, job.done or 0.0), text=job.stage[:1].upper() + job.stage[1:])
            time.sleep(0.1)
    finally:
        job.stop.set()
    if job.failure is not None:
        st.session_state["_error"] = job.failure.sentence()
    return job.made
