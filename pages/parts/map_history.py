"""The history of a map: every item's score over its versions with what happened, any two versions word by word, and back.

Owns: the heat map, the choice of versions and how a change is drawn. Refuses to know: how versions are kept and restored.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import charts, map_drawers, state
from pages.parts.html import draw, esc, head, table, tag
from peek_core.context_map.history import Change, diff
from peek_core.context_map.map import ContextMap, render
from peek_core.context_map.story import Scores, Story

KINDS = {"removed": "warn", "added": "accent", "changed": "accent"}
WIDE = 30
"""Versions drawn at a time; a slider moves the window."""
SIGNS = {
    "born": "+",
    "back": "+",
    "edited": "~",
    "pinned": "●",
    "unpinned": "○",
    "evicted": "×",
    "deleted": "×",
    "drifted": "≈",
    "broken": "!",
}
"""Marks in the heat map; what took an item away otherwise is a cross."""


def page(dataset: str, current: ContextMap, story: Story) -> None:
    """Scores, then two versions against each other."""
    if not story.scores.versions:
        draw('<div class="pk-note">No version yet.</div>')
        return
    scores(story.scores)
    between(dataset, current, story.scores)


def scores(found: Scores) -> None:
    """Versions × items."""
    last = len(found.versions)
    end = last
    draw(head("Scores by version", "empty: not yet born, or gone"))
    if last > WIDE:
        end = st.slider("Versions up to", WIDE, last, last, key=f"scores-{last}", format="%d")
    start = max(0, end - WIDE)
    window = found.table[start:end]
    there = [n for n in range(len(found.items)) if any(row[n] is not None for row in window)]
    marks = {
        (m.item, m.version): SIGNS.get(m.what, "×")
        for m in found.marks
        if found.versions[start] <= m.version <= found.versions[end - 1]
    }
    marked = {item for item, _ in marks}
    ids = [found.items[n] for n in range(len(found.items)) if n in there or found.items[n] in marked]
    place = {id: n for n, id in enumerate(found.items)}
    figure = charts.heat(
        ids,
        [f"v{v}" for v in found.versions[start:end]],
        [[row[place[id]] for row in window] for id in ids],
        {(id, f"v{v}"): sign for (id, v), sign in marks.items()},
    )
    charts.show(figure, "heat", "Heat map of item scores over the map's versions, with what happened to them")
    draw(
        '<div class="pk-small pk-muted">+ born or back, ~ edited, ● pinned, ○ unpinned, ≈ drifted, ! broken, × left. '
        "An item’s menu has its whole history.</div>"
    )


def between(dataset: str, current: ContextMap, found: Scores) -> None:
    """Any two versions, word by word."""
    w = state.workspace()
    numbers = list(found.versions)[::-1]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        after = st.selectbox("Version", numbers, format_func=lambda n: f"version {n}", key="map-after", width=150)
        earlier = [n for n in (*numbers, 0) if n < after]
        before = st.selectbox(
            "against", earlier, format_func=lambda n: f"version {n}" if n else "nothing", key=f"map-before-{after}",
            width=150,
        )  # fmt: skip
        if after != current.version and st.button(
            f"Restore version {after}", icon=":material/settings_backup_restore:", key="restore"
        ):
            state.attempt(lambda: w.curator(dataset).restore(after), f"Version {after} is the newest again")
            st.rerun()
    shown, was = w.map(dataset, number=after), w.map(dataset, number=before)
    sizes = [f"{w.count_tokens(render(m.items)):,}" for m in (was, shown)]
    changes = diff(was, shown)
    rows = [
        [tag(c.kind, KINDS.get(c.kind, "line")), f'<span class="pk-id">{esc(c.id)}</span>', changed(c)] for c in changes
    ]
    draw(
        head(f"Version {after} against {before or 'nothing'}", f"{sizes[0]} → {sizes[1]} tokens")
        + (table(["", "Item", "Change"], rows) if rows else '<div class="pk-note">No text changed.</div>')
    )


def changed(c: Change) -> str:
    """One change, words that differ marked."""
    if c.before and c.after and c.kind == "changed":
        return map_drawers.words_changed(c.before, c.after)
    return f"{esc(c.before)} → {esc(c.after)}" if c.before and c.after else esc(c.after or c.before)
