"""What is found after Plan waits for the next request (ContextPipe, EmergentContext).

Owns: the queue: time to live of one turn, no content twice, a cap. Refuses to know: what an item says, where it is placed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from peek_core.values.canon import content_hash
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord


class EmergentQueue:
    """Safe from several threads. Items shown in a request that succeeded are gone; a failed one leaves them waiting."""

    CAP = 16

    def __init__(self, cap: int = CAP, *, dedup: bool = True) -> None:
        self._cap, self._dedup = cap, dedup
        self._waiting: OrderedDict[str, SourceRecord] = OrderedDict()
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._written = 0
        self.overflowed = 0
        """Items that found no room, since the last `advance`."""

    def write(self, text: str) -> bool:
        """Let it wait for the next request; False where it was said before, or there is no room."""
        key = content_hash(text)
        with self._lock:
            if self._dedup and key in self._seen:
                return False
            if len(self._waiting) >= self._cap:
                self.overflowed += 1
                return False
            self._seen.add(key)
            self._written += 1
            name = f"notice {self._written}"
            self._waiting[name] = SourceRecord(
                name=name,
                kind=Kind.NOTICE,
                tier=LifecycleTier.EMERGENT,
                scope=Scope.NONE,
                priority=Priority.FIRST,
                role="user",
                text=text,
                markerable=False,
            )
            return True

    def due(self) -> tuple[SourceRecord, ...]:
        """What the next request carries, oldest first."""
        with self._lock:
            return tuple(self._waiting.values())

    def advance(self, shown: tuple[str, ...]) -> None:
        """These names were in a request that succeeded: their turn is over."""
        with self._lock:
            self.overflowed = 0
            for name in shown:
                self._waiting.pop(name, None)
