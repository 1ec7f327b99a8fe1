"""The dataset shelf: loading, versions, curated views, profiles, engines, forgetting.

Owns: the files of the data directory below corpora, views, originals. Refuses to know: questions, maps' contents.
"""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from peek_core.context_map.definitions import Definition, fits, view_sql
from peek_core.corpus.desk import Progress
from peek_core.corpus.load import Source
from peek_core.corpus.names import quoted
from peek_core.corpus.profile import profile as profile_tables
from peek_core.corpus.versions.choices import as_before, same_ways
from peek_core.corpus.worker import (
    TwoFiles,
    compare_in_process,
    load_in_process,
    receive_in_process,
    settle_in_process,
)
from peek_core.engines.duckdb_engine import DuckDBEngine
from peek_core.engines.views import write_view_file
from peek_core.errors import Broken, Refused, UnreadableFile
from peek_core.ports import Clock, RunQuery
from peek_core.settings import Settings
from peek_core.store.sql_store import SqlStore
from peek_core.values.canon import content_hash
from peek_core.values.dataset import Dataset, DatasetVersion, LoadReport, Profile, ReadChoices, SourceFile
from peek_core.values.trajectory import Table
from peek_core.values.versions import DataDiff, Proposal

RAW = "raw"
"""Hash name of the view without definitions."""
PROFILE_ROWS = 100_000
UNDECIDED_S = 86_400.0
"""Age at which a file that belongs to no version is nobody's; another process may be showing younger ones."""


@dataclass(frozen=True)
class View:
    """What is queried: the dataset version's file, and the view file when definitions are compiled into one."""

    hash: str
    corpus: Path
    file: Path | None


