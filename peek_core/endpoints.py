"""Who answers: the model endpoint in use or the built-in analyst, and what may be shared with it.

Owns: the choice of a provider, its test, and the sharing level of a dataset with it. Refuses to know: runs, pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from peek_core.agents.observation import Sharing
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.pipe import Pipe
from peek_core.context_pipe.session import Surroundings
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import Refused
from peek_core.jobs import CancelSignal
from peek_core.ports import Capabilities, Provider
from peek_core.providers.builtin.provider import BuiltinAnalyst
from peek_core.providers.chat_completions import ChatCompletions, check_url
from peek_core.providers.loop import LoopThread
from peek_core.settings import EndpointSettings, RunLimits
from peek_core.store.sql_store import SqlStore
from peek_core.values.call_trace import CallTrace
from peek_core.values.codec import build
from peek_core.values.dataset import Dataset
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord

NO_MODEL = "built-in analyst, no language model"
"""Who answers where no endpoint does: it costs nothing."""


class NeedsConsent(Refused):
    """The dataset's sharing level with this endpoint was not chosen yet."""


class Endpoints:
    """One process's choice. `chosen` overrides it (tests)."""

    def __init__(
        self, store: SqlStore, endpoint: EndpointSettings | None, chosen: Callable[[], Provider] | None = None
    ) -> None:
        self._store = store
        self.chosen = chosen
        """What answers instead of endpoint or built-in analyst, where it is set."""
        self._loop = LoopThread()
        self.use(endpoint)

    @property
    def current(self) -> EndpointSettings | None:
        return self._endpoint

    def use(self, endpoint: EndpointSettings | None) -> None:
        """Answer with this endpoint from now on; None: the built-in analyst. Kept in the process only."""
        if endpoint:
            check_url(endpoint.base_url)
        self._endpoint = endpoint
        self._model = ChatCompletions(endpoint, self._loop) if endpoint else None

    def provider(self) -> Provider:
        if self.chosen is not None:
            return self.chosen()
        return self._model or BuiltinAnalyst()

    def planner(self, trace: CallTrace) -> Provider:
        """Who would encode a stored request now: today's provider where it is the same one, else one that only encodes."""
        now, e = self.provider(), trace.explain
        if (now.name, now.model) == (e.provider, e.model):
            return now
        if e.provider == BuiltinAnalyst.name:
            return BuiltinAnalyst()
        held = build(
            Capabilities, (trace.snapshot or {}).get("capabilities", {"window": e.limit, "max_output": e.reserve})
        )
        return ChatCompletions.offline(e.model, held, self._loop)

    def analyst(self) -> str:
        """Who answers, in words for every answer."""
        p = self.provider()
        return p.model if p.capabilities.language_model else NO_MODEL

    def test(self, endpoint: EndpointSettings) -> str:
        """One tiny request; returns the model's name and time, raises EndpointFailed or Refused with the reason."""
        cancel = CancelSignal()
        pipe = Pipe(
            Surroundings(
                run="connection test",
                provider=ChatCompletions(replace(endpoint, retries=0), self._loop),
                counter=("characters", len),
                stats=PipelineStats(),
                sink=_Forgets(),
                ledger=Ledger(RunLimits(), time.time, cancel),
                cancel=cancel,
                clock=time.time,
                ids=lambda: "connection test",
                emit=lambda name, body: None,
            )
        )
        done = pipe("ping", [_ping()])
        return f"{done.model or endpoint.model} replied in {done.seconds:.1f} s"

    def sharing(self, dataset: Dataset, provider: Provider) -> Sharing:
        """What may leave for this provider; raises NeedsConsent when the person has not chosen yet."""
        if not provider.capabilities.language_model or self._endpoint is None:
            return Sharing.SAMPLE_ROWS
        level = dataset.options.get("sharing", {}).get(self._endpoint.base_url)
        if level is None:
            raise NeedsConsent(
                f"Nothing of {dataset.title!r} was sent to {self._endpoint.base_url} yet",
                next="Choose what may be shared: schema_only, aggregates or sample_rows.",
            )
        return Sharing(level)

    def share(self, dataset: str, level: str) -> None:
        """Choose the sharing level of a dataset with the present endpoint."""
        if self._endpoint is None:
            return
        if level not in {s.value for s in Sharing}:
            raise Refused(f"There is no sharing level {level!r}", next=f"There are: {', '.join(Sharing)}.")
        held = self._store.dataset(dataset)
        levels = {**held.options.get("sharing", {}), self._endpoint.base_url: Sharing(level).value}
        self._store.update_dataset(dataset, options={"sharing": levels})


class _Forgets:
    """A trace sink for what is nobody's business afterwards."""

    def add_call(self, trace: CallTrace, bodies: Mapping[str, str], reply: str | None) -> None: ...


def _ping() -> SourceRecord:
    return SourceRecord(
        name="ping",
        kind=Kind.QUESTION,
        tier=LifecycleTier.IMMUTABLE,
        scope=Scope.NONE,
        priority=Priority.NEVER,
        role="user",
        text="Reply with the word ready.",
    )
