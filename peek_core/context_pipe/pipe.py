"""The pipe: every model request of the product goes through it, stage by stage.

Owns: the order of the five stages, sub-calls, and what happens when a request is refused for its length. Refuses to know:
what a call is for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from peek_core.context_pipe import alerts, execute, feedback, fork
from peek_core.context_pipe.assemble import Prepared, as_shadow, assemble
from peek_core.context_pipe.catalog import Configuration
from peek_core.context_pipe.packing import Packer
from peek_core.context_pipe.rules import spill
from peek_core.context_pipe.session import RunSession, Surroundings
from peek_core.errors import Broken, NotFound, PeekError, TooLong
from peek_core.values.call_trace import STEP, Decision
from peek_core.values.canon import content_hash
from peek_core.values.messages import Completion
from peek_core.values.sources import SourceRecord

RECOVERIES = 2
"""How often a request refused for its length is made shorter and tried again."""
RECALL_CHARS = 4_000


class Pipe:
    """One run's door to one provider. Implements ports.Caller; safe to call from several threads."""

    def __init__(self, around: Surroundings) -> None:
        self._a = around
        self._session = RunSession(around)
        self._packer = Packer(self._session.binder)
        self._lock = threading.Lock()
        self._n = 0

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
        self._session.notices.write(text)

    def recall(self, name: str, start: int = 0) -> str:
        """A part of a section's whole text, whatever a prompt showed of it. Raises NotFound where there is no such one."""
        record = self._session.whole.get(name)
        if record is None:
            raise NotFound(
                f"No prompt section is called {name!r}", next=f"There are: {', '.join(self._session.whole)}."
            )
        if name in self._session.shortened:
            self._a.stats.refetched()
        if failed := self._session.binder.load([record]):
            return f"({name!r} can't be read back: {failed[name].what})"
        section = self._session.binder.section(record)
        text: str | None = section.text
        if self._a.spills is not None and name in self._session.spilled:
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
        self._a.stats.run_ended(self._session.made)

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
        told, latched = self._session.told(source, records)
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
        trace = feedback.succeeded(
            a.stats,
            call,
            prepared.placed,
            done,
            analyze,
            self._session.before(source),
            a.provider.capabilities.cache,
            a.counter[1],
            self._session.notices.overflowed if source == STEP else 0,
            grows=source == STEP,
        )
        a.sink.add_call(trace, self._bodies(prepared), done.text)
        for alert in trace.alerts:
            a.emit("alert", {"source": source, "call": call.id, "name": alert.name, "cause": alert.cause})
        if analyze.truncated:
            a.emit("truncated", {"source": source, "estimated": prepared.explain.tokens, "counted": used.input})
        self._session.remember(
            source, prepared, alerts.Seen(prepared.explain, analyze), content_hash(done.text), call.at
        )

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
                    whole = self._session.binder.section(p.record)
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
        own = self._session.tokens(records)
        used, decision = fork.forked(self._session.prefix, records, own, needs_prefix, self._session.rates())
        return self._call(source, used, None, (decision,), on_first_byte)

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
        while True:
            snapshot = self._session.snapshot(config, source, records, schema, recovery, spills)
            made = assemble(snapshot, self._session.binder, self._a.provider, also)
            # What is known not to fit need not be refused first.
            if not made.overflows or not config.rules or recovery >= RECOVERIES:
                return made
            recovery += 1

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


def _worst(prepared: Prepared) -> float | None:
    """Dollars the request takes at most: nothing cached, the whole reserve used; None where no price is known."""
    rates = prepared.explain.rates
    if rates is None:
        return None
    e = prepared.explain
    return (e.tokens * rates.input * max(1.0, rates.w) + e.reserve * rates.output) / 1e6
