"""Session latches: the first value read is frozen, so that a prefix can't drift unseen (ContextPipe, SessionLatch).

Owns: what is frozen in one run and what differed from the run before. Refuses to know: what a value means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peek_core.values.canon import content_hash
from peek_core.values.sources import LifecycleTier, SourceRecord


@dataclass(frozen=True)
class Reading:
    """Records with their latched values in place. `held`: names whose new value was not taken."""

    records: tuple[SourceRecord, ...]
    held: tuple[str, ...] = ()


class SessionLatches:
    """Latched records by name and source. `before`: hashes by name, as the run before left them."""

    def __init__(self, before: Mapping[str, str]) -> None:
        self._before = before
        self._first: dict[str, SourceRecord] = {}
        self.flipped: tuple[str, ...] = ()
        """Names whose value differs from the run before, until a request has carried it."""

    def read(self, records: Sequence[SourceRecord]) -> Reading:
        """The records with each latched one as it was first read in this run."""
        out, held, flipped = [], [], list(self.flipped)
        for record in records:
            if record.tier is LifecycleTier.LATCHED:
                known = self._first.get(record.name)
                if known is None:
                    self._first[record.name] = record
                    was = self._before.get(record.name)
                    if was is not None and was != content_hash(record.text):
                        flipped.append(record.name)
                elif known is not record and known.text != record.text:
                    held.append(record.name)
                    record = known
            out.append(record)
        self.flipped = tuple(flipped)
        return Reading(tuple(out), tuple(held))

    def carried(self) -> None:
        """A request with these values was answered: they are no news any more."""
        self.flipped = ()

    def values(self) -> dict[str, str]:
        """Hash by name of everything latched."""
        return {name: content_hash(r.text) for name, r in self._first.items()}
