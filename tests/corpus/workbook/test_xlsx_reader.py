"""Workbooks: the right sheet, the right header, the types that cells have."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook  # type: ignore[import-untyped]
from openpyxl.utils.datetime import CALENDAR_MAC_1904  # type: ignore[import-untyped]

from peek_core.corpus.load import Source, load_files
from peek_core.corpus.workbook import workbook_guard
from peek_core.errors import PeekError, UnreadableFile
from peek_core.values.dataset import LoadReport, ReadChoices
from tests.corpus.workbooks import archive, book, ods, ods_row, ole, saved, xls, xlsb


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
    shelf = load(saved(workbook), name="t.xlsx")
    assert shelf.table.dialect == "sheet “Data”, header in row 3"
    assert shelf.sql("SELECT count(*), avg(score), min(date) FROM t") == [(3, 4.0, date(2023, 3, 15))]
    assert any("1 number read as Excel dates" in line for line in shelf.table.repairs)
    assert any("Hidden (hidden, 1 row)" in line and "Notes (0 rows)" in line for line in shelf.table.assumptions)


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


def test_damaged_workbooks(load: Callable[..., Any]) -> None:
    good = book(("S", [["a"], [1]]))
    for bad in (good[: len(good) // 2], good[:200] + b"\x00" * 400 + good[600:], b"PK\x03\x04" + b"x" * 100):
        with pytest.raises(UnreadableFile):
            load(bad, name="t.xlsx")


def bomb(size: int, *, lie: bool) -> bytes:
    """A workbook part of `size` zero bytes, whose directory may claim that it is small."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", b"\x00" * size)
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
        workbook_guard.check_archive(path, "t", limit=8 << 20)
    workbook_guard.check_archive(path, "t", limit=64 << 20)


def read(tmp_path: Path, content: bytes, name: str = "book.xlsx", **choices: Any) -> LoadReport:
    """Loads under its own name, with a person's choices."""
    (tmp_path / name).write_bytes(content)
    source = Source(tmp_path / name, name, ReadChoices(**choices))
    return load_files([source], tmp_path / "v1.duckdb")


def said(report: LoadReport) -> str:
    """Everything the report says, as one text."""
    lines = [line for table in report.tables for line in (*table.repairs, *table.assumptions)]
    return "\n".join([*lines, *(doubt.what for doubt in report.doubts)])


def test_the_visible_sheet_that_holds_most_is_proposed(tmp_path: Path) -> None:
    content = book(
        ("Few", [["id", "v"], [1, 2]]),
        ("Header", [["a", "b", "c", "d", "e", "f"]]),
        ("Most", [["id", "v"], [1, 2], [2, None], [3, 4]]),
        ("Hidden", [["id", "v"], *([n, n] for n in range(9))]),
        hidden=("Hidden",),
    )
    report = read(tmp_path, content)
    (table,) = report.tables
    assert (table.name, table.rows, table.read.sheets) == ("book", 3, ("Most",))
    assert "Only sheet “Most” was read. Other sheets: Few (1 row), Header (0 rows), Hidden (hidden, 9 rows)." in said(
        report
    )


def test_chosen_sheets_become_one_table_each(tmp_path: Path) -> None:
    content = book(
        ("One", [["a"], [1]]), ("Two", [["b"], [2], [3]]), ("Off", [["c"], [4]]), ("Empty", []), hidden=("Off",)
    )
    report = read(tmp_path, content, sheets=("Two", "Off"))
    assert [(t.name, t.rows, t.source) for t in report.tables] == [("two", 2, "book.xlsx"), ("off", 1, "book.xlsx")]
    assert "2 sheets were read. Other sheets: One (1 row), Empty (empty)." in said(report)
    report = read(tmp_path, content, sheets=("*",))
    assert [t.name for t in report.tables] == ["one", "two"]
    assert [t.name for t in read(tmp_path, content, sheets=("One",)).tables] == ["book"]


