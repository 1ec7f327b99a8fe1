"""Optimize: the rules in order, each applied or skipped with a reason. Pure; EXPLAIN is complete after it.

Owns: the table of rules and the Explain it yields. Refuses to know: clock, random, files, providers in person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from peek_core.context_pipe.cache_model import predicted
from peek_core.context_pipe.rules import (
    clear_observations,
    drop_rounds,
    held,
    order_by_volatility,
    place_markers,
    spill,
    trim_schemas,
)
from peek_core.context_pipe.rules.working import Placed, Rule, RuleContext
from peek_core.values.call_trace import Decision, Explain, SectionTrace
from peek_core.values.canon import SERIALIZER
from peek_core.values.messages import PromptSection

RULES: Mapping[str, Rule] = {
    rule.NAME: rule.apply
    for rule in (trim_schemas, clear_observations, spill, drop_rounds, order_by_volatility, place_markers)
}
CLOSED = {
    trim_schemas.NAME: "what the model may call is latched for the session: trimming it would break the cache for all behind it"
}
"""Why a gate is closed, where there is more to say than that it is."""


def optimize(placed: Sequence[Placed], context: RuleContext, bound: Decision) -> tuple[tuple[Placed, ...], Explain]:
    """Run the rules of the snapshot's configuration; returns the sections to send and the full Explain."""
    config = context.snapshot.configuration
    current = held.again(placed, context) if config.rules else tuple(placed)
    decisions = [bound]
    for name in config.rules:
        current, decision = RULES[name](current, context)
        decisions.append(decision)
    size = context.tokens(current)
    for name in RULES:
        if name not in config.rules:
            why = (
                f"configuration {config.name} runs no transform"
                if not config.rules
                else f"configuration {config.name} keeps this gate closed"
            )
            if config.rules and name in CLOSED:
                why = f"{why}: {CLOSED[name]}"
            decisions.append(Decision(name, False, why, size, size))
    return current, _explain(placed, current, tuple(decisions), context)


def _explain(
    bound: Sequence[Placed], sent: Sequence[Placed], decisions: tuple[Decision, ...], context: RuleContext
) -> Explain:
    snapshot, plan = context.snapshot, context.plan
    planned = {r.name: t for r, t in zip(snapshot.records, snapshot.estimates, strict=True)}
    size = {p.record.name: context.size(p) for p in bound}
    sizes = [context.size(p) for p in sent]
    sections = tuple(
        _traced(
            *_said(p.section),
            planned.get(p.section.name, 0),
            size.get(p.section.name, 0),
            tokens,
            plan.budgets.get(p.section.name),
        )
        for p, tokens in zip(sent, sizes, strict=True)
    )
    cache = snapshot.capabilities.cache
    return Explain(
        sections=sections,
        decisions=decisions,
        configuration=snapshot.configuration.name,
        counter=snapshot.counter,
        limit=plan.limit,
        reserve=plan.reserve,
        pressure_raw=plan.pressure_raw,
        pressure_predicted=plan.pressure_predicted,
        level=plan.level.value,
        provider=snapshot.provider,
        model=snapshot.model,
        serializer=SERIALIZER,
        predicted_cached=predicted([p.section for p in sent], sizes, cache, snapshot.cache),
        used=plan.used,
        base=snapshot.base,
        reserves=snapshot.reserves,
        recovery=snapshot.recovery,
        strategy=cache.match,
        cold=snapshot.cold,
        flips=snapshot.flips,
        expected_calls=snapshot.expected_calls,
        factors={k: v for k, v in snapshot.factors.items() if v != 1.0},
        rates=snapshot.rates,
    )


@lru_cache(maxsize=4_096)
def _traced(
    name: str, kind: str, role: str, scope: str, tier: str, priority: str, hash: str, marker: bool,
    planned: int, bound: int, sent: int, budget: int | None,
) -> SectionTrace:  # fmt: skip
    """A long run traces the same sections again and again."""
    return SectionTrace(name, kind, role, scope, tier, priority, planned, bound, sent, hash, budget, marker)


def _said(s: PromptSection) -> tuple[str, str, str, str, str, str, str, bool]:
    return s.name, s.kind, s.role, s.scope, s.tier, s.priority, s.hash, s.marker
