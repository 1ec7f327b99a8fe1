"""A proposal as a person corrects it: this column is that one, or a new one.

Owns: what a correction leaves of a match. Refuses to know: how it was proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from peek_core.errors import Refused
from peek_core.values.versions import ColumnMatch, Proposal, TableMatch


def corrected(found: Proposal, matches: Sequence[str]) -> Proposal:
    """The proposal with pairs a person named, as `NEW=OLD`; `NEW=` for none. Raises Refused for a name there is not."""
    tables = list(found.tables)
    for said in matches:
        new, equals, old = said.partition("=")
        at = next((n for n, t in enumerate(tables) if new in t.names or new in t.added), None)
        if not equals or at is None:
            raise Refused(f"The file has no column {new!r}", next="Name columns as the proposal does.")
        if old and old not in [*tables[at].names.values(), *tables[at].gone]:
            raise Refused(f"The dataset has no column {old!r}", next="Name columns as the proposal does.")
        tables[at] = paired(tables[at], new, old or None)
    return replace(found, tables=tuple(tables))


def paired(table: TableMatch, new: str, old: str | None) -> TableMatch:
    """The table with one column taken for another one, or (None) for a new one; nobody asks about it any more."""
    before = {c.new: c for c in table.columns}
    kept = [c for c in table.columns if c.new != new and c.old != old]
    if old is not None:
        label = before[new].label if new in before else new
        kept.append(ColumnMatch(old, new, label, 1.0, "you said so", True))
    all_new = [*before, *table.added]
    all_old = [*(c.old for c in table.columns), *table.gone]
    known = {c.old for c in kept}
    kept.sort(key=lambda c: all_old.index(c.old))
    gone = tuple(o for o in all_old if o not in known)
    added = tuple(n for n in all_new if n not in {c.new for c in kept})
    return replace(table, columns=tuple(kept), gone=gone, added=added, certain=True)
