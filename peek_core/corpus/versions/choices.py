"""What was settled about reading one export, for the one that follows it.

Owns: which choices carry over. Refuses to know: how files are read, and what a match is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from peek_core.corpus.load import Source
from peek_core.values.dataset import LoadReport, ReadChoices
from peek_core.values.versions import Proposal


def as_before(sources: Sequence[Source], held: LoadReport) -> list[Source]:
    """The sources with what was settled about reading the file they follow, where there was one of that kind."""

    def settled(source: Source) -> Source:
        suffix = Path(source.label).suffix.lower()
        like = [s for s in held.sources if Path(s.name).suffix.lower() == suffix and s.choices != ReadChoices()]
        if source.choices != ReadChoices() or len(like) != 1:
            return source
        return replace(source, choices=replace(like[0].choices, columns={}))

    return [settled(s) for s in sources]


def same_ways(sources: Sequence[Source], report: LoadReport, held: LoadReport, found: Proposal) -> list[Source] | None:
    """The sources with the columns read as those they were taken for, where their values allow it; None: they are."""
    ways: dict[str, dict[str, str]] = {}
    known = {t.name: {c.name: c for c in t.columns} for t in held.tables}
    for match in found.tables:
        table = next(t for t in report.tables if t.name == match.new)
        for c in table.columns:
            old = known[match.old].get(match.names.get(c.name, ""))
            if old is not None and old.way != c.way and old.way in c.ways:
                ways.setdefault(table.source, {})[c.name] = old.way
    if not ways:
        return None
    read = {s.name: s.choices for s in report.sources}
    return [
        replace(s, choices=replace(read[s.label], columns={**read[s.label].columns, **ways.get(s.label, {})}))
        for s in sources
    ]
