"""The Run part of Explain: where its time and money went, how full its requests were, where the cache broke.

Owns: the order of its pieces. Refuses to know: how sums are made (context_pipe.run_sums, run_story, beside).
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import charts, charts_run, explain_beside, query_plan, state
from pages.parts.answers import STATES
from pages.parts.explain_request import BUILTIN, COUNTS_NOTHING
from pages.parts.html import draw, duration, esc, facts, head, percent, swatches, table, tag
from peek_core.context_pipe import run_story
from peek_core.context_pipe.explain import DASH, money
from peek_core.context_pipe.run_sums import RunSums, SourceSum, Total, sums
from peek_core.values.call_trace import CallTrace
from peek_core.values.run_view import RunView

SOURCES = {"step": "Turns", "llm_query": "Sub-calls", "distill": "Distil", "chart": "Edit map"}
HITS = (
    ("weighted", "Token-weighted", "cached tokens over all input tokens"),
    ("median", "Median request", "half of the requests read a larger share"),
    ("predicted", "Predicted boundary", "what the cache should have held by its documented rules, over the estimate"),
)


def show(view: RunView, calls: Sequence[CallTrace]) -> None:
    """The whole run."""
    s, names = sums(calls), run_story.titles(calls)
    top(view, s)
    if all(c.explain.provider == BUILTIN for c in calls):
        draw(f'<div class="pk-note">{esc(COUNTS_NOTHING)}</div>')
    in_time(view, calls)
    over_requests(calls, s, names)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        by_source(s)
    with right:
        hits(s)
    broke(calls, names)
    explain_beside.show(view, calls)
    taken_out(view, calls, names)
    queries(view)


def top(view: RunView, s: RunSums) -> None:
    t = s.total
    kind = STATES.get(view.status, "")
    turns = len(view.trajectory.steps) if view.trajectory else None
    tokens = _tokens(t.input) if t.input.value is not None else f"{t.taken:,}"
    told = "tokens in" if t.input.value is not None else "tokens (estimate)"
    pairs = [
        (
            f"{t.requests:,}",
            f"requests in {DASH if turns is None else turns} turns" + (f", {t.failed} failed" if t.failed else ""),
        ),
        (tokens, told),
        (percent(s.hits.weighted), "read from the prefix cache"),
        (duration(t.seconds if s.waits else None), "model time"),
        (money(t.usd.value), _price(s)),
    ]
    draw(
        f'<div class="pk-row" style="padding-bottom:4px">{tag(view.status.replace("_", " "), kind)}</div>'
        + facts(pairs)
    )


def _price(s: RunSums) -> str:
    t = s.total.usd
    if t.value is None:
        return "cost, no prices set"
    dates = ", ".join(dict.fromkeys(p.rpartition(", ")[2] for p in s.prices))
    less = f"; {t.lacking} requests have no price" if t.lacking else ""
    return f"cost ({'at most, ' if s.at_most else ''}estimate, prices of {dates}{less})"


def in_time(view: RunView, calls: Sequence[CallTrace]) -> None:
    """A bar for each stretch of time."""
    steps = view.trajectory.steps if view.trajectory else ()
    spans = run_story.timeline(calls, steps)
    if not spans:
        return
    total = {kind: sum(x.seconds for x in spans if x.kind == kind) for kind in ("model", "SQL", "sandbox")}
    legend = swatches(
        (
            ("soft", f"model {duration(total['model'])}"),
            ("", f"SQL {duration(total['SQL'])}"),
            ("grey", f"sandbox {duration(total['sandbox'])}"),
        )
    )
    draw(
        head("Requests in time", duration(sum(total.values())))
        + f'<div class="pk-row pk-small pk-muted" style="padding-top:6px">{legend}</div>'
    )
    said = f"Time of the run by turn: {', '.join(f'{k} {duration(v)}' for k, v in total.items())}"
    charts.show(charts_run.in_time(spans), "in-time", said)


def over_requests(calls: Sequence[CallTrace], s: RunSums, names: Sequence[str]) -> None:
    """Pressure and, where a price is known, money; request by request."""
    if s.total.usd.value is None:
        pressure(calls, s, names)
        draw('<div class="pk-note">Cost so far: –, no price is known for this run.</div>')
        return
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        pressure(calls, s, names)
    with right:
        draw(head("Cost so far", _price(s).removeprefix("cost").strip(" ,()")))
        charts.show(charts_run.money(s.costs, names), "cost", f"Cost so far, {money(s.total.usd.value)} at the end")


def pressure(calls: Sequence[CallTrace], s: RunSums, names: Sequence[str]) -> None:
    """How full each request would have been as planned, over the thresholds of the levels."""
    highest = max(s.pressure, key=lambda x: x.predicted)
    refused = "<span>cross: made shorter after a refusal</span>" if any(x.recovery for x in s.pressure) else ""
    draw(
        head("Pressure as planned", f"highest {highest.predicted:.2f}, {highest.level.replace('_', ' ')}")
        + '<div class="pk-row pk-small pk-muted" style="padding-top:6px">'
        + swatches((("", "with the reserve"), ("before", "without it")))
        + f"{refused}</div>"
    )
    fig = charts_run.pressure(s.pressure, names, [c.source == run_story.STEP for c in calls])
    charts.show(fig, "pressure", f"Pressure of {len(calls)} requests over the thresholds .60, .75 and .90")


def by_source(s: RunSums) -> None:
    """What each kind of request took."""
    rows = [_row(SOURCES.get(x.source, x.source), x, s) for x in s.sources]
    if len(rows) > 1:
        rows.append([f"<b>{cell}</b>" for cell in _row("Sum", s.total, s)])
    note = f"maintaining the map: {percent(s.learning_tokens)} of the tokens, {percent(s.learning_usd)} of the cost"
    told = (
        ""
        if not s.total.estimated
        else f'<div class="pk-small pk-muted">{s.total.estimated} of {s.total.requests} counted by estimate</div>'
    )
    draw(
        head("By kind of request", note)
        + table(
            ["", "Requests", "Tokens in", "Cached", "Written", "Out", "Cost", "Share"],
            rows,
            num=frozenset(range(1, 8)),
        )
        + told
    )


def _row(name: str, x: SourceSum, s: RunSums) -> list[str]:
    part = x.taken / s.total.taken if s.total.taken else None
    failed = f" ({x.failed} failed)" if x.failed else ""
    return [
        esc(name),
        f"{x.requests:,}{failed}",
        *(_tokens(t) for t in (x.input, x.cached, x.written, x.output)),
        money(x.usd.value) + (f" + {x.usd.lacking} –" if x.usd.value is not None and x.usd.lacking else ""),
        percent(part),
    ]


def _tokens(t: Total) -> str:
    """A sum; where some did not say, that it is at least so much."""
    if t.value is None:
        return DASH
    return f"{'at least ' if t.lacking else ''}{t.value:,.0f}"


def hits(s: RunSums) -> None:
    """Three kinds of hit rate, and how long one waits."""
    rows = [
        [esc(name), f"<b>{percent(getattr(s.hits, key), 1)}</b>", f'<span class="pk-muted">{esc(what)}</span>']
        for key, name, what in HITS
    ]
    draw(
        head("Hit rate", f"{s.hits.told} of {s.total.requests} requests told")
        + table(["Kind", "Share", "What it is"], rows, num=frozenset({1}))
    )
    w = s.waits
    seconds = [DASH] * 3 if w is None else [duration(v) for v in (w.p50, w.p95, w.p99)]
    draw(
        head("Waiting for the model", "" if w is None else f"{w.of} requests")
        + facts(list(zip(seconds, ("P50", "P95", "P99"), strict=True)))
    )


def broke(calls: Sequence[CallTrace], names: Sequence[str]) -> None:
    """Where a request left the one before it, and which decision or latch did it."""
    found = run_story.breaks(calls)
    title = dict(zip((c.n for c in calls), names, strict=True))
    many = f"{len(found)} request{'s' * (len(found) != 1)} left the one before"
    if not found:
        draw(
            head("Cache breaks")
            + '<div class="pk-note" style="padding-top:6px">None: every request begins with the one before it.</div>'
        )
        return
    rows = [
        [esc(title[b.n]), esc(b.section or DASH), f"{b.behind:,}", f'<div class="pk-refused">{esc(b.cause)}</div>']
        for b in found
    ]
    draw(head("Cache breaks", many) + _wide(["Request", "At section", "Tokens behind it", "Because"], rows, 2))


def taken_out(view: RunView, calls: Sequence[CallTrace], names: Sequence[str]) -> None:
    """What requests took out, what was read again, what ran again."""
    steps = view.trajectory.steps if view.trajectory else ()
    gone = run_story.removed(calls)
    read = run_story.fetched(state.workspace().explaining.told(view.id, "recall"))
    again = run_story.repeated(calls, steps)
    title = dict(zip((c.n for c in calls), names, strict=True))
    if not gone and not read and not again:
        draw(
            head("Taken out")
            + '<div class="pk-note" style="padding-top:6px">Nothing: every request carried all there was.</div>'
        )
        return
    sizes: dict[str, list[int]] = {}
    for g in gone:
        sizes.setdefault(g.how, []).extend([len(g.sections), g.tokens])
    said = "; ".join(f"{sum(v[::2])} {how}, {sum(v[1::2]):,} tokens" for how, v in sizes.items())
    rows = [
        [
            esc(title[g.n]),
            tag(g.how, "accent"),
            esc(_few(g.sections)),
            f"{g.tokens:,}",
            f'<div class="pk-refused pk-muted">{esc(g.reason)}</div>',
        ]
        for g in gone
    ]
    body = _wide(["Request", "", "Sections", "Tokens", "Why"], rows, 3) if rows else ""
    fetched = ", ".join(f"{name}{f' ({n} times)' if n > 1 else ''}" for name, n in read.items())
    lines = f'<div class="pk-note" style="padding-top:8px"><b>Read again</b>: {esc(fetched) if fetched else "nothing"}.</div>'
    for r in again:
        lines += (
            f'<div class="pk-note"><b>Ran again</b> in turn {r.again}, first in turn {r.first}, whose result had been taken out: '
            f'<span class="pk-sql">{esc(" ".join(r.sql.split())[:300])}</span></div>'
        )
    if not again:
        lines += '<div class="pk-note"><b>Ran again</b>: no query whose result had been taken out.</div>'
    draw(head("Taken out", said) + body + lines)


def _wide(names: Sequence[str], rows: Sequence[Sequence[str]], num: int) -> str:
    """A table whose cells keep to one line; it scrolls in its own box where that is too wide."""
    return f'<div class="pk-wide">{table(names, rows, num=frozenset({num}))}</div>'


def _few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def queries(view: RunView) -> None:
    """The plan of one query as it ran."""
    ran = [q for q in view.trajectory.queries if q.error is None] if view.trajectory else []
    if not ran:
        return
    draw(head("Queries", f"{len(ran)} ran; the profile is of the run itself, never of a second one"))
    names = [f"{q.id}  {' '.join(q.sql.split())[:80]}" for q in ran]
    chosen = st.selectbox(
        "Query",
        range(len(ran)),
        len(ran) - 1,
        format_func=names.__getitem__,
        key=f"query-{view.id}",
        label_visibility="collapsed",
        persist_state="session",
    )
    q = ran[chosen or 0]
    query_plan.show(q)
    with st.expander("SQL"):
        st.code(q.sql, language="sql", wrap_lines=True)
