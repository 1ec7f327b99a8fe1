"""What of a run is kept, and in which form: texts, or counts and keyed hashes only.

Owns: the directory's key for hashes, the two forms of a stored call, what a run leaves behind where texts are not kept.
Refuses to know: how long things are kept, and rows. Plain hashes of short texts can be guessed by trying; keyed ones can't.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from peek_core.store.sql_store import SqlStore
from peek_core.values.call_trace import CallTrace
from peek_core.values.canon import content_hash
from peek_core.values.trajectory import Step, Trajectory

KEY_FILE = "hashes.key"
Export = Callable[[CallTrace], None]


def directory_key(data_dir: Path) -> bytes:
    """The data directory's random key, made at its first use and readable by its owner only."""
    path = data_dir / KEY_FILE
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    return path.read_bytes()


def keyed(trace: CallTrace, key: bytes) -> CallTrace:
    """The trace with keyed hashes and without what a replay needs."""

    def of(hash: str) -> str:
        return "hmac:" + hmac.new(key, hash.encode(), "sha256").hexdigest()

    e = trace.explain
    shadow = (
        None
        if e.shadow is None
        else replace(e.shadow, wire_hash=of(e.shadow.wire_hash), hashes=tuple(map(of, e.shadow.hashes)))
    )
    explain = replace(e, sections=tuple(replace(s, hash=of(s.hash)) for s in e.sections), shadow=shadow)
    return replace(trace, explain=explain, wire_hash=of(trace.wire_hash), snapshot=None)


def without_texts(trajectory: Trajectory) -> Trajectory:
    """Question, answer, its result and the queries stay; replies, prints, observations and other results go."""
    return replace(trajectory, steps=tuple(map(_bare, trajectory.steps)))


def _bare(step: Step) -> Step:
    queries = tuple(replace(q, table=None, profile=None, error=q.error and "(not kept)") for q in step.queries)
    return replace(
        step, reply="", stdout="", value=None, error=step.error and "(not kept)", observation="",
        queries=queries, sub_calls=(), shown=(),
    )  # fmt: skip


class Traces:
    """Implements ports.TraceSink over the store. `key`: keep counts and keyed hashes only."""

    def __init__(self, store: SqlStore, dataset: str, key: bytes | None = None, export: Export | None = None) -> None:
        self._store, self._dataset, self._key, self._export = store, dataset, key, export

    def add_call(self, trace: CallTrace, bodies: Mapping[str, str], reply: str | None) -> None:
        if self._key is not None:
            self._store.add_call(self._dataset, keyed(trace, self._key), {}, None)
        else:
            self._store.add_call(self._dataset, trace, bodies, None if reply is None else (content_hash(reply), reply))
        if self._export is not None:
            self._export(trace)


class Spills:
    """Implements ports.SpillStore over the texts of a dataset, which retention and `forget` reach."""

    def __init__(self, store: SqlStore, dataset: str) -> None:
        self._store, self._dataset = store, dataset

    def write(self, hash: str, text: str) -> None:
        self._store.add_text(self._dataset, hash, text)

    def read(self, hash: str) -> str | None:
        return self._store.texts(self._dataset, [hash]).get(hash)
