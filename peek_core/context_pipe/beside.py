"""One run assembled in two ways: what was sent, and what another configuration would have sent, planned beside it.

Owns: the comparison and at which price of cached tokens it turns. Refuses to know: answers. The other way was never
sent, so nothing here says whether it would have answered, nor how many requests it would have needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peek_core.context_pipe.break_even import Classes, equivalent, r_star
from peek_core.values.call_trace import CallTrace, Explain, Shadow
from peek_core.values.prices import Rates

MARKERS = "place_markers"


@dataclass(frozen=True)
class Way:
    """Input of the run's requests as planned: tokens, of them expected from the cache and written to it."""

    configuration: str
    tokens: int
    cached: int
    written: int
    overflows: int
    """Requests that would not have fitted the window with their reserve."""
    usd: float | None
    """The input at each request's own prices; None where one has none."""

    @property
    def classes(self) -> Classes:
        """Output is the same for both ways by assumption, so it is left out."""
        return Classes(self.tokens - self.cached - self.written, self.written, self.cached, 0)


@dataclass(frozen=True)
class Beside:
    """Both ways over the same requests: those that came back and have a shadow."""

    sent: Way
    other: Way
    requests: int


@dataclass(frozen=True)
class Against:
    """The comparison at one model's prices. `r_star` at its write price; `ratio` is the sent way's input over the other's,
    in money. None: no price of cached tokens is published, or both read the same."""

    model: str
    rates: Rates
    r_star: float | None
    ratio: float | None


def beside(calls: Sequence[CallTrace]) -> Beside | None:
    """None where nothing was planned beside."""
    both = [(c, c.explain.shadow) for c in calls if c.analyze is not None and c.explain.shadow is not None]
    if not both:
        return None
    sent = [_sent(c) for c, _ in both]
    other = [_other(c, s) for c, s in both]
    names = " / ".join(dict.fromkeys(c.explain.configuration for c, _ in both))
    shadow = " / ".join(dict.fromkeys(s.configuration for _, s in both))
    return Beside(_way(names, both, sent), _way(shadow, both, other), len(both))


def against(both: Beside, known: Sequence[tuple[str, Rates]]) -> tuple[Against, ...]:
    """The run at the prices of each model, in the order given."""
    sent, other = both.sent.classes, both.other.classes
    found = []
    for model, rates in known:
        r = rates.r
        whole = None if r is None else equivalent(other, r, rates.w)
        ratio = None if r is None or not whole else equivalent(sent, r, rates.w) / whole
        found.append(Against(model, rates, r_star(other, sent, rates.w), ratio))
    return tuple(found)


def in_words(both: Beside, w: float = 1.0) -> str:
    """What the break-even says of this run, where writing costs `w` times what input costs."""
    sent, other = both.sent, both.other
    at = r_star(other.classes, sent.classes, w)
    if at is None:
        if sent.tokens == other.tokens:
            return (
                f"{sent.configuration} and {other.configuration} would have sent the same: no price decides anything."
            )
        fewer, more = (sent, other) if sent.tokens < other.tokens else (other, sent)
        return (
            f"Both read the same from the cache, so its price decides nothing: {fewer.configuration} sends "
            f"{more.tokens - fewer.tokens:,} tokens less."
        )
    more_read = other.cached > sent.cached
    if at <= 0 or at >= 1:
        cheaper = sent if (more_read and at <= 0) or (not more_read and at >= 1) else other
        return (
            f"{cheaper.configuration} is cheaper at every price of cached tokens between nothing and the input price."
        )
    side = "above" if more_read else "below"
    return (
        f"{sent.configuration} is cheaper where reading a cached token costs {side} {at:.3f} of an input token, "
        f"{other.configuration} on the other side."
    )


Sizes = tuple[int, int, int, bool]
"""Tokens, cached, written, overflow."""


def _way(name: str, both: Sequence[tuple[CallTrace, Shadow]], sizes: Sequence[Sizes]) -> Way:
    priced = [_usd(c.explain.rates, s) for (c, _), s in zip(both, sizes, strict=True)]
    known = [p for p in priced if p is not None]
    return Way(
        configuration=name,
        tokens=sum(s[0] for s in sizes),
        cached=sum(s[1] for s in sizes),
        written=sum(s[2] for s in sizes),
        overflows=sum(s[3] for s in sizes),
        usd=sum(known) if len(known) == len(priced) else None,
    )


def _sent(c: CallTrace) -> Sizes:
    e = c.explain
    ends = [sum(s.sent for s in e.sections[: n + 1]) for n, s in enumerate(e.sections) if s.marker]
    written = _written(c, e, e.tokens, e.predicted_cached, max(ends, default=0))
    hard = e.limit if e.base is None else e.base.hard
    return e.tokens, e.predicted_cached, written, e.tokens + e.reserve > hard


def _other(c: CallTrace, s: Shadow) -> Sizes:
    # Where its markers would stand was not kept: they go to the end of what is stable, which is nearly all of it.
    marked = s.tokens if MARKERS in s.applied else 0
    return s.tokens, s.predicted_cached, _written(c, c.explain, s.tokens, s.predicted_cached, marked), s.overflow


def _written(c: CallTrace, e: Explain, tokens: int, cached: int, marked: int) -> int:
    """Tokens the endpoint writes for this request: up to the last marker, or all where it marks the newest message."""
    if e.strategy != "breakpoints":
        return 0
    rules = ((c.snapshot or {}).get("capabilities") or {}).get("cache") or {}
    return max(0, (tokens if rules.get("implicit") else marked) - cached)


def _usd(rates: Rates | None, sizes: Sizes) -> float | None:
    if rates is None:
        return None
    tokens, cached, written, _ = sizes
    return rates.usd(tokens - cached - written, cached, written)
