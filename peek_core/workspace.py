"""The workspace: one data directory and everything a person does with it. Pages and terminal call only this.

Owns: the composition of all parts; the only place that picks concrete providers, engines and stores. Refuses to know:
how anything is drawn. Reading order of the product: this file, agents/repl.py, context_pipe/pipe.py,
context_map/map.py, policies/peek.py.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from peek_core import deciding, tokens
from peek_core.agents.observation import Sharing
from peek_core.asking import Asking, Collaborators, Order
from peek_core.book import StoreBook
from peek_core.consequences import ChangedAnswer, of_definition
from peek_core.context_map.definitions import Definition
from peek_core.context_map.exchange import carried
from peek_core.context_map.map import ContextMap
from peek_core.context_map.regions import Regions, joined, of_run
from peek_core.context_map.worth import cannot_pay
from peek_core.context_pipe.assemble import Prepared
from peek_core.context_pipe.catalog import CONFIGURATIONS
from peek_core.corpus.desk import Progress
from peek_core.corpus.load import Source
from peek_core.curating.bringing import Brought
from peek_core.curation import Curator, spelling_folds
from peek_core.datasets import Shelf, View, load_sample, make_directory, run_query
from peek_core.endpoints import Endpoints
from peek_core.errors import NotFound, Refused
from peek_core.explaining import Explainer
from peek_core.jobs import CancelSignal, JobManager
from peek_core.meters import Meters
from peek_core.policies.seen import Seen, seen
from peek_core.ports import Clock, PriceBook, Provider, QueryOutcome, RunQuery
from peek_core.prices import PriceTable
from peek_core.returning import Returning
from peek_core.samples import sample
from peek_core.settings import MapSettings, Settings
from peek_core.store.sql_store import SqlStore
from peek_core.values.canon import clean_text
from peek_core.values.dataset import Dataset, DatasetVersion, LoadReport, Profile, ReadChoices
from peek_core.values.events import Event
from peek_core.values.run_view import RunView, turns
from peek_core.values.trajectory import Table, Turn

MAIN = "peek"
"""The arm of ordinary questions; others belong to comparisons."""
GLANCE_S = 0.4
"""Tabs that watch a dataset share one read of the store until this process writes; other processes' writes wait so long."""


