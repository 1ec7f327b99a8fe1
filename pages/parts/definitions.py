"""Definitions on a page: what waits with its effect, the dialog before acceptance, the list, the export, leaving out.

Owns: how a definition and its effect are drawn. Refuses to know: how it is measured or compiled; clicks go to the curator.
"""

from __future__ import annotations

import io
import zipfile

import pandas as pd
import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, table, tag, words
from peek_core.cli_text import CHANGED, UNCHANGED, cell, effect, in_words, origin
from peek_core.consequences import ChangedAnswer
from peek_core.context_map.definitions import ORDER_SAID, Definition, DefinitionState, in_order
from peek_core.context_map.map import ContextMap
from peek_core.deciding import Preview

STATES = {"on": "ok", "proposed": "accent", "off": "line", "rejected": "line", "held_back": "warn"}


def proposal(dataset: str, d: Definition) -> None:
    """A definition that waits, with its effect; nothing moves before the click."""
    said = ", ".join(filter(None, ("Proposed definition", origin(d))))
    with st.container(border=True, gap="xsmall", key=f"proposal-{d.id}"):
        draw(
            f'<div class="pk-row"><span class="pk-cap pk-grow">{esc(said)}</span>{tag("waits for you", "accent")}'
            f'</div><div style="margin-top:4px"><b>{esc(d.name)}</b> <span class="pk-id">{esc(d.id)}</span></div>'
            f'<div class="pk-mono pk-muted">{esc(d.rule)}</div>'
            f'<div style="margin-top:4px">{esc(effect(d))}.</div>'
        )
        with st.container(horizontal=True, gap="small"):
            if st.button("Accept", type="primary", key=f"accept-{d.id}"):
                accept(dataset, d.id)
            st.button("Reject", key=f"reject-{d.id}", on_click=decide, args=(dataset, d.id, "rejected"))
            if st.button("Show rows", key=f"rows-{d.id}", type="tertiary"):
                touched(dataset, d)


@st.dialog("Accept definition", width="medium")
def accept(dataset: str, id: str) -> None:
    """What it does to the data as it is now, with examples; it counts only after the click in here."""
    seen: list[Preview] = []
    state.attempt(lambda: seen.append(state.workspace().curator(dataset).preview_definition(id)))
    for shown in seen:
        d = shown.definition
        draw(
            f'<b>{esc(d.name)}</b> <span class="pk-id">{esc(d.id)}</span>'
            f'<div class="pk-mono pk-muted">{esc(d.rule)}</div>'
        )
        if shown.refused:
            draw(f'<div class="pk-error" role="alert">It can’t be accepted: {esc(shown.refused)}.</div>')
            continue
        draw(f'<div style="margin:4px 0 8px"><b>{esc(effect(d, shown.effect))}.</b></div>' + _examples(shown))
        earlier = st.container()
        if st.button(
            "Accept and rebuild the view",
            type="primary",
            key=f"confirm-{id}",
            on_click=decide,
            args=(dataset, id, "on"),
        ):
            st.rerun()
        with earlier:  # after the button, so that nobody has to wait for it
            _consequences(dataset, id)
    state.pending_error()


def _consequences(dataset: str, id: str) -> None:
    """Earlier answers with the figure they gave and the one they would give."""
    found: list[ChangedAnswer] = []
    with st.spinner("Running the queries of earlier answers again"):
        done = state.attempt(lambda: found.extend(state.workspace().consequences(dataset, id)))
    if found:
        rows = [[esc(one.question), f"{esc(one.before)} → {esc(one.after)}"] for one in found]
        draw(table([CHANGED, ""], rows))
    elif done:
        draw(f'<div class="pk-note">{esc(UNCHANGED)}</div>')


def _examples(shown: Preview) -> str:
    samples = in_words(shown.samples)
    heads = [c.capitalize() if c in ("before", "after", "rows") else c for c in samples.columns]
    rows = [
        ['<span class="pk-muted">missing</span>' if v is None else esc(cell(v)) for v in row] for row in samples.rows
    ]
    return table(heads, rows, frozenset({len(heads) - 1}))


@st.dialog("Rows a definition is about", width="large")
def touched(dataset: str, d: Definition) -> None:
    """As they stand in the file, before any definition."""
    draw(f'<div class="pk-mono pk-muted">{esc(d.rule)}</div>')
    state.attempt(lambda: _rows(dataset, d))
    state.pending_error()


