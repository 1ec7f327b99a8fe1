"""Numbers that mean a time: seconds or milliseconds since 1970, days as Excel counts them, and dates as 20240131.

Owns: when a number is taken for one: its column says time, and all its numbers lie in the range of one such count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import masks, types
from peek_core.corpus.typed.local_dates import says_date
from peek_core.corpus.typed.masks import Seen

_SECONDS = (946_684_800, 4_102_444_800)  # 2000 .. 2100
_DAYS = (30_000, 60_000)  # 1982 .. 2064
_YEARS = (1990, 2100)
_EIGHT_DIGITS = "[0-9]{8}"
_MANY = 20
"""So many different numbers are no dates by chance, whatever their column is called."""
# What may be chosen: the years 1 to 9999, as seconds since 1970, and all days that Excel knows.
_CALENDAR = (-62_135_596_800, 253_402_300_800)
_EXCEL_DAYS = (1, 2_958_466)
_RANGES = {
    masks.IN_SECONDS: _SECONDS,
    masks.IN_MILLISECONDS: (_SECONDS[0] * 1000, _SECONDS[1] * 1000),
    masks.IN_DAYS: _DAYS,
}
_WAYS = {masks.IN_SECONDS: types.SECONDS, masks.IN_MILLISECONDS: types.MILLISECONDS, masks.IN_DAYS: types.EXCEL}


def may_count(label: str, values: Sequence[str]) -> bool:
    """Whether a column is worth a closer look: its name says time, and all values of a sample lie in one range."""
    if len({*values}) >= _MANY and all_compact(values):
        return True
    if not says_date(label):
        return False
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return False
    if any(numbers and low <= min(numbers) and max(numbers) < high for low, high in _RANGES.values()):
        return True
    return bool(values) and all_compact(values)


def all_compact(values: Iterable[str]) -> bool:
    """Whether all values are dates in eight digits."""
    return all(re.fullmatch(_EIGHT_DIGITS, value) and _is_day(value) for value in values)


def _is_day(digits: str) -> bool:
    try:
        return _YEARS[0] <= date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).year <= _YEARS[1]
    except ValueError:
        return False


def bits_sql(s: str) -> str:
    """Which ranges a number lies in, as bits over an expression made by `masks.normal_sql`."""
    whens = " ".join(
        f"WHEN TRY_CAST({s} AS DOUBLE) >= {low} AND TRY_CAST({s} AS DOUBLE) < {high} THEN {bit}"
        for bit, (low, high) in _RANGES.items()
    )
    counts = f"CASE WHEN regexp_full_match({s}, '[0-9]{{5,13}}([.][0-9]+)?') THEN CASE {whens} ELSE 0 END ELSE 0 END"
    day = f"year({_compact(s)}) BETWEEN {_YEARS[0]} AND {_YEARS[1]}"
    return f"{counts} | CASE WHEN {day} THEN {masks.COMPACT} ELSE 0 END"


def _compact(s: str) -> str:
    return f"CASE WHEN regexp_full_match({s}, '{_EIGHT_DIGITS}') THEN try_strptime({s}, '%Y%m%d') END"


def sql(column: str, way: str) -> tuple[str, str]:
    """Type and expression of the time that the text column counts."""
    if way == types.COMPACT:
        return types.DATE, f"CAST({_compact(f'trim({quoted(column)})')} AS DATE)"
    number = f"TRY_CAST(trim({quoted(column)}) AS DOUBLE)"
    if way == types.EXCEL:
        low, high = _EXCEL_DAYS
        made = f"make_timestamp(CAST(round(({number} - 25569) * 86400) AS BIGINT) * 1000000)"
    else:
        per_second = 1_000_000 if way == types.SECONDS else 1_000
        low, high = (second * 1_000_000 // per_second for second in _CALENDAR)
        made = f"make_timestamp(CAST({number} * {per_second} AS BIGINT))"
    return types.TIMESTAMP, f"CASE WHEN {number} >= {low} AND {number} < {high} THEN {made} END"


def decide(seen: Seen, plain: types.Reading) -> types.Reading | None:
    """The reading of a column of numbers that mean a time, from its plain reading; None where they do not.

    Dates in eight digits are only offered where the name of the column does not speak for them.
    """
    if not seen.others:
        return None
    compact = all(mask.bits & masks.COMPACT for mask in seen.others)
    if not says_date(seen.label):
        return replace(plain, ways=(types.COMPACT, *plain.ways)) if compact and len({*seen.sample}) >= _MANY else None
    if compact:
        told = f"{seen.label}: numbers such as {seen.sample[0]} read as dates, written as year, month and day."
        return types.Reading(
            *sql(seen.name, types.COMPACT), (*plain.assumptions, told), (), types.COMPACT, (plain.way, *plain.ways)
        )
    bit = next((bit for bit in _WAYS if all(mask.bits & bit for mask in seen.others)), None)
    whole = all("." not in mask.text for mask in seen.others)
    if bit is None or (bit != masks.IN_DAYS and not whole):
        return None
    way = _WAYS[bit]
    kind, made = sql(seen.name, way)
    if way == types.EXCEL and whole:
        kind, made = types.DATE, f"CAST({made} AS DATE)"
    counted = {
        types.SECONDS: "seconds since 1970, so its times are in UTC",
        types.MILLISECONDS: "milliseconds since 1970, so its times are in UTC",
        types.EXCEL: "days as Excel counts them",
    }[way]
    told = f"{seen.label}: numbers such as {seen.sample[0]} read as {counted}."
    return types.Reading(kind, made, (*plain.assumptions, told), (), way, (plain.way, *plain.ways))
