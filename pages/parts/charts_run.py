"""Figures of the Explain page: pressure over requests, money so far, what each question took.

Owns: these figures. Refuses to know: where numbers come from. Colours and frame are those of charts.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from pages.parts.charts import label, palette, plain
from pages.parts.html import duration
from peek_core.context_pipe.plan import THRESHOLDS
from peek_core.context_pipe.run_story import Span
from peek_core.context_pipe.run_sums import Pressure

CROWDED = 1.8
"""Pressure from which the thresholds lie so close that only the outer two are drawn."""


def in_time(spans: Sequence[Span]) -> go.Figure:
    """Where the time went: a line a turn, its parts one after the other, their sum at its end."""
    p = palette()
    tint = {"model": p["soft"], "SQL": p["bar"], "sandbox": p["grey"]}
    rows = list(dict.fromkeys(s.row for s in spans))
    ends = {row: max(s.start + s.seconds for s in spans if s.row == row) for row in rows}
    sums = {row: sum(s.seconds for s in spans if s.row == row) for row in rows}
    least = 0.002 * max(ends.values(), default=0.0)  # what took next to nothing is still to be seen
    fig = go.Figure(
        go.Bar(
            y=[rows.index(s.row) for s in spans],
            x=[max(s.seconds, least) for s in spans],
            base=[s.start for s in spans],
            orientation="h",
            width=0.55,
            marker={"color": [tint[s.kind] for s in spans], "line": {"width": 0}},
            customdata=[[label(s.row), label(s.what), s.kind, s.seconds] for s in spans],
            hovertemplate="%{customdata[0]}, %{customdata[1]}: %{customdata[3]:.3f} s %{customdata[2]}<extra></extra>",
        )
    )
    fig.update_layout(barmode="overlay")
    for n, row in enumerate(rows):
        fig.add_annotation(
            x=ends[row],
            y=n,
            text=f" {duration(sums[row])}".replace("<", "\u2039"),
            showarrow=False,
            xanchor="left",
            font={"size": 11.5, "color": p["text"]},
        )
    plain(fig, 26 * len(rows) + 34, bottom=26, right=56)
    fig.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=[label(r) for r in rows],
        showgrid=False,
        automargin=True,
        tickfont={"size": 12.5, "color": p["text"]},
    )
    fig.update_xaxes(ticksuffix=" s", nticks=7, rangemode="tozero")
    return fig


def pressure(points: Sequence[Pressure], names: Sequence[str], joined: Sequence[bool], height: int = 250) -> go.Figure:
    """With the reserve and without it, over the thresholds. `joined`: requests of one growing conversation."""
    p = palette()
    at = list(range(len(points)))
    fig = go.Figure()
    for values, name, colour in (
        ([x.raw for x in points], "without the reserve", p["before"]),
        ([x.predicted for x in points], "with it", p["bar"]),
    ):
        line = [v if on else None for v, on in zip(values, joined, strict=True)]
        fig.add_scatter(x=at, y=line, mode="lines", line={"color": colour, "width": 2}, hoverinfo="skip")
        fig.add_scatter(
            x=at,
            y=values,
            mode="markers",
            marker={"size": 6, "color": colour, "symbol": ["x" if x.recovery else "circle" for x in points]},
            customdata=[[label(n), x.level.replace("_", " ")] for n, x in zip(names, points, strict=True)],
            hovertemplate="%{customdata[0]}: %{y:.2f} " + name + ", %{customdata[1]}<extra></extra>",
        )
    plain(fig, height, right=8, bottom=40)
    top = max([1.0, *(x.predicted for x in points), *(x.raw for x in points)])
    for bound, level in THRESHOLDS if top < CROWDED else THRESHOLDS[::2]:
        fig.add_hline(y=bound, line={"color": p["muted"], "width": 1, "dash": "dash"})
        fig.add_annotation(
            x=0,
            xref="paper",
            y=bound,
            text=f".{100 * bound:.0f} {level.value.replace('_', ' ')}",
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"size": 11.5, "color": p["muted"]},
        )
    fig.update_yaxes(range=[0, 1.06 * top], nticks=6, tickformat=".1f")
    _requests(fig, names)
    return fig


def money(values: Sequence[float | None], names: Sequence[str], height: int = 250) -> go.Figure:
    """Dollars so far, the last value at its end."""
    p = palette()
    fig = go.Figure(
        go.Scatter(
            x=list(range(len(values))),
            y=list(values),
            mode="lines+markers",
            line={"color": p["bar"], "width": 2, "shape": "hv"},
            marker={"size": 5},
            customdata=[label(n) for n in names],
            hovertemplate="%{customdata}: $%{y:.4f} so far<extra></extra>",
        )
    )
    known = [(n, v) for n, v in enumerate(values) if v is not None]
    if known:
        fig.add_annotation(
            x=known[-1][0],
            y=known[-1][1],
            text=f"${known[-1][1]:.4f}",
            showarrow=False,
            xanchor="right",
            yanchor="bottom",
            font={"size": 12, "color": p["text"]},
        )
    plain(fig, height, right=8, bottom=40, top=20)
    fig.update_yaxes(rangemode="tozero", nticks=5, tickprefix="$", tickformat=".3~f")
    _requests(fig, names)
    return fig


def spent(
    answered: Sequence[float | None],
    unanswered: Sequence[float | None],
    learning: Sequence[float | None],
    names: Sequence[str],
    *,
    dollars: bool = False,
    height: int = 220,
) -> go.Figure:
    """A bar a question: answering below, maintaining the map above; a question without an answer is paler."""
    p = palette()
    at = list(range(1, len(names) + 1))
    fig = go.Figure()
    form = "$%{y:.4f}" if dollars else "%{y:,.0f} tokens"
    for values, what, colour in (
        (answered, "answering", p["bar"]),
        (unanswered, "answering, without an answer", p["soft"]),
        (learning, "maintaining the map", p["grey"]),
    ):
        fig.add_bar(
            x=at,
            y=list(values),
            marker={"color": colour, "line": {"width": 0}},
            customdata=[label(n, 80) for n in names],
            hovertemplate=f"%{{customdata}}<br>{form} {what}<extra></extra>",
        )
    plain(fig, height, right=8, bottom=30)
    fig.update_layout(barmode="stack", bargap=0.3 if len(names) > 12 else 0.5)
    # A few bars would be drawn as walls: the room of a dozen is kept.
    every = max(1, -(-len(names) // 12))
    fig.update_xaxes(showgrid=False, range=[0.4, max(12, len(names)) + 0.6], tickvals=at[::every])
    fig.update_yaxes(
        nticks=5, rangemode="tozero", **({"tickprefix": "$", "tickformat": ".3~f"} if dollars else {"tickformat": "~s"})
    )
    return fig


def _requests(fig: go.Figure, names: Sequence[str]) -> None:
    """Names of requests below the axis, as many as there is room for."""
    every = max(1, len(names) // 8)
    shown = [n for n in range(len(names)) if n % every == 0]
    fig.update_xaxes(
        showgrid=False,
        tickvals=shown,
        ticktext=[label(names[n].removeprefix("Turn "), 12).replace(" ", "<br>") for n in shown],
        tickangle=0,
        range=[-0.5, max(len(names) - 0.5, 0.5)],
    )
