"""What was sent, what it took and what it would be today: everything EXPLAIN shows, for pages and terminal.

Owns: reading stored calls back. Refuses to know: how anything is drawn, and how a request is made beyond planning it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from peek_core.asking import Collaborators
from peek_core.context_pipe.replay import Replay, replay
from peek_core.ports import Provider
from peek_core.values.call_trace import CallTrace


class Explainer:
    """Reads the store; `provider` gives who would encode a stored request now."""

    def __init__(self, shared: Collaborators, provider: Callable[[CallTrace], Provider]) -> None:
        self._s, self._provider = shared, provider

    def calls(self, run: str) -> tuple[CallTrace, ...]:
        """Every request of a run, in the order made."""
        return self._s.store.calls(run)

    def call(self, id: str) -> CallTrace:
        """Raises NotFound."""
        return self._s.store.call(id)[0]

    def texts(self, dataset: str, call: CallTrace) -> tuple[Mapping[str, str], str | None]:
        """Section texts by hash, and the reply; what retention removed is missing."""
        _, reply = self._s.store.call(call.id)
        hashes = [s.hash for s in call.explain.sections]
        held = self._s.store.texts(dataset, [*hashes, *([reply] if reply else [])])
        return held, held.get(reply) if reply else None

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
