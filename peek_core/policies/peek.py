"""The PEEK policy: distil -> edits -> admission -> apply -> evict, after each run that teaches (Algorithm 1).

Owns: the order of an update and what each stage tells. Refuses to know: storage, engines, providers in person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from peek_core.context_map import map as maps
from peek_core.context_map.admission import admit, reads_a_table
from peek_core.context_map.cartographer import Chart, chart
from peek_core.context_map.distiller import Candidate, Distillation, distill
from peek_core.context_map.evictor import evict
from peek_core.context_map.evidence import check
from peek_core.context_map.history import MapBook, MapEvent, evicted
from peek_core.context_map.map import ContextMap, MapItem, render
from peek_core.context_map.proposals import propose
from peek_core.context_map.review import NAMES, sorted_out, suggested
from peek_core.errors import Conflict, PeekError
from peek_core.policies.records import definitions_record, map_record
from peek_core.ports import Caller, Emit, RunQuery, TokenCounter
from peek_core.settings import MapSettings
from peek_core.values.canon import canonical_json, plain
from peek_core.values.sources import SourceRecord
from peek_core.values.trajectory import TEACHES, Table, Trajectory


@dataclass(frozen=True)
class Surroundings:
    """What an update needs besides the map. `columns`: table -> column -> type; `version`: the dataset version."""

    call: Caller
    query: RunQuery
    count: TokenCounter
    emit: Emit
    columns: Mapping[str, Mapping[str, str]]
    version: int
    profile: SourceRecord
    history: tuple[str, ...] = ()
    literals: bool = True
    """Whether values may be told to the model; without, it can't rewrite texts it only saw in part."""


