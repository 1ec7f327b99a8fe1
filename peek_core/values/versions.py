"""How one version of a dataset lies against another: matched tables and columns, and what differs between their rows.

Owns: the shapes. Refuses to know: files, engines, maps. Shares are 0..1; values are text, cut at 60 characters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnMatch:
    """A column of the new file that is taken for one known already. `old` and `new` are SQL names, `label` the header."""

    old: str
    new: str
    label: str
    similarity: float
    why: str
    """What speaks for it, in words."""
    certain: bool
    """Whether it may be acted upon without asking."""


@dataclass(frozen=True)
class TableMatch:
    """A table of the new file that is taken for one known already, column by column."""

    old: str
    new: str
    similarity: float
    columns: tuple[ColumnMatch, ...]
    gone: tuple[str, ...] = ()
    """Columns of the old table that no new one stands for."""
    added: tuple[str, ...] = ()
    """Columns of the new table that stand for no old one."""
    certain: bool = True

    @property
    def names(self) -> dict[str, str]:
        """New SQL name -> the one it is known by."""
        return {c.new: c.old for c in self.columns}


@dataclass(frozen=True)
class Proposal:
    """What a new file is taken for. Nothing of it is done before somebody agrees, or all of it is certain."""

    tables: tuple[TableMatch, ...]
    further: tuple[str, ...] = ()
    """New tables that stand for none known."""
    kept: tuple[str, ...] = ()
    """Known tables the file brings nothing for; they stay as they are."""

    @property
    def certain(self) -> bool:
        return all(t.certain and all(c.certain for c in t.columns) for t in self.tables)


@dataclass(frozen=True)
class ValueMove:
    """One value of a column and how many rows have it, before and after."""

    value: str
    before: int
    after: int


@dataclass(frozen=True)
class BinMove:
    """One bar of a histogram over both versions: from `start` to `end`, as text, and its rows in each."""

    start: str
    end: str
    before: int
    after: int


@dataclass(frozen=True)
class ColumnDiff:
    """One column, before and after; what only one version has stands as None on the other side."""

    name: str
    label_before: str | None
    label_after: str | None
    type_before: str | None
    type_after: str | None
    nulls_before: float | None = None
    """Share of rows without a value."""
    nulls_after: float | None = None
    distinct_before: int | None = None
    distinct_after: int | None = None
    range_before: tuple[str, str] | None = None
    range_after: tuple[str, str] | None = None
    new_values: tuple[ValueMove, ...] = ()
    """The most frequent ones; only where a column has few enough values to be compared."""
    vanished: tuple[ValueMove, ...] = ()
    new_count: int | None = None
    vanished_count: int | None = None
    values: tuple[ValueMove, ...] = ()
    """The most frequent values of both, for a picture."""
    bins: tuple[BinMove, ...] = ()
    changed: int | None = None
    """Rows with the same key whose value is another."""
    factor: float | None = None
    """By what numbers are multiplied throughout, where they are: 0.01 for cents that became whole units."""
    damage: str = ""
    """What a spreadsheet did to it on the way, in words."""

    @property
    def status(self) -> str:
        """added, removed, or what changed about it in words; empty for nothing."""
        if self.type_before is None:
            return "added"
        if self.type_after is None:
            return "removed"
        said = [
            "renamed" if self.label_before != self.label_after else "",
            "retyped" if self.type_before != self.type_after else "",
            "damaged" if self.damage else "",
            "rescaled" if self.factor is not None else "",
            "new values" if self.new_count else "",
            "vanished values" if self.vanished_count else "",
        ]
        return ", ".join(filter(None, said))


@dataclass(frozen=True)
class TableDiff:
    """One table, before and after. Row counts by key are None where the table has none."""

    name: str
    rows_before: int
    rows_after: int
    columns: tuple[ColumnDiff, ...]
    key: str = ""
    """The column rows are told apart by; empty: whole rows are compared."""
    key_said: str = ""
    """What has to be said of the key or of its absence."""
    added: int | None = None
    removed: int | None = None
    changed: int | None = None

    def column(self, name: str) -> ColumnDiff | None:
        return next((c for c in self.columns if c.name == name), None)


@dataclass(frozen=True)
class DataDiff:
    """Two versions of a dataset."""

    tables: tuple[TableDiff, ...]
    tables_added: tuple[str, ...] = ()
    tables_removed: tuple[str, ...] = ()
    seconds: float = 0.0

    def table(self, name: str) -> TableDiff | None:
        return next((t for t in self.tables if t.name == name), None)
