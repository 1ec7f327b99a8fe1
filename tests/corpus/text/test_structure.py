"""Where a table lies in a file: titles above it, header rows, its width."""

from __future__ import annotations

import pytest

from peek_core.corpus.text.cutting import Cutter
from peek_core.corpus.text.structure import Structure, find, widths

CUTTER = Cutter(",", '"', '"')


def of(text: str, **choices: int) -> Structure:
    return find(CUTTER.text(text, "\n"), **choices)


@pytest.mark.parametrize(
    ("text", "header_rows", "labels"),
    [
        ("id,name\n1,a\n2,b\n", 1, ("id", "name")),
        ("1,a\n2,b\n", 0, ("column 1", "column 2")),
        ("region,2024,2025\nNorth,1,2\nSouth,3,4\n", 1, ("region", "2024", "2025")),
        ("name,built,rebuilt\nMill,1925,1931\nBarn,1928,1930\nYard,1901,1902\n", 1, ("name", "built", "rebuilt")),
        ("a,b\nx,y\nz,w\n", 1, ("a", "b")),
        ("north,,south,\nx,y,x,y\n1,2,3,4\n5,6,7,8\n", 2, ("north x", "north y", "south x", "south y")),
        ("time,speed\n(s),(m/s)\n1,5\n2,6\n", 2, ("time (s)", "speed (m/s)")),
        (",Staff,,Cost\n,Junior,Senior,\nunit,n,n,EUR\nA,1,2,3\nB,4,5,6\n", 3,
         ("unit", "Staff Junior n", "Staff Senior n", "Cost EUR")),
        ("no,range,code\n1–2,318–319,1301 & 1302\n3,320,1303\n4,321,1304\n5,322,1305\n", 1, ("no", "range", "code")),
        ("a,,,\n1,x,y,2\n3,z,w,4\n", 1, ("a", "", "", "")),
    ],
)  # fmt: skip
def test_headers(text: str, header_rows: int, labels: tuple[str, ...]) -> None:
    found = of(text)
    assert (len(found.header), found.labels) == (header_rows, labels)


@pytest.mark.parametrize(
    ("above", "table"),
    [
        ("Report of May\n", "id,score,c\n1,5,a\n2,4,b\n"),
        ("Report of May\nall regions\n\n", "id,score,c\n1,5,a\n2,4,b\n"),
        ("Report of May,,\n,,\n", "id,score,c\n1,5,a\n2,4,b\n"),
        ("\n\n", "id,score,c\n1,5,a\n2,4,b\n"),
        ("Exports,\n,\n", "label,amount\nfees,9.5\nhotels,3\nrail,7\n"),
    ],
)
def test_lines_above_the_header_are_told_apart(above: str, table: str) -> None:
    found = of(above + table)
    assert found.labels == of(table).labels
    assert "\n".join(r.raw for r in found.above) + "\n" == above
    assert not found.doubts


def test_a_line_with_several_fields_above_the_table_is_doubted() -> None:
    found = of("made by x,on a friday\nid,score,c\n1,5,a\n2,4,b\n3,3,c\n")
    assert found.labels == ("id", "score", "c") and found.doubts[0].where == "line 1"


def test_one_line_above_that_is_wider_than_the_table_is_a_sentence() -> None:
    found = of("made by x, on a friday, for y\nid,score\n1,5\n2,4\n3,3\n")
    assert found.labels == ("id", "score") and not found.doubts


def test_lines_above_that_another_delimiter_cuts_alike_are_doubted() -> None:
    found = find(Cutter(";", '"', '"').text("id,name\n1,a\n2,b\n3,c\nx;y\n1;2\n", "\n"), width=2)
    assert any("left out above" in d.what for d in found.doubts)


def test_a_title_that_shares_a_word_with_the_names_below_is_doubted() -> None:
    found = of("Water consumption,,\nTotal consumption,Consumption per head,Cost\n44,13.9,68\n")
    assert found.doubts[0].where == "line 1" and "title" in found.doubts[0].what


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("comment\nGood, but slow\nok\nbad\n", 1),
        ("Comment, if any\nfine\nslow\n", 1),
        ("comment\nfine\nslow, very slow\n", 1),
        ("id,c\n1,a\n", 2),
        ("id,score,c\n" + "1,5,fine\n" * 30 + "2,4,slow, very slow\n" * 90, 3),
        ("a,b,c,\n1,2,3\n4,5,6\n", 3),
        ("a,b\n1,2,\n3,4,\n5,6,\n7,8,\n", 3),
        ("notes of may\nid,score,c\n1,5,a\n", 3),
    ],
)
def test_width(text: str, width: int) -> None:
    assert widths(CUTTER.text(text, "\n")) == width


def test_a_header_with_a_delimiter_too_many_or_too_few() -> None:
    rows = "1,2,3\n4,5,6\n7,8,9\n"
    more = of("a,,b,c\n" + rows)
    assert more.labels == ("a", "b", "c") and more.repairs and not more.doubts
    less = of("a,bc\n" + rows)
    assert less.labels == ("a", "bc", "") and "1 name less" in less.doubts[0].what


def test_comment_lines_are_no_rows_but_a_hash_in_a_value_is() -> None:
    assert of("# made by x\n# on friday\na,b\n# inside\n1,3\n6,7\n").comments
    assert not of("tag,n\n#1,5\n#2,6\n").comments


def test_a_person_may_choose_the_header() -> None:
    text = "x,y\na,b\n1,2\n3,4\n"
    assert of(text).labels == ("x a", "y b")
    assert of(text, header_rows=1).labels == ("x", "y")
    assert of(text, above=1, header_rows=1).labels == ("a", "b")


def test_numbers_everywhere_leave_it_open_whether_there_is_a_header() -> None:
    assert of("1,2\n3,4\n5,6\n").doubts and not of("1,x\n3,y\n5,z\n").doubts
