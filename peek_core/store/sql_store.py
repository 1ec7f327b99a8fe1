"""The store over SQLAlchemy Core: datasets, runs, events, call traces, map versions.

Owns: every write to the database and its transactions. Refuses to know: what a run or a map means.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from peek_core.errors import Conflict, NotFound
from peek_core.store import schema as t
from peek_core.store.call_rows import CallRows
from peek_core.values.codec import dump, load
from peek_core.values.dataset import Dataset, DatasetVersion, LoadReport, Profile
from peek_core.values.events import Event
from peek_core.values.trajectory import Trajectory


class Act(Protocol):
    """One act on a map, as its event row keeps it."""

    @property
    def name(self) -> str: ...
    @property
    def item(self) -> str: ...
    @property
    def body(self) -> Mapping[str, Any]: ...
    @property
    def author(self) -> str: ...


class SqlStore(CallRows):
    """All of it behind plain methods; each call is one transaction."""

    # Datasets

    def add_version(self, dataset: Dataset, version: DatasetVersion, originals: Sequence[str]) -> None:
        """A new dataset, or a new version of one; `originals` name the kept uploads."""
        with self._write() as c:
            known = c.execute(select(t.datasets.c.id).where(t.datasets.c.id == dataset.id)).first()
            row = {
                "id": dataset.id,
                "title": dataset.title,
                "created": dataset.created,
                "version": dataset.version,
                "as_of": dataset.as_of,
                "options": dump(dataset.options),
            }
            if known:
                c.execute(update(t.datasets).where(t.datasets.c.id == dataset.id).values(version=dataset.version))
            else:
                c.execute(insert(t.datasets).values(row))
            c.execute(
                insert(t.versions).values(
                    dataset=version.dataset,
                    number=version.number,
                    created=version.created,
                    file=version.file,
                    originals=" ".join(originals),
                    report=dump(version.report),
                )
            )

    def datasets(self) -> tuple[Dataset, ...]:
        """Newest first."""
        return tuple(_dataset(r) for r in self._rows(select(t.datasets).order_by(t.datasets.c.created.desc())))

    def dataset(self, id: str) -> Dataset:
        """Raises NotFound."""
        rows = self._rows(select(t.datasets).where(t.datasets.c.id == id))
        if not rows:
            raise NotFound(f"There is no dataset {id!r}", next="`peek datasets` lists those there are.")
        return _dataset(rows[0])

    def update_dataset(self, id: str, *, title: str | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Change the title, and those options that are named; the others stay."""
        d, values = t.datasets, {} if title is None else {"title": title}
        with self._write() as c:
            if options is not None:
                held = c.execute(select(d.c.options).where(d.c.id == id)).scalar()
                values["options"] = dump({**json.loads(held or "{}"), **options})
            c.execute(update(d).where(d.c.id == id).values(**values))

    def version(self, dataset: str, number: int) -> DatasetVersion:
        rows = self._rows(select(t.versions).where(t.versions.c.dataset == dataset, t.versions.c.number == number))
        if not rows:
            raise NotFound(f"Dataset {dataset!r} has no version {number}")
        r = rows[0]
        return DatasetVersion(r.dataset, r.number, r.created, r.file, load(LoadReport, r.report))

    def versions(self, dataset: str) -> tuple[DatasetVersion, ...]:
        """Oldest first."""
        v = t.versions.c
        rows = self._rows(select(t.versions).where(v.dataset == dataset).order_by(v.number))
        return tuple(DatasetVersion(r.dataset, r.number, r.created, r.file, load(LoadReport, r.report)) for r in rows)

    def drop_version(self, dataset: str, number: int, newest: int) -> tuple[str, ...]:
        """Remove a version, `newest` being the dataset's then; returns its file and originals. Its number stays used."""
        v, d = t.versions, t.datasets
        where = (v.c.dataset == dataset, v.c.number == number)
        with self._write() as c:
            row = c.execute(select(v.c.file, v.c.originals).where(*where)).one()
            held = json.loads(c.execute(select(d.c.options).where(d.c.id == dataset)).scalar_one())
            options = {**held, "numbered": max(number, held.get("numbered", 0))}
            c.execute(delete(v).where(*where))
            for other, column in ((t.profiles, "version"), (t.impacts, "before"), (t.impacts, "after")):
                c.execute(delete(other).where(other.c.dataset == dataset, other.c[column] == number))
            c.execute(update(d).where(d.c.id == dataset).values(version=newest, options=dump(options)))
        self.wipe()
        return (row.file, *row.originals.split())

    def save_impact(self, dataset: str, before: int, after: int, body: str) -> None:
        with self._write() as c, contextlib.suppress(IntegrityError):
            c.execute(insert(t.impacts).values(dataset=dataset, before=before, after=after, body=body))

    def impact_body(self, dataset: str, before: int, after: int) -> str | None:
        i = t.impacts.c
        rows = self._rows(select(i.body).where(i.dataset == dataset, i.before == before, i.after == after))
        return rows[0].body if rows else None

    def runs_by_version(self, dataset: str) -> dict[int, int]:
        """Dataset version -> how many questions were asked of it."""
        r = t.runs.c
        asked = select(r.version, func.count().label("n")).where(r.dataset == dataset).group_by(r.version)
        return {int(row.version): int(row.n) for row in self._rows(asked)}

    def version_files(self) -> frozenset[str]:
        """Names of the corpus files of all versions."""
        return frozenset(str(r.file) for r in self._rows(select(t.versions.c.file)))

    def profile(self, dataset: str, version: int, view: str) -> Profile | None:
        p = t.profiles
        rows = self._rows(select(p.c.body).where(p.c.dataset == dataset, p.c.version == version, p.c.view == view))
        return load(Profile, rows[0].body) if rows else None

    def save_profile(self, dataset: str, version: int, view: str, profile: Profile) -> None:
        with self._write() as c, contextlib.suppress(IntegrityError):
            c.execute(insert(t.profiles).values(dataset=dataset, version=version, view=view, body=dump(profile)))

    def forget(self, dataset: str) -> tuple[str, ...]:
        """Remove every row of the dataset; returns the version files and originals that are now nobody's."""
        rows = self._rows(select(t.versions.c.file, t.versions.c.originals).where(t.versions.c.dataset == dataset))
        with self._write() as c:
            for table in reversed(t.metadata.sorted_tables):
                if "dataset" in table.c:
                    c.execute(delete(table).where(table.c.dataset == dataset))
            c.execute(delete(t.datasets).where(t.datasets.c.id == dataset))
        self.wipe()
        return tuple(dict.fromkeys(x for r in rows for x in (r.file, *r.originals.split())))

    def uses_original(self, original: str) -> bool:
        """Whether any version still needs this kept original."""
        held = t.versions.c.originals.contains(original, autoescape=True)
        return bool(self._rows(select(t.versions.c.dataset).where(held).limit(1)))

    # Runs

    def add_run(self, **row: Any) -> None:
        with self._write() as c:
            c.execute(
                insert(t.runs).values(
                    reason="",
                    ended=None,
                    cancel=0,
                    trajectory=None,
                    summary=None,
                    feedback=None,
                    heartbeat=self._clock(),
                    **row,
                )
            )

    def run(self, id: str) -> Row[Any]:
        """Raises NotFound."""
        rows = self._rows(select(t.runs).where(t.runs.c.id == id))
        if not rows:
            raise NotFound(f"There is no run {id!r}")
        return rows[0]

    def runs(self, dataset: str, arm: str | None = None, limit: int = 200) -> tuple[Row[Any], ...]:
        """The latest runs of a dataset, oldest first."""
        query = select(t.runs).where(t.runs.c.dataset == dataset)
        if arm is not None:
            query = query.where(t.runs.c.arm == arm)
        return tuple(reversed(self._rows(query.order_by(t.runs.c.created.desc(), t.runs.c.id.desc()).limit(limit))))

    def run_heads(self, dataset: str, arm: str | None = None, limit: int = 200) -> tuple[Row[Any], ...]:
        """As `runs`, without what the runs did and gave."""
        r = t.runs.c
        query = select(r.id, r.arm, r.question, r.analyst, r.status, r.phase, r.created, r.ended, r.reason)
        query = query.where(r.dataset == dataset)
        if arm is not None:
            query = query.where(r.arm == arm)
        return tuple(reversed(self._rows(query.order_by(r.created.desc(), r.id.desc()).limit(limit))))

    def update_run(self, id: str, **values: Any) -> None:
        with self._write() as c:
            c.execute(update(t.runs).where(t.runs.c.id == id).values(**values))

    def now(self) -> float:
        return self._clock()

    def claim_run(self, owner: str, running: int) -> Row[Any] | None:
        """Take this owner's oldest queued run, if fewer than `running` are being worked on and none of the same dataset
        and arm is (a follow-up needs the answer before it). A patient run also waits until that arm has learned."""
        r = t.runs
        with self._write() as c:
            alive = c.execute(select(func.count()).where(r.c.phase.in_(("working", "learning")))).scalar_one()
            if alive >= running:
                return None
            busy = {
                (b.dataset, b.arm, b.phase)
                for b in c.execute(
                    select(r.c.dataset, r.c.arm, r.c.phase).where(r.c.phase.in_(("working", "learning")))
                )
            }
            waiting = c.execute(
                select(r).where(r.c.phase == "queued", r.c.owner == owner).order_by(r.c.created, r.c.id).limit(200)
            ).all()
            row = next(
                (
                    w
                    for w in waiting
                    if (w.dataset, w.arm, "working") not in busy
                    and not (w.patient and (w.dataset, w.arm, "learning") in busy)
                ),
                None,
            )
            if row is None:
                return None
            taken = c.execute(
                update(r)
                .where(r.c.id == row.id, r.c.phase == "queued")
                .values(phase="working", heartbeat=self._clock())
            )
            return row if taken.rowcount == 1 else None

    def has_queued(self, owner: str) -> bool:
        return bool(self._rows(select(t.runs.c.id).where(t.runs.c.phase == "queued", t.runs.c.owner == owner).limit(1)))

    def beat(self, owner: str) -> None:
        """Say that this owner's runs are alive."""
        with self._write() as c:
            c.execute(
                update(t.runs).where(t.runs.c.owner == owner, t.runs.c.phase != "done").values(heartbeat=self._clock())
            )

    def request_cancel(self, run: str) -> None:
        """Note the wish; a run that was still queued ends here."""
        r = t.runs
        with self._write() as c:
            c.execute(update(r).where(r.c.id == run).values(cancel=1))
            c.execute(
                update(r)
                .where(r.c.id == run, r.c.phase == "queued")
                .values(phase="done", status="cancelled", reason="Stopped before it began.", ended=self._clock())
            )

    def cancel_requested(self, run: str) -> bool:
        return bool(self._rows(select(t.runs.c.id).where(t.runs.c.id == run, t.runs.c.cancel == 1)))

    def recover(self, stale_s: float) -> int:
        """Mark runs whose owner stopped beating as interrupted (an answered one stays answered); returns how many."""
        r, stale = t.runs, self._clock() - stale_s
        with self._write() as c:
            done = c.execute(
                update(r)
                .where(r.c.phase.in_(("queued", "working")), r.c.heartbeat < stale)
                .values(
                    status="interrupted",
                    phase="done",
                    ended=self._clock(),
                    reason="The server stopped while this question was being worked on. Ask it again.",
                )
            )
            c.execute(update(r).where(r.c.phase == "learning", r.c.heartbeat < stale).values(phase="done"))
            return int(done.rowcount)

    def trajectory(self, row: Row[Any]) -> Trajectory | None:
        return load(Trajectory, row.trajectory) if row.trajectory else None

    def summary(self, row: Row[Any]) -> dict[str, Any]:
        """What was stored beside the run's end; empty while it runs."""
        held: dict[str, Any] = json.loads(row.summary) if row.summary else {}
        return held

    def summaries(self, dataset: str, arm: str, limit: int) -> tuple[dict[str, Any], ...]:
        """Those of the latest runs, oldest first, without reading what the runs did."""
        r = t.runs.c
        latest = select(r.summary).where(r.dataset == dataset, r.arm == arm).order_by(r.created.desc(), r.id.desc())
        return tuple(self.summary(row) for row in reversed(self._rows(latest.limit(limit))))

    def active_runs(self, dataset: str) -> tuple[Row[Any], ...]:
        """Runs not yet done, oldest first."""
        r = t.runs
        return tuple(self._rows(select(r).where(r.c.dataset == dataset, r.c.phase != "done").order_by(r.c.created)))

    def is_learning(self, dataset: str, arm: str) -> bool:
        """Whether an update of this arm's map is still going on."""
        r = t.runs
        return bool(
            self._rows(select(r.c.id).where(r.c.dataset == dataset, r.c.arm == arm, r.c.phase == "learning").limit(1))
        )

    def drop_events(self, run: str, but: Sequence[str]) -> None:
        """Remove a run's events, save those of these names."""
        with self._write() as c:
            c.execute(delete(t.events).where(t.events.c.run == run, t.events.c.name.not_in(but)))
        self.wipe()

    def add_event(self, dataset: str, e: Event) -> None:
        with self._write() as c:
            c.execute(
                insert(t.events).values(run=e.run, seq=e.seq, dataset=dataset, name=e.name, at=e.at, body=dump(e.body))
            )

    def events(self, run: str, after: int = 0, name: str | None = None) -> tuple[Event, ...]:
        """In order; only those called `name` where it is given."""
        e = t.events
        query = select(e).where(e.c.run == run, e.c.seq > after)
        query = query if name is None else query.where(e.c.name == name)
        rows = self._rows(query.order_by(e.c.seq))
        return tuple(Event(r.run, r.seq, r.name, r.at, json.loads(r.body)) for r in rows)

    # Maps

    def map_body(self, dataset: str, arm: str, number: int | None = None) -> str | None:
        """The newest map's JSON, or that of the version asked for; None where none was saved."""
        m = t.maps
        query = select(m.c.body).where(m.c.dataset == dataset, m.c.arm == arm)
        query = query.where(m.c.number == number) if number is not None else query.order_by(m.c.number.desc()).limit(1)
        rows = self._rows(query)
        return rows[0].body if rows else None

    def save_map(
        self, dataset: str, arm: str, number: int, body: str, acts: Sequence[Act], run: str, author: str
    ) -> None:
        """Save a version with its events; raises Conflict when that version number is taken."""
        key = {"dataset": dataset, "arm": arm, "number": number, "at": self._clock(), "run": run}
        try:
            with self._write() as c:
                c.execute(insert(t.maps).values(**key, author=author, body=body))
                rows = [{**key, "author": a.author, "name": a.name, "item": a.item, "body": dump(a.body)} for a in acts]
                if rows:
                    c.execute(insert(t.map_events), rows)
        except IntegrityError as taken:
            raise Conflict(
                "The map was changed by somebody else meanwhile", next="Look at it and try again."
            ) from taken

    def map_versions(self, dataset: str, arm: str) -> tuple[Row[Any], ...]:
        m = t.maps
        return tuple(
            self._rows(
                select(m.c.number, m.c.at, m.c.run, m.c.author)
                .where(m.c.dataset == dataset, m.c.arm == arm)
                .order_by(m.c.number)
            )
        )

    def map_events(
        self,
        dataset: str,
        arm: str,
        number: int | None = None,
        run: str | None = None,
        names: Sequence[str] = (),
        item: str | None = None,
    ) -> tuple[Row[Any], ...]:
        """Oldest first; `names`: only events called so, `item`: only those of that item or definition."""
        e = t.map_events
        query = select(e).where(e.c.dataset == dataset, e.c.arm == arm)
        query = query.where(e.c.number == number) if number is not None else query
        query = query.where(e.c.run == run) if run is not None else query
        query = query.where(e.c.name.in_(names)) if names else query
        query = query.where(e.c.item == item) if item is not None else query
        return tuple(self._rows(query.order_by(e.c.id)))

    def map_outline(self, dataset: str, arm: str, paths: Sequence[str]) -> tuple[Any, ...]:
        """All events of a map, oldest first: (id, number, at, run, name, item, author, and of the body what stands at each
        JSON path, None where nothing does)."""
        e = t.map_events.c
        told = [func.json_extract(e.body, path) for path in paths]
        query = select(e.id, e.number, e.at, e.run, e.name, e.item, e.author, *told)
        return tuple(self._rows(query.where(e.dataset == dataset, e.arm == arm).order_by(e.id)))

    def run_questions(self, dataset: str, arm: str) -> dict[str, str]:
        """Run -> its question."""
        r = t.runs.c
        return {
            q.id: q.question for q in self._rows(select(r.id, r.question).where(r.dataset == dataset, r.arm == arm))
        }

    def items_named(self, dataset: str, arm: str) -> tuple[Row[Any], ...]:
        """(run, at, version, items) of every answer, oldest first: the map's version it had, and the ids of the items it
        named as JSON text, None where it named none."""
        e, r = t.events.c, t.runs.c
        items = func.json_extract(e.body, "$.answer.items_used").label("items")
        query = select(e.run, e.at, r.map_version.label("version"), items).join(t.runs, r.id == e.run)
        query = query.where(e.dataset == dataset, r.arm == arm, e.name == "answer")
        return tuple(self._rows(query.order_by(e.at, e.run)))


def _dataset(r: Row[Any]) -> Dataset:
    return Dataset(r.id, r.title, r.created, r.version, r.as_of, json.loads(r.options))
