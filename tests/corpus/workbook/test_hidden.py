"""Rows and columns that a spreadsheet does not show are read, and it is said that they were."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]

from peek_core.corpus.workbook.hidden import Hidden, Spans
from peek_core.corpus.workbook.workbook_survey import survey
from peek_core.values.dataset import TableReport
from tests.corpus.workbooks import archive, ods, ods_row, saved

Load = Callable[..., Any]


def hiding(
    *, rows: Sequence[int] = (), columns: str = "", filtered: bool = False, title: str = "S", more: int = 0
) -> bytes:
    """A sheet with the header a, b, c, d in row 1 and five rows below, and `more` sheets that hide nothing."""
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet.title = title
    for row in [list("abcd"), *([n, f"row hidden='1' r='{n}'", n * 1.5, "x"] for n in range(1, 6))]:
        sheet.append(row)
    for number in rows:
        sheet.row_dimensions[number].hidden = True
    for column in columns:
        sheet.column_dimensions[column].hidden = True
    if filtered:
        sheet.auto_filter.ref = "A1:D6"
        sheet.auto_filter.add_filter_column(0, ["1"])
    for n in range(more):
        workbook.create_sheet(f"Other {n}").append(["e"])
    return saved(workbook)


def said(table: TableReport) -> list[str]:
    return [line for line in table.assumptions if "hidden" in line]


@pytest.mark.parametrize(
    ("hidden", "sentences"),
    [
        ({}, []),
        ({"rows": [3]}, ["1 hidden row was read too, e.g. row 3."]),
        ({"rows": [5, 3, 4]}, ["3 hidden rows were read too, e.g. row 3."]),
        ({"rows": [1, 9]}, []),
        ({"rows": [2, 6], "filtered": True}, ["2 hidden rows were read too, e.g. row 2; the sheet has a filter on."]),
        ({"filtered": True}, []),
        ({"columns": "B"}, ["1 hidden column was read too: B (“b”)."]),
        ({"columns": "BD"}, ["2 hidden columns were read too: B (“b”), D (“d”)."]),
        ({"columns": "F"}, []),
        ({"rows": [2], "columns": "A"},
         ["1 hidden row was read too, e.g. row 2.", "1 hidden column was read too: A (“a”)."]),
    ],
)  # fmt: skip
def test_hidden_rows_and_columns_are_read_and_named(load: Load, hidden: dict[str, Any], sentences: list[str]) -> None:
    shelf = load(hiding(**hidden), name="t.xlsx")
    assert said(shelf.table) == sentences
    assert shelf.sql("SELECT count(*), sum(a), count(b), sum(c), count(d) FROM t") == [(5, 15, 5, 22.5, 5)]
    assert not shelf.report.doubts


@pytest.mark.parametrize("title", ["Q1 & Q2", "<Data>", "Größe “x”", "it's"])
def test_a_sheet_is_known_by_any_name(load: Load, title: str) -> None:
    assert len(said(load(hiding(rows=[3], title=title, more=2), name="t.xlsx").table)) == 1


def test_a_row_that_was_left_out_is_not_told_of(load: Load) -> None:
    workbook = Workbook()
    for row in [["a", "b"], ["x", 1], ["y", 2], ["Total", 3]]:
        workbook.worksheets[0].append(row)
    workbook.worksheets[0].row_dimensions[4].hidden = True
    shelf = load(saved(workbook), name="t.xlsx")
    assert shelf.table.rows == 2 and said(shelf.table) == []


def test_an_opendocument_sheet_says_the_same(load: Load) -> None:
    columns = '<table:table-column table:number-columns-repeated="2"/><table:table-column table:visibility="collapse"/>'
    off, gone = (ods_row(n, n, n).replace("<table:table-row", "<table:table-row table:visibility=" + how) for n, how in ((2, '"filter"'), (3, '"collapse"')))  # fmt: skip
    rows = ods_row("a", "b", "c") + ods_row(1, 1, 1) + off + gone + ods_row(4, 4, 4)
    shelf = load(ods(("Data", columns + rows)), name="t.ods")
    assert shelf.sql("SELECT sum(a), sum(c) FROM t") == [(10, 10)]
    assert said(shelf.table) == [
        "2 hidden rows were read too, e.g. row 3; the sheet has a filter on.",
        "1 hidden column was read too: C (“c”).",
    ]


def surveyed(tmp_path: Path, sheet: str) -> Hidden:
    """What is found hidden in the XML of a sheet."""
    relation = '<Relationships><Relationship Target="/xl/worksheets/one.xml" Id="r1"/></Relationships>'
    parts: dict[str, bytes | str] = {
        "xl/workbook.xml": '<x:workbook><x:sheets><x:sheet name="S" sheetId="1" r:id="r1"/></x:sheets></x:workbook>',
        "xl/_rels/workbook.xml.rels": relation,
        "xl/worksheets/one.xml": sheet,
    }
    (tmp_path / "t.xlsx").write_bytes(archive(parts))
    return survey(tmp_path / "t.xlsx", "t").hidden["S"]


@pytest.mark.parametrize(
    "row",
    [
        '<row r="3" hidden="1"><c r="A3"/></row>',
        '<row hidden="true" r="3"><c r="A3"/></row>',
        "<x:row r='3' hidden='1'><x:c r='A3'/></x:row>",
    ],
)
def test_every_way_to_write_a_hidden_row(tmp_path: Path, row: str) -> None:
    found = surveyed(tmp_path, row)
    assert 2 in found.rows and 1 not in found.rows and not found.filtered


@pytest.mark.parametrize(
    "row",
    [
        '<row r="3" hidden="0"><c r="A3"/></row>',
        '<row hidden="1"><c r="A3"/></row>',
        '<row r="3"><c r="A3" t="inlineStr"><is><t>hidden="1"</t></is></c></row>',
        '<autoFilter><filterColumn colId="0" hiddenButton="1"/></autoFilter><c r="A3"/>',
    ],
)
def test_what_only_looks_like_a_hidden_row(tmp_path: Path, row: str) -> None:
    found = surveyed(tmp_path, row)
    assert 2 not in found.rows and not found.filtered


@pytest.mark.parametrize("sign", ["<row ", '<row hidden="1" ', "<c ", "<x:row hidden='1' ", "<filterColumn "])
def test_a_hostile_sheet_takes_no_longer_than_its_size(tmp_path: Path, sign: str) -> None:
    started = time.perf_counter()
    surveyed(tmp_path, sign * 16_000 + '<c hidden="1"/></c>')
    assert time.perf_counter() - started < 5


def test_spans_hold_numbers_as_ranges_in_ascending_order() -> None:
    spans = Spans()
    for first, last in ((2, 2), (3, 5), (1, 1), (4, 7), (9, 8), (20, 1 << 40)):
        spans.add(first, last)
    assert [n for n in range(25) if n in spans] == [2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 24]
    assert 1 << 30 not in spans
