"""What happened in one run, read off its requests and steps: where the time went, where the cache broke, what was removed.

Owns: that reading. Refuses to know: storage, drawing, and any decision; everything here was decided before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from peek_core.context_pipe.alerts import Seen, cause_of, changed_prefix
from peek_core.context_pipe.run_sums import LEARNING
from peek_core.values.call_trace import STEP, SUB_CALL, CallTrace
from peek_core.values.events import Event
from peek_core.values.trajectory import Step

TITLES: Mapping[str, str] = {STEP: "Turn", "distill": "Distil", "chart": "Edit map", SUB_CALL: "Sub-call"}
REMOVES: Mapping[str, str] = {
    "clear_observations": "cleared",
    "spill": "spilled",
    "drop_rounds": "dropped",
    "trim_schemas": "trimmed",
    "bind": "left out",
}
"""Rules that take something out of a request, and what that is called."""


@dataclass(frozen=True)
class Span:
    """A stretch of a run's time, in seconds from its beginning. `row` is the turn or request it belongs to, `n` the
    request's number where it is one."""

    row: str
    what: str
    kind: Literal["model", "SQL", "sandbox"]
    start: float
    seconds: float
    n: int | None = None


@dataclass(frozen=True)
class Break:
    """A request that left the one before it of its source: at which section, because of what."""

    n: int
    section: str
    cause: str
    behind: int
    """Tokens from that section on, which the cache could not give."""


@dataclass(frozen=True)
class Removed:
    """What one request took out that the requests before it still had. `tokens` estimated."""

    n: int
    how: str
    sections: tuple[str, ...]
    tokens: int
    reason: str


@dataclass(frozen=True)
class Repeated:
    """A query that ran again after its observation had been taken out."""

    sql: str
    first: int
    again: int


def titles(calls: Sequence[CallTrace]) -> tuple[str, ...]:
    """A name for each request. A turn keeps its number when its request was refused and sent again."""
    counts: dict[str, int] = {}
    found = []
    for c in calls:
        n = counts.get(c.source, 0) + 1
        if c.analyze is not None:
            counts[c.source] = n
        name = TITLES.get(c.source, c.source)
        numbered = name if c.source in LEARNING and n == 1 else f"{name} {n}"
        found.append(numbered if c.analyze is not None else f"{numbered}, failed")
    return tuple(found)


def timeline(calls: Sequence[CallTrace], steps: Sequence[Step]) -> tuple[Span, ...]:
    """One after the other: the model, then of its cell what queries took, sub-calls, and the sandbox the rest.

    Sub-calls of a cell overlap; together they are given at most what no query took.
    """
    names = dict(zip((c.n for c in calls), titles(calls), strict=True))
    turns = [c for c in calls if c.source == STEP and c.analyze is not None]
    spans: list[Span] = []
    at = 0.0
    for i, step in enumerate(steps):
        here = turns[i] if i < len(turns) else None
        row = f"Turn {step.n}" if here is None else names[here.n]
        sql = min(step.seconds, sum(q.seconds for q in step.queries))
        asked = _asked_within(calls, here, turns[i + 1] if i + 1 < len(turns) else None)
        model = min(step.seconds - sql, sum(c.analyze.seconds for c in asked if c.analyze is not None))
        parts: list[tuple[str, Literal["model", "SQL", "sandbox"], float, int | None]] = []
        if here is not None and here.analyze is not None:
            parts.append(("reply", "model", here.analyze.seconds, here.n))
        if step.queries:
            parts.append((_many(len(step.queries), "query", "queries"), "SQL", sql, None))
        if asked:
            parts.append((_many(len(asked), "sub-call", "sub-calls"), "model", model, None))
        parts.append(("cell", "sandbox", max(0.0, step.seconds - sql - model), None))
        for what, kind, seconds, n in parts:
            spans.append(Span(row, what, kind, at, seconds, n))
            at += seconds
    for c in calls:
        if c.source in LEARNING and c.analyze is not None:
            spans.append(Span(names[c.n], "reply", "model", at, c.analyze.seconds, c.n))
            at += c.analyze.seconds
    return tuple(spans)


