"""Statistics Plan reads and Feedback writes (ContextPipe, PipelineStats).

Owns: an exact digest of up to 512 replies per (model, source), moving averages of hit rate (0.1), tokens per section kind
and calibration (0.3), rings of 64 cache breaks and compactions, the recovery state, and the trails of recent requests.
Refuses to know: requests, storage; `as_data` and `of_data` are for whoever keeps them. Safe from several threads.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from peek_core.context_pipe.cache_model import KEPT, Trail
from peek_core.values.call_trace import Reserves

N = TypeVar("N", int, float)
DIGEST = 512
RING = 64
HIT_ALPHA = 0.1
TOKEN_ALPHA = 0.3
DEFAULT_OUTPUT = 1_200
"""Tokens reserved for a reply before any was seen."""
EXPECTED_CALLS = 6
"""Requests a run is taken to need before any run was seen."""
BELIEVED = (0.6, 2.5)
"""Actual over estimated tokens outside of this is no tokenizer but a lie or a cut, and teaches nothing."""
FACTORS = (0.4, 4.0)
"""Between these lie all tokenizers measured against o200k (0.9 to 1.9), with room."""


def percentile(values: Sequence[N], share: float) -> N:
    """Nearest-rank percentile of a non-empty list.

    >>> percentile([3.0, 1.0, 2.0], 0.5), percentile([1.0, 2.0], 0.95)
    (2.0, 2.0)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)]


def moved(held: float | None, seen: float, alpha: float) -> float:
    """An exponential moving average, begun at its first value.

    >>> moved(None, 4.0, 0.3), round(moved(4.0, 8.0, 0.3), 2)
    (4.0, 5.2)
    """
    return seen if held is None else held + alpha * (seen - held)


