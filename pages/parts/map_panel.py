"""The context map beside the conversation: what it holds, what the last question did to it, stage by stage.

Owns: the panel. Refuses to know: how a map is changed; clicks go to the curator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.parts import answers, definitions, route, state
from pages.parts.html import draw, esc, followed, meter, signed, tag
from peek_core.context_map.map import ContextMap, MapItem, MapSection, render
from peek_core.context_map.slots import pieces
from peek_core.values.events import Event
from peek_core.values.run_view import RunView

STAGES = (
    ("distilled", "Distilled"),
    ("edits", "Edits proposed"),
    ("admission", "Admitted"),
    ("evicted", "Budget held"),
)


def panel(
    dataset: str, last: RunView | None, events: Sequence[Event], busy: bool, follow: Callable[[str], None]
) -> None:
    """The whole panel for the map as it stands; `follow` draws the live stages of a run that is being learned from."""
    w = state.workspace()
    current = w.map(dataset)
    dials = w.map_settings(w.dataset(dataset))
    tokens = w.count_tokens(render(current.items))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        draw(f'<b>Context map</b> <span class="pk-muted">version {current.version}</span>', width="content")
        st.toggle(
            "Freeze map",
            value=current.frozen,
            key=f"freeze-{dataset}-{current.version}",
            on_change=freeze,
            args=(dataset, not current.frozen),
            help="No learning at all; evidence still runs.",
        )
    acts = _acts(dataset, last)
    draw(
        f'<div class="pk-row pk-small"><span><b>{tokens:,}</b> <span class="pk-muted">of {dials.budget:,} tokens</span>'
        f'</span><span class="pk-grow"></span><span class="pk-muted">{esc(_said(acts, last))}</span></div>'
        + meter(tokens / dials.budget, f"{tokens} of {dials.budget} tokens used")
    )
    if current.frozen:
        draw(f'<div class="pk-small pk-muted">Frozen: {esc(current.frozen_why or "by hand")}.</div>')
    if busy:
        draw('<div class="pk-small pk-muted">Used as it stands by the question being worked on.</div>')
    if last is not None and last.phase == "learning":
        follow(last.id)
    elif last is not None:
        outcome(events)
    for d in current.definitions:
        if d.state == "proposed":
            definitions.proposal(dataset, d)
    draw(items(current, acts))
    if not current.items and not acts:
        draw('<div class="pk-note">Still empty. It fills with what questions bring to light about the data.</div>')
    with st.container(horizontal=True, gap="small"):
        if st.button("Open map", key="open-map", type="tertiary", icon=":material/arrow_forward:"):
            route.go("context_map", dataset=dataset)
        if last is not None and acts and not last.active:
            st.button(
                "Undo this question’s changes",
                key="undo",
                type="tertiary",
                icon=":material/undo:",
                on_click=answers.unlearn,
                args=(dataset, last.id),
            )


def _acts(dataset: str, last: RunView | None) -> list[Mapping[str, Any]]:
    """What the last question did: name, item, body, version."""
    if last is None:
        return []
    rows = state.workspace().store.map_events(dataset, "peek", run=last.id)
    return [
        {"name": r.name, "item": r.item, "number": r.number, **json.loads(r.body)} for r in rows if r.name != "count"
    ]


def _said(acts: Sequence[Mapping[str, Any]], last: RunView | None) -> str:
    if last is None:
        return ""
    words = {
        "add": "added",
        "replace": "changed",
        "evict": "evicted",
        "refuse": "refused",
        "propose": "proposed",
        "tag": "re-scored",
        "delete": "removed",
    }
    counts = {w: sum(a["name"] == n for a in acts) for n, w in words.items()}
    said = ", ".join(f"{n} {w}" for w, n in counts.items() if n)
    return f"last question: {said}" if said else "" if last.active else "last question: nothing new"


def stages(events: Sequence[Event]) -> None:
    """Live line of the update: distil, edits, admission, evict."""
    done = {e.name for e in events}
    parts = [tag(word, "ok" if name in done else "line") for name, word in STAGES]
    draw('<div class="pk-row pk-small"><span class="pk-muted">Learning</span>' + " ".join(parts) + "</div>")


def outcome(events: Sequence[Event]) -> None:
    """Why nothing was learned, when nothing was."""
    said = next((e.body.get("failed") or e.body.get("skipped") for e in events if e.name == "learned"), None)
    if said:
        draw(f'<div class="pk-small pk-muted">Not learned from the last question: {esc(said)}.</div>')


def items(current: ContextMap, acts: Sequence[Mapping[str, Any]]) -> str:
    """Items by section; what the last question added, changed or evicted is marked."""
    marks = {a["item"]: a["name"] for a in acts if a["name"] in ("add", "replace")}
    gone = [a for a in acts if a["name"] in ("evict", "delete") and not current.item(a["item"])]
    out = []
    for section in MapSection:
        mine = current.section(section)
        lost = [a for a in gone if a["item"].startswith(section.value)]
        if mine or lost:
            out.append(f'<div class="pk-sec"><span>{esc(section.heading)}</span><span>{len(mine)}</span></div>')
            out += [row(i, marks.get(i.id, "")) for i in mine]
            out += [_gone(a) for a in lost]
    return "".join(out)


def row(item: MapItem, change: str) -> str:
    word = {"add": "added", "replace": "changed"}.get(change, "")
    state_tag = {"drifted": tag("drifted", "warn", item.detail), "broken": tag("broken", "bad", item.detail)}
    flags = ", ".join(m for m in ("pinned", "locked", "frozen") if getattr(item, m))
    side = tag(word, "accent") if word else state_tag.get(item.state, "")
    side += f'<div class="pk-small pk-muted">{esc(flags)}</div>' if flags else ""
    return (
        f'<div class="pk-item{" new" if word else ""}"><span class="score">{signed(item.score)}</span>'
        f'<div class="txt">{followed(pieces(item.text, item.template))} <span class="pk-id">{esc(item.id)}</span></div>'
        f'<span class="side">{side}</span></div>'
    )


def _gone(act: Mapping[str, Any]) -> str:
    word = "evicted" if act["name"] == "evict" else "removed"
    return (
        f'<div class="pk-item gone"><span class="score">{signed(act.get("score", 0))}</span>'
        f'<div><div class="txt">{esc(act.get("text", ""))} <span class="pk-id">{esc(act["item"])}</span></div>'
        f'<div class="pk-small pk-muted">{esc(act.get("why", ""))}</div></div>'
        f'<span class="side">{tag(word, "warn")}</span></div>'
    )


def freeze(dataset: str, on: bool) -> None:
    """No learning at all, or learning again."""
    state.attempt(lambda: state.workspace().curator(dataset).freeze_map(on))
