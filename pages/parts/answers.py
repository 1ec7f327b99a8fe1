"""Drawing a question and its answer, live or stored: the answer first, then what a doubter asks.

Owns: the order of an answer's parts and the marks at its numbers. Refuses to know: how a run is started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.parts import charts, route, state
from pages.parts.html import draw, esc, tag, words
from peek_core.cli_text import remarks
from peek_core.context_map.map import MapItem
from peek_core.values.events import Event
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Answer, SqlRecord, Step, Table

LIVE = ("cell", "sql", "sub_call", "step")
STATES = {
    "running": "",
    "answered": "ok",
    "partly": "warn",
    "no_answer": "line",
    "failed": "bad",
    "cancelled": "line",
    "out_of_budget": "warn",
    "interrupted": "warn",
}


def marked(text: str, figures: Sequence[Mapping[str, Any]], run: str) -> str:
    """The answer's text with a mark at each number: which result holds it, or that none does."""
    out, at = [], 0
    for f in figures:
        out.append(esc(text[at : f["start"]]))
        number = esc(text[f["start"] : f["end"]])
        if f["result"] is None:
            out.append(f'<span class="pk-fig loose" title="equals no result cell of this question">{number}</span>')
        elif f["result"] == 0:
            out.append(number)
        else:
            out.append(
                f'<a class="pk-fig" href="#result-{esc(run)}" title="in result {f["result"]}">{number}'
                f"<sup>{f['result']}</sup></a>"
            )
        at = f["end"]
    return "".join(out) + esc(text[at:])


def question(view: RunView, first: bool) -> None:
    newest = state.workspace().dataset(view.dataset).version
    of = f" {tag(f'version {view.version}', 'line')}" if view.version != newest else ""
    draw(f'<div class="pk-q{" first" if first else ""}" id="q-{esc(view.id)}">{esc(view.question)}{of}</div>')


def answered(view: RunView, last: bool, ask: Any, kept: str | None) -> None:
    """A run that has ended; `kept` is the map item its answer was kept as."""
    answer = view.trajectory.answer if view.trajectory else None
    good = view.status in ("answered", "partly")
    if good and answer is not None:
        draw(f'<div class="pk-a">{marked(answer.text, view.summary.get("figures", []), view.id)}</div>')
    else:
        word = view.status.replace("_", " ")
        draw(
            f'<div class="pk-row">{tag(word, STATES.get(view.status, ""))}'
            f"<span>{esc(answer.text if answer else view.reason)}</span></div>"
        )
    notes(view, answer)
    if good and answer is not None and answer.table is not None:
        result(view, answer, answer.table)
    if view.trajectory is None:
        # Interrupted: what it had by then stands in its events.
        draw("".join(_event_line(e, 0) for e in state.workspace().events(view.id) if e.name in LIVE))
    steps(view.id, view.trajectory.steps if view.trajectory else ())
    if last and answer is not None:
        offers(view, answer, ask)
    foot(view, kept)


def notes(view: RunView, answer: Answer | None) -> None:
    """Which rows counted, what was assumed, which map items were relied on."""
    lines = []
    touched = view.summary.get("definitions", [])
    if touched:
        said = "; ".join(
            f"{d['name']}" + (f", {d['rows_moved']:,} rows left out" if d.get("rows_moved") else "") for d in touched
        )
        without = view.summary.get("without_definitions")
        lines.append(f"<b>With definitions</b>: {esc(said)}." + (f" {esc(without)} without them." if without else ""))
    lines += [f"<b>{esc(said)}</b>" for said in remarks(view.summary)]
    if answer is not None and view.status in ("answered", "partly"):
        lines += [esc(n) for n in answer.notes]
    if answer is not None and answer.items_used:
        ids = ", ".join(f'<span class="pk-id">{esc(i)}</span>' for i in answer.items_used)
        lines.append(f"Map items used: {ids}.")
    lines += [f"{tag('cut', 'warn')} {esc(said)}" for said in cut(view.summary.get("usage") or {})]
    loose = [f["text"] for f in view.summary.get("figures", []) if f["result"] is None]
    if loose:
        lines.append(f"{tag('check', 'warn')} {esc(', '.join(loose))} equals no result cell of this question.")
    if lines:
        draw(f'<div class="pk-note" id="result-{esc(view.id)}">' + "<br>".join(lines) + "</div>")


def cut(usage: Mapping[str, Any]) -> list[str]:
    """What is to be said of a request the endpoint seems to have read in part: the worst one of the run."""
    if not usage.get("cut"):
        return []
    counted, estimated = usage["cut"]
    return [
        f"The endpoint counted only {counted:,} of about {estimated:,} tokens: it may have read a part of the request. Set "
        "its window on the Settings page."
    ]


