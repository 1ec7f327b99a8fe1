"""Source records: what may enter a prompt, declared before it is loaded (ContextPipe, catalog).

Owns: lifecycle tiers, scopes, priorities, record kinds. Refuses to know: how a record is loaded or ordered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
        return ("global", "session", "none").index(self.value)


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


ANCHORS = frozenset({Kind.IDENTITY, Kind.CONSTRAINTS})
"""Kinds nothing is ever moved across, and that are never dropped or spilled."""


@dataclass(frozen=True)
class SourceRecord:
    """One thing a prompt may contain.

    `text` is the content (already loaded by its owner, or a short placeholder's source); `data` its typed form.
    `pair` names records that must stay adjacent (a cell and its observation). `cleared` is what stands in for the
    text once it was cleared.
    """

    name: str
    kind: Kind
    tier: LifecycleTier
    scope: Scope
    priority: Priority
    role: Role
    text: str
    data: Mapping[str, Any] | None = None
    pair: str = ""
    recoverable: bool = False
    cleared: str = ""
