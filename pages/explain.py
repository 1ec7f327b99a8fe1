"""Explain: how one request was put together, where one run spent its time, what one query did."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import charts, query_plan, route, state
from pages.parts.html import draw, esc, strip, table, tag
from peek_core.context_pipe.explain import explain_analyze_text, number
from peek_core.values.call_trace import CallTrace
from peek_core.values.run_view import RunView

SOURCES = {"step": "Turn", "distill": "Distil", "chart": "Edit map", "llm_query": "Sub-call"}

w = state.workspace()
dataset = state.dataset_id()


def pick_run() -> RunView | None:
    assert dataset is not None
    runs = [r for r in w.runs(dataset, arm=None, limit=200) if r.trajectory or r.ended]
    wanted = state.run_id()
    if wanted and wanted not in {r.id for r in runs}:
        runs += [w.run(wanted)] if _exists(wanted) else []
    if not runs:
        return None
    by_id = {r.id: r for r in reversed(runs)}
    ids = list(by_id)
    chosen = st.selectbox(
        "Run",
        ids,
        ids.index(wanted) if wanted in by_id else 0,
        width=520,
        key=f"run-{wanted}",
        label_visibility="collapsed",
        format_func=lambda i: by_id[i].question[:90] + ("" if by_id[i].arm == "peek" else "  (comparison)"),
    )
    if chosen and chosen != wanted:
        st.query_params[state.RUN] = chosen
    return by_id[chosen] if chosen else None


def _exists(run: str) -> bool:
    return any(c for c in w.explaining.calls(run))


def pick_call(calls: Sequence[CallTrace]) -> CallTrace:
    counts: dict[str, int] = {}
    names = []
    for c in calls:
        counts[c.source] = counts.get(c.source, 0) + 1
        names.append(f"{SOURCES.get(c.source, c.source)} {counts[c.source]}")
    if len(calls) > 12:
        chosen = st.selectbox(
            "Request",
            range(len(calls)),
            format_func=names.__getitem__,
            key=f"call-{calls[0].run}",
            label_visibility="collapsed",
            width=160,
        )
    else:
        chosen = st.segmented_control(
            "Request",
            range(len(calls)),
            default=0,
            format_func=names.__getitem__,
            label_visibility="collapsed",
            key=f"call-{calls[0].run}",
            required=True,
        )
    return calls[chosen or 0]


def head(call: CallTrace) -> None:
    e, a = call.explain, call.analyze
    hit = None if a is None or not a.usage.input or a.usage.cached is None else a.usage.cached / a.usage.input
    facts = [
        (f"{e.tokens + e.reserve:,}", f"of {e.limit:,} tokens with the reserve (estimate)"),
        (f"{e.pressure_predicted:.2f}", f"pressure, {e.level.replace('_', ' ')}"),
        ("–" if hit is None else f"{100 * hit:.0f} %", "read from the prefix cache"),
        ("–" if a is None else f"{a.seconds:.2f} s", "model time"),
        ("–", "cost, no prices set"),
    ]
    draw(
        '<div class="pk-eq">'
        + "".join(f'<span><b>{esc(v)}</b> <span class="pk-muted">{esc(t)}</span></span>' for v, t in facts)
        + "</div>"
    )


def sections(call: CallTrace) -> None:
    e = call.explain
    cached_left = call.analyze.usage.cached if call.analyze and call.analyze.usage.cached is not None else 0
    parts, rows = [], []
    for s in e.sections:
        hit = cached_left >= s.sent > 0
        cached_left -= s.sent if hit else cached_left
        parts.append((s.name, s.sent, s.scope, hit))
        scope = "this turn" if s.scope == "none" else s.scope
        rows.append(
            [
                esc(s.name),
                esc(s.role),
                esc(scope),
                esc(s.tier.replace("_", " ")),
                f"{s.bound:,}",
                f"{s.sent:,}",
                f"{100 * s.sent / e.limit:.1f}",
            ]
        )
    rows.append(["<b>Sum</b>", "", "", "", "", f"<b>{e.tokens:,}</b>", f"<b>{100 * e.tokens / e.limit:.1f}</b>"])
    swatches = (
        '<div class="pk-row pk-small pk-muted" style="padding-top:4px"><span><i class="pk-swatch"></i>global</span>'
        '<span><i class="pk-swatch soft"></i>session</span><span><i class="pk-swatch grey"></i>this turn</span>'
        '<span class="pk-grow"></span><span><i class="pk-swatch"></i>solid: cached</span>'
        '<span><i class="pk-swatch hatch"></i>hatched: sent fresh</span>'
        '<span><i class="pk-swatch free"></i>reserve</span></div>'
    )
    draw(swatches + strip(parts, e.reserve, e.limit))
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        draw(
            '<div class="pk-cap">Sections in the order sent</div>'
            + table(["Section", "Role", "Scope", "Tier", "Bound", "Sent", "% of limit"], rows, num=frozenset({4, 5, 6}))
        )
    with right:
        decided = [
            [
                esc(d.rule.replace("_", " ")),
                tag("applied", "accent") if d.applied else tag("skipped", "line"),
                f'<span class="pk-muted">{esc(d.reason)}</span>',
            ]
            for d in e.decisions
        ]
        off = frozenset(i for i, d in enumerate(e.decisions) if not d.applied)
        draw('<div class="pk-cap">Decisions, in order</div>' + table(["Rule", "", "Why"], decided, off=off))
        usage(call)


def usage(call: CallTrace) -> None:
    a = call.analyze
    if a is None:
        draw(f'<div class="pk-alert">{tag("failed", "bad")}<span>{esc(call.error)}</span></div>')
        return
    error = "–" if a.estimate_error is None else f"{100 * a.estimate_error:+.1f} %"
    facts = [
        ("Input", number(a.usage.input)),
        ("Cached", number(a.usage.cached)),
        ("Output", number(a.usage.output)),
        ("Estimate error", error),
        ("Finish", a.finish),
        ("Retries", str(a.retries)),
    ]
    draw(
        '<div class="pk-cap" style="padding-top:8px">What came back</div><dl class="pk-key">'
        + "".join(f"<dt>{esc(k)}</dt><dd>{esc(v)}</dd>" for k, v in facts)
        + "</dl>"
    )


def texts(call: CallTrace) -> None:
    """What was sent and what came back, word for word."""
    assert dataset is not None
    held, reply = w.explaining.texts(dataset, call)
    gone = "(no longer kept)"
    with st.expander("What was sent, section by section"):
        for s in call.explain.sections:
            draw(f'<div class="pk-cap" style="padding-top:6px">{esc(s.name)}, {esc(s.role)}, {s.sent:,} tokens</div>')
            st.code(
                held.get(s.hash, gone) or "(empty)",
                language=None,
                wrap_lines=True,
                height=220 if s.sent > 300 else "content",
            )
    with st.expander("What came back"):
        st.code(reply if reply is not None else gone, language=None, wrap_lines=True)
    with st.expander("EXPLAIN ANALYZE as text"):
        st.code(explain_analyze_text(call), language=None)


def run_in_time(view: RunView, calls: Sequence[CallTrace]) -> None:
    steps = view.trajectory.steps if view.trajectory else ()
    rows: list[tuple[str, str, float, float]] = []
    at = 0.0
    thinking = [c for c in calls if c.source == "step"]
    for i, step in enumerate(steps):
        model = thinking[i].analyze.seconds if i < len(thinking) and thinking[i].analyze else 0.0  # type: ignore[union-attr]  # checked on the line
        rows.append((f"Turn {step.n}", "model", at, model))
        at += model
        sql = sum(q.seconds for q in step.queries)
        rows.append((f"cell {step.n}", "sandbox", at, max(0.0, step.seconds - sql)))
        if step.queries:
            rows.append((f"{len(step.queries)} quer{'ies' if len(step.queries) != 1 else 'y'}", "SQL", at, sql))
        at += step.seconds
    if rows:
        sums = {k: sum(d for _, kind, _, d in rows if kind == k) for k in ("model", "SQL", "sandbox")}
        draw(
            f'<div class="pk-sec" style="padding-top:14px"><span>Run</span><span>{len(steps)} turns, {at:.2f} s</span></div>'
            f'<div class="pk-row pk-small pk-muted"><span><i class="pk-swatch soft"></i>model {sums["model"]:.2f} s</span>'
            f'<span><i class="pk-swatch"></i>SQL {sums["SQL"]:.2f} s</span>'
            f'<span><i class="pk-swatch grey"></i>sandbox {sums["sandbox"]:.2f} s</span></div>'
        )
        charts.show(charts.waterfall(rows[:40]), "waterfall", f"Waterfall of the run: {len(rows)} parts")


def query(view: RunView) -> None:
    queries = [q for q in view.trajectory.queries if q.error is None] if view.trajectory else []
    if not queries:
        return
    draw(
        f'<div class="pk-sec" style="padding-top:14px"><span>Queries</span><span>{len(queries)} ran; the profile is of the '
        "run itself, never of a second one</span></div>"
    )
    names = [f"{q.id}  {' '.join(q.sql.split())[:80]}" for q in queries]
    chosen = (
        st.selectbox(
            "Query",
            range(len(queries)),
            len(queries) - 1,
            format_func=names.__getitem__,
            key=f"query-{view.id}",
            label_visibility="collapsed",
        )
        or 0
    )
    q = queries[chosen]
    query_plan.show(q)
    with st.expander("SQL"):
        st.code(q.sql, language="sql", wrap_lines=True)


if dataset is None:
    route.no_dataset()
else:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        view = pick_run()
        calls = w.explaining.calls(view.id) if view else ()
        call = pick_call(calls) if calls else None
    if view is None:
        draw('<div class="pk-note">No question was asked yet; every request a question makes can be opened here.</div>')
    elif call is None:
        draw(f'<div class="pk-note">This run made no model request. {esc(view.reason)}</div>')
    else:
        head(call)
        sections(call)
        texts(call)
        run_in_time(view, calls)
        query(view)
