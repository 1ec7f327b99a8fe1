"""From a request's question to a reading, to look-ups that must come first, or to an abstention.

Owns: sentences, stated rules, the choice of table, suggestions. Refuses to know: cells and answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from peek_core.providers.builtin import look_ups, rules
from peek_core.providers.builtin.grammar import LEXICON, Grammar, tidy
from peek_core.providers.builtin.linking import Linker
from peek_core.providers.builtin.modifiers import NoReading
from peek_core.providers.builtin.reading import Filter, Measure, Reading, Rule, load, say
from peek_core.providers.builtin.world import World, parse_item
from peek_core.values.canon import fold


@dataclass(frozen=True)
class Understood:
    """Exactly one of: a reading, look-ups to run first, or why there is no answer."""

    reading: Reading | None = None
    look_ups: tuple[str, ...] = ()
    why: str = ""
    suggestions: tuple[str, ...] = ()


def worlds(data: Mapping[str, list[Mapping[str, Any]]], today: str) -> list[World]:
    """One world a table, from the sections' data by kind."""
    tables = [t for p in data.get("profile", ()) for t in p["tables"]]
    items = [i for m in data.get("memory", ()) for i in m["items"]]
    known = [d for m in data.get("definitions", ()) for d in m["definitions"]]
    queries = [
        q for w in data.get("working_memory", ()) for s in w.get("steps", [w]) for q in s["queries"] if not q["error"]
    ]
    day = date.fromisoformat(today[:10]) if re.match(r"\d{4}-\d\d-\d\d", today) else date.max
    names = [str(t["name"]) for t in tables]
    return [
        World(
            t,
            day,
            known,
            items,
            queries,
            f"{t['name']}." if len(tables) > 1 else "",
            [n for n in names if n != t["name"]],
        )
        for t in tables
    ]


def free_items(data: Mapping[str, list[Mapping[str, Any]]]) -> int:
    """How many map items are prose."""
    return sum(1 for m in data.get("memory", ()) for i in m["items"] if not parse_item(str(i["text"])))


def _sentences(text: str) -> list[str]:
    return [
        s.strip()
        for s in re.split(r"(?<=[.!?;])\s+|,\s+(?=(?:how|what|which|show)\b)", text.strip())
        if s.strip(" .!?;")
    ]


def _stated(world: World, text: str) -> tuple[list[Rule], str, Linker]:
    """The rules a question states, the rest of it, and a linker that knows the rules' words."""
    found: list[Rule] = []
    rest = []
    for sentence in _sentences(text):
        new = [] if sentence.endswith("?") else rules.RuleReader(Linker(world, found)).read(sentence)
        found += new
        if not new:
            rest.append(sentence.rstrip(" .!?;"))
    return found, " , ".join(rest), Linker(world, found)


def parse(world: World, text: str, last: Reading | None = None) -> Reading:
    """The complete reading of a question, or NoReading."""
    found, rest, linker = _stated(world, text)
    if last and not {*last.columns, *([last.time] if last.time else [])} <= world.columns.keys():
        last = None  # the data has changed since
    if not rest:
        raise NoReading("a question" if found else text[:60])
    reading = Grammar(world, linker.link(rest), linker.terms, last).parse()
    if (
        reading.measure.kind in ("avg", "median", "share", "score") and not reading.groups
    ):  # figures of each say more than one of all
        several = [
            f.column
            for f in reading.filters
            if f.op == "in" and len({fold(str(v)) for v in f.values}) > 1 and world.is_text(f.column)
        ]
        reading = replace(reading, groups=tuple((c, "") for c in several[:1]))
    kept = [r for r in (*found, *(reading.rules if reading is last or not found else ())) if not _in_force(world, r)]
    return replace(reading, rules=tuple(kept))


def _in_force(world: World, rule: Rule) -> bool:
    return any(d.get("state") == "on" and rules.same(d, rule) for d in world.definitions)


