"""The one budget ledger of a run: reserved before each call, checked at every host call.

Owns: what was spent and what is left. Refuses to know: what it was spent on.
"""

from __future__ import annotations

import threading

from peek_core.errors import OutOfBudget
from peek_core.ports import CancelToken, Clock
from peek_core.settings import RunLimits


class Ledger:
    """Counts turns, model calls, queries, tokens and wall time of one run. Safe from several threads."""

    def __init__(self, limits: RunLimits, clock: Clock, cancel: CancelToken) -> None:
        self._limits = limits
        self._clock = clock
        self._cancel = cancel
        self._lock = threading.Lock()
        self._started = clock()
        self._spent = {"model_calls": 0, "sql_queries": 0, "llm_queries": 0, "tokens": 0}

    def spend(self, what: str, amount: int = 1) -> None:
        """Reserve; raises OutOfBudget naming spent and limit, or Cancelled."""
        self.check()
        limit = getattr(self._limits, what)
        with self._lock:
            spent = self._spent[what] + amount
            if spent > limit:
                name = what.replace("_", " ")
                raise OutOfBudget(f"The run used its {limit:,} {name}", next="Ask a narrower question.")
            self._spent[what] = spent

    def settle(self, reserved: int, actual: int) -> None:
        """Replace a token reservation by what was really used."""
        with self._lock:
            self._spent["tokens"] += actual - reserved

    def check(self) -> None:
        """Raise Cancelled if stopped, OutOfBudget when the wall time is over."""
        self._cancel.check()
        if self._clock() - self._started > self._limits.wall_s:
            raise OutOfBudget(
                f"The run took longer than {self._limits.wall_s:.0f} seconds", next="Ask a narrower question."
            )

    def spent(self) -> dict[str, int]:
        """A copy of the counters."""
        with self._lock:
            return dict(self._spent)
