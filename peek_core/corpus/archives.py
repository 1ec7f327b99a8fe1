"""From a .gz or .zip to the files in it, unpacked into the work folder under names of our own.

Owns: which members are read, and the limits that are counted while unpacking, because what an archive states about
itself may be a lie. Refuses to know how the members are read.
"""

from __future__ import annotations

import codecs
import gzip
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from peek_core.corpus import kinds, names
from peek_core.corpus.kinds import Kind
from peek_core.errors import UnreadableFile

MAX_UNPACKED = 4 << 30
"""Bytes that all members may have together."""
SUSPECT = 1 << 30
"""Above so many bytes, more than `MAX_RATIO` unpacked bytes per packed one are refused."""
MAX_RATIO = 200
MAX_MEMBERS = 100
"""Files of a zip that can become tables of one upload."""

_BLOCK = 1 << 20
_SUFFIXES = frozenset(
    (
        ".csv",
        ".tsv",
        ".tab",
        ".txt",
        ".json",
        ".jsonl",
        ".ndjson",
        ".parquet",
        ".xlsx",
        ".xlsm",
        ".xlsb",
        ".xls",
        ".ods",
    )
)
# What stands beside data in an archive and is text too, so that its content can't tell.
_PAPERS = ("readme", "license", "licence", "copying", "notice", "changelog", "changes", "authors", "about")
_PAPER_SUFFIXES = ("", ".txt", ".md", ".rst")


@dataclass(frozen=True)
class Member:
    """One unpacked file; `label` is its name in the archive without folders, or with them where that is needed."""

    path: Path
    label: str
    kind: Kind


@dataclass(frozen=True)
class Unpacked:
    """What of an archive can be read, and the names of what can't."""

    members: tuple[Member, ...]
    left_out: tuple[str, ...] = ()


def unpack(source: Path, work: Path, kind: Kind, label: str) -> Unpacked:
    """Unpacks the archive `source`, which a person calls `label`, into the folder `work`.

    Raises `UnreadableFile` for archives that are damaged, encrypted, too large, or without a readable file, and for
    archives within archives.
    """
    with kinds.archive_damage(label):
        if kind == "gzip":
            return Unpacked((_unzipped(source, work, label),))
        with zipfile.ZipFile(source) as archive:
            return _members(archive, source, work, label)


class _Budget:
    """Bytes that may still be unpacked."""

    def __init__(self, packed: int, label: str) -> None:
        self._packed, self._label, self._used = max(1, packed), label, 0

    def copy(self, packed: IO[bytes] | gzip.GzipFile, target: Path) -> None:
        with target.open("wb") as out:
            while block := packed.read(_BLOCK):
                self._used += len(block)
                if self._used > MAX_UNPACKED:
                    raise UnreadableFile(
                        f"{self._label} unpacks to more than {MAX_UNPACKED >> 20:,} MB", next="Load it in parts."
                    )
                if self._used > SUSPECT and self._used > MAX_RATIO * self._packed:
                    raise UnreadableFile(
                        f"{self._label} unpacks to more than {MAX_RATIO} times its size, as no ordinary file does",
                        next="If it is meant so, unpack it and load what it holds.",
                    )
                out.write(block)


def _unzipped(source: Path, work: Path, label: str) -> Member:
    inner = label[: -len(".gz")] if label.lower().endswith(".gz") else label
    target = work / f"member{_suffix(inner)}"
    with gzip.open(source) as packed:
        _Budget(source.stat().st_size, label).copy(packed, target)
    return Member(target, inner, _kind(target, inner, label))


def _kind(path: Path, inner: str, label: str) -> Kind:
    found = kinds.kind_of(path, inner)
    if found == "text" and _is_binary(path):
        raise UnreadableFile(f"{inner} is not text", next="Load a CSV, JSON, Parquet or Excel file.")
    if found in ("zip", "gzip"):
        raise UnreadableFile(
            f"{inner} in {label} is an archive again", next="Unpack it, and load what it holds, or the inner archive."
        )
    return found


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return b"\x00" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in _SUFFIXES else ""


def _members(archive: zipfile.ZipFile, source: Path, work: Path, label: str) -> Unpacked:
    parts = [(part, _name(part)) for part in archive.infolist() if not part.is_dir()]
    parts = [(part, name) for part, name in parts if not _is_clutter(name)]
    if not parts:
        raise UnreadableFile(f"{label} is an archive without a file in it", next="Save or download it again.")
    if any(part.flag_bits & 1 for part, _ in parts):
        raise UnreadableFile(f"{label} is encrypted", next="Unpack it, and load what it holds.")
    data = [(part, name) for part, name in parts if not _is_paper(name)]
    papers = [name for _, name in parts if _is_paper(name)] if data else []
    parts = data or parts
    if len(parts) > MAX_MEMBERS:
        raise UnreadableFile(
            f"{label} holds {len(parts):,} files; at most {MAX_MEMBERS} can be read", next="Load a part of them."
        )
    budget = _Budget(source.stat().st_size, label)
    read: list[Member] = []
    refusals: dict[str, UnreadableFile] = {}
    base = [PurePosixPath(name).name for _, name in parts]
    for n, (part, name) in enumerate(parts):
        target = work / f"member-{n}{_suffix(name)}"
        with archive.open(part) as packed:
            budget.copy(packed, target)
        inner = base[n] if base.count(base[n]) == 1 else name
        try:
            read.append(Member(target, inner, _kind(target, inner, label)))
        except UnreadableFile as refused:
            refusals[name] = refused
            target.unlink()
    if not read:
        if len(refusals) == 1:
            raise next(iter(refusals.values()))
        raise UnreadableFile(
            f"{label} holds no file that can be read: {listed(list(refusals))}",
            next="Load a CSV, JSON, Parquet or Excel file.",
        )
    return Unpacked(tuple(read), (*papers, *refusals))


def _name(part: zipfile.ZipInfo) -> str:
    """The member's name as its maker typed it: many write UTF-8 without saying so, which reads as code page 437."""
    name = part.filename
    if not part.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return names.label(name.replace("\\", "/"))[-200:]


def _is_clutter(name: str) -> bool:
    """What file managers leave in archives."""
    path = PurePosixPath(name)
    return (
        "__MACOSX" in path.parts or path.name.startswith("._") or path.name in (".DS_Store", "Thumbs.db", "desktop.ini")
    )


def _is_paper(name: str) -> bool:
    path = PurePosixPath(name.lower())
    return path.suffix in _PAPER_SUFFIXES and path.stem.startswith(_PAPERS)


def listed(all_names: list[str]) -> str:
    """The first few of many names."""
    more = f" and {len(all_names) - 8:,} more" if len(all_names) > 8 else ""
    return ", ".join(all_names[:8]) + more
