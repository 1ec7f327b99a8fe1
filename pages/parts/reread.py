"""Reading the kept originals otherwise: the switches, the new reading beside the old one, and the choice between them.

Owns: the controls and the preview held by a session. Refuses to know: how files are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc, table, words
from pages.parts.loading import with_progress
from peek_core.corpus.changes import changes
from peek_core.values.dataset import LoadReport, ReadChoices, SourceFile, TableReport

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "blank", ":": "colon", "^": "caret"}
ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "cp1252",
    "iso8859_15",
    "mac_roman",
    "utf-16",
    "cp1250",
    "cp1251",
    "gb18030",
    "shift_jis",
)
QUOTES = {'"': "double quote", "'": "single quote"}
PREVIEW = "_reread"


def controls(dataset: str, report: LoadReport) -> None:
    """All switches, folded; a changed one offers to read again."""
    held = st.session_state.get(PREVIEW)
    if held is not None and held[0] == dataset:
        preview(dataset, report, *held[1:])
        return
    with st.expander("Read it otherwise", key="reread", icon=":material/tune:"):
        draw(
            '<div class="pk-small pk-muted">The kept original is read again; nothing changes before you have seen what '
            "would be different.</div>"
        )
        wanted = {s.name: of_file(s, [t for t in report.tables if t.source == s.name]) for s in report.sources}
        changed = {name: choice for name, choice in wanted.items() if choice is not None}
        if st.button("Read again", type="primary", key="read-again", disabled=not changed):
            again(dataset, report, changed)


def of_file(file: SourceFile, tables: list[TableReport]) -> ReadChoices | None:
    """The switches of one file; None where all stand as they were."""
    if not tables:
        return None
    first, chosen = tables[0], file.choices
    draw(f'<div class="pk-cap" style="padding-top:6px">{esc(file.name)}</div>')
    now = first.read
    if now.delimiter is not None:
        chosen = of_text(file.name, now, chosen)
    if now.sheets:
        others = st.multiselect(
            "Sheets", list(now.sheets), list(now.sheets), accept_new_options=True, key=f"sheets-{file.name}"
        )
        if tuple(others) != now.sheets:
            chosen = replace(chosen, sheets=tuple(others))
    ways = dict(chosen.columns)
    for t in tables:
        ways |= of_columns(t)
    chosen = replace(chosen, columns=ways)
    return chosen if chosen != file.choices else None


def of_text(name: str, now: ReadChoices, chosen: ReadChoices) -> ReadChoices:
    """Encoding, delimiter, quote, where the table begins."""
    a, b, c, d, e = st.columns([0.24, 0.22, 0.2, 0.17, 0.17])
    encodings = list(dict.fromkeys([now.encoding or "utf-8", *ENCODINGS]))
    delimiters = list(dict.fromkeys([now.delimiter or ",", *DELIMITERS]))
    quotes = list(dict.fromkeys([now.quote or '"', *QUOTES]))
    encoding = a.selectbox("Encoding", encodings, key=f"encoding-{name}")
    delimiter = b.selectbox(
        "Delimiter", delimiters, format_func=lambda d: DELIMITERS.get(d, "one column"), key=f"delimiter-{name}"
    )
    quote = c.selectbox("Quote", quotes, format_func=lambda q: QUOTES.get(q, q), key=f"quote-{name}")
    skip = d.number_input("Lines above", 0, 10_000, now.skip or 0, key=f"skip-{name}")
    rows = e.number_input(
        "Header rows", 0, 8, now.header_rows if now.header_rows is not None else 1, key=f"header-{name}"
    )
    picked = {"encoding": encoding, "delimiter": delimiter, "quote": quote, "skip": int(skip), "header_rows": int(rows)}
    different = {k: v for k, v in picked.items() if v != getattr(now, k)}
    # Where the table begins is one choice: a new header alone would leave the lines above it to be found again.
    if different.keys() & {"skip", "header_rows"}:
        different |= {"skip": int(skip), "header_rows": int(rows)}
    return replace(chosen, **different) if different else chosen


def of_columns(t: TableReport) -> Mapping[str, str]:
    """The ways to read each column that allows more than one."""
    open_columns = [c for c in t.columns if c.ways]
    if not open_columns:
        return {}
    shown = st.pills(
        f"Columns of {words(t.name)}",
        [c.name for c in open_columns],
        format_func=words,
        selection_mode="multi",
        key=f"columns-{t.name}",
        help="Choose those to read otherwise.",
    )
    picked = {}
    for c in open_columns:
        if c.name in (shown or []):
            way = st.segmented_control(
                words(f"{c.label or c.name}, e.g. {c.sample}"), [c.way, *c.ways], default=c.way, required=True,
                key=f"way-{t.name}-{c.name}",
            )  # fmt: skip
            if way and way != c.way:
                picked[c.name] = way
    return picked


def again(dataset: str, report: LoadReport, choices: Mapping[str, ReadChoices]) -> None:
    """Read with the choices and keep the result for a look."""
    w = state.workspace()
    made = with_progress(
        "Reading again", lambda tell, stopped: w.reread(dataset, choices, progress=tell, cancelled=stopped)
    )
    if made is not None:
        st.session_state[PREVIEW] = (dataset, *made)
    st.rerun()


def preview(dataset: str, before: LoadReport, file: str, after: LoadReport) -> None:
    """What would change, and the choice."""
    w = state.workspace()
    found = changes(before, after)
    with st.container(border=True, gap="small", key="reread-preview"):
        draw('<div class="pk-cap">Read otherwise, nothing is changed yet</div>')
        if found:
            rows = [[esc(c.where), esc(c.what), esc(c.before or "–"), esc(c.after or "–")] for c in found]
            draw(table(["Where", "What", "Now", "Then"], rows))
        else:
            draw('<div class="pk-note">Nothing would be different.</div>')
        fresh = [d for d in after.doubts if d not in before.doubts]
        if fresh:
            said = "<br>".join(esc(f"{d.where}: {d.what}; otherwise {d.alternative}") for d in fresh)
            draw(f'<div class="pk-note"><b>New doubts</b><br>{said}</div>')
        with st.container(horizontal=True, gap="small"):
            if st.button("Keep this reading", type="primary", key="keep-reading", disabled=not found):
                del st.session_state[PREVIEW]
                state.attempt(lambda: w.apply_reread(dataset, file, after), "The dataset is read anew")
                st.rerun()
            if st.button("Leave it as it was", key="drop-reading"):
                del st.session_state[PREVIEW]
                w.shelf.discard(file)
                st.rerun()
