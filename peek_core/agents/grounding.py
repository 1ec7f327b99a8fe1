"""Checking an answer's numbers against what was really computed.

Owns: which numbers of a text equal a cell, and how equal. Refuses to know: where cells come from, how marks look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|(?<![\w.,-])[-−]?\d+(?:\.\d+)?(?![\w])")
_PERCENT = re.compile(r"^\s*(?:%|percent\b|per cent\b)")
_ISO = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")


@dataclass(frozen=True)
class Figure:
    """A number of the answer. `start:end` in the text; `result` is the 1-based shown result it equals, 0 when the
    person wrote it in the question, None when it stands in no result."""

    start: int
    end: int
    text: str
    result: int | None


def figures(text: str, results: Sequence[Sequence[Sequence[Any]]], question: str = "") -> tuple[Figure, ...]:
    """Every number of `text`, matched against the cells of the results (first match wins).

    A number matches when the cell rounds to it at the number's own decimals; with a percent sign, also when the cell
    times 100 does. Dates and version-like text match as text.
    """
    cells = [[c for row in table for c in row] for table in results]
    counts = [len(table) for table in results]
    asked = {m[0] for m in _NUMBER.finditer(question)} | set(_ISO.findall(question))
    spans = [(m.start(), m.end()) for m in _ISO.finditer(text)]
    spans += [(m.start(), m.end()) for m in _NUMBER.finditer(text) if not any(a <= m.start() < b for a, b in spans)]
    found = []
    for start, end in sorted(spans):
        token = text[start:end]
        percent = bool(_PERCENT.match(text[end : end + 10]))
        where = next((i + 1 for i, table in enumerate(cells) if _in(token, percent, table)), None)
        if where is None and token in asked:
            where = 0
        if where is None and not percent:
            where = next((i + 1 for i, n in enumerate(counts) if token.replace(",", "") == str(n)), None)
        found.append(Figure(start, end, token, where))
    return tuple(found)


def _in(token: str, percent: bool, cells: Iterable[Any]) -> bool:
    if _ISO.fullmatch(token):
        return any(isinstance(c, (str, date, datetime)) and token in str(c) for c in cells)
    number = float(token.replace(",", "").replace("−", "-"))
    decimals = len(token.partition(".")[2])
    return any(_equals(number, decimals, percent, token, c) for c in cells)


def _equals(number: float, decimals: int, percent: bool, token: str, cell: Any) -> bool:
    if isinstance(cell, bool) or cell is None:
        return False
    if isinstance(cell, (int, float)):
        near = 0.5 * 10.0**-decimals * (1 + 1e-9)
        return abs(abs(cell) - abs(number)) <= (near if decimals or isinstance(cell, float) else 0) or (
            percent and abs(cell * 100 - number) <= near
        )
    return str(cell) == token or (not isinstance(cell, str) and token in re.findall(r"\d+", str(cell)))