def _unknown(world: World, text: str) -> tuple[list[str], list[str]]:
    """Words nothing explains, and the runs of up to three words around them, as they would be spelt as a value."""
    _, rest, linker = _stated(world, text)
    linked = linker.link(rest)
    words = tidy(linked.pattern).split()
    odd = [
        w for w in (w.strip(",;") for w in words) if w and not re.fullmatch(r"[CVTRNPGX]\d+", w) and w not in LEXICON
    ]
    whole = Linker(world).link(text).mentions
    odd += [
        m.text
        for m in whole
        if m.kind == "V" and not any(m.text.casefold() == v.casefold() for _, vs in m.options for v in vs)
    ]
    raw = [w.strip("\"'?.,!;:") for w in re.sub(r"'s\b", "", text).split()]
    runs = [raw[i : i + n] for n in (1, 2, 3) for i in range(len(raw) - n + 1)]
    grams = [fold(" ".join(run)) for run in runs if any(w.casefold() in odd for w in run)]
    return odd, list(dict.fromkeys(g for g in grams if len(g) > 1))[:24]


def _swap(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new.replace("\\", r"\\"), text, flags=re.IGNORECASE)


def _suggest(world: World, text: str, last: Reading | None, odd: Sequence[str]) -> list[str]:
    """Whole questions near the one asked that read completely."""
    linker = Linker(world)
    tries = [_swap(text, w, n) for w in odd for n in linker.nearest(w)]
    tries += [say(near) for near in _nearest(world, linker, text)]
    values = [m for m in linker.link(text).mentions if m.kind == "V"]
    tries += [_swap(text, m.text, f"with {c} {vs[0]}") for m in values for c, vs in m.options if not odd]
    return readable(world, tries, last)


def _nearest(world: World, linker: Linker, text: str) -> list[Reading]:
    """Plain readings over what the question does name: counts with its values, figures of its columns."""
    named = linker.link(text).mentions
    filters = tuple(
        Filter(m.options[0][0], "in", m.options[0][1]) for m in named if m.kind == "V" and len(m.options) == 1
    )
    filters += tuple(m.filter for m in named if m.filter)
    columns = list(dict.fromkeys(m.column for m in named if m.kind == "C"))
    count = Reading(world.name, Measure("count"), tuple(dict.fromkeys(filters)))
    found = [replace(count, groups=((c, ""),)) for c in columns if world.few(c)] + [
        replace(count, measure=Measure("avg", c)) for c in columns if world.is_number(c)
    ]
    return found + ([count] if filters else [])


def readable(world: World, questions: Sequence[str], last: Reading | None = None) -> list[str]:
    """Those of the questions that this analyst understands, once each, at most four."""
    kept: list[str] = []
    for q in questions:
        try:
            reading = parse(world, q, last)
        except NoReading:
            continue
        whole = q if last is None or reading != last else say(reading)
        kept += [whole] if whole not in kept else []
    return kept[:4]


def understand(
    known: Sequence[World], question: Mapping[str, Any], history: Sequence[Mapping[str, Any]]
) -> tuple[World | None, Understood]:
    """Reads the question against every table; exactly one table must understand it."""
    text = str(question["question"]).strip()
    last = load(history[-1].get("reading")) if history else None
    hits: list[tuple[World, Reading]] = []
    why = ""
    for w in known:
        try:
            hits.append((w, parse(w, text, last if last and last.table == w.name else None)))
        except NoReading as no:
            why = why or str(no)
    if len(hits) > 1:
        hits = [h for h in hits if fold(h[0].name).rstrip("s") in fold(text)] or hits
    if len(hits) == 1:
        world, reading = hits[0]
        return world, Understood(reading, tuple(s for s in world.look_ups(reading) if not world.result(s)))
    if hits or not known or not text:
        return None, Understood(
            why="It isn't clear which table is meant."
            if hits
            else "There is no question or no table to answer it from."
        )
    return known[0], _not_yet(known[0], text, last, why)


def _not_yet(world: World, text: str, last: Reading | None, why: str) -> Understood:
    """A look-up of the unknown words if there was none yet, else an abstention with what comes near."""
    odd, grams = _unknown(world, text)
    texts = [
        c
        for c in world.columns
        if world.is_text(c) and not world.columns[c]["free_text"] and not (world.few(c) and world.listed(c) is not None)
    ]
    looked = any(list(q["columns"])[:1] == ["found_in"] for q in world.queries)
    if odd and len(odd) <= 5 and grams and texts and not looked:
        return Understood(look_ups=(look_ups.find_sql(world.name, texts, grams),))
    named = (
        f"Nothing here is called {', '.join(f'“{w}”' for w in odd[:4])}"
        if odd
        else f"It isn't clear what is meant by “{why[:80]}”"
    )
    return Understood(
        why=f"{named}, so there is no answer that could be relied on.",
        suggestions=tuple(_suggest(world, text, last, odd[:5])),
    )
