"""Dates and times as people and spreadsheets write them: any order, month names, two-digit years, zones.

Owns: the shapes of single values, and the SQL that converts them. Refuses to know columns (`date_columns`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from peek_core.corpus.names import literal, quoted
from peek_core.corpus.typed import masks, types

# English, German, French, Spanish, Italian; without accents. An abbreviation is any beginning of three letters or more.
_MONTHS = (
    "january januar janvier enero gennaio",
    "february februar fevrier febrero febbraio",
    "march marz maerz mars marzo mrz",
    "april avril abril aprile",
    "may mai mayo maggio",
    "june juni juin junio giugno",
    "july juli juillet julio luglio",
    "august aout agosto",
    "september septembre septiembre settembre",
    "october oktober octobre octubre ottobre",
    "november novembre noviembre",
    "december dezember decembre diciembre dicembre",
)
_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonnabend
sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo lunedi
martedi mercoledi giovedi venerdi sabato domenica
"""
_WEEKDAY = re.compile(r"([A-Za-zÀ-ÿ]{2,10})\.?,? ")
_ENGLISH = [names.split()[0] for names in _MONTHS]
_ACCENTS = str.maketrans("äâàáéèêëìûùúü", "aaaaeeeeiuuuu")

_D, _Y4, _Y2 = "([0-9]{1,2})", "([0-9]{4})", "([0-9]{2})"
_WORD, _NTH, _SEP = r"([A-Za-zÀ-ÿ]{3,10})\.?", r"(?:st|nd|rd|th|\.)?", "[ ./-]? ?"
_CLOCK = r"(?:,? ?[ T]([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?[AaPp][Mm])?)Z?)?"
_CLOCK_PARTS = re.compile(r"9+:99(:99)?(?:([.,])(9+))?( ?)([AaPp][Mm])?")

ANY = masks.DAY | masks.MONTH | masks.YEAR
ORDERS = {masks.DAY: types.DAY_FIRST, masks.MONTH: types.MONTH_FIRST, masks.YEAR: types.YEAR_FIRST}


@dataclass(frozen=True)
class _Form:
    """One way to write a date: its regular expression, and what its first three groups hold, as strptime knows it."""

    pattern: re.Pattern[str]
    order: int
    parts: tuple[str, str, str]
    lone: bool
    """Readable without knowing the column's order."""


def _form(pattern: str, order: int, parts: str, *, lone: bool = True) -> _Form:
    first, second, third = parts.split()
    return _Form(re.compile(pattern + _CLOCK), order, (first, second, third), lone)


def _numeric(year: str, letter: str) -> list[_Form]:
    pattern = f"{_D}[./-]{_D}[./-]{year}"
    return [
        _form(pattern, masks.DAY, f"%d %m {letter}", lone=False),
        _form(pattern, masks.MONTH, f"%m %d {letter}", lone=False),
    ]


_FORMS = [
    *_numeric(_Y4, "%Y"),
    *_numeric(_Y2, "%y"),
    _form(f"{_Y2}[./-]{_D}[./-]{_D}", masks.YEAR, "%y %m %d", lone=False),
    _form(f"{_Y4}[./-]{_D}[./-]{_D}", masks.YEAR, "%Y %m %d"),
    _form(f"{_D}{_NTH}{_SEP}{_WORD},?{_SEP}{_Y4}", masks.DAY, "%d %B %Y"),
    _form(f"{_D}{_NTH}{_SEP}{_WORD},?{_SEP}{_Y2}", masks.DAY, "%d %B %y"),
    _form(f"{_WORD}{_SEP}{_D}{_NTH},?{_SEP}{_Y4}", masks.MONTH, "%B %d %Y"),
    _form(f"{_Y4}{_SEP}{_WORD}{_SEP}{_D}", masks.YEAR, "%Y %B %d"),
    _form(f"{_Y2}{_SEP}{_WORD}{_SEP}{_D}", masks.YEAR, "%y %B %d"),
]
_ONE_SEP = re.compile(r"9+([./-])9+\1.*")

_ISO = r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?) ?"
_HOURS = r"([+-](?:0[0-9]|1[0-5]))"
_OFFSETS = (
    (f"{_ISO}(?:Z|UTC|GMT)", r"\1 \2+00:00"),
    (f"{_ISO}{_HOURS}", r"\1 \2\3:00"),
    (f"{_ISO}{_HOURS}:?([0-5][0-9])", r"\1 \2\3:\4"),
)
_OFFSET_MASK = re.compile(r"9999-99-99[ T]99:99(?::99(?:[.]9{1,9})?)? ?(?:Z|UTC|GMT|[+-]99(?::?99)?)")


