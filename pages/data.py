"""Data: what is there, a sample to start with, and how to bring a file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.parts import arrival, route, state
from pages.parts.html import draw, esc, tag, words
from pages.parts.loading import Order, copied, load_with_progress
from peek_core.corpus.load import SUFFIXES, Source
from peek_core.samples import NAMES, sample
from peek_core.values.dataset import Dataset

w = state.workspace()


def open_dataset(id: str, page: str = "ask") -> None:
    state.choose(id)
    st.session_state["_go"] = page


def bring() -> None:
    """Uploads, or a path on the server."""
    draw('<div class="pk-cap">Bring a file</div>')
    files = st.file_uploader(
        "CSV, Excel, JSON or Parquet",
        type=[s.removeprefix(".") for s in SUFFIXES],
        accept_multiple_files=True,
        key="upload",
    )
    together = True
    if len(files) > 1:
        choices = (f"one dataset with {len(files)} tables", f"{len(files)} datasets")
        together = st.radio("Make of them", choices, key="together", horizontal=True) == choices[0]
    path = st.text_input("or a path on this machine, for large files", key="path", placeholder="/data/export.csv")
    into = next_of([f.name for f in files] or [path.strip()]) if together else None
    title = ""
    if into is None and (len(files) < 2 or together):
        title = st.text_input("Name of the dataset", key="title", placeholder="taken from the file").strip()
    if st.button("Load", type="primary", key="load", disabled=not (files or path.strip())):
        if into is not None:
            arrival.bring_to(into, files, path.strip())
        if files:
            made = load_uploads(files, title, together)
        else:
            source = Path(path.strip()).expanduser()
            made = load_with_progress([Order([Source(source, source.name)], title or source.stem, keep=False)])
        if made:
            state.choose(made[0].id)
        if len(made) == 1:
            route.go("load_report", dataset=made[0].id)
        st.rerun()


def next_of(names: Sequence[str]) -> str | None:
    """The dataset a person says these files are the next export of; one whose files are called alike is proposed."""
    held = {d.id: d.title for d in w.datasets()}
    if not held or not any(names):
        return None
    options = ["", *held]
    likely = w.returning.likely(names)
    return (
        st.selectbox(
            "Make of it",
            options,
            index=options.index(likely) if likely else 0,
            format_func=lambda id: f"the next export of {words(held[id])}" if id else "a new dataset",
            key=f"into-{'-'.join(names)[:80]}",
        )
        or None
    )


def load_uploads(files: Sequence[UploadedFile], title: str, together: bool) -> list[Dataset]:
    """Uploads as the tables of one dataset, or as a dataset each."""
    with copied(files) as sources:
        if together:
            return load_with_progress([Order(sources, title or Path(sources[0].label).stem, keep=True)])
        return load_with_progress([Order([source], Path(source.label).stem, keep=True) for source in sources])


def samples() -> None:
    for n, name in enumerate(NAMES):
        corpus = sample(name)
        # One thing to do first: the sample that the demo plays.
        label, kind = ("Open the sample", "primary") if n == 0 else (f"Open {corpus.title.lower()}", "secondary")
        with st.container(border=True, gap="xsmall"):
            draw(
                f'<div class="pk-row"><b>{esc(corpus.title)}</b>{tag("sample", "line")}</div>'
                f'<div class="pk-small pk-muted">{esc(corpus.description)} {len(corpus.questions)} questions with known '
                "answers come with it.</div>"
            )
            if st.button(label, key=f"sample-{name}", type="secondary" if w.datasets() else kind):
                with st.spinner("Making the sample and reading it, about three seconds"):
                    made = w.load_sample(name)
                state.choose(made.id)
                route.go("ask", dataset=made.id)


@st.dialog("Rename dataset")
def rename(held: Dataset) -> None:
    title = st.text_input("Name", held.title, key="rename-title")
    if st.button("Rename", type="primary", key="rename-do") and state.attempt(lambda: w.rename(held.id, title)):
        st.rerun()


@st.dialog("Delete dataset")
def delete(held: Dataset) -> None:
    runs = len(w.runs(held.id, limit=10_000))
    draw(
        f"<b>{esc(held.title)}</b>: rows, {runs:,} questions with their answers, the context map and every stored "
        "request are erased. This can't be undone."
    )
    if st.button("Delete it all", type="primary", key="delete-do") and state.attempt(lambda: w.forget(held.id)):
        st.rerun()


def line(held: Dataset) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-{held.id}"):
        report, current = w.report(held.id), w.map(held.id)
        asked = w.runs(held.id, limit=10_000)
        when = datetime.fromtimestamp(held.created).strftime("%d %b %Y")
        draw(
            f'<b>{esc(held.title)}</b><div class="pk-small pk-muted">{report.rows:,} rows, loaded {esc(when)}; '
            f"{len(asked):,} questions, {len(current.items)} map items, {len(current.active)} definitions</div>",
            width="stretch",
        )
        st.button("Ask", key=f"open-{held.id}", on_click=open_dataset, args=(held.id,))
        act = st.menu_button(
            "",
            ["Versions", "Load report", "Rename", "Delete"],
            icon=":material/more_horiz:",
            key=f"menu-{held.id}",
            type="tertiary",
        )
    if act == "Rename":
        rename(held)
    elif act == "Delete":
        delete(held)
    elif act in ("Load report", "Versions"):
        open_dataset(held.id, "load_report" if act == "Load report" else "versions")
        st.rerun()


go = st.session_state.pop("_go", None)
if go:
    route.go(go, dataset=st.session_state.get(state.DATASET, ""))
known = w.datasets()
if not known:
    draw(
        '<div class="pk-a" style="padding:12px 0 4px">Ask one dataset again and again.</div>'
        '<div class="pk-note">Bring an export that returns every week: feedback, tickets, reviews. Ask in plain '
        "language; what is learned about the data is kept in a small map that you can read, correct and freeze. "
        "Nothing leaves this machine unless you set up a model endpoint on the Settings page.</div>"
    )
left, right = st.columns([0.56, 0.44], gap="large")
with left:
    if known:
        draw('<div class="pk-sec"><span>Datasets</span><span></span></div>')
        with st.container(gap="xsmall"):
            for held in known:
                line(held)
    else:
        samples()
with right:
    bring()
    if known and not any(d.options.get("sample") for d in known):
        samples()
