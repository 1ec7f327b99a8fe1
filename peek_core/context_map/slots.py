"""Numbers and dates of an item's text as slots over the cells of its evidence, so that a text can't say what no query shows.

Owns: finding the slots, filling them from other rows, which numbers nothing shows, and which ones follow the data.
Refuses to know SQL and maps.

A template is the text with `⟦row.column:form⟧` where a number stood. A form says how the number was written:
decimals, `,` for thousands, `%` where the cell is a share and the text a percentage; `d10` is a date's first ten
characters. A number that the query or the question names (a threshold, a year) is no slot: it is part of
the claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[Sequence[Any]]

_TOKEN = re.compile(
    r"(?<![\w.])(?<![A-Za-z]-)(?:\d{4}-\d\d(?:-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?)?"
    r"|(?:(?<!\S)[-−])?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?![\w⟧]|\.\d)"
)
_DATE = re.compile(r"\d{4}-\d\d")
_SLOT = re.compile(r"⟦(\d+)\.(\d+):([^⟧]*)⟧")
_FORM = re.compile(r"(\d+)(,?)(%?)")
_PERCENT = re.compile(r"\s?(?:%|percent|per cent)")
_ROUNDED = 10
"""A whole number in a text may be a rounded one of the evidence from here on; 4.6 is not 5."""


@dataclass(frozen=True)
class Slotted:
    """A text whose numbers were sought in its evidence."""

    template: str
    """Empty where no number is a slot."""
    cells: frozenset[tuple[int, int]]
    """(row, column) of the cells that slots show."""
    loose: tuple[str, ...]
    """Numbers as written that neither the evidence nor `known` shows."""


def slotted(text: str, rows: Rows, known: str = "") -> Slotted:
    """`known`: the query and the question, whose numbers may stand in the text.

    >>> slotted("8,000 rows, 12.5 % of them late, late is above 48", [[8000, 0.125]], "late > 48").template
    '⟦0.0:0,⟧ rows, ⟦0.1:1%⟧ % of them late, late is above 48'
    """
    named = {_plain(match[0]) for match in _TOKEN.finditer(known)}
    # A number that a cell holds as text (a version, a code) is shown, but is no quantity to write anew.
    texts = (cell for row in rows for cell in row if isinstance(cell, str))
    named |= {cell for cell in texts if _TOKEN.fullmatch(cell) and not _DATE.match(cell)}
    cells: list[tuple[int, int]] = []
    loose: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        token = match[0]
        if _plain(token) in named:
            return token
        percent = _PERCENT.match(text, match.end()) is not None
        found = [
            (r, c, form)
            for r, row in enumerate(rows)
            for c, cell in enumerate(row)
            if (form := _form(token, cell, percent))
        ]
        if not found:
            loose.append(token)
            return token
        # The same number twice in a text rather means two cells than one cell twice.
        row, column, form = next((one for one in found if one[:2] not in cells), found[0])
        cells.append((row, column))
        return f"⟦{row}.{column}:{form}⟧"

    template = _TOKEN.sub(replaced, text)
    return Slotted(template if cells else "", frozenset(cells), tuple(loose))


def fill(template: str, rows: Rows) -> str | None:
    """The text with the cells of other rows; None where a cell is missing or no number."""
    missing = False

    def written(match: re.Match[str]) -> str:
        nonlocal missing
        row, column, form = int(match[1]), int(match[2]), match[3]
        cell = rows[row][column] if row < len(rows) and column < len(rows[row]) else None
        text = _write(cell, form)
        missing = missing or text is None
        return text or ""

    filled = _SLOT.sub(written, template)
    return None if missing else filled


def cells_of(template: str) -> frozenset[tuple[int, int]]:
    """(row, column) of the cells a template shows."""
    return frozenset((int(m[1]), int(m[2])) for m in _SLOT.finditer(template))


def pieces(text: str, template: str) -> tuple[tuple[str, bool], ...]:
    """A text as its pieces, each with whether it follows the data; one piece where it was not made from the template.

    >>> pieces("8,000 rows since May", "⟦0.0:0,⟧ rows since May")
    (('8,000', True), (' rows since May', False))
    """
    pattern, at = "", 0
    for slot in _SLOT.finditer(template):
        pattern += f"({re.escape(template[at : slot.start()])})({_shape(slot[3])})"
        at = slot.end()
    found = re.fullmatch(f"{pattern}({re.escape(template[at:])})", text)
    if found is None:
        return ((text, False),)
    return tuple((piece, n % 2 == 1) for n, piece in enumerate(found.groups()) if piece)


def following(template: str) -> str:
    """How much of a text follows the data, in words; empty for nothing.

    >>> following("⟦0.0:0,⟧ rows, ⟦0.1:1%⟧ % late, since ⟦0.2:d10⟧")
    '2 numbers and 1 date follow the data'
    """
    forms = [slot[3] for slot in _SLOT.finditer(template)]
    dates = sum(form.startswith("d") for form in forms)
    counts = [(len(forms) - dates, "number"), (dates, "date")]
    said = " and ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)
    return f"{said} follow{'s' * (len(forms) == 1)} the data" if said else ""


def _shape(form: str) -> str:
    """What stands in a slot of this form, as a pattern."""
    if form.startswith("d"):
        return f".{{{form[1:]}}}"
    decimals = form.rstrip("%,")
    return r"[-−]?[\d,]+" + (rf"\.\d{{{decimals}}}" if decimals != "0" else "")


def _plain(token: str) -> str:
    return token if _DATE.match(token) else token.replace(",", "").replace("−", "-")


def _form(token: str, cell: Any, percent: bool) -> str | None:
    """How `token` writes the cell, or None where it does not."""
    if _DATE.match(token):
        stands = _DATE.match(str(cell)) and str(cell).startswith(token.replace("T", " "))
        return f"d{len(token)}" if stands else None
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    digits = _plain(token)
    decimals, said = len(digits.partition(".")[2]), float(digits)
    for sign in ("%", "") if percent else ("",):
        value = cell * 100 if sign else cell
        near = 0 if not decimals and isinstance(cell, float) and abs(value) < _ROUNDED and not sign else 0.5
        if abs(value - said) <= near * 10**-decimals * (1 + 1e-9):
            return f"{decimals}{',' if ',' in token else ''}{sign}"
    return None


def _write(cell: Any, form: str) -> str | None:
    if form.startswith("d"):
        return str(cell)[: int(form[1:])] if _DATE.match(str(cell)) else None
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    found = _FORM.match(form)
    if found is None:
        return None
    decimals, thousands, percent = int(found[1]), found[2], found[3]
    value = cell * 100 if percent else cell
    return f"{value:{thousands}.{decimals}f}"
