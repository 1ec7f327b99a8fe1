"""Which earlier answers a definition would have changed: their queries run again with and without it.

Owns: the comparison. Refuses to know: models, and how views are built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    """An earlier answer whose query gives something else: a figure, or the number of rows that differ."""

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
    changed, seen = [], set[str]()
    for run in reversed(runs):
        answer = run.trajectory.answer if run.trajectory and run.status in ("answered", "partly") else None
        sql = answer.sql if answer else None
        if sql is None or sql in seen or not concerns(sql):
            continue
        seen.add(sql)
        if len(seen) > LOOKED_AT:
            break
        try:
            old, new = before(sql), after(sql)
        except PeekError:
            continue  # it can't be run today, so nothing can be said of it
        if old.rows != new.rows or old.row_count != new.row_count:
            changed.append(ChangedAnswer(run.id, run.question, *_differing(old, new)))
    return tuple(changed)


def _differing(old: Table, new: Table) -> tuple[str, str]:
    if len(old.rows) == len(new.rows) == 1 and old.columns == new.columns:
        pairs = [(c, a, b) for c, a, b in zip(old.columns, old.rows[0], new.rows[0], strict=True) if a != b]
        if len(old.columns) == 1:
            return _figure(pairs[0][1]), _figure(pairs[0][2])
        before = ", ".join(f"{c} {_figure(a)}" for c, a, _ in pairs[:3])
        return before, ", ".join(f"{c} {_figure(b)}" for c, _, b in pairs[:3])
    gone = sum(row not in new.rows for row in old.rows)
    come = sum(row not in old.rows for row in new.rows)
    return f"{_rows(old)} rows, {gone:,} of them otherwise", f"{_rows(new)} rows, {come:,} of them otherwise"


def _rows(table: Table) -> str:
    return "–" if table.row_count is None else f"{table.row_count:,}"


def _figure(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)[:60]
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
