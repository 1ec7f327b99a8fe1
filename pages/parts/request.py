"""A request as it was decided: strip, table of sections, decisions, alerts, room. For one that was sent, and for a dry run.

Owns: how an Explain is drawn. Refuses to know: runs, replies, where texts are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st

from pages.parts.html import draw, esc, listed, table, tag
from pages.parts.request_strip import Said, enlarged, legend, strip
from peek_core.context_pipe.explain import DASH, SectionRow, number
from peek_core.values.call_trace import Alert, Decision, Explain

MARKS = {"clear_observations": "cleared", "spill": "spilled", "trim_schemas": "trimmed"}
"""What stands in a section's place after a rule."""
STRATEGIES = {
    "none": "nothing is known of a cache",
    "prefix": "the longest common prefix",
    "breakpoints": "up to a marked boundary",
    "units": "whole stored units",
}
NAMED = 6
"""Sections a decision names before it counts."""
LONG = 18
"""Rows of the table before it scrolls in a box of its own."""


def picture(e: Explain, rows: Sequence[SectionRow], said: Said) -> None:
    """The strip and its legend."""
    draw(legend(said) + strip(rows, e.reserve, e.limit, said) + enlarged(rows, e.reserve, e.limit, said))


def sections(e: Explain, rows: Sequence[SectionRow], said: Said, missed: str | None) -> None:
    """Every section with what was planned, bound and sent of it; `missed` is the first one not read from the cache whole."""
    marks = _marks(e.decisions)
    body = []
    for r in rows:
        s = r.section
        tags = [tag(word, "accent") for word in marks.get(s.name, ())]
        tags += [tag("marker", "line", "a reusable prefix ends here")] if s.marker else []
        tags += [tag("first miss", "warn")] if s.name == missed else []
        body.append(
            [
                f'<span title="{esc(s.role)}">{esc(s.name)}</span> {"".join(tags)}',
                esc(s.tier.replace("_", " ")),
                esc("this turn" if s.scope == "none" else s.scope),
                esc(s.priority.replace("_", " ")),
                number(s.planned),
                number(s.bound),
                number(s.sent),
                _count(r.actual),
                _count(r.cached),
                _part(r.usd),
            ]
        )
    whole = [
        f"<b>{v}</b>"
        for v in (
            number(sum(r.section.planned for r in rows)),
            number(sum(r.section.bound for r in rows)),
            number(e.tokens),
            _count(_sum(r.actual for r in rows)),
            _count(_sum(r.cached for r in rows)),
            _part(_sum(r.usd for r in rows)),
        )
    ]
    cached, cost = ("Cached", "Cost in") if said != "expected" else ("Cached, expected", "Cost in, expected")
    head = ["Section", "Lifecycle tier", "Scope", "Priority", "Planned", "Bound", "Sent", "Actual", cached, cost]
    tall = " pk-tall" if len(body) > LONG else ""
    draw(
        '<div class="pk-cap" style="padding-top:8px">Sections in the order sent, tokens</div>'
        f'<div class="pk-wide{tall}">{table(head, [*body, ["<b>Sum</b>", "", "", "", *whole]], num=frozenset(range(4, 10)))}</div>'
    )


def decisions(e: Explain) -> None:
    """Every rule with its verdict, its reason and the tokens before and after."""
    rows = []
    for d in e.decisions:
        changed = d.tokens_before != d.tokens_after
        tokens = (
            f"{d.tokens_before:,} → {d.tokens_after:,}"
            if changed
            else f"{d.tokens_before:,}"
            if d.tokens_before
            else DASH
        )
        rows.append(
            [
                esc(_words(d.rule)),
                tag("applied", "accent") if d.applied else tag("skipped", "line"),
                tokens,
                f'<div class="pk-refused">{esc(d.reason)}{_concerned(d)}</div>',
            ]
        )
    off = frozenset(i for i, d in enumerate(e.decisions) if not d.applied)
    body = table(["Rule", "", "Tokens", "Why"], rows, num=frozenset({2}), off=off)
    draw(f'<div class="pk-cap">Decisions, in order</div><div class="pk-wide">{body}</div>')


def alerts(raised: Sequence[Alert]) -> None:
    """What is worth a look, why, and what to do."""
    lines = "".join(
        f'<div class="pk-alert">{tag(a.name.replace("_", " "), "warn")}<span style="overflow-wrap:anywhere">{esc(a.cause)}. '
        f'<span class="pk-muted">{esc(a.todo)}</span></span></div>'
        for a in raised
    )
    draw('<div class="pk-cap">Alerts</div>' + (lines or '<div class="pk-note">None.</div>'))


