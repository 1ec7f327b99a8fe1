"""What a change of the map costs at the next request: everything from the map on has to be read anew, once.

Owns: the estimate, from one request that was made. Refuses to know: which change it is, storage.
"""

from __future__ import annotations

from dataclasses import dataclass

from peek_core.values.call_trace import CallTrace
from peek_core.values.prices import Rates
from peek_core.values.sources import Kind


@dataclass(frozen=True)
class CacheCost:
    """An estimate, from the request `call` of the run `run`: the same again with another map in it.

    `tokens` stand from the map on to the end of the prompt; `cached` of them were read from the endpoint's cache then.
    Dollars are those of these tokens alone: with none of them cached, and as it was. None: not known.
    """

    run: str
    call: str
    tokens: int
    cached: int | None
    usd_anew: float | None
    usd_before: float | None
    prices: str
    """The price table and its date; empty where no price is known."""


def change_cost(call: CallTrace) -> CacheCost | None:
    """None where the request held no map."""
    kinds = [s.kind for s in call.explain.sections]
    if Kind.MEMORY not in kinds:
        return None
    at = kinds.index(Kind.MEMORY)
    before, tokens = (sum(s.sent for s in part) for part in (call.explain.sections[:at], call.explain.sections[at:]))
    used, rates = call.analyze.usage if call.analyze else None, call.explain.rates
    read = used.cached if used else None
    # What a cache holds is a prefix, so it reaches into these tokens only behind those before them.
    cached = None if read is None else min(tokens, max(0, read - before))
    writes = bool(used and used.cache_write)
    return CacheCost(
        call.run,
        call.id,
        tokens,
        cached,
        None if rates is None else _usd(rates, tokens, 0, writes),
        None
        if rates is None or cached is None or (cached and rates.cached is None)
        else _usd(rates, tokens, cached, writes),
        "" if rates is None else f"{rates.source}, prices of {rates.date or 'unknown date'}",
    )


def _usd(rates: Rates, tokens: int, cached: int, writes: bool) -> float:
    """`writes`: the endpoint says that it writes what it reads anew into its cache, which may have a price of its own."""
    fresh = tokens - cached
    return rates.usd(0 if writes else fresh, cached, fresh if writes else 0)
