"""`peek load --into`, `peek diff`, `peek versions`: a dataset's next exports in the terminal.

Owns: which call does what, and the reports as text and data. Refuses to know: how anything is worked out.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from peek_core.context_map.map import EvidenceState
from peek_core.corpus.desk import Progress
from peek_core.corpus.load import Source
from peek_core.errors import Refused
from peek_core.impact import Impact, ItemOutcome
from peek_core.returning import Arrival
from peek_core.values.canon import plain
from peek_core.values.dataset import Dataset
from peek_core.values.versions import ColumnDiff, ColumnMatch, Proposal, TableDiff, TableMatch
from peek_core.workspace import Workspace

SHOWN = 40
STATES: Mapping[EvidenceState, str] = {
    "holds": "hold",
    "drifted": "drifted",
    "broken": "broke",
    "unverifiable": "can't be verified",
}
TAKE = "`--yes` takes it so; `--match NEW=OLD` names a column, `--match NEW=` says it is a new one."


def into(
    w: Workspace, dataset: Dataset, sources: Sequence[Source], args: argparse.Namespace, progress: Progress
) -> tuple[dict[str, Any], str]:
    """Load a new export into a dataset: data and text of what it meant. Raises Refused where somebody must look first."""
    arrival = w.returning.receive(dataset.id, sources, progress=progress)
    agreed = corrected(arrival.proposal, args.match)
    if not (agreed.certain or args.yes or args.match):
        w.returning.drop(arrival)
        raise Refused(f"Not every column is known for certain. {proposal_text(agreed)}", next=TAKE)
    settled = w.returning.settle(_agreed(arrival, agreed), progress=progress)
    made = w.returning.accept(settled)
    found = replace(settled.impact, after=made.version)
    return {"dataset": made.id, "proposal": plain(agreed), **impact_data(found)}, impact_text(found, made)


def _agreed(arrival: Arrival, agreed: Proposal) -> Arrival:
    return replace(arrival, proposal=agreed)


def corrected(found: Proposal, matches: Sequence[str]) -> Proposal:
    """The proposal with pairs a person named, as `NEW=OLD`; `NEW=` for none. Raises Refused for a name there is not."""
    tables = list(found.tables)
    for said in matches:
        new, equals, old = said.partition("=")
        at = next((n for n, t in enumerate(tables) if new in t.names or new in t.added), None)
        if not equals or at is None:
            raise Refused(f"The file has no column {new!r}", next="Name columns as the proposal does.")
        if old and old not in [*tables[at].names.values(), *tables[at].gone]:
            raise Refused(f"The dataset has no column {old!r}", next="Name columns as the proposal does.")
        tables[at] = paired(tables[at], new, old or None)
    return replace(found, tables=tuple(tables))


def paired(table: TableMatch, new: str, old: str | None) -> TableMatch:
    """The table with one column taken for another one, or (None) for a new one; nobody asks about it any more."""
    before = {c.new: c for c in table.columns}
    kept = [c for c in table.columns if c.new != new and c.old != old]
    if old is not None:
        label = before[new].label if new in before else new
        kept.append(ColumnMatch(old, new, label, 1.0, "you said so", True))
    all_new = [*before, *table.added]
    all_old = [*(c.old for c in table.columns), *table.gone]
    known = {c.old for c in kept}
    kept.sort(key=lambda c: all_old.index(c.old))
    gone = tuple(o for o in all_old if o not in known)
    added = tuple(n for n in all_new if n not in {c.new for c in kept})
    return replace(table, columns=tuple(kept), gone=gone, added=added, certain=True)


def proposal_text(found: Proposal) -> str:
    """What a file was taken for, a line a column that is not simply the same."""
    lines = []
    for t in found.tables:
        lines.append(f"{t.new} is taken for {t.old}, {t.similarity:.0%} alike:")
        for c in t.columns:
            if c.old != c.new or not c.certain:
                sure = "" if c.certain else "; please look"
                lines.append(f"  {c.new} = {c.old}  {c.similarity:.0%}, {c.why}{sure}")
        lines += [f"  {name}: gone" for name in t.gone]
        lines += [f"  {name}: new" for name in t.added]
    lines += [f"{name} is a table of its own." for name in found.further]
    return "\n".join(lines)


def diff(
    w: Workspace, dataset: Dataset, before: int | None, after: int | None, progress: Progress
) -> tuple[dict[str, Any], str]:
    """`peek diff`."""
    found = w.returning.impact(dataset.id, before, after, progress=progress)
    return impact_data(found), impact_text(found, dataset)


def impact_data(found: Impact) -> dict[str, Any]:
    """`peek diff --json`."""
    data: dict[str, Any] = plain(found)
    return data


def impact_text(found: Impact, dataset: Dataset) -> str:
    """The report for a terminal: the rows, the columns, and what follows from them."""
    lines = [f"{dataset.title}, version {found.before} → {found.after}"]
    for t in found.data.tables:
        lines += _table(t)
    lines += [f"  table {name}: new" for name in found.data.tables_added]
    lines += [f"  table {name}: gone" for name in found.data.tables_removed]
    lines.append("")
    lines += _items(found)
    for d in found.definitions:
        if d.state == "held_back":
            lines.append(f"  {d.id} held back: {d.rule}: {d.why}")
        elif d.was == "held_back":
            lines.append(f"  {d.id} fits again: {d.rule}")
        if d.unlabelled:
            lines.append(f"  {d.id}: {d.unlabelled:,} values have no label yet")
    kept = sum(d.state == "on" for d in found.definitions)
    lines.append(f"Definitions: {kept} on, {len(found.held_back)} held back.")
    lines.append(f"Earlier answers: {found.answers_run} run again, {len(found.answers)} are others now.")
    lines += [f"  “{a.question}”: {a.before} → {a.after}" for a in found.answers[:SHOWN]]
    return "\n".join(lines)


def _items(found: Impact) -> list[str]:
    counted = ", ".join(f"{len(found.items_that(state))} {word}" for state, word in STATES.items())
    lines = [f"Map items: {counted}."]
    told = [*found.items_that("drifted"), *found.items_that("broken")]
    lines += [f"  {i.id} {i.state}: {_moved(i)}" for i in told[:SHOWN]]
    return lines


def _moved(item: ItemOutcome) -> str:
    said = f"{item.before} → {item.text}" if item.text != item.before else item.before
    return f"{said} ({item.detail})" if item.detail else said


def _table(t: TableDiff) -> list[str]:
    by = f" by {t.key}" if t.key else ""
    said = f"; {t.key_said}" if t.key_said else ""
    moved = ", ".join(
        f"{'–' if n is None else format(n, ',')} {word}"
        for n, word in ((t.added, "added"), (t.removed, "removed"), (t.changed, "changed"))
        if n is not None or word != "changed"
    )
    lines = [f"  {t.name}: {t.rows_before:,} → {t.rows_after:,} rows; {moved}{by}{said}"]
    lines += [f"    {c.name}: {said}" for c in t.columns if (said := column_said(c))]
    return lines


def column_said(c: ColumnDiff) -> str:
    """One column's difference in words; empty where there is none to speak of."""
    if c.type_before is None:
        return f"new, {(c.type_after or '').lower()}"
    if c.type_after is None:
        return "gone"
    parts = [
        f"now called “{c.label_after}”" if c.label_before != c.label_after else "",
        f"{c.type_before.lower()} → {c.type_after.lower()}" if c.type_before != c.type_after else "",
        f"all numbers are {c.factor:g} times what they were" if c.factor is not None else "",
        c.damage,
        f"new: {_values(c.new_count, [m.value for m in c.new_values])}" if c.new_count else "",
        f"vanished: {_values(c.vanished_count, [m.value for m in c.vanished])}" if c.vanished_count else "",
        _missing(c),
    ]
    return "; ".join(filter(None, parts))


