"""How one model request was assembled: sections, decisions, what was sent, what came back.

Owns: the call trace, from which EXPLAIN ANALYZE is rendered and a request is planned again. Refuses to know: rendering
and storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates

STEP, SUB_CALL = "step", "llm_query"
"""Sources of requests: the agent's own, and what its cells ask."""


@dataclass(frozen=True)
class Decision:
    """One rule's verdict on this request. A reason is always given; an empty one is an error.

    `sections` are the names it concerns, `gain` the tokens-worth a gain gate weighed, where one did.
    """

    rule: str
    applied: bool
    reason: str
    tokens_before: int
    tokens_after: int
    sections: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError(f"rule {self.rule} gave no reason")


@dataclass(frozen=True)
class SectionTrace:
    """One prompt section as planned, bound and sent. Tokens are calibrated estimates of the named counter."""

    name: str
    kind: str
    role: str
    scope: str
    tier: str
    priority: str
    planned: int
    bound: int
    sent: int
    hash: str
    budget: int | None = None
    """What Plan would give it at most; None: whatever it takes."""
    marker: bool = False


@dataclass(frozen=True)
class Base:
    """What pressure is measured against, in tokens: the smallest of what counts in the configuration."""

    window: int
    budget: int | None = None
    cliff: int | None = None
    ceiling: int | None = None
    """What a refused request has shown to be too long."""

    @property
    def hard(self) -> int:
        """What may not be exceeded: the window, or what a refusal has taught."""
        return self.window if self.ceiling is None else min(self.window, self.ceiling)


@dataclass(frozen=True)
class Reserves:
    """R = R_o + R_t + R_s: room kept for the reply, for thinking and for schemas to grow. Tokens."""

    output: int
    reason: str
    thinking: int = 0
    schemas: int = 0

    @property
    def total(self) -> int:
        return self.output + self.thinking + self.schemas


@dataclass(frozen=True)
class Shadow:
    """The same request as another configuration would have assembled it. Nothing of it was sent."""

    configuration: str
    tokens: int
    level: str
    predicted_cached: int
    wire_hash: str
    hashes: tuple[str, ...]
    applied: tuple[str, ...]
    """Rules that would have changed something."""
    overflow: bool
    """Whether request and reserve would not have fitted the window."""


@dataclass(frozen=True)
class Explain:
    """What Plan, Bind and Optimize decided, complete before anything is sent."""

    sections: tuple[SectionTrace, ...]
    decisions: tuple[Decision, ...]
    configuration: str
    counter: str
    limit: int
    """The base that pressure is measured against, in tokens."""
    reserve: int
    pressure_raw: float
    pressure_predicted: float
    level: str
    provider: str
    model: str
    serializer: str
    predicted_cached: int = 0
    """Tokens of the prefix that the endpoint's cache should still hold, by its documented rules."""
    used: int = 0
    """Tokens planned, before any transform."""
    base: Base | None = None
    reserves: Reserves | None = None
    recovery: int = 0
    """How often this request was refused for its length before, or would have been."""
    strategy: str = "none"
    """How the endpoint's cache finds a prefix."""
    cold: bool = False
    """Whether the cache has nothing to lose: first request, or idle for longer than entries live."""
    flips: tuple[str, ...] = ()
    """Latched sections whose value differs from the run before."""
    expected_calls: int = 0
    """Further requests this source is expected to make in the run."""
    factors: Mapping[str, float] | None = None
    """Calibration by section kind: actual tokens over counted ones."""
    rates: Rates | None = None
    shadow: Shadow | None = None

    @property
    def tokens(self) -> int:
        return sum(s.sent for s in self.sections)


AlertName = Literal[
    "cache_break",
    "cold_start",
    "hit_rate_regression",
    "predictive_miss",
    "compaction_cascade",
    "recovery_loop",
    "pressure_spike",
    "emergent_overflow",
]


@dataclass(frozen=True)
class Alert:
    """Something worth a look: what happened and why, and what to do about it."""

    name: AlertName
    cause: str
    todo: str


@dataclass(frozen=True)
class Analyze:
    """What really happened. None where the provider did not say."""

    usage: Usage
    seconds: float
    first_byte_s: float | None
    finish: str
    retries: int = 0
    raw_usage: Mapping[str, Any] | None = None
    estimate_error: float | None = None
    """(actual input - estimated input) / actual input."""
    cost: Cost | None = None
    truncated: bool = False
    """Whether the endpoint seems to have read only a part of the request."""
    model: str = ""
    """What answered, in the endpoint's own words."""


@dataclass(frozen=True)
class CallTrace:
    """One request from plan to reply. `error` holds the sentence of a failed Execute."""

    id: str
    run: str
    source: str
    """Who asked: step, llm_query, distill, chart."""
    n: int
    explain: Explain
    analyze: Analyze | None
    error: str | None
    wire_hash: str
    wire_bytes: int
    at: float
    alerts: tuple[Alert, ...] = ()
    snapshot: Mapping[str, Any] | None = None
    """All that was decided upon, texts by hash: what a replay starts from."""

    @property
    def taken(self) -> int:
        """Tokens as limits count them: input as the endpoint says, else as estimated, and output; 0 for a failed one."""
        if self.analyze is None:
            return 0
        used = self.analyze.usage
        return (used.input if used.input is not None else self.explain.tokens) + (used.output or 0)
