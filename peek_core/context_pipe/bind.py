"""Bind: records -> typed prompt sections with counted tokens and content hashes. The only stage that loads content.

Owns: loading, cleaning of text on its way into a prompt, counting each content once. Refuses to know: order, providers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from peek_core.context_pipe.catalog import Snapshot
from peek_core.context_pipe.plan import ContextPlan
from peek_core.context_pipe.redact import REDACTED
from peek_core.errors import Broken, PeekError
from peek_core.ports import TokenCounter
from peek_core.values.call_trace import Decision
from peek_core.values.canon import clean_text, content_hash
from peek_core.values.messages import PromptSection
from peek_core.values.sources import ANCHORS, Priority, SourceRecord

NAME = "bind"
REDACTION = "redact"
Redact = Callable[[str], tuple[str, Mapping[str, int]]]
LOADERS = 8
"""Contents loaded at a time."""


class Binder:
    """Binds each record once and keeps its section, so that a long run only pays for what is new."""

    def __init__(self, count: TokenCounter, tokens: dict[str, int] | None = None, redact: Redact | None = None) -> None:
        self._count, self._redact = count, redact
        self._redacted: dict[str, Mapping[str, int]] = {}
        """What was taken out of a section, by its content hash."""
        self._tokens: dict[str, int] = {} if tokens is None else tokens
        """Tokens by content hash; may be shared by the runs of a process."""
        # Keyed by object identity; the record is held beside its section so that its id stays taken.
        self._bound: dict[int, tuple[SourceRecord, PromptSection]] = {}
        self._replaced: dict[tuple[int, str], tuple[SourceRecord, PromptSection]] = {}

    def load(self, records: Sequence[SourceRecord]) -> Mapping[str, PeekError]:
        """Load what is not at hand, several at a time; returns the failures by record name."""
        missing = [r for r in records if r.load is not None and id(r) not in self._bound]
        failed: dict[str, PeekError] = {}

        def fetch(record: SourceRecord) -> tuple[SourceRecord, str | PeekError]:
            assert record.load is not None
            try:
                return record, record.load()
            except PeekError as failure:
                return record, failure

        if missing:
            with ThreadPoolExecutor(min(LOADERS, len(missing))) as pool:
                for record, got in pool.map(fetch, missing):
                    if isinstance(got, PeekError):
                        failed[record.name] = got
                    else:
                        self._bound[id(record)] = (record, self._bind(record, got))
        return failed

    def has(self, record: SourceRecord) -> bool:
        """Whether the record's content is at hand."""
        return record.load is None or id(record) in self._bound

    def at_hand(self, record: SourceRecord) -> PromptSection | None:
        """The section of a record that was bound already."""
        held = self._bound.get(id(record))
        return held[1] if held is not None else None

    def section(self, record: SourceRecord) -> PromptSection:
        """The bound section of a record; the same record object gives the same section object."""
        held = self._bound.get(id(record))
        if held is None:
            held = (record, self._bind(record, record.text))
            if self.has(record):  # what could not be loaded yet is not taken for empty
                self._bound[id(record)] = held
        return held[1]

    def replaced(self, record: SourceRecord, text: str) -> PromptSection:
        """The record's section with another text (a placeholder); counted, and bound once like any other."""
        key = (id(record), text)
        if key not in self._replaced:
            self._replaced[key] = (record, self._bind(record, text))
        return self._replaced[key][1]

    def redaction(self, sections: Sequence[PromptSection]) -> tuple[Decision, ...]:
        """What was taken out of these sections, where anything is looked for at all."""
        if self._redact is None:
            return ()
        total = sum(s.tokens for s in sections)
        found: Counter[str] = Counter()
        for s in sections:
            found.update(self._redacted.get(s.hash, {}))
        if not found:
            return (Decision(REDACTION, False, "nothing looks like personal data", total, total),)
        said = ", ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in sorted(found.items()))
        names = tuple(s.name for s in sections if s.hash in self._redacted)
        return (Decision(REDACTION, True, f"tokens stand for {said}", total, total, names),)

    def counted(self, text: str, hash: str) -> int:
        """Tokens of a content, counted at its first sight."""
        if hash not in self._tokens:
            self._tokens[hash] = self._count(text)
        return self._tokens[hash]

    def _bind(self, record: SourceRecord, text: str) -> PromptSection:
        text = clean_text(text)
        if record.role != "system":
            # Role tokens of chat templates must not be forged by cell text.
            text = text.replace("<|", "< |")
        taken: Mapping[str, int] = {}
        if self._redact is not None and record.kind in REDACTED and record.role != "assistant":
            text, taken = self._redact(text)
        hash = content_hash(text)
        if taken:
            self._redacted[hash] = taken
        return PromptSection(
            name=record.name,
            kind=record.kind.value,
            role=record.role,
            text=text,
            tokens=self.counted(text, hash),
            hash=hash,
            data=record.data,
            scope=record.scope.value,
            tier=record.tier.value,
            priority=record.priority.value,
        )


def bind(
    binder: Binder, snapshot: Snapshot, plan: ContextPlan
) -> tuple[tuple[SourceRecord, ...], tuple[PromptSection, ...], Decision]:
    """Records and their sections, in record order, and what was left out and why.

    A record that is dropped first is not even loaded where its budget is gone, unless an earlier request carried it.
    Raises Broken when what must be there can't be loaded.
    """
    skipped = {
        r.name
        for r, size in zip(snapshot.records, snapshot.estimates, strict=True)
        if snapshot.configuration.rules
        and r.priority is Priority.FIRST
        and r.kind not in ANCHORS
        and plan.budgets[r.name] < size
        and r.name not in snapshot.held.order
    }
    wanted = [r for r in snapshot.records if r.name not in skipped]
    failed = binder.load(wanted)
    for record in wanted:
        if record.name in failed and (record.priority is Priority.NEVER or record.kind in ANCHORS):
            raise Broken(f"Prompt section {record.name} can't be loaded: {failed[record.name].sentence()}")
    lost = tuple(n for n in failed)
    kept = [replace(r, load=None, text=f"({r.name} can't be read just now)") if r.name in failed else r for r in wanted]
    total = plan.used
    if not skipped and not lost:
        return (
            tuple(kept),
            tuple(map(binder.section, kept)),
            Decision(NAME, False, "all sections fit their budgets", total, total),
        )
    left = total - sum(s for r, s in zip(snapshot.records, snapshot.estimates, strict=True) if r.name in skipped)
    said = [f"{len(skipped)} left out, their budget is gone"] if skipped else []
    said += [f"{len(lost)} can't be read, a placeholder says so"] if lost else []
    return (
        tuple(kept),
        tuple(map(binder.section, kept)),
        Decision(NAME, True, "; ".join(said), total, left, (*sorted(skipped), *lost)),
    )
