"""The profile of a table as small pictures, one card a column.

Owns: which picture suits a column. Refuses to know: how a profile is made.
"""

from __future__ import annotations

import streamlit as st

from pages.parts.html import draw, esc
from peek_core.values.dataset import ColumnProfile, TableProfile

SHOWN = 60


def cards(profile: TableProfile) -> None:
    """All columns of the table as the curated view shows it."""
    draw(
        f'<div class="pk-sec" style="padding-top:18px"><span>Table {esc(profile.name)}, as the curated view shows it'
        f"</span><span>{profile.rows:,} rows, {len(profile.columns)} columns</span></div>"
    )
    with st.container(key=f"cards-{profile.name}"):
        draw('<div class="pk-cards">' + "".join(card(c, profile.rows) for c in profile.columns[:SHOWN]) + "</div>")
    if len(profile.columns) > SHOWN:
        draw(f'<div class="pk-note">the first {SHOWN} of {len(profile.columns):,} columns</div>')


def card(c: ColumnProfile, rows: int) -> str:
    name = f"<b>{esc(c.name)}</b>" + (
        f' <span class="pk-muted pk-small">{esc(c.label)}</span>' if c.label != c.name else ""
    )
    return (
        f'<div class="pk-card"><div class="pk-row"><span class="pk-grow">{name}</span>'
        f'<span class="pk-muted pk-small">{esc(_kind(c))}</span></div>'
        f'<div class="pk-small pk-muted">{esc(_facts(c, rows))}</div>{_picture(c)}</div>'
    )


def _kind(c: ColumnProfile) -> str:
    words = {"VARCHAR": "text", "BIGINT": "whole number", "DOUBLE": "number", "BOOLEAN": "true or false"}
    kind = "free text" if c.free_text else words.get(c.type, c.type.lower())
    if c.unique:
        return f"{kind}, key"
    return kind if c.distinct is None else f"{kind}, {c.distinct:,} value{'s' * (c.distinct != 1)}"


def _facts(c: ColumnProfile, rows: int) -> str:
    said = [f"{c.nulls:,} missing" + (f" ({c.nulls / rows:.0%})" if rows and c.nulls else "")]
    if c.free_text:
        said.append(f"{c.average_length or 0:.0f} characters on average")
    elif c.minimum is not None and c.type != "VARCHAR":
        said.append(f"{c.minimum} to {c.maximum}")
    if c.empty_periods:
        said.append(f"{c.empty_periods:,} of {c.periods:,} {c.period}s without a row")
    if c.personal:
        said.append(f"looks like {c.personal} (a guess)")
    return ", ".join(said)


def _picture(c: ColumnProfile) -> str:
    if c.bins:
        top = max(b.count for b in c.bins) or 1
        bars = "".join(
            f'<i style="height:{max(1 if b.count else 0, round(56 * b.count / top))}px" '
            f'title="{esc(b.start)} to {esc(b.end)}: {b.count:,}"></i>'
            for b in c.bins
        )
        ends = f"<span>{esc(c.bins[0].start)}</span><span>{esc(c.bins[-1].end)}</span>"
        alt = f"Histogram of {c.name}"
        return f'<div class="pk-hist" role="img" aria-label="{esc(alt)}">{bars}</div><div class="pk-ends">{ends}</div>'
    if c.languages:
        return _bars(
            [(name, f"{share:.0%}", share) for name, share in c.languages[:5]], "languages, guessed from a sample"
        )
    if not c.top or c.free_text:
        return ""
    most = c.top[0].count or 1
    shown = [(v.value, f"{v.count:,}", v.count / most) for v in c.top[:6]]
    left = len(c.top) - len(shown)
    return _bars(shown, "" if c.complete and left <= 0 else f"and {left:,} more" if c.complete else "and others")


def _bars(rows: list[tuple[str, str, float]], note: str) -> str:
    body = "".join(
        f'<span class="n">{esc(name[:28])}</span><span class="b"><i style="width:{100 * share:.0f}%"></i></span>'
        f'<span class="pk-num">{esc(value)}</span>'
        for name, value, share in rows
    )
    said = f'<div class="pk-small pk-muted">{esc(note)}</div>' if note else ""
    return f'<div class="pk-bars">{body}</div>{said}'
