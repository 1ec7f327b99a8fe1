"""When compacting a prompt pays, in money: the prefix cache against fewer tokens.

Owns: the formulas. Refuses to know: prices, providers, and any reason but money (latency and attention are others).

A run's input splits into uncached U, written W and read R; with output O its cost in base-input units is
E = U + w*W + r*R + o*O, where r, w and o are the read, write and output price over the input price. ContextPipe
(arXiv:2609.00749) compares two ways of assembling by the r at which they cost the same, with w = 1 and o = 0; the general
form is derived from E.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from peek_core.values.messages import Usage


@dataclass(frozen=True)
class Classes:
    """Tokens of one or more calls by what they cost. Input is uncached + written + read."""

    uncached: int
    written: int
    read: int
    output: int

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> Classes | None:
        """The sum; None if a call's input, cached or output tokens are unknown, or contradict each other.

        Writes that are not reported count as uncached: providers without a write price never report them.
        """
        total = cls(0, 0, 0, 0)
        for u in usages:
            if u.input is None or u.cached is None or u.output is None:
                return None
            written = u.cache_write or 0
            fresh = u.input - u.cached - written
            if fresh < 0:
                return None
            total = cls(total.uncached + fresh, total.written + written, total.read + u.cached, total.output + u.output)
        return total


def equivalent(classes: Classes, r: float, w: float = 1.0, o: float = 0.0) -> float:
    """Cost in base-input units: the number of uncached input tokens that would cost as much."""
    return classes.uncached + w * classes.written + r * classes.read + (o * classes.output if classes.output else 0.0)


def r_star(flat: Classes, other: Classes, w: float = 1.0, o: float = 0.0) -> float | None:
    """The read ratio at which both cost the same; None when both read the same, so that r decides nothing.

    While `flat` reads more, `other` is cheaper if and only if r is above it; while it reads less, below it.
    """
    if flat.read == other.read:
        return None
    fresh = other.uncached - flat.uncached + w * (other.written - flat.written)
    return (fresh + (o * (other.output - flat.output) if other.output != flat.output else 0.0)) / (
        flat.read - other.read
    )


def rewrite_factor(r: float, w: float = 1.0) -> float:
    """k = (w - r) / r: how many reads of a token its rewriting costs. Infinite when reading is free, never below 0."""
    return max(0.0, (w - r) / r) if r > 0 else math.inf


def edit_pays(removed: float, after: float, calls: float, r: float, w: float = 1.0) -> tuple[bool, float]:
    """Whether an edit repays its cache break, and the calls it needs: N > k*S/X.

    The edit takes `removed` tokens X out of a cached prompt and leaves `after` tokens S behind its place, which are written
    again; `calls` N are still to come. With a cold cache nothing is written that would not be written anyway: pass
    after=0. The number needed is infinite where nothing is removed or reading is free.
    """
    if removed <= 0 or r <= 0:
        return False, math.inf
    needed = rewrite_factor(r, w) * after / removed
    return calls > needed, needed
