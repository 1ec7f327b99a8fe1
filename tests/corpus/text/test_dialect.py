"""Delimiters, quotes and headers of whole files, through the loader."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peek_core.corpus.text.dialect import MAX_COLUMNS
from peek_core.errors import UnreadableFile


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(load: Callable[..., Any], delimiter: str) -> None:
    text = "id,score,comment\n1,5,fine\n2,4,slow\n".replace(",", delimiter)
    shelf = load(text)
    assert shelf.sql("SELECT * FROM t") == [(1, 5, "fine"), (2, 4, "slow")]
    assert shelf.table.dialect.endswith("double quote, header in line 1")


def test_separator_line_of_a_spreadsheet(load: Callable[..., Any]) -> None:
    shelf = load("sep=;\r\nid;c\r\n1;a,b\r\n")
    assert shelf.sql("SELECT * FROM t") == [(1, "a,b")]
    assert "separator" in shelf.table.repairs[0]


def test_quotes_commas_and_line_ends_in_text(load: Callable[..., Any]) -> None:
    shelf = load('id,c\n1,"a, b"\n2,"say ""hi"""\n3,"two\nlines"\n4,"1\n\n2"\n')
    assert shelf.sql("SELECT c FROM t ORDER BY id") == [("a, b",), ('say "hi"',), ("two\nlines",), ("1\n\n2",)]


def test_first_quote_far_behind_the_sample(load: Callable[..., Any]) -> None:
    rows = "".join(f"{n},plain\n" for n in range(30_000))
    shelf = load(f'id,c\n{rows}30000,"a, ""b"" and\nc"\n')
    assert shelf.sql("SELECT count(*), max(c) FILTER (id = 30000) FROM t") == [(30_001, 'a, "b" and\nc')]


def test_commas_in_unquoted_text_stay_in_the_text(load: Callable[..., Any]) -> None:
    """RC-01: 380 of 500 rows have four fields under three names."""
    rows = [f"{n},{1 + n % 5},{'fine' if n <= 120 else 'slow, very slow'}" for n in range(1, 501)]
    shelf = load("id,score,comment\n" + "\n".join(rows) + "\n")
    assert shelf.sql("SELECT count(*), avg(score), count(*) FILTER (comment = 'slow, very slow') FROM t") == [
        (500, 3.0, 380)
    ]
    assert any("380 lines have more fields" in line and "slow, very slow" in line for line in shelf.table.repairs)


def test_a_row_that_grows_wider_far_behind_the_head(load: Callable[..., Any]) -> None:
    rows = "".join(f"{n},ok\n" for n in range(50_000))
    shelf = load(f"id,c\n{rows}50000,a,b\n")
    assert shelf.sql("SELECT count(*), max(c) FILTER (id = 50000) FROM t") == [(50_001, "a,b")]
    assert any("Line 50,002" in line for line in shelf.table.repairs)


def test_a_row_that_ends_early_is_filled_up_and_said(load: Callable[..., Any]) -> None:
    shelf = load("a,b,c\n1,2,3\n4,5\n6,7,8\n")
    assert shelf.sql("SELECT * FROM t") == [(1, 2, 3), (4, 5, None), (6, 7, 8)]
    assert any("Line 3 ends early" in line for line in shelf.table.repairs)


def test_comma_at_the_end_of_the_header(load: Callable[..., Any]) -> None:
    shelf = load("id,score,comment,\n1,5,a\n2,3,b\n3,1,c\n")
    assert shelf.sql("SELECT count(*), avg(score) FROM t") == [(3, 3.0)]
    assert [c.name for c in shelf.table.columns] == ["id", "score", "comment"]


