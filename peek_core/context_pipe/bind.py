"""Bind: records -> typed prompt sections with counted tokens and content hashes.

Owns: cleaning of text on its way into a prompt. Refuses to know: order, pressure, providers.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.ports import TokenCounter
from peek_core.values.canon import clean_text, content_hash
from peek_core.values.messages import PromptSection
from peek_core.values.sources import SourceRecord


class Binder:
    """Binds each record once and keeps its section, so that a long run only pays for what is new."""

    def __init__(self, count: TokenCounter) -> None:
        self._count = count
        # Keyed by object identity; the record is held beside its section so that its id stays taken.
        self._bound: dict[int, tuple[SourceRecord, PromptSection]] = {}
        self._replaced: dict[tuple[int, str], PromptSection] = {}

    def section(self, record: SourceRecord) -> PromptSection:
        """The bound section of a record; the same record object gives the same section object."""
        held = self._bound.get(id(record))
        if held is None:
            held = self._bound[id(record)] = (record, self._bind(record, record.text))
        return held[1]

    def replaced(self, record: SourceRecord, text: str) -> PromptSection:
        """The record's section with another text (a placeholder); counted, and bound once like any other."""
        key = (id(record), text)
        if key not in self._replaced:
            self._replaced[key] = self._bind(record, text)
        return self._replaced[key]

    def _bind(self, record: SourceRecord, text: str) -> PromptSection:
        text = clean_text(text)
        if record.role != "system":
            # Role tokens of chat templates must not be forged by cell text.
            text = text.replace("<|", "< |")
        return PromptSection(
            name=record.name,
            kind=record.kind.value,
            role=record.role,
            text=text,
            tokens=self._count(text),
            hash=content_hash(text),
            data=record.data,
            scope=record.scope.value,
            tier=record.tier.value,
            priority=record.priority.value,
        )


def bind(binder: Binder, records: Sequence[SourceRecord]) -> tuple[PromptSection, ...]:
    """All records as sections, in record order."""
    return tuple(binder.section(r) for r in records)
