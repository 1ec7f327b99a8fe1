"""The versions of a map: each against the one before, and back to an older one.

Owns: how a change is drawn. Refuses to know: how versions are kept and restored.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, table, tag
from peek_core.context_map.history import diff
from peek_core.context_map.map import ContextMap, render

KINDS = {"removed": "warn", "added": "accent", "changed": "accent"}


def history(dataset: str, current: ContextMap) -> None:
    """A version chosen on a slider, against the one before it."""
    w = state.workspace()
    rows = w.store.map_versions(dataset, "peek")
    if not rows:
        draw('<div class="pk-note">No version yet.</div>')
        return
    numbers = [r.number for r in rows]
    number = (
        st.select_slider(
            "Version", numbers, value=numbers[-1], format_func=lambda n: f"v{n}", key=f"version-{numbers[-1]}"
        )
        if len(numbers) > 1
        else numbers[0]
    )
    shown = w.map(dataset, number=number)
    before = w.map(dataset, number=number - 1) if number > 1 else ContextMap()
    sizes = [f"{w.count_tokens(render(m.items)):,}" for m in (before, shown)]
    changes = [
        [tag(c.kind, KINDS.get(c.kind, "line")), f'<span class="pk-id">{esc(c.id)}</span>', _change(c.before, c.after)]
        for c in diff(before, shown)
    ]
    events = w.store.map_events(dataset, "peek", number=number)
    draw(
        f'<div class="pk-row"><span class="pk-cap pk-grow">Version {number} against {number - 1}</span>'
        f'<span class="pk-small pk-muted">{sizes[0]} → {sizes[1]} tokens; '
        f"{len(events)} event{'s' * (len(events) != 1)}</span></div>"
        + (table(["", "Item", "Change"], changes) if changes else '<div class="pk-note">No text changed.</div>')
    )
    older = number != current.version
    if older and st.button(f"Restore version {number}", type="tertiary", icon=":material/undo:", key="restore"):
        state.attempt(lambda: w.curator(dataset).restore(number))
        st.rerun()


def _change(before: str, after: str) -> str:
    if before and after and max(len(before), len(after)) > 20:
        return f"<del>{esc(before)}</del> <ins>{esc(after)}</ins>"
    return f"{esc(before)} → {esc(after)}" if before and after else esc(after or before)
