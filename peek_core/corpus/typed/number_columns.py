"""Which convention a column of numbers follows, and what should be said about it.

Owns: the decision between decimal point and decimal comma, and what keeps numbers text: codes, mixed units. Refuses to
know how single values look (`local_numbers`).

A convention is a decimal sign and one sign for thousands. The one that wrote a column fits all its values, so a column
is converted where exactly one fits; where two fit and would give other numbers, that is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peek_core.corpus.names import quoted
from peek_core.corpus.typed import masks, types
from peek_core.corpus.typed.local_numbers import DECIMALS, Shape, each_sql, shape, sql
from peek_core.corpus.typed.masks import Mask, Seen
from peek_core.values.dataset import Doubt

_CODE_LABEL = re.compile(
    r"\b(?:phone|tel|telephone|mobile|fax|zip|postal|postcode|plz|iban|bic|siren|siret|vat|id|code|sku|ean|isbn|ip)\b"
)
_PLAIN = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_ZEROS = re.compile(r"[-+]?0[0-9]+(?:\.[0-9]+)?")
_PLUS = re.compile(r"\+[0-9]{4,}")
_LIKELY = 0.9
"""A column this full of local numbers is told of, even if it stays text."""
_EXACT, _LONGEST = 15, 18
"""Digits that a DOUBLE and a BIGINT hold for certain."""


def code_column(label: str, values: Sequence[str]) -> str | None:
    """Why a column of digits is one of codes such as 00501 or +4930, as a sentence; None if it is not."""
    signed = any(value.startswith("-") for value in values)
    code = ""
    for value in values:
        if _ZEROS.fullmatch(value) or (_PLUS.fullmatch(value) and not signed):
            code = code or value
        elif not _PLAIN.fullmatch(value):
            return None
    if not code:
        return None
    sign = "plus sign" if code[0] == "+" else "leading zeros"
    return f"{label}: kept as text, because codes such as {code} would lose their {sign}."


@dataclass(frozen=True)
class _Group:
    """Values of one mask, with what their bits add to the shape."""

    mask: Mask
    shape: Shape

    @property
    def open(self) -> bool:
        return self.shape.open and not self.mask.bits & masks.ZERO_POINT

    def fits(self, decimal: str) -> bool:
        if self.open:
            return True
        if self.shape.decimal:
            return self.shape.decimal == decimal
        return self.shape.thousands != decimal

    def thousands(self, decimal: str) -> str:
        """The sign between thousands when read with this decimal sign."""
        if self.shape.open and (not self.open or self.shape.decimal == decimal):
            return ""
        return self.shape.thousands

    def places(self, decimal: str) -> int:
        if not self.shape.open:
            return self.shape.places
        return self.shape.places if self.shape.decimal == decimal else 0


def decide(seen: Seen) -> types.Reading | None:
    """The reading of a column whose masks are mostly numbers; None where they are not."""
    groups = _groups(seen)
    total = masks.count(seen.others)
    if not groups or masks.count(g.mask for g in groups) < _LIKELY * total:
        return None
    marked = any(g.shape.unit or g.shape.sign == "()" or g.shape.thousands or g.shape.decimal == "," for g in groups)
    if len(groups) < len(seen.others):
        odd = [mask for mask in seen.others if mask not in [g.mask for g in groups]]
        if not marked:
            return None
        why = masks.some(odd, "is no number", "are no numbers")
        return types.text(seen.name, f"{seen.label}: kept as text, because {why}.", ways=(types.NUMBER, types.COMMA))
    if _is_code(seen, groups):
        return None
    refused = _units(groups)
    if refused:
        return _kept(seen, refused)
    return _convert(seen, groups)


def _groups(seen: Seen) -> list[_Group]:
    return [_Group(mask, found) for mask in seen.others if (found := shape(mask.text)) and not _zeros(mask, found)]


def _zeros(mask: Mask, found: Shape) -> bool:
    """Zeros in front that a number would lose: 007,5 and 0,123,456."""
    grouped = bool(found.thousands) and not found.open
    return bool(mask.bits & masks.ZERO_CODE) or (grouped and bool(mask.bits & masks.ZERO_POINT))


def _is_code(seen: Seen, groups: Sequence[_Group]) -> bool:
    shapes = [g.shape for g in groups]
    signed = any(s.unit or s.sign in ("()", "-", "5-") for s in shapes)
    if not signed and any(s.sign == "+" and (s.thousands == " " or (s.digits > 3 and not s.decimal)) for s in shapes):
        return True  # like a telephone number
    if signed:
        return False
    first = shapes[0]
    one_length = len({g.mask.text for g in groups}) == 1 and masks.count(g.mask for g in groups) > 1
    if (
        one_length
        and first.thousands in (" ", ".", "'")
        and first.groups > 1
        and not first.decimal
        and first.digits % 3 == 0
    ):
        return True  # such as 732 829 320 or 192.168.100.200
    plain_points = all(not s.thousands and s.decimal in ("", ".") for s in shapes)
    precise = any(g.mask.bits & masks.PRECISE or g.shape.places > 3 for g in groups)
    trailing = not precise and any(g.mask.bits & masks.LIKE_VERSION for g in groups)
    if plain_points and trailing and len({s.places for s in shapes if s.places}) > 1:
        return True  # 5.10 beside 5.9
    label = re.sub(r"[\W_]+", " ", seen.label.lower())
    settled = any(s.decimal and not s.open for s in shapes)
    return types.says_version(label) or (not settled and bool(_CODE_LABEL.search(label)))


def _units(groups: Sequence[_Group]) -> str:
    """Why the numbers cannot be put in one column; empty if they can."""
    units = sorted({g.shape.unit for g in groups if g.shape.unit})
    if len(units) > 1:
        return f"values have different units, {units[0].upper()} and {units[1].upper()}"
    if units == ["%"] and any(not g.shape.unit for g in groups):
        return "some values have a percent sign and others none"
    signs = {g.shape.sign for g in groups}
    if signs == {"()"}:
        return "all values stand in brackets, which may mean that they are negative"
    if signs == {"5-"}:
        return "all values end in a minus sign, which may mean that they are negative"
    return ""


def _kept(seen: Seen, why: str) -> types.Reading:
    doubt = Doubt(seen.where, f"Kept as text: {why}", "read it as numbers")
    return types.Reading(types.VARCHAR, quoted(seen.name), (), (doubt,), ways=(types.NUMBER, types.COMMA))


def _fitting(groups: Sequence[_Group], decimal: str) -> bool:
    """Whether all values fit the convention with one sign for thousands."""
    return all(g.fits(decimal) for g in groups) and len({t for g in groups if (t := g.thousands(decimal))}) <= 1


def _convert(seen: Seen, groups: Sequence[_Group]) -> types.Reading:
    fitting = [decimal for decimal in DECIMALS if _fitting(groups, decimal)]
    either = [g for g in groups if g.open]
    if not fitting:
        return _each(seen, groups, either)
    decimal = fitting[0]
    doubts: list[Doubt] = []
    if len(fitting) == 2 and either:
        decimal, sure = _open_decimal(seen, groups, either)
        if not decimal:
            why = f"in values such as “{_example(either)}” thousands and decimals cannot be told apart"
            return _kept(seen, why)
        if not sure:
            doubts.append(_either(seen, _example(either), decimal))
    places = max(g.places(decimal) for g in groups)
    digits = max(g.shape.digits for g in groups)
    if digits > (_EXACT if places else _LONGEST):
        return types.text(seen.name, f"{seen.label}: kept as text, because its longest numbers would be rounded.")
    kind = types.DOUBLE if places else types.BIGINT
    way = types.WHOLE if not places else types.COMMA if decimal == "," else types.NUMBER
    other = (types.NUMBER,) if not places else ()
    if len(fitting) == 2 and either:
        read_as_decimal = either[0].shape.decimal == decimal
        other = (types.WHOLE,) if read_as_decimal else (types.NUMBER if decimal == "," else types.COMMA,)
    return masks.reading(
        seen,
        kind,
        sql(seen.name, decimal, kind, sure=not any("9" in word.text for word in (*seen.words, *seen.missing))),
        way=way,
        ways=other,
        suffix="_number",
        assumptions=_assumed(seen, groups, decimal, bool(doubts)),
        doubts=[_always(doubt) for doubt in doubts],
    )


def _open_decimal(seen: Seen, groups: Sequence[_Group], either: Sequence[_Group]) -> tuple[str, bool]:
    """The decimal sign of a column where both fit, and whether that is sure; no sign where it cannot be told at all."""
    sign = either[0].shape.decimal
    if any(g.shape.decimal != sign for g in either):
        return "", False
    elsewhere = "".join(seen.decimals)
    if elsewhere == ",":
        return ",", True
    if sign == ",":
        # Three digits behind a comma, in every number from a thousand on: so people write thousands.
        if elsewhere == "." or _shortened(groups):
            return ".", True
        return ("." if _grouped(groups) else ""), not seen.european
    if not _grouped(groups):
        return ".", True
    # Machines write decimal points, so a lone point is one unless money or left-out zeros speak against it.
    money = any(g.shape.unit not in ("", "%") for g in groups)
    return (",", False) if money or _shortened(groups) or seen.dots or seen.european else (".", True)


def _grouped(groups: Sequence[_Group]) -> bool:
    """Whether all numbers from a thousand on have a sign between thousands."""
    return all(g.shape.thousands or g.shape.digits <= 3 for g in groups)


def signs(seen: Seen) -> tuple[str, bool]:
    """The decimal sign that the column surely has, if any; and whether points seem to stand between its thousands."""
    groups = _groups(seen)
    if not groups or len(groups) < len(seen.others) or _is_code(seen, groups):
        return "", False
    fitting = [decimal for decimal in DECIMALS if _fitting(groups, decimal)]
    either = {g.shape.decimal for g in groups if g.open}
    if len(fitting) == 1:
        return fitting[0], False
    short = len(either) == 1 and _grouped(groups) and _shortened(groups)
    return ("." if short and "," in either else ""), short and "." in either


def _always(doubt: Doubt) -> Callable[[str], Doubt]:
    return lambda name: doubt


def _shortened(groups: Sequence[_Group]) -> bool:
    """850 beside 2,500: whoever leaves out zeros at the end does not write the second, so it means thousands."""
    return any(g.mask.bits & masks.TRAILING for g in groups) and any(not g.shape.decimal for g in groups)


def _either(seen: Seen, example: str, decimal: str) -> Doubt:
    sign = "comma" if "," in example else "point"
    read, other = value(example, decimal), value(example, "," if decimal == "." else ".")
    means = "a sign between thousands" if (sign == "comma") == (decimal == ",") else "a decimal sign"
    return Doubt(
        seen.where,
        f"“{example}” was read as {_say(read)}, but its {sign} could be {means}",
        f"read it as {_say(other)}",
    )


def _each(seen: Seen, groups: Sequence[_Group], either: Sequence[_Group]) -> types.Reading:
    """Values that follow different conventions: each by itself in a column beside, if each can be read by itself."""
    points = [g for g in groups if not g.open and not g.fits(",")]
    commas = [g for g in groups if not g.open and not g.fits(".")]
    shown = [f"“{_example(some)}”" for some in (points, commas) if some]
    mixed = f"numbers are written in different ways, such as {' and '.join(shown)}" if shown else "numbers are mixed"
    if either or max(g.shape.digits for g in groups) > _EXACT:
        return _kept(seen, mixed)
    return masks.reading(
        seen,
        types.DOUBLE,
        each_sql(seen.name),
        way=types.NUMBER,
        ways=(types.COMMA,),
        suffix="_number",
        doubts=(
            lambda name: Doubt(
                seen.where,
                f"{mixed[0].upper()}{mixed[1:]}; {name} reads each by its own separators",
                "keep the text only",
            ),
        ),
        beside=True,
    )


def _example(groups: Sequence[_Group]) -> str:
    """The value that shows most: in brackets, negative, or long."""
    best = max(groups, key=lambda g: (g.shape.sign == "()", g.shape.sign in ("-", "5-"), len(g.mask.text), g.mask.text))
    return best.mask.high.strip()


def value(text: str, decimal: str) -> float:
    """One value by a convention, for sentences."""
    negative = any(sign in text for sign in "-\u2212(")
    core = re.search(r"[.,]?[0-9][0-9., '\u2019\u00a0\u202f\u2009]*", text)
    assert core is not None
    digits = re.sub(rf"[^0-9{decimal}]", "", core[0]).replace(",", ".")
    return -float(digits) if negative else float(digits)


def _say(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _assumed(seen: Seen, groups: Sequence[_Group], decimal: str, doubted: bool) -> list[str]:
    shapes = [g.shape for g in groups]
    units = {s.unit for s in shapes} - {""}
    signs = {s.sign for s in shapes}
    named = [
        (any(g.thousands(decimal) for g in groups) and not doubted, "signs between thousands"),
        (decimal == "," and any(g.places(decimal) for g in groups) and not doubted, "decimal commas"),
        (bool(units - {"%"}), "currency signs"),
        ("%" in units, "percent signs"),
        ("()" in signs, "brackets"),
        ("5-" in signs, "minus signs at the end"),
        ("+" in signs, "plus signs"),
    ]
    rules = [rule for applies, rule in named if applies]
    if not rules:
        return []
    listed = f"{', '.join(rules[:-1])} and {rules[-1]}" if len(rules) > 1 else rules[0]
    example = _example(groups)
    read = value(example, decimal)
    shown = read if any(g.places(decimal) for g in groups) else int(read)
    points = " in percent points" if "%" in units else ""
    return [f"{seen.label}: {listed} read as numbers{points}, e.g. “{example}” is {shown}."]
