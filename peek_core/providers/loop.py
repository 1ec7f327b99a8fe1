"""One event loop on one thread for all network calls, so that a call can be cancelled before its first byte.

Owns: the loop thread. Refuses to know: what runs on it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from peek_core.errors import Cancelled
from peek_core.ports import CancelToken

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for callers on other threads. Starts with its first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, T], cancel: CancelToken) -> T:
        """The coroutine's result; raises Cancelled as soon as the person stops the run."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())

        def stop() -> None:
            future.cancel()

        take_back = cancel.on_cancel(stop)
        try:
            return future.result()
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            raise Cancelled("Stopped while waiting for the model", next="Ask again when you are ready.") from None
        finally:
            take_back()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="peek-loop", daemon=True).start()
            return self._loop
