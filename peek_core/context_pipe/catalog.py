"""The source catalog's snapshot: all that Plan and Optimize may see.

Owns: configurations and the frozen snapshot of one request. Refuses to know: clock, files, providers in person.
"""

from __future__ import annotations

from dataclasses import dataclass

from peek_core.ports import Capabilities
from peek_core.values.sources import SourceRecord


@dataclass(frozen=True)
class Configuration:
    """A named way of assembling. `flat` plans but transforms nothing; `default` runs the rules."""

    name: str
    transforms: bool
    keep_observations: int = 3
    """Newest observations that are never cleared."""
    clear_at_most: int = 24_000
    """Tokens cleared in one turn at most (circuit breaker)."""
    max_reorder_moves: int = 8


FLAT = Configuration("flat", transforms=False)
DEFAULT = Configuration("default", transforms=True)
CONFIGURATIONS = {c.name: c for c in (FLAT, DEFAULT)}


@dataclass(frozen=True)
class Snapshot:
    """One request before anything is decided. Same snapshot, same bytes."""

    source: str
    records: tuple[SourceRecord, ...]
    estimates: tuple[int, ...]
    """Tokens of each record's text by the named counter."""
    counter: str
    provider: str
    model: str
    capabilities: Capabilities
    configuration: Configuration
    output_reserve: int
    """Tokens reserved for the reply: p75 of past replies of this source, p95 after a recovery, else a default."""
    reserve_reason: str
    cleared: frozenset[str] = frozenset()
    """Names of observations cleared earlier in this run; they stay cleared, so the prefix stays."""
    previous: tuple[tuple[str, int], ...] = ()
    """(hash, tokens) of the sections of the latest request of this source, in the order sent."""