def make_directory(path: Path) -> None:
    """Make it where it is missing; raises Broken when it can't be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} can be read only")
    except OSError as failure:
        raise Broken(
            "The data directory can't be written",
            where=str(path),
            next="Choose another one with --data-dir or PEEK_DATA_DIR.",
        ) from failure


class Shelf:
    """Datasets of one data directory."""

    def __init__(self, settings: Settings, store: SqlStore, clock: Clock) -> None:
        self._settings, self._store, self._clock = settings, store, clock
        self._root = settings.data_dir
        for name in ("corpora", "views", "originals", "uploads"):
            make_directory(self._root / name)

    def load(
        self,
        sources: Sequence[Source],
        *,
        title: str | None = None,
        into: Dataset | None = None,
        as_of: str | None = None,
        keep: bool = True,
        progress: Progress = lambda stage, done: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Dataset:
        """Read files as the tables of a new dataset, or as further tables of one.

        Raises UnreadableFile, Refused, Cancelled or Broken; then nothing is left. `keep`: store the originals
        compressed; a path on the server is only remembered with its hash.
        """
        stem = Path(sources[0].label).stem
        now = self._clock()
        made = into or Dataset(f"{_slug(title or stem)}-{secrets.token_hex(3)}", title or stem, now, 0, as_of)
        before = self.version(into) if into else None
        base = self._root / "corpora" / before.file if before else None
        file, report = self._read(made, sources, base, progress, cancelled)
        try:
            files = [self._kept(s, f, keep) for s, f in zip(sources, report.sources, strict=True)]
            report = replace(report, sources=tuple(files))
            return self.publish(made, file, _joined(before.report, report) if before else report)
        except BaseException:
            (self._root / "corpora" / file).unlink(missing_ok=True)
            raise

    def reread(
        self,
        dataset: Dataset,
        choices: Mapping[str, ReadChoices],
        progress: Progress = lambda stage, done: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, LoadReport]:
        """Read the kept originals again; `choices` by file name. Returns the new file's name, for `publish` or `discard`."""
        held = self.version(dataset).report.sources
        with tempfile.TemporaryDirectory(dir=self._root / "uploads") as folder:
            sources = [self._original(s, Path(folder) / f"{n}{Path(s.name).suffix}") for n, s in enumerate(held)]
            wanted = [replace(s, choices=choices.get(s.label, h.choices)) for s, h in zip(sources, held, strict=True)]
            file, report = self._read(dataset, wanted, None, progress, cancelled)
        changed = [f.name for f, h in zip(report.sources, held, strict=True) if f.sha256 != h.sha256]
        if changed:
            self.discard(file)
            raise Refused(f"{changed[0]} is not the file it was when it was loaded", next="Load it anew.")
        files = [replace(f, kept=h.kept, path=h.path) for f, h in zip(report.sources, held, strict=True)]
        return file, replace(report, sources=tuple(files))

    def publish(self, dataset: Dataset, file: str, report: LoadReport) -> Dataset:
        """Make a file the newest version of its dataset."""
        version = self.next_version(dataset, file, report)
        made = replace(dataset, version=version.number)
        self._store.add_version(made, version, [s.kept for s in report.sources if s.kept])
        return made

    def next_version(self, dataset: Dataset, file: str, report: LoadReport) -> DatasetVersion:
        """What publishing a file would make; the number of a version that was deleted is not given again."""
        return DatasetVersion(dataset.id, _next_number(dataset), self._clock(), file, report)

    def discard(self, file: str, sources: Sequence[SourceFile] = ()) -> None:
        """Drop a file that was not published, and the originals kept for it that no version needs."""
        (self._root / "corpora" / file).unlink(missing_ok=True)
        self._drop_originals([s.kept for s in sources if s.kept])

    def _drop_originals(self, names: Sequence[str]) -> None:
        for name in names:
            if not self._store.uses_original(name):
                (self._root / "originals" / name).unlink(missing_ok=True)

    # The dataset returns

    def receive(
        self,
        dataset: Dataset,
        sources: Sequence[Source],
        keep: bool,
        progress: Progress,
        cancelled: Callable[[], bool],
    ) -> tuple[str, LoadReport, Proposal]:
        """Read a new export and recognise it; what a person settled about the one before is settled for it too.

        Returns the new file's name, how it was read, and what it is taken for; nothing is published.
        """
        held = self.version(dataset)
        file, report, found = self._recognised(dataset, held, as_before(sources, held.report), progress, cancelled)
        if not found.tables and as_before(sources, held.report) != list(sources):
            # It came in another dialect this time.
            self.discard(file)
            file, report, found = self._recognised(dataset, held, sources, progress, cancelled)
        again = same_ways(sources, report, held.report, found)
        if again:
            self.discard(file)
            file, report, found = self._recognised(dataset, held, again, progress, cancelled)
        files = [self._kept(s, f, keep) for s, f in zip(sources, report.sources, strict=True)]
        return file, replace(report, sources=tuple(files)), found

    def _recognised(
        self,
        dataset: Dataset,
        held: DatasetVersion,
        sources: Sequence[Source],
        progress: Progress,
        cancelled: Callable[[], bool],
    ) -> tuple[str, LoadReport, Proposal]:
        file = self._new_file(dataset)
        with _loading(sources):
            report, found = receive_in_process(
                sources,
                self._root / "corpora" / file,
                self._root / "corpora" / held.file,
                held.report,
                progress,
                cancelled,
            )
        return file, report, found

    def settle(
        self,
        dataset: Dataset,
        file: str,
        report: LoadReport,
        agreed: Proposal,
        progress: Progress,
        cancelled: Callable[[], bool],
    ) -> tuple[DatasetVersion, DataDiff]:
        """Give a received file the names that are known; returns the version it would be, and how its rows differ."""
        held = self.version(dataset)
        named, found = settle_in_process(self._beside(held, file, report), agreed, progress, cancelled)
        return self.next_version(dataset, file, named), found

    def compare(
        self, old: DatasetVersion, new: DatasetVersion, progress: Progress, cancelled: Callable[[], bool]
    ) -> DataDiff:
        """What differs between the rows of two versions."""
        return compare_in_process(self._beside(old, new.file, new.report), progress, cancelled)

    def _beside(self, held: DatasetVersion, file: str, report: LoadReport) -> TwoFiles:
        return TwoFiles(self._root / "corpora" / held.file, self._root / "corpora" / file, held.report, report)

    def delete_version(self, dataset: Dataset, number: int) -> Dataset:
        """Remove one of several versions with its rows; where it was the newest, the one before is again."""
        left = [v.number for v in self._store.versions(dataset.id) if v.number != number]
        self._store.version(dataset.id, number)
        if not left:
            raise Refused("It is the only version", next="Delete the dataset, or load its next export first.")
        file, *originals = self._store.drop_version(dataset.id, number, max(left))
        (self._root / "corpora" / file).unlink(missing_ok=True)
        for view in (self._root / "views").glob(f"{dataset.id}-v{number}-*.duckdb"):
            view.unlink(missing_ok=True)
        self._drop_originals(originals)
        return self._store.dataset(dataset.id)

    def sweep(self) -> None:
        """Remove files that nobody published within a day, such as readings looked at and never decided on."""
        known = self._store.version_files()
        for file in (self._root / "corpora").glob("*.duckdb"):
            with suppress(OSError):
                if file.name not in known and self._clock() - file.stat().st_mtime > UNDECIDED_S:
                    file.unlink()
        for file in (self._root / "originals").glob("*.gz"):
            with suppress(OSError):
                if self._clock() - file.stat().st_mtime > UNDECIDED_S:
                    self._drop_originals([file.name])

    def _read(
        self,
        dataset: Dataset,
        sources: Sequence[Source],
        base: Path | None,
        progress: Progress,
        cancelled: Callable[[], bool],
    ) -> tuple[str, LoadReport]:
        file = self._new_file(dataset)
        with _loading(sources):
            return file, load_in_process(sources, self._root / "corpora" / file, progress, cancelled, base=base)

    def _new_file(self, dataset: Dataset) -> str:
        return f"{dataset.id}-v{_next_number(dataset)}-{secrets.token_hex(3)}.duckdb"

    def _kept(self, source: Source, file: SourceFile, keep: bool) -> SourceFile:
        if keep:
            return replace(file, kept=self._keep(source.path, file.sha256))
        return replace(file, path=str(source.path.absolute()))

    def _original(self, file: SourceFile, target: Path) -> Source:
        """The file as it was uploaded: unpacked to `target`, or where it lies on the server."""
        if file.path:
            return Source(Path(file.path), file.name)
        try:
            with gzip.open(self._root / "originals" / file.kept) as reading, target.open("wb") as writing:
                shutil.copyfileobj(reading, writing, 1 << 20)
        except OSError as failure:
            raise Broken(f"The kept original of {file.name} can't be read", next="Load the file again.") from failure
        return Source(target, file.name)

    def _keep(self, source: Path, sha256: str) -> str:
        name = f"{sha256.removeprefix('sha256:')}.gz"
        target = self._root / "originals" / name
        if not target.exists():
            part = target.with_suffix(f".{secrets.token_hex(4)}.part")
            try:
                with source.open("rb") as reading, gzip.open(part, "wb", compresslevel=1) as writing:
                    shutil.copyfileobj(reading, writing, 1 << 20)
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
        return name

    def upload_path(self, suffix: str) -> Path:
        """A fresh path for an upload in progress; the client's file name is never used as a path."""
        safe = suffix.lower() if suffix.lower().lstrip(".").isalnum() and len(suffix) <= 8 else ""
        folder = self._root / "uploads" / secrets.token_hex(8)
        folder.mkdir()
        return folder / f"upload{safe}"

    def forget(self, id: str) -> None:
        """Erase everything of a dataset: rows, files, conversations, maps, traces."""
        self._store.dataset(id)
        for name in self._store.forget(id):
            (self._root / "corpora" / name).unlink(missing_ok=True)
            self._drop_originals([name] if name.endswith(".gz") else [])
        for view in (self._root / "views").glob(f"{id}-v*.duckdb"):
            view.unlink(missing_ok=True)

    def rename(self, id: str, title: str) -> None:
        """Change what people call it; the id stays."""
        clean = " ".join(title.split())[:120]
        if not clean:
            raise Refused("A dataset needs a name", next="Type one.")
        self._store.dataset(id)
        self._store.update_dataset(id, title=clean)

    def version(self, dataset: Dataset) -> DatasetVersion:
        return self._store.version(dataset.id, dataset.version)

    def columns(self, version: DatasetVersion) -> dict[str, dict[str, str]]:
        """table -> column -> DuckDB type, as read."""
        return {t.name: {c.name: c.type for c in t.columns} for t in version.report.tables}

    def view(self, version: DatasetVersion, active: Sequence[Definition]) -> View:
        """The curated view with these definitions compiled in; its file is written when it is missing."""
        corpus = self._root / "corpora" / version.file
        if not corpus.exists():
            raise Broken(
                "The dataset's file is gone from the data directory", where=version.file, next="Load the dataset again."
            )
        if not active:
            return View(RAW, corpus, None)
        # A file read anew may lack a column that a definition speaks of.
        tables = self.columns(version)
        active = [d for d in active if fits(d, tables.get(d.table, {}))]
        texts = {name: view_sql(name, columns, active) for name, columns in tables.items()}
        # The file too: a version that was read, looked at and dropped may have had the same number.
        key = content_hash({"file": version.file, "views": texts})
        file = self._root / "views" / f"{version.dataset}-v{version.number}-{key[7:23]}.duckdb"
        if not file.exists():
            write_view_file(corpus, file, texts)
        return View(key, corpus, file)

    def engine(self, view: View) -> DuckDBEngine:
        """A locked engine over the view; the caller closes it."""
        return DuckDBEngine(view.corpus, view.file, limits=self._settings.sql)

    def rejects(self, version: DatasetVersion, table: str, limit: int) -> Table:
        """(line, reason, text) of what was kept apart from a table of the version."""
        with self.engine(self.view(version, ())) as engine:
            held = engine.query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'rejects'", limit=10_000)
            if (table,) not in held.table.rows:
                return Table(("line", "reason", "text"), (), 0)
            return engine.query(rejects_sql(table), limit=limit).table

    def profile(self, version: DatasetVersion, view: View, engine: DuckDBEngine | None = None) -> Profile:
        """Profile of (version, view), computed once."""
        held = self._store.profile(version.dataset, version.number, view.hash)
        if held is not None:
            return held
        own = engine or self.engine(view)
        try:
            labels = {c.name: c.label for t in version.report.tables for c in t.columns}
            made = profile_tables(
                lambda sql: own.query(sql, limit=PROFILE_ROWS).table.rows,
                [t.name for t in version.report.tables],
                labels,
            )
        finally:
            if engine is None:
                own.close()
        self._store.save_profile(version.dataset, version.number, view.hash, made)
        return made


