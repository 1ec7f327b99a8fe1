"""What a question was understood to ask.

Owns: the reading as a value, its words (as a description and as a question that reads back to it).
Refuses to know: how a question is parsed, SQL, and the data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peek_core.providers.builtin.periods import Period
from peek_core.values.canon import clean_text

COMPARE = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}
NAMES = {"avg": "average", "median": "median", "sum": "total", "min": "minimum", "max": "maximum", "score": "score"}
Rule = Mapping[str, Any]
"""A definition as data, or a `vocabulary`, `meaning` or `keep` rule that only this analyst uses."""


@dataclass(frozen=True)
class Filter:
    """One condition on one column. op: in, not in, null, not null, >=, <=, >, <, between, contains."""

    column: str
    op: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Measure:
    """What is worked out. `part` is a share's numerator (or a score's promoters), `minus` a score's detractors."""

    kind: str
    column: str = ""
    part: tuple[Filter, ...] = ()
    minus: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class Reading:
    """A question, completely understood. `pick` asks for the first group's name; `base` is what was narrowed."""

    table: str
    measure: Measure
    filters: tuple[Filter, ...] = ()
    period: Period | None = None
    time: str = ""
    groups: tuple[tuple[str, str], ...] = ()
    order: str = ""
    limit: int | None = None
    pick: bool = False
    base: tuple[Filter, ...] | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the reading uses, once."""
        used = [f.column for f in (*self.filters, *self.measure.part, *self.measure.minus)]
        return tuple(dict.fromkeys([c for c in (*used, self.measure.column, *(g[0] for g in self.groups)) if c]))


def _filters(data: Any) -> tuple[Filter, ...]:
    return tuple(Filter(f["column"], f["op"], tuple(f["values"])) for f in data)


def load(data: Any) -> Reading | None:
    """A reading back from JSON; None if it is not one."""
    try:
        m, p = data["measure"], data["period"]
        return Reading(
            data["table"],
            Measure(m["kind"], m["column"], _filters(m["part"]), _filters(m["minus"])),
            _filters(data["filters"]),
            Period(p["start"], p["end"], p["phrase"], p["grain"]) if p else None,
            data["time"],
            tuple((g[0], g[1]) for g in data["groups"]),
            data["order"],
            data["limit"],
            data["pick"],
            _filters(data["base"]) if data["base"] is not None else None,
            tuple(data["rules"]),
        )
    except (KeyError, TypeError, IndexError):
        return None


def number(value: Any) -> str:
    """A figure for people: thousands commas, at most two decimals, none for whole numbers."""
    if value is None:
        return "none"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return clean_text(str(value))[:60]


def quoted(value: Any) -> str:
    """A value as a short literal: text in single quotes, numbers bare."""
    return "'" + clean_text(value)[:60].replace("'", "''") + "'" if isinstance(value, str) else str(value)


def describe(f: Filter) -> str:
    """The condition in words; the form map items use (`parse_condition` reads it back)."""
    if f.op in ("in", "not in"):
        return f"{f.column} is {'not ' if f.op == 'not in' else ''}{' or '.join(quoted(v) for v in f.values)}"
    if f.op == "between":
        return f"{f.column} is from {f.values[0]} to {f.values[1]}"
    if f.op == "contains":
        return f"{f.column} contains {quoted(f.values[0])}"
    return (
        f"{f.column} is "
        f"{'missing' if f.op == 'null' else 'given' if f.op == 'not null' else COMPARE[f.op] + ' ' + str(f.values[0])}"
    )


def parse_condition(text: str) -> Filter | None:
    """A condition from the words of `describe`; None for anything else."""

    def value(raw: str) -> Any:
        return raw[1:-1].replace("''", "'") if raw.startswith("'") else float(raw) if "." in raw else int(raw)

    literal = r"(?:'(?:[^']|'')*'|-?\d+(?:\.\d+)?)"
    if m := re.fullmatch(rf"(.+?) is ({literal}(?: or {literal})*)", text):
        return Filter(m[1], "in", tuple(value(v) for v in re.findall(literal, m[2])))
    if m := re.fullmatch(rf"(.+?) is from ({literal}) to ({literal})", text):
        return Filter(m[1], "between", (value(m[2]), value(m[3])))
    for op, words in COMPARE.items():
        if m := re.fullmatch(rf"(.+?) is {words} ({literal})", text):
            return Filter(m[1], op, (value(m[2]),))
    return None


def _with(f: Filter) -> str:
    name = f.column.replace("_", " ")
    said = " or ".join(
        v if isinstance(v, str) and re.fullmatch(r"[\w &/.-]+", v) else f'"{v}"' if isinstance(v, str) else str(v)
        for v in f.values
    )
    if f.op == "between":
        return f" with {name} between {f.values[0]} and {f.values[1]}"
    if f.op == "contains":
        return f' mentioning "{f.values[0]}"'
    words = {
        "in": f" with {name} {said}",
        "not in": f" excluding {name} {said}",
        "null": f" without {name}",
        "not null": f" with {name}",
    }
    return words.get(f.op) or f" with {name} {COMPARE[f.op]} {said}"


def say(r: Reading) -> str:
    """The reading as a whole question; callers keep it only if it reads back."""
    noun, m = r.table.replace("_", " "), r.measure
    noun = noun if noun.endswith(("s", "feedback")) else "rows"
    name, rest = m.column.replace("_", " "), "".join(_with(f) for f in r.filters)
    if m.kind == "share":
        part = "".join(_with(f) for f in m.part)
        head = f"What share of {noun}{rest} {'has' + part[5:] if part.startswith(' with ') else 'is' + part}"
    elif r.pick and m.kind == "count" and r.groups:
        most = "fewest" if r.order == "asc" else "most"
        return (
            f"Which {r.groups[0][1] or r.groups[0][0].replace('_', ' ')} has the {most} "
            f"{noun}{rest}{f' {r.period.phrase}' if r.period else ''}?"
        )
    else:
        heads = {
            "count": f"How many {noun}",
            "distinct": f"How many different {name}",
            "list": f"List the {noun}",
            "score": f"What is the {name} score",
        }
        head = heads.get(m.kind, f"What is the {NAMES.get(m.kind, '')} {name}") + rest
    groups = "".join(
        f" {'per' if not i else 'and'} {grain or column.replace('_', ' ')}"
        for i, (column, grain) in enumerate(r.groups)
    )
    return f"{head}{f' {r.period.phrase}' if r.period else ''}{groups}?"
