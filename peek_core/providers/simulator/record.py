"""What a script sees of a request, and what is kept of it afterwards.

Owns: the two records. Refuses to know: how a request is decided or answered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peek_core.providers.simulator.faults import Fault
from peek_core.providers.simulator.prompt import Prompt


@dataclass(frozen=True)
class Request:
    """What a script's function sees."""

    body: Mapping[str, Any]
    prompt: Prompt
    """As the model sees it: a small server has cut its front."""
    number: int
    """Counted from 0, in the order of arrival."""

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """As sent."""
        found: Sequence[Mapping[str, Any]] = self.body["messages"]
        return found


Script = Sequence[str] | Callable[[Request], str]
"""Replies in order, or a function. A function may be called from several threads at once."""


@dataclass(frozen=True)
class Exchange:
    """One request and what it got. Tokens by the simulator's own counting, whatever usage said."""

    number: int
    path: str
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case."""
    body: bytes = field(repr=False)
    status: int = 200
    fault: Fault | None = None
    prompt: int = 0
    """Tokens sent; 0 if the request was refused unread."""
    cached: int = 0
    written: int = 0
    uncached: int = 0
    """With cached and written: tokens processed. All three are 0 for a refused request."""
    completion: int = 0
    """Tokens of the reply."""
    finish: str = ""
    """Empty: no reply."""

    @property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.body)["messages"]
        return found
