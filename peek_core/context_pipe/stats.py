"""Statistics Plan reads and Feedback writes: reply lengths and token calibration.

Owns: an exact digest of up to 512 replies per (model, source) and the recovery flag. Refuses to know: requests.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

DIGEST = 512
DEFAULT_OUTPUT = 1_200
"""Tokens reserved for a reply before any was seen."""


def percentile(values: list[int], share: float) -> int:
    """Nearest-rank percentile of a non-empty list."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


@dataclass
class PipelineStats:
    """Read in Plan, written in Feedback only. A failed Execute adds no sample but sets the recovery state."""

    replies: dict[tuple[str, str], deque[int]] = field(default_factory=dict)
    recovering: set[tuple[str, str]] = field(default_factory=set)

    def reserve(self, model: str, source: str) -> tuple[int, str]:
        """Tokens to reserve for the reply, and why."""
        seen = self.replies.get((model, source))
        if not seen:
            return DEFAULT_OUTPUT, f"no reply of {source} seen yet: {DEFAULT_OUTPUT:,}"
        share, name = (0.95, "p95 after a recovery") if (model, source) in self.recovering else (0.75, "p75")
        value = percentile(list(seen), share)
        return value, f"{name} of {len(seen)} replies: {value:,}"

    def add(self, model: str, source: str, output: int) -> None:
        self.replies.setdefault((model, source), deque(maxlen=DIGEST)).append(output)
        self.recovering.discard((model, source))

    def failed(self, model: str, source: str) -> None:
        self.recovering.add((model, source))
