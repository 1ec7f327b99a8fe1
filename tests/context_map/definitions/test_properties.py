"""Whatever definitions stand beside each other: the view binds, says what Python says, and nothing breaks out."""

from __future__ import annotations

from datetime import date
from typing import Any

import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from peek_core.context_map.definitions import (
    Definition,
    conflict,
    from_data,
    measure,
    samples_sql,
    touched_sql,
    view_sql,
)
from tests.context_map.definitions.world import COLUMNS, ODD, Raw, Row, named, quoted

HOSTILE = [
    "'",
    '"',
    "';DROP TABLE t--",
    "a",
    "b",
    "A",
    "ä",
    "😀",
    "",
    "NULL",
    "%",
    "\\",
    "{{x}}",
    "1",
    "\n",
    "--",
    "/*",
]
DAYS = ["05.01.2024", "1.12.2023", "31.02.2024", "07/08/24", "a", "2024-01-05", ""]
VALUE = st.sampled_from(HOSTILE) | st.text(
    alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4
)
ROW = st.tuples(
    st.integers(0, 9), st.none() | VALUE, st.none() | VALUE, st.none() | st.sampled_from(DAYS), st.none() | st.integers(-3, 3),
    st.none() | st.sampled_from([0.0, 0.5, 2.0]), st.none() | VALUE,
)  # fmt: skip
TEXTS = st.sampled_from(["status", "order", "before"])
MAPPING = st.dictionaries(VALUE, VALUE, min_size=1, max_size=3)
EXPRESSIONS = {
    "amount + 1": lambda r: None if r["amount"] is None else r["amount"] + 1,
    "coalesce(status, 'none')": lambda r: "none" if r["status"] is None else r["status"],
    '"order" || status': lambda r: None if None in (r["order"], r["status"]) else r["order"] + r["status"],
    "case when rate >= 2 then 'high' else 'low' end": lambda r: "high" if (r["rate"] or 0) >= 2 else "low",
    f"{quoted(ODD)} is null": lambda r: r[ODD] is None,
}
TWINS = {sqlglot.parse_one(k, dialect="duckdb").sql("duckdb"): twin for k, twin in EXPRESSIONS.items()}
"""By what an expression is written as once it is accepted."""
PROPOSED = st.one_of(
    st.fixed_dictionaries({"kind": st.just("sentinel"), "column": TEXTS, "values": st.lists(VALUE, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"kind": st.just("sentinel"), "column": st.just("amount"), "values": st.just([-1, 3])}),
    st.fixed_dictionaries({"kind": st.sampled_from(["spelling_fold", "code_label"]), "column": TEXTS, "mapping": MAPPING}),
    st.fixed_dictionaries({"kind": st.just("row_exclusion"), "column": TEXTS, "values": st.lists(VALUE, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"kind": st.just("unit"), "column": st.just("rate"), "factor": st.sampled_from([0.5, 100]), "unit": VALUE}),
    st.fixed_dictionaries({"kind": st.just("date_reading"), "column": st.just(ODD), "reading": st.just("day first")}),
    st.fixed_dictionaries({"kind": st.just("derived"), "new_column": st.sampled_from(["d", "select"]), "expression": st.sampled_from(sorted(EXPRESSIONS))}),
    st.fixed_dictionaries({"kind": st.just("label_column"), "column": TEXTS, "new_column": st.sampled_from(["label", "d"]),
                           "mapping": MAPPING, "otherwise": st.none() | VALUE}),
)  # fmt: skip
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def standing(proposals: list[dict[str, Any]]) -> list[Definition]:
    """Those that are definitions and stand beside the ones before them."""
    active: list[Definition] = []
    for data in proposals:
        made = from_data({"table": "t", "name": "n", **data}, {"t": COLUMNS})
        assert isinstance(made, Definition), made
        made = named([*active, made])[-1]
        if conflict(made, active) is None:
            active.append(made)
    return active


def day(text: str) -> date | None:
    """Day first, with the separators that are known."""
    for separator in ".-/ ":
        parts = text.split(separator)
        if len(parts) == 3 and all(p.isdigit() for p in parts) and len(parts[0]) <= 2 and len(parts[2]) in (2, 4):
            try:
                return date(int(parts[2]) + 2000 * (len(parts[2]) == 2), int(parts[1]), int(parts[0]))
            except ValueError:
                return None
    return None


def in_python(row: Row, active: list[Definition]) -> dict[str, Any] | None:
    """What a definition means, said a second time: the row of the view, None when it is left out."""
    raw = dict(zip(COLUMNS, row, strict=True))
    if any(d.kind == "row_exclusion" and raw[d.column] in d.values for d in active):
        return None
    shown = dict(raw)
    for kind in ("date_reading", "sentinel", "spelling_fold", "code_label", "unit"):
        seen = dict(shown)
        for d in active:
            value = seen.get(d.column)
            if d.kind != kind or value is None:
                continue
            if kind == "date_reading":
                shown[d.column] = day(value)
            elif kind == "sentinel" and value in d.values:
                shown[d.column] = None
            elif kind in ("spelling_fold", "code_label") and value in d.mapping:
                shown[d.column] = d.mapping[value]
            elif kind == "unit":
                shown[d.column] = value * d.factor
    made: dict[str, Any] = {}
    for d in active:
        if d.kind == "derived":
            made[d.new_column] = TWINS[d.expression](shown)
        elif d.kind == "label_column":
            value = shown[d.column]
            made[d.new_column] = None if value is None else d.mapping.get(value, d.otherwise)
    return shown | made


@quick
@given(st.lists(ROW, max_size=8), st.lists(PROPOSED, max_size=6))
def test_the_view_binds_and_says_what_python_says(rows: list[Row], proposals: list[dict[str, Any]]) -> None:
    active = standing(proposals)
    query = Raw(rows)
    found = query(view_sql("t", COLUMNS, active))
    expected = [made for row in rows if (made := in_python(row, active)) is not None]
    assert len(found.rows) == len(expected)
    for got, wanted in zip(found.rows, expected, strict=True):
        assert dict(zip(found.columns, got, strict=True)) == wanted


@quick
@given(st.lists(ROW, min_size=1, max_size=8), st.lists(PROPOSED, min_size=1, max_size=5))
def test_an_effect_is_the_difference_python_sees(rows: list[Row], proposals: list[dict[str, Any]]) -> None:
    active = standing(proposals)
    query = Raw(rows)
    for d in active:
        others = [o for o in active if o is not d]
        pairs = [(in_python(row, others), in_python(row, active)) for row in rows]
        after = [p for p in pairs if p[1] is not None]
        effect = measure(d, others, COLUMNS, query, 1)
        if not after:
            assert effect == "it would leave no row at all"
            continue
        if d.kind in ("derived", "label_column"):
            changed = sum(b[d.new_column] is not None for _, b in after)
        elif d.kind == "date_reading":
            changed = sum(a[d.column] is not None for a, _ in after)
        else:
            changed = sum(a[d.column] != b[d.column] for a, b in after)
        lost = sum(b[d.column] is None and a[d.column] is not None for a, b in after) if d.kind == "date_reading" else 0
        if lost and lost == changed:
            assert effect == f"no value of {d.column} can be read so"
            continue
        assert effect == {
            "rows_before": sum(a is not None for a, _ in pairs), "rows_after": len(after),
            "values_changed": 0 if d.kind == "row_exclusion" else changed, "values_lost": lost, "version": 1,
        }  # fmt: skip


@quick
@given(st.lists(ROW, min_size=1, max_size=8), st.lists(PROPOSED, min_size=1, max_size=5))
def test_samples_and_rows_are_of_what_the_effect_counts(rows: list[Row], proposals: list[dict[str, Any]]) -> None:
    active = standing(proposals)
    query = Raw(rows)
    for d in active:
        others = [o for o in active if o is not d and o.kind != "row_exclusion"]
        effect = measure(d, others, COLUMNS, query, 1)
        if isinstance(effect, str):
            continue
        moved = effect["rows_before"] - effect["rows_after"] or effect["values_changed"]
        assert len(query(touched_sql(d, COLUMNS, others)).rows) == moved
        samples = query(samples_sql(d, COLUMNS, others)).rows
        assert len(samples) <= 5 and (d.kind == "derived" or sum(s[-1] for s in samples) <= moved)
        assert bool(samples) == bool(moved) or d.kind == "derived"


@quick
@given(st.lists(PROPOSED, max_size=6))
def test_hostile_values_and_names_stay_values_and_names(proposals: list[dict[str, Any]]) -> None:
    active = standing(proposals)
    text = view_sql("t", COLUMNS, active)
    (statement,) = Raw([]).connection.extract_statements(text)
    assert statement.type.name == "SELECT"
    (tree,) = sqlglot.parse(text, read="duckdb")
    assert isinstance(tree, exp.Select)
    assert [t.sql("duckdb") for t in tree.find_all(exp.Table)] == ["raw.main.t"]
