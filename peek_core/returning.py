"""The dataset returns: a new export is read, recognised, held against what is known, and accepted or dropped.

Owns: the order of that, as-of versions, comparing any two, deleting one. Refuses to know: how columns are matched, how rows
are compared, pages and terminals. Nothing changes before `accept`.
"""

from __future__ import annotations

import calendar
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rapidfuzz import fuzz

from peek_core.book import StoreBook
from peek_core.consequences import rerun
from peek_core.context_map.definitions import Definition
from peek_core.context_map.history import NEW_DATA
from peek_core.context_map.map import ContextMap
from peek_core.corpus.desk import Progress
from peek_core.corpus.load import Source
from peek_core.curation import Curator, spelling_folds
from peek_core.datasets import Shelf, run_query
from peek_core.errors import PeekError, Refused
from peek_core.impact import Impact, definition_outcomes, item_outcomes, moved_numbers
from peek_core.ports import RunQuery
from peek_core.samples import NAMES, SampleCorpus, sample
from peek_core.store.sql_store import SqlStore
from peek_core.values.codec import dump, load
from peek_core.values.dataset import Dataset, DatasetVersion, LoadReport
from peek_core.values.run_view import RunView
from peek_core.values.versions import DataDiff, Proposal

CHANGING = frozenset(m.lower() for m in (*calendar.month_name, *calendar.month_abbr)) | {
    "copy",
    "final",
    "new",
    "export",
}
CuratorOn = Callable[[DatasetVersion], Curator]
"""A curator of the dataset's map over the rows of a version, published or not."""


@dataclass(frozen=True)
class Arrival:
    """A new export, read and recognised; nothing is changed yet."""

    dataset: Dataset
    file: str
    report: LoadReport
    proposal: Proposal
    as_of: str | None = None
    """The day a sample's export is asked on."""


@dataclass(frozen=True)
class Settled:
    """An arrival under the names that are known, and what accepting it would mean."""

    dataset: Dataset
    version: DatasetVersion
    impact: Impact
    as_of: str | None = None


@dataclass(frozen=True)
class Depends:
    """What belongs to one version of a dataset."""

    number: int
    questions: int
    """Asked of it; their answers stay, but can't be run again on these rows."""
    map_versions: int
    """Versions of the map that were verified on it."""
    newest: bool


ALIKE = 80
"""How alike two file names have to be, of 100."""


def _stem(name: str) -> str:
    """A file's name without what changes from export to export: numbers, months, copies."""
    words = re.split(r"[\W_\d]+", Path(name).stem.lower())
    return " ".join(w for w in words if w and w not in CHANGING)


def _silent(stage: str, done: float | None) -> None: ...


