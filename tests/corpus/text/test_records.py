"""The witness count: line ends outside quotes, whatever the block borders."""

from __future__ import annotations

from pathlib import Path

import pytest

from peek_core.corpus.text import decode, records
from peek_core.corpus.text.dialect import Dialect


def dialect(columns: int = 2, *, newline: str = "\n", skip: int = 0) -> Dialect:
    return Dialect(",", '"', '"', newline, skip, True, tuple(f"c{n}" for n in range(columns)))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n3,4\n", 2),
        ("a,b\n1,2\n3,4", 2),
        ("a,b\n", 0),
        ("a,b", 0),
        ('a,b\n1,"x\n\ny"\n3,""\n', 2),
        ('a,b\n"1","x"\n"3","y"\n', 2),
        ('a,b\n1,"say ""hi""\n"\n2,x\n', 2),
        ("a,b\n\n1,2\n\n\n3,4\n\n", 2),
    ],
)
def test_counts(tmp_path: Path, text: str, rows: int) -> None:
    path = tmp_path / "t.csv"
    for newline in ("\n", "\r\n"):
        path.write_bytes(text.replace("\n", newline).encode())
        cut = dialect(newline=newline)
        assert records.fast_count(path, cut).records == records.slow_count(path, cut) == rows


def test_old_mac_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\r1,"x\ry"\r\r3,4\r')
    assert records.fast_count(path, dialect(newline="\r")).records == 2


def test_blank_lines_of_one_column_are_values(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n\n3\n\n")
    assert records.fast_count(path, dialect(1)).records == records.slow_count(path, dialect(1)) == 4


def test_skipped_lines_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"sep=,\n\na,b\n1,2\n\n3,4\n")
    assert records.fast_count(path, dialect(skip=2)).records == 2


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_block_borders_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\r\na,b\r\n\r\n1,"x\r\n\r\n""y"\r\n\r\n"2",""\r\n')
    whole = decode.blocks

    def small(path: Path, usual: int, *, start: int = 0) -> object:
        return whole(path, size, start=start)

    monkeypatch.setattr(records, "blocks", small)
    assert records.fast_count(path, dialect(newline="\r\n")).records == 2


def test_stray_quotes_make_the_fast_count_wrong_and_the_slow_one_right(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,43" tv\n2,x\n')
    assert records.slow_count(path, dialect()) == 2
    assert records.fast_count(path, dialect()).records != 2
