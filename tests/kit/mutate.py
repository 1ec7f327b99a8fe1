"""Damaged files for fuzzing: seeds that look like exports, and what can happen to their bytes. All from one seed number."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_WORDS = [
    "fine",
    "slow, very slow",
    'the 55" screen',
    "it's ok",
    "naïve café",
    "5 €",
    "",
    "NA",
    "two\nlines",
    "=1+1",
    "# no",
    "“so”",
]


def _seed(r: Random) -> bytes:
    """A small well-formed export."""
    delimiter, quote = r.choice(",;\t|"), r.choice('"""\'')
    newline = r.choice(["\n", "\n", "\r\n", "\r"])
    encoding = r.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"])
    width = r.randint(1, 6)

    def field(text: str) -> str:
        if delimiter in text or quote in text or "\n" in text or r.random() < 0.05:
            return quote + text.replace(quote, quote * 2) + quote
        return text

    def value(n: int, column: int) -> str:
        kinds = (
            str(n),
            f"2024-0{1 + n % 9}-1{n % 9}",
            f"{n / 7:.2f}",
            r.choice(_WORDS),
            r.choice(["North", "South"]),
            f"0{n:04}",
        )
        return kinds[column % len(kinds)]

    rows = [[f"c{n}" for n in range(width)]] if r.random() < 0.9 else []
    rows += [[value(n, c) for c in range(width)] for n in range(r.randint(0, 60))]
    lines = [delimiter.join(map(field, row)) for row in rows]
    if r.random() < 0.15:
        lines = ["Report of May", "", *lines]
    if r.random() < 0.15:
        lines += ["", "Source: x"]
    text = newline.join(lines) + (newline if r.random() < 0.8 else "")
    return text.encode(encoding, "replace")


def _cut(data: bytearray, r: Random) -> None:
    del data[r.randrange(len(data) + 1) :]


def _flip(data: bytearray, r: Random) -> None:
    for _ in range(r.randint(1, 6)):
        if data:
            data[r.randrange(len(data))] = r.choice(
                [0, 0x22, 0x27, 0x2C, 0x3B, 0x09, 0x0A, 0x0D, 0x5C, 0x80, 0xE9, 0xFF, r.randrange(256)]
            )


def _insert(data: bytearray, r: Random) -> None:
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(data) + 1)
        data[at:at] = r.choice(
            [b'"', b"'", b",", b";", b"\n", b"\r\n", b"\x00", b'""', b'"\n"', b"\xef\xbb\xbf", b"\\", b",,,,,", b"#"]
        )


def _drop(data: bytearray, r: Random) -> None:
    if data:
        at = r.randrange(len(data))
        del data[at : at + r.randint(1, 30)]


def _again(data: bytearray, r: Random) -> None:
    if data:
        at, size = r.randrange(len(data)), r.randint(1, 400)
        data[at:at] = data[at : at + size]


def _swap(data: bytearray, r: Random) -> None:
    lines = bytes(data).split(b"\n")
    r.shuffle(lines)
    data[:] = b"\n".join(lines)


_ACTS: tuple[Callable[[bytearray, Random], None], ...] = (_cut, _flip, _flip, _insert, _insert, _drop, _again, _swap)


def damaged(number: int) -> bytes:
    """The file of this number; always the same."""
    r = Random(number)
    data = bytearray(_seed(r))
    for _ in range(r.randint(0, 3)):
        r.choice(_ACTS)(data, r)
    return bytes(data)