def result(view: RunView, answer: Answer, table: Table) -> None:
    """Chart, table, SQL. One cell needs neither chart nor table of its own."""
    single = len(table.rows) == 1 and len(table.columns) == 1
    figure = charts.of_table(table)
    count = "–" if table.row_count is None else f"{table.row_count:,}"
    names = (["Chart"] if figure else []) + [f"Result, {count} row{'s' * (table.row_count != 1)}", "SQL"]
    if single:
        names = ["SQL"]
    places = dict(zip(names, st.tabs(names), strict=True))
    for name, place in places.items():
        with place:
            if name == "Chart" and figure:
                charts.show(figure[0], f"chart-{view.id}", figure[1])
            elif name == "SQL":
                st.code(answer.sql or "-- no single query stands behind this answer", language="sql", wrap_lines=True)
            else:
                grid(view, answer, table)
            if name != "Chart" and answer.sql:
                download(view, answer.sql, f"{name[:3]}-{view.id}")


def grid(view: RunView, answer: Answer, table: Table) -> None:
    frame = pd.DataFrame([list(r) for r in table.rows], columns=list(table.columns))
    shown = len(table.rows)
    st.dataframe(
        frame,
        hide_index=True,
        height="content" if shown <= 12 else 420,
        alt=f"Result of: {view.question}",
        key=f"grid-{view.id}",
    )
    if table.row_count != shown:
        total = "more" if table.row_count is None else f"{table.row_count:,}"
        draw(f'<span class="pk-small pk-muted">first {shown:,} of {total} rows; the download has them all</span>')


def download(view: RunView, sql: str, key: str) -> None:
    """The whole result, run again when the button is pressed."""
    st.download_button(
        "Download as CSV",
        lambda: state.csv_of(view.dataset, sql, view.version),
        f"peek-{view.id}.csv",
        "text/csv",
        key=f"csv-{key}",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def steps(run: str, done: Sequence[Step]) -> None:
    """Past steps, folded; the title is the finding."""
    for step in done:
        with st.expander(title_of(step), type="step", icon=":material/error:" if step.error else ":material/check:"):
            st.code(step.code or step.reply or "(nothing)", language="python", wrap_lines=True)
            for q in step.queries:
                draw(f'<div class="pk-step">{esc(query_line(q))}</div>')
            if step.error:
                st.code(step.error, language=None, wrap_lines=True)
            elif step.stdout:
                st.code(step.stdout[:3_000], language=None, wrap_lines=True)


def query_line(q: SqlRecord) -> str:
    kind = "Look-up" if q.look_up else "Query"
    if q.error:
        return f"{kind} {q.id} failed: {q.error[:200]}"
    rows = "–" if q.table is None or q.table.row_count is None else f"{q.table.row_count:,}"
    return f"{kind} {q.id}: {rows} rows, {1000 * q.seconds:,.0f} ms"


def title_of(step: Step) -> str:
    """One line for a folded step."""
    if step.queries:
        q = step.queries[-1]
        said = " ".join(q.sql.replace("/* look-up */", "").split())[:70]
        rows = (
            "failed"
            if q.error
            else "–"
            if q.table is None or q.table.row_count is None
            else f"{q.table.row_count:,} rows"
        )
        title = f"{'Look-up' if q.look_up else 'Query'}: {said}; {rows}, {1000 * sum(x.seconds for x in step.queries):,.0f} ms"
    elif "FINAL" in step.code:
        title = f"Answer given in turn {step.n}" if not step.error else f"Answer refused in turn {step.n}"
    else:
        title = f"Turn {step.n}" + (": no cell in the reply" if not step.code else "")
    return words(title)


def offers(view: RunView, answer: Answer, ask: Any) -> None:
    """Whole questions to go on with; a click asks."""
    questions = [*answer.suggestions, *answer.follow_ups][:4]
    if questions:
        chosen = st.pills(
            "Did you mean" if answer.suggestions else "Go on with",
            range(len(questions)),
            format_func=lambda i: words(questions[i][:90]),
            key=f"offer-{view.id}",
            label_visibility="visible" if answer.suggestions else "collapsed",
            wrap=True,
        )
        if chosen is not None:
            ask(questions[chosen])


def foot(view: RunView, kept: str | None) -> None:
    summary, usage = view.summary, view.summary.get("usage") or {}
    turns = len(view.trajectory.steps) if view.trajectory else "–"
    tokens = usage.get("input")
    said = (
        f"{tokens:,} tokens in"
        if tokens is not None
        else f"about {usage['estimated_input']:,} tokens (estimate)"
        if usage.get("estimated_input")
        else "tokens –"
    )
    took = f", {view.ended - view.created:.1f} s" if view.ended else ""
    with st.container(gap="xsmall", key=f"told-{view.id}"):
        draw(
            f'<div class="pk-muted pk-small">{esc(view.analyst)}; {turns} turns, {summary.get("look_ups", "–")} look-ups, '
            f"{esc(said)}{esc(took)}, cost –</div>"
        )
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"foot-{view.id}"):
            _thumb(view, "helpful", "up")
            _thumb(view, "not_helpful", "down")
            if view.feedback == "not_helpful" and state.workspace().curator(view.dataset).taught(view.id):
                st.button(
                    "Undo what it taught",
                    type="tertiary",
                    key=f"unlearn-{view.id}",
                    on_click=unlearn,
                    args=(view.dataset, view.id),
                    icon=":material/undo:",
                )
            if kept:
                draw(f'<span class="pk-small">kept as <span class="pk-id">{esc(kept)}</span></span>', width="content")
            elif view.status in ("answered", "partly"):
                st.button(
                    "Keep in map",
                    type="tertiary",
                    key=f"keep-{view.id}",
                    on_click=_keep,
                    args=(view,),
                    icon=":material/bookmark:",
                    help="As a reusable result, with its query as evidence: its numbers follow the data.",
                )
            if st.button("Explain", type="tertiary", key=f"explain-{view.id}", icon=":material/account_tree:"):
                route.go("explain", dataset=view.dataset, run=view.id)


