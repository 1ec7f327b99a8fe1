"""The Request part of Explain: one request from plan to reply, and planned again.

Owns: the order of its pieces. Refuses to know: how a request is decided, and how an Explain is drawn (request.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import request, state
from pages.parts.html import draw, duration, esc, facts, listed, percent, tag
from pages.parts.request_strip import Said
from peek_core.context_pipe.alerts import first_miss, hit_rate
from peek_core.context_pipe.explain import DASH, explain_analyze_text, money, number, rows
from peek_core.context_pipe.run_story import titles
from peek_core.errors import PeekError
from peek_core.values.call_trace import CallTrace
from peek_core.values.run_view import RunHead

MOST_SEGMENTS = 12
"""Requests beside each other before they go into a list."""
BUILTIN = "builtin"
COUNTS_NOTHING = (
    "The built-in analyst runs on this machine: it counts no tokens and costs nothing, so tokens are estimates."
)


def show(dataset: str, run: RunHead, call: CallTrace) -> None:
    """One of the run's requests, whole."""
    e, a = call.explain, call.analyze
    said: Said = "unsaid" if a is None or a.usage.cached is None else "read"
    shared = rows(call)
    top(call)
    request.picture(e, shared, said)
    request.sections(e, shared, said, first_miss(e, a.usage.cached) if said == "read" and a else None)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        request.decisions(e)
        request.shadow(e, outcome(run))
        request.room(e)
    with right:
        request.alerts(call.alerts)
        came_back(call)
        again(call)
    texts(dataset, call)


def pick(calls: Sequence[CallTrace]) -> CallTrace:
    """Side by side where they are few."""
    names, key = titles(calls), f"call-{calls[0].run}"
    if len(calls) > MOST_SEGMENTS:
        chosen = st.selectbox(
            "Request",
            range(len(calls)),
            format_func=names.__getitem__,
            key=key,
            label_visibility="collapsed",
            width=200,
            persist_state="session",
        )
    else:
        chosen = st.segmented_control(
            "Request",
            range(len(calls)),
            default=0,
            format_func=names.__getitem__,
            label_visibility="collapsed",
            key=key,
            required=True,
            persist_state="session",
        )
    return calls[chosen or 0]


def top(call: CallTrace) -> None:
    """The figures one looks for first."""
    e, a = call.explain, call.analyze
    read = "cached"
    if a is not None and a.usage.cached is not None and a.usage.input:
        read += f" ({a.usage.cached:,} of {a.usage.input:,})"
    pairs = [
        (f"{e.tokens + e.reserve:,}", f"of {e.limit:,} tokens with the reserve (estimate)"),
        request.pressed(e),
        (percent(hit_rate(a)), read),
        (duration(a.seconds if a else None), "model time"),
        cost(call),
    ]
    draw(facts(pairs))
    if e.provider == BUILTIN:
        draw(f'<div class="pk-note">{esc(COUNTS_NOTHING)}</div>')
    if a is None:
        draw(f'<div class="pk-alert">{tag("failed", "bad")}<span>{esc(call.error)}</span></div>')
    elif a.truncated:
        draw(
            f'<div class="pk-alert">{tag("cut", "warn")}<span>The endpoint counted {number(a.usage.input)} of about '
            f"{e.tokens:,} tokens: it may have read a part of the request. Set its window on the Settings page.</span></div>"
        )


def cost(call: CallTrace) -> tuple[str, str]:
    """An estimate with the date of its prices, or why there is none."""
    a = call.analyze
    if a is None or a.cost is None:
        unpriced = call.explain.rates is None
        return DASH, "cost, no prices set" if unpriced else "cost, no tokens counted"
    most = "at most, " if a.cost.at_most else ""
    return money(a.cost.usd), f"cost ({most}estimate, prices of {a.cost.date or 'unknown date'})"


def outcome(run: RunHead) -> str:
    """What stands beside any saving: whether the run that was sent was answered, and that the other one never ran."""
    return (
        f"This run ended as {run.status.replace('_', ' ')}; the other way was planned, never sent: nobody knows what it "
        "would have answered."
    )


def came_back(call: CallTrace) -> None:
    """The endpoint's own numbers."""
    a = call.analyze
    if a is None:
        return
    u = a.usage
    pairs = [
        ("Input", f"{number(u.input)}, estimated {call.explain.tokens:,}"),
        ("Estimate error", DASH if a.estimate_error is None else f"{100 * a.estimate_error:+.1f} %"),
        ("Cached", number(u.cached)),
        ("Written to the cache", number(u.cache_write)),
        ("Output", f"{number(u.output)}" + (f", of it thinking {u.reasoning:,}" if u.reasoning else "")),
        ("First byte", duration(a.first_byte_s)),
        ("Finish", f"{a.finish}; {a.retries} retr{'y' if a.retries == 1 else 'ies'}"),
        ("Answered by", a.model or DASH),
    ]
    draw('<div class="pk-cap" style="padding-top:6px">What came back</div>' + listed(pairs))


def again(call: CallTrace) -> None:
    """Plan the stored request again: the same bytes, or what differs."""
    with st.container(horizontal=True, gap="small"):
        then = st.button("Plan again", key=f"again-{call.id}", type="tertiary", icon=":material/replay:")
        now = st.button(
            "Plan with today’s statistics", key=f"today-{call.id}", type="tertiary", icon=":material/update:"
        )
    if not (then or now):
        return
    try:
        with st.spinner("Planning the request again"):
            made = state.workspace().explaining.replay(call.id, today=bool(now))
    except PeekError as failure:
        draw(f'<div class="pk-note" role="status">{tag("can’t be replayed", "warn")} {esc(failure.sentence())}</div>')
        return
    if made.same:
        draw(
            f'<div class="pk-note" role="status">{tag("same bytes", "ok")} {call.wire_bytes:,} bytes, '
            f'<span class="pk-mono">{esc(call.wire_hash[:23])}…</span>; the same decisions. Nothing was sent.</div>'
        )
        return
    kept = tag("same bytes", "ok") if made.prepared.wire_hash == call.wire_hash else tag("other bytes", "warn")
    differs = "".join(f"<li>{esc(one)}</li>" for one in made.differs)
    draw(
        f'<div class="pk-note" role="status">{kept} {len(made.prepared.wire):,} bytes now, {call.wire_bytes:,} then. '
        f'Nothing was sent.<ul class="pk-ol">{differs}</ul></div>'
    )


def texts(dataset: str, call: CallTrace) -> None:
    """What was sent and what came back, word for word; read only once somebody opens it."""
    sent = st.expander("What was sent, section by section", key=f"sent-{call.id}", on_change="rerun")
    back = st.expander("What came back", key=f"back-{call.id}", on_change="rerun")
    if sent.open or back.open:
        held, reply = state.workspace().explaining.texts(dataset, call)
        if sent.open:
            with sent:
                request.texts(call.explain, held)
        if back.open:
            with back:
                said = "(no longer kept)" if call.analyze is not None else "(nothing came back)"
                st.code(reply if reply is not None else said, language=None, wrap_lines=True)
    with st.expander("EXPLAIN ANALYZE as text"):
        st.code(explain_analyze_text(call), language=None)
