"""The price book: own rows first, then the published table of the endpoint's provider, else unknown.

Owns: that order. Refuses to know: how either table is kept.

A price is never taken from a model's name alone. The same name behind a proxy, a gateway or on this machine may cost
anything, so a host the table doesn't know is unknown until the person's own file has it.
"""

from __future__ import annotations

from pathlib import Path

from peek_core.prices import own_rows, published
from peek_core.prices.address import plain
from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates


class PriceTable:
    """Implements ports.PriceBook. Never uses the network; the published table is loaded at the first question."""

    def __init__(self, own: Path | None = None) -> None:
        """Reads the own prices file once, where there is one. Raises UnreadableFile when it is broken."""
        self._own = own_rows.read(own) if own is not None else {}

    def rates(self, model: str, base_url: str, at: float) -> Rates | None:
        """US dollars per million tokens at that moment (seconds since the epoch); None where nobody knows."""
        row = self._row(model, base_url)
        if row is not None:
            return row.rates
        provider = published.provider_of(base_url)
        return published.rates(model, provider, at) if provider else None

    def cost(self, model: str, base_url: str, usage: Usage, at: float) -> Cost | None:
        """What a call costs; None where the price, the input or the output is unknown.

        An endpoint that reports no cache (`cached` None) is billed as if nothing had been read from one, and `at_most`
        says so; writes it doesn't report are billed as plain input, because whoever charges for them counts them.
        """
        row = self._row(model, base_url)
        if row is not None:
            return row.cost(usage)
        provider = published.provider_of(base_url)
        return published.cost(model, provider, usage, at) if provider else None

    def known(self, at: float) -> tuple[tuple[str, Rates], ...]:
        """Well-known models of today by name, for break-even tables; those the published table has."""
        return published.flagships(at)

    def _row(self, model: str, base_url: str) -> own_rows.OwnRow | None:
        address = plain(base_url)
        return self._own.get((address, model.strip().lower())) if address else None
