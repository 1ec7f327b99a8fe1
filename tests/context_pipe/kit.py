"""What the tests of the pipe share: records, clocks, stores and providers, all real and all in memory."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peek_core.context_pipe.assemble import Prepared, assemble
from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.cache_model import Known, chained, link
from peek_core.context_pipe.catalog import DEFAULT, Configuration, Snapshot
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.pipe import Pipe
from peek_core.context_pipe.plan import ContextPlan, plan
from peek_core.context_pipe.rules.held import again
from peek_core.context_pipe.rules.working import Placed, RuleContext
from peek_core.context_pipe.session import Surroundings
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import Broken, PeekError
from peek_core.jobs import CancelSignal
from peek_core.ports import CacheRules, CancelToken, Capabilities, Provider
from peek_core.providers.scripted import Scripted
from peek_core.settings import RunLimits
from peek_core.values.call_trace import Base, CallTrace, Decision, Reserves
from peek_core.values.canon import canonical_json
from peek_core.values.messages import Completion, PromptSection, Usage
from peek_core.values.prices import Cost, Rates
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord

NO_CACHE = CacheRules()
EMPTY = Known()
"""A cache that holds nothing any more."""
CHEAP_CACHE = Rates(input=2.0, output=10.0, cached=0.1, write=None, cliff=None, source="a table", date="2026-11-30")
"""r = 0.05, w = 1: breaking a cache costs 19 reads of every token behind the break."""


def quarter(text: str) -> int:
    """Tokens of a text by its characters."""
    return (len(text) + 3) // 4


def written(text: str) -> int:
    """Tokens of a text as it says itself (`#5000 …`), so that large sections are short texts; else its characters."""
    said = re.match(r"#(\d+) ", text)
    return int(said[1]) if said else len(text)


def record(name: str, kind: Kind, text: str = "", scope: Scope = Scope.NONE, **more: Any) -> SourceRecord:
    """A record of this turn from the user, unless said otherwise."""
    told = {"tier": LifecycleTier.PER_TURN, "priority": Priority.NORMAL, "role": "user", **more}
    return SourceRecord(name=name, kind=kind, text=text, scope=scope, **told)


RULES = record("rules", Kind.CONSTRAINTS, "r" * 400, Scope.GLOBAL, role="system", priority=Priority.NEVER)
QUESTION = record("question", Kind.QUESTION, "How many?", priority=Priority.NEVER)


def steps(count: int, size: int, *, first: int = 1, **more: Any) -> list[SourceRecord]:
    """Cells and their observations of `size` characters, as the agent writes them."""
    made = []
    for n in range(first, first + count):
        cell = record(f"cell {n}", Kind.WORKING_MEMORY, f"code {n}", pair=f"step-{n}", role="assistant",
                      priority=Priority.LAST_RESORT)  # fmt: skip
        told = {"cleared": f"(cleared {n})", "recoverable": True, "depends": (cell.name,), **more}
        made += [cell, record(f"observation {n}", Kind.OBSERVATION, f"{n % 10}" * size, pair=f"step-{n}", **told)]
    return made


def snapshot(records: Sequence[SourceRecord], *, count: Callable[[str], int] = quarter, window: int = 64_000,
             reserve: int = 0, cache: CacheRules = NO_CACHE, budget: int | None = None, cliff: int | None = None,
             ceiling: int | None = None, configuration: Configuration = DEFAULT, **more: Any) -> Snapshot:  # fmt: skip
    """One request before anything is decided."""
    binder = Binder(count)
    sizes = (r.est_tokens or 0 if r.load else binder.section(r).tokens for r in records)
    told: dict[str, Any] = {"expected_calls": 1, **more}
    if told.pop("cold", False):
        told["cache"] = EMPTY
    return Snapshot(
        source="step",
        records=tuple(records),
        estimates=tuple(sizes),
        counter="count",
        provider="p",
        model="m",
        capabilities=Capabilities(window=window, max_output=8_000, cache=cache),
        configuration=configuration,
        base=Base(window, budget, cliff, ceiling),
        reserves=Reserves(reserve, "as given"),
        **told,
    )


class Worked:
    """What a rule is given for a snapshot, and what it did with it. A cache that isn't cold holds all that was sent."""

    def __init__(self, given: Snapshot, rule: Callable[..., tuple[tuple[Placed, ...], Decision]],
                 count: Callable[[str], int] = quarter) -> None:  # fmt: skip
        binder = Binder(count)
        self.plan: ContextPlan = plan(given)
        bound = tuple(Placed(r, binder.section(r)) for r in given.records)
        self.before = again(bound, RuleContext(given, self.plan, binder.replaced))
        if given.capabilities.cache.match != "none" and given.cache is not EMPTY:
            sent = frozenset(chained(link(p.section) for p in self.before))
            given = replace(given, cache=Known(sent, sent))
        self.context = RuleContext(given, self.plan, binder.replaced)
        self.placed, self.decision = rule(self.before, self.context)

    @property
    def names(self) -> list[str]:
        return [p.record.name for p in self.placed]

    @property
    def texts(self) -> dict[str, str]:
        return {p.record.name: p.section.text for p in self.placed}

    @property
    def reason(self) -> str:
        return self.decision.reason

    @property
    def unchanged(self) -> bool:
        return self.placed == self.before and not self.decision.applied