class PeekPolicy:
    """Contributes the map and the definitions; learns from every run that ended with an answer or honestly without."""

    name = "peek"

    def __init__(self, book: MapBook, settings: MapSettings, around: Surroundings) -> None:
        self._book, self._settings, self._around = book, settings, around
        self._seen = book.current()

    def before(self) -> tuple[SourceRecord, ...]:
        """Definitions and map as latched when the run began."""
        return self._records(self._seen)

    def _records(self, current: ContextMap) -> tuple[SourceRecord, ...]:
        a, cap = self._around, self._settings.definition_cap
        defined = definitions_record(current.definitions, literals=a.literals, fits=lambda text: a.count(text) <= cap)
        return defined, map_record(current, literals=a.literals)

    def after(self, trajectory: Trajectory) -> None:
        """Update the map; a failure is told, never raised, and leaves the map as it was."""
        current = self._book.current()
        skip = self._skip(current, trajectory)
        if skip:
            self._around.emit(
                "learned", {"version_before": current.version, "version_after": current.version, "skipped": skip}
            )
            return
        try:
            self._learn(current, trajectory)
        except PeekError as failure:
            self._around.emit(
                "learned",
                {"version_before": current.version, "version_after": current.version, "failed": failure.sentence()},
            )

    def _skip(self, current: ContextMap, trajectory: Trajectory) -> str | None:
        if trajectory.status not in TEACHES:
            return f"a run that ended as {trajectory.status.replace('_', ' ')} teaches nothing"
        if current.frozen and not (current.frozen_by == "itself" and brings_news(trajectory)):
            return f"the map is frozen: {current.frozen_why}"
        m = self._settings.evolve_steps
        if m is not None and current.questions >= m:
            return f"m = {m} questions have taught; the map no longer changes"
        return None

    def _learn(self, current: ContextMap, trajectory: Trajectory) -> None:
        a = self._around
        distillation = distill(
            a.call,
            trajectory,
            [a.profile, *self.before()],
            history=a.history,
            version=a.version,
            count=a.count,
            budget=self._settings.trajectory_tokens,
            sections=(maps.MapSection.ERRORS,) if self._settings.error_patterns else (),
        )
        query = _once_each(a.query)
        distillation = _checked(distillation, query)
        a.emit("distilled", {**distillation.as_data(), "problem": distillation.problem})
        plan = self._chart(current, distillation, query)
        a.emit(
            "edits",
            {
                "edits": [e.as_data() for e in plan.edits],
                "dropped": list(plan.dropped),
                "definitions": [c.definition for c in plan.definitions],
            },
        )
        saved = self._commit(distillation, plan, trajectory, query)
        a.emit(
            "learned",
            {
                "version_before": current.version,
                "version_after": saved.version,
                "frozen": saved.frozen_why if saved.frozen else None,
            },
        )

    def _chart(self, current: ContextMap, distillation: Distillation, query: RunQuery) -> Chart:
        """Ask for edits; where nothing was found and nothing is wrong there is nothing to ask."""
        wrong = any(name in ("harmful", "stale") for _, name, _ in distillation.tags)
        broken = _broken(current, query) if self._around.literals else []
        if not distillation.candidates and not wrong and not broken:
            return Chart((), ())
        a = self._around
        tokens = a.count(render(current.items))
        return chart(
            a.call,
            distillation,
            current,
            self._records(current),
            budget=self._settings.budget,
            tokens=tokens,
            version=a.version,
            broken=broken,
        )

    def _commit(self, distillation: Distillation, plan: Chart, trajectory: Trajectory, query: RunQuery) -> ContextMap:
        """Apply on the map as it stands now; when a person was quicker, apply again on theirs."""
        for _ in range(5):
            base = self._book.current()
            new, events = self._apply(base, distillation, plan, trajectory, query)
            try:
                saved = self._book.commit(base, new, events, run=trajectory.run)
            except Conflict:
                continue
            self._tell(events)
            return saved
        raise Conflict("The map kept changing while it learned", next="Nothing of this run was learned.")

    def _apply(
        self, base: ContextMap, distillation: Distillation, plan: Chart, trajectory: Trajectory, query: RunQuery
    ) -> tuple[ContextMap, list[MapEvent]]:
        events: list[MapEvent] = []
        new = _tagged(base, distillation, events)
        edited, told = self._edited(new, plan, trajectory, query)
        if self._settings.review:
            told = self._suggested(new, edited, told, trajectory)
        else:
            new = edited
        events += told
        new = self._proposed(new, plan.definitions, trajectory, events)
        news = _changed(base, new) or any(e.name == "suggest" for e in told)
        new = replace(new, questions=base.questions + 1, quiet=0 if news else base.quiet + 1)
        new, gone = evict(
            new, self._settings.budget, self._around.count, order=self._settings.order, grace=self._settings.grace
        )
        events += evicted(gone)
        if new.frozen and new.quiet == 0:
            new = replace(new, frozen=False, frozen_why="", frozen_by="")
            events.append(MapEvent("thaw_map", body={"why": "this question brought something new"}))
        elif not new.frozen and new.quiet >= self._settings.freeze_after:
            why = f"{new.quiet} questions in a row changed nothing"
            new = replace(new, frozen=True, frozen_why=why, frozen_by="itself")
            events.append(MapEvent("freeze_map", body={"why": why}))
        return new, events

    def _edited(
        self, new: ContextMap, plan: Chart, trajectory: Trajectory, query: RunQuery
    ) -> tuple[ContextMap, list[MapEvent]]:
        events: list[MapEvent] = []
        for proposed in plan.edits:
            found = admit(new, proposed, query, trajectory, self._around.version)
            edit, refusal = found.edit, found.refusal or self._not_allowed(found.edit)
            if refusal is None:
                new, item, refusal = maps.apply(
                    new, edit, author="agent", run=trajectory.run, question=trajectory.question, state=found.state
                )
                if refusal is None and item is not None:
                    body = {"text": item.text, "state": item.state, "section": item.section.value, "why": edit.why}
                    events.append(MapEvent(edit.op.lower(), item.id, body))
            if refusal is not None:
                events.append(MapEvent("refuse", edit.id, {**edit.as_data(), "why": refusal}))
        return new, events

    def _suggested(
        self, now: ContextMap, edited: ContextMap, told: Sequence[MapEvent], trajectory: Trajectory
    ) -> list[MapEvent]:
        known = sorted_out(self._book.events(*NAMES))
        return suggested(now, edited, told, known, run=trajectory.run, question=trajectory.question)

    def _not_allowed(self, edit: maps.Edit) -> str | None:
        if edit.section == maps.MapSection.ERRORS.value and not self._settings.error_patterns:
            return "the section for error patterns is off"
        if edit.op == "REPLACE" and not self._around.literals:
            return "the model saw the text without its values, so it can't rewrite it"
        return None

    def _proposed(
        self, new: ContextMap, candidates: Sequence[Candidate], trajectory: Trajectory, events: list[MapEvent]
    ) -> ContextMap:
        for candidate in candidates:
            new, more = propose(
                new,
                candidate.definition or {},
                self._around.columns,
                self._around.query,
                self._around.version,
                run=trajectory.run,
                question=trajectory.question,
                accept=self._settings.auto_accept,
            )
            events += more
        return new

    def _tell(self, events: Sequence[MapEvent]) -> None:
        rows = [{"name": e.name, "item": e.item, **{k: v for k, v in e.body.items() if k != "whole"}} for e in events]
        self._around.emit(
            "admission",
            {
                "admitted": [r for r in rows if r["name"] in ("add", "replace", "delete", "propose")],
                "suggested": [r for r in rows if r["name"] == "suggest"],
                "refused": [r for r in rows if r["name"] == "refuse"],
                "tagged": [r for r in rows if r["name"] == "tag"],
            },
        )
        self._around.emit("evicted", {"items": [r for r in rows if r["name"] == "evict"]})


