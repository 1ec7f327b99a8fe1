"""The source catalog's snapshot: all that Plan and Optimize may see.

Owns: configurations and the frozen snapshot of one request. Refuses to know: clock, files, providers in person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from peek_core.context_pipe.cache_model import Known
from peek_core.ports import Capabilities
from peek_core.values.call_trace import Base, Reserves
from peek_core.values.prices import Rates
from peek_core.values.sources import SourceRecord


@dataclass(frozen=True)
class Configuration:
    """A named way of assembling: which gates are open, in which order, and the limits rules keep to (OptimizeLimits)."""

    name: str
    rules: tuple[str, ...] = ()
    """Rules whose gate is open, in the order they run. All others are recorded as skipped."""
    base: Literal["window", "smallest"] = "smallest"
    """What pressure is measured against: the window, or the smallest of window, price cliff and budget."""
    predictive: bool = True
    """Whether predicted pressure may raise the level."""
    pays: bool = True
    """Whether an edit must pay for the cache it breaks."""
    latches: bool = True
    emergent: Literal["one_turn", "kept_in_prefix_caches", "append_only"] = "kept_in_prefix_caches"
    markers: Literal["provider", "fixed"] = "provider"
    keep_observations: int = 3
    """Newest observations that are never cleared, newest rounds that are never dropped."""
    clear_at_most: int = 24_000
    """Tokens cleared in one turn at most (circuit breaker)."""
    max_reorder_moves: int = 8
    spill_at: int = 10_000
    """Tokens from which a section may be spilled."""
    drop_at_least: int = 4
    """Rounds: fewer are not worth the cache they break."""


FLAT = Configuration("flat", base="window", predictive=False, pays=False, latches=False, emergent="one_turn")
"""Plans and computes levels, keeps the order of Bind, runs no transform."""
PAPER = Configuration(
    "paper",
    ("order_by_volatility", "trim_schemas", "clear_observations", "drop_rounds", "spill", "place_markers"),
    base="window",
    pays=False,
    emergent="one_turn",
)
"""As published in arXiv:2609.00749."""
DEFAULT = Configuration(
    "default", ("order_by_volatility", "clear_observations", "spill", "drop_rounds", "place_markers")
)
"""With what was found since: boundaries, clear before trimming, the smallest base, edits that pay, items that stay."""
CONFIGURATIONS: Mapping[str, Configuration] = {c.name: c for c in (FLAT, PAPER, DEFAULT)}


@dataclass(frozen=True)
class Held:
    """What a configuration did earlier in this run and keeps doing, so that bytes once changed never change again."""

    cleared: frozenset[str] = frozenset()
    spilled: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    trimmed: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    """Names of the latest request of this source, in the order sent."""


@dataclass(frozen=True)
class Snapshot:
    """One request before anything is decided. Same snapshot, same bytes."""

    source: str
    records: tuple[SourceRecord, ...]
    estimates: tuple[int, ...]
    """Tokens of each record, calibrated."""
    counter: str
    provider: str
    model: str
    capabilities: Capabilities
    configuration: Configuration
    base: Base
    reserves: Reserves
    rates: Rates | None = None
    factors: Mapping[str, float] = field(default_factory=dict)
    """Actual tokens over counted ones, by section kind."""
    expected_calls: int = 0
    refetch_rate: float = 0.0
    """Share of what was cleared that is read back later."""
    recovery: int = 0
    held: Held = field(default_factory=Held)
    cache: Known = field(default_factory=Known)
    flips: tuple[str, ...] = ()
    spill_backend: bool = False
    schema: Mapping[str, Any] | None = None
    """The JSON schema a reply is asked to follow."""

    @property
    def cold(self) -> bool:
        """Whether the cache has nothing to lose: nothing was sent yet, or all of it has lived its time."""
        return not self.cache.entries

    def calibrated(self, kind: str, tokens: int) -> int:
        """Counted tokens as this endpoint will count them."""
        return round(tokens * self.factors.get(kind, 1.0))
