"""What a finished question teaches: the built-in analyst's Distiller and Cartographer.

Owns: candidates from a trajectory, tags, and the smallest edits that take them up. Refuses to know: answering, and
whether an item is admitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from peek_core.providers.builtin import look_ups, query, understand
from peek_core.providers.builtin.reading import Filter, Reading, Rule, describe, load, number, quoted
from peek_core.providers.builtin.rules import same
from peek_core.providers.builtin.wording import condition_words
from peek_core.providers.builtin.world import World, parse_item, values_item

DEFINITIONS = ("row_exclusion", "unit", "sentinel", "spelling_fold", "code_label")


def _item(section: str, text: str, sql: str, expect: list[list[Any]], why: str, worth: str = "high") -> dict[str, Any]:
    return {
        "kind": "item",
        "section": section,
        "text": text,
        "evidence": {"sql": sql, "expect": expect},
        "transferability": worth,
        "rationale": why,
    }


def _named(rule: Rule, table: str) -> dict[str, Any]:
    """A rule as a definition with a name people can read."""
    if rule.get("expression"):
        return {**rule, "table": table, "name": f"rows where {condition_words(rule)} don't count"}
    what = ", ".join(f"{k} is {v}" for k, v in rule.get("mapping", {}).items()) or " or ".join(
        quoted(v) for v in rule.get("values", ())
    )
    names = {
        "row_exclusion": f"rows with {rule['column']} {what} don't count",
        "unit": f"{rule['column']} is divided by {round(1 / rule['factor']) if rule.get('factor') else 1}",
        "sentinel": f"{rule['column']} {what} means missing",
    }
    return {
        **{k: v for k, v in rule.items() if k != "state"},
        "table": table,
        "name": names.get(rule["kind"], f"{rule['column']}: {what}"),
    }


def distill(data: Mapping[str, list[Mapping[str, Any]]]) -> dict[str, Any]:
    """The reply to a distill request."""
    nothing: Mapping[str, Any] = {"steps": [], "reading": None, "status": ""}
    run = next((w for w in data.get("working_memory", ()) if "steps" in w), nothing)
    reading = load(run.get("reading"))
    looks = len([q for s in run["steps"] for q in s["queries"] if q["look_up"]])
    found: list[dict[str, Any]] = []
    world = next((w for w in understand.worlds(data, "") if reading and w.name == reading.table), None)
    used = set((run.get("reading") or {}).get("items", ()))
    if world and reading:
        found = [*_rules(world, reading), *_layout(world), *_coverage(world, reading), *_results(world, reading)]
        texts = {str(i["text"]) for i in world.items}
        found = [f for f in found if f["kind"] == "definition" or f["text"] not in texts][:4]
    tags = [{"id": i["id"], **_tag(world, i, used)} for m in data.get("memory", ()) for i in m["items"]]
    return {
        "diagnosis": (
            f"{run['status'] or 'no run'}; {len(run['steps'])} steps, {looks} look-ups; {len(found)} "
            f"things worth keeping."
        ),
        "orientation": {
            "look_ups": looks,
            "why": "values, codes and internal rows the map did not cover" if looks else "none was needed",
        },
        "tags": tags,
        "candidates": found,
    }


def _tag(world: World | None, item: Mapping[str, Any], used: set[str]) -> dict[str, str]:
    kind = parse_item(str(item["text"]))
    if world and kind and kind[0] == "values":
        name = kind[1][1].removeprefix(world.prefix)
        if name in world.columns and not world.covering(name):
            return {"tag": "stale", "why": f"the column has {world.columns[name]['distinct']} values now"}
    if (
        world
        and kind
        and kind[0] == "layout"
        and kind[1][1] == world.name
        and not item["text"].startswith(f"table {world.name}: {number(world.table['rows'])} rows")
    ):
        return {"tag": "stale", "why": f"the table has {number(world.table['rows'])} rows now"}
    return (
        {"tag": "helpful", "why": "the answer relied on it"}
        if item["id"] in used
        else {"tag": "neutral", "why": "not needed here"}
    )


def _rules(world: World, r: Reading) -> list[dict[str, Any]]:
    """Definitions and vocabulary, stated ones before likely ones."""
    found = []
    for rule in (*r.rules, *world.suspected(r)):
        if rule["kind"] in DEFINITIONS and not any(same(rule, d) for d in world.definitions):
            why = "the question stated it" if rule in r.rules else "the values look like it; a person has to confirm"
            found.append({"kind": "definition", "definition": _named(rule, world.name), "rationale": why})
        elif rule["kind"] == "vocabulary":
            f = Filter(rule["column"], rule["op"], tuple(rule["values"]))
            sql = f"SELECT count(*) > 0 FROM {query.ident(world.name)} WHERE {query.condition(f)}"
            found.append(
                _item(
                    "dc",
                    f'"{rule["term"]}" means {describe(f)}.',
                    sql,
                    [[True]],
                    "the question gave the word this meaning",
                )
            )
        elif rule["kind"] == "meaning":
            found += _meaning(world, rule)
    return found


def _meaning(world: World, rule: Rule) -> list[dict[str, Any]]:
    there = Filter(rule["where"], "in", tuple(rule["values"]))
    sql = look_ups.never_sql(world.name, there, rule["column"])
    done = world.result(sql)
    if not done or done["rows"][0][0]:
        return []
    exactly = "exactly " if not done["rows"][0][1] else ""
    text = f"{rule['column']} is missing {exactly}where {describe(there)}."
    return [
        _item(
            "cu",
            text,
            sql.removeprefix(look_ups.LOOK_UP),
            [list(done["rows"][0])],
            "stated, and checked against every row",
        )
    ]


def _layout(world: World) -> list[dict[str, Any]]:
    """What the table is, from the profile."""
    t, rows = query.ident(world.name), world.table["rows"]
    key = next(
        (
            c
            for c, d in world.columns.items()
            if d["distinct"] == rows and not d["nulls"] and c not in world.times and not d["free_text"]
        ),
        None,
    )
    text, parts, expect = f"table {world.name}: {number(rows)} rows", ["count(*)"], [rows]
    if key:
        text, parts, expect = f"{text}, one per {key}", [*parts, f"count(DISTINCT {query.ident(key)})"], [*expect, rows]
    if len(world.times) == 1 and (c := world.columns[world.times[0]])["minimum"]:
        days = [str(c[e])[:10] for e in ("minimum", "maximum")]
        text += f", {c['name']} from {days[0]} to {days[1]}"
        parts += [f"{e}({query.ident(c['name'])})::DATE::VARCHAR" for e in ("min", "max")]
        expect += days
    return [_item("cr", text + ".", f"SELECT {', '.join(parts)} FROM {t}", [expect], "what the table holds", "high")]


def _coverage(world: World, r: Reading) -> list[dict[str, Any]]:
    """What the look-ups of this run found, so that the next question needs none."""
    found, t = [], query.ident(world.name)
    for q in world.queries:
        asked = {f(world.name, c): c for c in world.columns for f in (look_ups.values_sql, look_ups.stand_in_sql)}
        column = asked.get(q["sql"], "")
        if q["sql"].startswith(look_ups.LOOK_UP) and list(q["columns"])[:1] == ["internal_in"] and not q["rows"]:
            found.append(
                _item(
                    "ps",
                    f"table {world.name}: no rows look internal.",
                    q["sql"].removeprefix(look_ups.LOOK_UP),
                    [],
                    "looked up",
                    "mid",
                )
            )
        elif column and q["sql"] == look_ups.values_sql(world.name, column) and (values := world.listed(column)):
            text = values_item(world.prefix + column, sorted(values))
            sql = f"SELECT DISTINCT {query.ident(column)} FROM {t} WHERE {query.ident(column)} IS NOT NULL ORDER BY 1"
            found += [_item("ps", text, sql, [[v] for v in sorted(values)], "every value, looked up")] if text else []
        elif column and not any(d["kind"] == "sentinel" and d["column"] == column for d in world.suspected(r)):
            text = f"column {world.prefix}{column}: no code stands for a missing value."
            found.append(
                _item(
                    "ps",
                    text,
                    q["sql"].removeprefix(look_ups.LOOK_UP),
                    [list(x) for x in q["rows"]],
                    "looked up",
                    "mid",
                )
            )
    return found


def _results(world: World, r: Reading) -> list[dict[str, Any]]:
    """A count per value over all rows: a result many questions share."""
    done = world.result(query.answer_sql(r, r.rules))
    if (
        not done
        or r.measure.kind != "count"
        or world.suspected(r)
        or r.filters
        or r.period
        or r.rules
        or r.limit
        or r.pick
        or len(r.groups) != 1
        or r.groups[0][1]
        or done["row_count"] > 8
    ):
        return []
    said = (f"{'missing' if k is None else quoted(k)} {number(n)}" for k, n in done["rows"])
    text = f"rows per {r.groups[0][0]}: {', '.join(said)}."
    return [
        _item("rr", text, done["sql"], [list(x) for x in done["rows"]], "a total other questions start from", "low")
    ]


def chart(data: Mapping[str, list[Mapping[str, Any]]]) -> dict[str, Any]:
    """The reply to a chart request: the smallest edits that take the candidates up."""
    working: Mapping[str, Any] = next((w for w in data.get("working_memory", ()) if "distillation" in w), {})
    told: Mapping[str, Any] = working.get("distillation", {})
    items = [i for m in data.get("memory", ()) for i in m["items"]]
    known = [d for m in data.get("definitions", ()) for d in m["definitions"]]
    edits: list[dict[str, Any]] = []
    proposed: list[int] = []
    for index, c in enumerate(told.get("candidates", ())):
        if c["kind"] == "definition":
            proposed += [index] if not any(same(c["definition"], d) for d in known) else []
            continue
        like = next((i for i in items if _key(str(i["text"])) == _key(c["text"])), None)
        if like is None:
            edits.append({"op": "ADD", "section": c["section"], "text": c["text"], "candidate": index})
        elif like["text"] != c["text"]:
            edits.append({"op": "REPLACE", "id": like["id"], "text": c["text"], "candidate": index})
    taken = {e.get("id") for e in edits}
    edits += [
        {"op": "DELETE", "id": t["id"], "why": t["why"]}
        for t in told.get("tags", ())
        if t["tag"] in ("stale", "harmful") and t["id"] not in taken
    ]
    taken = {e.get("id") for e in edits}
    edits += [
        {"op": "DELETE", "id": b["id"], "why": f"its query gives something else now: {b['why']}"}
        for b in working.get("broken", ())
        if b["id"] not in taken
    ]
    return {"edits": edits, "definitions": proposed}


def _key(text: str) -> tuple[str, str]:
    kind = parse_item(text)
    return (kind[0], kind[1][1]) if kind else ("free", re.sub(r"\s+", " ", text.casefold()))
