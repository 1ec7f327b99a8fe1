"""Archives: what they hold is read, and they can't write elsewhere, swell without limit or hide what was left out."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peek_core.corpus import archives
from peek_core.corpus.load import Source, load_files
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import LoadReport
from tests.corpus.workbooks import book

CSV = b"id,c\n1,a\n2,b\n"
JSON = b'{"id": 1, "c": "a"}\n{"id": 2}\n'


def zipped(*members: tuple[str, bytes], packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as file:
        for name, content in members:
            file.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes, str], LoadReport]:
    def run(content: bytes, name: str) -> LoadReport:
        (tmp_path / name).write_bytes(content)
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        try:
            return load_files([Source(tmp_path / name, name)], out / "v1.duckdb")
        finally:
            assert {p.name for p in out.iterdir()} <= {"v1.duckdb"}

    return run


Read = Callable[[bytes, str], LoadReport]


def test_a_gz_is_read_as_the_file_it_packs_and_named_after_itself(read: Read) -> None:
    report = read(gzip.compress(CSV[:7]) + gzip.compress(CSV[7:]), "tickets.csv.gz")
    (table,) = report.tables
    assert (table.name, table.rows, table.source) == ("tickets", 2, "tickets.csv.gz")
    assert table.dialect.startswith("“tickets.csv” in the archive; comma")
    assert [(s.name, s.size) for s in report.sources] == [
        ("tickets.csv.gz", len(gzip.compress(CSV[:7]) + gzip.compress(CSV[7:])))
    ]
    assert read(gzip.compress(JSON), "t.jsonl.gz").tables[0].dialect.endswith("JSON Lines")


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_of_one_file_is_named_after_that_file(read: Read, packed: int) -> None:
    clutter = [("__MACOSX/data/._orders.csv", b"\x00" * 90), ("data/.DS_Store", b"\x00Bud1"), ("data/", b"")]
    (table,) = read(zipped(("data/orders.csv", CSV), *clutter, packed=packed), "export.zip").tables
    assert (table.name, table.rows, table.source) == ("orders", 2, "export.zip") and table.assumptions == ()


def test_all_files_of_a_zip_become_tables_of_one_upload(read: Read) -> None:
    members = [("orders.csv", CSV), ("people.json", JSON), ("plan.xlsx", book(("S", [["a"], [1]])))]
    report = read(zipped(*members), "export.zip")
    assert [(t.name, t.rows) for t in report.tables] == [("orders", 2), ("people", 2), ("plan", 1)]
    assert len(report.sources) == 1 and {t.source for t in report.tables} == {"export.zip"}


def test_files_of_one_name_in_two_folders(read: Read) -> None:
    report = read(zipped(("2023/orders.csv", CSV), ("2024/orders.csv", CSV)), "export.zip")
    assert [t.name for t in report.tables] == ["c_2023_orders", "c_2024_orders"]


def test_what_holds_no_table_is_left_out_and_named(read: Read) -> None:
    members = [
        ("README.txt", b"Made by us"),
        ("orders.csv", CSV),
        ("a.pdf", b"%PDF-1.7"),
        ("b.bin", b"\x01\x00\x02" * 99),
    ]
    (table,) = read(zipped(*members, ("in.zip", zipped(("x.csv", CSV)))), "export.zip").tables
    assert table.assumptions == (
        "Files in the archive that hold no table were left out: README.txt, a.pdf, b.bin, in.zip.",
    )
    assert read(zipped(("readme.txt", CSV)), "only.zip").tables[0].name == "readme"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (zipped(), "without a file"),
        (zipped(("a.pdf", b"%PDF-1.7")), "a.pdf is a PDF"),
        (zipped(("a.pdf", b"%PDF-1.7"), ("b.png", b"\x89PNG\r\n\x1a\n")), "no file that can be read: a.pdf, b.png"),
        (zipped(("in.zip", zipped(("x.csv", CSV)))), "in.zip in t.any is an archive again"),
        (gzip.compress(gzip.compress(CSV)), "is an archive again"),
        (zipped(("a.csv", CSV))[:-30], "damaged"),
        (gzip.compress(CSV * 99)[:-20], "damaged"),
        (gzip.compress(CSV) + b"more", "damaged"),
        (zipped(*((f"{n}.csv", CSV) for n in range(101))), "101 files"),
        (bz2.compress(CSV), "a bzip2 archive"),
    ],
    ids=["nothing", "one", "two", "zip in zip", "gz in gz", "cut zip", "cut gz", "tail", "many", "bz2"],
)  # fmt: skip
def test_what_can_not_be_read_is_refused_by_name(read: Read, content: bytes, word: str) -> None:
    with pytest.raises(UnreadableFile, match=word) as raised:
        read(content, "t.any")
    assert raised.value.next


def test_a_damaged_member_and_one_with_a_password_are_refused(read: Read) -> None:
    stored = zipped(("a.csv", CSV * 9), packed=zipfile.ZIP_STORED)
    with pytest.raises(UnreadableFile, match="damaged"):
        read(stored.replace(b"2,b", b"2,x", 1), "t.zip")
    locked = bytearray(zipped(("a.csv", CSV)))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(magic) + at] |= 1
    with pytest.raises(UnreadableFile, match="encrypted"):
        read(bytes(locked), "t.zip")


def test_a_packed_tar_is_named(read: Read) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        file.addfile(tarfile.TarInfo("a.csv"))
    with pytest.raises(UnreadableFile, match="a tar archive"):
        read(out.getvalue(), "t.tar.gz")


def test_a_refusal_says_which_file_it_is_about(read: Read) -> None:
    with pytest.raises(UnreadableFile) as raised:
        read(zipped(("a.csv", CSV), ("b.json", b'[{"a": 1},\n]')), "t.zip")
    assert raised.value.where.startswith("b.json, line 2")


@pytest.mark.parametrize("name", ["../../escaped.csv", "/tmp/escaped.csv", "C:\\escaped.csv", "..\\escaped.csv"])
def test_a_name_in_an_archive_is_never_a_path(read: Read, tmp_path: Path, name: str) -> None:
    (table,) = read(zipped((name, CSV)), "t.zip").tables
    assert (table.name, table.rows) == ("escaped", 2)
    assert {p.name for p in tmp_path.iterdir()} == {"t.zip", "out"} and not Path("/tmp/escaped.csv").exists()


def test_names_in_utf8_that_the_archive_does_not_declare(read: Read) -> None:
    content = zipped(("größe.csv", CSV))
    for magic, at in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        where = content.index(magic) + at
        content = content[:where] + bytes([content[where] & ~8]) + content[where + 1 :]
    assert read(content, "t.zip").tables[0].name == "größe"


def bombs() -> list[Any]:
    zeros = bytes(3 << 20)
    return [
        pytest.param(gzip.compress(zeros), "t.gz", id="gz"),
        pytest.param(zipped(("a.csv", zeros)), "t.zip", id="zip"),
    ]


@pytest.mark.parametrize(("content", "name"), bombs())
def test_what_swells_is_refused_while_it_is_unpacked(
    read: Read, monkeypatch: pytest.MonkeyPatch, content: bytes, name: str
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 20)
    with pytest.raises(UnreadableFile, match="unpacks to more than 1 MB"):
        read(content, name)
    monkeypatch.setattr(archives, "MAX_UNPACKED", 4 << 20)
    monkeypatch.setattr(archives, "SUSPECT", 1 << 20)
    with pytest.raises(UnreadableFile, match="more than 200 times its size"):
        read(content, name)
    monkeypatch.setattr(archives, "SUSPECT", 4 << 20)
    with pytest.raises(UnreadableFile, match="not text"):
        read(content, name)


def test_many_members_share_one_limit(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10 * len(CSV))
    assert len(read(zipped(*((f"{n}.csv", CSV) for n in range(10))), "t.zip").tables) == 10
    with pytest.raises(UnreadableFile, match="unpacks to more"):
        read(zipped(*((f"{n}.csv", CSV) for n in range(11))), "t.zip")
