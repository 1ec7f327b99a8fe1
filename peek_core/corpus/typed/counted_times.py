"""Whole numbers that count time: seconds or milliseconds since 1970, and days as Excel counts them.

Owns: when a number is taken for such a count: its column says time, and all its numbers lie in the range of one.
"""

from __future__ import annotations

from collections.abc import Iterable

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import masks, types
from peek_core.corpus.typed.local_dates import says_date
from peek_core.corpus.typed.masks import Seen

_SECONDS = (946_684_800, 4_102_444_800)  # 2000 .. 2100
_DAYS = (30_000, 60_000)  # 1982 .. 2064
_RANGES = {
    masks.IN_SECONDS: _SECONDS,
    masks.IN_MILLISECONDS: (_SECONDS[0] * 1000, _SECONDS[1] * 1000),
    masks.IN_DAYS: _DAYS,
}
_WAYS = {masks.IN_SECONDS: types.SECONDS, masks.IN_MILLISECONDS: types.MILLISECONDS, masks.IN_DAYS: types.EXCEL}


def may_count(label: str, values: Iterable[str]) -> bool:
    """Whether a column is worth a closer look: its name says time, and all values of a sample lie in one range."""
    if not says_date(label):
        return False
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return False
    return any(numbers and low <= min(numbers) and max(numbers) < high for low, high in _RANGES.values())


def bits_sql(s: str) -> str:
    """Which ranges a number lies in, as bits over an expression made by `masks.normal_sql`."""
    whens = " ".join(
        f"WHEN TRY_CAST({s} AS DOUBLE) >= {low} AND TRY_CAST({s} AS DOUBLE) < {high} THEN {bit}"
        for bit, (low, high) in _RANGES.items()
    )
    return f"CASE WHEN regexp_full_match({s}, '[0-9]{{5,13}}([.][0-9]+)?') THEN CASE {whens} ELSE 0 END ELSE 0 END"


def sql(column: str, way: str) -> tuple[str, str]:
    """Type and expression of the time that the text column counts."""
    number = f"TRY_CAST(trim({quoted(column)}) AS DOUBLE)"
    if way == types.EXCEL:
        return types.TIMESTAMP, f"make_timestamp(CAST(round(({number} - 25569) * 86400) AS BIGINT) * 1000000)"
    per_second = 1_000_000 if way == types.SECONDS else 1_000
    return types.TIMESTAMP, f"make_timestamp(CAST({number} * {per_second} AS BIGINT))"


def decide(seen: Seen, plain: types.Reading) -> types.Reading | None:
    """The reading of a column of numbers that count time, from its plain reading; None where they do not."""
    if not seen.others or not says_date(seen.label):
        return None
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