def test_sheets_that_are_not_there_or_empty_are_refused_by_name(tmp_path: Path) -> None:
    content = book(("One", [["a"], [1]]), ("Empty", []))
    with pytest.raises(UnreadableFile, match="no sheet “Three”") as raised:
        read(tmp_path, content, sheets=("One", "Three"))
    assert raised.value.next == "It has: One, Empty."
    with pytest.raises(UnreadableFile, match="“Empty” is empty"):
        read(tmp_path, content, sheets=("Empty",))


def test_merged_headings_titles_and_totals_through_the_reader(tmp_path: Path) -> None:
    rows = [
        ["Sales"], [], ["Region", "Q1", None, "Q2", None], [None, "Jan", "Feb", "Mar", "Apr"],
        ["N", 1, 2, 3, 4], ["S", 5, 6, 7, 8], ["Total", 6, 8, 10, 12],
    ]  # fmt: skip
    report = read(tmp_path, book(("S", rows), merged=("A1:E1", "A3:A4", "B3:C3", "D3:E3")))
    (table,) = report.tables
    assert [c.label for c in table.columns] == ["Region", "Q1 Jan", "Q1 Feb", "Q2 Mar", "Q2 Apr"]
    assert (table.rows, table.header_rows, table.dialect) == (2, 2, "sheet “S”, header in rows 3 to 4")
    assert {c.type for c in table.columns[1:]} == {"BIGINT"}
    for sentence in (
        "1 row above the table was left out as title: row 1 (“Sales”).",
        "Row 7 (“Total”) was left out as a summary: 6 is the sum of Q1 Jan.",
    ):
        assert sentence in said(report)


def test_numbers_among_dates_keep_their_time_and_count_from_the_workbooks_own_day(load: Callable[..., Any]) -> None:
    rows = [["d"], [datetime(2024, 3, 1, 8)], [date(2024, 3, 2)], [45000.25]]
    shelf = load(book(("S", rows)), name="t.xlsx")
    assert shelf.types() == {"d": "TIMESTAMP"}
    assert shelf.sql("SELECT min(d) FROM t") == [(datetime(2023, 3, 15, 6),)]
    assert (
        "d: 1 number read as Excel dates, as the others are dates (45000.25 is 2023-03-15 06:00:00)."
        in shelf.table.repairs
    )
    mac = Workbook()
    mac.epoch = CALENDAR_MAC_1904
    for row in [["d"], [date(2024, 3, 1)], [date(2024, 3, 2)], [43538]]:
        mac.worksheets[0].append(row)
    assert load(saved(mac), name="t.xlsx").sql("SELECT min(d), max(d) FROM t") == [
        (date(2023, 3, 15), date(2024, 3, 2))
    ]


def test_more_numbers_than_dates_are_not_taken_for_days(load: Callable[..., Any]) -> None:
    shelf = load(book(("S", [["d"], [date(2024, 3, 1)], [45000], [45001]])), name="t.xlsx")
    assert shelf.types() == {"d": "VARCHAR"} and any("numbers: 2, dates: 1" in line for line in shelf.table.assumptions)


def test_times_and_durations_are_text_and_never_a_date(load: Callable[..., Any]) -> None:
    rows = [["t", "d"], [time(14, 30, 5), timedelta(hours=30, minutes=5)], [time(8, 0), timedelta(seconds=59)]]
    shelf = load(book(("S", rows)), name="t.xlsx")
    assert shelf.sql("SELECT t, d FROM t") == [("14:30:05", "30:05:00"), ("08:00:00", "0:00:59")]
    assert "t: times of day are kept as text, in hours, minutes and seconds (14:30:05)." in shelf.table.assumptions


