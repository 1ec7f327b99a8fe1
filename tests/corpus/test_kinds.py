"""Every kind of file a person may bring, through the whole loader: read as it is, or refused with a sentence."""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]

from peek_core.corpus.load import Source, load_file
from peek_core.corpus.workbook import workbook_guard
from peek_core.corpus.worker import load_in_process
from peek_core.errors import Broken, PeekError, UnreadableFile
from peek_core.values.dataset import LoadReport

ROOT = Path(__file__).parents[2]
NOBODY = 65_534


def away(source: Path) -> LoadReport:
    """Loads in a process of its own, next to the source."""
    return load_in_process(
        [Source(source, source.name)], source.parent / "v1.duckdb", lambda stage, done: None, lambda: False
    )


def workbook(*rows: list[Any]) -> bytes:
    book = Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def archive(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


REFUSED = [
    ("empty.csv", b"", "empty"),
    ("blank.csv", b"\n\n", "white space"),
    ("paper.csv", b"%PDF-1.7\n", "PDF"),
    ("picture.xlsx", b"\x89PNG\r\n\x1a\n\x00", "PNG"),
    ("tool.csv", b"\x7fELF\x02\x01", "program"),
    ("files.xlsx", archive(a=b"%PDF-1.7"), "PDF"),
    ("nothing.zip", archive(), "without a file"),
    ("letter.docx", archive(**{"word/document.xml": b"x"}), "Word document"),
    ("half.parquet", b"PAR1" + bytes(200) + b"PAR1", "damaged Parquet"),
    ("locked.parquet", b"PARE" + bytes(200) + b"PARE", "encrypted Parquet"),
    ("half.csv.gz", gzip.compress(b"id,c\n1,a\n" * 99, mtime=0)[:30], "damaged archive"),
    ("half.json", b'[{"id": 1}, {"id":', "JSON is broken"),
    ("half.xlsx", workbook(["a"], [1])[:900], "damaged"),
]


@pytest.mark.parametrize(("name", "content", "word"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_what_is_refused_in_the_worker_leaves_nothing(tmp_path: Path, name: str, content: bytes, word: str) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    with pytest.raises(UnreadableFile, match=word) as raised:
        away(source)
    assert raised.value.next
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_folders_and_missing_files(tmp_path: Path) -> None:
    folder = tmp_path / "data.csv"
    folder.mkdir()
    for source, word in ((folder, "folder"), (tmp_path / "nowhere.csv", "no file")):
        with pytest.raises(UnreadableFile, match=word):
            away(source)
        with pytest.raises(UnreadableFile, match=word):
            load_file(source, tmp_path / "v1.duckdb", label="t")
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def test_a_zip_bomb_is_refused_in_the_worker(tmp_path: Path) -> None:
    source = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
        with file.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
            for _ in range((workbook_guard.MAX_UNPACKED >> 24) + 1):
                part.write(bytes(1 << 24))
    assert source.stat().st_size < 8 << 20
    with pytest.raises(UnreadableFile, match="unpacks to more than"):
        away(source)
    assert [p.name for p in tmp_path.iterdir()] == ["bomb.xlsx"]


def test_a_lone_cell_far_away_is_refused_not_a_crash(tmp_path: Path) -> None:
    book = Workbook()
    book.worksheets[0]["A1"], book.worksheets[0]["XFD1048576"] = "a", "x"
    book.save(tmp_path / "far.xlsx")
    with pytest.raises(UnreadableFile, match="row 1,048,576 and column 16,384"):
        away(tmp_path / "far.xlsx")


DROPPED = """
import os, sys
from pathlib import Path
from peek_core.corpus.load import load_file
from peek_core.errors import PeekError
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[3]))
    os.setuid(int(sys.argv[3]))
try:
    load_file(Path(sys.argv[1]), Path(sys.argv[2]), label="t")
except PeekError as error:
    print(type(error).__name__, error.sentence())
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions work otherwise here")
@pytest.mark.parametrize("closed", ["source", "target"])
def test_no_permission_is_a_sentence(tmp_path: Path, closed: str) -> None:
    source, folder = tmp_path / "t.csv", tmp_path / "out"
    source.write_text("id,c\n1,a\n")
    folder.mkdir()
    folder.chmod(0o777 if closed == "source" else 0o555)
    source.chmod(0 if closed == "source" else 0o644)
    # The folders that pytest makes are for the present user alone.
    for above in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        if os.geteuid() == 0:
            above.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", DROPPED, str(source), str(folder / "v1.duckdb"), str(NOBODY)],
        capture_output=True, text=True, timeout=60, cwd=ROOT,
    )  # fmt: skip
    folder.chmod(0o755)
    assert done.stdout.startswith("Refused Permission was denied"), (done.stdout, done.stderr[-2_000:])
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t"])
def test_a_workbook_by_another_name(load: Callable[..., Any], name: str) -> None:
    shelf = load(workbook(["id", "code"], [1, "007"]), name=name)
    assert shelf.sql("SELECT * FROM t") == [(1, "007")] and shelf.table.encoding == "XLSX"


@pytest.mark.parametrize("name", ["t.xlsx", "t.xlsm", "t"])
def test_text_by_another_name(load: Callable[..., Any], name: str) -> None:
    shelf = load("id,code\n1,007\n", name=name)
    assert shelf.sql("SELECT * FROM t") == [(1, "007")] and shelf.table.encoding == "UTF-8"


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_delimiter_encoding_and_quoted_line_ends_together(
    load: Callable[..., Any], delimiter: str, encoding: str, newline: str
) -> None:
    rows = [("1", "Café; 5 €, gut"), ("2", f"zwei{newline}Zeilen"), ("3", f"a{newline}{newline}“b”\tc")]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=newline).writerows([("id", "Größe"), *rows])
    shelf = load(out.getvalue().encode(encoding))
    assert shelf.sql("SELECT * FROM t ORDER BY id") == [(int(n), text) for n, text in rows]
    assert shelf.table.repairs == () or all("Columns got names" in line for line in shelf.table.repairs)


def test_a_carriage_return_in_quotes_survives(load: Callable[..., Any]) -> None:
    assert load('id,c\n1,"a\rb"\n2,"c\r\nd"\n').sql("SELECT c FROM t ORDER BY id") == [("a\rb",), ("c\r\nd",)]


@pytest.mark.parametrize("content", [b"a,b\n", b"\xef\xbb\xbfa,b\r\n", "a,b\n".encode("utf-16"), b"a;b"])
def test_header_only(load: Callable[..., Any], content: bytes) -> None:
    shelf = load(content)
    assert shelf.table.rows == 0 and [c.name for c in shelf.table.columns] == ["a", "b"]


def test_five_thousand_columns_in_the_worker(tmp_path: Path) -> None:
    source = tmp_path / "wide.csv"
    rows = [",".join(f"{n:04}" if n == 7 else str(n + 1) for n in range(5_000))] * 3
    source.write_text(",".join(f"c{n}" for n in range(5_000)) + "\n" + "\n".join(rows) + "\n")
    (table,) = away(source).tables
    assert table.rows == 3 and len(table.columns) == 5_000
    assert [c.name for c in table.columns if c.type != "BIGINT"] == ["c7"]


def test_codes_versions_and_truth_values_settled_by_late_rows(tmp_path: Path) -> None:
    source = tmp_path / "late.csv"
    early = "".join(f"{n},10.5,true\n" for n in range(10_000, 40_000))
    late = "00501,11.0.1,NA\n" * 10
    source.write_text(f"customer,app version,resolved\n{early}{late}")
    report = away(source)
    (table,) = report.tables
    assert table.rows == 30_010
    assert [c.type for c in table.columns] == ["VARCHAR", "VARCHAR", "BOOLEAN"]
    assert [c.nulls for c in table.columns] == [0, 0, 10]
    assert any("resolved: 10 values (“NA”) read as missing" in line for line in table.assumptions)


def test_backslashes_that_escape_are_said(load: Callable[..., Any]) -> None:
    shelf = load('id,c\n1,"say \\"hi\\""\n2,"x"\n3,y\n')
    assert shelf.sql("SELECT c FROM t WHERE id = 1") == [('say "hi"',)]
    assert "backslash before quotes" in shelf.table.dialect
    plain = load('id,c\n1,"C:\\temp, x"\n2,"D:\\"\n')
    assert plain.sql("SELECT c FROM t ORDER BY id") == [("C:\\temp, x",), ("D:\\",)] and plain.report.doubts == ()


def test_errors_and_unsolved_formulas_of_a_workbook_are_said(load: Callable[..., Any]) -> None:
    shelf = load(workbook(["a", "b", "c"], [1, "#DIV/0!", "=A2+1"], [2, 5, "=A3+1"], [3, "#REF!", None]), name="t.xlsx")
    assert shelf.sql("SELECT b, c FROM t ORDER BY a") == [(None, None), (5, None), (None, None)]
    assert any("2 cells hold errors" in line for line in shelf.table.assumptions)
    assert any("2 formulas have no stored result" in doubt.what for doubt in shelf.report.doubts)


def test_a_worker_killed_from_outside_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "big.csv"
    source.write_text("id,c\n" + "".join(f"{n},some text number {n}\n" for n in range(300_000)))
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def keep(*args: Any, **kwargs: Any) -> Any:
        started.append(real(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", keep)
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(Broken, match="stopped unexpectedly"):
        load_in_process(
            [Source(source, "t")], folder / "v.duckdb", lambda stage, done: started[0].kill(), lambda: False
        )
    assert list(folder.iterdir()) == []


MAGIC = [
    b"",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PAR1",
    b"\x1f\x8b\x08",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b'{"a":',
    b"[[",
    b"\xff\xfe",
]


@pytest.mark.parametrize("magic", MAGIC)
@pytest.mark.parametrize("seed", range(2))
def test_bytes_at_random_are_a_sentence_or_a_table(tmp_path: Path, magic: bytes, seed: int) -> None:
    source = tmp_path / "t.csv"
    for n in range(6):
        source.write_bytes(magic + random.Random(seed * 100 + n).randbytes(600))
        with suppress(PeekError):
            assert load_file(source, tmp_path / "v.duckdb", label="t").tables
