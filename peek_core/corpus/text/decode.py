"""From bytes to UTF-8 text, over the whole file and strictly.

Owns: the encoding of a text file, NUL bytes and line ends; the transcoded copy where one is needed. Refuses to know:
what kind of text it is, fields, quotes and columns.

Nothing is ever decoded with replacement: a file is read as one encoding from the first byte to the last, or refused
with the line of the byte that does not fit.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from charset_normalizer import from_bytes

from peek_core.corpus.refusals import spoken
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Doubt

BLOCK = 1 << 20
_SNIFF = 4_096
_SAMPLE = 1 << 18
_STEP = 1 << 24
# A pass over bytes that keeps nothing is twice as fast when its blocks fit the processor's cache.
SMALL = 1 << 16

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(rb"\xc2[\x80-\x9f]")
_ONCE_SIGNS = re.compile(rb"[A-Za-z0-9 ]\xc2[\x91-\x97]|\xc2[\x91-\x97](?=[A-Za-z0-9 ])")
_LEAST_SIGNS = 4
_FROM_CONTROLS = {n: bytes([n]).decode("cp1252") for n in range(0x91, 0x98)}
_BROKEN_SHARE = 20
"""So many whole characters beyond ASCII must stand against one broken one for a file to be UTF-8 all the same."""
_MENDED = "utf-8 with broken characters"
_WORDS = {"utf-8-sig": "UTF-8 with byte order mark", "utf-8": "UTF-8", "cp1252": "Windows-1252"}


@dataclass(frozen=True)
class Text:
    """A file as UTF-8. `path` is the original where it already was UTF-8, otherwise a copy in the work folder.

    `newline` is the line end between records: LF, CRLF or CR. `size` (bytes) and `sha256` are of the original.
    """

    path: Path
    encoding: str
    newline: str
    size: int
    sha256: str
    repairs: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def encoding_words(encoding: str) -> str:
    """The encoding as a person knows it."""
    return _WORDS.get(encoding, encoding.upper().replace("_", "-"))


def blocks(path: Path, size: int = BLOCK, *, start: int = 0) -> Iterator[bytes]:
    """The file from byte `start` in blocks of `size` bytes (1 MB)."""
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while block := file.read(size):
            yield block


@dataclass
class _Survey:
    """What one pass over the raw bytes found. Line ends are only counted as far as to tell which kinds there are."""

    sha256: str = ""
    size: int = 0
    nuls: int = 0
    bad_at: int | None = None
    """Offset of the first byte that is not UTF-8."""
    bad_byte: int = 0
    controls: int = 0
    """Control characters U+0080 to U+009F."""
    once_signs: int = 0
    """Those of them that were once quotes and dashes of Windows-1252: U+0091 to U+0097, beside a letter or a blank."""
    crlf: int = 0
    lf: int = 0
    cr: int = 0


def _survey(source: Path, progress: Callable[[float], None]) -> _Survey:
    found = _Survey()
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    total = max(1, source.stat().st_size)
    last = b""
    progress(0.0)
    for block in blocks(source, SMALL):
        digest.update(block)
        if found.bad_at is None:
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                found.bad_at = found.size - pending + error.start
                found.bad_byte = error.object[error.start]
        if b"\xc2" in block or last == b"\xc2":
            here = len(_CONTROLS.findall(block)) + (last == b"\xc2" and b"\x80" <= block[:1] <= b"\x9f")
            found.controls += here
            found.once_signs += len(_ONCE_SIGNS.findall(block)) if here else 0
        if b"\x00" in block:
            found.nuls += block.count(b"\x00")
        # Most files have no CR at all, so its counts are taken only where there is one.
        if b"\r" in block or last == b"\r":
            pairs = block.count(b"\r\n")
            returns = block.count(b"\r") - pairs
            feeds = block.count(b"\n") - pairs
            if last == b"\r" and block.startswith(b"\n"):  # CRLF cut by the block border
                returns, feeds, pairs = returns - 1, feeds - 1, pairs + 1
            found.crlf, found.lf, found.cr = found.crlf + pairs, found.lf + feeds, found.cr + returns
        elif not found.lf:
            found.lf += block.count(b"\n")
        last = block[-1:]
        found.size += len(block)
        if found.size // _STEP != (found.size - len(block)) // _STEP:
            progress(min(1.0, found.size / total))
    if found.bad_at is None:
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            found.bad_at, found.bad_byte = found.size - pending, error.object[error.start]
    found.sha256 = digest.hexdigest()
    return found


def _line_of(source: Path, offset: int | None) -> str:
    """`line 12` for a byte offset."""
    left, line = offset or 0, 1
    for block in blocks(source):
        line += block.count(b"\n", 0, min(left, len(block)))
        left -= len(block)
        if left <= 0:
            break
    return f"line {line:,}"


def _sample_for_guess(source: Path) -> bytes:
    """Lines with bytes outside ASCII, at most 256 kB of them: all that tells encodings apart."""
    kept: list[bytes] = []
    size = 0
    for block in blocks(source):
        for line in block.splitlines():
            if not line.isascii():
                kept.append(line[:2_000])
                size += len(kept[-1])
        if size > _SAMPLE:
            break
    return b"\n".join(kept)[:_SAMPLE]


def _decodes(source: Path, encoding: str) -> bool:
    try:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        for block in blocks(source):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except (UnicodeError, LookupError):
        return False
    return True


def _guess_utf16(head: bytes) -> str | None:
    """UTF-16 without a byte order mark: text that is mostly Latin has a NUL in every second byte."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = max(1, len(head) // 2)
    if odd > 0.4 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.1 * half:
        return "utf-16-be"
    return None