def test_day_zero_among_dates_is_missing(load: Callable[..., Any]) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for row in [["id", "d"], [1, date(2024, 3, 1)], [2, date(2024, 3, 2)], [3, 0]]:
        sheet.append(row)
    sheet["B4"].number_format = "yyyy-mm-dd"
    shelf = load(saved(workbook), name="t.xlsx")
    assert shelf.sql("SELECT d FROM t WHERE id = 3") == [(None,)] and shelf.types()["d"] == "DATE"
    assert "d: 1 cell with day 0 read as missing." in shelf.table.assumptions


@pytest.mark.parametrize(
    ("cells", "kind", "first"),
    [
        ([1, "2", 3], "BIGINT", 1),
        ([1.5, " 2.25", "-3"], "DOUBLE", 1.5),
        ([1, "007", 3], "VARCHAR", "1"),
        ([1, "2.50"], "VARCHAR", "1"),
        (["5", "6"], "VARCHAR", "5"),
        (["2024-03-01", "2024-03-02"], "DATE", date(2024, 3, 1)),
        (["2024-03-01 10:00", "2024-03-02"], "TIMESTAMP", datetime(2024, 3, 1, 10)),
        (["2024-03-01", "2024-02-30"], "VARCHAR", "2024-03-01"),
        (["01.03.2024", "02.03.2024"], "VARCHAR", "01.03.2024"),
        ([date(2024, 3, 1), "2024-03-02"], "DATE", date(2024, 3, 1)),
        ([date(2024, 3, 1), "soon"], "VARCHAR", "2024-03-01"),
        ([True, "yes"], "VARCHAR", "true"),
    ],
)
def test_texts_are_converted_only_where_all_of_them_say_the_same(
    load: Callable[..., Any], cells: list[Any], kind: str, first: Any
) -> None:
    shelf = load(book(("S", [["id", "v"], *([n, cell] for n, cell in enumerate(cells))])), name="t.xlsx")
    assert shelf.types()["v"] == kind and shelf.sql("SELECT v FROM t WHERE id = 0") == [(first,)]
    mixed = kind != "VARCHAR" or any(not isinstance(cell, str) for cell in cells)
    assert mixed == any(line.startswith("v: ") for line in (*shelf.table.repairs, *shelf.table.assumptions))


def test_an_old_workbook(load: Callable[..., Any]) -> None:
    shelf = load(xls(), name="t.xls")
    assert shelf.types() == {"id": "BIGINT", "day": "DATE", "score": "DOUBLE"}
    assert shelf.sql("SELECT * FROM t") == [(n, date(2024, 3, n), n + 4.5) for n in (1, 2, 3)]
    assert (shelf.table.encoding, shelf.table.dialect) == ("XLS", "sheet “Data”, header in row 3")
    assert any("can't be told from empty ones" in line for line in shelf.table.assumptions)


def test_an_opendocument_workbook(load: Callable[..., Any]) -> None:
    wide = 'table:number-columns-spanned="3" table:number-rows-spanned="1"'
    rows = [
        ods_row("Sales", None, None, spanned=wide), ods_row("region", "a", "b"),
        ods_row("N", 1, 2, spanned='table:number-rows-spanned="2"'), ods_row(None, 3, 4.5), ods_row("S", "#DIV/0!", 5),
        ods_row(None, None, repeated=1_000_000),
    ]  # fmt: skip
    shelf = load(ods(("Data", "".join(rows)), ("Off", ods_row("x")), hidden=("Off",)), name="t.ods")
    assert shelf.sql("SELECT * FROM t") == [("N", 1, 2.0), ("N", 3, 4.5), ("S", None, 5.0)]
    assert shelf.table.encoding == "ODS" and shelf.types() == {"region": "VARCHAR", "a": "BIGINT", "b": "DOUBLE"}
    text = said(shelf.report)
    for part in ("row 1 (“Sales”)", "such as A4 (“N”)", "Off (hidden, 0 rows)", "1 cell holds an error"):
        assert part in text