def _rows(dataset: str, d: Definition) -> None:
    found = state.workspace().curator(dataset).rows_of(d.id)
    shown = [list(r) for r in found.rows]
    st.dataframe(pd.DataFrame(shown, columns=list(found.columns)), hide_index=True, key=f"touched-{d.id}")
    count = "–" if found.row_count is None else f"{found.row_count:,}"
    where = "with the new column" if d.new_column else "as they stand in the file"
    draw(f'<div class="pk-small pk-muted">{len(shown):,} of {count} rows, {where}.</div>')


def decide(dataset: str, id: str, to: DefinitionState) -> None:
    done = {"on": "accepted; the view is rebuilt", "rejected": "rejected", "off": "switched off"}
    state.attempt(lambda: state.workspace().curator(dataset).decide(id, to), f"{id} {done[to]}")


def listed(dataset: str, current: ContextMap) -> None:
    """All definitions: those that wait, then the others in the order they are applied."""
    for d in current.definitions:
        if d.state == "proposed":
            proposal(dataset, d)
    for d in in_order(d for d in current.definitions if d.state != "proposed"):
        _line(dataset, d)
    if current.definitions:
        draw(f'<div class="pk-note" style="padding-top:8px">{esc(ORDER_SAID)}</div>')
    else:
        draw(
            '<div class="pk-note">None yet. State a rule in a question (“rows with status test don’t count”) and it is '
            "proposed here, with its effect in rows.</div>"
        )
    if current.active:
        _downloads(dataset, current.version)


def _line(dataset: str, d: Definition) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"row-{d.id}"):
        draw(
            f'<div class="pk-row"><b>{esc(d.name)}</b>{tag(d.state.replace("_", " "), STATES[d.state])}</div>'
            f'<div class="pk-mono pk-muted">{esc(d.rule)}</div><div class="pk-small pk-muted">'
            f'<span class="pk-id">{esc(d.id)}</span>, {esc(", ".join(filter(None, (origin(d), effect(d)))))}</div>',
            width="stretch",
        )
        if d.state == "on":
            st.button("Switch off", key=f"off-{d.id}", on_click=decide, args=(dataset, d.id, "off"))
        elif st.button("Accept", key=f"on-{d.id}"):
            accept(dataset, d.id)


def _downloads(dataset: str, version: int) -> None:
    """The curated view for use elsewhere, written when a button is pressed."""
    w = state.workspace()
    with st.container(horizontal=True, gap="small", key="export-view"):
        for form, label, name, kind in (
            ("sql", "View as SQL", f"{dataset}-curated.sql", "application/sql"),
            ("dbt", "View as dbt models", f"{dataset}-dbt.zip", "application/zip"),
        ):
            st.download_button(
                label,
                lambda form=form: _file(w.curator(dataset).export_view(form, w.dataset(dataset).title)),
                name,
                kind,
                key=f"export-{form}-{version}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
            )


def _file(files: dict[str, str]) -> bytes:
    """One text as it is; several as an archive."""
    if len(files) == 1:
        return next(iter(files.values())).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def leave_out(dataset: str) -> None:
    """A small control: definitions that don't count for the next question. Nothing where none is on."""
    active = {d.id: d.name for d in state.workspace().map(dataset).active}
    if not active:
        return
    key = _leave_out_key(dataset)
    n = len(left_out(dataset))
    with st.popover(
        f"{n} left out" if n else "Leave out", icon=":material/filter_alt_off:", type="tertiary", key="leave-out"
    ):
        st.pills(
            "Not counting for the next question",
            list(active),
            selection_mode="multi",
            format_func=lambda id: words(active[id][:60]),
            key=key,
            wrap=True,
        )


def left_out(dataset: str) -> tuple[str, ...]:
    """Ids chosen for the next question."""
    return tuple(st.session_state.get(_leave_out_key(dataset)) or ())


def _leave_out_key(dataset: str) -> str:
    # Named after the last question: once the next is asked, the choice is empty again.
    last = state.workspace().runs(dataset, limit=1)
    return f"leave-out-{dataset}-{last[-1].id if last else ''}"