class Returning:
    """What a person does with the versions of datasets. `runs` gives the questions of a dataset, oldest first."""

    def __init__(
        self, store: SqlStore, shelf: Shelf, curator: CuratorOn, runs: Callable[[str], Sequence[RunView]], arm: str
    ) -> None:
        self._store, self._shelf, self._curator, self._runs, self._arm = store, shelf, curator, runs, arm

    def receive(
        self,
        dataset: str,
        sources: Sequence[Source],
        *,
        keep: bool = True,
        progress: Progress = _silent,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Arrival:
        """Read a new export of the dataset and say what it is taken for. Raises UnreadableFile, Refused, Cancelled."""
        held = self._store.dataset(dataset)
        file, report, found = self._shelf.receive(held, sources, keep, progress, cancelled)
        known = {s.sha256 for s in self._shelf.version(held).report.sources}
        if {s.sha256 for s in report.sources} <= known:
            self._shelf.discard(file, report.sources)
            raise Refused(
                f"{report.sources[0].name} is, byte for byte, what version {held.version} was read from",
                next="There is nothing new to load.",
            )
        return Arrival(held, file, report, found)

    def next_sample(self, dataset: str) -> SampleCorpus | None:
        """The sample corpus whose next export was not read yet; None where the dataset is none, or has no other."""
        held = self._store.dataset(dataset)
        corpus = sample(held.options["sample"]) if held.options.get("sample") in NAMES else None
        return corpus if corpus is not None and corpus.next_export is not None and held.version == 1 else None

    def receive_sample(self, dataset: str, progress: Progress = _silent) -> Arrival:
        """The next export of a sample corpus. Raises Refused where there is none."""
        corpus = self.next_sample(dataset)
        if corpus is None or corpus.next_export is None:
            raise Refused("This dataset has no further export to show", next="Load a file of your own.")
        folder = self._shelf.upload_path("").parent
        try:
            made = corpus.next_export(folder)
            return replace(self.receive(dataset, [Source(made, made.name)], progress=progress), as_of=corpus.next_as_of)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def settle(
        self,
        arrival: Arrival,
        agreed: Proposal | None = None,
        *,
        progress: Progress = _silent,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Settled:
        """Give the arrival known names, as proposed or as agreed, and work out what accepting it would mean."""
        taken = agreed or arrival.proposal
        try:
            version, data = self._shelf.settle(
                arrival.dataset, arrival.file, arrival.report, taken, progress, cancelled
            )
            current = StoreBook(self._store, arrival.dataset.id, self._arm).current()
            found = self._impact(self._shelf.version(arrival.dataset), version, current, data, progress)
        except BaseException:
            self._shelf.discard(arrival.file, arrival.report.sources)
            raise
        return Settled(arrival.dataset, version, found, arrival.as_of)

    def accept(self, settled: Settled) -> Dataset:
        """Make it the dataset's newest version, and hold the map against it as the report said."""
        now = self._store.dataset(settled.dataset.id)
        if now.version != settled.dataset.version:
            self.drop(settled)
            raise Refused(
                "Another version came meanwhile", next="Load the file again, it is then held against that one."
            )
        made = self._shelf.publish(now, settled.version.file, settled.version.report)
        if settled.as_of:
            days = {**made.options.get("as_of", {}), str(made.version): settled.as_of}
            self._store.update_dataset(made.id, options={"as_of": days})
        curator = self._curator(self._shelf.version(made))
        curator.renew(moved_numbers(settled.impact.data))
        curator.propose(spelling_folds(settled.version.report), author="reading")
        body = dump(replace(settled.impact, after=made.version))
        self._store.save_impact(made.id, settled.dataset.version, made.version, body)
        return made

    def drop(self, what: Arrival | Settled) -> None:
        """Leave everything as it was."""
        if isinstance(what, Settled):
            self._shelf.discard(what.version.file, what.version.report.sources)
        else:
            self._shelf.discard(what.file, what.report.sources)

    def likely(self, names: Sequence[str]) -> str | None:
        """The dataset whose newest files are called much like these, months and counters aside; None for none or several."""
        wanted = [_stem(name) for name in names]
        found = [
            d.id
            for d in self._store.datasets()
            if any(
                fuzz.ratio(a, _stem(s.name)) >= ALIKE
                for a in wanted
                for s in self._store.version(d.id, d.version).report.sources
            )
        ]
        return found[0] if len(found) == 1 else None

    # Versions that are there

    def versions(self, dataset: str) -> tuple[DatasetVersion, ...]:
        """Oldest first."""
        return self._store.versions(dataset)

    def impact(
        self,
        dataset: str,
        before: int | None = None,
        after: int | None = None,
        *,
        progress: Progress = _silent,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Impact:
        """What version `after` (None: the newest) meant against `before` (None: the one before it). Raises NotFound, Refused.

        As it was found when the version came, where it was; else worked out now.
        """
        numbers = [v.number for v in self._store.versions(dataset)]
        newest = after if after is not None else self._store.dataset(dataset).version
        earlier = [n for n in numbers if n < newest]
        if before is None and not earlier:
            raise Refused("There is no version before it", next="`peek load FILE --into DATASET` makes the next one.")
        oldest = before if before is not None else earlier[-1]
        held = self._store.impact_body(dataset, oldest, newest)
        if held is not None:
            return load(Impact, held)
        old, new = self._store.version(dataset, oldest), self._store.version(dataset, newest)
        data = self._shelf.compare(old, new, progress, cancelled)
        return self._impact(old, new, self.map_as_of(dataset, oldest), data, progress)

    def map_as_of(self, dataset: str, number: int) -> ContextMap:
        """The map as it stood when version `number` of the data was the newest."""
        book = StoreBook(self._store, dataset, self._arm)
        later = [told.version for told in book.events(NEW_DATA) if told.event.body["version"] > number]
        return book.at(min(later) - 1) if later else book.current()

    def depends(self, dataset: str, number: int) -> Depends:
        """What deleting a version would leave without its rows."""
        book = StoreBook(self._store, dataset, self._arm)
        marks = sorted((told.event.body["version"], told.version) for told in book.events(NEW_DATA))
        start = max((at for version, at in marks if version <= number), default=1)
        end = min((at for version, at in marks if version > number), default=book.current().version + 1)
        questions = self._store.runs_by_version(dataset).get(number, 0)
        newest = self._store.dataset(dataset).version
        return Depends(number, questions, max(0, end - start), number == newest)

    def delete(self, dataset: str, number: int) -> Dataset:
        """Remove a version; where it was the newest, the map is held against the one before. Raises Refused, NotFound."""
        before = self._store.dataset(dataset)
        made = self._shelf.delete_version(before, number)
        if made.version != before.version:
            self._curator(self._shelf.version(made)).renew()
        return made

    # The report

    def _impact(
        self,
        old: DatasetVersion,
        new: DatasetVersion,
        current: ContextMap,
        data: DataDiff,
        progress: Progress,
    ) -> Impact:
        progress("checking the map", None)
        after, _ = self._curator(new).renewed(current, moved_numbers(data))
        progress("running earlier answers again", None)
        with (
            self._shelf.engine(self._shelf.view(old, current.active)) as was,
            self._shelf.engine(self._shelf.view(new, after.active)) as now,
        ):
            answers, ran = rerun(self._runs(old.dataset), run_query(was), run_query(now))
            unlabelled = _unlabelled(after.active, run_query(now))
        return Impact(
            old.dataset,
            old.number,
            new.number,
            data,
            item_outcomes(current, after),
            definition_outcomes(current, after, unlabelled),
            answers,
            ran,
        )


def _unlabelled(active: Sequence[Definition], query: RunQuery) -> dict[str, int]:
    """For each label column, how many distinct values have no label yet."""
    found = {}
    for d in active:
        if d.kind != "label_column":
            continue
        column, made = (f'"{name}"' for name in (d.column, d.new_column))
        sql = f'SELECT count(DISTINCT {column}) FROM "{d.table}" WHERE {column} IS NOT NULL AND {made} IS NULL'
        try:
            found[d.id] = int(query(sql).rows[0][0])
        except PeekError:
            continue
    return found