def _thumb(view: RunView, value: str, way: str) -> None:
    """One of two; a second click takes it back."""
    given = view.feedback == value
    st.button(
        value.replace("_", " ").capitalize(),
        type="tertiary",
        key=f"{way}-{view.id}",
        on_click=_rate,
        args=(view.id, None if given else value),
        icon=":material/check:" if given else f":material/thumb_{way}:",
    )


def _rate(run: str, value: str | None) -> None:
    state.attempt(lambda: state.workspace().rate(run, value))


def unlearn(dataset: str, run: str) -> None:
    """Take back what one question taught."""
    state.attempt(lambda: state.workspace().curator(dataset).unlearn(run), "What this question taught is undone")


def _keep(view: RunView) -> None:
    items: list[MapItem] = []
    if state.attempt(lambda: items.append(state.workspace().curator(view.dataset).keep(view)[1])):
        st.toast(f"Kept as {items[0].id}")


def live(view: RunView, events: Sequence[Event]) -> None:
    """A run that is being worked on, from its events. One element in all: it is drawn again twice a second."""
    asked_line = f'<div class="pk-q">{esc(view.question)}</div>'
    if view.phase == "queued":
        draw(asked_line + '<div class="pk-step">Waiting for its turn: two questions are worked on at a time.</div>')
        return
    turn = max((e.body.get("turn", 0) for e in events), default=0) or 1
    done = {e.body["n"] for e in events if e.name == "step"}
    lines = [_event_line(e, turn) for e in events if e.name in LIVE]
    if turn not in done:
        asked = any(e.name == "cell" and e.body.get("turn") == turn for e in events)
        lines.append(
            f'<div class="pk-step"><b>Turn {turn}</b>: {"running" if asked else "waiting for the model"}</div>'
        )
    draw(asked_line + "".join(lines))


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _event_line(e: Event, turn: int) -> str:
    b = e.body
    if e.name == "step":
        ended = "failed" if b.get("error") else _count(len(b.get("queries", [])), "query", "queries") + " done"
        said = f'<pre class="pk-pre">{esc(str(b["error"])[:600])}</pre>' if b.get("error") else ""
        return f'<div class="pk-step"><b>Turn {b["n"]}</b>: {tag(ended, "bad" if b.get("error") else "ok")}</div>{said}'
    if e.name == "cell":
        # Older cells fold away; they are all there again when the run has ended.
        return f'<pre class="pk-pre">{esc(b["code"])}</pre>' if b["turn"] >= turn - 1 else ""
    if e.name == "sub_call":
        return f'<div class="pk-step">{b["answered"]} of {b["asked"]} sub-calls answered</div>'
    rows = "failed" if b["error"] else "– rows" if b["row_count"] is None else f"{b['row_count']:,} rows"
    sql = " ".join(b["sql"].replace("/* look-up */", "").split())[:110]
    kind = "Look-up" if b["look_up"] else "Query"
    return f'<div class="pk-step">{kind} {esc(b["id"])}: {esc(sql)}; {esc(rows)}, {1000 * b["seconds"]:,.0f} ms</div>'