class Clock:
    """Seconds that pass only when told to, or so many at every reading."""

    def __init__(self, now: float = 1_000.0, step: float = 0.0) -> None:
        self.now, self._step, self._lock = now, step, threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            self.now += self._step
            return self.now


class Sink:
    """Keeps traces, texts and replies. Implements ports.TraceSink."""

    def __init__(self) -> None:
        self.traces: list[CallTrace] = []
        self.texts: dict[str, str] = {}
        self.replies: list[str | None] = []
        self._lock = threading.Lock()

    def add_call(self, trace: CallTrace, bodies: Mapping[str, str], reply: str | None) -> None:
        with self._lock:
            self.traces.append(trace)
            self.texts.update(bodies)
            self.replies.append(reply)


class Spills:
    """Keeps spilled texts in memory, until it is full. Implements ports.SpillStore."""

    def __init__(self, *, full: bool = False) -> None:
        self.kept: dict[str, str] = {}
        self.full = full

    def write(self, hash: str, text: str) -> None:
        if self.full:
            raise Broken("No space left on the device")
        self.kept[hash] = text

    def read(self, hash: str) -> str | None:
        return self.kept.get(hash)


class Prices:
    """One price for every model. Implements ports.PriceBook."""

    def __init__(self, rates: Rates | None = CHEAP_CACHE) -> None:
        self._rates = rates

    def rates(self, model: str, base_url: str, at: float) -> Rates | None:
        return self._rates

    def cost(self, model: str, base_url: str, usage: Usage, at: float) -> Cost | None:
        r = self._rates
        if r is None or usage.input is None or usage.output is None:
            return None
        read = usage.cached or 0
        return Cost(r.usd(usage.input - read, read, output=usage.output), r.source, r.date)

    def known(self, at: float) -> tuple[tuple[str, Rates], ...]:
        return ()


