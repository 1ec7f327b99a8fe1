"""The reading of a column whose values have no plain shape, from the masks of all of them; and a person's choice.

Owns: which columns are worth that look, what one value proves (as SQL), the order of the attempts, and following a
choice. Refuses to know sources and scans (`columns` runs them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import counted_times, date_columns, local_dates, local_numbers, masks, number_columns, types
from peek_core.corpus.typed.masks import Seen
from peek_core.values.dataset import Doubt

_ORDERS = (types.DAY_FIRST, types.MONTH_FIRST, types.YEAR_FIRST)
_COUNTS = (types.SECONDS, types.MILLISECONDS, types.EXCEL, types.COMPACT)
_WORDS = 3
_SHARE_OF_WORDS = 0.2
_WORTH = 0.5
"""A sample this full of dates and numbers is worth the look at all values."""


def says_something(mask: str) -> bool:
    """Whether values of a mask may be numbers or dates."""
    return bool(local_numbers.shape(mask) or local_dates.shape(mask) or local_dates.has_offset(mask))


def worth(values: Iterable[str]) -> bool:
    """Whether a sample of a column without plain shapes is mostly numbers and dates."""
    found = Counter(masks.of(value) for value in values)
    return sum(n for mask, n in found.items() if says_something(mask)) >= _WORTH * found.total() > 0


def worth_leftovers(values: Sequence[str], *, words: bool) -> bool:
    """Whether values that broke the plain shapes of a column may be numbers or dates, or `words` in their place."""
    found = [masks.of(value) for value in values]
    return bool(found) and all(says_something(mask) or (words and not masks.has_digit(mask)) for mask in found)


def worth_numbers(plain: types.Reading, label: str, values: Sequence[str]) -> bool:
    """Whether plain numbers may count time, or have points between thousands."""
    if plain.type not in (types.BIGINT, types.DOUBLE):
        return False
    return counted_times.may_count(label, values) or (plain.type == types.DOUBLE and ambiguous_points(values))


def ambiguous_points(values: Iterable[str]) -> bool:
    """Whether plain decimals may be thousands: every point stands before three digits, as in 1.234 and 850."""
    shapes = [(value, local_numbers.shape(masks.of(value))) for value in values]
    points = [(value, shape) for value, shape in shapes if shape and shape.decimal]
    small = all(shape and (shape.decimal or shape.digits <= 3) for _, shape in shapes)
    return small and bool(points) and all(shape.open and value.lstrip("-")[0] != "0" for value, shape in points)


@dataclass(frozen=True)
class Wanted:
    """What is to be looked for in a column: numbers, times with a zone, and dates of some shapes."""

    numbers: bool
    zones: bool
    dates: frozenset[local_dates.Shape]

    def covers(self, other: Wanted) -> bool:
        """Whether nothing of `other` would be missed."""
        return self.numbers >= other.numbers and self.zones >= other.zones and self.dates >= other.dates

    def bits_sql(self, s: str) -> tuple[dict[str, str], str]:
        """What one value proves: the bits of `masks`, over helper expressions, which come first, by name.

        `s` is the name of a normal text.
        """
        helpers, bits = local_dates.bits_sql(s, self.dates, zone=self.zones)
        if self.numbers:
            bits += [*local_numbers.bits_sql(s), counted_times.bits_sql(s)]
        return helpers, " | ".join(f"({bit})" for bit in (*bits, "0"))


def wanted(found: Iterable[str]) -> Wanted:
    """What values of these masks may be."""
    some = set(found)
    return Wanted(
        any(local_numbers.shape(mask) for mask in some),
        any(local_dates.has_offset(mask) for mask in some),
        frozenset(shape for mask in some if (shape := local_dates.shape(mask))),
    )


def decide(seen: Seen, plain: types.Reading) -> types.Reading:
    """The reading of a column from all its masks. `plain` is what it is without them."""
    if plain.type != types.VARCHAR:
        counted = counted_times.decide(seen, plain)
        if counted is not None:
            return counted
        number = number_columns.decide(seen)
        return number if number is not None and (number.doubts or number.type != plain.type) else plain
    said = masks.count(seen.words) + masks.count(seen.others)
    if len(seen.words) > _WORDS or masks.count(seen.words) > _SHARE_OF_WORDS * said:
        seen = replace(seen, others=(*seen.others, *seen.words), words=())
    if not seen.others:
        return plain
    return date_columns.decide(seen) or number_columns.decide(seen) or plain


def signs(columns: Iterable[Seen]) -> tuple[frozenset[str], bool]:
    """Decimal signs that some columns of a table surely have, and whether points seem to stand between thousands."""
    found = [number_columns.signs(seen) for seen in columns]
    return frozenset(sign for decimal, _ in found for sign in decimal), any(dots for _, dots in found)


@dataclass(frozen=True)
class Conversion:
    """How a chosen way converts a column."""

    type: str
    sql: str
    suffix: str
    said: str


_TRUE, _FALSE = "('true', 't', 'yes', 'y', '1')", "('false', 'f', 'no', 'n', '0')"


def conversion(seen: Seen, way: str) -> Conversion:
    """The conversion for any way but text."""
    column = seen.name
    c = f"trim({quoted(column)})"
    if way == types.WHOLE:
        return Conversion(types.BIGINT, local_numbers.whole_sql(column), "_number", "as number")
    if way in (types.NUMBER, types.COMMA):
        made = local_numbers.sql(column, "," if way == types.COMMA else ".", types.DOUBLE)
        if way == types.NUMBER:
            made = f"CASE WHEN {types.decimal_sql(c)} THEN TRY_CAST({c} AS DOUBLE) ELSE {made} END"
        return Conversion(types.DOUBLE, made, "_number", "as number")
    if way == types.TRUTH:
        made = f"CASE WHEN lower({c}) IN {_TRUE} THEN true WHEN lower({c}) IN {_FALSE} THEN false END"
        return Conversion(types.BOOLEAN, made, "_true", "as true or false")
    if way == types.OFFSET_TIME:
        return Conversion(types.TIMESTAMP, local_dates.utc_sql(column), "_utc", "as UTC time")
    if way in _COUNTS:
        kind, made = counted_times.sql(column, way)
        if way == types.EXCEL and not any("." in mask.text for mask in seen.others):
            kind, made = types.DATE, f"CAST({made} AS DATE)"
        return Conversion(kind, made, *(("_date", "as date") if kind == types.DATE else ("_time", "as time")))
    shapes = {shape for mask in seen.others if (shape := local_dates.shape(mask.text))}
    clock = any(shape.clock for shape in shapes)
    kind = types.TIMESTAMP if clock else types.DATE
    suffix = "_time" if clock else "_date"
    return Conversion(kind, local_dates.sql(column, way, kind, shapes), suffix, "as time" if clock else "as date")


def settled(found: types.Reading, way: str, seen: Seen) -> types.Reading | None:
    """The choice of the way that was found anyway, or of text; None where values must be checked for it."""
    said = types.chosen_said(seen.label, way)
    if way == types.TEXT:
        others = tuple(other for other in (found.way, *found.ways) if other != types.TEXT)
        return types.text(seen.name, *([said] if others else []), ways=others)
    if way == found.way and not (found.lost and way in _ORDERS):
        if found.lost or not found.doubts:
            return found
        return replace(found, assumptions=(*found.assumptions, said), doubts=())
    return None


def follow(found: types.Reading, way: str, made: Conversion, seen: Seen, unfit: int, example: str) -> types.Reading:
    """The reading by a chosen way that `unfit` values do not fit, one of them is `example`.

    Dates whose order cannot be told stay beside their text, so that choosing the order changes no column's name.
    """
    ways = tuple(dict.fromkeys(other for other in (found.way, *found.ways, types.TEXT) if other != way))
    said = (types.chosen_said(seen.label, way),)
    apart = found.beside is not None and found.way in _ORDERS and way in _ORDERS
    if not (unfit or apart or way == types.OFFSET_TIME):
        return types.Reading(made.type, made.sql, said, (), way, ways)
    name = seen.beside(made.suffix)
    doubts: tuple[Doubt, ...] = ()
    if unfit:
        shown = f"1 value (“{example}”)" if unfit == 1 else f"{unfit:,} values such as “{example}”"
        what = f"{shown} cannot be read as {way}; empty in {name}"
        doubts = (Doubt(seen.where, what, "choose another way"),)
    extra = types.Beside(name, made.type, made.sql, made.said)
    return types.Reading(types.VARCHAR, quoted(seen.name), said, doubts, way, ways, extra, unfit)
