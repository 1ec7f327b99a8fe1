"""The ways a text can be read as a date: a closed list, or a format of known directives.

Owns: which readings there are and their SQL. Refuses to know: which one is right for a column.
"""

from __future__ import annotations

import re

from sqlglot import exp

WAYS = ("day first", "month first", "year first", "ISO")
TYPES = ("DATE", "TIMESTAMP")
_PARTS = {"day first": "%d{s}%m{s}{y}", "month first": "%m{s}%d{s}{y}", "year first": "{y}{s}%m{s}%d"}
_TIMES = ("", " %H:%M", " %H:%M:%S")
_DIRECTIVE = re.compile(r"%[dmYybBHIMSp]")
_FORMAT = re.compile(r"(?:%[dmYybBHIMSp]|[ ./,:_T-]){2,40}")
_NEEDED = ({"%d"}, {"%m", "%b", "%B"}, {"%Y", "%y"})


def refusal(reading: str, type: str) -> str | None:
    """Why this can't be a reading, None when it can."""
    if type not in TYPES:
        return f"a date reading makes DATE or TIMESTAMP, not {type[:30]!r}"
    if reading in WAYS:
        return None
    if not _FORMAT.fullmatch(reading):
        return f"{reading[:40]!r} is no way to read dates: {', '.join(WAYS)}, or a format like %d.%m.%Y"
    directives = _DIRECTIVE.findall(reading)
    if any(len(need.intersection(directives)) != 1 for need in _NEEDED) or len(set(directives)) < len(directives):
        return f"the format {reading} must name day, month and year once"
    return None


def read(value: exp.Expr, reading: str, type: str) -> exp.Expr:
    """SQL that reads a text; NULL where it can't be read so."""
    if reading == "ISO":
        return exp.TryCast(this=value, to=exp.DataType.build(type))
    formats = exp.Array(expressions=[exp.Literal.string(f) for f in _formats(reading)])
    # By name and not as sqlglot's own node: that one would translate the formats.
    return exp.cast(exp.Anonymous(this="try_strptime", expressions=[value, formats]), type)


def _formats(reading: str) -> list[str]:
    """Two-digit years come first: %Y would take 24 for the year 24."""
    if reading not in _PARTS:
        return [reading]
    days = [_PARTS[reading].format(s=s, y=y) for s in ".-/ " for y in ("%y", "%Y")]
    return [day + time for time in _TIMES for day in days]
