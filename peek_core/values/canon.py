"""Canonical JSON and content hashes: the same value gives the same bytes in every process.

Owns: the serialisation used for hashes, stored events and wire bytes. Refuses to know: what the values mean.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any

SERIALIZER = "peek-canon-1"
"""Named in stored calls, so that a replay can say when only the serializer changed."""

# Bidirectional overrides, zero-width characters and the tag block can hide text from the person who reads a
# prompt or a page; C0 controls other than tab and newline (ANSI escapes among them) can forge a terminal.
_INVISIBLE = {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xE0000, 0xE0080)}
_CLEAN = dict.fromkeys(_INVISIBLE) | {c: None for c in range(32) if c not in (9, 10, 13)} | {127: None}


def clean_text(text: str) -> str:
    """Text without lone surrogates, invisible or control characters; what a prompt, page or log may carry."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CLEAN)


def fold(text: str) -> str:
    """Text reduced to what a person would call the same word: NFKC, case-folded, letters and digits only."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if c.isalnum())


def plain(value: Any) -> Any:
    """`value` as JSON types: dataclasses become objects, tuples lists, dates ISO text, Decimals numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [plain(v) for v in items]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (int, float, bool, type(None))) else str(value)


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys and real characters, byte-stable across processes and hash seeds."""
    return json.dumps(plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(value: Any) -> str:
    """`sha256:` and the hex digest of the text, or of the value's canonical JSON."""
    text = value if isinstance(value, str) else canonical_json(value)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


@lru_cache(maxsize=4_096)
def escaped(text: str) -> bytes:
    """The text inside a JSON string, without its quotes; the same object is escaped once."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
