"""The tolerant cut: quotes that stand where they must, and quotes that don't."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.corpus.text.cutting import MAX_LINES, Cutter

COMMA = Cutter(",", '"', '"')


def cut(text: str, cutter: Cutter = COMMA, width: int | None = None) -> list[tuple[str, ...]]:
    return [r.fields for r in cutter.records(text.removesuffix("\n").split("\n"), "\n", width=width)]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a,b,c", ("a", "b", "c")),
        ('1,"x, y",3', ("1", "x, y", "3")),
        ('"",x,', ("", "x", "")),
        ('"""abc""",""', ('"abc"', "")),
        ('x, "q, r" ,z', ("x", "q, r", "z")),
        ('1,"The 55" screen is great"', ("1", 'The 55" screen is great')),
        ('2,43" model', ("2", '43" model')),
        ('3,"pedro "pdet" ho,landa"', ("3", 'pedro "pdet" ho,landa')),
    ],
)
def test_one_line(text: str, fields: tuple[str, ...]) -> None:
    assert cut(text) == [fields]


def test_quotes_out_of_place_are_told() -> None:
    assert [r.stray for r in COMMA.text('1,"a ""b"""\n2,"a "b""\n3,4" x\n', "\n")] == [False, True, False]


def test_a_field_over_several_lines_keeps_them_and_counts_them() -> None:
    found = COMMA.text('a,"b\n\nc",d\ne,f,g\n', "\n")
    assert [(r.line, r.fields) for r in found] == [(1, ("a", "b\n\nc", "d")), (4, ("e", "f", "g"))]


def test_a_quote_that_never_closes_is_a_sign_and_the_lines_below_are_given_back() -> None:
    assert cut('a,"open,b\nc,d,e') == [("a", '"open', "b"), ("c", "d", "e")]
    many = "\n".join("x,y,z" for _ in range(MAX_LINES + 50))
    assert len(cut(f'a,"open,b\n{many}')) == MAX_LINES + 51


def test_the_width_of_the_others_tells_how_a_line_was_meant() -> None:
    text = 'DATE,"TIME,Qty,"Text",URL\n1,2,3,"a",5\n'
    assert cut(text)[0] == ("DATE", 'TIME,Qty,"Text', "URL")
    assert cut(text, width=5)[0] == ("DATE", '"TIME', "Qty", "Text", "URL")


def test_backslashes_before_quotes() -> None:
    backslash = Cutter("|", '"', "\\")
    assert cut('1|"te\\"x|t"|C:\\temp', backslash) == [("1", 'te"x|t', "C:\\temp")]


def test_single_quotes_with_doubled_double_ones_inside() -> None:
    assert cut("1,'5\"\" wide, it''s'", Cutter(",", "'", '"')) == [("1", "5\" wide, it''s")]


def test_which_fields_stood_in_quotes() -> None:
    assert COMMA.quoted('1, "a, b" ,"",c') == (False, True, True, False)


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=8)


@given(
    st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_the_standard_writer_writes_is_cut_back(rows: list[list[str]], delimiter: str, quoting: int) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(  # type: ignore[arg-type]
        [[f"t{cell}" for cell in row] for row in rows]
    )
    found = Cutter(delimiter, '"', '"').text(out.getvalue(), "\n")
    assert [list(r.fields) for r in found] == [[f"t{cell}" for cell in row] for row in rows]
    assert not any(r.stray for r in found)


@given(st.text('",ab\n ', max_size=40))
def test_no_line_is_lost_whatever_the_quotes(text: str) -> None:
    lines = text.split("\n")
    found = list(COMMA.records(lines, "\n"))
    assert "\n".join(r.raw for r in found) == text
    assert [r.line for r in found] == sorted({r.line for r in found})