def test_awkward_headers(load: Callable[..., Any]) -> None:
    shelf = load(
        "order,group,3rd_party,location.depth,Rating,rating,Customer ID ,\n"
        "1,A,y,10,5,50,c1,\n2,A,n,20,3,30,c2,\n3,B,y,30,4,40,c3,\n"
    )
    assert shelf.sql("SELECT group_, avg(order_) FROM t GROUP BY 1 ORDER BY 1") == [("A", 1.5), ("B", 3.0)]
    assert shelf.sql("SELECT avg(rating_2), count(DISTINCT customer_id) FROM t") == [(40.0, 3)]
    assert [c.label for c in shelf.table.columns][4:] == ["Rating", "rating", "Customer ID", ""]
    assert any("“” is column_8" in line for line in shelf.table.repairs)
    assert any("“location.depth” is location_depth" in line for line in shelf.table.repairs)


def test_stray_quotes_inside_quotes(load: Callable[..., Any]) -> None:
    """RC-15."""
    shelf = load(
        'id,product,comment\n1,TV,"The 55" screen is great"\n2,TV,43" model arrived broken\n3,Radio,"He said ""no"" twice"\n4,Radio,fine\n'
    )
    assert shelf.sql("SELECT comment FROM t ORDER BY id") == [
        ('The 55" screen is great',), ('43" model arrived broken',), ('He said "no" twice',), ("fine",),
    ]  # fmt: skip
    assert any("Line 2 holds quotes inside its text" in line for line in shelf.table.repairs)


def test_a_quote_that_never_closes_is_a_sign(load: Callable[..., Any]) -> None:
    shelf = load('id,c\n1,"open\n2,x\n3,y\n')
    assert shelf.sql("SELECT * FROM t") == [(1, '"open'), (2, "x"), (3, "y")]
    assert any("Line 2 holds quotes" in line for line in shelf.table.repairs)


def test_inch_marks_in_plain_text(load: Callable[..., Any]) -> None:
    shelf = load('id,c\n1,43" model\n2,x\n3,5" and 6" tubes\n')
    assert shelf.sql("SELECT c FROM t ORDER BY id") == [('43" model',), ("x",), ('5" and 6" tubes',)]


def test_one_column_of_text(load: Callable[..., Any]) -> None:
    shelf = load("comment\nGood, but slow\nok; fine\n\nbad\n")
    assert shelf.sql("SELECT comment FROM t") == [("Good, but slow",), ("ok; fine",), (None,), ("bad",)]
    assert any("header" in doubt.what for doubt in shelf.report.doubts)


def test_two_lines_whose_last_holds_a_semicolon(load: Callable[..., Any]) -> None:
    assert load("comment\nfine\nslow; very slow\n").sql("SELECT * FROM t") == [("fine",), ("slow; very slow",)]


def test_one_column_of_numbers_without_header(load: Callable[..., Any]) -> None:
    shelf = load("5\n4\n3\n")
    assert shelf.sql("SELECT sum(column_1), count(*) FROM t") == [(12, 3)]
    assert any("numbers like the lines below" in doubt.what for doubt in shelf.report.doubts)


def test_data_without_header(load: Callable[..., Any]) -> None:
    shelf = load("1,Ann,5\n2,Bob,4\n")
    assert shelf.table.rows == 2 and shelf.types() == {
        "column_1": "BIGINT",
        "column_2": "VARCHAR",
        "column_3": "BIGINT",
    }


def test_years_as_headers(load: Callable[..., Any]) -> None:
    shelf = load("region,2024,2025\nNorth,1,2\nSouth,3,4\n")
    assert [c.label for c in shelf.table.columns] == ["region", "2024", "2025"]
    assert shelf.table.rows == 2


def test_a_title_above_the_table_is_left_out_and_said(load: Callable[..., Any]) -> None:
    shelf = load("Report of May\nid;score;c\n1;5;a\n2;4;b\n3;1;c\n")
    assert [c.label for c in shelf.table.columns] == ["id", "score", "c"] and shelf.table.rows == 3
    assert any("“Report of May”" in line for line in shelf.table.repairs) and not shelf.report.doubts


def test_header_only(load: Callable[..., Any]) -> None:
    for text in ("id,score\n", "id,score", "id\n"):
        shelf = load(text)
        assert shelf.table.rows == 0 and set(shelf.types().values()) == {"VARCHAR"}


