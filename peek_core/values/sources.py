"""Source records: what may enter a prompt, declared before it is loaded (ContextPipe, catalog).

Owns: lifecycle tiers, scopes, priorities, record kinds. Refuses to know: how a record is loaded or ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from peek_core.values.messages import Role


class LifecycleTier(StrEnum):
    """How long a source stays the same (eight lifetimes)."""

    IMMUTABLE = "immutable"
    PER_AGENT = "per_agent"
    LATCHED = "latched"
    PER_SESSION = "per_session"
    PER_TURN = "per_turn"
    EXTERNAL = "external"
    EMERGENT = "emergent"
    FEEDBACK = "feedback"


class Scope(StrEnum):
    """How widely a section's bytes are shared; also its rank in the order by volatility."""

    GLOBAL = "global"
    SESSION = "session"
    NONE = "none"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {Scope.GLOBAL: 0, Scope.SESSION: 1, Scope.NONE: 2}


class Priority(StrEnum):
    """What may be dropped first under pressure. NEVER is never dropped."""

    FIRST = "first"
    NORMAL = "normal"
    LAST_RESORT = "last_resort"
    NEVER = "never"


class Kind(StrEnum):
    """What a section is."""

    IDENTITY = "identity"
    CONSTRAINTS = "constraints"
    HOST_FUNCTIONS = "host_functions"
    PROFILE = "profile"
    DEFINITIONS = "definitions"
    MEMORY = "memory"
    HISTORY = "history"
    WORKING_MEMORY = "working_memory"
    OBSERVATION = "observation"
    QUESTION = "question"
    SUB_CALL = "sub_call"
    NOTICE = "notice"


ANCHORS = frozenset({Kind.IDENTITY, Kind.CONSTRAINTS})
"""Kinds nothing is ever moved across, and that are never dropped or spilled."""


UNSPILLABLE = frozenset({*ANCHORS, Kind.WORKING_MEMORY})
"""Kinds that are sent whole or not at all."""


@dataclass(frozen=True)
class SourceRecord:
    """One thing a prompt may contain (ContextPipe, source catalog).

    `text` is the content where its owner has it at hand; otherwise `load` fetches it in Bind, and `est_tokens` is what
    Plan goes by until then (None: what this kind has taken lately). `data` is the typed form for a provider that reads
    structure. `pair` names records that must stay adjacent (a cell and its observation); `depends` names records that
    must come before this one. `cleared` and `trimmed` are what stands in for the text once it was cleared or trimmed.
    """

    name: str
    kind: Kind
    tier: LifecycleTier
    scope: Scope
    priority: Priority
    role: Role
    text: str = ""
    data: Mapping[str, Any] | None = None
    pair: str = ""
    recoverable: bool = False
    """Whether the whole text can be read back after it was cleared or spilled."""
    cleared: str = ""
    trimmed: str = ""
    markerable: bool = True
    """Whether a provider's cache marker may stand at its end."""
    depends: tuple[str, ...] = ()
    load: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    est_tokens: int | None = None
    bind_latency_s: float = 0.0
    """What loading is expected to take; 0 for what is at hand."""
