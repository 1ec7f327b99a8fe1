"""Which type a column of text has, decided over all its values.

Owns: the words for ways of reading and for "missing", the plain shapes that count as number, date, time and truth
value, and the SQL that checks and converts those. Refuses to know files and delimiters, and what only some countries
write (`local_numbers`, `local_dates`): it is given the name of a column of text.

The rule behind all shapes: a type is chosen only if converting every value and writing it back could not change what
a person reads. So 00501, +4930, and 5.10 beside 5.9 stay text; 5.10 beside 5.05 is a number with places left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from peek_core.corpus.names import literal, quoted
from peek_core.values.dataset import Doubt

VARCHAR, BIGINT, DOUBLE, DATE, TIMESTAMP, BOOLEAN = "VARCHAR", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN"
TYPED = (BIGINT, DOUBLE, DATE, TIMESTAMP, BOOLEAN)

# Ways of reading a column, as a person sees and chooses them.
TEXT, WHOLE, NUMBER, COMMA = "text", "whole number", "number", "number, decimal comma"
DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "day first", "month first", "year first"
PLAIN_DATE, PLAIN_TIME, OFFSET_TIME, TRUTH = "date", "time", "time with offset", "true or false"
SECONDS, MILLISECONDS, EXCEL, COMPACT = "epoch seconds", "epoch milliseconds", "Excel date", "YYYYMMDD"
WAYS = (
    *(TEXT, WHOLE, NUMBER, COMMA, DAY_FIRST, MONTH_FIRST, YEAR_FIRST),
    *(PLAIN_DATE, PLAIN_TIME, OFFSET_TIME, TRUTH, SECONDS, MILLISECONDS, EXCEL, COMPACT),
)

MISSING_WORDS = (
    *("na", "n/a", "#n/a", "#na", "nan", "null", "(null)", "#null!", "\\n", "none", "nil", "missing"),
    *("-", "--", "\u2013", "\u2014", "?", "."),
)

# What a number, date or time is replaced by where there is none; in a column of words it may be an answer.
STAND_INS = (
    *("unknown", "(unknown)", "not asked", "not applicable", "not available", "n.a.", "tbd", "tba", "blank", "(blank)"),
    *("empty", "(empty)", "(none)", "unbekannt", "k.a.", "k. a.", "keine angabe", "inconnu", "desconocido"),
)

_INT = re.compile(r"-?(?:0|[1-9]\d{0,18})", re.ASCII)
_DECIMAL_SQL = r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,20}([eE][+-]?[0-9]{1,3})?|[eE][+-][0-9]{1,3})?"
_DECIMAL = re.compile(_DECIMAL_SQL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP_SQL = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?"
_TIMESTAMP = re.compile(_TIMESTAMP_SQL)
_BOOLEAN = frozenset(("true", "false"))
_VERSION_LABEL = re.compile(r"(?:^|[^a-z])(?:version|release|ver)(?:$|[^a-z])")


@dataclass(frozen=True)
class Beside:
    """A typed column that is put right after the text it was read from, because the text should stay as well."""

    name: str
    type: str
    sql: str
    said: str
    """What it holds, for its label: `as date`."""


@dataclass(frozen=True)
class Reading:
    """How one column of text becomes a typed column, and perhaps a second one.

    `sql` is the expression over the quoted text column.
    """

    type: str
    sql: str
    assumptions: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    way: str = TEXT
    ways: tuple[str, ...] = ()
    """The other ways that its values allow."""
    beside: Beside | None = None
    lost: int = 0
    """Values that say something but have no typed value in the column beside."""


def is_missing(value: str) -> bool:
    """Whether a value without outer spaces says that there is none."""
    return not value or value.lower() in MISSING_WORDS


def says_version(label: str) -> bool:
    """Whether the name of a column says that it holds versions, where 5.10 comes after 5.9."""
    return bool(_VERSION_LABEL.search(label.lower().replace("_", " ")))


def stands_in(value: str) -> bool:
    """Whether a word takes the place of a missing number or date, such as `unknown` or `****`."""
    return value.strip().lower() in STAND_INS or not any(map(str.isalnum, value))


def possible(values: Iterable[str | None]) -> tuple[str, ...]:
    """Types that a sample leaves open. Any counterexample rules a type out for good, so this may only save work."""
    open_types = list(TYPED)
    for raw in values:
        if raw is None:
            continue
        value = raw.strip()
        if is_missing(value):
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


def missing_sql(text: str) -> str:
    """The condition that the text expression says nothing."""
    return f"({text} IS NULL OR lower(trim({text})) IN {_MISSING_SQL})"


def decimal_sql(text: str) -> str:
    """The condition that the text expression is a number as machines write it."""
    return f"regexp_full_match({text}, '{_DECIMAL_SQL}')"


# Bits that `shape_sql` gives for one value; over a column they are combined by OR.
_WHOLE, _FRACTION, _DAY, _MOMENT, _MOMENT_UTC, _TRUTH, _MISSING, _OTHER = (1 << n for n in range(8))
_TRAILING = 1 << 8
"""A fraction such as 5.10, which as a version comes after 5.9."""
_PRECISE = 1 << 10
"""A negative number or one such as 5.05 or 5.1234: no version is written so."""
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
        trailing = f"CASE WHEN {decimals} = 2 AND right({t}, 2) IN ('10', '20', '30') THEN {_TRAILING} ELSE 0 END"
        precise = f"CASE WHEN {decimals} >= 4 OR {decimals} >= 2 AND contains({t}, '.0') OR prefix({t}, '-') "
        precise += f"THEN {_PRECISE} ELSE 0 END"
        bits = (
            f"CASE WHEN contains({t}, '.') THEN {_FRACTION} | (1::BIGINT << ({_DECIMALS} + {decimals})) | {trailing} "
        )
        bits += f"| {precise}"
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


def others_sql(value: str, shape: str) -> tuple[str, str]:
    """Aggregates over shapes and their values: the first and the last value without a plain shape."""
    other = f"FILTER ({shape} = {_OTHER})"
    return (f"min({value}) {other}", f"max({value}) {other}")


_ALLOWED = (
    (BIGINT, _WHOLE, WHOLE, (NUMBER, TEXT)),
    (DOUBLE, _WHOLE | _FRACTION, NUMBER, (TEXT,)),
    (DATE, _DAY, PLAIN_DATE, (TEXT,)),
    (TIMESTAMP, _DAY | _MOMENT | _MOMENT_UTC, PLAIN_TIME, (TEXT,)),
    (BOOLEAN, _TRUTH, TRUTH, (TEXT,)),
)


def text(column: str, *assumptions: str, ways: tuple[str, ...] = ()) -> Reading:
    """The column as it stands in the file."""
    return Reading(VARCHAR, quoted(column), assumptions, way=TEXT, ways=ways)


def offered(column: str, found: Reading) -> Reading:
    """The column as it stands in the file, with the ways that were found for a person to choose."""
    return text(column, ways=tuple(way for way in (found.way, *found.ways) if way != TEXT))


def decide(column: str, label: str, found: Sequence[object]) -> Reading:
    """The type of the column, from the values of `counts_sql` over all rows."""
    bits, missing = _int(found[0]), _int(found[1])
    shapes = bits & (_MISSING - 1) | bits & _OTHER
    kind, _, way, ways = next((a for a in _ALLOWED if shapes and not shapes & ~a[1]), (VARCHAR, 0, TEXT, ()))
    if not shapes and missing:
        said = f"{label}: holds only words for missing, such as “{found[2]}”; read as missing."
        return Reading(VARCHAR, "NULL::VARCHAR", (said,), ways=(TEXT,))
    if kind == VARCHAR:
        return text(column)
    if kind == DOUBLE:
        why = ""
        if bits & _TRAILING and not bits & _PRECISE and (bits >> _DECIMALS).bit_count() > 1:
            why = "values such as 5.10 would become 5.1"
        elif says_version(label):
            why = "its name says that it holds versions"
        elif bits & _LONG:
            why = "as decimal numbers its longest whole numbers would be rounded"
        if why:
            return text(column, f"{label}: kept as text, because {why}.", ways=(NUMBER,))
    assumptions = []
    spelled = sorted({str(word).strip() for word in found[2:4] if word is not None} - {""})
    if missing and spelled:
        assumptions.append(missing_said(label, missing, spelled, kind))
    if bits & _MOMENT_UTC:
        assumptions.append(f"{label}: times ending in Z are in UTC.")
    return Reading(kind, f"TRY_CAST(trim({quoted(column)}) AS {kind})", tuple(assumptions), way=way, ways=ways)


def broken(found: Sequence[object]) -> bool:
    """Whether only values without a plain shape keep the column from a type."""
    shapes = _int(found[0]) & (_MISSING - 1)
    return bool(_int(found[0]) & _OTHER) and (not shapes or any(not shapes & ~allowed for _, allowed, *_ in _ALLOWED))


def may_hold_words(found: Sequence[object]) -> bool:
    """Whether plain numbers or dates were found, so that other words may stand in for missing ones."""
    shapes = _int(found[0]) & (_MISSING - 1)
    return bool(shapes) and not shapes & _TRUTH


def numeric(found: Sequence[object]) -> bool:
    """Whether all plain shapes found are numbers, or there are none."""
    return not _int(found[0]) & (_MISSING - 1) & ~(_WHOLE | _FRACTION)


def missing_said(label: str, count: int, spelled: Sequence[str], kind: str) -> str:
    """The sentence that words were read as missing; `spelled` names some of them in order."""
    shown = " to ".join(f"“{word}”" for word in spelled)
    verb = "value" if count == 1 else "values"
    return f"{label}: {count:,} {verb} ({shown}) read as missing, because all others are {say(kind)}."


def chosen_said(label: str, way: str) -> str:
    """The sentence that a person's choice was followed."""
    return f"{label}: read as {way}, as chosen."


def say(kind: str) -> str:
    """What values of a type are called."""
    return {
        BIGINT: "whole numbers",
        DOUBLE: "numbers",
        DATE: "dates",
        TIMESTAMP: "times",
        BOOLEAN: "true or false",
    }[kind]


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
