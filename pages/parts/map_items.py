"""The items of a map, a row each: score, history, age, size, last use, evidence; found by words, state and marks.

Owns: how an item is drawn and which acts it offers. Refuses to know: what an act does; clicks go to the curator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.parts import map_drawers, state
from pages.parts.html import draw, esc, followed, signed, spark, tag
from pages.parts.map_drawers import STATES
from peek_core.context_map.evictor import next_out
from peek_core.context_map.history import diff
from peek_core.context_map.map import ContextMap, MapItem, MapSection
from peek_core.context_map.slots import pieces
from peek_core.context_map.story import Story, Use
from peek_core.settings import MapSettings

MARKS = ("pinned", "locked", "frozen")
BY_HAND = "by a person"
HISTORY = "What happened to it"
SORTS: Mapping[str, Callable[[ContextMap, MapItem, int], float]] = {
    "by section": lambda m, i, used: 0,
    "highest score": lambda m, i, used: -i.score,
    "lowest score": lambda m, i, used: i.score,
    "newest": lambda m, i, used: m.age(i),
    "last used": lambda m, i, used: -used,
}
TREND = 8
"""So many last versions stand beside an item's score."""


def listed(dataset: str, current: ContextMap, story: Story, dials: MapSettings) -> None:
    """All items by section, each with its acts; `story` has their scores and last uses."""
    if not current.items:
        draw('<div class="pk-note">No items yet. They come from questions, or by hand with “Add item”.</div>')
        return
    shown, order = _found(dataset, current, story)
    head = (
        '<span class="pk-num">Score</span><span>Item</span><span>Last versions</span><span class="pk-num">Age</span>'
        '<span class="pk-num">Tokens</span><span>Evidence</span>'
    )
    draw(f'<div class="pk-line head pk-hide-s">{head}</div>')
    leaving = next_out(current, dials.order, dials.grace)
    before = state.workspace().map(dataset, number=current.version - 1) if current.version > 1 else ContextMap()
    changed = {c.id: c.kind for c in diff(before, current) if c.kind in ("added", "changed")}
    trends = _trends(story)
    with st.container(gap="xsmall"):
        for section in MapSection if order == "by section" else (None,):
            mine = [i for i in shown if section is None or i.section is section]
            if not mine:
                continue
            if section is not None:
                _section(section, mine)
            for item in mine:
                line = _line(item, current, trends.get(item.id, [item.score]), story.last_used.get(item.id),
                             leaving == item, changed.get(item.id, ""))  # fmt: skip
                _row(dataset, item, current, line)
    if not shown:
        draw('<div class="pk-note">No item is like that.</div>')


def _section(section: MapSection, mine: Sequence[MapItem]) -> None:
    size = sum(state.workspace().count_tokens(i.line()) for i in mine)
    draw(
        f'<div class="pk-sec"><span>{esc(section.heading)}</span><span>{len(mine)} item{"s" * (len(mine) != 1)}, '
        f"{size:,} tokens</span></div>"
    )


def _row(dataset: str, item: MapItem, current: ContextMap, line: str) -> None:
    with st.container(horizontal=True, gap="small", key=f"row-{item.id}", vertical_alignment="center"):
        draw(line, width="stretch")
        # One widget a row: a long map is drawn in half the time of two.
        chosen = st.menu_button("", _menu(item), icon=":material/more_horiz:", key=f"menu-{item.id}", type="tertiary")
        if chosen == "Edit":
            map_drawers.edit(dataset, item, current.version)
        elif chosen == HISTORY:
            map_drawers.history(dataset, item.id)
        elif chosen:
            _act(dataset, item, chosen)


