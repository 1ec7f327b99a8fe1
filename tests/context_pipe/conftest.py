"""A pipe over a scripted provider, with everything it needs in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from peek_core.context_pipe.catalog import DEFAULT, Configuration
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.pipe import Pipe
from peek_core.context_pipe.session import Surroundings
from peek_core.context_pipe.stats import PipelineStats
from peek_core.jobs import CancelSignal
from peek_core.ports import CacheRules
from peek_core.providers.scripted import Scripted
from peek_core.settings import RunLimits
from peek_core.values.call_trace import CallTrace
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord


def record(name: str, kind: Kind, text: str, scope: Scope = Scope.NONE, *, pair: str = "", cleared: str = "",
           role: str = "user", priority: Priority = Priority.NORMAL) -> SourceRecord:  # fmt: skip
    return SourceRecord(name=name, kind=kind, tier=LifecycleTier.PER_TURN, scope=scope, priority=priority, role=role,  # type: ignore[arg-type]
                        text=text, pair=pair, cleared=cleared)  # fmt: skip


class Sink:
    """Keeps traces and texts."""

    def __init__(self) -> None:
        self.traces: list[CallTrace] = []
        self.texts: dict[str, str] = {}

    def add_call(self, trace: CallTrace, bodies: Mapping[str, str], reply: str | None) -> None:
        self.traces.append(trace)
        self.texts.update(bodies)


class Kit:
    """One pipe and its surroundings."""

    def __init__(self, replies: Sequence[Any], window: int, configuration: Configuration, limits: RunLimits,
                 shadow: Configuration | None = None, prices: Any = None, spills: Any = None,
                 cache: CacheRules | None = None, stats: PipelineStats | None = None, clock: Any = None) -> None:  # fmt: skip
        self.provider = Scripted(replies, window=window, cache=cache)
        self.sink, self.stats, self.cancel = Sink(), stats or PipelineStats(), CancelSignal()
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        clock = clock or itertools.count(1_000).__next__
        ids = (f"c{n}" for n in itertools.count(1)).__next__
        self.ledger = Ledger(limits, clock, self.cancel)
        self.pipe = Pipe(Surroundings(
            run="r1", provider=self.provider, counter=("chars/4", lambda text: (len(text) + 3) // 4), stats=self.stats,
            sink=self.sink, ledger=self.ledger, cancel=self.cancel, clock=clock, ids=ids, emit=lambda name, body: self.events.append((name, body)),
            configuration=configuration, shadow=shadow, prices=prices, spills=spills))  # fmt: skip


@pytest.fixture
def kit() -> Callable[..., Kit]:
    def make(replies: Sequence[Any] = (), window: int = 64_000, configuration: Configuration = DEFAULT,
             limits: RunLimits | None = None, **more: Any) -> Kit:  # fmt: skip
        return Kit(replies, window, configuration, limits or RunLimits(), **more)

    return make
