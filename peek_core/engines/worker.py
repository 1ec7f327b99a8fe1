"""The child process the agent's SQL runs in: `python -m peek_core.engines.worker`.

Owns: one locked connection, one statement at a time, and dying when its pipe closes. Refuses to know: who asks and
why; wall-clock limits and the kill are the parent's.

Messages in: the first is the configuration; then `{"id", "op": "query" | "export", "sql", "limit"}` and
`{"op": "interrupt", "id"}`. Messages out: `{"ready": true}`, then one answer an id (an export sends row frames first).
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from peek_core.engines import gate, locked, protocol
from peek_core.engines.reader import ResultReader
from peek_core.engines.scrub import Scrubber
from peek_core.errors import QueryFailed

FATAL = (duckdb.FatalException, duckdb.InternalException)


class Worker:
    """Answers requests one after the other; a second thread listens for interrupts and for the end of the pipe."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, config: dict[str, Any]) -> None:
        self._source, self._sink = source, sink
        corpus, view = Path(config["corpus"]), Path(config["view"]) if config.get("view") else None
        self._scrub = Scrubber([p for p in (corpus, view) if p is not None])
        self._text_chars, self._bytes = int(config["text_chars"]), int(config["bytes"])
        self._connection, self._cursor = locked.open_locked(corpus, view, locked.limits_from(config))
        self._requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._running: Any = None

    def serve(self) -> None:
        """Answer until the pipe closes; never returns."""
        threading.Thread(target=self._listen, daemon=True).start()
        protocol.write(self._sink, {"ready": True})
        while True:
            request = self._requests.get()
            self._running = request["id"]
            try:
                self._answer(request)
            except OSError:
                os._exit(0)
            finally:
                self._running = None

    def _listen(self) -> None:
        """Read messages. The end of the pipe means the parent is gone: stop at once, even in mid-query."""
        while True:
            try:
                message = protocol.read(self._source)
            except (protocol.ProtocolError, OSError):
                message = None
            if message is None:
                os._exit(0)
            if message.get("op") != "interrupt":
                self._requests.put(message)
            elif message.get("id") == self._running:
                with contextlib.suppress(duckdb.Error):
                    self._cursor.interrupt()

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            checked = gate.check(request["sql"], self._connection.extract_statements, self._text_chars)
            reader = ResultReader(self._cursor, checked, self._scrub, exact=request["op"] == "export")
            if request["op"] == "export":
                self._export(request["id"], checked, reader)
            else:
                body = reader.query(int(request["limit"]), self._bytes, float(request["count_s"]))
                protocol.write_bytes(self._sink, reader.frame(request["id"], body))
        except OSError:
            raise
        except BaseException as error:
            self._fail(request["id"], error)

    def _export(self, number: Any, checked: gate.Checked, reader: ResultReader) -> None:
        if not checked.reads:
            raise QueryFailed("Only a statement that reads can be exported")
        for message in reader.chunks():
            if "rows" in message:
                self._send_rows(number, message["rows"])
            else:
                protocol.write(self._sink, {"id": number, **message})

    def _send_rows(self, number: Any, rows: list[Any]) -> None:
        """Rows of an export, in as many frames as their size needs."""
        body = protocol.dumps({"id": number, "rows": rows})
        if len(body) <= protocol.MAX_FRAME:
            protocol.write_bytes(self._sink, body)
        elif len(rows) > 1:
            half = len(rows) // 2
            self._send_rows(number, rows[:half])
            self._send_rows(number, rows[half:])
        else:
            raise QueryFailed(
                "One row is larger than can be exported", next="Shorten its columns, e.g. left(text, 100000)."
            )

    def _fail(self, number: Any, error: BaseException) -> None:
        """Say what went wrong, without paths. A fatal error leaves DuckDB unusable: the parent then replaces us."""
        known = error if isinstance(error, QueryFailed) else None
        text = known.what if known else str(error) or type(error).__name__
        memory = isinstance(error, (MemoryError, duckdb.OutOfMemoryException))
        kind = "interrupted" if isinstance(error, duckdb.InterruptException) else "memory" if memory else "failed"
        message = {
            "id": number,
            "error": self._scrub.error(text).encode("utf-8", "replace").decode("utf-8")[:4000],
            "next": known.next if known else "",
            "kind": kind,
            "fatal": isinstance(error, FATAL) or (memory and isinstance(error, MemoryError)),
        }
        protocol.write(self._sink, message)


def main() -> None:
    """Take the pipes, read the configuration, serve."""
    source, sink = protocol.claim_stdio()
    config = protocol.read(source)
    if config is None:
        return
    try:
        if config.get("address_space"):
            locked.restrict_address_space(int(config["memory_bytes"]))
        worker = Worker(source, sink, config)
    except Exception as error:
        paths = [Path(config[k]) for k in ("corpus", "view") if config.get(k)]
        with contextlib.suppress(OSError):
            protocol.write(sink, {"ready": False, "error": Scrubber(paths).error(str(error))[:2000]})
        return
    worker.serve()


if __name__ == "__main__":
    main()