def _values(count: int | None, shown: Sequence[str]) -> str:
    more = (count or 0) - len(shown[:6])
    return ", ".join(f"“{v}”" for v in shown[:6]) + (f" and {more:,} more" if more > 0 else "")


def _missing(c: ColumnDiff) -> str:
    a, b = c.nulls_before or 0.0, c.nulls_after or 0.0
    return f"missing in {a:.1%} → {b:.1%}" if abs(a - b) >= 0.02 else ""


def versions(w: Workspace, dataset: Dataset) -> tuple[list[dict[str, Any]], str]:
    """`peek versions`."""
    rows, lines = list[dict[str, Any]](), list[str]()
    for v in w.returning.versions(dataset.id):
        on, files = w.returning.depends(dataset.id, v.number), [s.name for s in v.report.sources]
        rows.append(
            {
                "version": v.number,
                "created": v.created,
                "files": files,
                "rows": v.report.rows,
                "questions": on.questions,
                "map_versions": on.map_versions,
                "newest": on.newest,
            }
        )
        lines.append(
            f"{v.number:>3}  {datetime.fromtimestamp(v.created, UTC):%Y-%m-%d}  {v.report.rows:>10,} rows  "
            f"{on.questions:>4} questions  {on.map_versions:>4} map versions  {', '.join(files)}"
        )
    return rows, "\n".join(lines)


def delete(w: Workspace, dataset: Dataset, number: int, sure: bool) -> tuple[dict[str, Any], str]:
    """`peek versions --delete N`. Raises Refused until `--yes`, saying what depends on it."""
    on = w.returning.depends(dataset.id, number)
    told = f"{on.questions} questions were asked of version {number}, and {on.map_versions} map versions were verified on it"
    if not sure:
        raise Refused(f"{told}. Their answers stay, but can't be run again on its rows", next="`--yes` deletes it.")
    made = w.returning.delete(dataset.id, number)
    return {"deleted": number, "version": made.version}, f"Version {number} is deleted; the newest is {made.version}."
