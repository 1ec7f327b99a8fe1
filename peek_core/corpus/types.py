"""Which type a column of text has, decided over all its values.

Owns: the shapes that count as number, date, time and truth value; the words that stand for "missing"; the SQL that
checks and converts. Refuses to know files and delimiters: it is given the name of a column of text.

The rule behind all shapes: a type is chosen only if converting every value and writing it back could not change what
a person reads. So 00501, +4930, 1,5 and 5.10 beside 5.9 stay text, and what stays text for such a reason is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from peek_core.corpus.names import literal, quoted
from peek_core.values.dataset import Doubt

VARCHAR, BIGINT, DOUBLE, DATE, TIMESTAMP, BOOLEAN = "VARCHAR", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN"
TYPED = (BIGINT, DOUBLE, DATE, TIMESTAMP, BOOLEAN)

MISSING_WORDS = ("na", "n/a", "#n/a", "#na", "nan", "null", "none", "nil", "-", "--", "\u2013", "?", ".")

_INT = re.compile(r"-?(?:0|[1-9]\d{0,18})", re.ASCII)
_DECIMAL_SQL = r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,20}([eE][+-]?[0-9]{1,3})?|[eE][+-][0-9]{1,3})?"
_DECIMAL = re.compile(_DECIMAL_SQL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP_SQL = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?"
_TIMESTAMP = re.compile(_TIMESTAMP_SQL)
_BOOLEAN = frozenset(("true", "false"))
# Shapes that look like a type that is not chosen by itself: reported, never converted silently.
_LEADING_ZERO = re.compile(r"[+-]?0\d+(?:\.\d+)?|\+\d+")
_LOCAL_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:[ T].*)?")
_LOCAL_NUMBER = re.compile(
    r"\(?[-+]?[$€£¥]?\s?-?\d{1,3}(?:[.,'\u00a0\u202f ]\d{3})*(?:[.,]\d+)?\s?[$€£¥%]?\)?|-?\d+,\d+\s?[€$£%]?"
)
_OFFSET_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?[+-]\d\d(?::?\d\d)?")
_VERSION_LABEL = re.compile(r"(?:^|[^a-z])(?:version|release|ver)(?:$|[^a-z])")


@dataclass(frozen=True)
class Reading:
    """How one column of text becomes a typed column.

    `sql` is the expression over the quoted text column; `missing` the missing-words that became NULL with it.
    """

    type: str
    sql: str
    assumptions: tuple[str, ...] = ()


def _is_missing(value: str) -> bool:
    return not value or value.lower() in MISSING_WORDS


def possible(values: Iterable[str | None]) -> tuple[str, ...]:
    """Types that a sample leaves open. Any counterexample rules a type out for good, so this may only save work."""
    open_types = list(TYPED)
    for raw in values:
        if raw is None:
            continue
        value = raw.strip()
        if _is_missing(value):
            continue
        if BIGINT in open_types and not _INT.fullmatch(value):
            open_types.remove(BIGINT)
        if DOUBLE in open_types and not _DECIMAL.fullmatch(value):
            open_types.remove(DOUBLE)
        if DATE in open_types and not _DATE.fullmatch(value):
            open_types.remove(DATE)
        if TIMESTAMP in open_types and not _TIMESTAMP.fullmatch(value):
            open_types.remove(TIMESTAMP)
        if BOOLEAN in open_types and value.lower() not in _BOOLEAN:
            open_types.remove(BOOLEAN)
        if not open_types:
            break
    return tuple(open_types)


_MISSING_SQL = "(" + ", ".join(literal(word) for word in ("", *MISSING_WORDS)) + ")"

# Bits that `shape_sql` gives for one value; over a column they are combined by OR.
_WHOLE, _FRACTION, _DAY, _MOMENT, _MOMENT_UTC, _TRUTH, _MISSING, _OTHER = (1 << n for n in range(8))
_TRAILING = 1 << 8
"""A fraction such as 5.10: two decimals or more, the last one a zero."""
_LONG = 1 << 9
"""A whole number of more than 15 digits: exact as BIGINT, perhaps not as DOUBLE."""
_DECIMALS = 16
"""A fraction with n decimals sets bit 16 + n."""


def _shapes(t: str, candidates: Sequence[str]) -> list[tuple[str, str]]:
    """Conditions on the text expression `t`, in order, and the bits that each one proves."""
    found: list[tuple[str, str]] = []
    if BIGINT in candidates:
        bits = f"CASE WHEN length({t}) > 15 THEN {_WHOLE | _LONG} ELSE {_WHOLE} END"
        found.append((f"TRY_CAST({t} AS BIGINT)::VARCHAR = {t}", bits))
    if DOUBLE in candidates:
        # Up to 15 digits a double holds exactly what is written; longer ones must come back as they were.
        short = f"(length({t}) <= 15 OR length({t}) = 16 AND contains({t}, '.'))"
        exact = f"({short} OR TRY_CAST({t} AS DOUBLE)::VARCHAR = {t})"
        fits = f"regexp_full_match({t}, '{_DECIMAL_SQL}') AND isfinite(TRY_CAST({t} AS DOUBLE)) AND {exact}"
        decimals = f"(length({t}) - strpos({t}, '.'))"
        trailing = f"CASE WHEN {decimals} >= 2 AND suffix({t}, '0') THEN {_TRAILING} ELSE 0 END"
        bits = (
            f"CASE WHEN contains({t}, '.') THEN {_FRACTION} | (1::BIGINT << ({_DECIMALS} + {decimals})) | {trailing} "
        )
        found.append((fits, f"{bits} ELSE {_FRACTION} END"))
    if DATE in candidates:
        found.append((f"length({t}) = 10 AND TRY_CAST({t} AS DATE)::VARCHAR = {t}", str(_DAY)))
    if TIMESTAMP in candidates:
        usual = f"length({t}) = 19 AND TRY_CAST({t} AS TIMESTAMP)::VARCHAR = {t}"
        fits = f"TRY_CAST({t} AS TIMESTAMP) IS NOT NULL AND regexp_full_match({t}, '{_TIMESTAMP_SQL}')"
        found.append((usual, str(_MOMENT)))
        found.append((f"suffix({t}, 'Z') AND {fits}", str(_MOMENT_UTC)))
        found.append((fits, str(_MOMENT)))
    if BOOLEAN in candidates:
        found.append((f"lower({t}) IN ('true', 'false')", str(_TRUTH)))
    return found


def shape_sql(column: str, candidates: Sequence[str]) -> str:
    """The shape of one value of the text column as bits; only shapes of the candidates are looked for.

    A CASE, because the engine looks at a later branch only for values that all earlier ones left over.
    """
    c = quoted(column)
    whens = [f"WHEN {c} IS NULL THEN 0"]
    whens += [f"WHEN {condition} THEN {bits}" for condition, bits in _shapes(c, candidates)]
    whens.append(f"WHEN lower(trim({c})) IN {_MISSING_SQL} THEN {_MISSING}")
    # Padded values are rare, so they are looked at only after everything else failed.
    whens += [f"WHEN {condition} THEN {bits}" for condition, bits in _shapes(f"trim({c})", candidates)]
    return f"CASE {' '.join(whens)} ELSE {_OTHER} END::BIGINT"


COUNTS = 4
"""How many values `counts_sql` gives."""


def counts_sql(value: str, shape: str) -> tuple[str, ...]:
    """Aggregates over shapes and their values for `decide`: all bits; number, first and last of the missing-words.

    Both arguments are SQL expressions.
    """
    missing = f"FILTER ({shape} = {_MISSING})"
    return (f"bit_or({shape})", f"count(*) {missing}", f"min({value}) {missing}", f"max({value}) {missing}")


_ALLOWED = (
    (BIGINT, _WHOLE),
    (DOUBLE, _WHOLE | _FRACTION),
    (DATE, _DAY),
    (TIMESTAMP, _DAY | _MOMENT | _MOMENT_UTC),
    (BOOLEAN, _TRUTH),
)


def decide(column: str, label: str, found: Sequence[object]) -> Reading:
    """The type of the column, from the values of `counts_sql` over all rows."""
    bits, missing = _int(found[0]), _int(found[1])
    shapes = bits & (_MISSING - 1) | bits & _OTHER
    chosen = next((kind for kind, allowed in _ALLOWED if shapes and not shapes & ~allowed), VARCHAR)
    if chosen == DOUBLE:
        mixed = (bits >> _DECIMALS).bit_count() > 1
        named_version = bool(_VERSION_LABEL.search(label.lower().replace("_", " ")))
        if (bits & _TRAILING and mixed) or named_version:
            why = "values such as 5.10 would become 5.1" if bits & _TRAILING else "its name says that it holds versions"
            return Reading(VARCHAR, quoted(column), (f"{label}: kept as text, because {why}.",))
        if bits & _LONG:
            why = "as decimal numbers its longest whole numbers would be rounded"
            return Reading(VARCHAR, quoted(column), (f"{label}: kept as text, because {why}.",))
    if chosen == VARCHAR:
        return Reading(VARCHAR, quoted(column))
    assumptions = []
    spelled = sorted({str(word).strip() for word in found[2:4] if word is not None} - {""})
    if missing and spelled:
        shown = " to ".join(f"“{word}”" for word in spelled)
        verb = "value" if missing == 1 else "values"
        assumptions.append(
            f"{label}: {missing:,} {verb} ({shown}) read as missing, because all others are {_say(chosen)}."
        )
    if bits & _MOMENT_UTC:
        assumptions.append(f"{label}: times ending in Z are in UTC.")
    return Reading(chosen, f"TRY_CAST(trim({quoted(column)}) AS {chosen})", tuple(assumptions))


def _say(chosen: str) -> str:
    return {
        BIGINT: "whole numbers",
        DOUBLE: "numbers",
        DATE: "dates",
        TIMESTAMP: "times",
        BOOLEAN: "true or false",
    }[chosen]


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def text_doubt(label: str, values: Iterable[str | None]) -> Doubt | None:
    """Why a text column that nearly looks typed was kept as text, judged from a sample of its values; None if plain."""
    seen = [v for v in (raw.strip() for raw in values if raw is not None) if not _is_missing(v)]
    if not seen:
        return None
    where = f"column {label}"

    def most(shape: re.Pattern[str]) -> bool:
        return sum(bool(shape.fullmatch(value)) for value in seen) >= 0.9 * len(seen)

    zeros = next((v for v in seen if _LEADING_ZERO.fullmatch(v)), None)
    if zeros is not None and all(_LEADING_ZERO.fullmatch(v) or _DECIMAL.fullmatch(v) for v in seen):
        return Doubt(where, f"Kept as text: codes such as {zeros} would lose their first sign", "read it as numbers")
    if most(_OFFSET_TIME):
        return Doubt(where, f"Kept as text: times such as {seen[0]} carry their own zone", "convert them to UTC")
    if most(_LOCAL_DATE):
        dates = [found for v in seen if (found := _LOCAL_DATE.fullmatch(v))]
        first = max(int(found[1]) for found in dates)
        second = max(int(found[3]) for found in dates)
        if first > 12 >= second:
            return Doubt(where, f"Kept as text: dates such as {seen[0]} have the day first", "read it day first")
        if second > 12 >= first:
            return Doubt(where, f"Kept as text: dates such as {seen[0]} have the month first", "read it month first")
        return Doubt(
            where,
            f"Kept as text: in dates such as {seen[0]} the order of day and month cannot be told",
            "read it day first, or month first",
        )
    if most(_LOCAL_NUMBER) and not all(v.isdigit() for v in seen):
        return Doubt(
            where,
            f"Kept as text: numbers such as {seen[0]} have a currency sign, percent sign or local separators",
            "read it as numbers",
        )
    return None
