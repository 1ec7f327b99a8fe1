"""The seams: what the core asks of engines, sandboxes, providers, policies and the store.

Owns: the protocols. Refuses to know: any implementation. Leaves implement these and never import one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from peek_core.values.call_trace import CallTrace
from peek_core.values.messages import Completion, PromptSection, Usage
from peek_core.values.prices import Cost, Rates
from peek_core.values.sources import SourceRecord
from peek_core.values.trajectory import Table, Trajectory

Clock = Callable[[], float]
"""Seconds since the epoch."""
TokenCounter = Callable[[str], int]
Ids = Callable[[], str]
"""A new id, unique in the data directory."""


class CancelToken(Protocol):
    """Says whether the person stopped the run, and wakes those who wait for it."""

    @property
    def cancelled(self) -> bool: ...

    def check(self) -> None:
        """Raise Cancelled if stopped."""

    def on_cancel(self, act: Callable[[], None]) -> Callable[[], None]:
        """Call `act` once when stopped (at once if it already is); returns a function that takes it back."""


@dataclass(frozen=True)
class CacheRules:
    """How an endpoint's prompt cache finds a prefix, as far as it is documented. Tokens and seconds.

    prefix: the longest common prefix, in steps. breakpoints: only where a marker stands or stood (`implicit`: the newest
    user message is one by itself). units: only a stored unit, matched whole (ends of inputs and outputs, common
    prefixes, every `step`). none: nothing is cached, or nothing is known.
    """

    match: Literal["none", "prefix", "breakpoints", "units"] = "none"
    minimum: int = 0
    step: int = 1
    ttl_s: float = 300.0
    marker: Literal["", "openai", "anthropic"] = ""
    max_markers: int = 0
    implicit: bool = False
    silent_misses: bool = False
    """Whether usage speaks of cached tokens only where there are some."""
    as_of: str = ""
    """When this was read in the provider's documentation."""


@dataclass(frozen=True)
class Capabilities:
    """What Plan and Optimize may assume of a provider. Tokens."""

    window: int
    """What the endpoint takes at most, reply included; where nobody knows it, what the person allows."""
    max_output: int
    json_schema: bool = False
    language_model: bool = True
    budget: int | None = None
    """What a prompt should stay under for the sake of time and attention; None: the window alone counts."""
    cache: CacheRules = CacheRules()
    parallel: int = 1
    """Requests it may be sent at a time."""


class Provider(Protocol):
    """A model, or what stands in for one."""

    name: str
    model: str
    endpoint: str
    """Where requests go; empty when they stay in this process."""
    capabilities: Capabilities

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        """The exact bytes of the request. Pure."""

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        """Send and read to the end. Raises TooLong, EndpointFailed or Cancelled."""


@dataclass(frozen=True)
class QueryOutcome:
    """A result of the engine. `table.rows` holds at most the limit asked for."""

    table: Table
    seconds: float
    profile: Mapping[str, Any] | None = None


class Engine(Protocol):
    """One locked SQL engine over one dataset version and view, with private scratch. Terms: DESIGN.md, The REPL.

    `query` raises QueryFailed for what the model can repair and Broken when the engine itself is gone.
    """

    dialect: str

    def query(self, sql: str, *, limit: int, timeout_s: float | None = None) -> QueryOutcome: ...

    def interrupt(self) -> None:
        """Stop the running statement, whoever started it. Safe from any thread."""

    def export_csv(self, sql: str, path: str) -> int:
        """Write the whole result as CSV, formula starts neutralised; returns the number of rows."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class CellOutcome:
    """What one cell gave. `stdout` is whole up to a hard cap; `error` is the traceback shown to the model."""

    stdout: str
    value: str | None
    error: str | None
    variables: tuple[str, ...]
    """Names and types, e.g. `rows: list[12]`."""


HostFunction = Callable[..., Any]


class Interpreter(Protocol):
    """A Python session in a sandbox; globals persist between cells.

    `run` raises Broken when the sandbox itself fails; failures of the code are in the outcome.
    """

    def run(self, code: str, functions: Mapping[str, HostFunction]) -> CellOutcome: ...

    def read(self, name: str) -> Any:
        """Value of a variable; raises CellFailed naming what exists."""

    def kill(self) -> None:
        """Stop whatever runs, from any thread."""

    def close(self) -> None: ...


class Caller(Protocol):
    """The one door to a model, as the agent and the policy see it; in production it is the pipe."""

    def __call__(
        self, source: str, records: Sequence[SourceRecord], *, schema: Mapping[str, Any] | None = None
    ) -> Completion: ...


Emit = Callable[[str, Mapping[str, Any]], None]
"""Tell the run's listeners: event name and body."""


class Agent(Protocol):
    """Answers one question."""

    def run(self, trajectory: Trajectory) -> Trajectory: ...


class MemoryPolicy(Protocol):
    """What survives between questions."""

    name: str

    def before(self) -> tuple[SourceRecord, ...]:
        """Records this policy contributes to every request of the run."""

    def after(self, trajectory: Trajectory) -> None:
        """Learn from a run that ended."""


class TraceSink(Protocol):
    """Where Feedback leaves call traces and the bytes they speak of."""

    def add_call(self, trace: CallTrace, bodies: Mapping[str, str], reply: str | None) -> None: ...


class SpillStore(Protocol):
    """Where a section too large for a prompt is kept; by content hash."""

    def write(self, hash: str, text: str) -> None:
        """Keep it. Raises Broken."""

    def read(self, hash: str) -> str | None:
        """The text, or None where it is gone."""


class PriceBook(Protocol):
    """What models cost, by dated tables. Times are seconds since the epoch; None is an unknown price, never 0."""

    def rates(self, model: str, base_url: str, at: float) -> Rates | None: ...

    def cost(self, model: str, base_url: str, usage: Usage, at: float) -> Cost | None:
        """What a call costs; None where price, input or output is unknown."""

    def known(self, at: float) -> tuple[tuple[str, Rates], ...]:
        """Well-known models of today by name, for break-even tables."""


RunQuery = Callable[[str], Table]
"""Run one SELECT for evidence, effects and profiles; raises QueryFailed."""
