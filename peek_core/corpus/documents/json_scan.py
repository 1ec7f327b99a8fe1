"""Where records lie in JSON text: a record a line, or a document whose lists are walked an element at a time.

Owns: walking lists and objects without building them whole. Refuses to know what records mean.
Broken JSON raises `json.JSONDecodeError` with its place in the whole text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

MAX_RECORD = 1 << 25
"""Characters that one record may have."""

_SPACE = re.compile(r"[ \t\r\n]*")
_LOOK = 20
_PLAIN = json.JSONDecoder()


def is_lines(file: TextIO, *, named: bool = False) -> bool:
    """Whether the file holds a record a line, rather than one document, by its first lines.

    `named`: whether its name says so, which decides for a file of one line.
    """
    head = (line for line in iter(lambda: file.readline(MAX_RECORD), "") if line.strip())
    first = next(head, "")
    if len(first) == MAX_RECORD or first.strip() == "[":
        return False
    value = _parsed(first)
    more = [_parsed(line) for line, _ in zip(head, range(_LOOK), strict=False)]
    if value is None:  # a document that begins on this line, or a broken record
        return sum(isinstance(other, dict | list) for other in more) * 2 > len(more)
    whole = isinstance(value, list) and any(isinstance(record, dict) for record in value)
    return bool(more or named) and isinstance(value, dict | list) and not whole


def _parsed(line: str) -> Any:
    try:
        return _PLAIN.decode(line.strip())
    except (ValueError, RecursionError):
        return None


def skip(text: str, at: int) -> int:
    """The place of the next sign that is no white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def end(text: str, at: int) -> None:
    """Checks that only white space follows."""
    at = skip(text, at)
    if at < len(text):
        raise json.JSONDecodeError("Something follows the end", text, at)


class Elements:
    """The elements of the list at `start`, one at a time as begin, end and value; afterwards `end` is behind the list."""

    def __init__(self, text: str, start: int, decoder: json.JSONDecoder = _PLAIN) -> None:
        self._text, self._start, self._decoder = text, start, decoder
        self.end = start

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        text, at = self._text, skip(self._text, self._start + 1)
        while text[at : at + 1] != "]":
            if self.end > self._start:
                at = skip(text, _expect(text, at, ","))
            value, self.end = self._decoder.raw_decode(text, at)
            yield at, self.end, value
            at = skip(text, self.end)
        self.end = at + 1


def members(text: str, start: int) -> Iterator[tuple[str, int, bool, Any]]:
    """Key, place, whether it is a list of objects, and value (lists: empty) of everything in the object at `start`."""
    at = skip(text, _expect(text, start, "{"))
    behind = 0
    while text[at : at + 1] != "}":
        if behind:
            at = skip(text, _expect(text, at, ","))
        _expect(text, at, '"')
        key, behind = _PLAIN.raw_decode(text, at)
        at = skip(text, _expect(text, skip(text, behind), ":"))
        if text[at : at + 1] == "[":
            found = Elements(text, at)
            kinds = {type(value) for _, _, value in found}
            behind = found.end
            yield key, at, kinds == {dict}, []
        else:
            value, behind = _PLAIN.raw_decode(text, at)
            yield key, at, False, value
        at = skip(text, behind)
    end(text, at + 1)


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise json.JSONDecodeError(f"Expecting {sign}", text, at)
    return at + 1
