"""The one budget ledger of a run: reserved before each call, checked at every host call.

Owns: what was spent and what is left, of this question and of the day. Refuses to know: what it was spent on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from peek_core.errors import OutOfBudget
from peek_core.ports import CancelToken, Clock
from peek_core.settings import DayLimits, RunLimits


@dataclass(frozen=True)
class Day:
    """What other runs have spent since midnight. `usd` counts what has a known price."""

    model_calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    wall_s: float = 0.0


class Ledger:
    """Counts turns, model calls, queries, tokens, money and wall time of one run. Safe from several threads."""

    def __init__(
        self,
        limits: RunLimits,
        clock: Clock,
        cancel: CancelToken,
        *,
        day: DayLimits | None = None,
        others: Callable[[], Day] = Day,
    ) -> None:
        self._limits, self._day, self._others = limits, day or DayLimits(), others
        self._clock = clock
        self._cancel = cancel
        self._lock = threading.Lock()
        self._started = clock()
        self._spent: dict[str, float] = {"model_calls": 0, "sql_queries": 0, "llm_queries": 0, "tokens": 0, "usd": 0.0}

    def spend(self, what: str, amount: int = 1) -> None:
        """Reserve; raises OutOfBudget naming spent and limit, or Cancelled."""
        self.check()
        with self._lock:
            self._reserve({what: amount})

    def call(self, tokens: int, usd: float | None) -> None:
        """Reserve one model request of so many tokens and, where its price is known, so much money: all of it or nothing."""
        self.check()
        others, now, wanted = self._others(), self._clock(), {"model_calls": 1, "tokens": tokens, "usd": usd or 0.0}
        with self._lock:
            self._check_day(others, now, wanted)
            self._reserve(wanted)

    def settle(self, reserved: int, actual: int, reserved_usd: float | None = None, usd: float | None = None) -> None:
        """Replace a reservation by what was really used. What was reserved stays where the price is unknown."""
        with self._lock:
            self._spent["tokens"] += actual - reserved
            if reserved_usd is not None:
                self._spent["usd"] += (reserved_usd if usd is None else usd) - reserved_usd

    def check(self) -> None:
        """Raise Cancelled if stopped, OutOfBudget when the wall time is over."""
        self._cancel.check()
        if self._clock() - self._started > self._limits.wall_s:
            raise OutOfBudget(
                f"The run took longer than {self._limits.wall_s:.0f} seconds", next="Ask a narrower question."
            )

    def spent(self) -> Mapping[str, float]:
        """A copy of the counters."""
        with self._lock:
            return dict(self._spent)

    def _reserve(self, wanted: Mapping[str, float]) -> None:
        for what, amount in wanted.items():
            limit = getattr(self._limits, what)
            if self._spent[what] + amount > limit:
                name = f"${limit:,.2f} (estimate)" if what == "usd" else f"{limit:,} {what.replace('_', ' ')}"
                raise OutOfBudget(f"The run used its {name}", next="Ask a narrower question.")
        for what, amount in wanted.items():
            self._spent[what] += amount

    def _check_day(self, others: Day, now: float, wanted: Mapping[str, float]) -> None:
        totals = {what: getattr(others, what) + self._spent[what] + amount for what, amount in wanted.items()}
        totals["wall_s"] = others.wall_s + now - self._started
        for what, total in totals.items():
            limit = getattr(self._day, what)
            if total > limit:
                name = {"usd": "dollars (estimate)", "wall_s": "seconds"}.get(what, what.replace("_", " "))
                raise OutOfBudget(
                    f"The day's {limit:,} {name} are used up",
                    next="Go on tomorrow, or raise the limit on the Settings page.",
                )
