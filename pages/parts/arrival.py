"""A new export on its way in: brought, recognised, reported, accepted or dropped.

Owns: the controls, and what a session holds until somebody decides. Refuses to know: how columns are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.parts import impact, route, state
from pages.parts.html import draw, esc, head, percent, table, tag, words
from pages.parts.loading import copied, with_progress
from peek_core.corpus.desk import Progress
from peek_core.corpus.load import SUFFIXES, Source
from peek_core.corpus.versions.pairing import paired
from peek_core.returning import Arrival, Settled
from peek_core.values.versions import ColumnMatch, Proposal, TableMatch

HELD, PROPOSAL = "_arrival", "_proposal"
NEW = "a new column"
Work = Callable[[Progress, Callable[[], bool]], Arrival]


def waiting(dataset: str) -> bool:
    """Whether this session holds an export of the dataset that nobody decided on yet."""
    held = st.session_state.get(HELD)
    return held is not None and held.dataset.id == dataset


def bring(dataset: str) -> None:
    """The next export: an upload, a path on the server, or the one a sample comes with."""
    w = state.workspace()
    draw('<div class="pk-cap">Load the next export</div>')
    corpus = w.returning.next_sample(dataset)
    if corpus is not None:
        draw(
            f'<div class="pk-small pk-muted">This sample has a second export, as it looks a month later. Today is then '
            f"{esc(corpus.next_as_of)}.</div>"
        )
        if st.button("Open the sample’s next export", type="primary", key="next-sample"):
            receive("Reading the next export", lambda tell, stopped: w.returning.receive_sample(dataset, tell))
            st.rerun()
    files = st.file_uploader(
        "The next file",
        type=[s.removeprefix(".") for s in SUFFIXES],
        accept_multiple_files=True,
        key="next-upload",
        label_visibility="collapsed",
    )
    path = st.text_input("or a path on this machine", key="next-path", placeholder="/data/next_export.csv").strip()
    if st.button("Read it", key="next-load", disabled=not (files or path)):
        read(dataset, files, path)
        st.rerun()


def bring_to(dataset: str, files: Sequence[UploadedFile], path: str) -> NoReturn:
    """Read files brought elsewhere as the dataset's next export, and go where it is decided on."""
    read(dataset, files, path)
    state.choose(dataset)
    route.go("versions", dataset=dataset)


def read(dataset: str, files: Sequence[UploadedFile], path: str) -> None:
    """Uploads, or else a path on the server."""
    if files:
        with copied(files) as sources:
            receive(f"Reading {', '.join(s.label for s in sources)[:60]}", _reading(dataset, sources))
    else:
        source = Path(path).expanduser()
        receive(f"Reading {source.name[:60]}", _reading(dataset, [Source(source, source.name)], keep=False))


def _reading(dataset: str, sources: Sequence[Source], keep: bool = True) -> Work:
    w = state.workspace()
    return lambda tell, stopped: w.returning.receive(dataset, sources, keep=keep, progress=tell, cancelled=stopped)


def receive(title: str, work: Work) -> None:
    """Read it in sight."""
    made = with_progress(title, work)
    if made is not None:
        st.session_state[HELD] = made


def settle(arrival: Arrival, agreed: Proposal) -> None:
    """Work out what it would mean, in sight."""
    w = state.workspace()
    del st.session_state[HELD]
    made = with_progress(
        "Comparing with the version before",
        lambda tell, stopped: w.returning.settle(arrival, agreed, progress=tell, cancelled=stopped),
    )
    if made is not None:
        st.session_state[HELD] = made
        st.session_state[PROPOSAL] = agreed


def decide(dataset: str) -> None:
    """What was brought, as far as it is: the proposal first, unless all of it is certain, then the report."""
    held = st.session_state[HELD]
    if isinstance(held, Arrival) and held.proposal.certain:
        settle(held, held.proposal)
        st.rerun()
    elif isinstance(held, Arrival):
        ask(held)
    else:
        offer(held)


def ask(arrival: Arrival) -> None:
    """Step one: which column is which, where that is not certain."""
    names = ", ".join(s.name for s in arrival.report.sources)
    draw(
        f'<div class="pk-a">Is this the next export of {esc(arrival.dataset.title)}?</div>'
        f'<div class="pk-note"><b>{esc(names)}</b> was read and held against version {arrival.dataset.version}. Not '
        "every column is certain; nothing is changed yet.</div>"
    )
    agreed = matches(arrival.proposal)
    with st.container(horizontal=True, gap="small"):
        if st.button("Take it so", type="primary", key="take-match"):
            settle(arrival, agreed)
            st.rerun()
        if st.button("Drop it", key="drop-match"):
            drop()