@dataclass(frozen=True)
class Shape:
    """What the mask of a date tells."""

    sep: str
    """The separator, where only the column's order says what is day and month."""
    short: bool
    """Two digits for the year."""
    clock: bool
    noon: bool
    """With AM or PM."""
    utc: bool
    strict: bool
    """As machines write it: 2024-01-31."""
    word: str
    """The name of the month."""
    formats: tuple[tuple[int, str], ...]
    """For each order that is possible the format that strptime reads."""

    def format(self, order: int) -> str | None:
        """The format in an order; dates that can be read without one have their own."""
        return dict(self.formats).get(order) or (None if self.sep else self.formats[0][1])


def month(word: str) -> int | None:
    """The month that a word of three letters or more names, in one of five languages."""
    plain = word.lower().translate(_ACCENTS)
    found = [n for n, names in enumerate(_MONTHS, start=1) if any(name.startswith(plain) for name in names.split())]
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=4096)
def shape(mask: str) -> Shape | None:
    """The shape of a mask, or None where it is no date."""
    forms = [(form, found) for form in _FORMS if (found := form.pattern.fullmatch(mask)) and _is_date(form, found)]
    if not forms:
        return _after_weekday(mask)
    form, found = forms[0]
    clock = found[4] or ""
    return Shape(
        sep="" if form.lone else mask[found.end(1)],
        short="%y" in form.parts,
        clock=bool(clock),
        noon=clock.upper().endswith("M"),
        utc=mask.endswith("Z"),
        strict=bool(re.fullmatch(r"9999-99-99([ T].*)?", mask)),
        word=found[1 + form.parts.index("%B")] if "%B" in form.parts else "",
        formats=tuple((form.order, _format(mask, form, found)) for form, found in forms),
    )


def _after_weekday(mask: str) -> Shape | None:
    """The shape of a date with the name of a month after that of a day: Mon, 9 Mar 9999."""
    named = _WEEKDAY.match(mask)
    if not named:
        return None
    word, days = named[1].lower().translate(_ACCENTS), _WEEKDAYS.split()
    found = shape(mask[named.end() :]) if any(day.startswith(word) for day in days) else None
    if not found or not found.word:
        return None
    # One format for all English names is a lot faster than one for each.
    part = "%A" if word in days[:7] else "%a" if word in [day[:3] for day in days[:7]] else named[1]
    after = mask[named.end(1) : named.end()]
    return replace(found, formats=tuple((order, part + after + made) for order, made in found.formats))


def _is_date(form: _Form, found: re.Match[str]) -> bool:
    if "%B" in form.parts:
        return month(found[1 + form.parts.index("%B")]) is not None
    return bool(_ONE_SEP.fullmatch(found[0]))


def _format(mask: str, form: _Form, found: re.Match[str]) -> str:
    """The mask with its parts replaced by what strptime calls them."""
    made = mask
    if found[4]:
        made = mask[: found.start(4)] + _clock_format(found[4]) + mask[found.end(4) :]
    for group in (3, 2, 1):
        part = "%b" if form.parts[group - 1] == "%B" and len(found[group]) == 3 else form.parts[group - 1]
        made = made[: found.start(group)] + part + made[found.end(group) :]
    return made


def _clock_format(clock: str) -> str:
    found = _CLOCK_PARTS.fullmatch(clock)
    assert found is not None
    fraction = f"{found[2]}{'%f' if len(found[3]) <= 6 else '%n'}" if found[3] else ""
    noon = f"{found[4]}%p" if found[5] else ""
    return f"{'%I' if noon else '%H'}:%M{':%S' if found[1] else ''}{fraction}{noon}"


def has_offset(mask: str) -> bool:
    """Whether values of this mask are times with their own distance from UTC."""
    return bool(_OFFSET_MASK.fullmatch(mask))


def _english(s: str, words: Iterable[str]) -> tuple[str, bool]:
    """SQL: `s` with all names of months in English and short, and whether that was needed."""
    found = {word for word in words if word}
    if {word.lower() for word in found} <= {*_ENGLISH, *(name[:3] for name in _ENGLISH)}:
        return s, False
    for word in sorted(found, key=lambda word: (-len(word), word)):
        number = month(word)
        assert number is not None
        s = f"replace({s}, {literal(word)}, '{_ENGLISH[number - 1][:3].title()}')"
    return s, True


