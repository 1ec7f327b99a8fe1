"""Small words that all readers' sentences share.

Owns: numbers with their nouns, and lists that are cut. Refuses to know what is said.
"""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,000 rows`; `many` where an s is not enough."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def some(items: Sequence[str], most: int = 8) -> str:
    """The first items, each cut at 60 characters, and how many more there are."""
    shown = ", ".join(item[:60] for item in items[:most])
    return f"{shown} and {len(items) - most:,} more" if len(items) > most else shown