def breaks(calls: Sequence[CallTrace]) -> tuple[Break, ...]:
    """Where a cache_break was raised, and which decision or latch did it."""
    found = []
    seen: dict[str, list[Seen]] = {}
    for c in calls:
        before = seen.setdefault(c.source, [])
        if any(a.name == "cache_break" for a in c.alerts):
            section = changed_prefix(c.explain, before)
            if section is None:  # stored alerts win over what can be made of the rest
                cause = next(a.cause for a in c.alerts if a.name == "cache_break")
                found.append(Break(c.n, "", cause, 0))
            else:
                sent = [s.name for s in c.explain.sections]
                start = sent.index(section) if section in sent else len(sent)
                behind = sum(s.sent for s in c.explain.sections[start:])
                found.append(Break(c.n, section, cause_of(c.explain, section, before), behind))
        if c.analyze is not None:
            before.append(Seen(c.explain, c.analyze))
    return tuple(found)


def removed(calls: Sequence[CallTrace]) -> tuple[Removed, ...]:
    """What was cleared, spilled, dropped, trimmed or left out, once each, at the request that did it first."""
    gone: dict[tuple[str, str], set[str]] = {}
    shown: dict[str, int] = {}
    found = []
    for c in calls:
        sent = {s.name: s for s in c.explain.sections}
        for d in c.explain.decisions:
            if not d.applied or d.rule not in REMOVES or d.tokens_after >= d.tokens_before:
                continue
            held = gone.setdefault((c.source, d.rule), set())
            new = [name for name in d.sections if name not in held]
            held |= set(new)
            if new:
                # What stands there shorter saves the difference; what is gone saves what was sent of it last.
                saved = sum(sent[n].bound - sent[n].sent if n in sent else shown.get(n, 0) for n in new)
                if not any(n in sent or n in shown for n in new):
                    saved = d.tokens_before - d.tokens_after
                found.append(Removed(c.n, REMOVES[d.rule], tuple(sorted(new, key=_natural)), max(0, saved), d.reason))
        shown |= {s.name: s.sent for s in c.explain.sections}
    return tuple(found)


def fetched(events: Sequence[Event]) -> Mapping[str, int]:
    """How often each section was read on with recall(), most often first."""
    counts: dict[str, int] = {}
    for e in events:
        if e.name == "recall":
            name = str(e.body.get("section", ""))
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda kv: (-kv[1], _natural(kv[0]))))


def repeated(calls: Sequence[CallTrace], steps: Sequence[Step]) -> tuple[Repeated, ...]:
    """Queries that ran again in a turn whose request no longer showed what they had given."""
    turns = [c for c in calls if c.source == STEP and c.analyze is not None]
    first: dict[str, int] = {}
    found = []
    for i, step in enumerate(steps):
        out = _taken_out(turns[i]) if i < len(turns) else frozenset()
        for q in step.queries:
            key = " ".join(q.sql.split())
            earlier = first.get(key)
            if earlier is not None and f"observation {earlier}" in out:
                found.append(Repeated(q.sql, earlier, step.n))
            if q.error is None:
                first[key] = step.n
    return tuple(found)


def _taken_out(c: CallTrace) -> frozenset[str]:
    return frozenset(n for d in c.explain.decisions if d.applied and d.rule in REMOVES for n in d.sections)


def _asked_within(calls: Sequence[CallTrace], here: CallTrace | None, after: CallTrace | None) -> list[CallTrace]:
    """Sub-calls made between two turns."""
    if here is None:
        return []
    end = after.n if after is not None else max((c.n for c in calls), default=0) + 1
    return [c for c in calls if c.source == SUB_CALL and here.n < c.n < end]


def _many(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """`observation 10` after `observation 2`."""
    return tuple((int(p), "") if p.isdecimal() else (-1, p) for p in re.split(r"(\d+)", name))
