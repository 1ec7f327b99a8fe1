"""Values to JSON text and back, exactly, for the store.

Owns: rebuilding frozen dataclasses from JSON by their type hints. Refuses to know: tables.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from peek_core.values.canon import canonical_json

T = TypeVar("T")


def dump(value: Any) -> str:
    """Canonical JSON."""
    return canonical_json(value)


def load(cls: type[T], text: str) -> T:
    """The value of type `cls` that `dump` wrote. Unknown fields are ignored, missing ones take their default."""
    return typing.cast(T, build(cls, json.loads(text)))


def build(hint: Any, value: Any) -> Any:
    """`value` (JSON types) as the type the hint names."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = _hints(hint)
        return hint(**{k: build(hints[k], v) for k, v in value.items() if k in hints})
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        return None if value is None else build(inner[0], value) if len(inner) == 1 else value
    if origin is tuple:
        items = value or []
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(build(args[0], v) for v in items)
        return tuple(build(a, v) for a, v in zip(args, items, strict=True))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if origin in (dict, Mapping) or hint is Mapping:
        return dict(value)
    return value


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)