def _found(dataset: str, current: ContextMap, story: Story) -> tuple[list[MapItem], str]:
    """The items a person looks for, in the order they want."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="find-items"):
        words = st.text_input(
            "Find", key="find", placeholder="Find in items", type="search", live=True, width=240,
            label_visibility="collapsed",
        )  # fmt: skip
        kinds = [k for k in (*STATES, *MARKS, BY_HAND) if any(_is(i, k) for i in current.items)]
        wanted = st.pills("Only", kinds, selection_mode="multi", key="only", label_visibility="collapsed")
        order = st.selectbox("Order", list(SORTS), key="sort", label_visibility="collapsed", width=150)
        for act, icon, keys in (("undo", "undo", "Alt+Z"), ("redo", "redo", "Alt+Y")):
            st.button(
                "", icon=f":material/{icon}:", key=act, shortcut=keys, help=f"{act.capitalize()} the latest change of the map",
                on_click=_back, args=(dataset, act), type="tertiary",
            )  # fmt: skip
    sought = (words or "").casefold().split()
    found = [
        i
        for i in current.items
        if all(w in f"{i.id} {i.text} {i.question}".casefold() for w in sought)
        and (not wanted or any(_is(i, k) for k in wanted))
    ]
    by = SORTS[order]
    found.sort(key=lambda i: by(current, i, story.last_used[i.id].version if i.id in story.last_used else 0))
    return found, order


def _back(dataset: str, act: str) -> None:
    curator = state.workspace().curator(dataset)
    state.attempt(curator.undo if act == "undo" else curator.redo, "Undone" if act == "undo" else "Redone")


def _is(item: MapItem, kind: str) -> bool:
    if kind in MARKS:
        return bool(getattr(item, kind))
    return item.author == "person" if kind == BY_HAND else item.state == kind


def _menu(item: MapItem) -> list[str]:
    return [
        "Edit",
        "Unpin" if item.pinned else "Pin",
        "Unlock" if item.locked else "Lock",
        "Thaw item" if item.frozen else "Freeze item",
        "Raise score",
        "Lower score",
        HISTORY,
        "Delete",
    ]


def _act(dataset: str, item: MapItem, chosen: str) -> None:
    curator = state.workspace().curator(dataset)
    acts = {
        "Pin": lambda: curator.mark(item.id, "pin"),
        "Unpin": lambda: curator.mark(item.id, "pin", False),
        "Lock": lambda: curator.mark(item.id, "lock"),
        "Unlock": lambda: curator.mark(item.id, "lock", False),
        "Freeze item": lambda: curator.mark(item.id, "freeze"),
        "Thaw item": lambda: curator.mark(item.id, "freeze", False),
        "Raise score": lambda: curator.score(item.id, item.score + 1),
        "Lower score": lambda: curator.score(item.id, item.score - 1),
        "Delete": lambda: curator.delete(item.id),
    }
    state.attempt(acts[chosen])
    st.rerun()


def _line(
    item: MapItem, current: ContextMap, trend: Sequence[int | None], used: Use | None, leaves: bool, change: str
) -> str:
    flags = "".join(tag(f, "line") for f in MARKS if getattr(item, f))
    new = tag(f"{change} last", "accent") if change else ""
    out = tag("next to be evicted", "warn") if leaves else ""
    note = f"; {esc(item.detail)}" if item.detail else ""
    last = f", last used in version {used.version}" if used else ""
    text = followed(pieces(item.text, item.template))
    return (
        f'<div class="pk-line"><span class="pk-num"><b>{signed(item.score)}</b></span>'
        f'<div class="txt">{text}<span class="pk-rowtag">{flags}{new}{out}</span>'
        f'<div class="meta"><span class="pk-id">{esc(item.id)}</span>, by {esc(item.author)}{last}{note}</div></div>'
        f'<span class="h-wide">{spark(trend)}</span><span class="pk-num meta h-wide">{current.age(item)} q</span>'
        f'<span class="pk-num meta h-wide">{state.workspace().count_tokens(item.line())}</span>'
        f'<span class="ev">{tag(item.state, STATES[item.state])}</span></div>'
    )


def _trends(story: Story) -> dict[str, list[int | None]]:
    """Item -> its scores in the last versions."""
    last = story.scores.table[-TREND:]
    return {id: [row[n] for row in last] for n, id in enumerate(story.scores.items)}
