"""What the requests of one run took together: tokens, money, time, cache hits, pressure.

Owns: the sums and what counts as unknown in them. Refuses to know: storage, drawing, what a run was for. A request that
failed took no tokens and no time anybody counted; one whose endpoint said nothing is lacking, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from peek_core.context_pipe.alerts import hit_rate
from peek_core.context_pipe.stats import percentile
from peek_core.values.call_trace import CallTrace

LEARNING = frozenset({"distill", "chart"})
"""Sources of the requests that maintain the map."""
NO_CACHE = "none"
"""The strategy of an endpoint that caches nothing, or of whose cache nothing is known."""


@dataclass(frozen=True)
class Total:
    """A sum of what is known, and how many did not say. None: nobody said anything.

    >>> Total.of([1, None, 2]), Total.of([None]), Total.of([])
    (Total(value=3, lacking=1), Total(value=None, lacking=1), Total(value=None, lacking=0))
    """

    value: float | None
    lacking: int = 0

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Total:
        seen = list(values)
        known = [v for v in seen if v is not None]
        return cls(sum(known) if known else None, len(seen) - len(known))


@dataclass(frozen=True)
class SourceSum:
    """Requests of one source, or of all together (source ""). `taken` is what limits count: input as the endpoint says,
    else as estimated, and output."""

    source: str
    requests: int
    failed: int
    input: Total
    cached: Total
    written: Total
    output: Total
    usd: Total
    taken: int
    estimated: int
    """Requests whose input only the estimate knows."""
    seconds: float


@dataclass(frozen=True)
class HitRates:
    """Shares of the input that were read from the prefix cache (DESIGN.md, Hit rate); None: nobody said.

    `predicted` is what the cache should have held at a boundary, by the endpoint's documented rules, over what was
    estimated to be sent.
    """

    weighted: float | None
    median: float | None
    predicted: float | None
    told: int
    """Requests whose endpoint said how much it read."""


@dataclass(frozen=True)
class Waits:
    """Model time of a request in seconds, by nearest rank."""

    p50: float
    p95: float
    p99: float
    of: int


@dataclass(frozen=True)
class Pressure:
    """One request of a run over its base. `level` as it was decided; `recovery`: refused for its length so often before."""

    n: int
    source: str
    raw: float
    predicted: float
    level: str
    recovery: int


@dataclass(frozen=True)
class RunSums:
    """All of it. `costs` are the dollars so far after each request; None where no price is known up to there."""

    sources: tuple[SourceSum, ...]
    total: SourceSum
    hits: HitRates
    waits: Waits | None
    pressure: tuple[Pressure, ...]
    costs: tuple[float | None, ...]
    prices: tuple[str, ...]
    """Where the prices are from, and of when."""
    at_most: bool
    """Whether the money is an upper bound."""
    learning_tokens: float | None
    """Share of the tokens that maintaining the map took."""
    learning_usd: float | None


def share(part: float | None, whole: float | None) -> float | None:
    """part / whole; None where either is unknown or there is no whole."""
    return None if part is None or not whole else part / whole


def sums(calls: Sequence[CallTrace]) -> RunSums:
    """Sums of one run's requests, in the order made."""
    names = list(dict.fromkeys(c.source for c in calls))
    sources = tuple(_summed(name, [c for c in calls if c.source == name]) for name in names)
    total, learning = _summed("", calls), [s for s in sources if s.source in LEARNING]
    costs = [c.analyze.cost for c in calls if c.analyze and c.analyze.cost]
    spent = Total.of(s.usd.value for s in learning).value
    return RunSums(
        sources=sources,
        total=total,
        hits=hits(calls),
        waits=waits(calls),
        pressure=tuple(_pressure(c) for c in calls),
        costs=_so_far(calls),
        prices=tuple(dict.fromkeys(f"{c.source}, {c.date}" if c.date else c.source for c in costs)),
        at_most=any(c.at_most for c in costs),
        learning_tokens=share(sum(s.taken for s in learning), total.taken),
        learning_usd=share(spent, total.usd.value) if not total.usd.lacking else None,
    )


def hits(calls: Sequence[CallTrace]) -> HitRates:
    """The three hit rates."""
    told = [
        (c.analyze.usage.cached, c.analyze.usage.input)
        for c in calls
        if c.analyze and c.analyze.usage.input and c.analyze.usage.cached is not None
    ]
    each = [h for h in (hit_rate(c.analyze) for c in calls) if h is not None]
    ruled = [c.explain for c in calls if c.analyze is not None and c.explain.strategy != NO_CACHE]
    return HitRates(
        weighted=share(sum(cached for cached, _ in told), sum(size for _, size in told)) if told else None,
        median=median(each) if each else None,
        predicted=share(sum(e.predicted_cached for e in ruled), sum(e.tokens for e in ruled)) if ruled else None,
        told=len(told),
    )


def waits(calls: Sequence[CallTrace]) -> Waits | None:
    """None where no request came back."""
    seconds = [c.analyze.seconds for c in calls if c.analyze is not None]
    return (
        Waits(percentile(seconds, 0.50), percentile(seconds, 0.95), percentile(seconds, 0.99), len(seconds))
        if seconds
        else None
    )


def _summed(source: str, calls: Sequence[CallTrace]) -> SourceSum:
    done = [c for c in calls if c.analyze is not None]
    used = [c.analyze.usage for c in done if c.analyze is not None]
    return SourceSum(
        source=source,
        requests=len(calls),
        failed=len(calls) - len(done),
        input=Total.of(u.input for u in used),
        cached=Total.of(u.cached for u in used),
        written=Total.of(u.cache_write for u in used),
        output=Total.of(u.output for u in used),
        usd=Total.of(c.analyze.cost.usd if c.analyze and c.analyze.cost else None for c in done),
        taken=sum(c.taken for c in calls),
        estimated=sum(u.input is None for u in used),
        seconds=sum(c.analyze.seconds for c in done if c.analyze is not None),
    )


def _pressure(c: CallTrace) -> Pressure:
    e = c.explain
    return Pressure(c.n, c.source, e.pressure_raw, e.pressure_predicted, e.level, e.recovery)


def _so_far(calls: Sequence[CallTrace]) -> tuple[float | None, ...]:
    """A failed request costs nothing; one without a price ends what is known of the sum."""
    found: list[float | None] = []
    total: float | None = 0.0
    for c in calls:
        if c.analyze is not None:
            usd = c.analyze.cost.usd if c.analyze.cost else None
            total = None if total is None or usd is None else total + usd
        found.append(total)
    return tuple(found)