def _guess_single_byte(source: Path, survey: _Survey) -> tuple[str, tuple[Doubt, ...]]:
    sample = _sample_for_guess(source)
    escaped = sample.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= c <= "\udcff" for c in escaped)
    whole = sum(c > "\x7f" for c in escaped) - broken
    if whole >= broken * _BROKEN_SHARE:
        return _MENDED, ()
    if whole >= broken:
        raise UnreadableFile(
            f"The file is UTF-8 apart from single bytes such as 0x{survey.bad_byte:02X}",
            where=_line_of(source, survey.bad_at),
            next="Two encodings were mixed. Correct the line, or save the whole file again as UTF-8.",
        )
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", sample)]
    long_runs = sum(length >= 3 for length in runs) / max(1, len(runs))
    # Western text has its accents and dashes one or two at a time; other scripts have them in long runs.
    if long_runs <= 0.05 and _decodes(source, "cp1252"):
        said = f"It has only {sum(runs)} byte{'s' * (sum(runs) > 1)} beyond ASCII, read as Windows-1252"
        few = (Doubt("the whole file", said, "another encoding, if that sign looks wrong"),) if sum(runs) < 3 else ()
        return "cp1252", few
    for match in from_bytes(sample):
        if match.encoding not in ("ascii", "utf_8") and _decodes(source, match.encoding):
            name = encoding_words(match.encoding)
            return match.encoding, (
                Doubt(
                    "the whole file",
                    f"The bytes are not UTF-8; they read best as {name}",
                    "another encoding, if letters look wrong",
                ),
            )
    raise UnreadableFile(
        f"The encoding could not be told: byte 0x{survey.bad_byte:02X} fits none of those tried",
        where=_line_of(source, survey.bad_at),
        next="Save the file as UTF-8 and load it again.",
    )


def _newline(survey: _Survey, source: Path) -> str | None:
    """The line end between records, or None where they are really mixed."""
    kinds = [end for end, n in (("\r\n", survey.crlf), ("\n", survey.lf), ("\r", survey.cr)) if n > 0]
    if len(kinds) <= 1:
        return kinds[0] if kinds else "\n"
    # Spreadsheets end records with CRLF and lines inside a cell with LF: only what stands outside quotes counts.
    inside, found = False, set()
    carry = b""
    for block in blocks(source):
        block = carry + block
        carry = b"\r" if block.endswith(b"\r") else b""
        parts = (block[:-1] if carry else block).split(b'"')
        for n, part in enumerate(parts):
            if inside == bool(n % 2):
                rest = part.replace(b"\r\n", b"")
                found |= {end for end, hit in (("\r\n", len(rest) < len(part)), ("\n", b"\n" in rest)) if hit}
                found |= {"\r"} if b"\r" in rest else set()
        inside ^= len(parts) % 2 == 0
    return found.pop() if len(found) == 1 else None


def _transcode(
    source: Path, target: Path, encoding: str, *, uniform: bool, signs: bool = False
) -> tuple[int, set[str]]:
    """Writes `source` as UTF-8 without NULs; `uniform` makes all line ends LF,
    `signs` makes control characters the quotes and dashes they once were. Returns NULs dropped and line ends."""
    # Broken characters stay in sight as \\x80: nothing is lost, and nothing is guessed.
    decoder = (
        codecs.getincrementaldecoder("utf-8")(_MENDED)
        if encoding == _MENDED
        else codecs.getincrementaldecoder(encoding)("strict")
    )
    dropped, ends, held, line = 0, set(), "", 1
    size = source.stat().st_size
    done = 0
    with target.open("w", encoding="utf-8", newline="") as out:
        for block in (*blocks(source), b"") if size < BLOCK else _with_end(source):
            done += len(block)
            try:
                text = held + decoder.decode(block, final=not block)
            except UnicodeError as error:
                raise UnreadableFile(
                    f"A byte does not fit the encoding {encoding_words(encoding)}",
                    where=f"about line {line:,}",
                    next="Save the file as UTF-8 and load it again.",
                ) from error
            held = "\r" if text.endswith("\r") and block else ""
            text = text[:-1] if held else text
            dropped += text.count("\x00")
            text = text.replace("\x00", "")
            if signs:
                text = text.translate(_FROM_CONTROLS)
            if done <= BLOCK:
                text = text.removeprefix("\ufeff")
            rest = text.replace("\r\n", "")
            ends |= {end for end, hit in (("\r\n", len(rest) < len(text)), ("\n", "\n" in rest)) if hit}
            ends |= {"\r"} if "\r" in rest else set()
            line += text.count("\n")
            out.write(text.replace("\r\n", "\n").replace("\r", "\n") if uniform else text)
    return dropped, ends


