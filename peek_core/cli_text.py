"""What the terminal prints: plain text, no colours, byte-stable where tests and the README rely on it.

Owns: the wording of the command line. Refuses to know: arguments, exit codes. Control characters are cleaned away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from peek_core.consequences import ChangedAnswer
from peek_core.context_map.definitions import Definition
from peek_core.context_map.map import ContextMap
from peek_core.context_map.regions import Coverage, column_in_words
from peek_core.context_pipe.explain import DASH, explain_analyze_text
from peek_core.corpus.spellings import spellings_in_words
from peek_core.curation import Refusal
from peek_core.deciding import Preview
from peek_core.lab.series import Played, map_use, paired, totals
from peek_core.values.call_trace import CallTrace
from peek_core.values.canon import clean_text
from peek_core.values.dataset import Dataset, LoadReport
from peek_core.values.events import Event
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Table

CHANGED, UNCHANGED = "Earlier answers that would change", "No earlier answer changes."
NOTHING_INSPECTED = "No question has looked at the data yet."
NOTHING_REFUSED = "Nothing was refused."


def load_line(dataset: Dataset, report: LoadReport, note: str | None) -> str:
    """What was read, in a few lines; `note` is what is to be said of the whole dataset."""
    lines = [f"{dataset.id}  ({dataset.title})"]
    for t in report.tables:
        lines.append(f"  table {t.name}: {t.rows:,} rows, {len(t.columns)} columns; {t.encoding}, {t.dialect}")
        lines += [f"    {note}" for note in (*t.repairs, *t.assumptions)]
        if t.compared is not None:
            lines.append(f"    the cells of {t.compared:,} rows were compared with the file")
    lines += [f"  doubt, {d.where}: {d.what}; otherwise {d.alternative}" for d in report.doubts]
    lines += [f"  proposed, {spellings_in_words(s)}" for s in report.spellings]
    lines += [f"  {note}"] if note else []
    return clean_text("\n".join(lines))


def dataset_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "No datasets yet. `peek load FILE` reads one."
    width = max(len(str(r["dataset"])) for r in rows)
    return clean_text(
        "\n".join(
            f"{r['dataset']:<{width}}  {r['rows']:>12,} rows  {r['questions']:>4} questions  {r['title']}" for r in rows
        )
    )


def progress(event: Event) -> str | None:
    """One line of progress, or None for what needs none."""
    b = event.body
    if event.name == "sql":
        rows = "failed" if b["error"] else f"{b['row_count']:,} rows" if b["row_count"] is not None else "many rows"
        return clean_text(f"  {'look-up' if b['look_up'] else 'query'}: {' '.join(b['sql'].split())[:110]}  [{rows}]")
    if event.name == "thinking":
        return f"turn {b['turn']}"
    if event.name == "learned":
        if b.get("skipped") or b.get("failed"):
            return clean_text(f"map unchanged: {b.get('skipped') or b.get('failed')}")
        return f"map version {b['version_before']} -> {b['version_after']}"
    return None


def answer(view: RunView, current: ContextMap) -> str:
    """The answer first, then what a doubter asks."""
    a = view.trajectory.answer if view.trajectory else None
    lines = [a.text if a else view.reason or view.status.replace("_", " ")]
    loose = [f["text"] for f in view.summary.get("figures", []) if f["result"] is None]
    if loose:
        lines.append(f"In no result: {', '.join(loose)}")
    if view.summary.get("without_definitions"):
        lines.append(f"Without definitions: {view.summary['without_definitions']}")
    lines += remarks(view.summary)
    lines += [f"- {n}" for n in (a.notes if a else ())]
    lines += [f"Try: {s}" for s in (a.suggestions if a else ())]
    if (
        a
        and a.table is not None
        and view.status in ("answered", "partly")
        and (len(a.table.rows) > 1 or len(a.table.columns) > 1)
    ):
        lines += ["", table_text(a.table)]
    waiting = [d for d in current.definitions if d.state == "proposed"]
    lines += [f"Proposed {d.id}: {d.rule} (accept with: peek map {view.dataset} accept {d.id})" for d in waiting]
    turns = len(view.trajectory.steps) if view.trajectory else 0
    lines.append(
        f"[{view.status}; {turns} turns, {view.summary.get('look_ups', 0)} look-ups; {view.analyst}; run {view.id}]"
    )
    return clean_text("\n".join(lines))


def cell(value: Any) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.2f}"
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"


def table_text(table: Table, limit: int = 40) -> str:
    """Aligned columns; the last line says how many of how many."""
    rows = [[cell(c) for c in r] for r in table.rows[:limit]]
    widths = [max([len(h), *(len(r[i]) for r in rows)]) for i, h in enumerate(table.columns)]
    right = [
        bool(table.rows) and all(isinstance(r[i], (int, float)) or r[i] is None for r in table.rows)
        for i in range(len(table.columns))
    ]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)).rstrip()

    total = "more" if table.row_count is None else f"{table.row_count:,}"
    foot = f"{total} rows" if len(rows) == table.row_count else f"first {len(rows)} of {total} rows"
    return clean_text("\n".join([line(table.columns), line(["-" * w for w in widths]), *map(line, rows), foot]))


def map_text(current: ContextMap, data: Mapping[str, Any]) -> str:
    """The map as people read it."""
    state = f", frozen ({current.frozen_why})" if current.frozen else ""
    review = ", the agent's edits wait for review" if data.get("review") else ""
    lines = [f"version {current.version}, {data['tokens']:,} of {data['budget']:,} tokens{state}{review}"]
    for i in current.items:
        marks = "".join(f" {m}" for m in ("pinned", "locked", "frozen") if getattr(i, m))
        lines.append(f"{i.score:>3}  [{i.id}] {i.text}  ({i.state}{': ' + i.detail if i.detail else ''}{marks})")
    if current.definitions:
        lines.append("definitions:")
        for d in current.definitions:
            said = "; ".join(filter(None, (d.state, origin(d), effect(d))))
            lines.append(f"     [{d.id}] {d.name}: {d.rule}  ({said})")
    return clean_text("\n".join(lines))


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """What an answer says of definitions that did not count: left out for the question, or gone around."""

    def names(of: Sequence[Mapping[str, Any]]) -> str:
        return ", ".join(f"“{d['name']}”" for d in of)

    out, around = summary.get("left_out") or [], summary.get("went_around") or []
    said = [f"Left out for this question: {names(out)}."] if out else []
    if around:
        was = "was" if len(around) == 1 else "were"
        said.append(f"This query reads the raw table: {names(around)} {was} not applied.")
    return said


def preview(p: Preview, earlier: Sequence[ChangedAnswer]) -> str:
    """What accepting a definition does, with examples, and to which earlier answers."""
    lines = [f"{p.definition.id} {p.definition.name}: {p.definition.rule}", effect(p.definition, p.effect)]
    lines += ["", table_text(in_words(p.samples)), "", CHANGED if earlier else UNCHANGED]
    lines += [f"  {one.question}: {one.before} -> {one.after}" for one in earlier]
    return clean_text("\n".join(lines) + "\n")


def coverage(queries: int, tables: Sequence[Coverage]) -> str:
    """What the questions so far have looked at, a line a column."""
    if not queries:
        return NOTHING_INSPECTED
    lines = [f"looked at so far, in {queries:,} {'query' if queries == 1 else 'queries'}:"]
    for t in tables:
        lines.append(f"  table {t.table}: {len(t.seen)} of {t.columns} columns")
        lines += [f"    {column_in_words(region)}" for region in t.seen]
        lines += [f"    never: {', '.join(t.never)}"] if t.never else []
    return clean_text("\n".join(lines))


def refused(kept: Sequence[Refusal]) -> str:
    """What updates refused, newest first, each with its reason."""
    if not kept:
        return NOTHING_REFUSED
    return clean_text("\n".join(f"{r.id:>5}  {r.says}\n       {r.why}" for r in kept))


def in_words(samples: Table) -> Table:
    """The examples of a preview under headings for people."""
    return replace(samples, columns=tuple("rows" if c == "n_rows" else c for c in samples.columns))


def files_text(files: Mapping[str, str], to: Path | None) -> str:
    """Exported files: where they are, or their texts one below the other."""
    if to is not None:
        return "\n".join(str(to / name) for name in files)
    if len(files) == 1:
        return next(iter(files.values())).rstrip()
    return "\n\n".join(f"# {name}\n{text.rstrip()}" for name, text in files.items())


def origin(d: Definition) -> str:
    """Where a definition comes from, where it was no question."""
    return "found while reading the file" if d.author == "reading" else ""


def effect(d: Definition, measured: Mapping[str, Any] | None = None) -> str:
    """A definition's effect in words: as measured now, or as kept with it."""
    known = d.effect if measured is None else measured
    if known.get("held_back"):
        return f"held back: {known['held_back']}"
    if not known:
        return "effect not measured"
    left = known["rows_before"] - known["rows_after"]
    parts = [f"{left:,} rows left out, {known['rows_after']:,} remain"] if left else []
    changed, lost = known.get("values_changed"), known.get("values_lost")
    if changed:
        many, one = "s" * (changed != 1), "s" * (changed == 1)
        moved = f"row{many} get{one} a value in {d.new_column}" if d.new_column else f"value{many} change{one}"
        parts.append(f"{changed:,} {moved}")
    if lost:
        parts.append(f"{lost:,} of them can’t be read so and {'is' if lost == 1 else 'are'} missing then")
    return "; ".join(parts) or "nothing moves"


