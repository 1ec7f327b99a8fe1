"""The built-in analyst behind the provider port.

Owns: the wire form and which part answers which request. Refuses to know: anything that is not in the wire; it keeps no
state, so the same sections give the same reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peek_core.errors import EndpointFailed
from peek_core.ports import CancelToken, Capabilities
from peek_core.providers.builtin import cells, distill
from peek_core.values.canon import canonical_json
from peek_core.values.messages import Completion, PromptSection, Usage


class BuiltinAnalyst:
    """A provider that reads the typed sections and answers what it understands completely."""

    name = "builtin"
    model = "built-in analyst"
    endpoint = ""
    capabilities = Capabilities(window=64000, max_output=4000, json_schema=True, language_model=False)

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        """Canonical JSON of the sections; their text only where they have no data."""
        told = [
            {"name": s.name, "kind": s.kind, "role": s.role, "data": s.data, "text": s.text if s.data is None else None}
            for s in sections
        ]
        return canonical_json({"schema": schema, "sections": told}).encode()

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        """The reply to the request in `wire`, and to nothing else."""
        cancel.check()
        data: dict[str, list[Mapping[str, Any]]] = {}
        try:
            for section in json.loads(wire)["sections"]:
                if section["data"] is not None:
                    data.setdefault(section["kind"], []).append(section["data"])
            text = self._reply(data)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EndpointFailed(f"The built-in analyst got a request it can't read: {error!r}") from error
        cancel.check()
        on_first_byte()
        return Completion(text, "stop", Usage(), model=self.model)

    def _reply(self, data: Mapping[str, list[Mapping[str, Any]]]) -> str:
        asked = next((d for d in data.get("question", ()) if d.get("source") == "step"), None)
        if asked is not None:
            return cells.step(data, asked)
        source = next((d["source"] for d in data.get("constraints", ()) if "source" in d), None)
        if source == "llm_query":
            return "The built-in analyst can't read free text."
        return canonical_json({"distill": distill.distill, "chart": distill.chart}[str(source)](data))