class Model:
    """Reads a request section by section, counts it with a tokenizer of its own, and replies. Implements ports.Provider.

    `replies` in order, then the same one for ever; a failure among them is raised. `takes`: tokens above which it refuses.
    `dense`: its tokens for one of the pipe's, by kind or for all. `cached`: tokens it says it read from its cache.
    """

    name = "model"
    model = "m"
    endpoint = "https://models.example/v1"

    def __init__(self, replies: Sequence[str | PeekError] = (), *, count: Callable[[str], int] = written, window: int = 64_000,
                 cache: CacheRules = NO_CACHE, takes: int | None = None, dense: float | Mapping[str, float] = 1.0,
                 parallel: int = 1, budget: int | None = None, cached: Callable[[int], int | None] = lambda _: None) -> None:  # fmt: skip
        self.capabilities = Capabilities(window=window, max_output=min(8_000, window // 2), budget=budget, cache=cache,
                                         parallel=parallel)  # fmt: skip
        self._replies = iter(replies)
        self.count, self._takes, self._dense, self._cached = count, takes, dense, cached
        self._lock = threading.Lock()
        self.wires: list[bytes] = []

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        rows = [{"kind": s.kind, "marker": s.marker, "name": s.name, "role": s.role, "text": s.text} for s in sections]
        return canonical_json(rows).encode()

    def counted(self, wire: bytes) -> int:
        """Tokens of a request by its own tokenizer."""
        dense = self._dense
        share = (lambda kind: dense) if isinstance(dense, float) else (lambda kind: dense.get(kind, 1.0))
        return round(sum(self.count(row["text"]) * share(row["kind"]) for row in json.loads(wire)))

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        from peek_core.errors import TooLong

        cancel.check()
        with self._lock:
            self.wires.append(wire)
            counted = self.counted(wire)
            if self._takes is not None and counted > self._takes:
                raise TooLong("The request is longer than the model's window (400)")
            reply = next(self._replies, "a reply")
        if isinstance(reply, PeekError):
            raise reply
        on_first_byte()
        usage = Usage(input=counted, cached=self._cached(counted), output=quarter(reply))
        return Completion(text=reply, finish="stop", usage=usage, model="m-2026")


class Kit:
    """One pipe and its surroundings."""

    def __init__(self, replies: Sequence[Any] = (), window: int = 64_000, configuration: Configuration = DEFAULT,
                 limits: RunLimits | None = None, shadow: Configuration | None = None, prices: Any = None, spills: Any = None,
                 cache: CacheRules = NO_CACHE, stats: PipelineStats | None = None, clock: Any = None,
                 provider: Provider | None = None, count: Callable[[str], int] | None = None, ledger: Any = None,
                 **of_ledger: Any) -> None:  # fmt: skip
        self.provider: Any = provider or Scripted(replies, window=window, cache=cache)
        count = count or getattr(provider, "count", quarter)
        self.sink, self.stats, self.cancel = Sink(), stats or PipelineStats(), CancelSignal()
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        self.clock = clock or Clock(step=1.0)
        self._n, self._lock = itertools.count(1), threading.Lock()
        self.ledger = ledger or Ledger(limits or RunLimits(), self.clock, self.cancel, **of_ledger)
        self.pipe = Pipe(Surroundings(
            run="r1", provider=self.provider, counter=("chars/4", count), stats=self.stats, sink=self.sink,
            ledger=self.ledger, cancel=self.cancel, clock=self.clock, ids=self._id,
            emit=lambda name, body: self.events.append((name, body)), configuration=configuration, shadow=shadow,
            prices=prices, spills=spills))  # fmt: skip

    def _id(self) -> str:
        with self._lock:
            return f"c{next(self._n)}"

    @property
    def last(self) -> CallTrace:
        return self.sink.traces[-1]

    def decision(self, rule: str, nth: int = -1) -> Decision:
        """What a rule decided of a request."""
        return next(d for d in self.sink.traces[nth].explain.decisions if d.rule == rule)


def named(trace_or: Any, rule: str) -> Decision:
    """What a rule decided, of a trace, a prepared request or an Explain."""
    explain = getattr(trace_or, "explain", trace_or)
    return next(d for d in explain.decisions if d.rule == rule)


def read_back(pipe: Pipe, name: str) -> str:
    """A section's whole text as the model reads it, one piece after the other."""
    text, start = "", 0
    while True:
        part = pipe.recall(name, start)
        more = re.search(r"\n\(… [\d,]+ more characters: recall\('.*', (\d+)\)\)$", part)
        if more is None:
            return text + part
        text += part[: more.start()]
        start = int(more[1])
        assert start == len(text)


def assembled(given: Snapshot, provider: Provider | None = None, count: Callable[[str], int] = quarter) -> Prepared:
    """The snapshot's request, by a binder that knows nothing yet."""
    return assemble(given, Binder(count), provider or Scripted([]))


def closed(configuration: Configuration, *rules: str) -> Configuration:
    """The configuration with only these gates open."""
    return replace(configuration, rules=rules)
