"""Where the table lies in a sheet, on grids of cells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from peek_core.corpus.workbook.sheet_grid import Cell, Merge
from peek_core.corpus.workbook.sheet_layout import SheetTable, find_table
from peek_core.values.dataset import ReadChoices

Grid = list[list[Cell]]


def table(*rows: Sequence[Any], merges: Sequence[Merge] = (), **choices: Any) -> SheetTable:
    width = max(map(len, rows))
    grid: Grid = [[*row, *[None] * (width - len(row))] for row in rows]
    found = find_table("S", grid, merges, ReadChoices(**choices))
    assert found is not None
    return found


def test_an_empty_sheet_has_no_table() -> None:
    assert find_table("S", [[None, None]], ()) is None
    assert find_table("S", [], ()) is None


def test_titles_and_notes_above_the_header_are_left_out_and_named() -> None:
    found = table(["Sales"], ["As of", "March"], [], ["id", "a", "b", "c"], [1, 2, 3, 4], [2, 3, 4, 5])
    assert found.labels == ("id", "a", "b", "c") and found.rows == [[1, 2, 3, 4], [2, 3, 4, 5]]
    assert (found.header_row, found.header_rows, found.numbers) == (4, 1, [5, 6])
    assert found.repairs[0] == "2 rows above the table were left out as title: row 1 (“Sales”), row 2 (“As of”)."


def test_a_title_merged_over_the_table_is_no_heading() -> None:
    found = table(["Q1"], ["id", "v"], [1, 2], merges=[((0, 0), (0, 1))])
    assert found.labels == ("id", "v") and found.header_row == 2


def test_a_title_narrower_than_the_table_is_no_heading_either() -> None:
    found = table(["Q1"], ["id", "v", "w"], [1, 2, 3], merges=[((0, 0), (0, 1))])
    assert found.labels == ("id", "v", "w") and found.rows == [[1, 2, 3]]


def test_headings_merged_over_columns_are_joined_with_those_below() -> None:
    found = table(
        ["Region", "Q1", None, "Q2"], [None, "Jan", "Feb", "Mar", "Apr"], ["N", 1, 2, 3, 4], ["S", 5, 6, 7, 8],
        merges=[((0, 0), (1, 0)), ((0, 1), (0, 2)), ((0, 3), (0, 4))],
    )  # fmt: skip
    assert found.labels == ("Region", "Q1 Jan", "Q1 Feb", "Q2 Mar", "Q2 Apr")
    assert (found.header_row, found.header_rows, len(found.rows)) == (1, 2, 2)
    assert "The header stands in rows 1 to 2; its parts were joined." in found.repairs


def test_one_heading_over_a_part_of_the_columns_belongs_to_the_header() -> None:
    found = table(
        ["Report"], [None, "2023"], ["Region", "Jan", "Feb", "Mar"], ["N", 1, 2, 3], merges=[((1, 1), (1, 3))]
    )
    assert found.labels == ("Region", "2023 Jan", "2023 Feb", "2023 Mar")
    assert found.repairs[0].startswith("1 row above the table")


def test_headings_over_columns_without_being_merged() -> None:
    found = table(["Region", "Q1", None, "Q2", None], [None, "Jan", "Feb", "Mar", "Apr"], ["N", 1, 2, 3, 4])
    assert found.labels == ("Region", "Q1 Jan", "Q1 Feb", "Q2 Mar", "Q2 Apr") and found.rows == [["N", 1, 2, 3, 4]]


def test_a_merged_heading_over_columns_of_text_takes_no_row_of_data() -> None:
    found = table(["id", "Address", None], [1, "Main St", "Berlin"], [2, "High St", "Bonn"], merges=[((0, 1), (0, 2))])
    assert found.labels == ("id", "Address", "Address") and len(found.rows) == 2


def test_a_header_of_five_merged_rows() -> None:
    found = table(
        ["Region", "Share", "Costs", None], [], [], [None, None, "before", "after (%)"], [None, "(%)"], ["A", 1, 2, 3],
        merges=[((0, 0), (4, 0)), ((0, 1), (3, 1)), ((0, 2), (2, 3)), ((3, 2), (4, 2)), ((3, 3), (4, 3))],
    )  # fmt: skip
    assert found.labels == ("Region", "Share (%)", "Costs before", "Costs after (%)")
    assert (found.header_rows, found.rows) == (5, [["A", 1, 2, 3]])


def test_one_merged_block_is_a_header_of_its_columns() -> None:
    found = table(["data"], merges=[((0, 0), (2, 1))])
    assert found.labels == ("data", "data") and found.rows == []


def test_merged_cells_among_the_rows_are_filled_and_counted() -> None:
    found = table(
        ["region", "shop", "sum"], ["N", "a", 1], [None, "b", 2], [None, "c", 3], ["S", "d", 4],
        merges=[((1, 0), (3, 0))],
    )  # fmt: skip
    assert [row[0] for row in found.rows] == ["N", "N", "N", "S"]
    assert found.repairs == ["2 empty cells got the value of their merged range, such as A3 (“N”)."]


def test_a_merged_range_of_the_whole_sheet_does_not_make_rows() -> None:
    found = table(["id", "c"], [1, "x"], [2, None], merges=[((1, 1), (1_048_575, 16_383))])
    assert found.rows == [[1, "x"], [2, "x"]] and found.labels == ("id", "c")


def test_headings_between_rows_and_notes_below_are_left_out_and_named() -> None:
    found = table(
        ["id", "a", "b"], ["North"], [1, 2, 3], ["South"], [2, 3, 4], [], ["* preliminary"], ["Source: us"],
        merges=[((1, 0), (1, 2)), ((3, 0), (3, 2))],
    )  # fmt: skip
    assert found.rows == [[1, 2, 3], [2, 3, 4]]
    assert found.repairs == [
        "2 rows were left out as notes below the table: row 7 (“* preliminary”), row 8 (“Source: us”).",
        "2 rows were left out as headings between the rows: row 2 (“North”), row 4 (“South”).",
    ]


def test_a_row_with_one_text_directly_below_is_data() -> None:
    found = table(["name", "n", "m"], ["a", 1, 2], ["no numbers yet"])
    assert len(found.rows) == 2 and found.repairs == []


def test_blank_rows_and_columns_are_skipped_and_counted() -> None:
    found = table([None, "a", None, "b"], [None, 1, None, 2], [], [], [None, 3, None, 4])
    assert found.labels == ("a", "b") and found.rows == [[1, 2], [3, 4]] and found.numbers == [2, 5]
    assert found.repairs == [
        "2 empty columns were left out: A, C.",
        "2 blank rows were skipped inside the table, the first is row 3.",
    ]


def test_the_header_repeated_on_every_page_is_left_out() -> None:
    found = table(["id", "v"], [1, 2], ["id", "v"], [2, 3], ["id", "w"])
    assert found.rows == [[1, 2], [2, 3], ["id", "w"]]
    assert found.repairs == ["1 row was left out as the header once more: row 3 (“id”)."]


@pytest.mark.parametrize(
    ("last", "proof"),
    [
        (["Total", None, 60], "60 is the sum of sales"),
        (["Grand total:", None, 60.004], "60.004 is the sum of sales"),
        (["Durchschnitt", None, 20.0], "20 is the mean of sales"),
        (["Count", None, 3], "3 is the number of sales"),
        ([None, "TOTAL", None], "it has no region"),
    ],
)
def test_a_summary_below_the_rows_is_left_out_where_it_is_proved(last: list[Any], proof: str) -> None:
    found = table(["region", "shop", "sales"], ["N", "a", 10], ["S", "b", 20], ["W", "c", 30], [], last)
    assert len(found.rows) == 3 and found.doubts == []
    assert [line for line in found.repairs if "summary" in line] == [
        f"Row 6 (“{next(cell for cell in last if cell)}”) was left out as a summary: {proof}."
    ]


def test_a_total_and_a_mean_below_are_both_left_out() -> None:
    found = table(["region", "sales"], ["N", 10], ["S", 20], ["Average", 15], ["Total", 30])
    assert found.rows == [["N", 10], ["S", 20]]
    assert [line[:8] for line in found.repairs] == ["Row 4 (“", "Row 5 (“"]


def test_a_summary_that_no_number_proves_is_kept_and_doubted() -> None:
    found = table(["region", "sales"], ["N", 10], ["S", 20], ["Total", 31])
    assert len(found.rows) == 3 and found.repairs == []
    assert [(doubt.where, doubt.what[:7]) for doubt in found.doubts] == [("row 4", "“Total”")]
    assert table(["shop", "sales"], ["N", 10], ["Total Wine", 20]).doubts == []


def test_sums_between_the_rows_are_kept_and_doubted() -> None:
    found = table(["region", "sales"], ["N", 10], ["Subtotal", 10], ["S", 20], ["Sub-total", 20], ["W", 1])
    assert len(found.rows) == 5
    assert [doubt.where for doubt in found.doubts] == ["row 3 and 1 more"]


def test_rows_of_numbers_without_a_header() -> None:
    found = table([1, "a", 2.5], [2, "b", 3.5], [3, "c", 4.5])
    assert found.labels == ("column 1", "column 2", "column 3") and len(found.rows) == 3
    assert (found.header_row, found.header_rows) == (1, 0)
    assert [doubt.alternative for doubt in found.doubts] == ["read row 1 as the header"]


def test_letters_over_letters_are_no_header_but_words_are() -> None:
    found = table(["I", "h"], ["j", "x"], ["k", "p"], ["l", "q"])
    assert found.header_rows == 0 and len(found.rows) == 4 and "single letters" in found.doubts[0].what
    assert table(["A", "B"], ["j", "x"], ["k", "p"], ["l", "q"]).header_rows == 1
    assert table(["q", "a"], ["y", "n"], ["n", "n"], ["y", "y"]).header_rows == 1


def test_years_and_days_are_headers_where_they_rise() -> None:
    found = table(["region", 2019, 2020.0, 2021], ["N", 1, 2, 3], ["S", 4, 5, 6])
    assert found.labels == ("region", "2019", "2020", "2021") and found.doubts == []
    found = table([None, date(2024, 1, 1), date(2024, 2, 1)], ["N", 1, 2], ["S", 4, 5])
    assert found.labels == ("", "2024-01-01", "2024-02-01") and len(found.rows) == 2


def test_a_header_that_names_few_columns_is_not_taken_for_a_title() -> None:
    found = table(["id", "name"], [1, "a", 2, 3, 4, 5], [2, "b", 3, 4, 5, 6])
    assert found.labels[:2] == ("id", "name") and len(found.rows) == 2


def test_the_header_of_a_single_column_of_words_is_doubted() -> None:
    assert [doubt.alternative for doubt in table(["name"], ["a"], ["b"]).doubts] == ["read it as data"]
    assert table(["name"], [1], [2]).doubts == []


def test_another_table_below_is_doubted() -> None:
    found = table(["id", "v"], [1, 2], [2, 3], [], ["shop", "city"], ["a", "b"])
    assert [doubt.where for doubt in found.doubts] == ["row 5"] and "another table" in found.doubts[0].what


def test_a_person_may_say_where_the_header_is() -> None:
    rows = (["a", "b"], ["x", "y"], [1, 2], [3, 4])
    found = table(*rows, skip=1)
    assert found.labels == ("x", "y") and found.rows == [[1, 2], [3, 4]]
    assert table(*rows, header_rows=2).labels == ("a x", "b y")
    assert table(*rows, header_rows=0).rows == [list(row) for row in rows]
