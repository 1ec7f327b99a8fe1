"""The cells of a run: look-ups, the query, the answer put in words.

Owns: what is run at each turn, both figures where a rule isn't accepted yet, notes and follow-ups.
Refuses to know: how a question is read, and what the map learns from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from peek_core.providers.builtin import query, understand
from peek_core.providers.builtin.periods import unit
from peek_core.providers.builtin.reading import Filter, Measure, Reading, quoted, say
from peek_core.providers.builtin.wording import figure, label_of, notes_of, scalar, table
from peek_core.providers.builtin.world import World
from peek_core.values.canon import fold, plain

SCALAR = ("count", "distinct", "avg", "median", "sum", "min", "max", "share", "score")


def _cell(*lines: str) -> str:
    return "```python\n" + "\n".join(lines) + "\n```"


def _py(value: Any) -> str:
    """A Python literal; backticks escaped, so that a value can't end the fence."""
    return repr(value).replace("`", "\\x60")


def step(data: Mapping[str, list[Mapping[str, Any]]], question: Mapping[str, Any]) -> str:
    """The reply to one step request."""
    # A question it could not read leaves nothing a follow-up could change.
    history = [t for h in data.get("history", ()) for t in h["turns"] if t["reading"] is not None]
    world, u = understand.understand(understand.worlds(data, str(question["today"])), question, history)
    free = understand.free_items(data)
    notes = (
        [f"{free} map item{'s are' if free > 1 else ' is'} free text, which the built-in analyst does not read."]
        if free
        else []
    )
    errors = [q["error"] for w in data.get("working_memory", ()) for q in w["queries"] if q["error"]]
    turns = int(question.get("turns_left") or 0)
    if errors or (
        turns <= 1 and not (u.reading and world and world.result(query.answer_sql(u.reading, u.reading.rules)))
    ):
        u = understand.Understood(
            why=f"A query failed: {errors[0][:200]}" if errors else "No turns are left to work it out."
        )
    if u.look_ups:
        return _cell(*(f"sql({_py(s)})" for s in u.look_ups))
    if not u.reading or not world:
        return _cell(f"FINAL(None, notes={_py([u.why, *notes])}, suggestions={_py(list(u.suggestions))})")
    main, others = _queries(world, u.reading)
    if world.result(main) is None:
        return _cell(f"show({_py(main)})", *(f"sql({_py(s)})" for _, s in others if s != main))
    return _final(world, u.reading, main, others, notes)


def _queries(world: World, r: Reading) -> tuple[str, list[tuple[str, str]]]:
    """The answering query, and the others whose figures are said beside it."""
    if r.measure.kind == "missing":
        return query.missing_sql(r.table, world.columns), []
    main = query.answer_sql(r, r.rules)
    if r.groups:
        return main, [("in all", query.total_sql(r, r.rules))] if r.measure.kind in SCALAR and len(
            r.groups
        ) == 1 else []
    if r.measure.kind not in SCALAR:
        return main, [("in all", query.answer_sql(replace(r, measure=Measure("count")), r.rules))]
    touches = [x for x in r.rules if x["kind"] not in ("vocabulary", "meaning", "code_label")]
    others = [(label_of(x, True), query.answer_sql(r, [y for y in r.rules if y is not x])) for x in touches]
    likely = [
        d for d in world.definitions if d.get("state") == "proposed" and d["kind"] in query.MOVES
    ] + world.suspected(r)
    for d in likely:
        if d.get("column") in world.columns and (d["kind"] == "row_exclusion" or d["column"] in r.columns):
            others.append((label_of(d, False), query.answer_sql(r, [*r.rules, d])))
    for f in r.filters:
        if f.op == "in" and len(f.values) > 1 == len({fold(str(v)) for v in f.values}):
            each = (
                replace(r, filters=tuple(Filter(f.column, "in", (v,)) if x == f else x for x in r.filters))
                for v in f.values
            )
            others += [
                (f"{quoted(v)} alone", query.answer_sql(e, [x for x in r.rules if x["kind"] != "spelling_fold"]))
                for v, e in zip(f.values, each, strict=True)
            ]
    return main, others[:6]


def _final(world: World, r: Reading, main: str, others: Sequence[tuple[str, str]], notes: list[str]) -> str:
    done = world.result(main) or {}
    rows: list[list[Any]] = done["rows"]
    total = next(
        (q["rows"][0] for label, s in others if label == "in all" and (q := world.result(s)) and q["rows"]), None
    )
    text, value = (
        scalar(r, rows[0]) if not r.groups and r.measure.kind in SCALAR else table(r, rows, done["row_count"], total)
    )
    for label, sql in others:
        q = world.result(sql)
        if (
            label != "in all"
            and q
            and q["rows"]
            and q["rows"][0][0] != (value if r.measure.kind != "count" else rows[0][0])
        ):
            text += f" {figure(r.measure, q['rows'][0][0])} {label}."
    suggestions: list[str] = []
    if r.period and not r.groups and rows and r.measure.kind in SCALAR and query.facts(r.measure, rows[0])[2] == 0:
        end = str(world.columns[r.time]["maximum"])[:10]
        text = f"None {r.period.phrase}: the data runs from {str(world.columns[r.time]['minimum'])[:10]} to {end}."
        suggestions = understand.readable(
            world, [say(replace(r, period=unit(r.period.grain or "month", date.fromisoformat(end))))]
        )
    used = _items(world, r)
    notes = [*notes_of(world, r), *notes]
    reading = {**plain(r), "items": used}
    follow = understand.readable(world, [say(x) for x in _next(world, r)]) if r.measure.kind in SCALAR else []
    args = {
        "value": value,
        "reading": reading,
        "notes": notes,
        "suggestions": suggestions,
        "follow_ups": follow,
        "items": used,
    }
    return _cell(f"FINAL({_py(text)}, {', '.join(f'{k}={_py(v)}' for k, v in args.items())})")


def _items(world: World, r: Reading) -> list[str]:
    """Ids of the map items this reading relied on."""
    keys = [
        ("values", c)
        for c in r.columns
        if world.few(c) and not world.columns[c]["complete"] and world.listed(c) is not None
    ]
    keys += [("plain", c) for c in r.columns] + [("clean", world.name)]
    keys += [("term", t) for t, f in world.terms().items() if f in (*r.filters, *r.measure.part, *r.measure.minus)]
    found = [i for kind, name in keys for i, k, m in world.parsed if k == kind and m[1] in (name, world.prefix + name)]
    return list(dict.fromkeys(found))


def _next(world: World, r: Reading) -> list[Reading]:
    """Readings one step from this one."""
    plainly = replace(r, pick=False, order="", limit=None, base=None, rules=())
    taken = set(r.columns)
    few = [c for c in world.columns if world.few(c) and c not in taken]
    found = [replace(plainly, groups=((c, ""),)) for c in few[:2]]
    if r.time and not any(c == r.time for c, _ in r.groups):
        found.append(replace(plainly, groups=((r.time, "month"),)))
    if r.groups and r.filters:
        found.append(replace(plainly, groups=()))
    return found + [replace(plainly, filters=(), groups=())] * bool(r.filters and r.measure.kind != "share")
