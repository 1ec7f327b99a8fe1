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

    th = "".join(f"<th{cls(i)}>{esc(h)}</th>" for i, h in enumerate(head))
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


def strip(parts: Sequence[tuple[str, int, str, bool]], reserve: int, limit: int) -> str:
    """One request over its limit: (name, tokens, scope, cached). Tint = scope, solid = cached, hatched = sent fresh."""
    used = sum(t for _, t, _, _ in parts)
    hit = sum(t for _, t, _, cached in parts if cached)
    base = max(limit, used + reserve)
    boxes = [
        (n, t, f"{scope}{'' if cached else ' fresh'}", f"{n}: {t:,} tokens, {'cached' if cached else 'sent fresh'}")
        for n, t, scope, cached in parts
    ] + [("Reserve", reserve, "free", f"Reserve for the reply: {reserve:,} tokens")]
    bar = "".join(
        f'<i class="{esc(kind)}" style="width:{100 * t / base:.2f}%" title="{esc(hint)}"></i>'
        for _, t, kind, hint in boxes
    )
    names = "".join(
        f'<span class="{_size(t, base)}" style="width:{100 * t / base:.2f}%" title="{esc(hint)}">{esc(n)}'
        f"<br>{t:,}</span>"
        for n, t, _, hint in boxes
    )
    lines = "".join(
        f'<b style="left:{share * 100 * limit / base:.0f}%"><em>.{share * 100:.0f}</em></b>'
        for share in (0.60, 0.75, 0.90)
    )
    label = f"{used:,} tokens and a reserve of {reserve:,} over a limit of {limit:,}; first {hit:,} cached"
    return (
        f'<div class="pk-strip" role="img" aria-label="{esc(label)}"><div class="bar">{bar}{lines}</div>'
        f'<div class="names">{names}</div></div>'
    )


def _size(tokens: int, base: int) -> str:
    return "tiny" if tokens < 0.025 * base else "slim" if tokens < 0.085 * base else ""