def test_a_binary_workbook(load: Callable[..., Any]) -> None:
    cells: list[tuple[int, int, str | float]] = [
        (0, 0, "Sales"), (1, 0, "region"), (1, 1, "v"), (2, 0, "N"), (2, 1, 1.0), (3, 1, 2.5), (4, 0, "S"), (4, 1, "#DIV/0!"),
    ]  # fmt: skip
    shelf = load(xlsb(cells, merged=[(0, 0, 0, 1), (2, 3, 0, 0)]), name="t.xlsb")
    assert shelf.sql("SELECT * FROM t") == [("N", 1.0), ("N", 2.5), ("S", None)]
    assert shelf.table.encoding == "XLSB" and "1 cell holds an error" in said(shelf.report)


FAR = '<row r="{row}"><c{place}><v>1</v></c></row>'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.xlsb", xlsb([(0, 0, "a"), (900_000, 9_000, 1.0)])),
        ("t.ods", ods(("S", ods_row("a") + ods_row(*[1.0] * 500, repeated=1_000_000)))),
        ("t.xlsx", archive({"xl/workbook.xml": "<w/>", "xl/s.xml": FAR.format(row=900_000, place=" r='XFD900000'")})),
        (
            "t.xlsx",
            archive(
                {
                    "xl/workbook.xml": "<w/>",
                    "xl/s.xml": "<row>" + "<c/>" * 9_000 + "</row>" + FAR.format(row=900_000, place=""),
                }
            ),
        ),
    ],
    ids=["xlsb", "ods", "quotes", "places"],
)
def test_cells_far_apart_are_refused_in_every_kind(load: Callable[..., Any], name: str, content: bytes) -> None:
    with pytest.raises(UnreadableFile, match="A sheet has cells as far as row"):
        load(content, name=name)


@pytest.mark.parametrize(
    ("streams", "word"),
    [
        (("EncryptedPackage",), "password"),
        (("WordDocument", "Workbook"), None),
        (("PowerPoint Document",), "PowerPoint"),
        (("Something",), "without sheets"),
    ],
)
def test_old_office_files_are_told_by_what_stands_at_their_root(
    load: Callable[..., Any], streams: tuple[str, ...], word: str | None
) -> None:
    with pytest.raises(UnreadableFile, match=word or "damaged workbook"):
        load(ole(*streams), name="t.xls")


def test_an_entity_bomb_is_refused(load: Callable[..., Any]) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    content = archive({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": bomb})
    with pytest.raises(UnreadableFile, match="entities"):
        load(content, name="t.ods")


@pytest.mark.parametrize("kind", ["xls", "xlsb", "ods", "xlsx"])
@pytest.mark.parametrize("seed", range(5))
def test_a_workbook_with_changed_bytes_is_a_table_or_a_sentence(load: Callable[..., Any], kind: str, seed: int) -> None:
    good = {
        "xls": xls(),
        "xlsb": xlsb([(0, 0, "a"), (1, 0, 1.0)]),
        "ods": ods(("S", ods_row("a") + ods_row(1.0))),
        "xlsx": book(("S", [["a"], [1]])),
    }[kind]
    chance = random.Random(seed)
    bad = bytearray(good)
    for _ in range(20):
        bad[chance.randrange(8, len(bad))] = chance.randrange(256)
    with suppress(PeekError):
        assert load(bytes(bad), name=f"t.{kind}").table.columns


words = st.text(st.characters(codec="utf-8", categories=("L", "P", "Zs")), min_size=1, max_size=12).filter(
    lambda text: text.strip() and not any(text.startswith(sign) for sign in "=#")
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(st.integers(-(10**9), 10**9), words), min_size=1, max_size=8))
def test_any_rows_of_numbers_and_words_arrive_cell_for_cell(
    load: Callable[..., Any], rows: list[tuple[int, str]]
) -> None:
    shelf = load(book(("S", [["id", "word"], *rows])), name="t.xlsx")
    assert shelf.sql("SELECT * FROM t") == rows
