"""Answers in words.

Owns: figures, sentences, notes and labels. Refuses to know: which queries gave the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from peek_core.providers.builtin import look_ups
from peek_core.providers.builtin.query import facts
from peek_core.providers.builtin.reading import NAMES, Filter, Measure, Reading, Rule, describe, number, quoted
from peek_core.providers.builtin.world import World


def figure(m: Measure, value: Any) -> str:
    return (
        f"{value:.1f} %"
        if m.kind == "share" and value is not None
        else f"{value:,.1f} points"
        if m.kind == "score" and value is not None
        else number(value)
    )


def scalar(r: Reading, row: Sequence[Any]) -> tuple[str, Any]:
    """One figure and its denominator in words."""
    value, answered, rows, part = facts(r.measure, row)
    m, where = r.measure, "".join(f", {describe(f)}" for f in r.filters) + (f", {r.period.phrase}" if r.period else "")
    if m.kind == "count":
        return f"{number(value)} rows{where}.".replace(
            "1 rows", "1 row"
        ) if value == 1 else f"{number(value)} rows{where}.", value
    if value is None:
        return f"There is nothing to work it out from: none of {number(rows)} rows{where} has a value.", None
    if m.kind == "share":
        of = f"the {number(answered)} who answered" if answered != rows else f"all {number(rows)} rows"
        whole = f"; {100 * part / rows:.1f} % of all {number(rows)}" if answered != rows else ""
        return (
            (
                f"{value:.1f} % of {of} ({number(part)} of {number(answered)}){whole}: "
                f"{' and '.join(map(describe, m.part))}{where}."
            ),
            value,
        )
    if m.kind == "score":
        return f"{m.column} score {value:,.1f} points over {number(answered)} answers{where}.", value
    if m.kind == "distinct":
        return f"{number(value)} different {m.column} in {number(rows)} rows{where}.", value
    missing = f"; {number(rows - answered)} have none" if rows != answered else ""
    return f"The {NAMES[m.kind]} {m.column} is {number(value)} over {number(answered)} rows{where}{missing}.", value


def table(r: Reading, rows: Sequence[Sequence[Any]], count: int | None, total: Sequence[Any] | None) -> tuple[str, Any]:
    """A result of several rows in a sentence; the rows themselves were shown."""
    where = "".join(f", {describe(f)}" for f in r.filters if r.measure.kind != "values") + (
        f", {r.period.phrase}" if r.period else ""
    )
    if r.measure.kind in ("list", "outliers"):
        whole = (
            f" (outside 1.5 interquartile ranges, of {number(total[0])} rows)"
            if r.measure.kind == "outliers" and total
            else ""
        )
        return f"{number(count)} rows{where}{whole}.", count
    if r.measure.kind == "missing":
        some = [f"{c} {number(n)}" for c, n in rows if n]
        return f"Missing values: {', '.join(some[:12])}." if some else "No column has missing values.", None
    if r.measure.kind == "values":
        return (
            (
                f"{number(count)} values of {r.groups[0][0]}: "
                f"{', '.join(number(v[0]) for v in rows[:20])}{', …' if (count or 0) > 20 else ''}."
            ),
            None,
        )
    return _groups(r, rows, count or 0, total, where)


def _groups(
    r: Reading, rows: Sequence[Sequence[Any]], count: int, total: Sequence[Any] | None, where: str
) -> tuple[str, Any]:
    """Groups in a sentence: the first of them, or the first eight."""
    if not rows:
        return f"There are no rows{where}.", None
    what = (
        r.measure.kind
        if r.measure.kind in ("count", "share")
        else f"{r.measure.column} score"
        if r.measure.kind == "score"
        else f"{NAMES.get(r.measure.kind, r.measure.kind)} {r.measure.column}"
    )
    overall = ""
    if total:
        of = facts(r.measure, total)[1]
        more = f" over {number(of)} rows" if r.measure.kind != "count" else " rows"
        overall = f" In all: {figure(r.measure, total[0])}{more}."
    if r.pick:
        named = [x for x in rows if x[0] is not None]
        ties = [x for x in named if x[-1] == named[0][-1]]
        names = " and ".join(number(x[0]) if not isinstance(x[0], str) else x[0][:60] for x in ties[:4])
        return (
            f"{names}, {what} {figure(r.measure, named[0][-1])}{' each' if len(ties) > 1 else ''}{where}.{overall}",
            named[0][0] if len(ties) == 1 else None,
        )
    said = ", ".join(
        f"{' / '.join('missing' if k is None else number(k) for k in x[:-1])} {figure(r.measure, x[-1])}"
        for x in rows[:8]
    )
    return (
        f"{what[0].upper()}{what[1:]}: {said}{f' and {number(count - 8)} more' if count > 8 else ''}{where}.{overall}",
        None,
    )


def label_of(rule: Rule, stated: bool) -> str:
    """Says what the other figure is of, for a rule that was stated or one that is only likely."""
    values, name = " or ".join(quoted(v) for v in rule.get("values", ())), rule.get("name") or ""
    if rule.get("state") == "proposed":
        return f"if “{name}” is accepted"
    if rule.get("expression"):
        return f"with the rows where {condition_words(rule)}"
    words = {
        "row_exclusion": f"with the rows with {rule['column']} {values}"
        if stated
        else f"without the rows with {rule['column']} {values}, which look internal",
        "unit": "as stored" if stated else "in the other unit",
        "sentinel": f"with {rule['column']} {values} taken as a value"
        if stated
        else f"without {values}, which looks like a code for a missing value",
    }
    return words.get(rule["kind"], "with spellings kept apart" if stated else "with the spellings as one")


def condition_words(rule: Rule) -> str:
    """The condition of a rule that has one, as a person writes it."""
    return str(rule.get("expression") or "").replace('"', "")


def notes_of(world: World, r: Reading) -> list[str]:
    """What the person must know to read the answer."""
    notes = [f"Only rows where {describe(f)}." for f in r.filters]
    notes += (
        [f"Period: {r.period.start or 'the start'} up to, not including, {r.period.end or 'the end'} ({r.time})."]
        if r.period
        else []
    )
    for x in r.rules:
        what = (
            describe(Filter(x["column"], x.get("op", "in"), tuple(x.get("values", ()))))
            if x.get("values")
            else condition_words(x) or x["column"]
        )
        notes.append(f"Rule as you stated it: {x.get('term', x['kind'].replace('_', ' '))}, {what}.")
        if x["kind"] == "meaning" and (
            q := world.result(look_ups.never_sql(r.table, Filter(x["where"], "in", tuple(x["values"])), x["column"]))
        ):
            notes.append(
                "The data agrees." if not q["rows"][0][0] else f"The data disagrees in {number(q['rows'][0][0])} rows."
            )
    notes += _likely(world, r)
    if (
        r.groups
        and r.measure.kind not in ("count", "values", "list")
        and any(world.columns[c]["nulls"] for c, _ in r.groups)
    ):
        notes.append(f"Rows without {' or '.join(c for c, _ in r.groups)} are left out.")
    if r.measure.kind == "count" and any(f.op == "contains" for f in r.filters):
        notes.append("Counts texts that contain the word, whatever they mean by it.")
    return notes


def _likely(world: World, r: Reading) -> list[str]:
    """What looks like a rule, but was neither stated nor accepted."""
    notes = []
    for d in world.suspected(r):
        what = (
            ", ".join(f"{k} = {v}" for k, v in d["mapping"].items())
            if "mapping" in d
            else " or ".join(quoted(v) for v in d["values"])
        )
        says = {
            "row_exclusion": "looks internal; those rows are counted",
            "sentinel": "looks like a code for a missing value; it is kept",
        }
        notes.append(f"In {d['column']}, {what} {says.get(d['kind'], 'look like one value; they are kept apart')}.")
    return notes