_STATEMENT = re.compile(r"[^.?!]{8,}[.!](?:\s|$)")


def brings_news(trajectory: Trajectory) -> bool:
    """Whether a map that froze itself should look at this run: it had to orient, or the person stated something.

    A frozen map spares two model calls a question; it must not miss a correction ("refunds are negative.") or a part
    of the dataset nobody asked about before.
    """
    return trajectory.look_ups > 0 or bool(_STATEMENT.search(trajectory.question))


def _broken(current: ContextMap, query: RunQuery) -> list[tuple[MapItem, str]]:
    """Items that broke and may be mended, each with the rows its query gives now."""

    def now(item: MapItem) -> str:
        try:
            return canonical_json(plain(query(item.evidence.sql).rows[:20])) if item.evidence else ""
        except PeekError as failure:
            return f"it fails: {failure.what}"

    return [(i, now(i)) for i in current.items if i.state == "broken" and not i.untouchable]


def _once_each(query: RunQuery) -> RunQuery:
    """The same query function, which asks the engine once for each text: the data does not change within an update."""
    held: dict[str, Table] = {}

    def ask(sql: str) -> Table:
        if sql not in held:
            held[sql] = query(sql)
        return held[sql]

    return ask


def _checked(distillation: Distillation, query: RunQuery) -> Distillation:
    """The candidates with what their evidence gives, so that the Cartographer needs not guess."""

    def looked_at(c: Candidate) -> Candidate:
        if c.evidence is None or not reads_a_table(c.evidence.sql):
            return c
        done = check(c.evidence, query)
        return replace(c, found="holds" if not done.detail else done.detail)

    return replace(distillation, candidates=tuple(looked_at(c) for c in distillation.candidates))


def _tagged(base: ContextMap, distillation: Distillation, events: list[MapEvent]) -> ContextMap:
    new, seen = base, set[str]()
    for id, name, why in distillation.tags:
        if id in seen:
            continue
        seen.add(id)
        new, refusal = maps.tag(new, id, name)
        if refusal is None and maps.SCORES[name]:
            events.append(MapEvent("tag", id, {"tag": name, "why": why}))
    return new


def _changed(base: ContextMap, new: ContextMap) -> bool:
    """Whether texts or definitions changed; a new score alone is no news."""
    return [(i.id, i.text) for i in base.items] != [
        (i.id, i.text) for i in new.items
    ] or base.definitions != new.definitions
