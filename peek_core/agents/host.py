"""Host functions of a cell: sql, show, llm_query, llm_query_batched, FINAL, FINAL_VAR.

Owns: what each does, its budget, what is recorded of it. Refuses to know: the sandbox that calls, the pipe behind
`ask_model`. Failures the model can repair are raised as Repairable; the final value is taken from the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from peek_core.agents.look_ups import is_look_up
from peek_core.agents.observation import Sharing, as_records
from peek_core.agents.sharing import row_level, without_cells
from peek_core.errors import CellFailed, NotFound, QueryFailed, StopCell
from peek_core.ports import Emit, Engine, HostFunction
from peek_core.settings import SqlLimits
from peek_core.values.canon import content_hash, plain
from peek_core.values.trajectory import Shown, SqlRecord, SubCall, Table


@dataclass(frozen=True)
class Final:
    """A FINAL call as it was made. `variable` is set by FINAL_VAR and read after the cell ended."""

    answer: Any = None
    value: Any = None
    reading: Any = None
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    variable: str | None = None


@dataclass
class StepLog:
    """What host calls left behind in one cell."""

    queries: list[SqlRecord] = field(default_factory=list)
    sub_calls: list[SubCall] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    final: Final | None = None


@dataclass(frozen=True)
class Surroundings:
    """What host functions work with. `verified` are ids of map items whose evidence holds on this version."""

    engine: Engine
    limits: SqlLimits
    sharing: Sharing
    spend: Callable[[str, int], None]
    ask_model: Callable[[Sequence[str], bool], list[str]]
    """Replies to prompts that know nothing of each other; the flag: they are about the dataset."""
    recall: Callable[[str, int], str]
    emit: Emit
    verified: frozenset[str] = frozenset()
    batch: int = 50


class Host:
    """The host side of one run; `begin` opens a step, `log` holds what happened in it."""

    def __init__(self, around: Surroundings) -> None:
        self._a = around
        self.log = StepLog()
        self._turn = 0
        self._seen_data = False
        self._known: set[str] = set()
        self._by_rows: dict[str, str] = {}
        self._queries = 0

    def begin(self, turn: int, known: Sequence[str]) -> None:
        """Open step `turn`; `known` are the variables that existed before it."""
        self._seen_data = self._seen_data or any(q.error is None for q in self.log.queries)
        self.log, self._turn = StepLog(), turn
        self._known = {v.split(":")[0] for v in known}

    def functions(self) -> Mapping[str, HostFunction]:
        return {
            "sql": self.sql,
            "show": self.show,
            "llm_query": self.llm_query,
            "llm_query_batched": self.llm_query_batched,
            "recall": self.recall,
            "FINAL": self.final,
            "FINAL_VAR": self.final_var,
        }

    def sql(self, query: str) -> list[dict[str, Any]]:
        """Run one statement; rows as dicts, at most `rows_to_cell`."""
        if self._a.sharing is Sharing.AGGREGATES and isinstance(query, str) and row_level(query):
            raise QueryFailed(
                "This dataset is shared as aggregates: sql() gives counts and other aggregates, not rows",
                next="Aggregate, or use show(query) to show rows to the person.",
            )
        table = self._query(query, self._a.limits.rows_to_cell)
        rows = as_records(table)
        self._by_rows[content_hash(plain(rows))] = query
        return rows

    def show(self, result: Any, title: str = "") -> None:
        """Show a result to the person: the text of a query (runs it), or rows a cell has."""
        text = " ".join(str(title).split())[:120]
        if isinstance(result, str):
            table = self._query(result, self._a.limits.rows_stored)
            shown = Shown(table, text, result)
        else:
            table = _table(result)
            shown = Shown(
                replace(
                    table,
                    rows=table.rows[: self._a.limits.rows_stored],
                    truncated=len(table.rows) > self._a.limits.rows_stored,
                ),
                text,
                self._by_rows.get(content_hash(plain(result))),
            )
        self.log.shown.append(shown)
        self._a.emit(
            "shown",
            {
                "turn": self._turn,
                "title": text,
                "columns": list(table.columns),
                "rows": plain(shown.table.rows[:50]),
                "row_count": table.row_count,
            },
        )

    def recall(self, name: str, start: int = 0) -> str:
        """Read on in a prompt section that was shortened or cleared: what it would have shown, and nothing else."""
        if not isinstance(name, str) or not isinstance(start, int) or start < 0:
            raise CellFailed(
                "recall takes the name of a section and a place in it, for instance recall('observation 2', 0)"
            )
        self._a.spend("sql_queries", 1)
        try:
            text = self._a.recall(name, start)
        except NotFound as failure:
            raise CellFailed(failure.sentence()) from None
        self._a.emit("recall", {"turn": self._turn, "section": name, "start": start, "characters": len(text)})
        return text

    def llm_query(self, prompt: str, about_dataset: bool = False) -> str:
        """Ask the model about one text."""
        return self.llm_query_batched([prompt], about_dataset)[0]

    def llm_query_batched(self, prompts: Sequence[str], about_dataset: bool = False) -> list[str]:
        """Ask the model about several texts; a failed slot raises with the count, never a made-up reply."""
        if self._a.sharing is Sharing.SCHEMA_ONLY:
            raise CellFailed("This dataset is shared as schema only: llm_query is off")
        if not isinstance(prompts, (list, tuple)) or not all(isinstance(p, str) for p in prompts):
            raise CellFailed("llm_query_batched takes a list of texts")
        if len(prompts) > self._a.batch:
            raise CellFailed(f"{len(prompts)} prompts at once; at most {self._a.batch} a call")
        self._a.spend("llm_queries", len(prompts))
        replies = self._a.ask_model([prompt[:100_000] for prompt in prompts], bool(about_dataset))
        self.log.sub_calls += [SubCall(p[:2_000], r[:2_000]) for p, r in zip(prompts, replies, strict=True)]
        self._a.emit("sub_call", {"turn": self._turn, "asked": len(prompts), "answered": len(replies)})
        return replies

    def final(
        self,
        answer: Any = None,
        value: Any = None,
        reading: Any = None,
        notes: Any = (),
        suggestions: Any = (),
        follow_ups: Any = (),
        items: Any = (),
    ) -> None:
        """Give the answer and end the run; FINAL(None, notes=[why]) ends it without one."""
        used = _texts(items)
        if answer is not None and not self._seen_data and not (set(used) & self._a.verified):
            raise CellFailed(
                "FINAL before any look at the data: no earlier cell ran a query that worked. "
                "Query first, read the result in the next turn, then answer."
            )
        self.log.final = Final(answer, value, reading, _texts(notes), _texts(suggestions), _texts(follow_ups), used)
        raise StopCell

    def final_var(self, name: str) -> None:
        """Give a variable made in an earlier turn as the answer and end the run."""
        if name not in self._known:
            raise CellFailed(
                f"FINAL_VAR takes a variable made in an earlier turn; {name!r} is none. "
                f"There are: {', '.join(sorted(self._known)) or 'no variables yet'}."
            )
        if not self._seen_data:
            raise CellFailed("FINAL_VAR before any look at the data: no earlier cell ran a query that worked.")
        self.log.final = Final(variable=name)
        raise StopCell

    def _query(self, query: Any, limit: int) -> Table:
        if not isinstance(query, str):
            raise QueryFailed(f"A query is a text, not {type(query).__name__}")
        self._a.spend("sql_queries", 1)
        self._queries += 1
        id = f"q{self._queries}"
        look_up = is_look_up(query)
        try:
            outcome = self._a.engine.query(query, limit=limit)
        except QueryFailed as failure:
            self._record(SqlRecord(id, query, 0.0, error=failure.sentence(), look_up=look_up))
            if self._a.sharing is Sharing.SAMPLE_ROWS:
                raise
            # A cell can catch the error and print it: what may not leave must not be in it.
            raise QueryFailed(without_cells(failure.what, query), where=failure.where, next=failure.next) from None
        kept = replace(outcome.table, rows=outcome.table.rows[: self._a.limits.rows_stored])
        self._record(SqlRecord(id, query, outcome.seconds, kept, look_up=look_up, profile=outcome.profile))
        return outcome.table

    def _record(self, record: SqlRecord) -> None:
        self.log.queries.append(record)
        table = record.table
        self._a.emit(
            "sql",
            {
                "turn": self._turn,
                "id": record.id,
                "sql": record.sql,
                "seconds": record.seconds,
                "row_count": table.row_count if table else None,
                "error": record.error,
                "look_up": record.look_up,
            },
        )


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else () if value is None else (value,)
    return tuple(" ".join(str(v).split())[:500] for v in items[:12])


def _table(rows: Any) -> Table:
    """Rows a cell hands over: a list of dicts, or of lists."""
    if not isinstance(rows, (list, tuple)) or not rows:
        return Table((), (), 0)
    if all(isinstance(r, Mapping) for r in rows):
        columns = tuple(dict.fromkeys(str(k) for r in rows for k in r))
        return Table(columns, tuple(tuple(plain(r.get(c)) for c in columns) for r in rows), len(rows))
    width = max(len(r) if isinstance(r, (list, tuple)) else 1 for r in rows)
    cells = [tuple(r) if isinstance(r, (list, tuple)) else (r,) for r in rows]
    padded = tuple(tuple(plain(c) for c in r) + (None,) * (width - len(r)) for r in cells)
    return Table(tuple(f"column_{i + 1}" for i in range(width)), padded, len(rows))
