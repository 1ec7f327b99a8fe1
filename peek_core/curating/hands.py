"""What every act of a person on one map stands on: its book, its settings, queries over the data, and saving.

Owns: evidence as it is now, holding the budget when a version is saved. Refuses to know: which acts there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from peek_core.book import StoreBook
from peek_core.context_map import map as maps
from peek_core.context_map.definitions import Definition
from peek_core.context_map.evictor import evict
from peek_core.context_map.evidence import gather
from peek_core.context_map.history import MapEvent, evicted
from peek_core.context_map.map import ContextMap, Edit, Evidence, MapItem, render
from peek_core.context_map.slots import slotted
from peek_core.deciding import Bench
from peek_core.errors import NotFound, PeekError, Refused
from peek_core.ports import RunQuery, TokenCounter
from peek_core.settings import MapSettings

QueryWith = Callable[[Callable[[RunQuery], Any], tuple[Definition, ...]], Any]
"""Calls what it is given with a query function over the view that the definitions make."""


class Hands:
    """`columns`: table -> column -> type of the raw tables; `version`: the dataset's."""

    def __init__(
        self,
        book: StoreBook,
        settings: MapSettings,
        count: TokenCounter,
        query_with: QueryWith,
        columns: Mapping[str, Mapping[str, str]],
        version: int,
    ) -> None:
        self._book, self._settings, self._count = book, settings, count
        self._query_with, self._version = query_with, version
        self._bench = Bench(columns, version, lambda use: query_with(use, ()))

    def _evidence(self, current: ContextMap, sql: str | None) -> tuple[Evidence | None, maps.EvidenceState]:
        if not sql or not sql.strip():
            return None, "unverifiable"
        return self._query_with(lambda query: gather(sql, query, self._version), current.active), "holds"

    def _evidence_for(self, current: ContextMap, edit: Edit) -> tuple[Evidence | None, maps.EvidenceState]:
        """What the query of an edit shows now; none where it fails or does not show what the text says."""
        try:
            evidence, state = self._evidence(current, edit.evidence.sql if edit.evidence else None)
        except PeekError:
            return None, "unverifiable"
        if evidence is None or slotted(edit.text, evidence.expect, evidence.sql).loose:
            return None, "unverifiable"
        return evidence, state

    def _fits(self, item: MapItem) -> None:
        size = self._count(render([item]))
        if size > self._settings.budget:
            raise Refused(f"The item alone would take {size:,} of {self._settings.budget:,} tokens", next="Shorten it.")

    def _item(self, id: str) -> tuple[ContextMap, MapItem]:
        current = self._book.current()
        item = current.item(id)
        if item is None:
            raise NotFound(f"There is no item {id!r} in the map")
        return current, item

    def _save(self, current: ContextMap, new: ContextMap, *events: MapEvent) -> ContextMap:
        """Commit; items added by hand may push others out, so the budget is held here too."""
        fitted, gone = evict(
            new, self._settings.budget, self._count, order=self._settings.order, grace=self._settings.grace
        )
        return self._book.commit(current, fitted, [*events, *evicted(gone)])


def template_of(text: str, evidence: Evidence | None) -> str:
    """The slots of a text a person wrote; what the evidence does not show is theirs to answer for."""
    return slotted(maps.one_line(text), evidence.expect, evidence.sql).template if evidence else ""
