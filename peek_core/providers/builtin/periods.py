"""Stretches of time in a question.

Owns: the period grammar, and what "last month" or "in May" means given today and the range of the data.
Refuses to know: columns, SQL, and everything in a question that is not a date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_M = "(?:" + "|".join(f"{m}|{m[:3]}" for m in _MONTHS) + "|sept)"
_ORD = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_DAY = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_M}(?:,? \d{{4}})?|{_M} "
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)\b"
)
_QUARTER = r"(?:the )?(?:q[1-4]|(?:first|second|third|fourth) quarter)(?:,?(?: of)? \d{4})?\b"
_POINT = rf"(?:{_DAY}|{_QUARTER}|{_M}\b(?:,?(?: of)? \d{{4}}\b)?|(?:19|20)\d\d\b(?![-.]))"
_IN = r"(?:in|during|for|of|from|on|over|within)"
_GRAIN = "(day|week|month|quarter|year)"
_FORMS = (
    ("days", re.compile(rf"\b(?:from|between) (\d{{1,2}})(?:st|nd|rd|th)? (?:to|and|until|through|-) ({_DAY})")),
    ("range", re.compile(rf"\b(?:from|between) ({_POINT}) (?:to|and|until|through|till) ({_POINT})")),
    ("open", re.compile(rf"\b(since|starting in|before|until|after) ({_POINT})")),
    ("last n", re.compile(rf"\b(?:{_IN} )?(?:the )?(?:last|past|previous) (\d{{1,3}}) {_GRAIN}s\b")),
    ("relative", re.compile(rf"\b(?:{_IN} )?(?:the )?(last|past|previous|this|current) {_GRAIN}\b")),
    ("near", re.compile(r"\b(today|yesterday)\b")),
    ("point", re.compile(rf"\b(?:{_IN} )({_POINT})|({_DAY}|{_QUARTER}|{_M},?(?: of)? \d{{4}}\b)")),
)


@dataclass(frozen=True)
class Period:
    """Days from `start` up to but not including `end` (ISO; empty: open). `phrase` says it so that it reads back."""

    start: str
    end: str
    phrase: str
    grain: str = ""


def add(grain: str, day: date, n: int) -> date:
    """`day`, the first of its unit, moved by n units."""
    if grain in ("day", "week"):
        return day + timedelta(days=n * (7 if grain == "week" else 1))
    months = day.year * 12 + day.month - 1 + n * {"month": 1, "quarter": 3, "year": 12}[grain]
    return date(months // 12, months % 12 + 1, 1)


def unit(grain: str, day: date, n: int = 0) -> Period:
    """The unit that holds `day`, moved by n units."""
    floor = {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "quarter": date(day.year, (day.month - 1) // 3 * 3 + 1, 1),
        "year": date(day.year, 1, 1),
    }[grain]
    start = add(grain, floor, n)
    names = {
        "month": f"in {_MONTHS[start.month - 1].title()} {start.year}",
        "quarter": f"in Q{(start.month + 2) // 3} {start.year}",
        "year": f"in {start.year}",
        "day": f"on {start}",
    }
    return between(start, add(grain, start, 1), grain, names.get(grain, ""))


def between(start: date, end: date, grain: str = "", phrase: str = "") -> Period:
    """A closed stretch; `end` is the first day after it."""
    return Period(str(start), str(end), phrase or f"from {start} to {end - timedelta(days=1)}", grain)


def before(period: Period) -> Period | None:
    """The unit just before, or None for a stretch that is no whole unit."""
    return unit(period.grain, date.fromisoformat(period.start), -1) if period.grain and period.start else None


def _point(text: str, first: date, last: date) -> Period:
    """One named day, month, quarter or year; without a year, the latest one that the data reaches."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return unit("day", date.fromisoformat(text))
    year = re.search(r"\b(\d{4})\b", text)
    month = next((i for i, m in enumerate(_MONTHS, 1) if re.search(rf"\b{m[:3]}", text)), 0)
    quarter = re.search(r"q([1-4])|(first|second|third|fourth)", text)
    if not month and not quarter:
        return unit("year", date(int(text), 1, 1))
    number = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", text) if month else None
    if quarter and not month:
        month = 3 * (int(quarter[1]) if quarter[1] else _ORD[quarter[2]]) - 2
    grain = "day" if number else "month" if not quarter else "quarter"
    day = int(number[1]) if number else 1
    if year:
        return unit(grain, date(int(year[1]), month, day))
    known = [unit(grain, date(y, month, day)) for y in range(last.year, first.year - 1, -1)]
    return next((p for p in known if p.start <= str(last) and p.end > str(first)), known[0])


def _read(form: str, m: re.Match[str], today: date, first: date, last: date) -> Period:
    if form == "days":
        end = _point(m[2], first, last)
        return between(date.fromisoformat(end.start).replace(day=int(m[1])), date.fromisoformat(end.end))
    if form == "range":
        end = _point(m[2], first, last)
        start = _point(m[1], first, date.fromisoformat(end.start))
        return between(date.fromisoformat(start.start), date.fromisoformat(end.end))
    if form == "open":
        point = _point(m[2], first, last)
        if m[1] in ("before", "until"):
            edge = point.start if m[1] == "before" else point.end
            return Period("", edge, f"before {edge}")
        edge = point.end if m[1] == "after" else point.start
        return Period(edge, "", f"since {edge}")
    if form == "last n":
        end_day = today + timedelta(days=1) if m[2] == "day" else date.fromisoformat(unit(m[2], today).start)
        return between(add(m[2], end_day, -int(m[1])), end_day)
    if form == "relative":
        return unit(m[2], today, 0 if m[1] in ("this", "current") else -1)
    if form == "near":
        return unit("day", today, 0 if m[1] == "today" else -1)
    return _point(m[1] or m[2], first, last)


def extract(text: str, today: date, first: date, last: date) -> tuple[str, list[Period]]:
    """The lower-case text with every period replaced by `P0`, `P1` …, and the periods. Impossible dates stay words."""
    found: list[Period] = []
    for form, pattern in _FORMS:

        def put(m: re.Match[str], form: str = form) -> str:
            try:
                found.append(_read(form, m, today, first, last))
            except (ValueError, OverflowError, IndexError):
                return m[0]
            return f" P{len(found) - 1} "

        text = pattern.sub(put, text)
    return text, found
