"""Errors of system and engine become sentences."""

from __future__ import annotations

import errno

import duckdb
import pytest

from peek_core.corpus.refusals import from_duckdb, from_os, spoken
from peek_core.errors import Refused, UnreadableFile


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EACCES, "Permission"),
        (errno.EROFS, "Permission"),
        (errno.ENOENT, "not there"),
        (errno.EIO, "while reading"),
    ],
)
def test_system_errors(number: int, word: str) -> None:
    error = from_os(OSError(number, "raw text"), "reading the file")
    assert isinstance(error, Refused) and word in error.what and error.next


def test_engine_errors_name_the_line() -> None:
    error = from_duckdb(
        duckdb.InvalidInputException("CSV Error on Line: 1234\nExpected Number of Columns: 3 Found: 4\n"), "loading"
    )
    assert isinstance(error, UnreadableFile)
    assert error.where == "line 1,234" and "4 fields" in error.what and "3" in error.what
    full = from_duckdb(duckdb.IOException("Could not write file: No space left on device"), "loading the rows")
    assert "disk is full" in full.what


def test_spoken_lets_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), spoken("dividing"):
        raise ZeroDivisionError
    with pytest.raises(Refused), spoken("writing"):
        raise OSError(errno.EDQUOT, "quota")
