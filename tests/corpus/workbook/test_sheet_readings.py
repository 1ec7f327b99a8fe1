"""Columns of a sheet: what texts say, and what a person chose."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]
from openpyxl.utils.datetime import CALENDAR_MAC_1904  # type: ignore[import-untyped]

from peek_core.corpus.load import Source, load_files
from peek_core.values.dataset import Column, LoadReport, ReadChoices
from tests.corpus.workbooks import book, saved


def read(tmp_path: Path, content: bytes, **ways: str) -> tuple[LoadReport, list[tuple[Any, ...]]]:
    """The report on a workbook whose columns are read in chosen `ways`, and its rows."""
    source, target = tmp_path / "t.xlsx", tmp_path / "v1.duckdb"
    source.write_bytes(content)
    report = load_files([Source(source, "t.xlsx", ReadChoices(columns=ways))], target)
    with duckdb.connect(str(target), read_only=True) as con:
        return report, con.execute("FROM t").fetchall()


def column(tmp_path: Path, cells: list[Any], **ways: str) -> tuple[LoadReport, Column, list[Any]]:
    """One column `v`: the report, how it was read, and its values, or those of the typed column beside it."""
    report, rows = read(tmp_path, book(("S", [["id", "v"], *([n, cell] for n, cell in enumerate(cells))])), **ways)
    return report, report.tables[0].columns[1], [row[-1] for row in rows]


def test_dates_in_text_whose_order_is_open_stand_beside_their_text_and_are_doubted(tmp_path: Path) -> None:
    report, v, values = column(tmp_path, ["03/04/2024", "05/06/2024"])
    (table,) = report.tables
    assert [(c.name, c.type) for c in table.columns] == [("id", "BIGINT"), ("v", "VARCHAR"), ("v_date", "DATE")]
    assert (v.way, v.ways, v.sample) == ("day first", ("month first", "text"), "03/04/2024")
    assert values == [date(2024, 4, 3), date(2024, 6, 5)]
    (doubt,) = report.doubts
    assert doubt.where == "column v" and doubt.alternative == "month first"
    assert "The order of day and month cannot be told, e.g. “03/04/2024”; v_date reads it day first" in doubt.what


def test_dates_in_text_that_only_one_order_fits_are_dates(tmp_path: Path) -> None:
    report, v, values = column(tmp_path, ["13/04/2024", "05/06/2024"])
    assert values == [date(2024, 4, 13), date(2024, 6, 5)] and v.way == "day first" and not report.doubts
    assert "v: dates read day first, because “13/04/2024” fits no other order." in report.tables[0].assumptions


def test_dates_in_text_among_date_cells_are_read_each_by_itself(tmp_path: Path) -> None:
    report, v, values = column(tmp_path, [date(2024, 4, 3), "13/04/2024"])
    assert values == [date(2024, 4, 3), date(2024, 4, 13)] and v.type == "VARCHAR" and len(report.doubts) == 1
    assert "v: cells of several kinds (dates: 1, text: 1) were all read as text." in report.tables[0].assumptions


def test_a_date_beside_never_takes_the_name_of_another_column(tmp_path: Path) -> None:
    report, rows = read(tmp_path, book(("S", [["v", "v_date"], ["03/04/2024", 7]])))
    assert [c.name for c in report.tables[0].columns] == ["v", "v_date_2", "v_date"]
    assert rows == [("03/04/2024", date(2024, 4, 3), 7)]


@pytest.mark.parametrize(
    ("cells", "way", "ways"),
    [
        (["1.234,50", "2,10"], "text", ("number, decimal comma",)),
        (["1,5", "2"], "text", ("number, decimal comma",)),
        (["5", "6"], "text", ("whole number", "number")),
        (["007", "012"], "text", ("whole number",)),
        (["yes", "no"], "text", ()),
        (["true", "false"], "text", ("true or false",)),
        ([1, 2], "whole number", ("number", "text")),
        ([1.5, 2], "number", ("text",)),
        ([45_000, 45_001], "whole number", ("Excel date", "number", "text")),
        ([45_000.5, 45_001], "number", ("Excel date", "text")),
        ([20_240_131, 19_991_231], "whole number", ("YYYYMMDD", "number", "text")),
        ([45_000, 7], "whole number", ("number", "text")),
        ([date(2024, 3, 1)], "date", ("text",)),
        ([datetime(2024, 3, 1, 8)], "time", ("text",)),
        ([True, False], "true or false", ("text",)),
        ([1, "2,5"], "text", ("number, decimal comma",)),
    ],
)
def test_ways_that_a_column_allows_are_offered_and_change_nothing(
    tmp_path: Path, cells: list[Any], way: str, ways: tuple[str, ...]
) -> None:
    report, v, _ = column(tmp_path, cells)
    assert (v.way, v.ways) == (way, ways) and not report.doubts
    assert report.tables[0].read.columns == {"id": "whole number", "v": way}
    assert (v.type == "VARCHAR") == (way == "text")


@pytest.mark.parametrize(
    ("cells", "way", "kind", "values"),
    [
        (["03/04/2024", "05/06/2024"], "month first", "VARCHAR", [date(2024, 3, 4), date(2024, 5, 6)]),
        (["03/04/2024", "05/06/2024"], "text", "VARCHAR", ["03/04/2024", "05/06/2024"]),
        (["1.234,50", "2,10"], "number, decimal comma", "DOUBLE", [1234.5, 2.1]),
        (["5", "n/a"], "whole number", "BIGINT", [5, None]),
        (["007", "012"], "whole number", "BIGINT", [7, 12]),
        ([45_000, 45_001], "Excel date", "DATE", [date(2023, 3, 15), date(2023, 3, 16)]),
        ([45_000.5, None], "Excel date", "TIMESTAMP", [datetime(2023, 3, 15, 12), None]),
        ([20_240_131, None], "YYYYMMDD", "DATE", [date(2024, 1, 31), None]),
        ([1, 0], "true or false", "BOOLEAN", [True, False]),
        ([1_700_000_000], "epoch seconds", "TIMESTAMP", [datetime(2023, 11, 14, 22, 13, 20)]),
        ([1, "n/a", 2.5], "text", "VARCHAR", ["1", "n/a", "2.5"]),
        ([date(2024, 3, 1), date(2024, 3, 2), 45_000], "text", "VARCHAR", ["2024-03-01", "2024-03-02", "45000"]),
        ([True, None], "text", "VARCHAR", ["true", None]),
        ([1, 2], "number", "DOUBLE", [1.0, 2.0]),
    ],
)
def test_a_chosen_way_is_followed(tmp_path: Path, cells: list[Any], way: str, kind: str, values: list[Any]) -> None:
    found = column(tmp_path, cells)[1]
    report, v, got = column(tmp_path, cells, v=way)
    assert (v.type, v.way, got) == (kind, way, values) and not report.doubts
    assert f"v: read as {way}, as chosen." in report.tables[0].assumptions
    assert found.way in v.ways and way not in v.ways, "there is a way back"


def test_a_chosen_way_that_some_cells_do_not_fit_stands_beside(tmp_path: Path) -> None:
    report, v, values = column(tmp_path, ["1,5", "many"], v="number, decimal comma")
    assert v.type == "VARCHAR" and values == [1.5, None]
    assert "1 value (“many”) cannot be read as number, decimal comma; empty in v_number" in report.doubts[0].what


@pytest.mark.parametrize("cells", [[1, 2], ["13/04/2024"], ["1,5"], [date(2024, 3, 1)]])
@pytest.mark.parametrize("chosen", [{"v": "Roman"}, {"w": "text"}, {"v": ""}])
def test_an_unknown_way_or_column_changes_nothing(tmp_path: Path, cells: list[Any], chosen: dict[str, str]) -> None:
    report, v, values = column(tmp_path, cells)
    again, w, others = column(tmp_path, cells, **chosen)
    assert (v, values, report.tables, report.doubts) == (w, others, again.tables, again.doubts)


def test_what_was_found_may_be_chosen(tmp_path: Path) -> None:
    for cells in ([1, 2], ["13/04/2024"], ["1,5"], [date(2024, 3, 1)], [45_000]):
        report, v, values = column(tmp_path, cells)
        again, w, others = column(tmp_path, cells, v=v.way)
        assert (v, values, report.doubts) == (w, others, again.doubts)


def test_days_of_a_workbook_that_counts_from_1904_are_not_offered_as_excel_dates(tmp_path: Path) -> None:
    mac = Workbook()
    mac.epoch = CALENDAR_MAC_1904
    for row in [["v", "w"], [45_000, "x"]]:
        mac.worksheets[0].append(row)
    report, rows = read(tmp_path, saved(mac), v="Excel date")
    assert report.tables[0].columns[0].ways == ("number", "text") and rows == [(45_000, "x")]
