"""What another reading of the same files changes, said column by column."""

from __future__ import annotations

from dataclasses import replace

from peek_core.corpus.changes import Change, changes
from peek_core.values.dataset import Column, LoadReport, TableReport

ID = Column("id", "id", "BIGINT", 0, way="whole number")
DAY = Column("day", "day", "VARCHAR", 0, sample="01/02/2024", way="text")
OLD = LoadReport((), (TableReport("t", 10, (ID, DAY)),))


def read(**other: object) -> LoadReport:
    return LoadReport((), (replace(OLD.tables[0], **other),))  # type: ignore[arg-type]


def test_the_same_reading_changes_nothing() -> None:
    assert changes(OLD, OLD) == ()


def test_types_ways_and_missing_values() -> None:
    dated = replace(DAY, type="DATE", way="day first", nulls=2)
    assert changes(OLD, read(columns=(ID, dated))) == (
        Change("t.day", "type", "varchar", "date"),
        Change("t.day", "read as", "text", "day first"),
        Change("t.day", "missing", "0", "2"),
    )


def test_rows_rejects_and_columns_that_come_and_go() -> None:
    more = Column("day_date", "day (as date)", "DATE", 0)
    assert changes(OLD, read(rows=9, rejects=1, columns=(ID, more))) == (
        Change("t", "rows", "10", "9"),
        Change("t", "rejected", "0", "1"),
        Change("t.day", "column", "varchar", "gone"),
        Change("t.day_date", "column", "not there", "date"),
    )


def test_tables_that_come_and_go() -> None:
    other = LoadReport((), (replace(OLD.tables[0], name="u", rows=3),))
    assert changes(OLD, other) == (Change("t", "table", "10 rows", "gone"), Change("u", "table", "not there", "3 rows"))
