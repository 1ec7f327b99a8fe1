"""What kind of file this is, by its content. A name is only listened to where content can't tell.

Owns: first bytes, the parts of archives and old Office files as far as they tell kinds apart, and the refusal by name
of everything that is no table. Refuses to know how any kind is read.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from peek_core.corpus.refusals import spoken
from peek_core.errors import UnreadableFile

Kind = Literal["text", "json", "parquet", "workbook", "zip", "gzip"]

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_HEAD = 4_096
_LOOK = 1 << 16
_EXPORT = "Export the table as CSV or XLSX and load that."

# First bytes -> what the file is. None of these is a table this app reads.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"\x7fELF", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"PARE", "an encrypted Parquet file"),
    (b"ARROW1\x00\x00", "an Arrow file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"{\\rtf", "an RTF document"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Streams at the root of an old Office file -> what it is.
_STREAMS: tuple[tuple[str, str], ...] = (
    ("EncryptedPackage", "an Office file with a password"),
    ("WordDocument", "a Word document"),
    ("PowerPoint Document", "a PowerPoint presentation"),
    ("VisioDocument", "a Visio drawing"),
    ("__properties_version1.0", "an Outlook message"),
)
_PARTS: tuple[tuple[str, str], ...] = (
    ("word/document.xml", "a Word document"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("index/document.iwa", "an Apple document (such as Numbers)"),
    ("meta-inf/container.xml", "an e-book"),
)
_ODS = b"application/vnd.oasis.opendocument.spreadsheet"
_RECORD = re.compile(r'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*$)|\[\s*(?:[\[{]|$)')


@contextmanager
def archive_damage(label: str) -> Iterator[None]:
    """Turns what broken archives raise into a refusal."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError) as error:
        raise UnreadableFile(f"{label} is a damaged archive", next="Save or download it again.") from error
    except OSError as error:
        # Places outside the file, which the archive names, are no trouble with the disk.
        if not isinstance(error, gzip.BadGzipFile) and error.errno != errno.EINVAL:
            raise
        raise UnreadableFile(f"{label} is a damaged archive", next="Save or download it again.") from error


def kind_of(source: Path, label: str = "") -> Kind:
    """What `source` is; `label` is what a person calls it. Raises `UnreadableFile` for what holds no table."""
    shown = label or source.name
    try:
        status = source.stat()
    except FileNotFoundError:
        raise UnreadableFile(f"There is no file {shown}", next="Check the path.") from None
    except OSError as error:
        with spoken("looking at the file"):
            raise error
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableFile(f"{shown} is a folder, not a file", next="Choose one file inside it.")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(f"{shown} is not an ordinary file", next="Save the data as a CSV file first.")
    if status.st_size == 0:
        raise UnreadableFile(f"{shown} is empty (0 bytes)", next="Export the data again.")
    with spoken("opening the file"), source.open("rb") as file:
        head = file.read(_HEAD)
        named = _named(head)
        if named:
            raise UnreadableFile(f"{shown} is {named}, not a table", next=_EXPORT)
        if head.startswith(_OLE):
            return _old_office(file, shown)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return _zip(file, shown)
        if head.startswith(b"\x1f\x8b"):
            return "gzip"
        if head.startswith(b"PAR1"):
            return "parquet"
        file.seek(0)
        text = _text(file.read(_LOOK))
    if re.match(r"(?:<!doctype html|<html|<\?xml)", text, re.IGNORECASE):
        raise UnreadableFile(
            f"{shown} is a web page or XML document, not a table", next="Export the table as CSV or XLSX."
        )
    named_json = (label or source.name).lower().endswith(JSON_SUFFIXES) or source.suffix.lower() in JSON_SUFFIXES
    return "json" if _is_json(text, named_json) else "text"


def _named(head: bytes) -> str:
    """What the first bytes say that is never a table; empty where they say nothing."""
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[:2] == b"MZ" and b"\x00" in head:
        return "a program"
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return "a picture, sound or film"
    if head[8:12] == b"DUCK":
        return "a DuckDB database"
    return "a tar archive" if head[257:262] == b"ustar" else ""


