"""What a cell printed, kept up to a hard cap and counted beyond it.

Owns: the cap and the sentence that states the true length. Refuses to know: what the model is shown of it.
"""

from __future__ import annotations

HARD_CAP = 100_000
"""Characters. A print flood costs counting, not memory."""


class Output:
    """Collects printed text; `close` makes it ignore whatever comes later."""

    def __init__(self, cap: int = HARD_CAP) -> None:
        self._cap = cap
        self._parts: list[str] = []
        self._kept = self._total = 0
        self._open = True

    def add(self, stream: str, text: str) -> None:
        """Take printed text of either stream."""
        if not self._open:
            return
        self._total += len(text)
        room = self._cap - self._kept
        if room > 0:
            self._parts.append(text[:room])
            self._kept += min(room, len(text))

    def close(self) -> None:
        """Ignore everything printed from now on."""
        self._open = False

    def text(self) -> str:
        """The kept text, with the true length where something was left out."""
        text = "".join(self._parts)
        if self._total > self._kept:
            text += f"\n[output cut: {self._total:,} characters were printed, the first {self._kept:,} are kept]"
        return text
