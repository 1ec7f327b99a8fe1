"""One upload becomes one immutable DuckDB file, or nothing.

Owns: the order of work, the work folder beside the target, publishing by rename. Refuses to know how each format is
read, what a dataset is, and where versions are kept.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from peek_core.corpus import decode, names
from peek_core.corpus.csv_reader import load_csv
from peek_core.corpus.refusals import spoken
from peek_core.corpus.xlsx_reader import load_xlsx
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import LoadReport

Progress = Callable[[str, float | None], None]
"""Told the stage in words and the fraction done of that stage (0..1, None where unknown)."""

_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".xlsx", ".xlsm")


def work_folder(target: Path) -> Path:
    """A new name for the folder in which one load works; hidden, and beside the target so that a rename suffices."""
    return target.parent / f".{target.name}.{uuid.uuid4().hex}.loading"


def table_name(label: str) -> str:
    """The SQL name of the table for what a person calls the file."""
    stem = label[: -len(Path(label).suffix)] if label.lower().endswith(_SUFFIXES) else label
    return names.unique((stem,), fallback="table")[0]


def load_file(
    source: Path, target: Path, *, label: str, progress: Progress = lambda stage, done: None, work: Path | None = None
) -> LoadReport:
    """Reads `source` (CSV-like text or XLSX) into a new DuckDB file at `target` and says how it was read.

    The file holds one table named after `label`. It is built in `work` (made here, by default beside the target) and
    renamed into place when complete, so that `target` is either the old file or the whole new one. Whatever happens,
    `work` is removed.

    Raises `UnreadableFile` where the file cannot be read faithfully and `Refused` for trouble with disk, memory or
    permission; both say what happened, where, and what to do.
    """
    started = time.perf_counter()
    place = work_folder(target) if work is None else work
    table = table_name(label)
    try:
        kind = decode.kind_of(source)
        with spoken("preparing the data directory"):
            place.mkdir(parents=True)
        with spoken("reading the file"):
            before = source.stat()
        if kind == "text":
            text = decode.read_text(source, place, lambda done: progress("reading the file", done))
            sha256, size = text.sha256, text.size
        else:
            text = None
            with spoken("reading the file"):
                sha256, size = _hash(source)
        built = place / "corpus.duckdb"
        with _database(built, place) as con, _watched(con, progress) as tell:
            loaded = load_csv(con, text, table, tell) if text else load_xlsx(con, source, place, table, tell)
            with spoken("writing the rows"):
                tell("writing", None)
                con.execute("CHECKPOINT")
        with spoken("reading the file"):
            after = source.stat()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise UnreadableFile("The file changed while it was read", next="Load it again when it is complete.")
        with spoken("writing the rows"):
            _publish(built, target)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return LoadReport(
        source=label,
        sha256=sha256,
        size=size,
        tables=(loaded.report,),
        doubts=loaded.doubts,
        seconds=round(time.perf_counter() - started, 3),
    )


@contextmanager
def _database(path: Path, work: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with spoken("creating the database"):
        con = duckdb.connect(
            str(path),
            config={
                "temp_directory": str(work / "spill"),
                "python_enable_replacements": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            },
        )
    try:
        yield con
    finally:
        # On a full disk closing tries to write and fails again; the first error is the one to report.
        with suppress(duckdb.Error, OSError):
            con.close()


@contextmanager
def _watched(con: duckdb.DuckDBPyConnection, progress: Progress) -> Iterator[Progress]:
    """Passes stages on, and between them the engine's own progress, five times a second."""
    con.execute("SET enable_progress_bar=true; SET enable_progress_bar_print=false")
    stage = [""]
    done = threading.Event()

    def tell(name: str, fraction: float | None) -> None:
        stage[0] = name
        progress(name, fraction)

    def poll() -> None:
        while not done.wait(0.2):
            with suppress(duckdb.Error):
                percent = con.query_progress()
                if percent is not None and percent > 0 and stage[0]:
                    progress(stage[0], min(1.0, percent / 100))

    poller = threading.Thread(target=poll, name="load-progress", daemon=True)
    poller.start()
    try:
        yield tell
    finally:
        done.set()
        poller.join()


def _hash(source: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for block in decode.blocks(source):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def _publish(built: Path, target: Path) -> None:
    with built.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(built, target)
    with suppress(OSError):  # not every system can open a folder
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