def room(e: Explain) -> None:
    """What pressure was measured against, and what was kept free."""
    pairs = [
        ("Pressure", f"{e.pressure_predicted:.3f} with the reserve, {e.pressure_raw:.3f} without; {_words(e.level)}")
    ]
    if e.base is not None:
        b = e.base
        known = (("window", b.window), ("budget", b.budget), ("price cliff", b.cliff), ("refused at", b.ceiling))
        pairs.append(("Measured against", f"{e.limit:,}: " + ", ".join(f"{n} {number(v)}" for n, v in known)))
    if e.reserves is not None:
        r = e.reserves
        more = f"; thinking {r.thinking:,}, schemas {r.schemas:,}" if r.thinking or r.schemas else ""
        pairs.append(("Reserve", f"reply {r.output:,} ({r.reason}){more}"))
    pairs.append(
        ("Cache finds", STRATEGIES.get(e.strategy, e.strategy) + (", cold" if e.cold and e.strategy != "none" else ""))
    )
    if e.strategy != "none":
        pairs.append(("Expected cached", number(e.predicted_cached)))
    pairs.append(("Expected to follow", f"{e.expected_calls} request{'s' * (e.expected_calls != 1)}"))
    pairs += [("Changed since the run before", ", ".join(e.flips))] if e.flips else []
    pairs += [("Refused for its length", f"{e.recovery} time{'s' * (e.recovery != 1)} before")] if e.recovery else []
    if e.factors:
        pairs.append(
            ("Calibration", ", ".join(f"{k.replace('_', ' ')} ×{v:.2f}" for k, v in sorted(e.factors.items())))
        )
    pairs.append(("Configuration", f"{e.configuration}; {e.counter}"))
    draw('<div class="pk-cap">Room</div>' + listed(pairs))


def shadow(e: Explain, outcome: str) -> None:
    """What the configuration planned beside it would have sent; `outcome`: what became of the run, said beside any saving."""
    s = e.shadow
    if s is None:
        return
    if s.hashes == tuple(one.hash for one in e.sections):
        draw(
            f'<div class="pk-note" style="padding-top:8px"><b>{esc(s.configuration)}</b> would have sent the same.</div>'
        )
        return
    fits = "It would not have fitted the window." if s.overflow else ""
    cached = (
        "" if e.strategy == "none" else f", {s.predicted_cached:,} of them from the cache ({e.predicted_cached:,} here)"
    )
    draw(
        f'<div class="pk-note" style="padding-top:8px"><b>{esc(s.configuration)}</b> would have sent {s.tokens:,} tokens '
        f"({e.tokens:,} here){cached}; level {esc(_words(s.level))}. {fits} {esc(outcome)}</div>"
    )


def texts(e: Explain, text: Callable[[str], str | None] | Mapping[str, str]) -> None:
    """Every section word for word."""
    read = text if callable(text) else text.get
    for s in e.sections:
        draw(f'<div class="pk-cap" style="padding-top:6px">{esc(s.name)}, {esc(s.role)}, {s.sent:,} tokens</div>')
        held = read(s.hash)
        said = "(no longer kept)" if held is None else held or "(empty)"
        st.code(said, language=None, wrap_lines=True, height=220 if s.sent > 300 else "content")


def _concerned(d: Decision) -> str:
    if not d.applied or not d.sections or d.rule == "place_markers":
        return ""
    more = f" and {len(d.sections) - NAMED:,} more" if len(d.sections) > NAMED else ""
    return f'<div class="pk-small pk-muted">{esc(", ".join(d.sections[:NAMED]) + more)}</div>'


def _marks(decided: Sequence[Decision]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for d in decided:
        if d.applied and d.rule in MARKS:
            for name in d.sections:
                found.setdefault(name, []).append(MARKS[d.rule])
    return found


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if not known or any(v is None for v in known) else sum(v for v in known if v is not None)


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def _part(usd: float | None) -> str:
    """Millionths of a dollar, so that parts stand below each other."""
    return DASH if usd is None else f"${usd:.6f}"


def _words(level: str) -> str:
    return level.replace("_", " ")


def pressed(e: Explain) -> tuple[str, str]:
    """Pressure as a key figure: as planned, and as sent where something was taken out."""
    sent = (e.tokens + e.reserve) / e.limit if e.limit else 0.0
    less = f"; {sent:.2f} as sent" if e.pressure_predicted - sent >= 0.01 else ""
    return f"{e.pressure_predicted:.2f}", f"pressure, {_words(e.level)}{less}"
