"""Files that break their own rules: repaired where there is one honest reading, else kept apart with the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def rejects(shelf: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = shelf.sql("SELECT line, reason, text FROM rejects.t ORDER BY line")
    return found


def test_a_field_too_many_goes_to_the_one_text_that_can_hold_it(load: Callable[..., Any]) -> None:
    shelf = load("id,comment,score\n1,fine,5\n2,good,but slow,4\n3,ok,3\n4,bad,1\n")
    assert shelf.sql("SELECT comment, score FROM t WHERE id = 2") == [("good,but slow", 4)]
    assert any("Line 3 has more fields than the header" in line for line in shelf.table.repairs)


def test_a_row_whose_fields_fit_nowhere_is_rejected_with_its_line(load: Callable[..., Any]) -> None:
    shelf = load("id,a,b,score\n1,x,y,5\n2,x,y,z,w\n3,x,y,3\n4,x,y,1\n")
    assert shelf.table.rows == 3 and shelf.table.rejects == 1
    assert rejects(shelf) == [(3, "has 5 fields instead of 4", "2,x,y,z,w")]
    assert [d.where for d in shelf.report.doubts] == ["line 3"]


def test_fields_beyond_the_last_column_are_set_apart_not_lost(load: Callable[..., Any]) -> None:
    shelf = load("id,name,age\n1,James,30\n2,Jill,32\n6,Oliver,33,extra_record\n7,Olivia,36\n")
    assert shelf.table.rows == 4 and shelf.table.rejects == 0
    assert rejects(shelf)[0][::2] == (4, "6,Oliver,33,extra_record")
    assert "extra_record" in shelf.report.doubts[0].what


def test_a_missing_field_shows_in_its_neighbours(load: Callable[..., Any]) -> None:
    shelf = load("id,name,age,city\n1,Ann,30,Rome\n2,31,Oslo\n3,Bob,33,Bern\n4,Cid,34,Lima\n")
    assert shelf.sql("SELECT * FROM t WHERE id = 2") == [(2, None, 31, "Oslo")]
    assert shelf.report.doubts[0].where == "line 3"


def test_empty_fields_beyond_the_last_column_mean_nothing(load: Callable[..., Any]) -> None:
    shelf = load("a,b\n1,2\n3,4,,\n5,6\n7,8\n")
    assert shelf.sql("SELECT count(*), sum(b) FROM t") == [(4, 20)] and not shelf.report.doubts


@pytest.mark.parametrize(
    "footer",
    [
        "Source: Office for Statistics.\n",
        "\nTotal does not add up because of rounding\nPrinted on Friday\n",
        ",,\n,,\nSource: x,,\n",
        "****\nNotes\n****\n(1) see above\n",
    ],
)
def test_notes_below_the_table_are_left_out_said_and_kept(load: Callable[..., Any], footer: str) -> None:
    shelf = load("id,name,n\n1,a,5\n2,b,6\n3,c,7\n4,d,8\n" + footer)
    assert shelf.sql("SELECT count(*), sum(n) FROM t") == [(4, 26)]
    assert any("below the table left out" in line for line in shelf.table.repairs) and rejects(shelf)


def test_padding_below_the_table_is_left_out(load: Callable[..., Any]) -> None:
    shelf = load("id,name,n\n1,a,5\n2,b,6\n,,\n,,\n,,\n")
    assert shelf.table.rows == 2 and any("3 empty rows below the table" in line for line in shelf.table.repairs)


def test_an_empty_row_among_others_stays_and_is_said(load: Callable[..., Any]) -> None:
    shelf = load("id,name,n\n1,a,5\n,,\n2,b,6\n")
    assert shelf.table.rows == 3 and any("only empty cells" in line for line in shelf.table.assumptions)


def test_comment_lines_are_counted(load: Callable[..., Any]) -> None:
    shelf = load("# one\na;b\n# two\n1;3\n6;7\n# three")
    assert shelf.sql("SELECT * FROM t") == [(1, 3), (6, 7)]
    assert any("comments, left out" in line for line in shelf.table.repairs)


def test_a_header_that_comes_again_is_one_table_unless_its_rows_come_again_too(load: Callable[..., Any]) -> None:
    joined = load("id,name\n1,a\n2,b\nid,name\n3,c\n4,d\n")
    assert joined.sql("SELECT sum(id) FROM t") == [(10,)] and joined.report.doubts[0].where == "line 4"
    twice = load("id,name\n1,a\n2,b\nid,name\n1,a\n2,b\n")
    assert [(t.name, t.rows) for t in twice.report.tables] == [("t", 2), ("t_2", 2)]
    assert "come again" in twice.report.doubts[0].what


def test_a_wider_table_below_becomes_one_of_its_own(load: Callable[..., Any]) -> None:
    shelf = load("id,name\n1,a\n2,b\n\nid,name,more\n3,c,x\n4,d,y\n")
    assert [(t.rows, len(t.columns)) for t in shelf.report.tables] == [(2, 2), (2, 3)]


def test_totals_among_the_rows_are_said(load: Callable[..., Any]) -> None:
    shelf = load("region,n\nNorth,1\nSouth,2\nTotal,3\n")
    assert any("row 3: “Total”" in line for line in shelf.table.assumptions) and shelf.table.rows == 3


def test_blanks_before_quotes(load: Callable[..., Any]) -> None:
    assert load('id, name, n\n1, "a, b", 5\n2, "c", 6\n').sql("SELECT * FROM t") == [(1, "a, b", 5), (2, "c", 6)]


FIELD = st.text("ab1,;\"' \n", max_size=6)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(FIELD, min_size=1, max_size=5), min_size=1, max_size=12))
def test_every_line_is_accounted_for(load: Callable[..., Any], rows: list[list[str]]) -> None:
    """Whatever stands below the header: rows, rejects and what was left out add up, or the file is refused."""
    text = "id,name,n\n1,a,5\n2,b,6\n3,c,7\n" + "\n".join(",".join(row) for row in rows) + "\n"
    shelf = load(text)
    assert shelf.table.rows >= 3 or shelf.report.doubts
    for table in shelf.report.tables:
        assert shelf.sql(f'SELECT count(*) FROM "{table.name}"') == [(table.rows,)]
