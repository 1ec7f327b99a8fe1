"""What a spreadsheet does to an export that was opened and saved in one.

Owns: how each damage is recognised and said. Refuses to know: what becomes of rows and maps.
"""

from __future__ import annotations

from peek_core.corpus.versions.cells import EXACT_DIGITS

SERIAL = "dates came as a spreadsheet's day numbers and are read as dates"
_SIGNS = "('=', '''')"
_STRIPPED = "'='''"


def rounded_sql(column: str) -> str:
    """SQL, two numbers: how many whole numbers are too long for a spreadsheet, and how many of them end in zeros there."""
    long = f"abs({column}::HUGEINT) >= 10::HUGEINT ** {EXACT_DIGITS}"
    zeros = f"repeat('0', length(abs({column}::HUGEINT)::VARCHAR) - {EXACT_DIGITS})"
    return f"count(*) FILTER ({long}), count(*) FILTER ({long} AND suffix({column}::VARCHAR, {zeros}))"


def rounded(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Whether long numbers lost their last digits; (long ones, of them ending in zeros) of both versions."""
    if not before[0] or not after[0] or after[1] < 0.98 * after[0] or before[1] > 0.5 * before[0]:
        return ""
    return f"only {EXACT_DIGITS} digits are left of {after[0]:,} longer numbers"


def prefixed_sql(before: str, after: str) -> str:
    """SQL: whether a text begins with what a spreadsheet puts there, and did not before."""
    return f"({after}[1] IN {_SIGNS} AND {before}[1] NOT IN {_SIGNS})"


def unprefixed_sql(after: str) -> str:
    """SQL: the text without that sign."""
    return f"ltrim({after}, {_STRIPPED})"


def prefixed(count: int) -> str:
    return f"{count:,} texts begin with a sign (= or ') that was not there before" if count else ""


def zeros_sql(column: str) -> str:
    """SQL: how many texts are digits with a zero in front."""
    return f"count(*) FILTER (regexp_full_match({column}, '0[0-9]+'))"


def zeros(before: int, after: int) -> str:
    return f"the leading zeros of {before:,} numbers are gone" if before and not after else ""


def joined(*said: str) -> str:
    return "; ".join(filter(None, said))
