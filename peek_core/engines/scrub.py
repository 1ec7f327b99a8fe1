"""Keeping file paths out of what a model reads.

Owns: replacing paths in text and in rows. Refuses to know: where the text came from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PLACEHOLDER = "<path>"
_ROOTS = (
    r"/(?:home|root|tmp|usr|var|etc|opt|proc|sys|dev|mnt|media|srv|run|work|app|data|Users|Volumes|private|Library)/"
)
_ANY_PATH = re.compile(rf"(?:(?<![\w/.]){_ROOTS}|(?<!\w)[A-Za-z]:[\\/]|\\\\\w+\\)[^\s'\"<>|,;:)\]]*")


class Scrubber:
    """Knows the paths of one engine and takes them out of text."""

    def __init__(self, paths: Iterable[Path]) -> None:
        needles: set[str] = {str(Path.home() / ".duckdb")}
        for path in paths:
            needles |= {str(path), str(path.resolve())}
        # Longest first, so that a path is gone before one that is its prefix is looked for.
        self.needles = tuple(sorted((n for n in needles if len(n) > 3), key=len, reverse=True))

    def error(self, text: str) -> str:
        """An error text without known paths and without anything else that looks like an absolute path."""
        return _ANY_PATH.sub(PLACEHOLDER, self.known(text))

    def known(self, text: str) -> str:
        """The text without this engine's own paths; other text, which may be data, is left as it is."""
        for needle in self.needles:
            if needle in text:
                text = text.replace(needle, PLACEHOLDER)
        return text

    def touches(self, encoded: str) -> bool:
        """Whether JSON text holds one of the paths: one cheap look for a whole chunk of rows."""
        return any(n in encoded or n.replace(os.sep, os.sep * 2) in encoded for n in self.needles)

    def value(self, value: Any) -> Any:
        """An encoded value with known paths taken out, however deep they are."""
        if isinstance(value, str):
            return self.known(value)
        if isinstance(value, (list, tuple)):
            return [self.value(v) for v in value]
        if isinstance(value, dict):
            return {self.known(k): self.value(v) for k, v in value.items()}
        return value
