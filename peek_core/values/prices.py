"""What a model costs: rates, their ratios, and the cost of one call.

Owns: the numbers and what they mean. Refuses to know: where a price was found, and who is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """US dollars per one million tokens, below the cliff, at one moment. What nobody published is None, never a guess."""

    input: float
    output: float
    cached: float | None
    """Reading the prefix cache. None: no such rate is published; that is not the same as full price."""
    write: float | None
    """Writing the prefix cache for its shortest time to live. None: writing costs what input costs."""
    cliff: int | None
    """Prompt tokens above which every token of the call gets dearer. None: none is known."""
    source: str
    """The table, e.g. `genai-prices 0.2.3` or `own prices file`."""
    date: str
    """ISO date: for genai-prices the day that release was published (its rows carry no date, and one may have been
    checked weeks earlier); for an own row the date written there. Empty where nobody says."""

    @property
    def r(self) -> float | None:
        """Read ratio, cached / input; None while the cached rate is unknown or input is free."""
        return self.cached / self.input if self.cached is not None and self.input else None

    @property
    def w(self) -> float:
        """Write ratio, write / input; 1.0 when there is no write price or input is free."""
        return self.write / self.input if self.write is not None and self.input else 1.0

    def usd(self, fresh: float, cached: float = 0.0, written: float = 0.0, output: float = 0.0) -> float:
        """US dollars for so many tokens. A rate nobody published counts as that of input."""
        read = self.input if self.cached is None else self.cached
        write = self.input if self.write is None else self.write
        return (fresh * self.input + cached * read + written * write + output * self.output) / 1e6

    @property
    def o(self) -> float:
        """Output ratio, output / input; infinite when only input is free, 0.0 when both are."""
        if self.input:
            return self.output / self.input
        return math.inf if self.output else 0.0


@dataclass(frozen=True)
class Cost:
    """What one call costs in US dollars by a dated table: an estimate, never an invoice."""

    usd: float
    source: str
    date: str
    at_most: bool = False
    """True where part of the input may have been read from a cache at a price not known here, so that `usd` is an
    upper bound: the endpoint reported no cache at all, or it did and no cached rate is published."""
