"""Well-formed tables in any dialect: exactly the cells that were written."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ANY = st.characters(codec="utf-8", exclude_characters="\r\x00\ufeff")
SIMPLE = st.sampled_from("abcdef ,;'\"|\t\n.-:#0123456789äé")
CELL = st.one_of(st.text(SIMPLE, max_size=12), st.text(ANY, max_size=8))


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(st.integers(2, 5))
    rows = draw(st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=5, max_size=12))
    return [[f"column{n}" for n in range(width)], *([f"t{cell}" for cell in row] for row in rows)]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    quote=st.sampled_from("\"'"),
    newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
)
def test_exactly_what_was_written(
    load: Callable[..., Any],
    table: list[list[str]],
    delimiter: str,
    quoting: int,
    quote: str,
    newline: str,
    encoding: str,
) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, quotechar=quote, lineterminator=newline).writerows(table)  # type: ignore[arg-type]
    text = out.getvalue()
    shelf = load(text.encode(encoding))
    assert [c.label for c in shelf.table.columns] == table[0]
    assert [list(row) for row in shelf.sql("SELECT * FROM t")] == table[1:], (
        text,
        shelf.table.dialect,
        shelf.table.repairs,
    )