class Workspace:
    """Open one with a Settings; close it when done. Safe from several threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = time.time,
        provider: Callable[[], Provider] | None = None,
        prices: PriceBook | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        make_directory(settings.data_dir)
        self.store = SqlStore(f"sqlite:///{settings.data_dir / 'peek.sqlite'}", clock)
        self.shelf = Shelf(settings, self.store, clock)
        self.endpoints = Endpoints(self.store, settings.endpoint, provider)
        self._count = tokens.counter()
        self._meters = Meters(settings, self.store, clock, prices or PriceTable(settings.data_dir / "prices.toml"))
        self._shared = Collaborators(settings, self.store, self.shelf, self._meters, self._count, clock, self.new_id)
        self.explaining = Explainer(self._shared, self.endpoints.planner)
        self.returning = Returning(self.store, self.shelf, self._curator_on, self.runs, MAIN)
        self._orders: dict[str, Order] = {}
        self._watched: dict[str, tuple[Event, ...]] = {}
        self._glances: dict[str, tuple[float, int, tuple[tuple[RunView, tuple[Event, ...]], ...]]] = {}
        self._glancing = threading.Lock()
        self._recovered = 0.0
        self._jobs = JobManager(settings, self.store, self._work)
        self.store.recover(settings.stale_s)
        self.shelf.sweep()
        self.store.drop_texts(clock() - settings.keep_text_days * 86_400)

    def close(self) -> None:
        """Stop what runs and close the store."""
        self._jobs.close()
        self._meters.close()
        self.store.close()

    # Datasets

    def datasets(self) -> tuple[Dataset, ...]:
        return self.store.datasets()

    def dataset(self, id_or_title: str) -> Dataset:
        """By id, or by a title only one dataset has. Raises NotFound."""
        found = [d for d in self.store.datasets() if id_or_title in (d.id, d.title)]
        exact = [d for d in found if d.id == id_or_title] or found
        if len(exact) == 1:
            return exact[0]
        if exact:
            raise NotFound(f"{len(exact)} datasets are called {id_or_title!r}", next="Use the id from `peek datasets`.")
        raise NotFound(f"There is no dataset {id_or_title!r}", next="`peek datasets` lists those there are.")

    def load(
        self,
        *files: Path | Source,
        title: str | None = None,
        into: str | None = None,
        keep: bool = True,
        progress: Progress = lambda stage, done: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Dataset:
        """Read files as the tables of a new dataset, or of the dataset `into`."""
        sources = [Source(f, f.name) if isinstance(f, Path) else f for f in files]
        held = self.store.dataset(into) if into else None
        made = self.shelf.load(sources, title=title, into=held, keep=keep, progress=progress, cancelled=cancelled)
        if held:
            self.curator(made.id).renew()
        self.curator(made.id).propose(spelling_folds(self.report(made.id)), author="reading")
        return made

    def reread(
        self,
        dataset: str,
        choices: Mapping[str, ReadChoices],
        *,
        progress: Progress = lambda stage, done: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, LoadReport]:
        """Read the originals again with other choices (by file name); nothing changes before `apply_reread`."""
        return self.shelf.reread(self.store.dataset(dataset), choices, progress, cancelled)

    def apply_reread(self, dataset: str, file: str, report: LoadReport) -> Dataset:
        """Make what was read again the dataset's newest version; its evidence is checked on it."""
        made = self.shelf.publish(self.store.dataset(dataset), file, report)
        self.curator(dataset).renew()
        self.curator(made.id).propose(spelling_folds(self.report(made.id)), author="reading")
        return made

    def load_sample(self, name: str, progress: Progress = lambda stage, done: None) -> Dataset:
        """Generate and load a sample corpus; an existing one is returned as it is."""
        corpus = sample(name)
        held = next((d for d in self.datasets() if d.options.get("sample") == name), None)
        if held:
            return held
        made = load_sample(self.shelf, corpus.generate, title=corpus.title, as_of=corpus.as_of, progress=progress)
        self.store.update_dataset(made.id, options={"sample": name})
        return self.store.dataset(made.id)

    def keep_texts(self, dataset: str, keep: bool) -> None:
        """Whether sections, steps and replies of later runs are kept; without them no call can be planned again."""
        self.store.update_dataset(dataset, options={"keep_texts": keep})

    def rename(self, dataset: str, title: str) -> None:
        self.shelf.rename(dataset, title)

    def forget(self, dataset: str) -> None:
        """Erase a dataset with everything learned and done; stops its runs first."""
        for run in self.runs(dataset, arm=None):
            if run.active:
                self._jobs.cancel(run.id)
        self.shelf.forget(dataset)
        self._meters.forget(dataset)

    def report(self, dataset: str) -> LoadReport:
        return self.shelf.version(self.store.dataset(dataset)).report

    def rejects(self, dataset: str, table: str, limit: int) -> Table:
        """(line, reason, text) of what was kept apart from a table; no rows where nothing was."""
        version = self.shelf.version(self.store.dataset(dataset))
        return self.shelf.rejects(version, table, limit)

    def profile(self, dataset: str, arm: str = MAIN) -> Profile:
        """Of the curated view as it stands."""
        version = self.shelf.version(self.store.dataset(dataset))
        return self.shelf.profile(version, self.view(dataset, arm))

    def view(self, dataset: str, arm: str = MAIN, definitions: Sequence[Definition] | None = None) -> View:
        active = self.map(dataset, arm).active if definitions is None else definitions
        return self.shelf.view(self.shelf.version(self.store.dataset(dataset)), active)

    def sql(self, dataset: str, query: str, limit: int = 1_000) -> QueryOutcome:
        """One statement on the curated view, as the agent would run it."""
        with self.shelf.engine(self.view(dataset)) as engine:
            return engine.query(query, limit=limit)

    def export_csv(self, dataset: str, query: str, target: Path, arm: str = MAIN, version: int | None = None) -> int:
        """The whole result of a query as CSV, formula starts neutralised; returns its rows. `version`: an earlier one."""
        view = self.view(dataset, arm)
        if version is not None and version != self.store.dataset(dataset).version:
            then = self.returning.map_as_of(dataset, version)
            view = self.shelf.view(self.store.version(dataset, version), then.active)
        with self.shelf.engine(view) as engine:
            return engine.export_csv(query, str(target))

    # Questions

    def ask(
        self,
        dataset: str,
        question: str,
        *,
        arm: str = MAIN,
        fixed_map: ContextMap | None = None,
        map_settings: MapSettings | None = None,
        patient: bool = False,
        without: Sequence[str] = (),
        configuration: str | None = None,
        version: int | None = None,
    ) -> str:
        """Queue a question; returns the run's id. Raises Refused for an empty or endless one, NeedsConsent.

        `patient`: start only when the question before it has been learned from (a series). `without`: ids of
        definitions that don't count for this question. `configuration`: how requests are assembled (flat, paper,
        default); None: as the settings say. `version`: ask an earlier version of the data, with the map as it stood
        then; such a question teaches nothing.
        """
        order = self._order(dataset, question, arm, fixed_map, map_settings, without, configuration)
        if version is not None and version != order.dataset.version:
            self.store.version(dataset, version)
            then = self.returning.map_as_of(dataset, version)
            held = replace(order.dataset, version=version)
            order = replace(order, dataset=held, as_of=then, learns=False)
        self._orders[order.run] = order
        self.store.add_run(
            id=order.run,
            dataset=dataset,
            version=order.dataset.version,
            arm=arm,
            map_version=None,
            question=order.question,
            analyst=self.endpoints.analyst(),
            status="running",
            phase="queued",
            created=self._clock(),
            owner=self._jobs.owner,
            patient=int(patient),
        )
        self._jobs.submitted()
        return order.run

    def dry_run(
        self, dataset: str, question: str, *, without: Sequence[str] = (), configuration: str | None = None
    ) -> Prepared:
        """What the question would send first; sends, stores and learns nothing. Raises what `ask` raises."""
        order = self._order(dataset, question, MAIN, None, None, without, configuration)
        ready = replace(order, history=self._turns(dataset, MAIN, before=""), inspected=self.inspected(dataset))
        return Asking(self._shared, ready, CancelSignal()).first_request()

    def _order(
        self,
        dataset: str,
        question: str,
        arm: str,
        fixed_map: ContextMap | None,
        map_settings: MapSettings | None,
        without: Sequence[str],
        configuration: str | None,
    ) -> Order:
        if configuration is not None and configuration not in CONFIGURATIONS:
            raise Refused(
                f"There is no configuration {configuration!r}", next=f"There are: {', '.join(CONFIGURATIONS)}."
            )
        clean = clean_text(question).strip()
        if not clean:
            raise Refused("The question is empty", next="Type what you want to know.")
        limit = self.settings.run.question_chars
        if len(clean) > limit:
            raise Refused(
                f"The question has {len(clean):,} characters, at most {limit:,} are read",
                next="Shorten it, or load the text as a dataset.",
            )
        held = self.store.dataset(dataset)
        if without:
            deciding.check_left_out(
                fixed_map or self.map(dataset, arm), without, self.shelf.columns(self.shelf.version(held))
            )
        provider = self.endpoints.provider()
        return Order(
            run=self.new_id(),
            dataset=held,
            question=clean,
            arm=arm,
            provider=provider,
            sharing=self.endpoints.sharing(held, provider),
            map_settings=map_settings or self.map_settings(held),
            history=(),
            fixed_map=fixed_map,
            without=tuple(without),
            configuration=configuration,
        )

    def _work(self, run: str, cancel: CancelSignal) -> None:
        order = self._orders.pop(run)
        history = self._turns(order.dataset.id, order.arm, before=run)
        seen = self.inspected(order.dataset.id, order.arm) if order.fixed_map is None else None
        Asking(self._shared, replace(order, history=history, inspected=seen), cancel).run()

    def wait(self, run: str, timeout_s: float = 3_600, learned: bool = True) -> RunView:
        """Block until the run has ended (and learned)."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            view = self.run(run)
            if not view.active or (not learned and view.phase == "learning"):
                return view
            time.sleep(0.02)
        return self.run(run)

    def cancel(self, run: str) -> None:
        self._jobs.cancel(run)

    def run(self, id: str) -> RunView:
        return self._run_view(self.store.run(id))

    def runs(self, dataset: str, arm: str | None = MAIN, limit: int = 200) -> tuple[RunView, ...]:
        """Oldest first."""
        return tuple(self._run_view(r) for r in self.store.runs(dataset, arm, limit))

    def active_runs(self, dataset: str, arm: str = MAIN) -> tuple[RunView, ...]:
        """Runs of an arm not yet done, oldest first; those of a dead process are marked interrupted on the way."""
        now = self._clock()
        if now - self._recovered > self.settings.heartbeat_s:
            self._recovered = now
            self.store.recover(self.settings.stale_s)
        return tuple(self._run_view(r) for r in self.store.active_runs(dataset) if r.arm == arm)

    def events(self, run: str, after: int = 0) -> tuple[Event, ...]:
        return self.store.events(run, after)

    def at_work(self, dataset: str) -> tuple[tuple[RunView, tuple[Event, ...]], ...]:
        """Active runs with their events, for whoever looks again and again."""
        with self._glancing:
            now, writes = time.monotonic(), self.store.writes
            at, known, seen = self._glances.get(dataset, (-GLANCE_S, -1, ()))
            if known != writes or now - at >= GLANCE_S:
                seen = tuple((r, self._live_events(r.id)) for r in self.active_runs(dataset))
                self._glances[dataset] = now, writes, seen
            return seen

    def _live_events(self, run: str) -> tuple[Event, ...]:
        """All events of a run that goes on; each is read from the store once per process."""
        held = self._watched.get(run, ())
        new = self.store.events(run, held[-1].seq if held else 0)
        if new:
            held = self._watched[run] = (*held, *new)
            while len(self._watched) > self.settings.jobs * 4:
                self._watched.pop(next(iter(self._watched)))
        return held

    def rate(self, run: str, feedback: str | None) -> None:
        """helpful, not_helpful or None."""
        self.store.update_run(run, feedback=feedback)

    def new_conversation(self, dataset: str) -> None:
        """Follow-ups no longer look back beyond this moment; history stays."""
        self.store.update_dataset(dataset, options={"conversation_from": self._clock()})

    # The map

    def inspected(self, dataset: str, arm: str = MAIN) -> Regions:
        """Which columns, values and periods the questions so far have looked at."""
        return joined(map(of_run, self.store.summaries(dataset, arm, 500)))

    def cannot_pay(self, dataset: str) -> str | None:
        """Why a map can hardly save anything here, where that is so."""
        return cannot_pay(self.profile(dataset), [of_run(s) for s in self.store.summaries(dataset, MAIN, 200)])

    def consequences(self, dataset: str, definition: str, arm: str = MAIN) -> tuple[ChangedAnswer, ...]:
        """Earlier answers that a definition would change, or has changed."""
        version = self.shelf.version(self.store.dataset(dataset))
        return of_definition(self.shelf, version, self.map(dataset, arm), definition, self.runs(dataset, arm))

    def map(self, dataset: str, arm: str = MAIN, number: int | None = None) -> ContextMap:
        return StoreBook(self.store, dataset, arm).at(number)

    def curator(self, dataset: str, arm: str = MAIN, settings: MapSettings | None = None) -> Curator:
        return self._curator_on(self.shelf.version(self.store.dataset(dataset)), arm, settings)

    def _curator_on(self, version: DatasetVersion, arm: str = MAIN, settings: MapSettings | None = None) -> Curator:
        held = self.store.dataset(version.dataset)

        def query_with(use: Callable[[RunQuery], Any], definitions: tuple[Definition, ...]) -> Any:
            with self.shelf.engine(self.shelf.view(version, definitions)) as engine:
                return use(run_query(engine))

        return Curator(
            StoreBook(self.store, held.id, arm),
            settings or self.map_settings(held),
            self._count[1],
            query_with,
            self.shelf.columns(version),
            version.number,
        )

    def copy_map(self, source: str, target: str, arm: str = MAIN) -> Brought:
        """Bring what is known of one dataset to another of its family: what its evidence shows there too, anew; and its
        definitions as proposals. Raises Refused for the same dataset."""
        if source == target:
            raise Refused("A map can't be copied to its own dataset", next="Name another one.")
        return self.curator(target, arm).bring(*carried(self.map(source, arm)))

    def seen(self, dataset: str, arm: str = MAIN) -> Seen:
        """What whoever answers sees of the map. Raises NeedsConsent where it was not chosen yet what may be shared."""
        held = self.store.dataset(dataset)
        literals = self.endpoints.sharing(held, self.endpoints.provider()) is not Sharing.SCHEMA_ONLY
        cap = self.map_settings(held).definition_cap
        return seen(self.map(dataset, arm), self._count[1], cap=cap, literals=literals)

    def map_settings(self, dataset: Dataset) -> MapSettings:
        """The dataset's own dials over the defaults."""
        known = asdict(self.settings.map)
        return replace(self.settings.map, **{k: v for k, v in dataset.options.get("map", {}).items() if k in known})

    def set_map(self, dataset: str, **dials: Any) -> None:
        """Change dials of a dataset's map: fields of MapSettings."""
        held = self.store.dataset(dataset)
        self.store.update_dataset(dataset, options={"map": {**held.options.get("map", {}), **dials}})

    def count_tokens(self, text: str) -> int:
        return self._count[1](text)

    def _turns(self, dataset: str, arm: str, before: str) -> tuple[Turn, ...]:
        since = self.store.dataset(dataset).options.get("conversation_from", 0.0)
        return turns([r for r in self.runs(dataset, arm, 20) if r.id != before and r.created >= since])

    def _run_view(self, row: Any) -> RunView:
        return RunView(
            row.id,
            row.dataset,
            row.arm,
            row.question,
            row.analyst,
            row.status,
            row.phase,
            row.reason,
            row.created,
            row.ended,
            row.map_version,
            self.store.trajectory(row),
            self.store.summary(row),
            row.feedback,
            row.version,
        )

    def new_id(self) -> str:
        """A new id for a run, call or comparison."""
        # Sortable by time: ids order runs and calls made within one second too.
        return f"{int(self._clock() * 1_000):011x}{secrets.token_hex(3)}"
