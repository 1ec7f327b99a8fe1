"""What a run keeps between its requests, and the snapshot each new one is planned from.

Owns: what was cleared, latched, noticed and shared so far. Refuses to know: the stages, the send. The snapshot is the only
thing Plan and Optimize see, so everything that changes from call to call is read here.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_pipe import alerts, fork
from peek_core.context_pipe.assemble import Prepared
from peek_core.context_pipe.bind import Binder, Redact
from peek_core.context_pipe.cache_model import KEPT, Trail, known, trail
from peek_core.context_pipe.catalog import DEFAULT, Configuration, Held, Snapshot
from peek_core.context_pipe.emergent import EmergentQueue
from peek_core.context_pipe.estimate import estimated, estimates
from peek_core.context_pipe.latch import SessionLatches
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.stats import PipelineStats
from peek_core.ports import CancelToken, Clock, Emit, Ids, PriceBook, Provider, SpillStore, TokenCounter, TraceSink
from peek_core.values.call_trace import STEP, Base, Decision
from peek_core.values.prices import Rates
from peek_core.values.sources import Kind, SourceRecord

RATES_S = 60.0
"""How long a price just looked up is taken to hold."""


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
    turns: int | None = None
    """Steps the run may take at most, where that is known."""
    redact: Redact | None = None
    """Takes personal data out of what carries cells."""


class RunSession:
    """Safe from several threads."""

    def __init__(self, around: Surroundings) -> None:
        self._a = around
        self.binder = Binder(around.counter[1], around.tokens, around.redact)
        every = around.configuration.emergent == "append_only"
        self.notices = EmergentQueue(cap=1_000_000 if every else EmergentQueue.CAP, dedup=not every)
        self.made: dict[str, int] = {}
        """Requests answered so far, by source."""
        self.whole: dict[str, SourceRecord] = {}
        """Every record of the agent's own requests, by name: what it can read back."""
        self._held: dict[tuple[str, str], Held] = {}
        self._seen: dict[str, list[alerts.Seen]] = {}
        self._latches: dict[str, SessionLatches] = {}
        self._kept_notices: list[tuple[str, SourceRecord]] = []
        self._beside: deque[Trail] = deque(maxlen=KEPT)
        """What the shadow's requests would have left in the cache."""
        self._prefix: fork.ForkPrefix | None = None
        self._rates: tuple[float, Rates | None] | None = None
        self._lock = threading.Lock()

    @property
    def prefix(self) -> fork.ForkPrefix | None:
        """The cacheable prefix of the latest step, for sub-calls."""
        with self._lock:
            return self._prefix

    @property
    def spilled(self) -> frozenset[str]:
        """Names of sections whose whole text lies in the store."""
        with self._lock:
            return self._held.get((self._a.configuration.name, STEP), Held()).spilled

    @property
    def shortened(self) -> frozenset[str]:
        """Names of sections that prompts no longer show whole."""
        with self._lock:
            held = self._held.get((self._a.configuration.name, STEP), Held())
        return held.cleared | held.dropped | held.spilled

    def before(self, source: str) -> tuple[alerts.Seen, ...]:
        """The source's answered requests, oldest first."""
        with self._lock:
            return tuple(self._seen.get(source, ()))

    def rates(self) -> Rates | None:
        """Today's prices of the provider; None where nobody knows."""
        a, now = self._a, self._a.clock()
        if a.prices is None:
            return None
        if self._rates is None or not 0 <= now - self._rates[0] < RATES_S:
            self._rates = now, a.prices.rates(a.provider.model, a.provider.endpoint, now)
        return self._rates[1]

    def snapshot(
        self,
        config: Configuration,
        source: str,
        records: tuple[SourceRecord, ...],
        schema: Mapping[str, Any] | None,
        recovery: int,
        spills: bool,
    ) -> Snapshot:
        """All that is known when a request is planned."""
        a, provider = self._a, self._a.provider
        caps, stats = provider.capabilities, a.stats
        factors = stats.factors(provider.endpoint, provider.model)
        rates = self.rates()
        trails = stats.trails(provider.endpoint, provider.model)
        with self._lock:
            trails = trails if config is a.configuration else (*trails[: KEPT - len(self._beside)], *self._beside)
            kept = self._held.get((config.name, source), Held())
            done = self.made.get(source, 0)
        backend = spills and a.spills is not None
        if not backend:
            kept = replace(kept, spilled=frozenset())
        return Snapshot(
            source=source,
            records=records,
            estimates=estimates(records, self.binder, stats, factors, kept, config.rules),
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
            expected_calls=self._expected(source, done),
            refetch_rate=stats.refetch_rate,
            recovery=recovery,
            held=kept,
            cache=known(trails, caps.cache, a.clock()),
            flips=self._latches[source].flipped if config.latches and source in self._latches else (),
            spill_backend=backend,
            schema=schema,
        )

    def tokens(self, records: Sequence[SourceRecord]) -> int:
        """Calibrated tokens of records nothing was done to yet."""
        factors = self._a.stats.factors(self._a.provider.endpoint, self._a.provider.model)
        return sum(estimated(r, self.binder, self._a.stats, factors) for r in records)

    def _expected(self, source: str, done: int) -> int:
        """Further requests to expect; the agent's are limited."""
        expected = self._a.stats.expected_calls(source, done)
        if source == STEP and self._a.turns is not None:
            expected = min(expected, max(0, self._a.turns - done - 1))
        return expected

    def told(
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
        if source == STEP:
            self.whole |= {record.name: record for record in out}
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
            # A notice must not stand between a cell and its observation.
            if not (record.pair and following is not None and following.pair == record.pair):
                out += waiting
                waiting = []
        return (*out, *self.notices.due())

    def _shown(self, prepared: Prepared) -> None:
        """Notices of a request that succeeded: gone, or kept where they stand so that the prefix stays."""
        due = {r.name: r for r in self.notices.due()}
        names = [p.record.name for p in prepared.placed]
        shown = tuple(n for n in names if n in due)
        mode, match = self._a.configuration.emergent, self._a.provider.capabilities.cache.match
        if mode == "append_only" or (mode == "kept_in_prefix_caches" and match in ("prefix", "units")):
            last = next((p.record.name for p in reversed(prepared.placed) if p.record.kind is not Kind.NOTICE), "")
            self._kept_notices += [(last, due[n]) for n in shown]
        self.notices.advance(shown)

    def remember(self, source: str, prepared: Prepared, seen: alerts.Seen, reply: str, at: float) -> None:
        """A request succeeded; `reply` is the hash of what came back."""
        now = prepared.held()
        with self._lock:
            was = self._held.get((self._a.configuration.name, source), Held())
            self._held[self._a.configuration.name, source] = now
            if prepared.beside is not None:
                self._held[prepared.beside.explain.configuration, source] = prepared.beside.held()
                sections = [p.section for p in prepared.beside.placed]
                self._beside.append(trail(sections, self._a.provider.capabilities.cache, reply, at))
            self._a.stats.cleared(len((now.cleared | now.dropped) - was.cleared - was.dropped))
            self._seen.setdefault(source, []).append(seen)
            self.made[source] = self.made.get(source, 0) + 1
            if source == STEP:
                sizes = [s.sent for s in prepared.explain.sections]
                self._prefix = fork.freeze(prepared.placed, sizes, self._a.provider.name, self._a.provider.model)
        if source in self._latches:
            self._latches[source].carried()
            self._a.stats.latch(source, self._latches[source].values())
        if source == STEP:
            self._shown(prepared)
