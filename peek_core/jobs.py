"""Jobs: questions worked on in the background, a few at a time, stoppable from anywhere.

Owns: threads, cancelling, heartbeats, recovery. Refuses to know: what a job does. State lies in the store, so that
a reload, a second tab or another process sees the same job.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from collections.abc import Callable
from typing import Any

from peek_core.errors import Cancelled
from peek_core.settings import Settings
from peek_core.store.sql_store import SqlStore

log = logging.getLogger("peek.jobs")
CLOSING_S = 10.0
"""So long a stopped run may take to store its end when the server goes."""


class CancelSignal:
    """Implements ports.CancelToken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._acts: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._set

    def check(self) -> None:
        """Raise Cancelled if stopped."""
        if self._set:
            raise Cancelled("Stopped", next="Ask again when you are ready.")

    def on_cancel(self, act: Callable[[], None]) -> Callable[[], None]:
        """Call `act` once when stopped; returns a function that takes it back."""
        with self._lock:
            if not self._set:
                self._acts.append(act)
                return lambda: self._take_back(act)
        act()
        return lambda: None

    def cancel(self) -> None:
        with self._lock:
            if self._set:
                return
            self._set, acts, self._acts = True, self._acts, []
        for act in acts:
            with contextlib.suppress(Exception):
                act()

    def _take_back(self, act: Callable[[], None]) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._acts.remove(act)


class JobManager:
    """Runs queued runs of this process. `work(run id, cancel)` does one and never raises for an expected end."""

    def __init__(self, settings: Settings, store: SqlStore, work: Callable[[str, CancelSignal], None]) -> None:
        self._settings, self._store, self._work = settings, store, work
        self.owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._running: dict[str, tuple[CancelSignal, threading.Thread]] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submitted(self) -> None:
        """Say that a run was queued."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="peek-jobs", daemon=True)
                self._thread.start()
        self._wake.set()

    def cancel(self, run: str) -> None:
        """Stop a run here at once; in another process within a heartbeat."""
        self._store.request_cancel(run)
        with self._lock:
            working = self._running.get(run)
        if working:
            working[0].cancel()

    def close(self) -> None:
        """Stop everything this process runs, and wait until it has stopped writing."""
        self._closed = True
        with self._lock:
            working = list(self._running.values())
        for signal, _ in working:
            signal.cancel()
        self._wake.set()
        for thread in (*(t for _, t in working), self._thread):
            if thread is not None and thread is not threading.current_thread():
                thread.join(CLOSING_S)

    def _loop(self) -> None:
        while not self._closed:
            try:
                self._store.recover(self._settings.stale_s)
                while (row := self._store.claim_run(self.owner, self._settings.jobs)) is not None:
                    self._start(row)
                self._beat()
                # Idle processes only wake for a new question: an empty server costs nothing.
                busy = bool(self._running) or self._store.has_queued(self.owner)
            except Exception:
                log.exception("the job loop failed; it goes on")
                busy = True
            self._wake.wait(self._settings.heartbeat_s / 4 if busy else None)
            self._wake.clear()

    def _start(self, row: Any) -> None:
        signal = CancelSignal()
        thread = threading.Thread(target=self._do, args=(row.id, signal), name=f"peek-run-{row.id}", daemon=True)
        with self._lock:
            self._running[row.id] = signal, thread
        thread.start()

    def _do(self, run: str, signal: CancelSignal) -> None:
        try:
            self._work(run, signal)
        except Exception:
            log.exception("run %s failed unexpectedly", run)
            self._store.update_run(
                run,
                status="failed",
                phase="done",
                ended=self._store.now(),
                reason="Something went wrong inside the app. The log has the details; ask again.",
            )
        finally:
            with self._lock:
                self._running.pop(run, None)
            self._wake.set()

    def _beat(self) -> None:
        with self._lock:
            running = dict(self._running)
        self._store.beat(self.owner)
        for run, (signal, _) in running.items():
            if self._store.cancel_requested(run):
                signal.cancel()