def test_line_end_in_a_header(load: Callable[..., Any]) -> None:
    shelf = load('"Customer\nnumber",c\n1,x\n2,y\n')
    assert [c.label for c in shelf.table.columns] == ["Customer number", "c"] and shelf.table.rows == 2


def test_blank_lines_and_no_last_line_end(load: Callable[..., Any]) -> None:
    assert load("\nid,c\n1,a\n\n\n2,b\n\n3,c").sql("SELECT * FROM t") == [(1, "a"), (2, "b"), (3, "c")]


def test_comment_signs_are_data(load: Callable[..., Any]) -> None:
    assert load("tag,n\n#1,5\n#2,6\n").sql("SELECT * FROM t") == [("#1", 5), ("#2", 6)]


def test_a_header_that_no_row_fits(load: Callable[..., Any]) -> None:
    shelf = load("n,first,second,third\n0,a,b\n1,c\n")
    assert [c.label for c in shelf.table.columns][:3] == ["n", "first", "second"] and shelf.table.rows == 2
    assert any("end early" in line for line in shelf.table.repairs)


def test_a_comma_in_the_header_of_one_column(load: Callable[..., Any]) -> None:
    shelf = load("Comment, if any\nfine\nslow\n")
    assert [c.label for c in shelf.table.columns] == ["Comment, if any"] and shelf.table.rows == 2


def test_types_of_wide_files_are_checked_alike(load: Callable[..., Any]) -> None:
    kinds = {"n": "7", "z": "007", "f": "1.5", "v": "5.10", "d": "2024-01-01", "t": "2024-01-01 10:00", "b": "true"}
    header = ",".join(f"{kind}{n}" for n in range(20) for kind in kinds)
    row = ",".join(kinds[kind] for _ in range(20) for kind in kinds)
    shelf = load(f"{header}\n{row}\n{row.replace('5.10', '5.9')}\n{row.replace('7', 'NA', 1)}\n")
    assert [shelf.column(f"{kind}19").type for kind in kinds] == [
        "BIGINT", "VARCHAR", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "BOOLEAN",
    ]  # fmt: skip
    said = shelf.table.assumptions
    assert said[0] == "n0: 1 value (“NA”) read as missing, because all others are whole numbers."
    assert sum("because values such as 5.10 would become 5.1" in line for line in said) == 20
    assert sum("because codes such as 007" in line for line in said) == 20


def test_five_thousand_columns(load: Callable[..., Any]) -> None:
    header = ",".join(f"c{n}" for n in range(5_000))
    row = ",".join(str(n) for n in range(5_000))
    shelf = load(f"{header}\n{row}\n{row}\n")
    assert len(shelf.table.columns) == 5_000
    assert shelf.sql("SELECT sum(c4999) FROM t") == [(9_998,)]


def test_too_many_columns(load: Callable[..., Any]) -> None:
    with pytest.raises(UnreadableFile, match="columns"):
        load(",".join(f"c{n}" for n in range(MAX_COLUMNS + 1)) + "\n")


def test_a_row_that_is_too_long(load: Callable[..., Any]) -> None:
    with pytest.raises(UnreadableFile):
        load("id,c\n1," + "x" * 3_000_000 + "\n")


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=12),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_what_was_written_is_read(
    load: Callable[..., Any], rows: list[tuple[str, str, str]], delimiter: str, quoting: int, newline: str
) -> None:
    """Any well-formed file comes back as it was, or is refused; never something else."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=newline)  # type: ignore[arg-type]
    writer.writerow(["number", "first", "second", "third"])
    for n, row in enumerate(rows):
        writer.writerow([n, *(f"t{cell}" for cell in row)])
    try:
        shelf = load(out.getvalue())
    except UnreadableFile:
        return
    wanted = [(n, *(f"t{cell}" for cell in row)) for n, row in enumerate(rows)]
    assert shelf.sql("SELECT * FROM t ORDER BY number") == wanted
