"""The Dataset part of Explain: what each question took over the series, the share of the map, how far the hard stops are.

Owns: how these sums are drawn. Refuses to know: how they are made (context_pipe.dataset_sums).
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import charts, charts_run, state
from pages.parts.answers import STATES
from pages.parts.html import draw, duration, esc, facts, head, meter, percent, swatches, table, tag
from peek_core.context_pipe.dataset_sums import GOOD, DatasetSums, QuestionSum, Stop
from peek_core.context_pipe.explain import DASH, money

LATEST = 20
"""Questions of the table; the bars have them all."""
WARN = 0.8
"""Share of a hard stop from which it is said."""
UNITS = {"tokens": "Tokens", "usd": "Money", "requests": "Requests", "seconds": "Wall time"}


def show(dataset: str) -> None:
    """All of it."""
    s = state.workspace().explaining.dataset(dataset)
    if not s.questions:
        draw('<div class="pk-note">No question was asked yet; what each one takes will stand here.</div>')
        stops(s)
        return
    top(s)
    series(s)
    latest(s.questions)
    stops(s)
    kept(dataset)


def top(s: DatasetSums) -> None:
    n = len(s.questions)
    pairs = [
        (f"{s.answered} of {n}", f"question{'s' * (n != 1)} answered"),
        (f"{s.tokens:,}", "tokens"),
        (money(s.usd), f"cost (estimate, {s.prices})" if s.usd is not None else "cost, no prices set"),
        (percent(s.learning_tokens), f"of the tokens maintained the map, {percent(s.learning_usd)} of the cost"),
    ]
    lines = ["Tokens are counted where the endpoint says so, else estimated."]
    if s.usd is not None and s.unpriced:
        lines.append(f"{s.unpriced:,} requests have no price: the cost is at least this.")
    if s.free:
        lines.append(f"{s.free:,} of the questions went to the built-in analyst, which counts and costs nothing.")
    if s.elsewhere:
        lines.append(f"Comparisons of the Demo page took {s.elsewhere:,} tokens beside these.")
    draw(facts(pairs) + f'<div class="pk-small pk-muted">{esc(" ".join(lines))}</div>')


def series(s: DatasetSums) -> None:
    """Bars over the questions, oldest first."""
    qs = s.questions
    names = [q.run.question for q in qs]
    good = [q.run.status in GOOD for q in qs]
    legend = swatches(
        (("", "answering"), ("soft", "answering, but no answer came of it"), ("grey", "maintaining the map"))
    )
    draw(
        head("What each question took", f"{len(qs)} question{'s' * (len(qs) != 1)}, oldest first")
        + f'<div class="pk-row pk-small pk-muted" style="padding-top:6px">{legend}</div>'
    )
    if s.usd is None:
        tokens(s, good, names)
        draw('<div class="pk-note">Cost: –, no price is known for these questions.</div>')
        return
    left, right = st.columns(2, gap="large")
    with left:
        tokens(s, good, names)
    with right:
        draw('<div class="pk-cap">Cost, estimate</div>')
        paid = [None if q.usd is None else q.usd - (q.learning_usd or 0.0) for q in qs]
        fig = charts_run.spent(
            [v if on else None for v, on in zip(paid, good, strict=True)],
            [None if on else v for v, on in zip(paid, good, strict=True)],
            [q.learning_usd for q in qs],
            names,
            dollars=True,
        )
        charts.show(fig, "money", f"Cost of {len(qs)} questions, {money(s.usd)} in all; {s.answered} were answered")


def tokens(s: DatasetSums, good: Sequence[bool], names: Sequence[str]) -> None:
    """A bar a question."""
    draw('<div class="pk-cap">Tokens</div>')
    fig = charts_run.spent(
        [q.answering if on else None for q, on in zip(s.questions, good, strict=True)],
        [None if on else q.answering for q, on in zip(s.questions, good, strict=True)],
        [q.learning for q in s.questions],
        names,
    )
    charts.show(fig, "tokens", f"Tokens of {len(names)} questions, {s.tokens:,} in all; {s.answered} were answered")


def latest(questions: Sequence[QuestionSum]) -> None:
    """The last ones as a table, newest first."""
    shown = list(enumerate(questions, 1))[-LATEST:][::-1]
    rows = [
        [
            f"{n}",
            f'<div class="pk-refused" style="min-width:220px">{esc(q.run.question[:160])}</div>',
            tag(q.run.status.replace("_", " "), STATES.get(q.run.status, "")),
            f"{q.requests:,}",
            f"{q.answering:,}",
            f"{q.learning:,}",
            money(q.usd),
            duration(q.wall_s),
        ]
        for n, q in shown
    ]
    note = f"the latest {len(shown)} of {len(questions)}" if len(questions) > len(shown) else ""
    heads = ["", "Question", "", "Requests", "Answering", "Map", "Cost", "Time"]
    draw(
        head("Question by question", note)
        + f'<div class="pk-wide">{table(heads, rows, num=frozenset({0, 3, 4, 5, 6, 7}))}</div>'
    )


def stops(s: DatasetSums) -> None:
    """Hard stops: of the day over all datasets, and of one question."""
    left, right = st.columns(2, gap="large")
    ran_out = f"{s.out_of_budget or 'no'} question{'s' * (s.out_of_budget > 1)} of this dataset ran into one"
    with left:
        draw(head("Hard stops of one question", ran_out) + _stops(s.question))
        draw(
            '<div class="pk-small pk-muted" style="padding-top:6px">The most any question of this dataset took, of what one '
            "may take.</div>"
        )
    with right:
        draw(head("Hard stops of the day", "all datasets, since midnight") + _stops(s.day))
        draw(
            '<div class="pk-small pk-muted" style="padding-top:6px">A request that would pass one is not sent. Money counts '
            "what has a known price.</div>"
        )


def kept(dataset: str) -> None:
    """Whether the texts of later requests stay."""
    w = state.workspace()
    now = bool(w.dataset(dataset).options.get("keep_texts", True))
    draw(head("What is kept", f"of this dataset's requests, for {w.settings.keep_text_days} days"))
    wanted = st.toggle(
        "Keep the texts of requests, steps and replies",
        now,
        key="keep-texts",
        help="Without them counts and keyed hashes are all there is: a request can't be read or planned again later.",
    )
    if wanted != now:
        state.attempt(
            lambda: w.keep_texts(dataset, wanted),
            "Texts are kept" if wanted else "Texts of later questions are not kept",
        )
        st.rerun()


def _stops(all: Sequence[Stop]) -> str:
    """One grid, so that the bars begin and end together."""
    return f'<div class="pk-stop">{"".join(map(_stop, all))}</div>'


def _stop(one: Stop) -> str:
    name = UNITS[one.unit]
    used, limit = _amount(one, one.used), _amount(one, one.limit)
    near = one.share is not None and one.share >= WARN
    bar = meter(one.share or 0.0, f"{name}: {used} of {limit}")
    bar = bar.replace('class="pk-meter"', 'class="pk-meter warn"') if near else bar
    said = tag("nearly reached", "warn") if near and (one.share or 0) < 1 else tag("reached", "bad") if near else ""
    less = f"<br>{one.unpriced:,} requests have no price" if one.unpriced else ""
    return f'<span>{name}</span>{bar}<span class="n"><b>{esc(used)}</b> of {esc(limit)}, {percent(one.share)} {said}{less}</span>'


def _amount(one: Stop, value: float | None) -> str:
    if value is None:
        return DASH
    if one.unit == "usd":
        return money(value)
    return f"{value:,.0f} s" if one.unit == "seconds" else f"{value:,.0f}"
