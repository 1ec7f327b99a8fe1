"""Numbers and dates of a text stand in slots over its evidence; what nothing shows is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.slots import Slotted, fill, following, pieces, slotted


@pytest.mark.parametrize(
    ("text", "rows", "known", "loose"),
    [
        ("8,000 rows, one per id", [[8000, 8000]], "", ()),
        ("12.5 % of 8000 rows are late; late is above 48 hours", [[0.125, 8000]], "WHERE hours > 48", ()),
        ("created from 2026-01-01 to 2026-03-31", [["2026-01-01", "2026-03-31 10:00:00"]], "", ()),
        ("scores run from 1 to 5, -2 is no score", [[1, 5, -2]], "", ()),
        ("about 12,346 rows", [[12345.6]], "", ()),
        ("9,000 rows", [[8000]], "", ("9,000",)),
        ("four stars and 5", [[4.6]], "", ("5",)),
        ("until 2026-04", [["2026-03-31"]], "", ("2026-04",)),
        ("plan P3, column x_2, covid-19 and item cu-00001", [], "", ()),
        ("2 of 3", [[True, False]], "", ("2", "3")),
    ],
)
def test_every_number_is_shown_or_named(text: str, rows: list[list[Any]], known: str, loose: tuple[str, ...]) -> None:
    found = slotted(text, rows, known)
    assert found.loose == loose
    if found.template:
        assert fill(found.template, rows) == text


def test_other_rows_give_other_numbers_in_the_same_form() -> None:
    template = slotted("8,000 rows from 2026-01-01, 12.5 % late", [[8000, "2026-01-01", 0.125]]).template
    assert fill(template, [[1234567, "2026-02-01 08:00:00", 0.2]]) == "1,234,567 rows from 2026-02-01, 20.0 % late"


@pytest.mark.parametrize("rows", [[], [[8000]], [[None, "2026-01-01", 0.1]], [["many", "2026-01-01", 0.1]]])
def test_rows_that_lack_the_cell_fill_nothing(rows: list[list[Any]]) -> None:
    template = slotted("8,000 rows from 2026-01-01, 12.5 % late", [[8000, "2026-01-01", 0.125]]).template
    assert fill(template, rows) is None


def test_the_same_number_twice_means_two_cells() -> None:
    template = slotted("7 regions and 7 plans", [[7, 7]]).template
    assert fill(template, [[8, 9]]) == "8 regions and 9 plans"


@pytest.mark.parametrize(
    ("text", "rows", "marked"),
    [
        ("8,000 rows from 2026-01-01, 12.5 % late.", [[8000, "2026-01-01", 0.125]], ["8,000", "2026-01-01", "12.5"]),
        ("8,000, of them 5.", [[8000, 5]], ["8,000", "5"]),
        ("from -2 to 5", [[-2, 5]], ["-2", "5"]),
        ("late is above 48", [[48]], []),
    ],
)
def test_a_text_is_split_into_what_follows_the_data_and_what_does_not(
    text: str, rows: list[list[Any]], marked: list[str]
) -> None:
    found = pieces(text, slotted(text, rows, "hours > 48").template)
    assert "".join(piece for piece, _ in found) == text
    assert [piece for piece, follows in found if follows] == marked


def test_a_text_that_was_not_made_from_the_template_is_one_piece() -> None:
    assert pieces("many rows", "⟦0.0:0,⟧ rows") == (("many rows", False),)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("", ""),
        ("⟦0.0:0⟧ rows", "1 number follows the data"),
        ("⟦0.0:0⟧ of ⟦0.1:0⟧", "2 numbers follow the data"),
        ("since ⟦0.0:d10⟧", "1 date follows the data"),
    ],
)
def test_how_much_follows_the_data_is_said(template: str, said: str) -> None:
    assert following(template) == said


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=6), st.booleans())
def test_filling_with_its_own_rows_gives_the_text_back(numbers: list[int], commas: bool) -> None:
    text = " and ".join(f"{n:,} of kind" if commas else f"{n} of kind" for n in numbers)
    found = slotted(text, [numbers])
    assert found.loose == () and fill(found.template, [numbers]) == text
    assert [piece for piece, follows in pieces(text, found.template) if follows] == [
        w for w in text.split() if w[0].isdigit()
    ]


@given(st.text(max_size=80), st.lists(st.lists(st.one_of(st.none(), st.floats(), st.integers(), st.text(max_size=5)), max_size=3), max_size=3))  # fmt: skip
def test_no_text_breaks_it(text: str, rows: list[list[Any]]) -> None:
    found = slotted(text, rows)
    if found.template and "⟦" not in text:
        fill(found.template, rows)
        assert "".join(piece for piece, _ in pieces(text, found.template)) == text


def test_a_version_that_a_cell_holds_as_text_is_shown_and_no_slot() -> None:
    assert slotted("The newest version is '5.11', of 7.", [["5.11", 7]]) == Slotted(
        "The newest version is '5.11', of ⟦0.1:0⟧.", frozenset({(0, 1)}), ()
    )
