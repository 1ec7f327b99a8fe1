"""The pipe: every model request of the product goes through `call`, stage by stage.

Owns: the order of the five stages, what a run keeps between its calls, and what happens when a request is refused for its
length. Refuses to know: what a call is for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_pipe import alerts, execute, feedback, fork
from peek_core.context_pipe.assemble import Prepared, as_shadow, assemble
from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.cache_model import KEPT, Trail, known, trail
from peek_core.context_pipe.catalog import DEFAULT, Configuration, Held, Snapshot
from peek_core.context_pipe.emergent import EmergentQueue
from peek_core.context_pipe.latch import SessionLatches
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.packing import Packer
from peek_core.context_pipe.rules import spill
from peek_core.context_pipe.rules.working import Placed
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import Broken, NotFound, PeekError, TooLong
from peek_core.ports import CancelToken, Clock, Emit, Ids, PriceBook, Provider, SpillStore, TokenCounter, TraceSink
from peek_core.values.call_trace import Base, Decision
from peek_core.values.canon import content_hash
from peek_core.values.messages import Completion
from peek_core.values.sources import SourceRecord

RECOVERIES = 2
"""How often a request refused for its length is made shorter and tried again."""
STEP = "step"
RECALL_CHARS = 4_000


@dataclass(frozen=True)
class Surroundings:
    """What a pipe works with. `counter`: its name and the counter. `shadow`: planned beside every request, never sent.
    `tokens`: counts by content hash, shared by the runs of a process."""

    run: str
    provider: Provider
    counter: tuple[str, TokenCounter]
    stats: PipelineStats
    sink: TraceSink
    ledger: Ledger
    cancel: CancelToken
    clock: Clock
    ids: Ids
    emit: Emit
    configuration: Configuration = DEFAULT
    shadow: Configuration | None = None
    prices: PriceBook | None = None
    spills: SpillStore | None = None
    tokens: dict[str, int] | None = None


class Pipe:
    """One run's door to one provider. Implements ports.Caller; safe to call from several threads."""

    def __init__(self, around: Surroundings) -> None:
        self._a = around
        self._binder = Binder(around.counter[1], around.tokens)
        self._packer = Packer(self._binder)
        self._held: dict[tuple[str, str], Held] = {}
        self._seen: dict[str, list[alerts.Seen]] = {}
        self._latches: dict[str, SessionLatches] = {}
        every = around.configuration.emergent == "append_only"
        self._queue = EmergentQueue(cap=1_000_000 if every else EmergentQueue.CAP, dedup=not every)
        self._kept_notices: list[tuple[str, SourceRecord]] = []
        self._whole: dict[str, SourceRecord] = {}
        self._beside: deque[Trail] = deque(maxlen=KEPT)
        """What the shadow's requests would have left in the cache."""
        self._prefix: fork.ForkPrefix | None = None
        self._lock = threading.Lock()
        self._n = 0
        self._made: dict[str, int] = {}

    def __call__(
        self, source: str, records: Sequence[SourceRecord], *, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Plan, bind, optimize, execute, feed back. Raises Terminal errors only."""
        return self._call(source, records, schema)

    def batch(
        self, source: str, asked: Sequence[Sequence[SourceRecord]], *, needs_prefix: bool = False
    ) -> list[Completion]:
        """Several requests that know nothing of each other, replies in order. Raises the first failure once all ended.

        Where the endpoint takes several at a time, the others start with the first reply's first token: until then
        nobody can read what the first one writes into the cache.
        """
        parallel = min(self._a.provider.capabilities.parallel, len(asked))
        if parallel <= 1:
            return [self._sub_call(source, records, needs_prefix) for records in asked]
        begun = threading.Event()
        with ThreadPoolExecutor(parallel) as pool:
            first = pool.submit(self._sub_call, source, asked[0], needs_prefix, begun.set)
            first.add_done_callback(lambda _: begun.set())
            begun.wait()
            futures: list[Future[Completion]] = [first]
            futures += [pool.submit(self._sub_call, source, records, needs_prefix) for records in asked[1:]]
            done, waiting = wait(futures, return_when="FIRST_EXCEPTION")
            if any(f.exception() for f in done):
                for f in waiting:
                    f.cancel()
        failures = [e for f in futures if not f.cancelled() and (e := f.exception())]
        if failures:
            raise failures[0]
        return [f.result() for f in futures]

    def notice(self, text: str) -> None:
        """Say something in the next request of the agent, once (an emergent item)."""
        self._queue.write(text)

    def recall(self, name: str, start: int = 0) -> str:
        """A part of a section's whole text, whatever a prompt showed of it. Raises NotFound where there is no such one."""
        record = self._whole.get(name)
        if record is None:
            raise NotFound(f"No prompt section is called {name!r}", next=f"There are: {', '.join(self._whole)}.")
        if failed := self._binder.load([record]):
            return f"({name!r} can't be read back: {failed[name].what})"
        section = self._binder.section(record)
        text: str | None = section.text
        if self._a.spills is not None and name in self._named_spilled():
            try:
                text = self._a.spills.read(section.hash)
            except PeekError:
                text = None
        if text is None:
            # Said, not raised: a spill that is gone must not end the turn.
            return f"({name!r} can't be read back: the store no longer holds {section.hash[:19]}…)"
        part = text[start : start + RECALL_CHARS]
        rest = len(text) - start - len(part)
        return part + (f"\n(… {rest:,} more characters: recall({name!r}, {start + len(part)}))" if rest > 0 else "")

    def close(self) -> None:
        """The run is over: how many requests it took, by source, is worth knowing."""
        self._a.stats.run_ended(self._made)

    def prepare(
        self,
        source: str,
        records: Sequence[SourceRecord],
        *,
        schema: Mapping[str, Any] | None = None,
        also: tuple[Decision, ...] = (),
        recovery: int = 0,
        spills: bool = True,
    ) -> Prepared:
        """The first three stages and the encoded bytes; sends and stores nothing."""
        config = self._a.configuration
        told, latched = self._told(source, records)
        made = self._assembled(config, source, told, schema, (*also, *latched), recovery, spills)
        if self._a.shadow is not None and self._a.shadow.name != config.name:
            beside = self._assembled(self._a.shadow, source, tuple(records), schema, (), 0, spills)
            made = replace(made, explain=replace(made.explain, shadow=as_shadow(beside)), beside=beside)
        return made

    # One request

    def _call(
        self,
        source: str,
        records: Sequence[SourceRecord],
        schema: Mapping[str, Any] | None = None,
        also: tuple[Decision, ...] = (),
        on_first_byte: Callable[[], None] = lambda: None,
    ) -> Completion:
        refused: TooLong | None = None
        before = tried = 0
        for recovery in range(RECOVERIES + 1):
            prepared = self.prepare(source, records, schema=schema, also=also, recovery=recovery)
            after = prepared.explain.tokens
            if refused is not None and after >= before:
                continue  # nothing got shorter: what follows goes further
            if refused is not None:
                self._a.emit("recovery", {"source": source, "tokens_before": before, "tokens_after": after})
            try:
                return self._executed(source, records, schema, also, prepared, on_first_byte)
            except TooLong as failure:
                refused, before, tried = failure, after, recovery
        assert refused is not None
        if tried == RECOVERIES:
            raise refused
        raise TooLong(
            f"{refused.what}, and nothing more of it can be left out",
            where=f"about {before:,} tokens",
            next="Ask a narrower question, or start a new conversation.",
        )

    def _executed(
        self,
        source: str,
        records: Sequence[SourceRecord],
        schema: Mapping[str, Any] | None,
        also: tuple[Decision, ...],
        prepared: Prepared,
        on_first_byte: Callable[[], None],
    ) -> Completion:
        prepared = self._spilled(source, records, schema, also, prepared)
        a, tokens = self._a, prepared.explain.tokens + prepared.explain.reserve
        usd = _worst(prepared)
        a.ledger.call(tokens, usd)
        call = self._number(source, prepared)

        def begun() -> None:
            a.emit("first_byte", {"source": source})
            on_first_byte()

        try:
            done = execute.send(a.provider, prepared.wire, a.cancel, begun)
        except PeekError as failure:
            a.ledger.settle(tokens, 0, usd, 0.0)
            a.sink.add_call(feedback.failed(a.stats, call, failure), self._bodies(prepared), None)
            raise
        self._learned(source, prepared, call, done, tokens, usd)
        return done

    def _learned(
        self, source: str, prepared: Prepared, call: feedback.Call, done: Completion, tokens: int, usd: float | None
    ) -> None:
        a, used = self._a, done.usage
        analyze = feedback.analyzed(call, done, a.prices)
        actual = (used.input or prepared.explain.tokens) + (
            used.output if used.output is not None else a.counter[1](done.text)
        )
        a.ledger.settle(tokens, actual, usd, analyze.cost.usd if analyze.cost else None)
        with self._lock:
            before = tuple(self._seen.get(source, ()))
        trace = feedback.succeeded(
            a.stats,
            call,
            prepared.placed,
            done,
            analyze,
            before,
            a.provider.capabilities.cache,
            a.counter[1],
            self._queue.overflowed if source == STEP else 0,
            grows=source == STEP,
        )
        a.sink.add_call(trace, self._bodies(prepared), done.text)
        for alert in trace.alerts:
            a.emit("alert", {"source": source, "call": call.id, "name": alert.name, "cause": alert.cause})
        if analyze.truncated:
            a.emit("truncated", {"source": source, "estimated": prepared.explain.tokens, "counted": used.input})
        self._remember(source, prepared, alerts.Seen(prepared.explain, analyze), content_hash(done.text), call.at)

    def _remember(self, source: str, prepared: Prepared, seen: alerts.Seen, reply: str, at: float) -> None:
        with self._lock:
            self._held[self._a.configuration.name, source] = prepared.held()
            if prepared.beside is not None:
                self._held[prepared.beside.explain.configuration, source] = prepared.beside.held()
                sections = [p.section for p in prepared.beside.placed]
                self._beside.append(trail(sections, self._a.provider.capabilities.cache, reply, at))
            self._seen.setdefault(source, []).append(seen)
            self._made[source] = self._made.get(source, 0) + 1
            if source == STEP:
                sizes = [s.sent for s in prepared.explain.sections]
                self._prefix = fork.freeze(prepared.placed, sizes, self._a.provider.name, self._a.provider.model)
        if source in self._latches:
            self._latches[source].carried()
            self._a.stats.latch(source, self._latches[source].values())
        if source == STEP:
            self._shown(prepared)

    def _spilled(
        self,
        source: str,
        records: Sequence[SourceRecord],
        schema: Mapping[str, Any] | None,
        also: tuple[Decision, ...],
        prepared: Prepared,
    ) -> Prepared:
        """Write what was decided to spill; where the store fails, the same request with everything whole."""
        names = prepared.named(spill.NAME)
        if not names or self._a.spills is None:
            return prepared
        try:
            for p in prepared.placed:
                if p.record.name in names:
                    whole = self._binder.section(p.record)
                    self._a.spills.write(whole.hash, whole.text)
            return prepared
        except PeekError as failure:
            down = Decision(
                spill.NAME, False, f"the store failed ({failure.what}): sent whole", 0, 0, tuple(sorted(names))
            )
            recovery = prepared.snapshot.recovery
            whole_request = self.prepare(
                source, records, schema=schema, also=(*also, down), recovery=recovery, spills=False
            )
            if whole_request.overflows:
                raise Broken(
                    f"{', '.join(sorted(names))} must be kept in the store to fit the model's window, and the store failed",
                    where=failure.what,
                    next="Check free space and permissions of the data directory, then ask again.",
                ) from None
            return whole_request

    def _sub_call(
        self,
        source: str,
        records: Sequence[SourceRecord],
        needs_prefix: bool,
        on_first_byte: Callable[[], None] = lambda: None,
    ) -> Completion:
        """A child: on the parent's prefix where that pays or is needed."""
        factors = self._a.stats.factors(self._a.provider.endpoint, self._a.provider.model)
        own = sum(self._estimate(r, factors, Held()) for r in records)
        with self._lock:
            prefix = self._prefix
        used, decision = fork.forked(prefix, records, own, needs_prefix, self._rates())
        return self._call(source, used, None, (decision,), on_first_byte)

    # What a snapshot is made of

    def _assembled(
        self,
        config: Configuration,
        source: str,
        records: tuple[SourceRecord, ...],
        schema: Mapping[str, Any] | None,
        also: tuple[Decision, ...],
        recovery: int,
        spills: bool,
    ) -> Prepared:
        snapshot = self._snapshot(config, source, records, recovery, spills)
        return assemble(snapshot, self._binder, self._a.provider, schema, also)

    def _snapshot(
        self, config: Configuration, source: str, records: tuple[SourceRecord, ...], recovery: int, spills: bool
    ) -> Snapshot:
        a, provider = self._a, self._a.provider
        caps, stats = provider.capabilities, a.stats
        factors = stats.factors(provider.endpoint, provider.model)
        rates = self._rates()
        trails = stats.trails(provider.endpoint, provider.model)
        with self._lock:
            trails = trails if config is a.configuration else (*trails[: KEPT - len(self._beside)], *self._beside)
        held = known(trails, caps.cache, a.clock())
        backend = spills and a.spills is not None
        with self._lock:
            kept = self._held.get((config.name, source), Held())
            done = self._made.get(source, 0)
        if not backend:
            kept = replace(kept, spilled=frozenset())
        return Snapshot(
            source=source,
            records=records,
            estimates=tuple(self._estimate(r, factors, kept) for r in records),
            counter=a.counter[0],
            provider=provider.name,
            model=provider.model,
            capabilities=caps,
            configuration=config,
            base=Base(
                caps.window,
                caps.budget,
                rates.cliff if rates else None,
                stats.ceiling(provider.endpoint, provider.model),
            ),
            reserves=stats.reserves(provider.model, source, caps.max_output),
            rates=rates,
            factors=factors,
            expected_calls=stats.expected_calls(source, done),
            recovery=recovery,
            held=kept,
            cache=held,
            cold=not held.entries,
            flips=self._latches[source].flipped if config.latches and source in self._latches else (),
            spill_backend=backend,
        )

    def _estimate(self, record: SourceRecord, factors: Mapping[str, float], held: Held) -> int:
        """Calibrated tokens of a record as the latest request left it; what this kind took lately where its content is not
        at hand. Pressure is that of what would be sent: what went long ago presses no more."""
        kind, name = record.kind.value, record.name
        if name in held.dropped:
            return 0
        if not self._binder.has(record):
            return record.est_tokens if record.est_tokens is not None else self._a.stats.tokens_of(kind)
        section = self._binder.section(record)
        short = (
            record.cleared
            if name in held.cleared
            else record.trimmed
            if name in held.trimmed
            else spill.placeholder(Placed(record, section))
            if name in held.spilled
            else ""
        )
        if short:
            section = self._binder.replaced(record, short)
        return round(section.tokens * factors.get(kind, 1.0))

    def _told(
        self, source: str, records: Sequence[SourceRecord]
    ) -> tuple[tuple[SourceRecord, ...], tuple[Decision, ...]]:
        """The records with latched values in place, and with the notices that are due."""
        out, decided = tuple(records), []
        if self._a.configuration.latches:
            with self._lock:
                latches = self._latches.setdefault(source, SessionLatches(self._a.stats.latched(source)))
                reading = latches.read(out)
            out = reading.records
            if reading.held:
                names = ", ".join(reading.held)
                decided.append(Decision("latches", True, f"{names}: first value of the run kept", 0, 0, reading.held))
        if source == STEP:  # recall is for the agent; a sub-call's copies of its sections may be shortened ones
            self._whole.update((record.name, record) for record in out)
            out = self._with_notices(out)
        return out, tuple(decided)

    def _with_notices(self, records: Sequence[SourceRecord]) -> tuple[SourceRecord, ...]:
        behind: dict[str, list[SourceRecord]] = {}
        for name, notice in self._kept_notices:
            behind.setdefault(name, []).append(notice)
        out: list[SourceRecord] = []
        waiting: list[SourceRecord] = []
        for record, following in zip(records, (*records[1:], None), strict=True):
            out.append(record)
            waiting += behind.get(record.name, ())
            if not (record.pair and following is not None and following.pair == record.pair):
                out, waiting = out + waiting, []
        return (*out, *self._queue.due())

    def _shown(self, prepared: Prepared) -> None:
        """Notices of a request that succeeded: gone, or kept where they stand so that the prefix stays."""
        due = {r.name: r for r in self._queue.due()}
        names = [p.record.name for p in prepared.placed]
        shown = tuple(n for n in names if n in due)
        mode, match = self._a.configuration.emergent, self._a.provider.capabilities.cache.match
        if mode == "append_only" or (mode == "kept_in_prefix_caches" and match in ("prefix", "units")):
            last = next((n for n in reversed(names) if not n.startswith("notice ")), "")
            self._kept_notices += [(last, due[n]) for n in shown]
        self._queue.advance(shown)

    def _number(self, source: str, prepared: Prepared) -> feedback.Call:
        with self._lock:
            self._n += 1
            n = self._n
            packed = self._packer.packed(prepared.snapshot)
        return feedback.Call(
            id=self._a.ids(),
            run=self._a.run,
            source=source,
            n=n,
            explain=prepared.explain,
            endpoint=self._a.provider.endpoint,
            wire_hash=prepared.wire_hash,
            wire_bytes=len(prepared.wire),
            at=self._a.clock(),
            snapshot=packed,
        )

    def _bodies(self, prepared: Prepared) -> dict[str, str]:
        """What the trace speaks of and the store does not have from this run yet."""
        with self._lock:
            new, self._packer.bodies = self._packer.bodies, {}
        return new | feedback.bodies(prepared.placed)

    def _named_spilled(self) -> frozenset[str]:
        with self._lock:
            return self._held.get((self._a.configuration.name, STEP), Held()).spilled

    def _rates(self) -> Any:
        a = self._a
        return a.prices.rates(a.provider.model, a.provider.endpoint, a.clock()) if a.prices else None


def _worst(prepared: Prepared) -> float | None:
    """Dollars the request takes at most: nothing cached, the whole reserve used; None where no price is known."""
    rates = prepared.explain.rates
    if rates is None:
        return None
    e = prepared.explain
    return (e.tokens * rates.input * max(1.0, rates.w) + e.reserve * rates.output) / 1e6