def matches(found: Proposal) -> Proposal:
    """The proposal, with a choice for every column that is not certain; returns it as it is chosen."""
    chosen = list(found.tables)
    for at, t in enumerate(found.tables):
        draw(head(f"{t.new} is taken for {t.old}", f"{percent(t.similarity)} alike"))
        draw(pairs(t))
        open_columns = [c.new for c in t.columns if not c.certain] + (list(t.added) if t.gone else [])
        taken = {c.old for c in t.columns if c.certain}
        known = [c.old for c in t.columns if c.old not in taken] + list(t.gone)
        if open_columns:
            draw('<div class="pk-cap" style="padding-top:8px">Which column is which</div>')
        with st.container(horizontal=True, gap="small"):
            for new in open_columns:
                old = t.names.get(new)
                options = [NEW, *known]
                said = st.selectbox(
                    words(new), options, index=options.index(old) if old in options else 0, key=f"match-{t.old}-{new}",
                    format_func=lambda name: name if name == NEW else words(name), width=220,
                )  # fmt: skip
                wanted = None if said == NEW else said
                if wanted != chosen[at].names.get(new):
                    chosen[at] = paired(chosen[at], new, wanted)
    if found.further:
        draw(f'<div class="pk-note">Read as further tables: {esc(", ".join(found.further))}.</div>')
    if found.kept:
        draw(f'<div class="pk-note">Kept as they are: {esc(", ".join(found.kept))}.</div>')
    return replace(found, tables=tuple(chosen))


def pairs(t: TableMatch) -> str:
    """Each column of the file and the known one it is taken for; those that are simply the same are counted."""
    same = [c for c in t.columns if c.old == c.new and c.certain]
    shown = [c for c in t.columns if c not in same]
    rows = [[esc(c.label), _arrow(c), percent(c.similarity), esc(c.why), _sure(c)] for c in shown]
    rows += [["", f"{esc(name)} went", "", "no column stands for it", tag("gone", "warn")] for name in t.gone]
    rows += [[esc(name), "is new", "", "", tag("new", "accent")] for name in t.added]
    note = f'<div class="pk-small pk-muted">{len(same)} more columns are the same.</div>' if same and rows else ""
    if not rows:
        return f'<div class="pk-note">All {len(same)} columns are the same.</div>'
    return table(["In the file", "Known as", "Alike", "Because of", ""], rows, num=frozenset({2})) + note


def _arrow(c: ColumnMatch) -> str:
    return f'<span class="pk-mono">{esc(c.old)}</span>'


def _sure(c: ColumnMatch) -> str:
    return tag("certain", "ok") if c.certain else tag("please look", "warn")


def offer(settled: Settled) -> None:
    """Step two: what accepting it would mean."""
    was, number = settled.dataset.version, settled.version.number
    draw(
        f'<div class="pk-a">{esc(settled.dataset.title)}: version {number} is ready</div>'
        f'<div class="pk-note">This is what it changes against version {was}. Nothing is changed yet; version {was} stays '
        "and can be asked in any case.</div>"
    )
    with st.container(horizontal=True, gap="small"):
        if st.button(f"Accept version {number}", type="primary", key="accept-version"):
            accept(settled)
        if st.button("Drop it", key="drop-version"):
            drop()
    found: Proposal | None = st.session_state.get(PROPOSAL)
    if found is not None and any(c.old != c.new for t in found.tables for c in t.columns):
        with st.expander("How its columns were recognised", icon=":material/compare_arrows:"):
            for t in found.tables:
                draw(pairs(t))
    impact.report(settled.dataset.id, settled.impact)


def accept(settled: Settled) -> None:
    """Make it the newest version."""
    w = state.workspace()
    _forget()
    with st.spinner("Checking the map on the new version"):
        state.attempt(lambda: w.returning.accept(settled), f"Version {settled.version.number} is the newest now")
    st.rerun()


def drop() -> None:
    """Leave all as it was."""
    held = st.session_state[HELD]
    _forget()
    state.workspace().returning.drop(held)
    st.rerun()


def _forget() -> None:
    st.session_state.pop(HELD, None)
    st.session_state.pop(PROPOSAL, None)