def rejects_sql(table: str) -> str:
    """What was kept apart from a table that has rejects: line, reason, text."""
    return f"SELECT line, reason, text FROM raw.rejects.{quoted(table)} ORDER BY line"


def _joined(before: LoadReport, added: LoadReport) -> LoadReport:
    """The report of a dataset that got further tables."""
    return LoadReport(
        (*before.sources, *added.sources),
        (*before.tables, *added.tables),
        (*before.doubts, *added.doubts),
        before.seconds + added.seconds,
        added.keys,
        (*before.spellings, *added.spellings),
    )


def run_query(engine: DuckDBEngine, limit: int = 1_000) -> RunQuery:
    """An engine as a plain query function, for evidence and effects."""

    def query(sql: str) -> Table:
        return engine.query(sql, limit=limit).table

    return query


def _next_number(dataset: Dataset) -> int:
    return max(dataset.version, int(dataset.options.get("numbered", 0))) + 1


@contextmanager
def _loading(sources: Sequence[Source]) -> Iterator[None]:
    """What the system refuses is said of the first file."""
    try:
        yield
    except OSError as failure:
        raise UnreadableFile(
            f"{sources[0].label} could not be loaded: {failure.strerror or failure}",
            next="Check free space and permissions of the data directory.",
        ) from failure


def load_sample(
    shelf: Shelf,
    generate: Callable[[Path], tuple[Path, ...]],
    *,
    title: str,
    as_of: str,
    progress: Progress = lambda stage, done: None,
) -> Dataset:
    """Generate a sample corpus and load its files as the tables of one dataset."""
    progress("generating the sample", None)
    folder = shelf.upload_path("").parent
    try:
        sources = [Source(made, made.name) for made in generate(folder)]
        return shelf.load(sources, title=title, as_of=as_of, progress=progress)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _slug(title: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in title.lower())
    return "-".join(filter(None, kept.split("-")))[:28] or "dataset"
