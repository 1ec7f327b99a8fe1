"""Loading files with progress in sight and a way to stop.

Owns: the load job of a session. Refuses to know: how files are read.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.parts import state
from pages.parts.html import words
from peek_core.corpus.desk import Progress
from peek_core.corpus.load import Source
from peek_core.errors import PeekError
from peek_core.values.dataset import Dataset

T = TypeVar("T")


@dataclass(frozen=True)
class Order:
    """Files that become one dataset. `keep`: whether their originals are stored."""

    sources: Sequence[Source]
    title: str
    keep: bool


class Job(Generic[T]):
    """Work on a thread of its own; `stage` and `done` are what the page shows."""

    def __init__(self, work: Callable[[Progress, Callable[[], bool]], T]) -> None:
        self.stage: str = "starting"
        self.done: float | None = None
        self.made: T | None = None
        self.failure: PeekError | None = None
        self.stop = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(work,), daemon=True)
        self._thread.start()

    def _work(self, work: Callable[[Progress, Callable[[], bool]], T]) -> None:
        try:
            self.made = work(self._tell, self.stop.is_set)
        except PeekError as failure:
            self.failure = failure

    def _tell(self, stage: str, done: float | None) -> None:
        self.stage, self.done = stage, done

    @property
    def running(self) -> bool:
        return self._thread.is_alive()


@contextmanager
def copied(files: Sequence[UploadedFile]) -> Iterator[list[Source]]:
    """Uploads as sources: copied to the data directory for as long as they are read."""
    w = state.workspace()
    sources: list[Source] = []
    try:
        for file in files:
            target = w.shelf.upload_path(Path(file.name).suffix)
            sources.append(Source(target, Path(file.name).name))
            target.write_bytes(file.getbuffer())
        yield sources
    finally:
        for source in sources:
            shutil.rmtree(source.path.parent, ignore_errors=True)


def with_progress(title: str, work: Callable[[Progress, Callable[[], bool]], T]) -> T | None:
    """Do the work and show how far it is; None when it failed (the sentence shows at the next run) or was stopped.

    Clicking Stop reruns the page, which ends this script; the `finally` then stops the work.
    """
    job = Job(work)
    bar = st.progress(0.0, text=words(title))
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


def load_with_progress(orders: Sequence[Order]) -> list[Dataset]:
    """Load one order after the other; what failed is missing, as is all after a stop."""
    w = state.workspace()
    failures: list[str] = []

    def work(tell: Progress, stopped: Callable[[], bool]) -> list[Dataset]:
        made = []
        for order in orders:
            if stopped():
                break
            try:
                made.append(
                    w.load(*order.sources, title=order.title, keep=order.keep, progress=tell, cancelled=stopped)
                )
            except PeekError as failure:
                failures.append(failure.sentence())
        return made

    names = ", ".join(Path(order.title).name for order in orders)
    made = with_progress(f"Reading {names[:60]}", work)
    if failures:
        st.session_state["_error"] = " ".join(failures)
    return made or []
