"""Modifiers: the parts of a question that narrow, group or order what its head asks for.

Owns: filters, periods, groups and orders over a pattern; the rule that no word may be left. Refuses to know: heads,
SQL, rows, and how words were linked.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from peek_core.providers.builtin.linking import Linked, Mention, number_of, value_of
from peek_core.providers.builtin.reading import Filter, Reading
from peek_core.providers.builtin.rules import spec
from peek_core.providers.builtin.world import World

_PRE = r"(?:from|in|for|with|by|of|among|on|at|through|via|is|whose|where|that|and|came|,)"
COMPARED = {
    "at least": ">=",
    "no less than": ">=",
    "at most": "<=",
    "no more than": "<=",
    "more than": ">",
    "above": ">",
    "over": ">",
    "greater than": ">",
    "higher than": ">",
    "less than": "<",
    "below": "<",
    "under": "<",
    "lower than": "<",
}
_TOPIC = {
    "topic",
    "category",
    "reason",
    "theme",
    "subject",
    "product",
    "agent",
    "person",
    "employee",
    "area",
    "feature",
    "issue",
    "type",
    "reporter",
    "assignee",
}
_GROUP = r"(?P<g>[CG]\d+)(?:(?: and| by| x|,)(?: per| by| each)? (?P<g2>[CG]\d+))?"


class NoReading(Exception):
    """The question is not wholly understood; says which words are left."""


class Modifiers:
    """Reads modifiers of one table's questions."""

    def __init__(self, world: World, linked: Linked) -> None:
        self.world, self.mentions, self.pattern = world, linked.mentions, linked.pattern

    def _at(self, token: str | None) -> Mention:
        return self.mentions[int(str(token)[1:] if str(token)[0].isalpha() else str(token))]

    def _given(self, token: str) -> Filter:
        m = self._at(token)
        if m.kind == "T" and m.filter:
            return m.filter
        return Filter(m.column, "not null")

    def _time(self) -> str:
        times = self.world.times
        named = (
            [c for c in times if re.search(r"creat|submit|receiv|date$|^date|opened|posted|sent", c, re.IGNORECASE)]
            if len(times) > 1
            else times
        )
        return named[0] if len(named) == 1 else ""

    def _fail(self, left: str) -> Any:
        raise NoReading(left)

    def _needs_time(self, r: Reading) -> str:
        return r.time or self._fail("which date column is meant")

    def _key(self, token: str, r: Reading) -> tuple[str, str]:
        m = self._at(token)
        return (self._needs_time(r), m.text) if m.kind == "G" else (m.column, "")

    def _value(self, token: str) -> Filter:
        found = value_of(self._at(token))
        if not found:
            columns = " and ".join(c for c, _ in self._at(token).options)
            raise NoReading(f"“{self._at(token).text}”, which is a value of {columns}")
        return Filter(found[0], "in", found[1])

    def _yes(self, column: str) -> Filter | None:
        """The filter a yes/no column makes of its mere name."""
        if self.world.columns[column]["type"] == "BOOLEAN":
            return Filter(column, "in", (True,))
        values = {v.casefold(): v for v in self.world.listed(column) or ()} if self.world.is_text(column) else {}
        yes = [v for k, v in values.items() if k in ("yes", "y", "true")]
        return Filter(column, "in", tuple(yes)) if yes and len(values) <= 3 else None

    def mods(self, r: Reading, rest: str) -> Reading:
        """The reading changed by each modifier in turn until no word is left."""
        rest = rest.strip()
        while rest:
            for pattern, act in MODIFIERS:
                if (m := pattern.match(rest)) and (new := act(self, r, m)):
                    r, rest = new, rest[m.end() :].strip()
                    break
            else:
                raise NoReading(re.sub(r"\b[CVTRNPGX]\d+", lambda t: self._at(t[0]).text, rest))
        return r

    def _filter(self, r: Reading, f: Filter | None) -> Reading | None:
        return replace(r, filters=(*r.filters, f)) if f and f not in r.filters else r if f else None

    def _add_value(self, r: Reading, m: re.Match[str]) -> Reading | None:
        f = self._value(m["v"])
        if "about" in m[0] and not {*f.column.lower().split("_")} & _TOPIC:
            return None
        if m["p"] is not None and "with" not in m[0] and any(v.lower().endswith("ed") for v in f.values):
            raise NoReading(f"which date “{self._at(m['v']).text}” speaks of")
        return self._filter(r, replace(f, op="not in") if m["not"] else f)

    def _add_compare(self, r: Reading, m: re.Match[str]) -> Reading | None:
        column = self._at(m["c"]).column
        words = re.sub(
            r"\bor higher|or up|and above|and up|or above\b",
            "or more",
            re.sub(r"\bor lower|or below|and below\b", "or less", m["s"]),
        )
        if not self.world.is_number(column):
            return None
        for phrase, op in COMPARED.items():
            if one := re.fullmatch(rf"{phrase} N(\d+)", words):
                return self._filter(r, Filter(column, op, (number_of(self._at(one[1])),)))
        return self._filter(r, spec(re.sub(r"^between (N\d+) and", r"\1 to", words), column, self.mentions))

    def _add_group(self, r: Reading, m: re.Match[str]) -> Reading:
        keys = tuple(self._key(g, r) for g in (m["g"], m["g2"]) if g)
        return (
            replace(r, groups=(*r.groups, *keys))
            if len(r.groups) + len(keys) <= 2
            else self._fail("more than two groups")
        )

    def _add_period(self, r: Reading, m: re.Match[str]) -> Reading | None:
        time = self._at(m[1]).column if m[1] else self._needs_time(r)
        if r.period or time not in self.world.times:
            return None
        return replace(r, period=self._at(m[2]).period, time=time)

    def _add_no(self, r: Reading, m: re.Match[str]) -> Reading | None:
        c = self.world.columns[self._at(m[1]).column]
        if c["type"] == "BOOLEAN":
            return self._filter(r, Filter(c["name"], "in", (False,)))
        no = [
            v
            for v in (self.world.listed(c["name"]) or () if self._yes(c["name"]) else ())
            if v.casefold() in ("no", "n", "false")
        ]
        return self._filter(r, Filter(c["name"], "in", tuple(no))) if no else None

    def _add_yes(self, r: Reading, m: re.Match[str]) -> Reading | None:
        yes = self._yes(self._at(m[1]).column)
        if yes and m["p"] is not None and yes.column.endswith("ed"):
            raise NoReading(f"which date “{self._at(m[1]).text}” speaks of")
        return self._filter(r, yes)

    def _add_null(self, r: Reading, m: re.Match[str]) -> Reading | None:
        c = self.world.columns[self._at(m[1]).column]
        if self.world.is_number(c["name"]) and not c["nulls"]:
            raise NoReading(f"whether a missing {c['name']} is meant or zero")
        return self._filter(r, Filter(c["name"], "null"))

    def _add_newest(self, r: Reading, m: re.Match[str]) -> Reading | None:
        column = self._at(m[2]).column
        values = list(self.world.listed(column) or ()) if self.world.is_text(column) else []
        if not values or not all(re.fullmatch(r"\d+(\.\d+)*", v) for v in values):
            return None
        ranked = sorted(values, key=lambda v: [int(x) for x in v.split(".")])
        return self._filter(r, Filter(column, "in", (ranked[0 if m[1] == "oldest" else -1],)))

    def _add_order(self, r: Reading, m: re.Match[str]) -> Reading | None:
        word = {
            "oldest": "oldest",
            "newest": "newest",
            "lowest": "asc",
            "worst": "asc",
            "smallest": "asc",
            "fewest": "asc",
        }.get(m[1], "desc")
        return replace(r, order=word) if len(r.groups) == 1 else None

    def _add_search(self, r: Reading, m: re.Match[str]) -> Reading | None:
        texts = [c for c, d in self.world.columns.items() if d["free_text"]]
        return self._filter(r, Filter(texts[0], "contains", (self._at(m[1]).text,))) if len(texts) == 1 else None

    def _not_asked(self, r: Reading, m: re.Match[str]) -> Reading | None:
        column = self._at(m[1]).column
        on = any(
            d["kind"] == "sentinel" and d["column"] == column and d.get("state") == "on" for d in self.world.definitions
        )
        return self._filter(r, Filter(column, "null")) if on else None

    def pattern_words(self) -> str:
        """The question's own words."""
        return re.sub(r"\b[CVTRNPGX]\d+", lambda t: self._at(t[0]).text, self.pattern)