def _visible(error: UnicodeError, seen: list[str]) -> tuple[str, int]:
    """What stands in the text for bytes that are no character."""
    assert isinstance(error, UnicodeDecodeError)
    shown = "".join(f"\\x{byte:02x}" for byte in error.object[error.start : error.end])
    seen.append(shown)
    return shown, error.end


def _with_end(source: Path) -> Iterator[bytes]:
    yield from blocks(source)
    yield b""


def read_text(source: Path, work: Path, progress: Callable[[float], None], encoding: str | None = None) -> Text:
    """Reads `source` to the end and gives it as UTF-8. `work` is an existing folder for the copy where one is needed.

    `encoding` is a person's choice. Raises `UnreadableFile` where no encoding, or not that one, fits the whole file, and
    `Refused` for trouble with disk or permission.
    `progress` gets fractions from 0 to 1.
    """
    with spoken("reading the file"):
        survey = _survey(source, progress)
        with source.open("rb") as file:
            head = file.read(_SNIFF)
        doubts: tuple[Doubt, ...] = ()
        if encoding is not None and not _decodes(source, encoding):
            raise UnreadableFile(
                f"Not every byte of the file fits the encoding {encoding_words(encoding)}",
                next="Choose another encoding.",
            )
        if encoding is None:
            encoding = next((name for bom, name in _BOMS if head.startswith(bom)), None)
        if encoding is None and survey.nuls and (guess := _guess_utf16(head)):
            encoding = guess
        if encoding in (None, "utf-8-sig"):
            if survey.nuls > max(16, survey.size // 1_000):
                raise UnreadableFile(
                    f"{source.name} is not text: {survey.nuls:,} of its bytes are zero",
                    next="Export the table as CSV or XLSX and load that.",
                )
            if survey.bad_at is None:
                encoding = encoding or "utf-8"
            elif encoding is not None:
                raise UnreadableFile(
                    f"The file says it is UTF-8, but byte 0x{survey.bad_byte:02X} is not",
                    where=_line_of(source, survey.bad_at),
                    next="Save the file again as UTF-8.",
                )
            else:
                encoding, doubts = _guess_single_byte(source, survey)
        assert encoding is not None
        repairs: list[str] = []
        # Quotes and dashes of Windows-1252 that were once taken for Latin-1 and written as UTF-8; never a lone control.
        misread = encoding.startswith("utf-8") and _LEAST_SIGNS <= survey.controls == survey.once_signs
        if encoding in ("utf-8", "utf-8-sig") and not survey.nuls and not misread:
            newline = _newline(survey, source)
            if newline is not None:
                return Text(source, encoding, newline, survey.size, survey.sha256, (), doubts)
            uniform = True
        else:
            uniform = False
        copy = work / "text.csv"
        mended: list[str] = []
        if encoding == _MENDED:
            codecs.register_error(_MENDED, lambda error: _visible(error, mended))
        dropped, ends = _transcode(source, copy, encoding, uniform=uniform, signs=misread)
        newline = "\n"
        if not uniform and ends:
            newline_or_none = _newline(_ends_survey(ends), copy)
            if newline_or_none is None:
                uniform = True
                plain = work / "text-lf.csv"
                _transcode(copy, plain, "utf-8", uniform=True)
                os.replace(plain, copy)
            else:
                newline = newline_or_none
        if uniform:
            repairs.append("Line ends were mixed (LF, CRLF, CR); all were read as one line end.")
        if mended:
            shown = f"{len(mended):,} broken character{'s were' if len(mended) > 1 else ' was'} kept as written, e.g. {mended[0]}"
            repairs.append(f"{shown}; the first one stands in {_line_of(source, survey.bad_at)}.")
            encoding = "utf-8"
        if misread:
            repairs.append(
                f"{survey.controls:,} control characters were read as the Windows-1252 signs they once were, such as ’ and –."
            )
        if dropped:
            repairs.append(f"{dropped:,} NUL {'byte was' if dropped == 1 else 'bytes were'} removed.")
        return Text(copy, encoding, newline, survey.size, survey.sha256, tuple(repairs), doubts)


def _ends_survey(ends: set[str]) -> _Survey:
    return _Survey(crlf=int("\r\n" in ends), lf=int("\n" in ends), cr=int("\r" in ends))
