"""What was sent, what it took and what it would be today: everything EXPLAIN shows, for pages and terminal.

Owns: reading stored calls back. Refuses to know: how anything is drawn, and how a request is made beyond planning it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from peek_core.asking import Collaborators
from peek_core.context_pipe.beside import Against, Beside, against
from peek_core.context_pipe.change_cost import CacheCost, change_cost
from peek_core.context_pipe.dataset_sums import DatasetSums, Spent, dataset_sums
from peek_core.context_pipe.replay import Replay, replay
from peek_core.endpoints import NO_MODEL
from peek_core.ports import Provider
from peek_core.values.call_trace import STEP, CallTrace
from peek_core.values.events import Event
from peek_core.values.run_view import RunHead

SERIES = 500
"""Questions of a dataset that are summed up, the latest."""


class Explainer:
    """Reads the store; `provider` gives who would encode a stored request now."""

    def __init__(self, shared: Collaborators, provider: Callable[[CallTrace], Provider]) -> None:
        self._s, self._provider = shared, provider

    def calls(self, run: str) -> tuple[CallTrace, ...]:
        """Every request of a run, in the order made."""
        return self._s.store.calls(run)

    def heads(self, dataset: str, arm: str | None = None, limit: int = SERIES) -> tuple[RunHead, ...]:
        """The latest runs without what they did, oldest first."""
        rows = self._s.store.run_heads(dataset, arm, limit)
        return tuple(
            RunHead(r.id, r.arm, r.question, r.analyst, r.status, r.phase, r.created, r.ended, r.reason) for r in rows
        )

    def told(self, run: str, name: str) -> tuple[Event, ...]:
        """The events of one name."""
        return self._s.store.events(run, name=name)

    def break_even(self, both: Beside) -> tuple[Against, ...]:
        """Two ways of assembling a run at the prices of today's known models. The first use reads the table: a second."""
        return against(both, self._s.meters.prices.known(self._s.clock()))

    def dataset(self, dataset: str, arm: str = "peek") -> DatasetSums:
        """What the questions of an arm took, and how far the hard stops are. Reads neither trajectories nor traces."""
        s = self._s
        spent = [
            Spent(r.run, r.source, r.requests, r.tokens or 0, r.usd, r.unpriced or 0)
            for r in s.store.spent_by_run(dataset)
        ]
        newest = s.store.latest_priced(dataset)
        cost = newest.analyze.cost if newest is not None and newest.analyze is not None else None
        return dataset_sums(
            self.heads(dataset, arm),
            spent,
            today=s.meters.others_today("")(),
            unpriced_today=s.meters.unpriced_today(NO_MODEL),
            day=s.settings.day,
            run=s.settings.run,
            free=NO_MODEL,
            prices="" if cost is None else f"{cost.source}, prices of {cost.date or 'unknown date'}",
        )

    def call(self, id: str) -> CallTrace:
        """Raises NotFound."""
        return self._s.store.call(id)[0]

    def texts(self, dataset: str, call: CallTrace) -> tuple[Mapping[str, str], str | None]:
        """Section texts by hash, and the reply; what retention removed is missing."""
        _, reply = self._s.store.call(call.id)
        hashes = [s.hash for s in call.explain.sections]
        held = self._s.store.texts(dataset, [*hashes, *([reply] if reply else [])])
        return held, held.get(reply) if reply else None

    def cache_cost(self, dataset: str, arm: str = "peek") -> CacheCost | None:
        """What the next request pays for any change of the map, estimated by the latest one; None before there is one."""
        newest = self._s.store.latest_call(dataset, arm, STEP)
        return None if newest is None else change_cost(newest)

    def replay(self, id: str, *, today: bool = False) -> Replay:
        """Plan a stored call again and compare; `today`: with the statistics of now. Raises NotFound or Refused."""
        trace = self.call(id)
        dataset = self._s.store.run(trace.run).dataset
        provider = self._provider(trace)
        stats = self._s.meters.stats(dataset)
        return replay(
            trace,
            lambda hash: self._s.store.texts(dataset, [hash]).get(hash),
            provider,
            self._s.counter,
            factors=stats.factors(provider.endpoint, provider.model) if today else None,
        )