class PipelineStats:
    """Read in Plan, written in Feedback only. A failed Execute adds no sample but sets the recovery state."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._replies: dict[str, deque[int]] = {}
        self._runs: dict[str, deque[int]] = {}
        self._hit: float | None = None
        self._kinds: dict[str, float] = {}
        self._factors: dict[str, dict[str, float]] = {}
        self._breaks: deque[dict[str, Any]] = deque(maxlen=RING)
        self._compactions: deque[dict[str, Any]] = deque(maxlen=RING)
        self._cleared = self._refetched = 0
        self._recovering: dict[str, int] = {}
        self._ceilings: dict[str, int] = {}
        self._trails: dict[str, deque[Trail]] = {}
        self._latched: dict[str, dict[str, str]] = {}

    # What Plan reads

    def reserves(self, model: str, source: str, most: int) -> Reserves:
        """Tokens to keep free for the reply: p75 of past ones of this model and source, p95 after a recovery event."""
        with self._lock:
            seen, recovering = (
                list(self._replies.get(f"{model}|{source}", ())),
                self._recovering.get(f"{model}|{source}"),
            )
        if not seen:
            size = min(DEFAULT_OUTPUT, most)
            return Reserves(size, f"no reply of {source} seen yet: {size:,}")
        share, name = (0.95, "p95 after a recovery") if recovering else (0.75, "p75")
        value = min(percentile(seen, share), most)
        return Reserves(value, f"{name} of {len(seen)} replies: {value:,}")

    def recoveries(self, model: str, source: str) -> int:
        """Recovery events since the last success."""
        with self._lock:
            return self._recovering.get(f"{model}|{source}", 0)

    def tokens_of(self, kind: str) -> int:
        """What a section of this kind has taken lately; 0 where none was seen."""
        with self._lock:
            return round(self._kinds.get(kind, 0.0))

    def factors(self, endpoint: str, model: str) -> dict[str, float]:
        """Calibration by section kind, to three digits so that estimates move rarely."""
        with self._lock:
            return {k: round(v, 3) for k, v in sorted(self._factors.get(f"{endpoint}|{model}", {}).items())}

    def expected_calls(self, source: str, done: int) -> int:
        """Further requests of a run that has made `done`: the median of past runs, never less than one."""
        with self._lock:
            seen = list(self._runs.get(source, ()))
        usual = percentile(seen, 0.5) if seen else EXPECTED_CALLS
        return max(1, usual - done) if done <= usual else max(1, done // 2)

    def trails(self, endpoint: str, model: str) -> tuple[Trail, ...]:
        with self._lock:
            return tuple(self._trails.get(f"{endpoint}|{model}", ()))

    def ceiling(self, endpoint: str, model: str) -> int | None:
        """Tokens that were refused as too long, or None."""
        with self._lock:
            return self._ceilings.get(f"{endpoint}|{model}")

    def latched(self, source: str) -> dict[str, str]:
        with self._lock:
            return dict(self._latched.get(source, {}))

    @property
    def hit_rate(self) -> float | None:
        """Moving average of the prefix-cache hit rate; None before any was reported."""
        with self._lock:
            return self._hit

    @property
    def refetch_rate(self) -> float:
        """Share of what was cleared that was read back, to two digits; one in seven before any was seen."""
        with self._lock:
            return round((1 + self._refetched) / (7 + self._cleared), 2)

    # What Feedback writes

    def succeeded(self, model: str, source: str, output: int) -> None:
        """One usage sample."""
        with self._lock:
            self._replies.setdefault(f"{model}|{source}", deque(maxlen=DIGEST)).append(output)
            self._recovering.pop(f"{model}|{source}", None)

    def hit(self, share: float) -> None:
        with self._lock:
            self._hit = moved(self._hit, share, HIT_ALPHA)

    def measured(self, endpoint: str, model: str, kinds: Mapping[str, int], actual: int, estimate: int) -> None:
        """Learn the tokenizer from a request's true count, with `kinds` its estimated tokens by section kind.

        For one kind this is the moving average of actual over estimate; for several it is its generalisation, normalised
        least mean squares (Widrow and Hoff 1960): the error is shared out by what each kind contributed.
        """
        with self._lock:
            for kind, tokens in kinds.items():
                self._kinds[kind] = moved(self._kinds.get(kind), tokens, TOKEN_ALPHA)
            if not estimate or not sum(kinds.values()) or not BELIEVED[0] <= actual / estimate <= BELIEVED[1]:
                return
            held = self._factors.setdefault(f"{endpoint}|{model}", {})
            counted = {kind: tokens / held.get(kind, 1.0) for kind, tokens in kinds.items()}
            power = sum(n * n for n in counted.values())
            for kind, n in counted.items():
                moved_to = held.get(kind, 1.0) + TOKEN_ALPHA * (actual - estimate) * n / power
                held[kind] = min(max(moved_to, FACTORS[0]), FACTORS[1])

    def broke(self, call: str, cause: str) -> None:
        with self._lock:
            self._breaks.append({"call": call, "cause": cause})

    def compacted(self, call: str, rule: str, before: int, after: int) -> None:
        with self._lock:
            self._compactions.append({"call": call, "rule": rule, "before": before, "after": after})

    def cleared(self, count: int) -> None:
        """So many sections were cleared, dropped or spilled that had been sent whole."""
        with self._lock:
            self._cleared += count

    def refetched(self) -> None:
        """One of them was read back."""
        with self._lock:
            self._refetched += 1

    def failed(self, model: str, source: str) -> None:
        """A recovery event: no sample, but the next reserve is p95."""
        with self._lock:
            self._recovering[f"{model}|{source}"] = self._recovering.get(f"{model}|{source}", 0) + 1

    def refused_at(self, endpoint: str, model: str, tokens: int) -> None:
        """A request of so many tokens was too long."""
        with self._lock:
            key = f"{endpoint}|{model}"
            self._ceilings[key] = min(self._ceilings.get(key, tokens), tokens)

    def accepted(self, endpoint: str, model: str, tokens: int) -> None:
        """A request of so many tokens was answered: a ceiling below it was wrong."""
        with self._lock:
            if tokens > self._ceilings.get(f"{endpoint}|{model}", tokens):
                del self._ceilings[f"{endpoint}|{model}"]

    def sent(self, endpoint: str, model: str, trail: Trail) -> None:
        with self._lock:
            self._trails.setdefault(f"{endpoint}|{model}", deque(maxlen=KEPT)).append(trail)

    def latch(self, source: str, values: Mapping[str, str]) -> None:
        with self._lock:
            self._latched[source] = dict(values)

    def run_ended(self, calls: Mapping[str, int]) -> None:
        """How many requests a run made, by source."""
        with self._lock:
            for source, count in calls.items():
                self._runs.setdefault(source, deque(maxlen=DIGEST)).append(count)

    # Keeping

    def usage_samples(self) -> dict[str, Any]:
        """Everything a failed call may not touch."""
        with self._lock:
            return {
                "replies": {k: list(v) for k, v in self._replies.items()},
                "hit": self._hit,
                "kinds": dict(self._kinds),
                "factors": {k: dict(v) for k, v in self._factors.items()},
            }

    def as_data(self) -> dict[str, Any]:
        """JSON types; trails are hashes and times only."""
        with self._lock:
            return {
                **self.usage_samples(),
                "runs": {k: list(v) for k, v in self._runs.items()},
                "breaks": list(self._breaks),
                "compactions": list(self._compactions),
                "cleared": self._cleared,
                "refetched": self._refetched,
                "recovering": dict(self._recovering),
                "ceilings": dict(self._ceilings),
                "trails": {k: [asdict(t) for t in v] for k, v in self._trails.items()},
                "latched": {k: dict(v) for k, v in self._latched.items()},
            }

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> PipelineStats:
        """What `as_data` gave; what is missing starts empty."""
        made = cls()
        made._replies = {k: deque(v, DIGEST) for k, v in data.get("replies", {}).items()}
        made._runs = {k: deque(v, DIGEST) for k, v in data.get("runs", {}).items()}
        made._hit = data.get("hit")
        made._kinds = dict(data.get("kinds", {}))
        made._factors = {k: dict(v) for k, v in data.get("factors", {}).items()}
        made._breaks.extend(data.get("breaks", ()))
        made._compactions.extend(data.get("compactions", ()))
        made._cleared, made._refetched = data.get("cleared", 0), data.get("refetched", 0)
        made._recovering = dict(data.get("recovering", {}))
        made._ceilings = dict(data.get("ceilings", {}))
        made._trails = {k: deque(map(_trail, v), KEPT) for k, v in data.get("trails", {}).items()}
        made._latched = {k: dict(v) for k, v in data.get("latched", {}).items()}
        return made


def _trail(data: Mapping[str, Any]) -> Trail:
    return Trail(
        tuple(data["names"]),
        tuple(data["chain"]),
        tuple(data["marked"]),
        reply=str(data["reply"]),
        at=float(data["at"]),
    )


def kinds_of(sections: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Tokens by kind.

    >>> kinds_of([("map", 3), ("question", 1), ("map", 2)])
    {'map': 5, 'question': 1}
    """
    found: dict[str, int] = {}
    for kind, tokens in sections:
        found[kind] = found.get(kind, 0) + tokens
    return found
