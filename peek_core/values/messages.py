"""What goes to a model and what comes back.

Owns: prompt sections, completions, usage. Refuses to know: which provider, and how a section came to be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class PromptSection:
    """One block of a request, bound and counted.

    `data` is the same content as typed JSON, for a provider that reads structure instead of text (the built-in
    analyst); a language model gets `text` only.
    """

    name: str
    kind: str
    role: Role
    text: str
    tokens: int
    hash: str
    data: Mapping[str, Any] | None = None
    scope: str = "none"
    tier: str = "per_turn"
    priority: str = "normal"
    marker: bool = False
    """Whether the provider is told that a reusable prefix ends here."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as the provider reported them; None where it did not say."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True)
class Completion:
    """A whole reply. A reply without a finish reason never becomes one of these (it is a failed Execute)."""

    text: str
    finish: str
    usage: Usage
    model: str = ""
    raw_usage: Mapping[str, Any] | None = None
    first_byte_s: float | None = None
    seconds: float = 0.0
    retries: int = 0
