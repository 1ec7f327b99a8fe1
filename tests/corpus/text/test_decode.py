"""Bytes become text strictly: the right encoding or a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peek_core.corpus import kinds
from peek_core.corpus.text import decode
from peek_core.errors import UnreadableFile

REMARKS = ["It’s “great” – worth 5 €", "Café was closed", "Refund of 20 € still pending", "ok"]
CASE_8 = "id,comment\n" + "".join(f"{n},{text}\n" for n, text in enumerate(REMARKS, start=1))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_windows_1252_is_told_and_its_characters_survive(load: Callable[..., Any], newline: str) -> None:
    shelf = load(CASE_8.replace("\n", newline).encode("cp1252"))
    assert shelf.table.encoding == "Windows-1252"
    assert shelf.sql("SELECT id, comment FROM t WHERE comment LIKE '%€%' ORDER BY id") == [
        (1, REMARKS[0]),
        (3, REMARKS[2]),
    ]


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8 with byte order mark"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16-LE"),
        ("utf-16-be", "UTF-16-BE"),
        ("utf-32", "UTF-32"),
    ],
)
def test_unicode_with_and_without_mark(load: Callable[..., Any], encoding: str, shown: str) -> None:
    shelf = load(CASE_8.encode(encoding))
    assert shelf.table.encoding == shown
    assert [c.name for c in shelf.table.columns] == ["id", "comment"]
    assert shelf.sql("SELECT comment FROM t ORDER BY id") == [(text,) for text in REMARKS]


def test_utf16_tabs_as_excel_exports_them(load: Callable[..., Any]) -> None:
    shelf = load("\ufeffid\tname\r\n1\tJosé\r\n2\t李\r\n".encode("utf-16-le"))
    assert shelf.sql("SELECT * FROM t") == [(1, "José"), (2, "李")]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Приложение постоянно вылетает при открытии большого проекта"),
        ("gb18030", "这个应用程序在打开大型项目时总是崩溃，请尽快修复"),
        ("shift_jis", "アプリが大きなプロジェクトを開くときに必ずクラッシュします"),
    ],
)
def test_other_scripts_are_read_and_doubted(load: Callable[..., Any], encoding: str, text: str) -> None:
    content = "id,comment\n" + "".join(f"{n},{text}\n" for n in range(50))
    shelf = load(content.encode(encoding))
    assert shelf.sql("SELECT DISTINCT comment FROM t") == [(text,)]
    assert any("not UTF-8" in doubt.what for doubt in shelf.report.doubts)


def test_one_bad_byte_in_utf8_names_its_line(load: Callable[..., Any]) -> None:
    with pytest.raises(UnreadableFile) as raised:
        load("id,c\n1,Café\n2,Käse\n3,".encode() + b"caf\xe9\n")
    assert raised.value.where == "line 4" and "0xE9" in raised.value.what


def test_bad_byte_on_a_block_border_names_its_line(load: Callable[..., Any]) -> None:
    line = "1,ü23456789012345\n".encode()
    good = b"id,c\n" + line * (decode.BLOCK // len(line))
    shelf = load(good + b"2,\xc3")
    assert shelf.sql("SELECT c FROM t WHERE id = 2") == [("\\xc3",)]
    assert f"line {good.count(bytes([10])) + 1:,}" in shelf.table.repairs[0]


def test_characters_cut_by_block_borders_survive(load: Callable[..., Any]) -> None:
    rows = 40_000
    shelf = load("n,c\n" + "".join(f"{n},äöü€😀\n" for n in range(rows)))
    assert shelf.sql("SELECT count(*), count(DISTINCT c) FROM t") == [(rows, 1)]


def test_nul_bytes_are_removed_and_counted(load: Callable[..., Any]) -> None:
    shelf = load(b"id,c\n1,a\x00b\n2,x\n")
    assert shelf.sql("SELECT c FROM t ORDER BY id") == [("ab",), ("x",)]
    assert "1 NUL byte was removed." in shelf.table.repairs


def test_many_nul_bytes_are_no_text(load: Callable[..., Any]) -> None:
    with pytest.raises(UnreadableFile, match="not text"):
        load(b"id,c\n" + b"\x00" * 5_000)


def test_mixed_line_ends(load: Callable[..., Any]) -> None:
    shelf = load(b'id,c\r\n1,a\n2,"b\r\nc"\r\n3,d\n')
    assert shelf.sql("SELECT * FROM t ORDER BY id") == [(1, "a"), (2, "b\nc"), (3, "d")]
    assert any("mixed" in line for line in shelf.table.repairs)


def test_crlf_records_with_lf_in_cells_are_not_mixed(load: Callable[..., Any]) -> None:
    shelf = load(b'id,c\r\n1,"a\nb"\r\n2,c\r\n')
    assert shelf.sql("SELECT * FROM t ORDER BY id") == [(1, "a\nb"), (2, "c")]
    assert shelf.table.repairs == ()


def test_old_mac_line_ends(load: Callable[..., Any]) -> None:
    assert load(b"id,c\r1,a\r2,b\r").sql("SELECT * FROM t") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "PNG"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "JPEG"),
        (b"GIF89a\x01\x00", "GIF"),
        (b"\x7fELF\x02\x01\x01\x00", "program"),
        (b"MZ\x90\x00\x03\x00", "program"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "Office"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"PARE\x15\x04", "encrypted Parquet"),
        (b"ARROW1\x00\x00", "Arrow"),
        (b"a.csv".ljust(257, b"\x00") + b"ustar\x0000", "tar"),
        (b"<!DOCTYPE html>\n<html><body>", "web page"),
        ("<?xml version='1.0'?>\n<rows/>".encode("utf-16"), "XML"),
    ],
)
def test_what_is_no_table_is_named(load: Callable[..., Any], head: bytes, word: str) -> None:
    with pytest.raises(UnreadableFile, match=word) as raised:
        load(head)
    assert raised.value.next


def test_empty_file(load: Callable[..., Any]) -> None:
    with pytest.raises(UnreadableFile, match="empty"):
        load(b"")


@pytest.mark.parametrize("content", [b"\n", b"  \n\n \n", b"\xef\xbb\xbf"])
def test_nothing_but_white_space(load: Callable[..., Any], content: bytes) -> None:
    with pytest.raises(UnreadableFile):
        load(content)


def test_folder_missing_and_special_files(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="folder"):
        kinds.kind_of(tmp_path)
    with pytest.raises(UnreadableFile, match="no file"):
        kinds.kind_of(tmp_path / "nowhere.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(UnreadableFile, match="ordinary"):
            kinds.kind_of(tmp_path / "pipe")
