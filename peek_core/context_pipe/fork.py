"""ForkPrefix: the parent's cacheable prefix, frozen when a sub-call is spawned (ContextPipe, section 5).

Owns: what is frozen and when a child may use it. Refuses to know: what the child asks. The published executor never
consumed the prefix; here a sub-call does where it needs what the prefix holds, or where reading it costs less than what
the child would otherwise send itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from peek_core.context_pipe.cache_model import chained, link
from peek_core.context_pipe.rules.working import ASSUMED_READ, Placed
from peek_core.values.call_trace import Decision
from peek_core.values.canon import content_hash
from peek_core.values.prices import Rates
from peek_core.values.sources import Scope, SourceRecord

NAME = "fork_prefix"


@dataclass(frozen=True)
class ForkPrefix:
    """The parent's leading sections of wider scope than one turn. `sha256` is over everything a cache would look at."""

    records: tuple[SourceRecord, ...]
    hashes: tuple[str, ...]
    tokens: int
    provider: str
    model: str
    sha256: str


def freeze(placed: Sequence[Placed], sizes: Sequence[int], provider: str, model: str) -> ForkPrefix:
    """The prefix of a request that was sent."""
    end = next((n for n, p in enumerate(placed) if p.record.scope is Scope.NONE), len(placed))
    # Bound texts are frozen, not records: what was trimmed or spilled for the parent is so for the child.
    records = tuple(replace(p.record, text=p.section.text, load=None) for p in placed[:end])
    hashes = tuple(link(p.section) for p in placed[:end])
    whole = content_hash([provider, model, chained(hashes)[-1:], *hashes])
    return ForkPrefix(records, hashes, sum(sizes[:end]), provider, model, whole)


def forked(
    prefix: ForkPrefix | None, own: Sequence[SourceRecord], own_tokens: int, needs: bool, rates: Rates | None
) -> tuple[tuple[SourceRecord, ...], Decision]:
    """The child's records, on the parent's prefix or alone, and why."""

    def alone(why: str) -> tuple[tuple[SourceRecord, ...], Decision]:
        return tuple(own), Decision(NAME, False, why, own_tokens, own_tokens)

    if prefix is None or not prefix.records:
        return alone("no request of this run has been answered yet, so there is no prefix to share")
    read = ASSUMED_READ if rates is None or rates.r is None else rates.r
    price = read * prefix.tokens
    if not needs and price >= own_tokens:
        return alone(
            f"a fresh prompt of {own_tokens:,} tokens is cheaper than reading {prefix.tokens:,} "
            f"at {read:.3g} of the price ({price:,.0f})"
        )
    why = (
        "the sub-call asked for what the prefix holds"
        if needs
        else f"reading it costs {price:,.0f} against {own_tokens:,}"
    )
    # Behind the prefix, whatever the child says of itself: neither its role nor its scope may break what is shared.
    mine = tuple(replace(r, role="user" if r.role == "system" else r.role, scope=Scope.NONE) for r in own)
    total = prefix.tokens + own_tokens
    names = tuple(r.name for r in prefix.records)
    return (*prefix.records, *mine), Decision(
        NAME, True, f"{why}; prefix {prefix.sha256[7:19]}", own_tokens, total, names
    )
