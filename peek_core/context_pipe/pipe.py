"""The pipe: every model request of the product goes through `call`, stage by stage.

Owns: the order of the five stages and what a session keeps between calls. Refuses to know: what a call is for.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peek_core.context_pipe import execute, feedback
from peek_core.context_pipe.bind import Binder, bind
from peek_core.context_pipe.catalog import DEFAULT, Configuration, Snapshot
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.optimize import optimize
from peek_core.context_pipe.plan import plan
from peek_core.context_pipe.rules.working import Placed, RuleContext
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import PeekError
from peek_core.ports import CancelToken, Clock, Emit, Ids, Provider, TokenCounter, TraceSink
from peek_core.values.call_trace import Explain
from peek_core.values.messages import Completion
from peek_core.values.sources import SourceRecord


@dataclass(frozen=True)
class Prepared:
    """A request ready to send; where a dry run stops."""

    placed: tuple[Placed, ...]
    explain: Explain
    wire: bytes

    @property
    def wire_hash(self) -> str:
        return "sha256:" + hashlib.sha256(self.wire).hexdigest()


class Pipe:
    """One run's door to one provider. Implements ports.Caller; safe to call from several threads."""

    def __init__(
        self,
        *,
        run: str,
        provider: Provider,
        counter: tuple[str, TokenCounter],
        stats: PipelineStats,
        sink: TraceSink,
        ledger: Ledger,
        cancel: CancelToken,
        clock: Clock,
        ids: Ids,
        emit: Emit,
        configuration: Configuration = DEFAULT,
    ) -> None:
        self._run, self._provider, self._stats, self._sink = run, provider, stats, sink
        self._counter_name, count = counter
        self._binder = Binder(count)
        self._count = count
        self._ledger, self._cancel, self._clock, self._ids, self._emit = ledger, cancel, clock, ids, emit
        self._configuration = configuration
        self._cleared: dict[str, frozenset[str]] = {}
        self._previous: dict[str, tuple[tuple[str, int], ...]] = {}
        self._lock = threading.Lock()
        self._n = 0

    def __call__(
        self, source: str, records: Sequence[SourceRecord], *, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Plan, bind, optimize, execute, feed back. Raises Terminal errors only."""
        prepared = self.prepare(source, records, schema=schema)
        self._ledger.spend("model_calls")
        reserved = prepared.explain.tokens + prepared.explain.reserve
        self._ledger.spend("tokens", reserved)
        call = self._number(source, prepared)
        try:
            done = execute.send(self._provider, prepared.wire, self._cancel, self._first_byte(source))
        except PeekError as failure:
            self._ledger.settle(reserved, 0)
            feedback.failed(self._stats, self._sink, call, prepared.placed, failure)
            raise
        used = done.usage
        self._ledger.settle(reserved, (used.input or prepared.explain.tokens) + (used.output or self._count(done.text)))
        feedback.succeeded(self._stats, self._sink, call, prepared.placed, done, self._count)
        self._remember(source, prepared)
        return done

    def prepare(
        self, source: str, records: Sequence[SourceRecord], *, schema: Mapping[str, Any] | None = None
    ) -> Prepared:
        """The first three stages and the encoded bytes; sends and stores nothing."""
        sections = bind(self._binder, records)
        snapshot = self._snapshot(source, tuple(records), tuple(s.tokens for s in sections))
        context = RuleContext(snapshot, plan(snapshot), self._binder.replaced)
        bound = tuple(Placed(r, s) for r, s in zip(records, sections, strict=True))
        placed, explain = optimize(bound, context)
        execute.verify(records, placed)
        return Prepared(placed, explain, self._provider.encode([p.section for p in placed], schema))

    def _snapshot(self, source: str, records: tuple[SourceRecord, ...], estimates: tuple[int, ...]) -> Snapshot:
        reserve, why = self._stats.reserve(self._provider.model, source)
        return Snapshot(
            source=source,
            records=records,
            estimates=estimates,
            counter=self._counter_name,
            provider=self._provider.name,
            model=self._provider.model,
            capabilities=self._provider.capabilities,
            configuration=self._configuration,
            output_reserve=reserve,
            reserve_reason=why,
            cleared=self._cleared.get(source, frozenset()),
            previous=self._previous.get(source, ()),
        )

    def _number(self, source: str, prepared: Prepared) -> feedback.Call:
        with self._lock:
            self._n += 1
            n = self._n
        return feedback.Call(
            id=self._ids(),
            run=self._run,
            source=source,
            n=n,
            explain=prepared.explain,
            wire_hash=prepared.wire_hash,
            wire_bytes=len(prepared.wire),
            at=self._clock(),
        )

    def _remember(self, source: str, prepared: Prepared) -> None:
        cleared = {p.record.name for p in prepared.placed if p.record.cleared and p.section.text == p.record.cleared}
        with self._lock:
            self._cleared[source] = frozenset(cleared)
            self._previous[source] = tuple((p.section.hash, p.section.tokens) for p in prepared.placed)

    def _first_byte(self, source: str) -> Callable[[], None]:
        return lambda: self._emit("first_byte", {"source": source})
