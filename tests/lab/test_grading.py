"""Grading: right only when the figure, the name or the whole table is the gold one."""

from __future__ import annotations

from typing import Any

import pytest

from peek_core.lab.grading import grade
from peek_core.lab.series import Played, paired, planted_found, totals
from peek_core.values.trajectory import Answer, Table


def gold(answer: Any, kind: str, tolerance: float = 0.0) -> dict[str, Any]:
    return {"answer": answer, "answer_kind": kind, "tolerance": tolerance}


def table(*rows: tuple[Any, ...]) -> Answer:
    return Answer("see table", table=Table(tuple(f"c{i}" for i in range(len(rows[0]))), rows, len(rows)))


@pytest.mark.parametrize(
    ("line", "answer", "verdict"),
    [
        (gold(47933, "number"), Answer("47,933 rows", value=47933), "right"),
        (gold(47933, "number"), Answer("50,000 rows, 47,933 without tests", value=50000), "wrong"),
        (gold(0.356034, "share", 0.0005), Answer("35.6 %", value=35.6), "right"),
        (gold(0.356034, "share", 0.0005), Answer("30.2 %", value=30.2), "wrong"),
        (gold("North America", "text"), Answer("North America, 14,055", value="North America"), "right"),
        (gold("North America", "text"), Answer("APAC, then North America", value="APAC"), "wrong"),
        (gold([["Free", 3], ["Team", 2]], "table"), table(("Team", 2), ("Free", 3)), "right"),
        (gold([["Free", 3], ["Team", 2]], "table"), table(("Free", 3)), "wrong"),
        (gold([["2026-01", 3.151195]], "table", 0.005), table(("2026-01-01", 99, 3.15)), "right"),
        (gold([[None, 930]], "table"), table((None, 930)), "right"),
        (gold(None, "none"), Answer("47", value=47), "wrong"),
    ],
)
def test_verdicts(line: dict[str, Any], answer: Answer, verdict: str) -> None:
    assert grade(line, "answered", answer) == verdict


def test_no_answer_is_right_only_where_there_is_none() -> None:
    assert grade(gold(None, "none"), "no_answer", Answer("why not")) == "right"
    assert grade(gold(5, "number"), "no_answer", Answer("why not")) == "no_answer"
    assert grade(gold(5, "number"), "failed", None) == "no_answer"


def one(verdict: str, looks: int) -> Played:
    return Played("q", "?", "S", verdict, "", "r", 2, looks, 100, 2, 0)  # type: ignore[arg-type]


def test_sums_put_correctness_first_and_pairs_are_compared_one_by_one() -> None:
    a, b = [one("right", 0), one("right", 1), one("wrong", 0)], [one("wrong", 2), one("right", 1), one("right", 0)]
    assert (totals(a).right, totals(a).wrong, totals(a).look_ups) == (2, 1, 1)
    assert (paired(a, b).better, paired(a, b).worse, paired(a, b).same, paired(a, b).fewer_look_ups) == (1, 1, 1, 1)


def test_a_planted_fact_counts_as_definition_or_as_an_item_that_names_it() -> None:
    planted = [
        {"id": "a", "kind": "sentinel", "column": "nps", "values": [99]},
        {"id": "b", "kind": "vocabulary", "term": "low rating", "column": "rating", "values": [1, 2]},
        {"id": "c", "kind": "meaning", "column": "rating", "where": "channel = 'email'"},
    ]
    definitions = [{"kind": "sentinel", "column": "nps", "values": [99]}]
    texts = ['"low rating" means rating is 1 or 2.', "rating is missing exactly where channel is email."]
    assert planted_found(planted, texts, definitions) == (("a", "b", "c"), ())
    assert planted_found(planted, texts[:1], []) == (("b",), ("a", "c"))
