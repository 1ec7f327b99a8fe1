"""The plan of a query as it ran: reading, judging estimates, findings, text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.values import query_findings as rules
from peek_core.values.query_operators import one_line
from peek_core.values.query_plan import (
    MOST_FINDINGS,
    NO_PROFILE,
    NOTHING_UNUSUAL,
    Finding,
    QueryPlan,
    findings,
    plan_text,
    read_plan,
    times_off,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def node(name: str, *children: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A node as the engine stores it; `detail` by keyword, its spaces as underscores."""
    own = {"self_ms": 1.0, "rows": 10, "rows_scanned": None, "estimate": None} | {
        k: v for k, v in given.items() if k[0].islower()
    }
    detail = {k.replace("_", " "): v for k, v in given.items() if k[0].isupper()}
    type = "TABLE_SCAN" if name == "SEQ_SCAN" else name
    return {"type": type, "name": name, **own, "detail": detail, "children": list(children)}


def scan(rows: int, read: int | None = None, **given: Any) -> dict[str, Any]:
    return node("SEQ_SCAN", **({"rows": rows, "rows_scanned": read or rows, "Table": "raw.main.t"} | given))


def plan(tree: dict[str, Any], **top: Any) -> QueryPlan:
    found = read_plan({"tree": tree, **top})
    assert found is not None
    return found


def found(tree: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(f.kind, f.operator.name, f.matters) for f in findings(plan(tree))]


def only(tree: dict[str, Any]) -> Finding:
    (finding,) = findings(plan(tree))
    return finding


# Reading


def test_operators_come_depth_first_with_their_time_and_everything_below() -> None:
    read = plan(
        node("ORDER_BY", node("HASH_JOIN", scan(5, self_ms=3.25), scan(7, self_ms=0.75), self_ms=5.9), self_ms=0.1),
        rows_scanned=12,
        peak_memory_bytes=1024,
        left_out=3,
    )
    assert [(o.depth, o.parent, o.name) for o in read.operators] == [
        (0, None, "ORDER_BY"), (1, 0, "HASH_JOIN"), (2, 1, "SEQ_SCAN"), (2, 1, "SEQ_SCAN"),
    ]  # fmt: skip
    assert [o.total_ms for o in read.operators] == [10.0, 9.9, 3.25, 0.75]
    assert [o.share for o in read.operators] == pytest.approx([0.01, 0.59, 0.325, 0.075])
    assert (read.operator_ms, read.rows_scanned, read.peak_memory_bytes, read.left_out) == (10.0, 12, 1024, 3)
    assert [o.kind for o in read.operators] == ["sort", "join", "scan", "scan"]


def test_what_is_not_known_is_none_and_never_zero() -> None:
    read = plan(
        node("UNION", node("X", self_ms=None, rows=None), node("RANGE", rows=9, rows_scanned=0), rows=0, self_ms=None)
    )
    union, x, function = read.operators
    assert (union.rows, union.off, x.rows, x.self_ms, x.share, x.row_groups) == (None,) * 6
    assert function.rows_scanned is None
    nothing = plan(node("X", self_ms=None))
    assert (nothing.operator_ms, nothing.operators[0].share, nothing.rows_scanned) == (None, None, None)
    assert times_off(nothing.operators[0]) == "–"


@pytest.mark.parametrize(
    "profile",
    [None, {}, {"tree": None}, {"tree": []}, {"tree": {}}, {"tree": {"children": "no"}}, {"total_ms": 3}],
)
def test_no_profile_is_no_plan(profile: Any) -> None:
    assert read_plan(profile) is None
    assert NO_PROFILE in one_line(plan_text(profile), 1_000)


def test_a_stored_profile_may_hold_anything() -> None:
    odd = {
        "name": 7,
        "self_ms": "fast",
        "rows": True,
        "estimate": -1,
        "detail": "text",
        "children": [None, "x", {"name": "Y"}],
    }
    read = plan(odd)
    first, second = read.operators
    assert (first.name, first.self_ms, first.rows, first.estimate, first.detail) == ("7", None, None, None, ())
    assert (second.parent, second.depth) == (0, 1)
    assert plan_text({"tree": odd}).startswith("QUERY PLAN  2 operators, – rows read")


