"""Chart figures with plotly. Colours come from the page theme; where a mark needs one by name, from PALETTE.

Owns: figures and the choice of chart for a result. Refuses to know: where a result comes from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from pages.parts.html import signed
from peek_core.values.canon import clean_text
from peek_core.values.trajectory import Table

PALETTE = {
    "light": {
        "bar": "#2F55C8",
        "soft": "#B4C3EF",
        "grey": "#8A93A3",
        "before": "#C3CAD6",
        "track": "#EEF0F3",
        "line": "#E3E6EB",
        "muted": "#4E5666",
        "text": "#14171F",
        "bg": "#FFFFFF",
    },
    "dark": {
        "bar": "#7F98F2",
        "soft": "#45568F",
        "grey": "#7C8595",
        "before": "#3F4756",
        "track": "#21252E",
        "line": "#282C36",
        "muted": "#A4ACBA",
        "text": "#E6E8ED",
        "bg": "#0F1116",
    },
}
MAX_BARS = 30
_PERIOD = re.compile(r"\d{4}-(?:\d{2}(?:-\d{2})?|Q[1-4])(?:[ T]|$)")


def palette() -> dict[str, str]:
    return PALETTE["dark" if st.context.theme.type == "dark" else "light"]


def plain(fig: go.Figure, height: int, right: int = 10, top: int = 8, bottom: int = 28) -> go.Figure:
    """Shared frame: no grid but hairlines, no toolbar, 12 px labels."""
    p = palette()
    fig.update_layout(
        height=height,
        margin={"l": 0, "r": right, "t": top, "b": bottom},
        bargap=0.35,
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"size": 12, "color": p["muted"]},
        hoverlabel={"font": {"size": 12}},
    )
    axis = {
        "gridcolor": p["line"],
        "zeroline": False,
        "showline": False,
        "tickfont": {"size": 12, "color": p["muted"]},
        "title_font": {"size": 12, "color": p["muted"]},
    }
    fig.update_xaxes(**axis)
    fig.update_yaxes(**axis)
    return fig


def show(fig: go.Figure, key: str, alt: str) -> None:
    st.plotly_chart(fig, width="stretch", key=key, config={"displayModeBar": False}, alt=alt)


def label(value: Any, most: int = 40) -> str:
    """A name at a mark: one line, short; plotly would render tags in it, so angle brackets are replaced."""
    text = "–" if value is None else clean_text(" ".join(str(value).split()))
    text = text.replace("<", "\u2039").replace(">", "\u203a")
    return text if len(text) <= most else text[: most - 1] + "…"


def number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def of_table(table: Table) -> tuple[go.Figure, str] | None:
    """A chart that says something of this result, with its alt text; None where a table says it better."""
    if not len(table.rows) >= 2 or table.truncated or len(table.columns) < 2:
        return None
    numeric = [
        i
        for i in range(len(table.columns))
        if all(_is_number(r[i]) for r in table.rows) and any(r[i] is not None for r in table.rows)
    ]
    names = [i for i in range(len(table.columns)) if i not in numeric]
    if len(names) != 1 or not numeric or len(numeric) > 3:
        return None
    keys = [r[names[0]] for r in table.rows]
    column = _best(table.columns, numeric)
    values = [r[column] for r in table.rows]
    title = f"{table.columns[column]} by {table.columns[names[0]]}"
    if all(k is not None and _PERIOD.match(str(k)) for k in keys) and len(keys) > 2:
        return line([str(k)[:10] for k in keys], values), f"Line chart: {title}, {len(keys)} points"
    if len(keys) > MAX_BARS:
        return None
    return bars([label(k) for k in keys], values), f"Bar chart: {title}, {len(keys)} bars"


def _best(columns: Sequence[str], numeric: Sequence[int]) -> int:
    """The measure, not its base: a count beside an average or share is what it was computed over."""
    measures = [i for i in numeric if not re.fullmatch(r"n|count.*|rows|total|of|base.*|counted", columns[i].lower())]
    return (measures or list(numeric))[0]


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def bars(names: Sequence[str], values: Sequence[float | None]) -> go.Figure:
    """Horizontal bars with the value at each bar, so no axis."""
    p = palette()
    # Equal names would be drawn onto one bar; the position is the category, the name only its label.
    at = list(range(len(names)))
    fig = go.Figure(
        go.Bar(
            y=at,
            x=[v or 0 for v in values],
            orientation="h",
            marker_color=p["bar"],
            width=0.55,
            text=["–" if v is None else number(v) for v in values],
            textposition="outside",
            textfont={"size": 12, "color": p["text"]},
            cliponaxis=False,
            hoverinfo="skip",
        )
    )
    plain(fig, 30 * len(names) + 12, bottom=4, right=64)
    fig.update_xaxes(visible=False)
    fig.update_yaxes(
        autorange="reversed",
        automargin=True,
        showgrid=False,
        tickvals=at,
        ticktext=list(names),
        tickfont={"size": 13, "color": p["text"]},
    )
    return fig


def line(x: Sequence[str], y: Sequence[float | None], height: int = 220) -> go.Figure:
    """One series over time, its last value written at the end."""
    p = palette()
    fig = go.Figure(
        go.Scatter(
            x=list(x),
            y=list(y),
            mode="lines+markers",
            line={"color": p["bar"], "width": 2},
            marker={"size": 5},
            hovertemplate="%{x}: %{y:,}<extra></extra>",
        )
    )
    last = next((v for v in reversed(y) if v is not None), None)
    if last is not None:
        fig.add_annotation(
            x=x[-1],
            y=last,
            text=f" {number(last)}",
            showarrow=False,
            xanchor="left",
            font={"size": 12, "color": p["text"]},
        )
    plain(fig, height, right=64, bottom=30)
    fig.update_xaxes(showgrid=False, type="category", nticks=10)
    fig.update_yaxes(nticks=5)
    return fig


def two_lines(
    x: Sequence[str], a: Sequence[float], b: Sequence[float], a_name: str, b_name: str, height: int = 190
) -> go.Figure:
    p = palette()
    fig = go.Figure()
    for y, name, colour in ((b, b_name, p["grey"]), (a, a_name, p["bar"])):
        fig.add_scatter(x=list(x), y=list(y), name=name, mode="lines", line={"color": colour, "width": 2})
    same = bool(a) and bool(b) and a[-1] == b[-1]
    ends = [(a, f"{a_name} = {b_name}")] if same else [(a, a_name), (b, b_name)]
    for y, name in ends:
        if y:
            fig.add_annotation(
                x=x[-1],
                y=y[-1],
                text=f" {name}",
                showarrow=False,
                xanchor="left",
                font={"size": 12, "color": p["text"]},
            )
    plain(fig, height, right=104 if same else 64, bottom=30)
    fig.update_xaxes(showgrid=False, type="category", nticks=8)
    fig.update_yaxes(rangemode="tozero", nticks=5)
    return fig


def heat(
    ids: Sequence[str],
    versions: Sequence[str],
    scores: Sequence[Sequence[int | None]],
    marks: Mapping[tuple[str, str], str],
) -> go.Figure:
    """Score of each item in each map version; an empty cell means not yet born or gone. `marks`: (id, version) -> a sign."""
    p = palette()
    top = max([4, *(v for row in scores for v in row if v is not None)])
    fig = go.Figure(
        go.Heatmap(
            z=[[None if v is None else max(v, 0) for v in row] for row in scores],
            x=list(versions),
            y=list(ids),
            xgap=3,
            ygap=3,
            colorscale=[[0, p["track"]], [1, p["soft"]]],
            zmin=0,
            zmax=top,
            showscale=False,
            # A score is written where it becomes one; repeating it says nothing and takes seconds to draw.
            text=[
                [
                    (signed(v) if v is not None and (n == 0 or v != row[n - 1]) else "")
                    + marks.get((id, versions[n]), "")
                    for n, v in enumerate(row)
                ]
                for id, row in zip(ids, scores, strict=True)
            ],
            texttemplate="%{text}",
            textfont={"size": 11.5, "color": p["text"]},
            hovertemplate="%{y} in %{x}: score %{z}<extra></extra>",
        )
    )
    plain(fig, 25 * len(ids) + 42, top=0, bottom=34)
    fig.update_yaxes(autorange="reversed", showgrid=False, automargin=True)
    fig.update_xaxes(showgrid=False, type="category")
    return fig


def icicle(cells: Sequence[tuple[int | None, str, int, int, str]]) -> go.Figure:
    """Time as width: (place of the parent, name, total µs, own µs, what it works on), the root first, parents earlier.

    The deeper the colour, the more of the time was the cell's own. Totals are whole microseconds because plotly draws
    nothing at all where children are larger than their parent by a rounding error.
    """
    p = palette()
    hot = max([1, *(own for *_, own, _ in cells)])
    depth: list[int] = []
    for parent, *_ in cells:
        depth.append(0 if parent is None else depth[parent] + 1)
    fig = go.Figure(
        go.Icicle(
            ids=[str(i) for i in range(len(cells))],
            parents=["" if parent is None else str(parent) for parent, *_ in cells],
            labels=[label(name) for _, name, *_ in cells],
            values=[total for _, _, total, _, _ in cells],
            branchvalues="total",
            sort=False,
            text=[f"{_ms(total)} ms, self {_ms(own)}" for _, _, total, own, _ in cells],
            texttemplate="%{label}  %{text}",
            textfont={"size": 12, "color": p["text"]},
            hovertext=["<br>".join(label(line, 90) for line in about.split("\n")) for *_, about in cells],
            hovertemplate="%{label}: %{text}<br>%{hovertext}<extra></extra>",
            tiling={"orientation": "v", "pad": 1},
            pathbar={"visible": False},
            marker={
                "colors": [own / hot for *_, own, _ in cells],
                "colorscale": [[0, p["track"]], [1, p["soft"]]],
                "line": {"width": 1, "color": p["bg"]},
            },
        )
    )
    plain(fig, min(30 * (max(depth) + 1), 900), top=0, bottom=0, right=0)
    # A name that does not fit is left out, not set in letters nobody can read; the table has them all.
    fig.update_layout(
        uniformtext={"minsize": 11.5, "mode": "hide"},
        hoverlabel={
            "bgcolor": p["bg"],
            "bordercolor": p["line"],
            "font": {"size": 12, "color": p["text"]},
            "align": "left",
        },
    )
    return fig


def _ms(micros: int) -> str:
    return f"{micros / 1000:,.1f}" if micros >= 10_000 else f"{micros / 1000:.2f}"
