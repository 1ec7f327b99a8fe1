"""Reading one statement's result in the worker: up to a cap, with the true count where it can be had.

Owns: caps on rows and bytes, counting the rest, the profile of the run. Refuses to know: pipes and timeouts; an
interrupt arrives as DuckDB's own exception.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import duckdb

from peek_core.engines import codec, profile, protocol
from peek_core.engines.gate import Checked
from peek_core.engines.scrub import Scrubber
from peek_core.errors import QueryFailed

CHUNK = 1000
"""Rows converted at a time; small enough that an interrupt is noticed in between."""
COUNT_CHUNK = 10_000
COUNT_ROWS = 200_000
"""Rows read on, after the cap, only to count them and to finish the profile."""
EXPORT_CHUNK = 2_000


class ResultReader:
    """Runs one checked statement on a cursor and reads its result."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, checked: Checked, scrub: Scrubber, *, exact: bool) -> None:
        self._cursor, self._checked, self._scrub, self._exact = cursor, checked, scrub, exact
        self._rows: list[str] = []
        self._seen = 0

    def query(self, limit: int, most_bytes: int, count_s: float) -> dict[str, Any]:
        """Run and read at most `limit` rows and `most_bytes` of JSON; everything but the rows as a message.

        `count_s` bounds the time spent on counting the rest.
        """
        started = time.perf_counter()
        self._cursor.execute(self._checked.sql)
        names, types = self._columns()
        kept, ended = self._read(types, max(limit, 0), most_bytes) if names else (0, True)
        seconds = time.perf_counter() - started
        count: int | None = kept
        tree = None
        if not ended:
            count, ended = self._count_on(self._seen, count_s)
        if ended:
            tree = self._profile()
        if count is None and self._checked.rerunnable:
            count = self._count_again(count_s)
        return {
            "columns": names, "types": types, "row_count": count, "truncated": count != kept,
            "seconds": round(seconds, 6), "profile": tree, "kind": self._checked.kind,
        }  # fmt: skip

    def frame(self, number: Any, body: dict[str, Any]) -> bytes:
        """The answer's bytes; rows were encoded while they were read and are not encoded twice."""
        head = protocol.dumps({"id": number, **body})
        return head[:-1] + b',"rows":[' + ",".join(self._rows).encode("utf-8") + b"]}"

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The whole result for an export: one message with columns, messages of rows, one with the total."""
        self._cursor.execute(self._checked.sql)
        names, types = self._columns()
        yield {"columns": names, "types": types}
        encode = codec.row_encoder(types, self._exact)
        total = 0
        while rows := self._cursor.fetchmany(EXPORT_CHUNK):
            encoded = [encode(row) for row in rows]
            total += len(rows)
            yield {"rows": encoded}
        yield {"done": total}

    def _columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        # DDL has a description too, of a result that never has a row.
        described = self._cursor.description if self._checked.kind not in ("DROP", "ALTER") else None
        described = described or []
        return codec.unique_names([d[0] for d in described]), tuple(str(d[1]) for d in described)

    def _read(self, types: tuple[str, ...], limit: int, most_bytes: int) -> tuple[int, bool]:
        """(rows kept, whether the result ended). One row past the cap is fetched, to know whether there is more."""
        encode = codec.row_encoder(types, self._exact)
        kept = used = 0
        while True:
            rows = self._cursor.fetchmany(min(CHUNK, limit + 1 - kept))
            if not rows:
                return kept, True
            self._seen += len(rows)
            encoded = [encode(row) for row in rows[: limit - kept]]
            text = self._text(encoded)
            if used + len(text) > most_bytes:
                kept += self._keep_some(encoded, most_bytes - used)
                self._too_wide(kept, limit)
                return kept, False
            if encoded:
                self._rows.append(text)
            used, kept = used + len(text), kept + len(encoded)
            if len(encoded) < len(rows):
                return kept, False

    def _keep_some(self, encoded: list[Any], room: int) -> int:
        """Keep the rows of a chunk that still fit into `room` characters; returns how many."""
        for n, row in enumerate(encoded):
            text = self._text([row])
            room -= len(text)
            if room < 0:
                return n
            self._rows.append(text)
        return len(encoded)

    def _text(self, encoded: list[Any]) -> str:
        """JSON of rows without the outer brackets, this engine's own paths taken out."""
        text = protocol.dumps_text(encoded)
        if self._scrub.touches(text):
            text = protocol.dumps_text([[self._scrub.value(v) for v in row] for row in encoded])
        return text[1:-1]

    def _too_wide(self, kept: int, limit: int) -> None:
        if kept == 0 and limit > 0:
            raise QueryFailed(
                "The first row alone is larger than a result may be",
                next="Select fewer columns or shorten them, e.g. left(text, 1000).",
            )

    def _count_on(self, count: int, seconds: float) -> tuple[int | None, bool]:
        """Read the rest for counting, within bounds: (true count or None, whether the result ended)."""
        end = time.perf_counter() + seconds / 2
        most = count + COUNT_ROWS
        try:
            while rows := self._cursor.fetchmany(COUNT_CHUNK):
                count += len(rows)
                if count > most or time.perf_counter() > end:
                    return None, False
        except duckdb.Error:
            return None, False
        return count, True

    def _count_again(self, seconds: float) -> int | None:
        """Count by a second, cheaper statement, given up after `seconds`; the rows at hand stay valid either way."""
        timer = threading.Timer(seconds, self._cursor.interrupt)
        timer.start()
        try:
            row = self._cursor.execute(f"SELECT count(*) FROM (\n{self._checked.sql}\n)").fetchone()
            return int(row[0]) if row else None
        except duckdb.Error:
            return None
        finally:
            timer.cancel()

    def _profile(self) -> dict[str, Any] | None:
        # A PIVOT runs as several statements; the profile is that of the last, which is the one that gave the rows.
        sql = None if self._checked.kind == "MULTI" else self._checked.sql
        try:
            return profile.compact(self._cursor.get_profiling_information(format="json"), sql)
        except (duckdb.Error, ValueError, RuntimeError):
            return None
