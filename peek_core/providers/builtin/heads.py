"""Heads: what a question asks for, before anything narrows it.

Owns: the reading each head starts. Refuses to know: which words a head is made of, and modifiers' meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from peek_core.providers.builtin.linking import SCORES, Linked
from peek_core.providers.builtin.modifiers import Modifiers, NoReading
from peek_core.providers.builtin.reading import Filter, Measure, Reading
from peek_core.providers.builtin.world import World

AGGREGATES = {"average": "avg", "mean": "avg", "avg": "avg", "median": "median", "total": "sum", "sum": "sum"}
AGGREGATES |= dict.fromkeys(("minimum", "min", "lowest", "smallest"), "min") | dict.fromkeys(
    ("maximum", "max", "highest", "largest"), "max"
)


class Heads(Modifiers):
    """Starts a reading from a matched head."""

    def __init__(self, world: World, linked: Linked, terms: Mapping[str, Filter], last: Reading | None) -> None:
        super().__init__(world, linked)
        self.terms, self.last = terms, last

    def _of(self, m: re.Match[str]) -> Measure:
        """The measure a head names."""
        d = m.groupdict()
        if d.get("agg"):
            column = self._at(d["ac"]).column
            if not self.world.is_number(column):
                raise NoReading(f"{column} is not a number")
            return Measure(AGGREGATES[d["agg"]], column)
        if d.get("sc"):
            column = self._at(d["sc"]).column
            parts = [self.terms.get(t) for t in ("promoter", "detractor")]
            if not all(p and p.column == column for p in parts):
                raise NoReading(f"what a promoter and a detractor are, to work out the {column} score")
            return Measure("score", column, tuple(p for p in parts[:1] if p), tuple(p for p in parts[1:] if p))
        return Measure("share", "", (self._given("T" + d["st"]),)) if d.get("st") else Measure("count")

    def _counted(self, m: re.Match[str]) -> tuple[Filter, ...]:
        token = m.groupdict().get("nc") or ""
        return (self._given(token),) if token[:1] in ("C", "T") else ()

    def _count(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        if m["d"]:
            return self.mods(replace(r, measure=Measure("distinct", self._at(m["d"]).column)), rest)
        if m["c"]:
            column = self._at(m["c"]).column
            c = self.world.columns[column]
            if yes := self._yes(column):
                return self.mods(replace(r, filters=(yes,)), rest)
            if c["distinct"] == self.world.table["rows"]:
                return self.mods(r, rest)
            if self.world.is_text(column) and not c["free_text"]:
                return self.mods(replace(r, measure=Measure("distinct", column)), rest)
            if "how much" in m[0] or (
                self.world.is_number(column) and not {*re.split(r"\W|_", column.lower())} & SCORES
            ):
                raise NoReading(f"whether the total or the average {column} is meant")
            return self.mods(replace(r, filters=(Filter(column, "not null"),)), rest)
        if not rest:
            raise NoReading("what to count")
        return self.mods(r, rest)

    def _measure(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        r = self.mods(replace(r, measure=self._of(m), filters=self._counted(m)), rest)
        if m["r"] and not r.groups:
            return (
                replace(r, measure=Measure("list"))
                if m[0].startswith(("show", "what"))
                else self._fail("what to work out")
            )
        return r

    def _share(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        den, num = m["den"], m["num"]
        if den in ("those", "them", "these") and self.last:
            r, den = replace(r, filters=self.last.filters, period=self.last.period), ""
        if not num:
            yes = re.match(r"(V\d+ )?C(\d+)\b", den)
            if yes and self._yes(self._at(yes[2]).column):
                den, num = (yes[1] or "").strip(), den[len(yes[1] or "") :]
            elif t := re.match(r"T(\d+)(?: |$)", den):
                return self.mods(replace(r, measure=Measure("share", "", (self._given("T" + t[1]),))), den[t.end() :])
            else:
                parts = re.match(r"((?:V\d+ )?(?:R\d+|C\d+)|)\s*(.*)$", den)
                den, num = (parts[1], parts[2]) if parts and parts[2] else ("", den)
        if c := re.fullmatch(r"C(\d+)", den):
            den, r = "", replace(r, filters=(self._given("C" + c[1]),))
        r = self.mods(r, den) if den else r
        split = re.match(
            r"((?:by |through |via |from |in |with )?[VTCX]\d+|(?:with no|without) C\d+|C\d+ "
            r".*?N\d+(?: or \w+)?|.+?)(?= (?:in|for|among|from|of|on|per|by|P\d+|for each|in each)\b| "
            r"P\d+|,|$)(.*)$",
            num,
        )
        part = self.mods(Reading(r.table, Measure("count"), time=r.time), split[1] if split else num)
        if len(part.filters) != 1 or part.groups or part.period or r.groups:
            self._fail("what the share is of")
        kept = tuple(
            f
            for f in r.filters
            if f != Filter(part.filters[0].column, "not null") or part.filters[0].op in ("null", "contains")
        )
        return self.mods(
            replace(r, measure=Measure("share", "", part.filters), filters=kept), split[2] if split else ""
        )

    def _top(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        d = m.groupdict()
        word = d.get("o") or "most"
        measure, filters = self._of(m), self._counted(m)
        if d.get("m"):
            filters = (self._given(d["m"]),) if d["m"][0] != "R" else ()
        if (d.get("ac") or "").startswith("C"):
            measure = Measure("avg", self._at(d["ac"]).column)
        limit = next((int(self._at(d[k].strip()).number) for k in ("n", "n2") if d.get(k)), None)
        order = "asc" if word in ("fewest", "least", "lowest", "worst", "smallest") else "desc"
        r = replace(r, measure=measure, filters=filters, groups=(self._key(d["g"], r),), order=order)
        several = re.search(r"s$", self._at(d["g"]).text) and "most" not in (d.get("o") or "") and "top" in m[0]
        return self.mods(replace(r, limit=limit or (10 if several else None), pick=limit is None and not several), rest)

    def _trend(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        r = self.mods(
            replace(r, measure=self._of(m), filters=self._counted(m)), re.sub(r"from (G\d+) to G\d+", r"per \1", rest)
        )
        return r if r.groups else replace(r, groups=((self._needs_time(r), "month"),))

    def _compare(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        value = self._value(m["v"])
        if len(value.values) < 2:
            self._fail("what to compare with")
        return self.mods(
            replace(r, measure=self._of(m), filters=(*self._counted(m), value), groups=((value.column, ""),)), rest
        )

    def _cross(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        return self.mods(
            replace(
                r,
                measure=self._of(m),
                filters=self._counted(m),
                groups=(self._key(m["g"], r), self._key(m["g2"], r)),
                order="keys",
            ),
            rest,
        )

    def _values(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        column = self._at(m["c"]).column
        if not self.world.is_text(column) or self.world.columns[column]["free_text"]:
            self._fail("what to work out")
        return replace(r, measure=Measure("values"), filters=(Filter(column, "not null"),), groups=((column, ""),))

    def _missing(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        return replace(r, measure=Measure("missing"))

    def _outliers(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        column = self._at(m["c"]).column
        return (
            self.mods(replace(r, measure=Measure("outliers", column)), rest)
            if self.world.is_number(column)
            else self._fail("a column of numbers")
        )

    def _list(self, m: re.Match[str], r: Reading, rest: str) -> Reading:
        rest = re.sub(r",? ?(?:and )?how many is (?:they|it)?$|,? how many$", "", rest)
        r = self.mods(r, rest)
        return (
            r
            if r.groups
            else replace(r, measure=Measure("list"))
            if r.filters or r.period or "R" in rest
            else self._fail("what to list")
        )
