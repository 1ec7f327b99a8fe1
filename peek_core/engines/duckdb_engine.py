"""DuckDB behind the engine port: one locked worker process for one dataset version and view.

Owns: the worker's life, limits and timeouts, and turning its answers into outcomes and errors. Refuses to know:
prompts, budgets, what a query is for. DuckDB itself is never loaded by this side.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from peek_core.engines import codec, csv_export
from peek_core.engines.process import WorkerProcess
from peek_core.engines.watch import Cause, Watch, WorkerLost
from peek_core.errors import Broken, PeekError, QueryFailed
from peek_core.ports import QueryOutcome
from peek_core.settings import SqlLimits
from peek_core.values.trajectory import Table

EXPORT_S = 300.0
"""Seconds an export may take."""
COUNT_S = 2.0
"""Seconds spent at most on counting rows past the cap."""
_SCRATCH_GONE = "The engine was restarted: tables and views in scratch are gone and must be made again."
_SMALLER = "Filter or aggregate earlier, or join on fewer rows."
_LOST: dict[Cause, str] = {
    "time": "The statement was stopped after {seconds:g} s and had to be killed",
    "stopped": "The statement was stopped and had to be killed",
    "memory": "The statement used more memory than allowed and was killed",
    "gone": "The SQL engine ended while it ran this statement",
}


class DuckDBEngine:
    """Implements `ports.Engine`. Statements run one at a time; `interrupt` and `close` are safe from any thread."""

    dialect = "duckdb"

    def __init__(
        self, corpus: Path, view: Path | None = None, *, limits: SqlLimits | None = None, address_space: bool = True
    ):
        """An engine over the dataset file and, where given, its view file; the worker starts with the first use.

        `address_space` bounds the worker's address space on Linux.
        """
        self._corpus, self._view, self._limits = corpus, view, limits or SqlLimits()
        self._address_space = address_space
        self._worker: WorkerProcess | None = None
        self._numbers = itertools.count(1)
        self._turn = threading.Lock()
        self._life = threading.Lock()
        self._stop = threading.Event()
        self._closed = False
        self._has_scratch = False

    def start(self) -> None:
        """Start the worker now instead of with the first query. Raises Broken."""
        with self._turn:
            self._running_worker()

    def query(self, sql: str, *, limit: int, timeout_s: float | None = None) -> QueryOutcome:
        """Run one statement; at most `limit` rows come back, fewer if they'd be larger than the byte cap.

        `timeout_s` can only shorten the limit of the settings. Raises QueryFailed, or Broken when there is no engine.
        """
        seconds = self._limits.seconds if timeout_s is None else min(timeout_s, self._limits.seconds)
        request = {"op": "query", "sql": sql, "limit": limit, "count_s": min(COUNT_S, seconds / 4)}
        with self._turn:
            watch = self._begin(request, seconds)
            try:
                message = watch.receive()
            except WorkerLost as lost:
                raise self._lost(lost, seconds) from None
            self._raise_failure(message, watch)
        if message["kind"] == "CREATE":
            self._has_scratch = True
        return _outcome(message)

    def export_csv(self, sql: str, path: str) -> int:
        """Write the whole result of a reading statement as CSV, formula starts neutralised; returns the row count.

        Raises QueryFailed, Broken, or OSError when the file can't be written.
        """
        with self._turn:
            watch = self._begin({"op": "export", "sql": sql}, EXPORT_S)
            try:
                first = watch.receive()
                self._raise_failure(first, watch)
                return csv_export.write_csv(Path(path), first["columns"], self._export_rows(watch, first["types"]))
            except WorkerLost as lost:
                raise self._lost(lost, EXPORT_S) from None
            except PeekError:
                raise
            except BaseException:
                # The worker still sends rows nobody reads; a fresh one is cheaper than draining it. That scratch is
                # gone has not been said, so the next statement says it.
                self._drop(said=False)
                raise

    def interrupt(self) -> None:
        """Stop the running statement, whoever started it; nothing happens when none runs."""
        self._stop.set()

    def close(self) -> None:
        """End the worker at once; later queries raise Broken."""
        self._closed = True
        self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker, None when none runs."""
        worker = self._worker
        return worker.pid if worker is not None and worker.alive else None

    def _begin(self, request: dict[str, Any], seconds: float) -> Watch:
        worker, number = self._running_worker(), next(self._numbers)
        self._stop.clear()
        with contextlib.suppress(OSError):
            worker.send({**request, "id": number})
        return Watch(worker, number, seconds, self._limits.memory_bytes, self._stop)

    def _running_worker(self) -> WorkerProcess:
        with self._life:
            if self._closed:
                raise Broken("The SQL engine is closed")
            if self._worker is not None and self._worker.alive:
                return self._worker
            died = self._has_scratch
            self._worker, self._has_scratch = None, False
            self._worker = WorkerProcess(self._config())
            if died:
                raise QueryFailed("The SQL engine had ended since the last statement", next=_SCRATCH_GONE)
            return self._worker

    def _config(self) -> dict[str, Any]:
        return {
            "corpus": str(self._corpus), "view": str(self._view) if self._view else None,
            "memory_bytes": self._limits.memory_bytes, "threads": self._limits.threads,
            "seconds": max(EXPORT_S, self._limits.seconds), "text_chars": self._limits.text_chars,
            "bytes": self._limits.bytes_to_cell, "address_space": self._address_space,
        }  # fmt: skip

    def _export_rows(self, watch: Watch, types: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        while "done" not in (message := watch.receive()):
            self._raise_failure(message, watch)
            yield from codec.decode_rows(message["rows"], types)

    def _raise_failure(self, message: dict[str, Any], watch: Watch) -> None:
        if "error" not in message:
            return
        text, advice = str(message["error"]), str(message.get("next") or "")
        if message.get("fatal"):
            self._drop()
            advice = f"{advice} {_SCRATCH_GONE}".strip()
        if message["kind"] == "memory":
            # DuckDB's own text advises settings nobody here can change.
            text, advice = "The statement ran out of memory", f"{_SMALLER} {advice}".strip()
        if message["kind"] == "interrupted":
            text = "The statement was stopped"
            if watch.cause != "stopped":
                text += f" after {watch.seconds:g} s"
            advice = advice or _SMALLER
        raise QueryFailed(text, next=advice)

    def _lost(self, lost: WorkerLost, seconds: float) -> PeekError:
        self._drop()
        if self._closed:
            return Broken("The SQL engine was closed")
        return QueryFailed(_LOST[lost.cause].format(seconds=seconds), next=_SCRATCH_GONE)

    def _drop(self, *, said: bool = True) -> None:
        with self._life:
            worker, self._worker = self._worker, None
            self._has_scratch = self._has_scratch and not said
        if worker is not None:
            worker.kill()


def _outcome(message: dict[str, Any]) -> QueryOutcome:
    table = Table(
        columns=tuple(message["columns"]),
        rows=codec.decode_rows(message["rows"], message["types"]),
        row_count=message["row_count"],
        truncated=bool(message["truncated"]),
        types=tuple(message["types"]),
    )
    return QueryOutcome(table, float(message["seconds"]), message["profile"])
