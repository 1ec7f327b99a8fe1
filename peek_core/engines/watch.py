"""Waiting for a worker's answer under a clock, a memory bound and a stop button.

Owns: the repeated interrupt and the decision to kill (notes C4). Refuses to know: what the statement is.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from peek_core.engines.process import WorkerProcess

TICK_S = 0.1
"""An interrupt that lands before execution starts is lost, so it is repeated every tick until the call returns."""
GRACE_S = 2.0

Cause = Literal["time", "stopped", "memory", "gone"]


class WorkerLost(Exception):
    """The worker was killed or died; `cause` says why."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause)
        self.cause: Cause = cause


@dataclass
class Watch:
    """Watches one statement. `receive` gives its messages until the answer is there or the worker is lost."""

    worker: WorkerProcess
    number: int
    seconds: float
    memory_bytes: int
    stop: threading.Event
    cause: Cause | None = None
    """Why the statement was interrupted, None when it was not."""
    _started: float = field(default_factory=time.monotonic)
    _since: float = 0.0
    _ticked: float = field(default_factory=time.monotonic)

    def receive(self) -> dict[str, Any]:
        """The statement's next message. Raises WorkerLost, after killing the worker where that was needed."""
        while True:
            try:
                message = self.worker.receive(TICK_S)
            except OSError:
                raise WorkerLost(self.cause or "gone") from None
            if message is None or message.get("id") != self.number:
                self._tick()
                continue
            if "rows" in message and "columns" not in message and time.monotonic() - self._ticked > TICK_S:
                # An export that streams without a pause is under the same clock.
                self._tick()
            return message

    def _tick(self) -> None:
        now = self._ticked = time.monotonic()
        if self.worker.rss() > 2 * self.memory_bytes:
            self._lose("memory")
        if self.cause is None:
            self.cause = "stopped" if self.stop.is_set() else "time" if now - self._started > self.seconds else None
            self._since = now
        if self.cause is None:
            return
        if now - self._since > GRACE_S:
            self._lose(self.cause)
        try:
            self.worker.send({"op": "interrupt", "id": self.number})
        except OSError:
            raise WorkerLost(self.cause) from None

    def _lose(self, cause: Cause) -> None:
        self.worker.kill()
        raise WorkerLost(cause)
