"""Workbooks: the right sheet, the right header, the types that cells have."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]

from peek_core.corpus import xlsx_reader
from peek_core.errors import UnreadableFile


def book(*sheets: tuple[str, Iterable[Iterable[Any]]], hidden: tuple[str, ...] = ()) -> bytes:
    workbook = Workbook()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets:
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        if name in hidden:
            sheet.sheet_state = "hidden"
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def test_typed_cells(load: Callable[..., Any]) -> None:
    content = book(
        (
            "Data",
            [
                ["id", "when", "day", "score", "share", "ok", "code", "Größe"],
                [1, datetime(2024, 3, 1, 10, 30), date(2024, 3, 1), 5, 0.5, True, "007", "a"],
                [2, datetime(2024, 3, 2), date(2024, 3, 2), 4, 1, False, "12", None],
                [3, None, None, None, None, None, "", 'c, "d"\ne'],
            ],
        )
    )
    shelf = load(content, name="t.xlsx")
    assert shelf.types() == {
        "id": "BIGINT", "when_": "TIMESTAMP", "day": "DATE", "score": "BIGINT", "share": "DOUBLE", "ok": "BOOLEAN",
        "code": "VARCHAR", "größe": "VARCHAR",
    }  # fmt: skip
    assert shelf.sql("SELECT * FROM t ORDER BY id") == [
        (1, datetime(2024, 3, 1, 10, 30), date(2024, 3, 1), 5, 0.5, True, "007", "a"),
        (2, datetime(2024, 3, 2), date(2024, 3, 2), 4, 1.0, False, "12", None),
        (3, None, None, None, None, None, None, 'c, "d"\ne'),
    ]
    assert shelf.table.dialect == "sheet “Data”, header in row 1"


def test_title_notes_hidden_sheet_and_a_serial_number(load: Callable[..., Any]) -> None:
    workbook = Workbook()
    notes = workbook.worksheets[0]
    notes.title = "Notes"
    notes["A1"] = "Exported for the board"
    data = workbook.create_sheet("Data")
    data["A1"] = "Feedback of March"
    data.merge_cells("A1:C1")
    rows: list[list[Any]] = [["id", "date", "score"], [1, date(2024, 3, 1), 5], [2, date(2024, 3, 2), 4], [3, 45000, 3]]
    for r, row in enumerate(rows, start=3):
        for c, value in enumerate(row, start=1):
            data.cell(r, c, value)
    hidden = workbook.create_sheet("Hidden")
    hidden.append(["id", "x"])
    hidden.append([1, 2])
    hidden.sheet_state = "hidden"
    out = io.BytesIO()
    workbook.save(out)
    shelf = load(out.getvalue(), name="t.xlsx")
    assert shelf.table.dialect == "sheet “Data”, header in row 3"
    assert shelf.sql("SELECT count(*), avg(score), min(date) FROM t") == [(3, 4.0, date(2023, 3, 15))]
    assert any("1 number read as Excel dates" in line for line in shelf.table.repairs)
    assert any("Hidden (hidden)" in line and "Notes" in line for line in shelf.table.assumptions)


def test_words_for_missing_among_numbers(load: Callable[..., Any]) -> None:
    shelf = load(book(("S", [["n", "c"], [1, "NA"], ["n/a", "x"], [3, "y"]])), name="t.xlsx")
    assert shelf.sql("SELECT n, c FROM t ORDER BY c") == [(1, "NA"), (None, "x"), (3, "y")]
    assert any("n: 1 cell (“n/a”) read as missing" in line for line in shelf.table.assumptions)


def test_mixed_columns_become_text_and_say_so(load: Callable[..., Any]) -> None:
    shelf = load(book(("S", [["v"], [1], ["two"], [3.5], [date(2024, 1, 2)]])), name="t.xlsx")
    assert shelf.sql("SELECT v FROM t") == [("1",), ("two",), ("3.5",), ("2024-01-02",)]
    assert any("several kinds" in line for line in shelf.table.assumptions)


def test_blank_rows_and_columns(load: Callable[..., Any]) -> None:
    shelf = load(book(("S", [[], ["a", None, "b"], [1, None, 2], [], [3, None, 4]])), name="t.xlsx")
    assert [c.name for c in shelf.table.columns] == ["a", "b"]
    assert shelf.sql("SELECT * FROM t") == [(1, 2), (3, 4)]
    assert shelf.table.dialect.endswith("header in row 2")


def test_header_only_and_no_data(load: Callable[..., Any]) -> None:
    shelf = load(book(("S", [["a", "b"]])), name="t.xlsx")
    assert shelf.table.rows == 0 and [c.name for c in shelf.table.columns] == ["a", "b"]
    with pytest.raises(UnreadableFile, match="no visible sheet"):
        load(book(("Empty", [])), name="t.xlsx")


def test_other_archives_are_named(load: Callable[..., Any], tmp_path: Path) -> None:
    for names, word in ((["a.csv"], "zip archive"), (["word/document.xml"], "Office file")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in names:
                archive.writestr(name, "x")
        with pytest.raises(UnreadableFile, match=word):
            load(out.getvalue(), name="t.zip")


def test_damaged_workbooks(load: Callable[..., Any]) -> None:
    good = book(("S", [["a"], [1]]))
    for bad in (good[: len(good) // 2], good[:200] + b"\x00" * 400 + good[600:], b"PK\x03\x04" + b"x" * 100):
        with pytest.raises(UnreadableFile):
            load(bad, name="t.xlsx")


def bomb(size: int, *, lie: bool) -> bytes:
    """A workbook part of `size` zero bytes, whose directory may claim that it is small."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"\x00" * size)
    data = bytearray(out.getvalue())
    if lie:
        at = data.rindex(b"PK\x01\x02")
        data[at + 24 : at + 28] = (1_000).to_bytes(4, "little")
    return bytes(data)


@pytest.mark.parametrize("lie", [False, True])
def test_a_zip_bomb_is_refused_by_what_it_unpacks_to(tmp_path: Path, lie: bool) -> None:
    path = tmp_path / "bomb.xlsx"
    path.write_bytes(bomb(30 << 20, lie=lie))
    with pytest.raises(UnreadableFile, match="unpacks to more than 8 MB"):
        xlsx_reader.check_archive(path, limit=8 << 20)
    xlsx_reader.check_archive(path, limit=64 << 20)
