"""Ask: the conversation on the left, what the map learned on the right."""

from __future__ import annotations

import streamlit as st

from pages.parts import answers, definitions, dry_run, map_panel, route, state
from pages.parts.consent import consent
from pages.parts.html import draw, words
from pages.parts.series import series
from peek_core.curation import kept_answers
from peek_core.endpoints import NeedsConsent
from peek_core.values.run_view import RunView

SHOWN = 8
"""Runs drawn whole; older ones by their question, to open."""

w = state.workspace()
dataset = state.dataset_id()


def ask(text: str, configuration: str | None = None) -> None:
    """Queue a question and point the address at it; `configuration`: how its requests are assembled."""
    if not dataset:
        return
    without, version = definitions.left_out(dataset), state.as_of(dataset)
    try:
        state.attempt_raw(
            lambda: st.query_params.update(
                {state.RUN: w.ask(dataset, text, without=without, configuration=configuration, version=version)}
            )
        )
    except NeedsConsent:
        st.session_state["_waiting"] = text
    st.rerun()


def conversation(runs: tuple[RunView, ...]) -> None:
    """Ended runs, drawn in full runs of the page only."""
    assert dataset is not None
    ended = [r for r in runs if r.phase in ("learning", "done")]
    focus = state.run_id()
    shown = ended[-SHOWN:]
    shown = [r for r in ended[:-SHOWN] if r.id == focus] + shown
    older = [r for r in ended if r not in shown]
    if older:
        with st.expander(f"{len(older)} earlier questions", key="earlier"):
            for r in older:
                if st.button(words(r.question[:90]), key=f"show-{r.id}", type="tertiary"):
                    st.query_params[state.RUN] = r.id
                    st.rerun()
    if not runs:
        draw(
            '<div class="pk-note">No question yet. Ask about counts, shares, averages, trends; say how the data is meant '
            "(“rows with status test don’t count”) and it is kept.</div>"
        )
    kept = kept_answers(w.map(dataset))
    for n, view in enumerate(shown):
        answers.question(view, first=n == 0)
        answers.answered(view, last=view.id == runs[-1].id, ask=ask, kept=kept.get(view.id))


def at_work(known: tuple[tuple[str, str], ...]) -> None:
    """What is being worked on or waits; refreshes itself, and the whole page once something has ended."""
    assert dataset is not None
    seen = [(view, events) for view, events in w.at_work(dataset) if view.phase != "learning"]
    if tuple((view.id, view.phase) for view, _ in seen) != known:
        st.rerun()
    for view, events in seen:
        answers.live(view, events)


def learning(run: str) -> None:
    """The stages of the map's update; the whole page follows when it is done."""
    assert dataset is not None
    events = next((events for view, events in w.at_work(dataset) if view.id == run), None)
    if events is None:
        st.rerun()
    map_panel.stages(events or ())


def draw_page() -> None:
    assert dataset is not None
    runs = tuple(r for r in w.runs(dataset, limit=60))
    # From the same glance the fragment looks at, so that the two never disagree.
    busy = tuple((r.id, r.phase) for r, _ in w.at_work(dataset) if r.phase in ("queued", "working"))
    ended = [r for r in runs if r.phase in ("learning", "done")]
    talk, learned = st.columns([0.64, 0.36], gap="large")
    with talk:
        conversation(runs)
        if busy:
            st.fragment(at_work, run_every=0.4, key="at-work")(busy)
    with learned:
        last = ended[-1] if ended else None
        map_panel.panel(
            dataset,
            last,
            w.events(last.id) if last else (),
            bool(busy),
            lambda run: st.fragment(learning, run_every=0.5, key="learning")(run),
        )


def newest_again() -> None:
    del st.query_params[state.AS_OF]


def earlier_version(number: int) -> None:
    """Questions go to an earlier version: said where they are typed, with the way back."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="as-of"):
        draw(
            f'<div class="pk-note">Questions go to <b>version {number}</b>, with the map as it stood then. They teach '
            "nothing.</div>",
            width="content",
        )
        st.button("Back to the newest", key="newest", type="tertiary", on_click=newest_again)


def stop() -> None:
    assert dataset is not None
    for run in w.active_runs(dataset):
        w.cancel(run.id)


def bottom(active: bool) -> None:
    assert dataset is not None
    with st.bottom:
        version = state.as_of(dataset)
        if version is not None:
            earlier_version(version)
        left, right = st.columns([0.64, 0.36], gap="large", vertical_alignment="center")
        with left, st.container(horizontal=True, gap="small", vertical_alignment="center"):
            text = st.chat_input(f"Ask about {w.dataset(dataset).title}", key="question")
            if active:
                st.button("Stop", icon=":material/stop_circle:", key="stop", shortcut="Escape", on_click=stop)
        with right, st.container(horizontal=True, gap="small", vertical_alignment="center"):
            definitions.leave_out(dataset)
            dry_run.button(dataset, ask)
            series(dataset)
            if st.button(
                "New conversation",
                key="fresh",
                type="tertiary",
                icon=":material/add_comment:",
                help="Follow-ups no longer look back beyond this point.",
            ):
                w.new_conversation(dataset)
                st.toast("Follow-ups start afresh")
        if text:
            ask(text)


if dataset is None:
    route.no_dataset()
else:
    waiting = st.session_state.get("_waiting")
    if waiting:
        consent(dataset, waiting, ask)
    draw_page()
    bottom(bool(w.active_runs(dataset)))
