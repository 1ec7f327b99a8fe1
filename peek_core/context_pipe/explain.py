"""EXPLAIN ANALYZE of one request: what each section really took, and the whole as byte-stable text.

Owns: how actual, cached and cost are shared out over sections, and the text form: the same in terminal, page and golden
files. Refuses to know: colours, widths of a screen, clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from peek_core.context_pipe.alerts import first_miss, hit_rate
from peek_core.values.call_trace import CallTrace, Decision, Explain, SectionTrace

DASH = "–"


@dataclass(frozen=True)
class SectionRow:
    """One section with its share of what came back. None where the endpoint did not say, or no price is known.

    The endpoint counts the request, not its parts: `actual` is the request's count shared out by estimate, `cached` what
    the leading sections take of the cached tokens, `usd` both at their prices. The three add up to the request's.
    """

    section: SectionTrace
    actual: float | None
    cached: float | None
    usd: float | None


def number(value: int | None) -> str:
    """Thousands with commas; unknown is a dash."""
    return DASH if value is None else f"{value:,}"


def money(usd: float | None) -> str:
    """Dollars with two digits that say something; unknown is a dash.

    >>> money(12.5), money(0.0851), money(0.000126), money(0), money(None)
    ('$12.50', '$0.0851', '$0.00013', '$0.00', '–')
    """
    if usd is None:
        return DASH
    digits = 2 if usd >= 1 or usd <= 0 else 4 if usd >= 0.01 else min(8, 1 - math.floor(math.log10(usd)))
    return f"${usd:,.{digits}f}"


def rows(trace: CallTrace) -> tuple[SectionRow, ...]:
    """The sections in the order sent, with what each took."""
    e, a = trace.explain, trace.analyze
    if a is None or a.usage.input is None or not e.tokens:
        return tuple(SectionRow(s, None, None, None) for s in e.sections)
    scale = a.usage.input / e.tokens
    sizes = [s.sent * scale for s in e.sections]
    return _shared_out(e, sizes, a.usage.cached, sizes, priced=a.cost is not None)


def expected(explain: Explain) -> tuple[SectionRow, ...]:
    """The sections before anything is sent: `cached` by the endpoint's documented rules, `usd` the input at today's price.

    None of it where nothing is known of the endpoint's cache, or of its prices. `actual` is always unknown.
    """
    cached = None if explain.strategy == "none" else explain.predicted_cached
    sizes = [float(s.sent) for s in explain.sections]
    return _shared_out(explain, sizes, cached, [None] * len(sizes), priced=True)


def _shared_out(
    e: Explain, sizes: Sequence[float], cached: int | None, actual: Sequence[float | None], *, priced: bool
) -> tuple[SectionRow, ...]:
    """Cached tokens go to the leading sections, until there are none left."""
    left, found = None if cached is None else float(cached), []
    for section, size, counted in zip(e.sections, sizes, actual, strict=True):
        read = None if left is None else min(left, size)
        left = None if left is None or read is None else left - read
        usd = e.rates.usd(size - (read or 0.0), read or 0.0) if priced and e.rates is not None else None
        found.append(SectionRow(section, counted, read, usd))
    return tuple(found)


def explain_text(explain: Explain) -> str:
    """EXPLAIN: everything decided before sending."""
    lines = [
        f"EXPLAIN  {explain.provider} / {explain.model}  configuration {explain.configuration}",
        *_pressure(explain),
    ]
    width = max((len(s.name) for s in explain.sections), default=0)
    lines.append("sections, in the order sent:")
    lines += [f"{_section(s, width)}{'  marker' if s.marker else ''}" for s in explain.sections]
    return "\n".join([*lines, *_decided(explain)]) + "\n"


def explain_analyze_text(trace: CallTrace) -> str:
    """EXPLAIN ANALYZE: the decisions, then what really happened."""
    e, a = trace.explain, trace.analyze
    head = f"EXPLAIN ANALYZE  call {trace.n}, {trace.source}  {e.provider} / {e.model}  configuration {e.configuration}"
    lines = [head, *_pressure(e), "sections, in the order sent:"]
    width = max((len(s.name) for s in e.sections), default=0)
    miss = first_miss(e, a.usage.cached if a else None) if a and a.usage.cached is not None else None
    for row in rows(trace):
        said = f"  actual {_count(row.actual)}  cached {_count(row.cached)}  {money(row.usd):>10}"
        marks = ("  marker" if row.section.marker else "") + ("  first miss" if row.section.name == miss else "")
        lines.append(_section(row.section, width) + said + marks)
    lines += _decided(e)
    lines.append("analyze:")
    if a is None:
        return "\n".join([*lines, f"  failed: {trace.error}"]) + "\n"
    hit = hit_rate(a)
    error = DASH if a.estimate_error is None else f"{100 * a.estimate_error:+.1f} %"
    lines += [
        f"  input {number(a.usage.input)}  cached {number(a.usage.cached)}  written {number(a.usage.cache_write)}  "
        f"output {number(a.usage.output)}  reasoning {number(a.usage.reasoning)}  finish {a.finish}  retries {a.retries}",
        f"  hit rate {DASH if hit is None else f'{100 * hit:.1f} %'}  predicted cached {e.predicted_cached:,}  "
        f"estimate error {error}",
        f"  cost {DASH if a.cost is None else f'{money(a.cost.usd)} (estimate, {a.cost.source}, prices of {a.cost.date})'}",
    ]
    if a.truncated:
        lines.append(f"  CUT: the endpoint counted {number(a.usage.input)} of about {e.tokens:,} tokens")
    lines.append("alerts:" if trace.alerts else "alerts: none")
    for alert in trace.alerts:
        lines += [f"  {alert.name}: {alert.cause}", f"    {alert.todo}"]
    return "\n".join(lines) + "\n"


def _pressure(e: Explain) -> list[str]:
    lines = [f"tokens {e.tokens:,} + reserve {e.reserve:,} of {e.limit:,} (estimates, {e.counter})"]
    if e.base is not None:
        b = e.base
        lines.append(
            f"base: window {b.window:,}  budget {number(b.budget)}  price cliff {number(b.cliff)}  "
            f"refused at {number(b.ceiling)}"
        )
    if e.reserves is not None:
        r = e.reserves
        lines.append(f"reserve: reply {r.output:,} ({r.reason})  thinking {r.thinking:,}  schemas {r.schemas:,}")
    recovery = f"  recovery {e.recovery}" if e.recovery else ""
    lines.append(f"pressure raw {e.pressure_raw:.3f}  predicted {e.pressure_predicted:.3f}  level {e.level}{recovery}")
    lines.append(
        f"cache {e.strategy}{', cold' if e.cold else ''}  predicted cached {e.predicted_cached:,}  "
        f"further calls expected {e.expected_calls}"
    )
    if e.flips:
        lines.append(f"changed since the run before: {', '.join(e.flips)}")
    if e.factors:
        lines.append("calibration: " + "  ".join(f"{k} {v:.3f}" for k, v in sorted(e.factors.items())))
    return lines


def _section(s: SectionTrace, width: int) -> str:
    return (
        f"  {s.name:<{width}}  {s.role:<9} {s.scope:<7} {s.tier:<11} {s.priority:<11} "
        f"planned {s.planned:>6,}  bound {s.bound:>6,}  sent {s.sent:>6,}"
    )


def _decided(e: Explain) -> list[str]:
    lines = ["decisions:", *(_decision(d) for d in e.decisions)]
    if e.shadow is not None:
        s = e.shadow
        applied = ", ".join(s.applied) or "nothing"
        lines.append(
            f"shadow {s.configuration}: tokens {s.tokens:,}  level {s.level}  predicted cached {s.predicted_cached:,}  "
            f"applied {applied}{'  WOULD OVERFLOW' if s.overflow else ''}"
        )
    return lines


def _decision(d: Decision) -> str:
    verdict = "applied" if d.applied else "skipped"
    return f"  {d.rule:<20} {verdict}  {d.tokens_before:,} -> {d.tokens_after:,}  {d.reason}"


def _count(value: float | None) -> str:
    return f"{DASH if value is None else f'{value:,.0f}':>6}"
