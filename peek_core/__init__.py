"""PEEK: question one dataset again and again.

For other people's agents the cache policy alone: `from peek_core import CachePolicy, ContextMap, evict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peek_core.context_map.evictor import evict
    from peek_core.context_map.map import ContextMap
    from peek_core.policies.cache_policy import CachePolicy

__all__ = ["CachePolicy", "ContextMap", "evict"]


def __getattr__(name: str) -> Any:
    # Loaded when they are asked for: the workers that read files and run SQL start without them.
    if name == "CachePolicy":
        from peek_core.policies.cache_policy import CachePolicy

        return CachePolicy
    if name == "ContextMap":
        from peek_core.context_map.map import ContextMap

        return ContextMap
    if name == "evict":
        from peek_core.context_map.evictor import evict

        return evict
    raise AttributeError(f"module 'peek_core' has no attribute {name!r}")
