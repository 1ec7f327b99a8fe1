"""Tell the provider where reusable prefixes end, by its own marker policy.

Gate: an endpoint that takes markers. They go to the ends of scopes (global, session, the newest stable section), never
behind an emergent item, never below the minimum, at most as many as the provider takes. When a latch flipped this turn,
the marker of this turn's scope is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from peek_core.context_pipe.rules.working import Placed, RuleContext
from peek_core.values.call_trace import Decision
from peek_core.values.sources import Kind, LifecycleTier, Scope

NAME = "place_markers"


def apply(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Decision]:
    """Mark sections; texts, order and tokens stay."""
    total, rules = context.tokens(placed), context.snapshot.capabilities.cache
    if not rules.marker:
        return tuple(placed), Decision(NAME, False, "this endpoint takes no markers", total, total)
    if context.snapshot.configuration.markers == "fixed":
        wanted = [n for n in (0, len(placed) // 2, len(placed) - 1) if placed]
    else:
        wanted = _scope_ends(placed, context)
    # OpenAI takes markers on what is given to the model, not on what it said.
    able = [
        n
        for n in wanted
        if placed[n].record.markerable and (rules.marker == "anthropic" or placed[n].record.role != "assistant")
    ]
    sizes = [context.size(p) for p in placed]
    able = [n for n in able if sum(sizes[: n + 1]) >= rules.minimum]
    room = rules.max_markers - (1 if rules.implicit else 0)
    chosen = set(able[-room:] if room > 0 else ())
    if not chosen:
        why = f"no boundary at {rules.minimum:,} tokens or more, the least this endpoint caches"
        return tuple(placed), Decision(NAME, False, why, total, total)
    out = tuple(Placed(p.record, replace(p.section, marker=True)) if n in chosen else p for n, p in enumerate(placed))
    names = tuple(placed[n].record.name for n in sorted(chosen))
    reason = f"{len(names)} of at most {rules.max_markers} markers, after {', '.join(names)}"
    if context.snapshot.flips:
        reason += "; none for this turn, a latched section changed"
    return out, Decision(NAME, True, reason, total, total, names)


def _scope_ends(placed: Sequence[Placed], context: RuleContext) -> list[int]:
    stable = [
        n
        for n, p in enumerate(placed)
        if p.record.kind is not Kind.NOTICE and p.record.tier is not LifecycleTier.EMERGENT
    ]
    ends: dict[Scope, int] = {}
    for n in stable:
        ends[placed[n].record.scope] = n
    if context.snapshot.flips:
        ends.pop(Scope.NONE, None)
    elif Scope.NONE in ends and context.snapshot.capabilities.cache.marker == "openai":
        # The provider marks the newest user message by itself; what matters is the last one it can be told about.
        users = [n for n in stable if placed[n].record.scope is Scope.NONE and placed[n].record.role == "user"]
        ends[Scope.NONE] = users[-1] if users else ends.pop(Scope.NONE)
    return sorted(set(ends.values()))
