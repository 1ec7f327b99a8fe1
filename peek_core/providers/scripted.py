"""A provider that replies what it was given, in order: for tests, documentation and demonstrations.

Owns: the script. Refuses to know: the request, beyond keeping its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peek_core.errors import EndpointFailed
from peek_core.ports import CacheRules, CancelToken, Capabilities
from peek_core.values.canon import canonical_json
from peek_core.values.messages import Completion, PromptSection, Usage


class Scripted:
    """Implements ports.Provider. `wires` holds every request sent, newest last."""

    name = "scripted"
    model = "scripted"
    endpoint = ""

    def __init__(
        self, replies: Sequence[str | EndpointFailed], window: int = 64_000, cache: CacheRules | None = None
    ) -> None:
        self._replies = list(replies)
        self.capabilities = Capabilities(window=window, max_output=8_000, cache=cache or CacheRules())
        self.wires: list[bytes] = []

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        """Canonical JSON of roles and texts."""
        return canonical_json([{"name": s.name, "role": s.role, "text": s.text} for s in sections]).encode()

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        """The next reply; raises it when it is a failure, EndpointFailed when the script is over."""
        cancel.check()
        self.wires.append(wire)
        on_first_byte()
        if not self._replies:
            raise EndpointFailed("The script has no reply left")
        reply = self._replies.pop(0)
        if isinstance(reply, EndpointFailed):
            raise reply
        return Completion(
            text=reply, finish="stop", usage=Usage(input=len(wire) // 4, output=len(reply) // 4), model=self.model
        )
