"""Reading JSON out of a model's reply, tolerantly; what can't be read is nothing, with the reason.

Owns: finding the object and reading its lists. Refuses to know: what the object means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def json_object(text: str) -> tuple[dict[str, Any], str | None]:
    """The outermost JSON object in the text (bare, fenced or with prose around), and why there is none."""
    start = text.find("{")
    decoder = json.JSONDecoder()
    while start != -1:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict):
            return value, None
        start = text.find("{", start + 1)
    return {}, "the reply holds no JSON object"


def objects(value: Any, limit: int) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list, at most `limit`; anything else is left out."""
    return tuple(v for v in value[:limit] if isinstance(v, Mapping)) if isinstance(value, list) else ()


def text(value: Any, limit: int = 2_000) -> str:
    """A string, cut; anything else becomes empty."""
    return value[:limit] if isinstance(value, str) else ""