KEYS = [
    "name",
    "type",
    "self_ms",
    "rows",
    "estimate",
    "rows_scanned",
    "row_groups",
    "row_groups_total",
    "detail",
    "children",
]
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 10**7)
    | st.sampled_from([0.5, float("inf"), float("nan")])
    | st.text("aé<\x00", max_size=5)
    | st.sampled_from(["HASH_JOIN", "LIMIT", "FILTER", "SEQ_SCAN", "TABLE_SCAN", "WINDOW", "CTE", "UNION"])
)
NODES = st.recursive(
    st.dictionaries(st.sampled_from(KEYS), ATOMS, max_size=6),
    lambda inner: st.fixed_dictionaries(
        {
            "name": st.sampled_from(["HASH_JOIN", "LIMIT", "FILTER", "ORDER_BY", "CTE"]),
            "children": st.lists(inner, max_size=3),
        },
        optional={k: ATOMS for k in KEYS if k not in ("name", "children")},
    ),
    max_leaves=8,
)


@given(NODES)
def test_no_profile_breaks_the_page(tree: Any) -> None:
    assert plan_text({"tree": tree}).startswith("QUERY PLAN  ")


def test_names_and_details_are_one_clean_line() -> None:
    nasty = plan(node("FIL\x1b[31mTER", Expression="a\n=\u202e 'x\x00'" + "y" * 500)).operators[0]
    assert nasty.name == "FIL[31mTER"
    assert nasty.said("Expression")[0].startswith("a = 'x'yyy") and len(nasty.said("Expression")[0]) == 300
    assert "\n" not in nasty.about and len(nasty.about) <= 200


# Estimates


@pytest.mark.parametrize(
    ("rows", "estimate", "words"),
    [
        (100, 100, "close"), (0, 0, "close"), (100, 60, "close"), (46_390, 10_000, "×4.6 too low"),
        (40_000, 1_000, "×40 too low"), (5_000, 100_000, "×20 too high"), (0, 100_000, "too high, none came"),
        (500_000, 0, "too low, none expected"), (None, 5, "–"), (5, None, "–"),
    ],
)  # fmt: skip
def test_how_far_an_estimate_was_off(rows: int | None, estimate: int | None, words: str) -> None:
    assert times_off(plan(node("FILTER", rows=rows, estimate=estimate)).operators[0]) == words


@pytest.mark.parametrize(
    ("rows", "estimate", "told"),
    [
        (10_000, 1_000, True), (9_990, 1_000, False), (1_001, 1, True), (1_000, 1, False), (500, 2, False),
        (1_000, 10_000, True), (0, 1_000, True), (0, 999, False),
    ],
)  # fmt: skip
def test_from_ten_times_and_a_thousand_rows_an_estimate_is_wrong(rows: int, estimate: int, told: bool) -> None:
    assert found(scan(rows, estimate=estimate)) == ([("estimate", "SEQ_SCAN", False)] if told else [])


def test_only_the_operator_where_it_went_wrong_is_named() -> None:
    wrong = scan(50_000, estimate=1_000)
    tree = node(
        "PROJECTION",
        node("HASH_JOIN", wrong, scan(9, estimate=9), rows=50_000, estimate=1_000),
        rows=50_000,
        estimate=1_100,
    )
    assert found(tree) == [("estimate", "SEQ_SCAN", True)]
    assert "order of the joins" in only(tree).advice


def test_one_that_goes_wrong_further_up_by_as_much_again_is_named_too() -> None:
    tree = node("HASH_JOIN", scan(50_000, estimate=2_000), scan(9), rows=50_000, estimate=100)
    assert {f.operator.name for f in findings(plan(tree)) if f.kind == "estimate"} == {"SEQ_SCAN", "HASH_JOIN"}


def test_an_operator_without_an_estimate_is_looked_through() -> None:
    tree = node("PROJECTION", node("UNION", scan(50_000, estimate=1_000), rows=0), rows=50_000, estimate=1_000)
    assert found(tree) == [("estimate", "SEQ_SCAN", False)]


def test_where_no_join_stands_above_the_plan_would_be_the_same() -> None:
    finding = only(node("HASH_GROUP_BY", scan(50_000, estimate=1_000), rows=5, estimate=5))
    assert not finding.matters and "the plan would have been the same" in finding.advice