def _text(head: bytes) -> str:
    """The beginning as text, good enough to look at its first signs."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-32" if head.startswith(codecs.BOM_UTF32_LE) else "utf-16"
    elif head.startswith(codecs.BOM_UTF32_BE):
        encoding = "utf-32"
    elif head[1:2] == b"\x00" or head[:1] == b"\x00":
        encoding = "utf-16-be" if head[:1] == b"\x00" else "utf-16-le"
    else:
        encoding, head = "utf-8", head.removeprefix(codecs.BOM_UTF8)
    return head.decode(encoding, "ignore").lstrip()


def _is_json(text: str, named: bool) -> bool:
    """Whether text is JSON: by how it begins, or by any of its first lines where its name says so."""
    if text[:1] in ("{", "["):
        first = text.partition("\n")[0].rstrip()
        if named or _RECORD.match(first) or _RECORD.match(text):
            return True
        try:
            return isinstance(json.loads(first), dict | list)
        except (ValueError, RecursionError):
            return False
    return named and any(_RECORD.match(line.strip()) for line in text.splitlines()[:50])


def _zip(file: BinaryIO, shown: str) -> Kind:
    with archive_damage(shown), zipfile.ZipFile(file) as archive:
        parts = {part.filename.replace("\\", "/").lower(): part for part in archive.infolist()}
        if "xl/workbook.xml" in parts or "xl/workbook.bin" in parts:
            return "workbook"
        for part, what in _PARTS:
            if part in parts:
                raise UnreadableFile(f"{shown} is {what}, not a table", next=_EXPORT)
        if "mimetype" in parts and not parts["mimetype"].flag_bits & 1:
            with archive.open(parts["mimetype"]) as stream:
                said = stream.read(200)
            if said.startswith(_ODS):
                return "workbook"
            if said.startswith(b"application/vnd."):
                raise UnreadableFile(f"{shown} is an OpenDocument file without sheets", next=_EXPORT)
    return "zip"


def _old_office(file: BinaryIO, shown: str) -> Kind:
    held = _root_streams(file)
    if held & {"Workbook", "Book"} and "EncryptedPackage" not in held:
        return "workbook"
    what = next((what for stream, what in _STREAMS if stream in held), "an old Office file without sheets")
    raise UnreadableFile(f"{shown} is {what}, not a table", next="Save the table as XLSX or CSV, without a password.")


def _root_streams(file: BinaryIO) -> set[str]:
    """Names of the streams at the root of a compound file (what lies deeper is embedded in the document)."""
    file.seek(0)
    header = file.read(512)
    if len(header) < 512 or header[30:32] not in (b"\x09\x00", b"\x0c\x00"):
        return set()
    size = 1 << header[30]

    def number(data: bytes, at: int) -> int:
        return int.from_bytes(data[at : at + 4], "little")

    def sector(n: int) -> bytes:
        file.seek((n + 1) * size)
        return file.read(size)

    entries: list[bytes] = []
    at = number(header, 48)
    for _ in range(256):  # sectors of the directory; a chain that bites its tail ends here too
        if at >= 0xFFFFFFFA:
            break
        block = sector(at)
        entries += [block[n : n + 128] for n in range(0, len(block), 128)]
        table, place = divmod(at, size // 4)
        if table >= 109:
            break
        at = number(sector(number(header, 76 + 4 * table)), 4 * place)
    names: set[str] = set()
    left, seen = [number(entries[0], 76)] if entries else [], {0}
    while left:
        n = left.pop()
        if n in seen or n >= len(entries) or len(entries[n]) < 128:
            continue
        seen.add(n)
        entry = entries[n]
        names.add(entry[: max(0, int.from_bytes(entry[64:66], "little") - 2)][:64].decode("utf-16-le", "replace"))
        left += [number(entry, 68), number(entry, 72)]
    return names
