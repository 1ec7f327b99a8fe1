"""What a workbook's archive must not do before anything reads it whole.

Owns: limits on what it unpacks to and on the cells a sheet may span. Refuses to know what cells hold.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from peek_core.corpus.kinds import archive_damage
from peek_core.errors import UnreadableFile

MAX_UNPACKED = 1 << 30
"""Bytes that all parts of a workbook may have together when unpacked."""

MAX_AREA = 1 << 26
"""Cells that one sheet may span, filled or not: the reader of cells keeps room for all of them."""

MAX_WIDTH, MAX_HEIGHT = 16_384, 1_048_576
"""Columns and rows that any spreadsheet has."""


def check_archive(source: Path, label: str, limit: int = MAX_UNPACKED) -> None:
    """Refuses a zip that is encrypted or damaged, or unpacks to more than `limit` bytes.

    The sizes that an archive states may be lies, so its parts are really unpacked and counted, without being kept.
    """
    with archive_damage(label), zipfile.ZipFile(source) as archive:
        parts = archive.infolist()
        if any(part.flag_bits & 1 for part in parts):
            raise UnreadableFile(f"{label} is encrypted", next="Save it without a password.")
        stated = sum(part.file_size for part in parts)
        left = limit
        if stated <= limit:
            with source.open("rb") as raw:
                for part in parts:
                    left -= _unpacked(raw, part, left)
        if stated > limit or left < 0:
            raise UnreadableFile(
                f"{label} unpacks to more than {limit >> 20:,} MB", next="Save the sheet as CSV and load that."
            )


def _unpacked(file: BinaryIO, part: zipfile.ZipInfo, left: int) -> int:
    """Bytes that one part really unpacks to; counting stops above `left`."""
    file.seek(part.header_offset)
    header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("no local header")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    if part.compress_type == zipfile.ZIP_STORED:
        return part.compress_size
    if part.compress_type != zipfile.ZIP_DEFLATED:
        raise NotImplementedError(f"compression {part.compress_type}")
    unpacker = zlib.decompressobj(-15)
    packed, size = part.compress_size, 0
    data = b""
    while size <= left and not unpacker.eof:
        if not data:
            data = file.read(min(packed, 1 << 16))
            packed -= len(data)
            if not data:
                break
        size += len(unpacker.decompress(data, 1 << 20))
        data = unpacker.unconsumed_tail
    return size


def check_area(width: int, height: int) -> None:
    """Refuses a sheet whose cells lie too far apart."""
    if width * height > MAX_AREA or width > MAX_WIDTH or height > MAX_HEIGHT:
        raise UnreadableFile(
            f"A sheet has cells as far as row {height:,} and column {width:,}",
            next="Usually single cells far from the table are the reason. Delete them, or save the table as CSV.",
        )