def test_the_one_in_five_rule_is_named() -> None:
    tree = node("FILTER", scan(90_000, estimate=90_000), rows=100, estimate=18_000, Expression="x % 3 = 1")
    assert "one row in five" in only(tree).what


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (node("STREAMING_LIMIT", scan(2_048, estimate=500_000), rows=10, estimate=10, Limit="10"), "stopped early"),
        (node("LIMIT", node("PROJECTION", node("WINDOW", scan(9_000, estimate=9_000), rows=2_048, estimate=500_000), rows=2_048,
              estimate=500_000), rows=2_000, estimate=500_000), "stopped early"),
        (node("HASH_JOIN", scan(0, estimate=500_000), node("EMPTY_RESULT", rows=0), rows=0, estimate=500_000), "stopped early"),
        (scan(10, estimate=500_000, Dynamic_Filters="optional: k IN PRF(k)"), "filtered while running"),
        (node("PROJECTION", scan(10, estimate=500_000, Filters=["optional: Dynamic Filter (name)"]), rows=10, estimate=500_000),
         "filtered while running"),
        (node("TOP_N", scan(250_000, estimate=2), rows=5, estimate=2), "the LIMIT's number"),
        (node("RESERVOIR_SAMPLE", node("PROJECTION", scan(250_000, estimate=10), rows=250_000, estimate=10), rows=10, estimate=10),
         "the LIMIT's number"),
        (node("RECURSIVE_CTE", node("FILTER", rows=90_000, estimate=1), rows=5, estimate=5), "ran in a loop"),
    ],
)  # fmt: skip
def test_an_estimate_that_was_never_tested_is_no_finding(tree: dict[str, Any], words: str) -> None:
    assert found(tree) == []
    assert words in {times_off(o) for o in plan(tree).operators}


def test_a_limit_does_not_reach_below_a_sort_and_excuses_only_too_high() -> None:
    below = node(
        "LIMIT", node("ORDER_BY", scan(9_000, estimate=500_000), rows=10, estimate=500_000), rows=10, estimate=10
    )
    assert ("estimate", "SEQ_SCAN", False) in found(below)
    assert found(node("LIMIT", scan(50_000, estimate=1_000), rows=50_000, estimate=50_000)) == [
        ("estimate", "SEQ_SCAN", False)
    ]


# Full scans


def test_a_large_table_read_whole_for_few_rows() -> None:
    finding = only(scan(5_000, 500_000, Filters="contains(c, 'late')"))
    assert (finding.kind, finding.tag) == ("scan", "full scan")
    assert finding.what == "All 500,000 rows of raw.main.t were read and kept 5,000 (1.0 %): contains(c, 'late')."


@pytest.mark.parametrize(
    "tree",
    [
        scan(1, rules.SCANNED, Filters="x = 1"),
        scan(50_000, 500_000, Filters="x = 1"),
        scan(500_000, 500_000),
        scan(10, 500_000, Filters="x = 1", row_groups=2, row_groups_total=5),
        scan(10, 500_000, Filters="optional: x IN PRF(x)"),
        scan(10, 500_000, Filters="x = 1", Dynamic_Filters="optional: x IN PRF(x)"),
        node("STREAMING_LIMIT", scan(10, 500_000, Filters="x = 1"), Limit="10"),
        node("UNGROUPED_AGGREGATE", scan(500_000), rows=1),
    ],
)
def test_what_is_no_full_scan(tree: dict[str, Any]) -> None:
    assert found(tree) == []


def test_filters_above_the_scan_count_as_its_own() -> None:
    tree = node(
        "PROJECTION",
        node("FILTER", node("PROJECTION", scan(500_000), rows=500_000), rows=12, Expression="f(x) = 1"),
        rows=12,
    )
    assert "kept 12 (less than 0.1 %): f(x) = 1." in only(tree).what
    marked = node(
        "HASH_JOIN",
        scan(500_000, Filters="optional: u IN (1)"),
        node("COLUMN_DATA_SCAN", rows=5),
        rows=500_000,
        Join_Type="MARK",
    )
    assert "kept none: IN (...)." in only(node("FILTER", marked, rows=0, Expression="IN (...)")).what


# Joins


def test_a_join_that_multiplies_rows() -> None:
    finding = only(node("HASH_JOIN", scan(3_000), scan(2_000), rows=1_285_716, Conditions="k = k"))
    assert (finding.kind, finding.tag) == ("join", "join grows ×429")
    assert "3,000 and 2,000 rows went in, 1,285,716 came out" in finding.what and "more than once" in finding.advice


@pytest.mark.parametrize(("rows", "told"), [(10_000, False), (10_001, True)])
def test_ten_times_the_larger_side_is_the_most(rows: int, told: bool) -> None:
    assert bool(found(node("HASH_JOIN", scan(1_000), scan(20), rows=rows))) is told


def test_few_rows_may_multiply() -> None:
    assert found(node("HASH_JOIN", scan(10), scan(10), rows=9_999)) == []


