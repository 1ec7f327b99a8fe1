"""What is known of one table while one request is answered.

Owns: the profile, definitions, map items and earlier queries of the request, as knowledge of columns and values; the
fixed sentences of map items, written and read back. Refuses to know: the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from peek_core.providers.builtin import look_ups, query
from peek_core.providers.builtin.reading import Filter, Reading, Rule, parse_condition, quoted
from peek_core.values.canon import fold

SENTENCES = {
    "values": re.compile(r"column (.+?): (\d+) values: (.+)\."),
    "plain": re.compile(r"column (.+?): no code stands for a missing value\."),
    "clean": re.compile(r"table (.+?): no rows look internal\."),
    "term": re.compile(r'"(.+?)" means (.+)\.'),
    "layout": re.compile(r"table (.+?): [\d,]+ rows.*\."),
    "missing": re.compile(r"(.+?) is missing (?:exactly )?where (.+)\."),
    "result": re.compile(r"rows per (.+?): .+\."),
}
"""Items this analyst writes; anything else in the map is free text to it."""
NOTHING = {"na", "nan", "none", "null", "unknown", "missing", "notset", "notavailable", ""}
FEW = 50
EDGES = frozenset(str(s) + e for s in look_ups.STAND_INS for e in ("", ".0"))
"""Smallest and largest values, as the profile writes them, that may be codes."""


def parse_item(text: str) -> tuple[str, re.Match[str]] | None:
    """Which sentence an item is, or None for free text."""
    return next(((k, m) for k, p in SENTENCES.items() if (m := p.fullmatch(text))), None)


@dataclass(frozen=True)
class World:
    """One table of the profile, and everything the request tells about it."""

    table: Mapping[str, Any]
    today: date
    definitions: Sequence[Rule] = ()
    items: Sequence[Mapping[str, Any]] = ()
    queries: Sequence[Mapping[str, Any]] = ()
    prefix: str = ""
    other_tables: Sequence[str] = ()
    """Names of the dataset's other tables: their rows are not this table's."""
    columns: dict[str, Mapping[str, Any]] = field(init=False)
    parsed: list[tuple[str, str, re.Match[str]]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", {c["name"]: c for c in self.table["columns"]})
        found = [(str(i["id"]), parse_item(str(i["text"]))) for i in self.items]
        object.__setattr__(self, "parsed", [(i, p[0], p[1]) for i, p in found if p])

    @property
    def name(self) -> str:
        return str(self.table["name"])

    def is_text(self, name: str) -> bool:
        return str(self.columns[name]["type"]).startswith("VARCHAR")

    def is_number(self, name: str) -> bool:
        return bool(re.match(r"U?(BIG|HUGE|SMALL|TINY)?INT|DOUBLE|FLOAT|DECIMAL", str(self.columns[name]["type"])))

    @property
    def times(self) -> list[str]:
        return [c for c, d in self.columns.items() if str(d["type"]).startswith(("DATE", "TIMESTAMP"))]

    def few(self, name: str) -> bool:
        """A text column of so few values that they can all be looked at."""
        c = self.columns[name]
        return self.is_text(name) and not c["free_text"] and (c["distinct"] or FEW + 1) <= FEW

    def result(self, sql: str) -> Mapping[str, Any] | None:
        """An earlier query of this run with exactly this text."""
        return next((q for q in self.queries if q["sql"] == sql), None)

    def item(self, kind: str, name: str) -> tuple[str, re.Match[str]] | None:
        """The map item of this sentence about this column or table."""
        return next(((i, m) for i, k, m in self.parsed if k == kind and m[1] == self.prefix + name), None)

    @property
    def in_place(self) -> list[Rule]:
        """Accepted definitions that changed a column; one that made a column left the old one as it was."""
        return [d for d in self.definitions if d.get("state") == "on" and not d.get("new_column")]

    def covered(self, kind: str, column: str = "") -> bool:
        """Whether a definition, in any state, already says something of this kind."""
        return any(
            d["kind"] == kind and column in ("", d.get("column")) and d.get("table", self.name) == self.name
            for d in self.definitions
        )

    def listed(self, name: str) -> dict[str, int | None] | None:
        """All values of a column, from the profile, a map item that still agrees with it, or this run's look-up."""
        c = self.columns[name]
        if c["complete"]:
            return {t["value"]: t["count"] for t in c["top"] if len(t["value"]) < 60}
        if known := self.covering(name):
            return dict.fromkeys(known)
        done = self.result(look_ups.values_sql(self.name, name))
        if done and done["rows"] and done["row_count"] == len(done["rows"]):
            return {str(v): int(n) for v, n in done["rows"] if v is not None}
        return None

    def covering(self, name: str) -> list[str]:
        """The values a map item lists, as accepted definitions change them; empty if the profile disagrees."""
        known = self.item("values", name)
        values = [v.replace("''", "'") for v in re.findall(r"'((?:[^']|'')*)'", known[1][3])] if known else []
        for d in self.in_place:
            if d.get("column") == name:
                values = [(d.get("mapping") or {}).get(v, v) for v in values if v not in (d.get("values") or ())]
        values = list(dict.fromkeys(values))
        return values if len(values) == self.columns[name]["distinct"] else []

    def values(self) -> dict[str, dict[str, list[str]]]:
        """Known text values by folded form, then by column; definitions' own names lead to what they became."""
        index: dict[str, dict[str, list[str]]] = {}

        def put(column: str, value: str, key: str = "") -> None:
            at = index.setdefault(fold(key or value), {}).setdefault(column, [])
            if value not in at:
                at.append(value)

        for name in self.columns:
            if self.is_text(name) and not self.columns[name]["free_text"]:
                for value in self.listed(name) or [
                    t["value"] for t in self.columns[name]["top"] if len(t["value"]) < 60
                ]:
                    put(name, value)
        for q in self.queries:
            if list(q["columns"])[:1] == ["found_in"]:
                for column, value, _ in q["rows"]:
                    put(column, value)
        for d in self.in_place:
            if d.get("column") in self.columns:
                for raw, label in (d.get("mapping") or {}).items():
                    put(d["column"], label, raw)
                for raw in d.get("values") or ():
                    put(d["column"], str(raw))
        return index

    def terms(self, rules: Sequence[Rule] = ()) -> dict[str, Filter]:
        """Words with a meaning, from the map and from what the question itself says."""
        known = {m[1]: parse_condition(m[2]) for _, k, m in self.parsed if k == "term"}
        known |= {
            r["term"]: Filter(r["column"], r["op"], tuple(r["values"])) for r in rules if r["kind"] == "vocabulary"
        }
        return {t: f for t, f in known.items() if f and f.column in self.columns}

    def suspected(self, r: Reading) -> list[Rule]:
        """Rules nobody stated, but that the values of the columns used suggest; as data, never applied."""
        found: list[Rule] = []
        for name in r.columns:
            values = self.listed(name) if self.is_text(name) else None
            groups: dict[str, list[str]] = {}
            for value in values or ():
                groups.setdefault(fold(value), []).append(value)
            odd = [v for k, vs in groups.items() if k in NOTHING for v in vs]
            found += [{"kind": "sentinel", "column": name, "values": odd}] if odd else []
            for same in (vs for k, vs in groups.items() if len(vs) > 1 and k not in NOTHING):
                first = max(same, key=lambda v: ((values or {}).get(v) or 0, v))
                found.append(
                    {"kind": "spelling_fold", "column": name, "mapping": {v: first for v in same if v != first}}
                )
            if done := self.result(look_ups.stand_in_sql(self.name, name)):
                edge = [
                    v
                    for v, n, low, high in done["rows"]
                    if low is not None and _stands_out(v, low, high) and n * 100 >= self.table["rows"]
                ]
                found += [{"kind": "sentinel", "column": name, "values": edge}] if edge else []
        for name in self.columns:
            if self.few(name):
                odd = [v for v in self.listed(name) or self._internal(name) if v.casefold() in look_ups.INTERNAL]
                found += [{"kind": "row_exclusion", "column": name, "values": odd}] if odd else []
        return [
            f
            for f in found
            if not self.covered(f["kind"], f["column"])
            and not any(f["kind"] == x["kind"] and f["column"] == x["column"] for x in r.rules)
        ]

    def _internal(self, name: str) -> list[str]:
        rows = [row for q in self.queries if list(q["columns"])[:1] == ["internal_in"] for row in q["rows"]]
        return [row[1] for row in rows if row[0] == name]

    def look_ups(self, r: Reading) -> list[str]:
        """What has to be looked at before this reading may be answered; empty once it was, or the map knows."""
        wanted, stated = [], {(x["kind"], x.get("column")) for x in r.rules}
        for name in r.columns:
            c = self.columns[name]
            if self.few(name) and self.listed(name) is None:
                wanted.append(look_ups.values_sql(self.name, name))
            elif self.is_text(name) and not c["free_text"] and self.listed(name) is None:
                words = [
                    fold(v)
                    for f in (*r.filters, *r.measure.part)
                    if f.column == name and "in" in f.op
                    for v in f.values
                ]
                seen = " ".join(q["sql"] for q in self.queries if list(q["columns"])[:1] == ["found_in"])
                if any(query.literal(w) not in seen for w in words):
                    wanted.append(look_ups.find_sql(self.name, [name], words))
            elif (
                self.is_number(name)
                and {c["minimum"], c["maximum"]} & {str(s) + e for s in look_ups.STAND_INS for e in ("", ".0")}
                and not (self.covered("sentinel", name) or ("sentinel", name) in stated or self.item("plain", name))
            ):
                wanted.append(look_ups.stand_in_sql(self.name, name))
        unknown = [
            c
            for c in self.columns
            if self.few(c) and self.listed(c) is None and look_ups.values_sql(self.name, c) not in wanted
        ]
        if unknown and not (
            self.covered("row_exclusion")
            or self.item("clean", self.name)
            or any(k == "row_exclusion" for k, _ in stated)
        ):
            wanted.append(look_ups.internal_sql(self.name, unknown))
        said = [x for x in r.rules if x["kind"] == "meaning"]
        never = (look_ups.never_sql(self.name, Filter(x["where"], "in", tuple(x["values"])), x["column"]) for x in said)
        return [*wanted, *never]


def _stands_out(value: float, low: float, high: float) -> bool:
    return value > 2 * high + 5 or (value < 0 <= low)


def values_item(name: str, values: Sequence[str]) -> str | None:
    """The map sentence that lists a column's values; None if they are too long or too odd to stand in a prompt."""
    text = f"column {name}: {len(values)} values: {', '.join(quoted(v) for v in values)}."
    return text if len(text) <= 600 and all(len(v) <= 40 and v.isprintable() for v in values) else None
