"""What a new file is taken for: both files are sketched, laid side by side, and judged.

Owns: the order of that. Refuses to know: what becomes of the proposal.
"""

from __future__ import annotations

from pathlib import Path

from peek_core.corpus.versions.cells import NEW, OLD, both
from peek_core.corpus.versions.matching import proposed
from peek_core.corpus.versions.sketch import beside, sketched
from peek_core.values.dataset import LoadReport
from peek_core.values.versions import Proposal


def propose(old: Path, new: Path, before: LoadReport, after: LoadReport, spill: Path) -> Proposal:
    """The tables and columns of `new` as those of `old`. Reads both files; raises `duckdb.Error` where the engine does."""
    with both(old, new, spill) as con:
        olds = [sketched(con, OLD, t.name, {c.name: c.label for c in t.columns}) for t in before.tables]
        news = [sketched(con, NEW, t.name, {c.name: c.label for c in t.columns}) for t in after.tables]
        besides = {(o.name, n.name): beside(con, o, n) for o in olds for n in news}
    return proposed(olds, news, besides)
