"""Which earlier answers a definition would have changed: their queries run again with and without it.

Owns: the comparison. Refuses to know: models, and how views are built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from peek_core import curated, deciding
from peek_core.context_map.map import ContextMap
from peek_core.datasets import Shelf, run_query
from peek_core.errors import PeekError
from peek_core.ports import RunQuery
from peek_core.values.dataset import DatasetVersion
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Table

LOOKED_AT = 30
"""So many earlier answers are run again at most, the newest ones."""


@dataclass(frozen=True)
class ChangedAnswer:
    """An earlier answer whose query gives something else: a figure of it, or its number of rows, before and after."""

    run: str
    question: str
    before: str
    after: str


def of_definition(
    shelf: Shelf, version: DatasetVersion, current: ContextMap, id: str, runs: Sequence[RunView]
) -> tuple[ChangedAnswer, ...]:
    """Earlier answers that definition `id` would change, or has changed, whatever its state; raises NotFound."""
    one = deciding.found(current, id)
    others = [d for d in current.active if d.id != id]
    tables = shelf.columns(version)

    def concerns(sql: str) -> bool:
        return one.table in curated.reads(sql, tables, [one]).view

    with (
        shelf.engine(shelf.view(version, others)) as before,
        shelf.engine(shelf.view(version, [*others, one])) as after,
    ):
        return changed_answers(runs, run_query(before), run_query(after), concerns)


def changed_answers(
    runs: Sequence[RunView], before: RunQuery, after: RunQuery, concerns: Callable[[str], bool]
) -> tuple[ChangedAnswer, ...]:
    """Newest first. `before` and `after` query the two views; `concerns` says whether a query reads the table at all."""
    return rerun(runs, before, after, concerns)[0]


def rerun(
    runs: Sequence[RunView], before: RunQuery, after: RunQuery, concerns: Callable[[str], bool] = lambda sql: True
) -> tuple[tuple[ChangedAnswer, ...], int]:
    """The answers that changed, newest first, and how many were run again at all."""
    changed, seen = [], set[str]()
    ran = 0
    for run in reversed(runs):
        answer = run.trajectory.answer if run.trajectory and run.status in ("answered", "partly") else None
        sql = answer.sql if answer else None
        if sql is None or sql in seen or not concerns(sql):
            continue
        if len(seen) == LOOKED_AT:
            break
        seen.add(sql)
        try:
            old = _settled(before(sql))
        except PeekError:
            continue  # it can't be run today, so nothing can be said of it
        ran += 1
        try:
            new = _settled(after(sql))
        except PeekError as failure:
            was = _figure(old.rows[0][0]) if old.row_count == len(old.columns) == 1 else _rows(old)
            changed.append(ChangedAnswer(run.id, run.question, was, f"can't be run: {failure.what[:160]}"))
            continue
        if old.row_count != new.row_count or sorted(old.rows, key=str) != sorted(new.rows, key=str):
            changed.append(ChangedAnswer(run.id, run.question, *_differing(old, new)))
    return tuple(changed), ran


def _settled(table: Table) -> Table:
    """Without the last digits of sums, which differ from run to run where threads add up in another order."""
    rows = (tuple(float(f"{cell:.12g}") if isinstance(cell, float) else cell for cell in row) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _differing(old: Table, new: Table) -> tuple[str, str]:
    """A figure that moved, with its row and how many more did; where rows came or went, their number."""
    come = sum(row not in old.rows for row in new.rows)
    if old.row_count != new.row_count or old.columns != new.columns:
        return _rows(old), _rows(new) + (f", {come:,} of them otherwise" if come else "")
    single = len(old.rows) == len(new.rows) == 1
    was = {"" if single else _figure(row[0]): row for row in old.rows}
    # A row is known by its first cell, where no other has the same.
    for row in new.rows if len(was) == len(old.rows) else ():
        label = "" if single else _figure(row[0])
        before = was.get(label, row)
        moved = next((n for n, (a, b) in enumerate(zip(before, row, strict=True)) if a != b), None)
        if moved is not None:
            name = new.columns[moved] if single and len(row) > 1 else label
            more = f" and {come - 1:,} more row{'s' * (come != 2)}" if come > 1 else ""
            return f"{name} {_figure(before[moved])}".lstrip(), _figure(row[moved]) + more
    return _rows(old), f"{_rows(new)}, {come:,} of them otherwise"


def _rows(table: Table) -> str:
    count = "–" if table.row_count is None else f"{table.row_count:,}"
    return f"{count} row{'s' * (table.row_count != 1)}"


def _figure(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)[:60]
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}" if abs(value) >= 100 else f"{value:.4g}"
