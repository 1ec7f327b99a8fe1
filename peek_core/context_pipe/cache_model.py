"""What an endpoint's prompt cache should still hold: a set of boundaries, by each provider's documented rule.

Owns: the trail a request leaves and the prediction for the next one. Refuses to know: clock, providers in person, what a
provider reported. Caches match at boundaries, not at the longest common byte prefix (`match` of ports.CacheRules); a
boundary is named by a hash chained over the sections before it, so that equal names mean equal prefixes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from peek_core.ports import CacheRules
from peek_core.values.messages import PromptSection

KEPT = 8
"""Requests per endpoint and model that are remembered."""


@dataclass(frozen=True)
class Trail:
    """What one request left behind. `chain` has one name per leading run of sections, shortest first."""

    names: tuple[str, ...]
    chain: tuple[str, ...]
    marked: tuple[int, ...]
    """Indexes of sections a cache entry ends at: those with a marker, and the provider's own."""
    reply: str
    """The name of the whole request with its reply behind it."""
    at: float


@dataclass(frozen=True)
class Known:
    """What the cache should hold when a request is planned. Names of boundaries, see Trail."""

    common: frozenset[str] = frozenset()
    """Every boundary of every request still alive."""
    entries: frozenset[str] = frozenset()
    """Those an entry ends at."""


def chained(hashes: Iterable[str], start: str = "") -> tuple[str, ...]:
    """One name per leading run of the hashes.

    >>> one, two = chained(["a", "b"]), chained(["a", "c"])
    >>> one[0] == two[0], one[1] == two[1]
    (True, False)
    """
    names, last = [], start
    for h in hashes:
        last = _next(last, h)
        names.append(last)
    return tuple(names)


@lru_cache(maxsize=16_384)
def _next(last: str, hash: str) -> str:
    """The next name of a chain; consecutive requests share most of theirs."""
    return hashlib.blake2b(f"{last}|{hash}".encode(), digest_size=10).hexdigest()


def link(section: PromptSection) -> str:
    """What of a section decides a prefix: its role and its bytes."""
    return f"{section.role}:{section.hash}"


def trail(sections: Sequence[PromptSection], rules: CacheRules, reply_hash: str, at: float) -> Trail:
    """What a request leaves behind once its reply began at `at`."""
    chain = chained(map(link, sections))
    ends = {n for n, s in enumerate(sections) if s.marker}
    users = [n for n, s in enumerate(sections) if s.role == "user"]
    if rules.implicit and users:
        ends.add(users[-1])
    last = chain[-1] if chain else ""
    return Trail(
        names=tuple(s.name for s in sections),
        chain=chain,
        marked=tuple(sorted(ends)),
        reply=chained([f"assistant:{reply_hash}"], last)[0],
        at=at,
    )


def known(trails: Sequence[Trail], rules: CacheRules, now: float) -> Known:
    """The boundaries of the trails an entry of which may still be alive. A read refreshes what it read: every later
    request over the same boundary counts as one."""
    if rules.match == "none":
        return Known()
    alive = [t for t in trails if now - t.at < rules.ttl_s]
    common = frozenset(name for t in alive for name in t.chain)
    if rules.match == "prefix":
        return Known(common, common)
    if rules.match == "breakpoints":
        return Known(common, frozenset(t.chain[n] for t in alive for n in t.marked))
    ends = {t.chain[-1] for t in alive if t.chain} | {t.reply for t in alive}
    for n, one in enumerate(alive):
        for other in alive[:n]:
            shared = set(one.chain) & set(other.chain)
            ends |= {next(name for name in reversed(one.chain) if name in shared)} if shared else set()
    return Known(common, frozenset(ends))


def predicted(sections: Sequence[PromptSection], sizes: Sequence[int], rules: CacheRules, held: Known) -> int:
    """Tokens of the request that should be read from the cache; `sizes` are the sections' tokens."""
    total = best = shared = 0
    for name, size in zip(chained(map(link, sections)), sizes, strict=True):
        total += size
        if name in held.common:
            shared = total
        if name in held.entries:
            best = total
    if rules.match == "prefix":
        best -= best % max(1, rules.step)
    elif rules.match == "units" and rules.step > 1:
        # Fixed intervals are units too, wherever a section ends.
        best = max(best, shared - shared % rules.step)
    return best if best >= rules.minimum else 0
