"""Numbers as people and spreadsheets write them: separators, decimal commas, currency, percent, brackets.

Owns: the shapes of single values, and the SQL that converts them. Refuses to know columns (`number_columns`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from peek_core.corpus.names import literal, quoted
from peek_core.corpus.typed import masks, types

_CODES = "usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|brl|mxn|zar|sgd|hkd"
_SYMBOL = r"(?:US\$|[$€£¥₹])"
_UNIT = rf"(?:{_SYMBOL}|(?i:{_CODES}|kr|fr|rs|zł|kč))"
# A dot after a unit needs a space before the number, because kr.5 could be a half.
_BEFORE = rf"(?:{_UNIT} ?|(?i:kr|fr|rs)\. )"
_AFTER = rf"(?:{_UNIT}|(?i:kr|fr|rs)\.|%)"
_SHAPE = re.compile(
    rf"(?P<open>\()? ?(?P<sign>[-+])? ?(?P<before>{_BEFORE})?(?P<open2>\()?(?P<sign2>[-+])? ?"
    rf"(?P<body>[.,]?[0-9](?:[0-9., ']*[0-9])?) ?(?P<after>{_AFTER})? ?(?P<trail>-)?(?P<close>\))?"
)
_GROUPED = re.compile(r"9{1,3}(?:(?P<sep>[., '])999(?:(?P=sep)999)*)?|9{1,2}(?:,99)+,999")
_CORE, _SEPARATORS = literal("[.,]?[0-9][0-9., ']*"), literal("., '")


@dataclass(frozen=True)
class Shape:
    """What the mask of a number tells."""

    unit: str
    sign: str
    """`-`, `+`, `()`, `5-`, or nothing."""
    thousands: str
    """The sign between thousands, if there is one."""
    decimal: str
    """The sign before the fraction, if there is one."""
    open: bool
    """One separator before three digits: could be either. Then `thousands` and `decimal` both hold it."""
    digits: int
    places: int
    groups: int


@lru_cache(maxsize=4096)
def shape(mask: str) -> Shape | None:
    """The shape of a mask, or None where it is no number."""
    found = _SHAPE.fullmatch(mask)
    if not found:
        return None
    before, after = (found["before"] or "").strip(" ."), (found["after"] or "").strip(" .")
    brackets = bool(found["open"]) + bool(found["open2"])
    signs = [sign for sign in (found["sign"], found["sign2"], found["trail"] and "5-") if sign]
    if (before[-1:].isalpha() and found["body"][0] in ".,") or (before and after):
        return None
    if brackets != bool(found["close"]) or len(signs) + brackets > 1:
        return None
    sign = "()" if brackets else signs[0] if signs else ""
    unit = (before or after).lower()
    body = found["body"]
    digits = body.count("9")

    def made(thousands: str, decimal: str, *, either: bool = False) -> Shape:
        places = len(body) - 1 - body.rfind(decimal) if decimal else 0
        groups = body.count(thousands) if thousands else 0
        return Shape(unit, sign, thousands, decimal, either, digits, places, groups)

    whole = _GROUPED.fullmatch(body)
    if whole:
        sep = whole["sep"] or ("," if "," in body else "")
        either = sep in (",", ".") and body.count(sep) == 1
        return made(sep, sep if either else "", either=either)
    if body.isdigit():
        return made("", "")
    at = max(body.rfind("."), body.rfind(","))
    front, back = body[:at], body[at + 1 :]
    if at < 0 or not back.isdigit():
        return None
    if not front or front.isdigit():
        return made("", body[at])
    whole = _GROUPED.fullmatch(front)
    sep = (whole["sep"] or ",") if whole else ""
    return made(sep, body[at]) if whole and sep != body[at] else None


def bits_sql(s: str) -> tuple[str, ...]:
    """What masks do not show, as bits over an expression made by `masks.normal_sql`."""
    return (
        f"CASE WHEN regexp_matches({s}, '^[^0-9.,]*0[ '']?[0-9]') THEN {masks.ZERO_CODE} ELSE 0 END",
        f"CASE WHEN regexp_matches({s}, '^[^0-9.,]*0[.,]') THEN {masks.ZERO_POINT} ELSE 0 END",
        f"CASE WHEN regexp_matches({s}, '[.,][0-9]+0[^0-9]*$') THEN {masks.TRAILING} ELSE 0 END",
        f"CASE WHEN regexp_matches({s}, '[.][123]0$') THEN {masks.LIKE_VERSION} ELSE 0 END",
        f"CASE WHEN regexp_matches({s}, '[.]0[0-9]') THEN {masks.PRECISE} ELSE 0 END",
    )


DECIMALS = (".", ",")
_SIGNS = {".": ", '", ",": ". '"}
"""Decimal sign -> all signs for thousands that go with it."""


def _guard(decimal: str) -> str:
    group = rf"[0-9]{{1,3}}(?:[{_SIGNS[decimal]}][0-9]{{3}})+|[0-9]{{1,2}}(?:,[0-9]{{2}})+,[0-9]{{3}}"
    number = rf"{_BEFORE}?\(?[-+]? ?(?:[0-9]+|{group})(?:[{decimal}][0-9]+)?|{_SYMBOL}? ?\(?[-+]?[{decimal}][0-9]+"
    return rf"\(? ?[-+]? ?(?:{number}) ?{_AFTER}? ?-?\)?"


def _core(s: str) -> str:
    return f"regexp_extract({s}, {_CORE})"


def _signed(s: str, number: str, kind: str) -> str:
    return f"TRY_CAST(CASE WHEN contains({s}, '-') OR contains({s}, '(') THEN '-' ELSE '' END || {number} AS {kind})"


def _bare(core: str, decimal: str) -> str:
    """The number without thousands and with a decimal point."""
    drop = _SIGNS[decimal]
    return f"translate({core}, {literal(decimal + drop)}, '.')"


def sql(column: str, decimal: str, kind: str, *, sure: bool = False) -> str:
    """Converts the text column by one convention; NULL for what does not fit it.

    `sure` leaves out the check, where all values are known to fit or to hold no digit.
    """
    s = masks.normal_sql(quoted(column))
    made = _signed(s, _bare(_core(s), decimal), kind)
    return made if sure else f"CASE WHEN regexp_full_match({s}, {literal(_guard(decimal))}) THEN {made} END"


def whole_sql(column: str) -> str:
    """Converts whole numbers with any sign between thousands; NULL for all else."""
    s = masks.normal_sql(quoted(column))
    guard = rf"\(? ?[-+]? ?{_BEFORE}?\(?[-+]? ?(?:[0-9]+|[0-9]{{1,3}}(?:[., '][0-9]{{3}})+) ?{_AFTER}? ?-?\)?"
    made = _signed(s, f"translate({_core(s)}, {_SEPARATORS}, '')", types.BIGINT)
    return f"CASE WHEN regexp_full_match({s}, {literal(guard)}) THEN {made} END"


def each_sql(column: str) -> str:
    """Converts each value by its own separators, for columns that mix conventions."""
    s = masks.normal_sql(quoted(column))
    core = _core(s)
    guard = " OR ".join(f"regexp_full_match({s}, {literal(_guard(decimal))})" for decimal in DECIMALS)
    number = (
        f"CASE WHEN regexp_full_match({core}, '[^,]*,[0-9]* *') THEN {_bare(core, ',')} "
        f"WHEN regexp_matches({core}, '[.].*[.]') THEN {_bare(core, ',')} ELSE {_bare(core, '.')} END"
    )
    return f"CASE WHEN {guard} THEN {_signed(s, number, types.DOUBLE)} END"
