"""EXPLAIN ANALYZE of one request as byte-stable text: the same in terminal, page and golden files.

Owns: the text form. Refuses to know: colours, widths of a screen, clock.
"""

from __future__ import annotations

from peek_core.values.call_trace import CallTrace, Explain

DASH = "–"


def number(value: int | None) -> str:
    """Thousands with commas; unknown is a dash."""
    return DASH if value is None else f"{value:,}"


def explain_text(explain: Explain) -> str:
    """EXPLAIN: everything decided before sending."""
    lines = [
        f"EXPLAIN  {explain.provider} / {explain.model}  configuration {explain.configuration}",
        f"tokens {explain.tokens:,} + reserve {explain.reserve:,} of {explain.limit:,} (estimates, {explain.counter})",
        f"pressure raw {explain.pressure_raw:.3f}  predicted {explain.pressure_predicted:.3f}  level {explain.level}",
        f"predicted cached prefix {explain.predicted_cached:,}",
        "sections, in the order sent:",
    ]
    width = max((len(s.name) for s in explain.sections), default=0)
    lines += [
        f"  {s.name:<{width}}  {s.role:<9} {s.scope:<7} {s.tier:<11} {s.priority:<11} "
        f"planned {s.planned:>6,}  bound {s.bound:>6,}  sent {s.sent:>6,}"
        for s in explain.sections
    ]
    lines.append("decisions:")
    for d in explain.decisions:
        verdict = "applied" if d.applied else "skipped"
        lines.append(f"  {d.rule:<20} {verdict}  {d.tokens_before:,} -> {d.tokens_after:,}  {d.reason}")
    return "\n".join(lines) + "\n"


def explain_analyze_text(trace: CallTrace) -> str:
    """EXPLAIN ANALYZE: the decisions, then what really happened."""
    head = explain_text(trace.explain).replace("EXPLAIN  ", f"EXPLAIN ANALYZE  call {trace.n}, {trace.source}  ", 1)
    if trace.analyze is None:
        return f"{head}analyze:\n  failed: {trace.error}\n"
    a = trace.analyze
    hit = None if not a.usage.input or a.usage.cached is None else a.usage.cached / a.usage.input
    error = DASH if a.estimate_error is None else f"{100 * a.estimate_error:+.1f} %"
    lines = [
        "analyze:",
        f"  input {number(a.usage.input)}  cached {number(a.usage.cached)}  output {number(a.usage.output)}  "
        f"finish {a.finish}  retries {a.retries}",
        f"  hit rate {DASH if hit is None else f'{100 * hit:.1f} %'}  estimate error {error}  "
        f"cost {DASH if a.cost is None else f'{a.cost:.4f}'}",
    ]
    return head + "\n".join(lines) + "\n"
