"""The policy that remembers nothing: the other arm of every comparison. Profile and conversation are there too.

Owns: doing nothing. Refuses to know: the map.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.context_map.definitions import Definition
from peek_core.policies.records import definitions_record
from peek_core.values.sources import SourceRecord
from peek_core.values.trajectory import Trajectory


class NoMemory:
    """Contributes the accepted definitions only (they are part of the dataset, not of the map)."""

    name = "none"

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._definitions = definitions

    def before(self) -> tuple[SourceRecord, ...]:
        return (definitions_record(self._definitions),) if self._definitions else ()

    def after(self, trajectory: Trajectory) -> None:
        """Nothing is learned."""
