"""What the values of a column look like: every digit as 9, all else as it stands.

Owns: masks, and what one scan counts of them. Refuses to know what a mask means. A column that machines wrote has few
masks, however many values it has, so what they mean can be decided in Python over all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from peek_core.corpus.names import literal, quoted
from peek_core.corpus.typed import types
from peek_core.values.dataset import Doubt

CUT = 60
"""Characters of a mask. Nothing that is read as a number or date is longer."""

# Spaces of all kinds, the minus sign and the typographic apostrophe are read as their plain counterparts.
_ODD, _USUAL = "\u00a0\u202f\u2009\u2212\u2019", "   -'"
_DIGITS = "0123456789"
_MASK = str.maketrans(_ODD + _DIGITS, _USUAL + "9" * 10)
# Spreadsheet errors are the only placeholders that may hold a digit.
_ERROR = re.compile(r"#[A-Z/]+9?[!?]?")

# Bits that one value proves: it can be read as a date in this order, …
DAY, MONTH, YEAR = 1, 2, 4
AGREE = 8
"""Day first and month first give the same date."""
OFFSET = 16
"""A time with its distance from UTC."""
ZERO_CODE = 32
"""A zero before another digit, such as 00501."""
ZERO_POINT = 64
"""A single zero before a separator, such as 0,125: what follows is a fraction."""
TRAILING = 128
"""A fraction with a zero at its end."""
LIKE_VERSION, PRECISE = 2048, 4096
"""A fraction such as 5.10, which as a version comes after 5.9; and one such as 5.05, as which no version is written."""
IN_SECONDS, IN_MILLISECONDS, IN_DAYS = 256, 512, 1024
"""Within 2000 to 2100 as seconds or milliseconds since 1970; within 1982 to 2064 as days of Excel."""

COMPACT = 8192
"""A date of 1990 to 2100 in eight digits: 20240131."""


@dataclass(frozen=True)
class Mask:
    """Values of one mask that prove the same: how many, the first and the last one."""

    text: str
    bits: int
    count: int
    low: str
    high: str


@dataclass(frozen=True)
class Seen:
    """All masks of a column, parted into words for missing, other words, and values that say something."""

    name: str
    label: str
    missing: tuple[Mask, ...]
    words: tuple[Mask, ...]
    others: tuple[Mask, ...]
    sample: tuple[str, ...]
    beside: Callable[[str], str]
    """The name of a new column for a suffix."""
    decimals: frozenset[str] = frozenset()
    """Decimal signs that columns of the same table surely have."""
    dots: bool = False
    """Whether in a column of the same table points seem to stand between thousands."""
    european: bool = False
    """Whether the file is written as where commas stand before decimals: its fields are cut by semicolons."""

    @property
    def where(self) -> str:
        """The column, as doubts name it."""
        return f"column {self.label}"


def of(value: str) -> str:
    """The mask of one value."""
    return value.translate(_MASK).strip(" ")[:CUT]


def normal_sql(value: str) -> str:
    """The SQL text expression with plain spaces, signs and apostrophes, as all shapes of SQL expect it."""
    # Most values have as many bytes as characters, and then nothing to replace.
    return (
        f"CASE WHEN strlen({value}) = length({value}) THEN trim({value}) "
        f"ELSE trim(translate({value}, {literal(_ODD)}, {literal(_USUAL)})) END"
    )


def of_sql(normal: str) -> str:
    """The mask as SQL, over an expression made by `normal_sql`."""
    return f"left(translate({normal}, '{_DIGITS}', '9999999999'), {CUT})"


def has_digit(mask: str) -> bool:
    """Whether values of this mask say something more than a word does."""
    return "9" in mask and not _ERROR.fullmatch(mask)


def look(
    name: str, label: str, masks: Iterable[Mask], sample: Iterable[str | None], beside: Callable[[str], str]
) -> Seen:
    """Parts the masks of a column."""
    missing: list[Mask] = []
    words: list[Mask] = []
    others: list[Mask] = []
    for mask in masks:
        absent = types.is_missing(mask.text) or types.stands_in(mask.text) or bool(_ERROR.fullmatch(mask.text))
        kind = missing if absent else others if has_digit(mask.text) else words
        kind.append(mask)
    said = tuple(value.strip() for value in sample if value is not None)
    return Seen(name, label, tuple(missing), tuple(words), tuple(others), said, beside)


def count(masks: Iterable[Mask]) -> int:
    """How many values they stand for."""
    return sum(mask.count for mask in masks)


def values(n: int) -> str:
    """The number in words: `1 value`, `2,500 values`."""
    return f"{n:,} value" if n == 1 else f"{n:,} values"


def some(masks: Sequence[Mask], one: str, many: str) -> str:
    """The values of some masks as the subject of a sentence: `1 value (“x”) is …`, `5 values such as “x” are …`."""
    n, example = count(masks), masks[0].low.strip()
    return f"1 value (“{example}”) {one}" if n == 1 else f"{n:,} values such as “{example}” {many}"


Told = str | Callable[[str], str]
"""A sentence, or one that names the typed column."""


def reading(
    seen: Seen,
    kind: str,
    sql: str,
    *,
    way: str,
    ways: Sequence[str],
    suffix: str,
    said: str = "",
    assumptions: Sequence[Told] = (),
    doubts: Sequence[Callable[[str], Doubt]] = (),
    beside: bool = False,
    lost: int = 0,
) -> types.Reading:
    """The typed reading of a column: in its place, or beside it where asked; text where other words stand in it.

    `doubts` are given the name of the typed column, `said` is what it holds.
    """
    ways = (*ways, types.TEXT)
    if seen.words and not beside:
        shown = [f"“{mask.low.strip()}”" for mask in sorted(seen.words, key=lambda mask: -mask.count)[:3]]
        are = "is none" if count(seen.words) == 1 else "are none"
        why = f"all but {values(count(seen.words))} ({', '.join(shown)}) are {types.say(kind)}; those {are}"
        return types.text(seen.name, f"{seen.label}: kept as text: {why}.", ways=(way, *ways[:-1]))
    name = seen.beside(suffix) if beside else seen.name
    told = [line if isinstance(line, str) else line(name) for line in assumptions]
    spelled = sorted({text for mask in seen.missing for text in (mask.low.strip(), mask.high.strip()) if text})
    if spelled:
        shown = [spelled[0], *spelled[-1:]] if len(spelled) > 1 else spelled
        told.append(types.missing_said(seen.label, count(m for m in seen.missing if m.text), shown, kind))
    found = [doubt(name) for doubt in doubts]
    if not beside:
        return types.Reading(kind, sql, tuple(told), tuple(found), way, ways)
    said = said or {types.DATE: "as date", types.TIMESTAMP: "as time"}.get(kind, "as number")
    extra = types.Beside(name, kind, sql, said)
    column = quoted(seen.name)
    lost += count(seen.words)
    return types.Reading(types.VARCHAR, column, tuple(told), tuple(found), way, ways, extra, lost)
