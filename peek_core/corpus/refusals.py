"""Turns what the operating system and DuckDB say into one sentence for the person.

Owns the wording of refusals that any reader can meet: space, permission, vanished files, malformed CSV lines.
Refuses to know which file format is being read.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from peek_core.errors import PeekError, Refused, UnreadableFile

_LINE = re.compile(r"CSV Error on Line: (\d+)")
_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_SPACE = ("no space left", "not enough space", "disk full", "file too large", "disk quota")


def from_os(error: OSError, doing: str) -> PeekError:
    """The refusal for an `OSError` met while `doing` (such as "reading the file")."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Refused(
            f"The disk is full: there was not enough space while {doing}",
            next="Free some space, or choose another data directory, and load the file again.",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Refused(
            f"Permission was denied while {doing}",
            next="Check the permissions of the file and of the data directory.",
        )
    if error.errno == errno.ENOENT:
        return UnreadableFile(f"The file was not there while {doing}", next="Check the path and load it again.")
    return Refused(f"The operating system reported “{error.strerror or error}” while {doing}", next="Try again.")


def from_duckdb(error: duckdb.Error, doing: str) -> PeekError:
    """The refusal for an engine error met while `doing`; CSV errors name their line."""
    text = str(error)
    low = text.lower()
    if any(word in low for word in _SPACE):
        return from_os(OSError(errno.ENOSPC, "no space"), doing)
    if "permission denied" in low:
        return from_os(OSError(errno.EACCES, "permission"), doing)
    line = _LINE.search(text)
    where = f"line {int(line[1]):,}" if line else ""
    width = _WIDTH.search(text)
    if width:
        expected, found = int(width[1]), int(width[2])
        more = "more" if found > expected else "fewer"
        return UnreadableFile(
            f"A row has {found} fields where the header has {expected}",
            where=where,
            next=f"The row has {more} separators than the header: put quotes round text that contains the separator, "
            "or correct the row, and load the file again.",
        )
    if "unterminated quote" in low or "state machine" in low or ("quote" in low and line):
        return UnreadableFile(
            "The quotes of a row don't match",
            where=where,
            next='Double every quote inside quoted text ("") and load the file again.',
        )
    if "maximum line size" in low:
        return UnreadableFile(
            "A row is longer than 2,000,000 bytes",
            where=where,
            next="Usually a quote was opened and never closed; correct it and load the file again.",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return Refused(
            f"There was not enough memory while {doing}", next="Close other programs or load a smaller file."
        )
    first = text.splitlines()[0] if text else type(error).__name__
    return UnreadableFile(f"The file could not be read while {doing}: {first}", where=where)


@contextmanager
def spoken(doing: str) -> Iterator[None]:
    """Runs a block so that OS and engine errors leave it as refusals with a sentence."""
    try:
        yield
    except OSError as error:
        raise from_os(error, doing) from error
    except duckdb.Error as error:
        raise from_duckdb(error, doing) from error
