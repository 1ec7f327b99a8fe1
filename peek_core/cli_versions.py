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
from peek_core.corpus.versions.pairing import corrected
from peek_core.errors import Refused
from peek_core.impact import Impact, ItemOutcome, column_said
from peek_core.values.canon import plain
from peek_core.values.dataset import Dataset
from peek_core.values.versions import Proposal, TableDiff
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
    settled = w.returning.settle(arrival, agreed, progress=progress)
    made = w.returning.accept(settled)
    found = replace(settled.impact, after=made.version)
    return {"dataset": made.id, "proposal": plain(agreed), **impact_data(found)}, impact_text(found, made)


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
