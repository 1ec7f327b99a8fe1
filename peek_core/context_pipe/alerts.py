"""The eight alerts: what is worth a look in a request that came back, why, and what to do.

Owns: when each one is raised and its words. Refuses to know: how an alert is shown; a mismatch between what was decided and
what would be sent is none of them but a failure before Execute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from peek_core.context_pipe.plan import CompressionLevel
from peek_core.context_pipe.rules import drop_rounds
from peek_core.ports import CacheRules
from peek_core.values.call_trace import Alert, Analyze, Explain
from peek_core.values.sources import Scope

OFF_BY = 0.20
SPIKE = 0.25
WINDOW = 8
"""Requests the hit rate is compared over."""
CASCADE = 3
LOOP = 2


@dataclass(frozen=True)
class Seen:
    """An earlier request of the same source and run, as far as alerts look back."""

    explain: Explain
    analyze: Analyze | None


def hit_rate(analyze: Analyze | None) -> float | None:
    """Cache-read tokens over input tokens; None where the endpoint says nothing."""
    if analyze is None or not analyze.usage.input or analyze.usage.cached is None:
        return None
    return min(1.0, analyze.usage.cached / analyze.usage.input)


def first_miss(explain: Explain, cached: int | None) -> str | None:
    """The first section that was not read from the cache whole, where the endpoint says how much was; None: all were."""
    total = 0
    for s in explain.sections:
        total += s.sent
        if cached is not None and total > cached:
            return s.name
    return None


def raised(
    explain: Explain,
    analyze: Analyze,
    before: Sequence[Seen],
    rules: CacheRules,
    *,
    recoveries: int,
    overflowed: int,
    grows: bool = True,
) -> tuple[Alert, ...]:
    """Alerts of one request; `before` are those of its source in the run, oldest first.

    `grows`: whether each of them goes on where the one before it ended, as the agent's do. Sub-calls don't: only what is
    there for all of them, a section of a wider scope than this turn, is expected to stay.
    """
    checks = (
        _cache_break(explain, before, grows),
        _cold_start(explain, analyze, before, rules),
        _regression(analyze, before),
        _miss(explain, analyze),
        _cascade(explain, before),
        _loop(recoveries),
        _spike(explain, before) if grows else None,
        _overflow(overflowed),
    )
    return tuple(a for a in checks if a is not None)


def changed_prefix(explain: Explain, before: Sequence[Seen]) -> str | None:
    """The first section where this request leaves the one before it, though that one still goes on; None: it only grew."""
    if not before:
        return None
    old = before[-1].explain.sections
    for was, now in zip(old, explain.sections, strict=False):
        if (was.hash, was.role) != (now.hash, now.role):
            return now.name
    return None if len(explain.sections) >= len(old) else old[len(explain.sections)].name


def cause_of(explain: Explain, section: str, before: Sequence[Seen]) -> str:
    """Which decision or latch changed a section, in words."""
    if section in explain.flips:
        return f"the latched section {section} has a new value"
    held = {d.rule: set(d.sections) for s in before[-1:] for d in s.explain.decisions if d.applied}
    decided = [d for d in explain.decisions if d.applied and d.rule != "place_markers"]
    if section == drop_rounds.NOTE:  # the note is nobody's section: what it stands for went
        decided = [d for d in decided if d.rule == drop_rounds.NAME] or decided
    for d in decided:
        if section in d.sections or set(d.sections) - held.get(d.rule, set()):
            return f"{d.rule}: {d.reason}"
    if any(d.applied and d.rule == "order_by_volatility" for d in explain.decisions):
        return "order_by_volatility moved sections"
    if section.startswith("notice") or any(s.name.startswith("notice") for s in before[-1].explain.sections):
        return "a notice for one turn came or went"
    return f"the text of {section} changed"


def _cache_break(explain: Explain, before: Sequence[Seen], grows: bool) -> Alert | None:
    section = changed_prefix(explain, before)
    own = {s.name for s in explain.sections if s.scope == Scope.NONE.value}
    if section is None or (not grows and section in own):
        return None
    return Alert(
        "cache_break",
        f"The request leaves the one before it at {section}: {cause_of(explain, section, before)}",
        "Nothing, where the decision says that it pays; otherwise open fewer gates.",
    )


def _cold_start(explain: Explain, analyze: Analyze, before: Sequence[Seen], rules: CacheRules) -> Alert | None:
    # Below the minimum nothing is cached, and after a long pause nothing is left: both are as expected.
    if not before or explain.predicted_cached < max(1, rules.minimum) or analyze.usage.cached != 0:
        return None
    return Alert(
        "cold_start",
        f"Nothing was read from the cache, though {explain.predicted_cached:,} tokens should have been there",
        "Look whether another process or a gateway routes requests elsewhere, or whether model or key changed.",
    )


def _regression(analyze: Analyze, before: Sequence[Seen]) -> Alert | None:
    now = hit_rate(analyze)
    past = [h for h in (hit_rate(s.analyze) for s in before[-WINDOW:]) if h is not None]
    if now is None or len(past) < 3 or median(past) - now < OFF_BY:
        return None
    return Alert(
        "hit_rate_regression",
        f"{now:.0%} were read from the cache, {median(past):.0%} were usual in the last {len(past)} requests",
        "See which section the request leaves the one before it at.",
    )


def _miss(explain: Explain, analyze: Analyze) -> Alert | None:
    actual, cached = analyze.usage.input, analyze.usage.cached
    if not actual:
        return None
    if abs(actual - explain.tokens) > OFF_BY * actual:
        return Alert(
            "predictive_miss",
            f"{explain.tokens:,} tokens were estimated, {actual:,} were counted by the endpoint",
            "Estimates learn from every request; where this stays, the endpoint counts otherwise or cuts the prompt.",
        )
    if cached is not None and abs(cached - explain.predicted_cached) > OFF_BY * actual:
        return Alert(
            "predictive_miss",
            f"{explain.predicted_cached:,} tokens were expected from the cache, {cached:,} were read",
            "Look at the endpoint's cache rules: they are documented ones, not measured ones.",
        )
    return None


def compacts(explain: Explain, before: Sequence[Seen]) -> bool:
    """Whether this request removed something that the one before it still had."""
    held = {n for s in before[-1:] for d in s.explain.decisions if d.applied for n in d.sections}
    return any(
        d.applied and d.tokens_after < d.tokens_before and set(d.sections) - held
        for d in explain.decisions
        if d.rule in ("clear_observations", "drop_rounds", "trim_schemas")
    )


def _cascade(explain: Explain, before: Sequence[Seen]) -> Alert | None:
    chain = [compacts(s.explain, before[:n]) for n, s in enumerate(before)][-(CASCADE - 1) :]
    if len(chain) < CASCADE - 1 or not all(chain) or not compacts(explain, before):
        return None
    return Alert(
        "compaction_cascade",
        f"{CASCADE} requests in a row removed something",
        "Ask a narrower question, or raise the budget: each removal breaks the cache again.",
    )


def _loop(recoveries: int) -> Alert | None:
    if recoveries < LOOP:
        return None
    return Alert(
        "recovery_loop",
        f"The endpoint failed {recoveries} times in a row before this reply",
        "Lower the window on the Settings page if it refuses for length; otherwise look at the endpoint.",
    )


def _spike(explain: Explain, before: Sequence[Seen]) -> Alert | None:
    if not before or explain.pressure_predicted - before[-1].explain.pressure_predicted < SPIKE:
        return None
    old, new = before[-1].explain.pressure_predicted, explain.pressure_predicted
    level = CompressionLevel(explain.level).value.replace("_", " ")
    return Alert(
        "pressure_spike",
        f"Pressure went from {old:.2f} to {new:.2f} in one turn (level {level})",
        "See which section grew; print less of a result.",
    )


def _overflow(overflowed: int) -> Alert | None:
    if not overflowed:
        return None
    return Alert(
        "emergent_overflow",
        f"{overflowed} notices found no room for this request",
        "Nothing is lost but their text; look at what produces so many.",
    )
