"""Optimize: the rules in order, each applied or skipped with a reason. Pure; EXPLAIN is complete after it.

Owns: the rule order and the Explain it yields. Refuses to know: clock, random, files, providers in person.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_pipe.rules import clear_observations, order_by_volatility
from peek_core.context_pipe.rules.working import Placed, Rule, RuleContext
from peek_core.values.call_trace import Decision, Explain, SectionTrace
from peek_core.values.canon import SERIALIZER

RULES: tuple[tuple[str, Rule], ...] = (
    (clear_observations.NAME, clear_observations.apply),
    (order_by_volatility.NAME, order_by_volatility.apply),
)


def optimize(placed: Sequence[Placed], context: RuleContext) -> tuple[tuple[Placed, ...], Explain]:
    """Run the rules of the snapshot's configuration; returns the sections to send and the full Explain."""
    current = tuple(placed)
    decisions: list[Decision] = []
    for name, rule in RULES:
        if context.snapshot.configuration.transforms:
            current, decision = rule(current, context)
        else:
            size = sum(p.section.tokens for p in current)
            decision = Decision(name, False, "configuration flat runs no transform", size, size)
        decisions.append(decision)
    return current, _explain(placed, current, tuple(decisions), context)


def _explain(
    bound: Sequence[Placed], sent: Sequence[Placed], decisions: tuple[Decision, ...], context: RuleContext
) -> Explain:
    snapshot, plan = context.snapshot, context.plan
    planned = {r.name: t for r, t in zip(snapshot.records, snapshot.estimates, strict=True)}
    size = {p.record.name: p.section.tokens for p in bound}
    sections = tuple(
        SectionTrace(
            name=p.record.name,
            kind=p.section.kind,
            role=p.section.role,
            scope=p.section.scope,
            tier=p.section.tier,
            priority=p.section.priority,
            planned=planned[p.record.name],
            bound=size[p.record.name],
            sent=p.section.tokens,
            hash=p.section.hash,
        )
        for p in sent
    )
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
        predicted_cached=shared_prefix(snapshot.previous, sections),
    )


def shared_prefix(previous: Sequence[tuple[str, int]], sections: Sequence[SectionTrace]) -> int:
    """Tokens of the leading sections that are byte-equal to the previous request's."""
    total = 0
    for (was, _), now in zip(previous, sections, strict=False):
        if was != now.hash:
            break
        total += now.sent
    return total
