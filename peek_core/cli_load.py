"""`peek load`: files into new datasets, as further tables of one, or as the next export of one.

Owns: which files go where, and a line for each. Refuses to know: how files are read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from peek_core import cli_text, cli_versions
from peek_core.corpus.load import Source
from peek_core.errors import Refused
from peek_core.values.canon import plain
from peek_core.values.dataset import Dataset, LoadReport, ReadChoices, TableReport
from peek_core.workspace import Workspace

Print = Callable[[Any, str], None]
"""Told the data and the text of a result."""


def load(args: argparse.Namespace, w: Workspace, show: Print) -> int:
    """All files of the command; returns the exit code."""
    choices = ReadChoices(sheets=tuple(args.sheet or ()))
    # Files of one name in several folders are told apart by their paths.
    names = [file.name for file in args.files]
    labels = [file.name if names.count(file.name) == 1 else str(file) for file in args.files]
    sources = [Source(file, label, choices, args.compare_all) for file, label in zip(args.files, labels, strict=True)]
    if args.into:
        show(*cli_versions.into(w, w.dataset(args.into), sources, args, stage))
        return 0
    if args.dataset:
        return _together(args, w, sources, show)
    return max(_together(args, w, [source], show) for source in sources)


def _together(args: argparse.Namespace, w: Workspace, sources: Sequence[Source], show: Print) -> int:
    """Loads files into one dataset, new or there already, and prints a line for each; returns the exit code."""
    held = None
    if args.dataset and any(args.dataset in (d.id, d.title) for d in w.datasets()):
        held = w.dataset(args.dataset)
    before = len(w.report(held.id).tables) if held else 0
    try:
        dataset = w.load(*sources, title=args.dataset, into=held.id if held else None, progress=stage)
    except Refused as failure:
        said = {"error": failure.what, "where": failure.where, "next": failure.next}
        for source in sources:
            print(f"{source.label}: {failure.sentence()}", file=sys.stderr)
            show({"file": str(source.path), **said}, f"{source.label}: refused")
        return 4
    report = w.report(dataset.id)
    note = None if args.json else w.cannot_pay(dataset.id)
    for source in sources:
        part = report_of(report, [t for t in report.tables[before:] if t.source == source.label])
        # It is of the whole dataset, so it stands once.
        line = cli_text.load_line(dataset, part, note if source is sources[-1] else None)
        show(load_data(dataset, part), line)
    return 0


def report_of(report: LoadReport, tables: Sequence[TableReport]) -> LoadReport:
    """The part of a report that tells of some of its tables; where there are several, doubts name theirs."""
    named = tuple(f"{t.name}: " for t in tables)
    doubts = report.doubts
    if len(tables) < len(report.tables):
        doubts = tuple(d for d in doubts if d.where.startswith(named))
    mine = {t.name for t in tables}
    spellings = tuple(s for s in report.spellings if s.table in mine)
    return replace(report, tables=tuple(tables), doubts=doubts, spellings=spellings)


def load_data(dataset: Dataset, report: LoadReport) -> dict[str, Any]:
    """One `peek load --json` line."""
    tables = [
        {
            "name": t.name,
            "rows": t.rows,
            "rejects": t.rejects,
            "encoding": t.encoding,
            "dialect": t.dialect,
            "header_rows": t.header_rows,
            "repairs": list(t.repairs),
            "assumptions": list(t.assumptions),
            "columns": [
                {"name": c.name, "label": c.label, "type": c.type, "nulls": c.nulls, "distinct": c.distinct}
                for c in t.columns
            ],
        }
        for t in report.tables
    ]
    return {"dataset": dataset.id, "version": dataset.version, "tables": tables, "doubts": plain(report.doubts)}


def stage(stage: str, done: float | None) -> None:
    """Progress, on stderr."""
    share = "" if done is None else f" {100 * done:.0f} %"
    print(f"{stage}{share}", file=sys.stderr)