MODIFIERS: tuple[tuple[re.Pattern[str], Any], ...] = tuple(
    (re.compile(p), act)
    for p, act in (
        (rf"(?:{_PRE} )*(?:not ask(?:ed)?) (?:for )?C(\d+)\b", Modifiers._not_asked),
        (
            (
                rf"(?:{_PRE} |about )*(?P<not>(?:excluding|except|other than|outside|not counting|not|"
                rf"without)(?: for| from| in| with| is| R\d+)* )?V(?P<v>\d+)(?: R\d+)?(?P<p>(?= P\d))?\b"
            ),
            Modifiers._add_value,
        ),
        (
            (
                rf"(?:{_PRE} )*C(?P<c>\d+)(?: of| is)* (?P<s>(?:{'|'.join(COMPARED)}) N\d+|between N\d+ "
                rf"and N\d+|N\d+ to N\d+|N\d+(?: (?:or (?:more|less|higher|lower|above|below|up)|and "
                rf"(?:above|below|up)))|N\d+(?:(?:,| or|, or) N\d+)*)(?![\w])"
            ),
            Modifiers._add_compare,
        ),
        (r"(?:[a-z]+ )??(newest|latest|oldest) C(\d+)\b(?! first)", Modifiers._add_newest),
        (
            (
                rf"(?:{_PRE} )*(?:without|with no|no|is missing|lack|lacking|not with)(?: any)? C(\d+)(?: "
                rf"value)?\b"
            ),
            Modifiers._add_null,
        ),
        (
            rf"(?:{_PRE} )*C(\d+)(?: is)? (?:missing|empty|blank|unknown)\b",
            lambda g, r, m: g._filter(r, Filter(g._at(m[1]).column, "null")),
        ),
        (
            r"(?:whose|with) (?:known )?C(\d+)(?: value)?(?:(?: is)? (?:known?|given|filled))?(?![\w])",
            lambda g, r, m: g._filter(r, Filter(g._at(m[1]).column, "not null")),
        ),
        (rf"(?:{_PRE} )*(?:C(\d+) )?(?:{_PRE} )*P(\d+)\b", Modifiers._add_period),
        (rf"(?:{_PRE} )*T(\d+)(?: R\d+)?\b", lambda g, r, m: g._filter(r, g._given("T" + m[1]))),
        (
            (
                rf"(?:(?:and|with|,|is|broken down|split|grouped|shown) )*(?:per|by|for each|in each|for "
                rf"every|of each|each|across) {_GROUP}\b"
            ),
            Modifiers._add_group,
        ),
        (r"over time\b", lambda g, r, m: replace(r, groups=((g._needs_time(r), "month"),))),
        (
            r",? ?(oldest|newest|highest|lowest|largest|smallest|most|best|worst)(?: [CR]\d+)? first\b",
            Modifiers._add_order,
        ),
        (rf"(?:{_PRE} )*mention X(\d+)|X(\d+)", Modifiers._add_search),
        (
            r",? ?(?:show|give|list) C(\d+) and (?:counts?|number of R\d+)$",
            lambda g, r, m: r if any(c == g._at(m[1]).column for c, _ in r.groups) else None,
        ),
        (rf"(?:{_PRE} )*R\d+\b", lambda g, r, m: r),
        (rf"(?:{_PRE} )*not C(\d+)\b", Modifiers._add_no),
        (rf"(?:{_PRE} )*C(\d+)(?P<p>(?= P\d))?\b", Modifiers._add_yes),
        (r"(?:is|,)(?=\s|$)", lambda g, r, m: r),
    )
)
