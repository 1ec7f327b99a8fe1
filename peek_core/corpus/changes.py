"""What another reading of the same files changes.

Owns: the comparison of two load reports. Refuses to know files and databases.
"""

from __future__ import annotations

from dataclasses import dataclass

from peek_core.values.dataset import LoadReport, TableReport


@dataclass(frozen=True)
class Change:
    """One difference: of which table or column, what, before and after."""

    where: str
    what: str
    before: str
    after: str


def changes(before: LoadReport, after: LoadReport) -> tuple[Change, ...]:
    """Tables and columns that came, went or are read otherwise, and rows that are counted otherwise."""
    old = {t.name: t for t in before.tables}
    new = {t.name: t for t in after.tables}
    made = [Change(name, "table", f"{old[name].rows:,} rows", "gone") for name in old if name not in new]
    made += [Change(name, "table", "not there", f"{new[name].rows:,} rows") for name in new if name not in old]
    for name in old:
        if name in new:
            made += _of_table(old[name], new[name])
    return tuple(made)


def _of_table(old: TableReport, new: TableReport) -> list[Change]:
    counted = (
        ("rows", f"{old.rows:,}", f"{new.rows:,}"),
        ("rejected", f"{old.rejects:,}", f"{new.rejects:,}"),
        ("encoding", old.encoding, new.encoding),
        ("dialect", old.dialect, new.dialect),
        ("header rows", str(old.header_rows), str(new.header_rows)),
    )
    made = [Change(old.name, what, a, b) for what, a, b in counted if a != b]
    was = {c.name: c for c in old.columns}
    now = {c.name: c for c in new.columns}
    made += [Change(f"{old.name}.{n}", "column", was[n].type.lower(), "gone") for n in was if n not in now]
    made += [Change(f"{old.name}.{n}", "column", "not there", now[n].type.lower()) for n in now if n not in was]
    for n in was.keys() & now.keys():
        a, b = was[n], now[n]
        told = (
            ("type", a.type.lower(), b.type.lower()),
            ("read as", a.way, b.way),
            ("missing", f"{a.nulls:,}", f"{b.nulls:,}"),
            ("e.g.", a.sample, b.sample),
        )
        made += [Change(f"{old.name}.{n}", what, x, y) for what, x, y in told if x != y]
    return made