def test_every_pair_compared() -> None:
    finding = only(node("BLOCKWISE_NL_JOIN", scan(3_000), scan(3_000), rows=12, Condition="a + b < 50"))
    assert "9,000,000 pairs were compared; 12 matched" in finding.what
    assert found(node("NESTED_LOOP_JOIN", scan(2_000_000), scan(1), rows=12)) == []
    assert found(node("HASH_JOIN", scan(3_000), scan(3_000), rows=12)) == []


# Sorts


def test_a_sort_of_everything_under_a_limit() -> None:
    sort = node("ORDER_BY", scan(500_000), rows=2_048, Order_By=["name ASC", "id ASC"])
    finding = only(node("STREAMING_LIMIT", node("PROJECTION", sort, rows=2_048), rows=10))
    assert finding.tag == "sorts everything"
    assert finding.what == "The sort by name ASC, id ASC (ORDER_BY) sorted 500,000 rows, and the LIMIT kept 10 of them."


@pytest.mark.parametrize(
    "tree",
    [
        node("TOP_N", scan(500_000), rows=10),
        node("ORDER_BY", scan(500_000), rows=500_000),
        node("LIMIT", node("ORDER_BY", scan(500_000), rows=6_144), rows=5_000),
        node("LIMIT", node("ORDER_BY", scan(9_000), rows=2_048), rows=10),
        node("LIMIT", node("HASH_GROUP_BY", node("ORDER_BY", scan(500_000), rows=500_000), rows=50), rows=10),
        node("FILTER", node("ORDER_BY", scan(500_000), rows=500_000), rows=10),
    ],
)
def test_what_is_no_sort_in_vain(tree: dict[str, Any]) -> None:
    assert found(tree) == []


def test_a_window_over_everything_of_which_a_filter_kept_few() -> None:
    window = node("WINDOW", scan(500_000), rows=500_000, Projections="rank() OVER (ORDER BY u)")
    finding = only(node("FILTER", node("PROJECTION", window, rows=500_000), rows=6, Expression="r <= 5"))
    assert (
        finding.what == "rank() OVER (ORDER BY u) was worked out for 500,000 rows, and the filter above kept 6 of them."
    )


# Time


def test_time_in_one_operator() -> None:
    finding = only(node("PROJECTION", node("ORDER_BY", scan(500), self_ms=110.0, Order_By="n")))
    assert (finding.kind, finding.tag) == ("time", "98 % of the time")
    assert finding.what == "The sort by n (ORDER_BY) took 98 % of the time of all operators."


def test_nobody_waits_for_a_tenth_of_a_second_and_nothing_is_told_twice() -> None:
    assert found(node("PROJECTION", node("ORDER_BY", self_ms=98.0))) == []
    assert found(node("PROJECTION", node("ORDER_BY", self_ms=99.0), self_ms=70.0)) == []
    assert found(node("PROJECTION", scan(5, 500_000, Filters="x = 1", self_ms=900.0))) == [("scan", "SEQ_SCAN", True)]


# Order and text


def test_what_matters_comes_first_then_what_took_longest() -> None:
    tree = node(
        "UNION",
        scan(50_000, estimate=1_000, self_ms=60.0),
        scan(5, 500_000, Filters="x = 1", self_ms=5.0),
        node("HASH_JOIN", scan(1_000), scan(20), rows=90_000, self_ms=20.0),
        rows=0,
    )
    assert found(tree) == [("join", "HASH_JOIN", True), ("scan", "SEQ_SCAN", True), ("estimate", "SEQ_SCAN", False)]


def test_nothing_unusual_is_said() -> None:
    assert one_line(plan_text({"tree": scan(100, estimate=100)}), 1_000).endswith(f"findings: {NOTHING_UNUSUAL}")


def test_many_findings_are_cut_and_counted() -> None:
    text = plan_text({"tree": node("UNION", *(scan(50_000, estimate=9) for _ in range(MOST_FINDINGS + 3)), rows=0)})
    assert text.count("estimate ×5,556 too low") == MOST_FINDINGS and text.endswith("  and 3 more\n")


def test_the_text_is_the_same_bytes() -> None:
    profile = json.loads((GOLDEN / "query_plan.json").read_text("utf-8"))
    assert plan_text(profile) == (GOLDEN / "query_plan.txt").read_text("utf-8")


def test_the_text_does_not_change_when_everything_took_twice_as_long() -> None:
    def slower(tree: dict[str, Any]) -> dict[str, Any]:
        return {**tree, "self_ms": 2 * tree["self_ms"], "children": [slower(c) for c in tree["children"]]}

    profile = json.loads((GOLDEN / "query_plan.json").read_text("utf-8"))
    assert plan_text({**profile, "tree": slower(profile["tree"])}) == plan_text(profile)
