"""A run as it was sent beside the configuration planned with it, and at which prices either is cheaper.

Owns: that table and its words. Refuses to know: the arithmetic (context_pipe.beside, break_even). No saving stands here
without what became of the run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import state
from pages.parts.answers import STATES
from pages.parts.html import draw, esc, head, table, tag
from peek_core.context_pipe.beside import Against, Beside, Way, beside, in_words
from peek_core.context_pipe.explain import DASH, money
from peek_core.context_pipe.run_sums import NO_CACHE
from peek_core.values.call_trace import CallTrace
from peek_core.values.run_view import RunView


def show(view: RunView, calls: Sequence[CallTrace]) -> None:
    """Nothing where nothing was planned beside."""
    both = beside(calls)
    if both is None:
        draw(
            head("Another configuration beside it")
            + '<div class="pk-note" style="padding-top:6px">None was planned with this run.</div>'
        )
        return
    known = any(c.explain.strategy != NO_CACHE for c in calls)
    ended = tag(view.status.replace("_", " "), STATES.get(view.status, ""))
    rows = [
        _way(both.sent, both, known, ended),
        _way(both.other, both, known, tag("never sent", "line")),
    ]
    draw(
        head(
            f"{both.other.configuration} beside {both.sent.configuration}",
            f"the same {both.requests} requests, planned both ways",
        )
        + '<div class="pk-wide">'
        + table(
            ["Configuration", "Run", "Tokens planned", "Expected cached", "Would not fit", "Input cost (estimate)"],
            rows,
            num=frozenset({2, 3, 4, 5}),
        )
        + "</div>"
        + f'<div class="pk-note" style="padding-top:6px">{esc(both.other.configuration)} was planned for each request and never '
        "sent: whether it would have answered, and in how many requests, nobody knows.</div>"
    )
    if known and (both.sent.classes, both.sent.overflows) == (both.other.classes, both.other.overflows):
        draw(f'<div class="pk-note">{esc(in_words(both))}</div>')
    elif known:
        prices(view, both)


def _way(way: Way, both: Beside, known: bool, ended: str) -> list[str]:
    over = f"{way.overflows} of {both.requests}" if way.overflows else "0"
    return [
        f"<b>{esc(way.configuration)}</b>",
        ended,
        f"{way.tokens:,}",
        f"{way.cached:,}" if known else DASH,
        over,
        money(way.usd),
    ]


def prices(view: RunView, both: Beside) -> None:
    """Break-even of this run against today's known models."""
    with st.spinner("Reading today’s price table"):
        found = state.workspace().explaining.break_even(both)
    dates = ", ".join(dict.fromkeys(f"{a.rates.source} of {a.rates.date}" for a in found))
    unfit = both.other.overflows
    warn = (
        f" {both.other.configuration} could not have been sent at all in {unfit} of {both.requests} requests."
        if unfit
        else ""
    )
    ended = f"this run ended as {view.status.replace('_', ' ')}; estimate"
    draw(head("Break-even at today’s prices", f"{ended}, {dates}" if dates else ended))
    draw(f'<div class="pk-note" style="padding-top:6px">{esc(in_words(both) + warn)}</div>')
    draw(
        '<div class="pk-wide">'
        + table(
            ["Model", "Read price r", "Write price w", "Break-even r*", "Cheaper in input"],
            [_against(a, both) for a in found],
            num=frozenset({1, 2, 3}),
        )
        + "</div>"
        if found
        else '<div class="pk-note">No model of today is in the table.</div>'
    )


def _against(a: Against, both: Beside) -> list[str]:
    r = a.rates.r
    return [
        esc(a.model),
        DASH if r is None else f"{r:.3f}",
        f"{a.rates.w:.2f}",
        DASH if a.r_star is None else f"{a.r_star:.3f}",
        _verdict(a, both),
    ]


def _verdict(a: Against, both: Beside) -> str:
    if a.ratio is None:
        return f'{DASH} <span class="pk-muted">no price of cached tokens</span>'
    if abs(a.ratio - 1) < 0.005:
        return "the same"
    cheaper, by = (both.sent, 1 - a.ratio) if a.ratio < 1 else (both.other, 1 - 1 / a.ratio)
    fits = f" {tag('would not fit', 'warn')}" if cheaper.overflows else ""
    return f"{esc(cheaper.configuration)}, by {100 * by:.0f} %{fits}"
