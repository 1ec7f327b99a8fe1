"""Small pieces of HTML. Every value that reaches a page passes through esc(): cell text is hostile.

Owns: escaping and the markup of tags, meters, tables. Refuses to know: where values come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from peek_core.values.canon import clean_text

CSS = Path(__file__).with_name("look.css")
MINUS = "\u2212"


def esc(value: object) -> str:
    """Escaped text, quotes too; unknown is a dash."""
    return "–" if value is None else escape(clean_text(str(value)), quote=True)


def words(text: str) -> str:
    """Text for a widget label, which is Markdown: what a cell or a person wrote must stay text."""
    return "".join("\\" + c if c in "*_`[]()!#<>$:~\\|" else c for c in clean_text(text))


def followed(pieces: Sequence[tuple[str, bool]]) -> str:
    """A text in which what follows the data is marked."""
    return "".join(f'<span class="pk-slot">{esc(text)}</span>' if on else esc(text) for text, on in pieces)


def draw(body: str, **kw: Any) -> None:
    st.html(f'<div class="pk">{body}</div>', **kw)


def tag(text: str, kind: str = "", title: str = "") -> str:
    hint = f' title="{esc(title)}"' if title else ""
    return f'<span class="pk-tag {esc(kind)}"{hint}>{esc(text)}</span>'


def signed(value: int) -> str:
    """A score with a real minus sign."""
    return str(value).replace("-", MINUS)


def meter(share: float, label: str = "") -> str:
    width = min(100.0, max(0.0, share * 100))
    return f'<div class="pk-meter" role="img" aria-label="{esc(label)}"><i style="width:{width:.1f}%"></i></div>'


def spark(values: Sequence[int | None]) -> str:
    """Score history as bars. None = the item did not exist yet."""
    known = [v for v in values if v is not None]
    top = max([4, *known])
    bars = "".join(
        '<i class="none" style="height:2px"></i>'
        if v is None
        else f'<i style="height:{max(2, round(20 * max(v, 0) / top))}px"></i>'
        for v in values
    )
    last = known[-1] if known else None
    return f'<span class="pk-spark" role="img" aria-label="score history, now {esc(last)}">{bars}</span>'


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    num: frozenset[int] = frozenset(),
    off: frozenset[int] = frozenset(),
) -> str:
    """Cells arrive as ready HTML (escape first). `num` = right-aligned columns, `off` = muted rows."""

    def cls(i: int) -> str:
        return ' class="pk-num"' if i in num else ""

    # A column without a name has no header: an empty one would be read out as one.
    th = "".join(f"<th{cls(i)}>{esc(h)}</th>" if h else "<td></td>" for i, h in enumerate(head))
    tr = "".join(
        f"<tr{' class=off' if r in off else ''}>"
        + "".join(f"<td{cls(i)}>{c}</td>" for i, c in enumerate(row))
        + "</tr>"
        for r, row in enumerate(rows)
    )
    return (
        f'<div class="pk-scroll" tabindex="0"><table class="pk-table"><thead><tr>{th}</tr></thead>'
        f"<tbody>{tr}</tbody></table></div>"
    )


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Key figures in one line: (value, what it is)."""
    return (
        '<div class="pk-eq">'
        + "".join(f'<span><b>{esc(v)}</b> <span class="pk-muted">{esc(t)}</span></span>' for v, t in pairs)
        + "</div>"
    )


def listed(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values below each other."""
    return '<dl class="pk-key">' + "".join(f"<dt>{esc(k)}</dt><dd>{esc(v)}</dd>" for k, v in pairs) + "</dl>"


def head(title: str, note: str = "") -> str:
    """The line a block begins with."""
    return f'<div class="pk-sec pk-head"><span>{esc(title)}</span><span>{esc(note)}</span></div>'


def swatches(pairs: Sequence[tuple[str, str]]) -> str:
    """A legend: (class of the swatch, what it means)."""
    return "".join(f'<span><i class="pk-swatch {esc(kind)}"></i>{esc(what)}</span>' for kind, what in pairs)


def duration(seconds: float | None) -> str:
    """Seconds, or milliseconds where there is less than one; unknown is a dash.

    >>> duration(12.34), duration(2.412), duration(0.0235), duration(0.0002), duration(None)
    ('12.3 s', '2.41 s', '24 ms', '< 1 ms', '–')
    """
    if seconds is None:
        return "–"
    if seconds < 0.001:
        return "< 1 ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.1f} s"


def percent(share: float | None, digits: int = 0) -> str:
    """A share; unknown is a dash.

    >>> percent(0.375), percent(None)
    ('38 %', '–')
    """
    return "–" if share is None else f"{100 * share:.{digits}f} %"
