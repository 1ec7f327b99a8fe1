"""One upload, of one or more files, becomes one immutable DuckDB file, or nothing.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from peek_core.corpus import archives, kinds, names
from peek_core.corpus.desk import Desk, Loaded, Progress
from peek_core.corpus.documents.json_reader import load_json
from peek_core.corpus.documents.parquet_reader import load_parquet
from peek_core.corpus.keys import suggest_keys
from peek_core.corpus.kinds import Kind
from peek_core.corpus.refusals import spoken
from peek_core.corpus.spellings import find_spellings
from peek_core.corpus.text import decode
from peek_core.corpus.text.csv_reader import load_csv
from peek_core.corpus.wording import some
from peek_core.corpus.workbook.xlsx_reader import load_workbook
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt, LoadReport, ReadChoices, SourceFile

SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".tab", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
    *(".json", ".jsonl", ".ndjson", ".parquet", ".gz", ".zip"),
)
"""Ends of names of files that can be loaded."""


@dataclass(frozen=True)
class Source:
    """One file to load: where it lies, what the person calls it, and what they settled about reading it."""

    path: Path
    label: str
    choices: ReadChoices = field(default_factory=ReadChoices)
    every_cell: bool = False
    """Compare all cells of a text file after loading, instead of 10,000 sampled rows."""


def work_folder(target: Path) -> Path:
    """A new name for the folder in which one load works; hidden, and beside the target so that a rename suffices."""
    return target.parent / f".{target.name}.{uuid.uuid4().hex}.loading"


def table_name(label: str) -> str:
    """The SQL name of the table for what a person calls the file."""
    stem = label[: -len(".gz")] if label.lower().endswith(".gz") else label
    stem = stem[: -len(Path(stem).suffix)] if stem.lower().endswith(SUFFIXES) else stem
    return names.unique((stem,), fallback="table")[0]


def load_file(
    source: Path, target: Path, *, label: str, progress: Progress = lambda stage, done: None, work: Path | None = None
) -> LoadReport:
    """`load_files` for one file, read as it is found."""
    return load_files([Source(source, label)], target, progress=progress, work=work)


def load_files(
    sources: Sequence[Source],
    target: Path,
    *,
    base: Path | None = None,
    progress: Progress = lambda stage, done: None,
    work: Path | None = None,
) -> LoadReport:
    """Reads files into a new DuckDB file at `target` and says how each was read; the report tells only of them.

    A file becomes one table named after its label; a workbook one per chosen sheet, an archive those of its files.
    With `base`, the tables of that DuckDB file stand in the new one too. It is built in `work` (made here, by default
    beside the target) and renamed into place when complete, so that `target` is either the old file or the whole new
    one. Whatever happens, `work` is removed.

    Raises `UnreadableFile` where a file cannot be read faithfully and `Refused` for trouble with disk, memory or
    permission; both say what happened, where, and what to do.
    """
    started = time.perf_counter()
    place = work_folder(target) if work is None else work
    try:
        for source in sources:
            kinds.kind_of(source.path, source.label)
        with spoken("preparing the data directory"):
            place.mkdir(parents=True)
        built = place / "corpus.duckdb"
        if base is not None:
            with spoken("copying the tables there are"):
                shutil.copyfile(base, built)
        loaded: list[Loaded] = []
        files: list[SourceFile] = []
        with _database(built, place) as con, _watched(con, progress) as tell:
            taken = _tables(con)
            for n, source in enumerate(sources):
                with _naming(source.label) if len(sources) > 1 else nullcontext():
                    tables, file = _read(con, source, place / f"source-{n}", taken, tell)
                loaded += tables
                files.append(file)
            with spoken("comparing the tables"):
                keys = suggest_keys(con, _tables(con))
                spellings = [s for one in loaded for s in find_spellings(con, one.report.name, one.report.columns)]
            with spoken("writing the rows"):
                tell("writing", None)
                con.execute("CHECKPOINT")
        with spoken("writing the rows"):
            _publish(built, target)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    several = base is not None or len(loaded) > 1
    return LoadReport(
        sources=tuple(files),
        tables=tuple(one.report for one in loaded),
        doubts=tuple(_placed(doubt, one.report.name, several) for one in loaded for doubt in one.doubts),
        seconds=round(time.perf_counter() - started, 3),
        keys=keys,
        spellings=tuple(spellings),
    )


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    found = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY table_oid"
    ).fetchall()
    return [str(row[0]) for row in found]


def _placed(doubt: Doubt, table: str, several: bool) -> Doubt:
    """A doubt names its table where there are several: `orders: line 1`."""
    return replace(doubt, where=f"{table}: {doubt.where}") if several else doubt


@contextmanager
def _naming(label: str) -> Iterator[None]:
    """Refusals name the file, for loads of several."""
    try:
        yield
    except UnreadableFile as refused:
        where = f"{label}, {refused.where}" if refused.where else label
        raise UnreadableFile(refused.what, where=where, next=refused.next) from refused


def _read(
    con: duckdb.DuckDBPyConnection, source: Source, work: Path, taken: list[str], tell: Progress
) -> tuple[tuple[Loaded, ...], SourceFile]:
    """One file into its tables; their names join `taken`."""

    def name(label: str) -> str:
        made = names.unique((*taken, table_name(label)), fallback="table")[-1]
        taken.append(made)
        return made

    with spoken("reading the file"):
        work.mkdir()
        before = source.path.stat()
    desk = Desk(con, work, source.label, name, tell, source.choices, source.every_cell)
    try:
        loaded, sha256, size = _by_kind(desk, source.path)
    finally:
        # Said instead of whatever the reader stumbled over: that is only its symptom.
        with spoken("reading the file"):
            after = source.path.stat()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise UnreadableFile("The file changed while it was read", next="Load it again when it is complete.")
    return loaded, SourceFile(source.label, sha256, size, source.choices)


def _by_kind(desk: Desk, path: Path) -> tuple[tuple[Loaded, ...], str, int]:
    """The tables of a file, its hash and its size."""
    kind = kinds.kind_of(path, desk.label)
    if kind in ("text", "json"):
        text = decode.read_text(
            path, desk.work, lambda done: desk.tell("reading the file", done), desk.choices.encoding
        )
        return (load_json if kind == "json" else load_csv)(desk, text), text.sha256, text.size
    with spoken("reading the file"):
        sha256, size = _hash(path)
    if kind in ("zip", "gzip"):
        return _from_archive(desk, path, kind), sha256, size
    return (load_parquet if kind == "parquet" else load_workbook)(desk, path), sha256, size


def _from_archive(desk: Desk, path: Path, kind: Kind) -> tuple[Loaded, ...]:
    """The tables of all files in an archive; each says which file it was, but its source is the archive."""
    with spoken("unpacking the archive"):
        desk.tell("unpacking", None)
        unpacked = archives.unpack(path, desk.work, kind, desk.label)
    made: list[Loaded] = []
    for n, member in enumerate(unpacked.members):
        with spoken("unpacking the archive"):
            work = desk.work / f"in-{n}"
            work.mkdir()
        with _naming(member.label):
            loaded, _, _ = _by_kind(replace(desk, work=work, label=member.label), member.path)
        with spoken("unpacking the archive"):
            member.path.unlink()
        for one in loaded:
            dialect = f"“{member.label}” in the archive; {one.report.dialect}"
            report = replace(one.report, dialect=dialect, source=desk.label)
            made.append(replace(one, report=report))
    if unpacked.left_out:
        said = f"Files in the archive that hold no table were left out: {some(unpacked.left_out)}."
        first = made[0]
        made[0] = replace(first, report=replace(first.report, assumptions=(*first.report.assumptions, said)))
    return tuple(made)


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
