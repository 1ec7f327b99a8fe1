"""The table of the genai-prices package, as it was built: no network, its updater is never started.

Owns: which provider an address belongs to, and reading that package's rows. Refuses to know: the person's own prices.

Known limits of the table: DeepSeek's weekends count as weekdays (in peak hours an upper bound), the 12-hour write price
of OpenAI is missing, and writes are priced at their shortest time to live.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from peek_core.prices.address import plain
from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

RELEASED = {"0.2.3": "2026-11-10"}
"""When a release of the table was published, by the package index. The package itself holds no date of its rows."""

ANYBODYS = (".modal.run", ".modal.direct", ".azure-api.net")
"""Hosts where each customer runs what they like, so that a model's name says nothing about its price."""

FLAGSHIPS = (
    ("openai", "gpt-6-astra"),
    ("openai", "gpt-6.1-sol"),
    ("openai", "gpt-6.1-terra"),
    ("openai", "gpt-6-luna"),
    ("anthropic", "claude-fable-5-2"),
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", "claude-sonnet-5-5"),
    ("anthropic", "claude-haiku-5-5"),
    ("google", "gemini-4-argon"),
    ("google", "gemini-3.8-flash"),
    ("deepseek", "deepseek-flash"),
    ("deepseek", "deepseek-v4-pro"),
)


@lru_cache(maxsize=64)
def provider_of(base_url: str) -> str | None:
    """The table's id of the provider whose own host this is; None for every other host, proxies included.

    The package's patterns are open at the end, and one may match inside a path, so they are tried against the host
    first, must take in all of it, and see the path only where they need it.
    """
    address = plain(base_url)
    host = re.match(r"https://([^/:]+)(?=/|$)", address or "")
    if address is None or host is None or host[1].endswith(ANYBODYS):
        return None
    from genai_prices.data import providers

    for text, among in ((host[0], providers), (address, [p for p in providers if ".*" not in p.api_pattern])):
        for provider in among:
            found = re.match(provider.api_pattern, text)
            if found and _whole_host(text, found.end(), host.end()):
                return provider.id
    return None


def _whole_host(text: str, end: int, host_end: int) -> bool:
    """Whether a match that ends at `end` took in the whole host; a pattern ending in a dot leaves the top level open."""
    return end >= host_end or (text[end - 1] == "." and text[end:host_end].isalpha())


def rates(model: str, provider: str, at: float) -> Rates | None:
    """The row at that moment (seconds since the epoch); None where the table has no row or no token prices."""
    found = _priced(model, provider, at, Usage(input=0, output=0))
    if found is None:
        return None
    price = found.model_price
    entry, output = _base(price.input_mtok), _base(price.output_mtok)
    if entry is None or output is None:
        return None
    return Rates(
        input=entry,
        output=output,
        cached=_base(price.cache_read_mtok),
        write=_base(price.cache_write_mtok),
        cliff=_cliff(price.input_mtok, price.output_mtok),
        source=_source(),
        date=_date(),
    )


def cost(model: str, provider: str, usage: Usage, at: float) -> Cost | None:
    """Priced by the package, with its time-of-day, date and length rules; None for unknown models and usage."""
    found = _priced(model, provider, at, usage)
    if found is None or found.model_price.input_mtok is None or found.model_price.output_mtok is None:
        return None
    # Without a cached rate the package bills cached tokens as input and says nothing; here that is said.
    unknown_read = bool(usage.cached) and found.model_price.cache_read_mtok is None
    return Cost(float(found.total_price), _source(), _date(), usage.cached is None or unknown_read)


def flagships(at: float) -> tuple[tuple[str, Rates], ...]:
    """Today's well-known models that the table has, in a fixed order."""
    rows = ((model, rates(model, provider, at)) for provider, model in FLAGSHIPS)
    return tuple((model, found) for model, found in rows if found is not None)


def _priced(model: str, provider: str, at: float, usage: Usage) -> PriceCalculation | None:
    counts_known = (usage.input, usage.output, usage.cached or 0, usage.cache_write or 0)
    if any(count is None or count < 0 for count in counts_known):
        return None
    import genai_prices

    counts = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_write,
    )
    try:
        return genai_prices.calc_price(
            counts, model, provider_id=provider, genai_request_timestamp=datetime.fromtimestamp(at, UTC)
        )
    except (LookupError, ValueError):  # no such row; or counts that contradict each other
        return None


def _base(price: Any) -> float | None:
    """Dollars per million below the first tier."""
    if price is None:
        return None
    return float(price if isinstance(price, Decimal) else price.base)


def _cliff(*prices: Any) -> int | None:
    """The lowest prompt length at which a price goes up."""
    starts = [t.start for p in prices for t in getattr(p, "tiers", ()) if t.price > p.base]
    return min(starts, default=None)


def _version() -> str:
    import genai_prices

    return genai_prices.__version__


def _source() -> str:
    return f"genai-prices {_version()}"


def _date() -> str:
    return RELEASED.get(_version(), "")