def trace(view: RunView, calls: Sequence[CallTrace]) -> str:
    head = f"run {view.id}: {view.question}\n{view.status}; {len(calls)} requests\n\n"
    return clean_text(head + "\n".join(explain_analyze_text(c) for c in calls))


def demo_line(p: Played, current: ContextMap) -> str:
    """One question of the demo and how the map grew."""
    used = f"  map items used: {', '.join(p.items_used)}" if p.items_used else ""
    said = p.answer if len(p.answer) <= 150 else p.answer[:149] + "…"
    return clean_text(
        f"{p.id}  {p.question}\n    {p.verdict.replace('_', ' ')}: {said}\n"
        f"    {p.turns} turns, {p.look_ups} look-ups, {p.tokens:,} tokens; map {len(current.items)} items, "
        f"{len(current.active)} definitions{used}"
    )


def demo_summary(with_map: Sequence[Played], without: Sequence[Played], current: ContextMap, analyst: str) -> str:
    """Both arms beside each other, correctness first."""
    a, b, pair = totals(with_map), totals(without), paired(with_map, without)
    use = map_use(with_map, without)
    rows = [
        ("", "with the map", "without"),
        ("right", a.right, b.right),
        ("wrong", a.wrong, b.wrong),
        ("no answer", a.no_answer, b.no_answer),
        ("turns", a.turns, b.turns),
        ("look-ups", a.look_ups, b.look_ups),
        ("tokens (estimate)", f"{a.tokens:,}", f"{b.tokens:,}"),
    ]
    lines = [
        f"\n{len(with_map)} questions; {analyst} is playing; same definitions on both sides, accepted as stated",
        "",
    ]
    lines += [f"{n:<18} {x!s:>13} {y!s:>10}" for n, x, y in rows]
    lines += [
        "",
        f"question by question: the map made {pair.better} right that were not, {pair.worse} the other way; "
        f"fewer look-ups in {pair.fewer_look_ups}, more in {pair.more_look_ups}",
        f"map items hit in {len(use.hit)} questions, missed in {len(use.missed)} (looked up all the same); found again "
        f"without the map in {len(use.found_again)}",
        "",
        "the map afterwards:",
    ]
    lines += [f"  [{i.id}] {i.text}" for i in current.items]
    lines += [f"  [{d.id}] {d.name}: {d.rule} ({effect(d)})" for d in current.definitions]
    return clean_text("\n".join(lines))
