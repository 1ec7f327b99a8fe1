"""How one model request was assembled: sections, decisions, what was sent, what came back.

Owns: the call trace, from which EXPLAIN ANALYZE is rendered. Refuses to know: rendering and storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peek_core.values.messages import Usage


@dataclass(frozen=True)
class Decision:
    """One rule's verdict on this request. A reason is always given; an empty one is an error."""

    rule: str
    applied: bool
    reason: str
    tokens_before: int
    tokens_after: int

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError(f"rule {self.rule} gave no reason")


@dataclass(frozen=True)
class SectionTrace:
    """One prompt section as planned, bound and sent. Tokens are estimates of the named counter."""

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
    """Tokens of the longest run of leading sections that equal the previous request of this source."""

    @property
    def tokens(self) -> int:
        return sum(s.sent for s in self.sections)


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
    cost: float | None = None


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
