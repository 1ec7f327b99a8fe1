"""Drawing values from a seed, the same on every Python version.

Owns: weighted and plain choice from `random.Random.random()`, whose sequence is promised to stay; `choice`, `shuffle`
and `gauss` are not. Refuses to know what is drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


class Weighted(Generic[T]):
    """Draws values in proportion to weights, from one uniform number."""

    def __init__(self, weights: dict[T, float]) -> None:
        self._values = list(weights)
        self._bounds = list(accumulate(weights.values()))

    def draw(self, rng: Random) -> T:
        """One value."""
        at = bisect_right(self._bounds, rng.random() * self._bounds[-1])
        return self._values[min(at, len(self._values) - 1)]


def pick(rng: Random, values: Sequence[T]) -> T:
    """One of the values, each as likely."""
    return values[int(rng.random() * len(values))]