def _moment(s: str, shapes: Collection[Shape], formats: Iterable[str | None]) -> str:
    """SQL: the time that `s` names in one of the formats, else NULL; also where there is no such date."""
    text, short_names = _english(s, (shape.word for shape in shapes))
    wanted = sorted({made.replace("%B", "%b") if short_names else made for made in formats if made})
    tries: list[str] = []
    for kind in ("%Y", "%y", "%n"):
        some = [made for made in wanted if ("%n" if "%n" in made else "%y" if "%y" in made else "%Y") == kind]
        if not some:
            continue
        listed = ", ".join(literal(made) for made in some)
        read = f"try_strptime({text}, {listed if len(some) == 1 else f'[{listed}]'})"
        if kind == "%n":
            read = f"{read}::TIMESTAMP"
        elif kind == "%Y":
            # strptime takes 24 for the year 24 and 0000 for one before Christ.
            first = 100 if any("%y" in made for made in wanted) else 1
            read = f"CASE WHEN year({read}) >= {first} THEN {read} END"
        else:
            # strptime has 69 in the last century.
            read = f"CASE WHEN year({read}) = 1969 THEN {read} + INTERVAL 100 YEAR ELSE {read} END"
        tries.append(read)
    return f"coalesce({', '.join(tries)})" if tries else "NULL::TIMESTAMP"


def _utc(s: str) -> str:
    whens = " ".join(
        f"WHEN regexp_full_match({s}, {literal(pattern)}) THEN regexp_replace({s}, {literal(f'^{pattern}$')}, '{made}')"
        for pattern, made in _OFFSETS
    )
    return f"make_timestamp(epoch_us(TRY_CAST(CASE {whens} END AS TIMESTAMPTZ)))"


def bits_sql(s: str, shapes: Collection[Shape], *, zone: bool) -> tuple[dict[str, str], list[str]]:
    """Which orders fit values of these shapes, as bits over helper expressions, which come first, by name.

    `s` is the name of a normal text, and begins the names of the helpers.
    """
    helpers: dict[str, str] = {}
    for bit in ORDERS:
        formats = [dict(shape.formats).get(bit) for shape in shapes]
        if any(formats):
            helpers[f"{s}_by_{bit}"] = _moment(s, shapes, formats)
    orders = {bit: f"{s}_by_{bit}" for bit in ORDERS if f"{s}_by_{bit}" in helpers}
    bits = [f"CASE WHEN {by} IS NULL THEN 0 ELSE {bit} END" for bit, by in orders.items()]
    if masks.DAY in orders and masks.MONTH in orders:
        bits.append(f"CASE WHEN {orders[masks.DAY]} = {orders[masks.MONTH]} THEN {masks.AGREE} ELSE 0 END")
    if zone:
        helpers[f"{s}_by_zone"] = _utc(s)
        bits.append(f"CASE WHEN {s}_by_zone IS NULL THEN 0 ELSE {masks.OFFSET} END")
    return helpers, bits


def sql(column: str, way: str, kind: str, shapes: Collection[Shape]) -> str:
    """Converts the text column to `kind` in one order; dates of these shapes that need none are read as well."""
    order = next((bit for bit, name in ORDERS.items() if name == way), 0)
    s = masks.normal_sql(quoted(column))
    return _cast(_moment(s, shapes, (shape.format(order) for shape in shapes)), kind)


def _cast(moment: str, kind: str) -> str:
    return f"CAST({moment} AS DATE)" if kind == types.DATE else moment


def utc_sql(column: str) -> str:
    """Converts the text column of times with their own zone to UTC."""
    return _utc(masks.normal_sql(quoted(column)))


def mixed_sql(column: str, orders: Mapping[str, int], kind: str, shapes: Collection[Shape]) -> str:
    """Converts each value by the order found for its separator, and only certain ones where none was found."""
    s = masks.normal_sql(quoted(column))
    known = [shape.format(orders.get(shape.sep, 0)) for shape in shapes]
    unknown = [shape for shape in shapes if shape.sep and not orders.get(shape.sep)]
    read = _moment(s, shapes, known)
    if unknown:
        day, month = (_moment(s, shapes, (shape.format(bit) for shape in unknown)) for bit in (masks.DAY, masks.MONTH))
        certain = f"CASE WHEN {day} IS NULL THEN {month} WHEN {month} IS NULL OR {month} = {day} THEN {day} END"
        read = f"coalesce({read}, {certain})"
    return _cast(read, kind)


_DATE_WORDS = """
created updated modified closed opened started ended date datetime time timestamp at on epoch ts day unixtime
createdat updatedat startdate enddate starttime endtime datum zeit fecha hora heure jour
"""


def says_date(label: str) -> bool:
    """Whether the name of a column says that it holds dates or times."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    return not set(_DATE_WORDS.split()).isdisjoint(re.split(r"[\W_]+", words.lower()))
