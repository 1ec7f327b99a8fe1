"""What a model sees of a map: the text of the two records it contributes to a prompt, line by line, with their tokens.

Owns: the lines and their count. Refuses to know: what else stands in the prompt, and who answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from peek_core.context_map.map import ContextMap
from peek_core.policies.records import definitions_record, map_record
from peek_core.ports import TokenCounter
from peek_core.values.canon import content_hash


@dataclass(frozen=True)
class SeenLine:
    """A line, and by how many tokens the record grows with it."""

    text: str
    tokens: int


@dataclass(frozen=True)
class SeenRecord:
    """One record as it stands in a prompt. Its lines joined by newlines are its text; their tokens add up to its own."""

    name: str
    text: str
    lines: tuple[SeenLine, ...]
    tokens: int


@dataclass(frozen=True)
class Seen:
    """Both records, definitions first, as a prompt has them."""

    records: tuple[SeenRecord, ...]

    @property
    def text(self) -> str:
        return "\n".join(r.text for r in self.records)

    @property
    def tokens(self) -> int:
        return sum(r.tokens for r in self.records)

    @property
    def sha256(self) -> str:
        """Of the text, in hex digits."""
        return content_hash(self.text).removeprefix("sha256:")


def seen(current: ContextMap, count: TokenCounter, *, cap: int, literals: bool = True) -> Seen:
    """`cap`: tokens the definitions may take; `literals`: whether values may be told."""
    defined = definitions_record(current.definitions, literals=literals, fits=lambda text: count(text) <= cap)
    return Seen(tuple(_record(r.name, r.text, count) for r in (defined, map_record(current, literals=literals))))


def _record(name: str, text: str, count: TokenCounter) -> SeenRecord:
    lines, total, end = list[SeenLine](), 0, 0
    for line in text.split("\n"):
        end += len(line) + 1
        grown = count(text[:end])
        lines.append(SeenLine(line, grown - total))
        total = grown
    return SeenRecord(name, text, tuple(lines), total)
