"""One sandbox worker and its state: fed, saved, killed, restored.

Owns: the pool, the checked-out session, the saved state. Refuses to know: cells, host functions, error texts.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Callable

import psutil  # type: ignore[import-untyped]
import pydantic_monty as pm

from peek_core.errors import Broken
from peek_core.interpreters import prelude
from peek_core.settings import CellLimits

MAX_SAVED = 128 * 2**20
"""Bytes of a saved state that is kept; a larger one is not, and the state before it stays."""
Print = Callable[[str, str], None]


class SandboxLost(Exception):
    """The worker died or can't be used any more."""


class Session:
    """A sandbox session that can be restored to the state after its last good cell."""

    def __init__(self, limits: CellLimits, now: datetime.datetime | None) -> None:
        """Start a worker and feed it the prelude. Raises Broken when the sandbox can't be started."""
        self._limits, self._now = limits, now
        self._life = threading.Lock()
        self._process: psutil.Process | None = None
        self._saved: tuple[bytes, int] | None = None
        self._session: pm.MontySession | None = None
        try:
            self._pool = pm.Monty(min_processes=1, max_processes=2, checkout_timeout=30.0).__enter__()
            self._open(None)
            self._feed_prelude()
            self.save()
        except Exception as error:
            raise Broken("The Python sandbox could not be started", next="Check the installation.") from error

    def _open(self, state: tuple[bytes, int] | None) -> None:
        limits = pm.ResourceLimits(
            max_feed_duration_secs=self._limits.feed_s,
            max_turn_duration_secs=self._limits.turn_s,
            max_memory=self._limits.memory_bytes,
            max_recursion_depth=self._limits.recursion,
            max_suspensions=self._limits.suspensions,
        )
        policy = pm.OSPolicy(sleep="zero", random_start={"seed": 0})
        if self._now is not None:
            policy["datetime"] = self._now
        session = self._pool.checkout(script_name="cell", limits=limits, os_policy=policy).__enter__()
        if state is not None:
            session.load_session(state[0])
        self.feeds = state[1] if state is not None else 0
        pid = session.worker_pid
        with self._life:
            self._session = session
            with contextlib.suppress(psutil.Error):
                self._process = psutil.Process(pid) if pid else None

    def _feed_prelude(self) -> None:
        assert self._session is not None
        self.feeds += 1
        self._session.feed_run(prelude.SOURCE)

    def start(self, code: str, show: Print) -> pm.SyncSnapshot:
        """Feed a cell; the first snapshot. Raises SandboxLost when there is no usable worker, MontyError otherwise."""
        if self._session is None:
            raise SandboxLost("no session")
        self.feeds += 1
        return self._session.feed_start(code, print_callback=show)

    @property
    def feed_name(self) -> str:
        """The name tracebacks give the latest feed."""
        return f"<python-input-{self.feeds - 1}>"

    @property
    def next_feed(self) -> str:
        """The name tracebacks will give the next feed."""
        return f"<python-input-{self.feeds}>"

    def save(self) -> None:
        """Keep the state as the one to restore. Raises SandboxLost when the worker does not answer any more."""
        if self._session is None:
            raise SandboxLost("no session")
        try:
            state = self._session.dump()
        except Exception as error:
            raise SandboxLost(str(error)) from error
        if len(state) <= MAX_SAVED:
            self._saved = (state, self.feeds)

    def restore(self) -> bool:
        """Replace the worker by one in the saved state; False when it had to start empty. Raises Broken."""
        self._leave()
        try:
            try:
                self._open(self._saved)
                return True
            except (pm.MontyError, RuntimeError):
                self._leave()
                self._open(None)
                self._feed_prelude()
                return False
        except Exception as error:
            raise Broken("The Python sandbox was lost and could not be started again") from error

    def kill(self) -> None:
        """Kill the worker, from any thread; a cell that runs then ends with SandboxLost."""
        with self._life:
            process = self._process
        if process is not None:
            # psutil checks that the id still is the process it was, so a reused id is never hit.
            with contextlib.suppress(psutil.Error):
                process.kill()

    def close(self) -> None:
        """End worker and pool."""
        self.kill()
        self._leave()
        with contextlib.suppress(Exception):
            self._pool.__exit__(None, None, None)

    def _leave(self) -> None:
        with self._life:
            session, self._session, self._process = self._session, None, None
        if session is not None:
            with contextlib.suppress(Exception):
                session.__exit__(None, None, None)
