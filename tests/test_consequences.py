"""Earlier answers run again with and without a definition; those that give something else are told."""

from __future__ import annotations

from typing import Any

import pytest

from peek_core.consequences import LOOKED_AT, ChangedAnswer, changed_answers
from peek_core.errors import QueryFailed
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Answer, Table, Trajectory


def run(id: str, sql: str | None, status: str = "answered") -> RunView:
    told = Trajectory(id, f"question {id}?").end(status, answer=Answer("a", sql=sql))  # type: ignore[arg-type]
    return RunView(id, "d", "peek", told.question, "x", status, "done", "", 0.0, 1.0, 1, told, {}, None)


def gives(**results: Any) -> Any:
    def query(sql: str) -> Table:
        found = results[sql]
        if isinstance(found, Exception):
            raise found
        rows = tuple(found)
        return Table(("k", "n")[-len(rows[0]) :], rows, len(rows))

    return query


def test_a_figure_that_changes_is_told_with_both_values() -> None:
    found = changed_answers([run("1", "count")], gives(count=[(50_000,)]), gives(count=[(47_933,)]), lambda sql: True)
    assert found == (ChangedAnswer("1", "question 1?", "50,000", "47,933"),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ([("a", 1), ("b", 20_000)], [("a", 1), ("b", 19_000)], ("b 20,000", "19,000")),
        ([("a", 1), ("b", 2), ("c", 3)], [("a", 2), ("b", 3), ("c", 4)], ("a 1", "2 and 2 more rows")),
        ([("a", "x"), ("a", "y")], [("a", "x"), ("a", "z")], ("2 rows", "2 rows, 1 of them otherwise")),
        ([([1], 1), ([2], 2)], [([1], 1), ([2], 3)], ("[2] 2", "3")),
        ([("x", 11_041.5)], [("x", 9_919.25)], ("n 11,041.50", "9,919.25")),
        ([("a", 1), ("b", 2)], [("a", 1), ("b", 3), ("c", 1)], ("2 rows", "3 rows, 2 of them otherwise")),
        ([("a", 1), ("b", 2)], [("a", 1)], ("2 rows", "1 row")),
        ([("a", 1), ("b", 2)], [("c", 1), ("d", 2)], ("2 rows", "2 rows, 2 of them otherwise")),
    ],
)
def test_a_table_is_told_by_its_first_figure_that_moved_or_by_its_rows(
    old: Any, new: Any, said: tuple[str, str]
) -> None:
    (found,) = changed_answers([run("1", "q")], gives(q=old), gives(q=new), lambda sql: True)
    assert (found.before, found.after) == said


def test_what_stays_concerns_others_failed_or_never_answered_is_not_told() -> None:
    runs = [run("1", "same"), run("2", "other"), run("3", "gone"), run("4", None), run("5", "count", "failed")]
    runs += [run("6", "order"), run("7", "sum")]
    before = gives(same=[(1,)], gone=QueryFailed("no column"), count=[(1,)], order=[("a", 1), ("b", 2)], sum=[(0.3,)])
    after = gives(same=[(1,)], gone=[(2,)], count=[(2,)], order=[("b", 2), ("a", 1)], sum=[(0.1 + 0.2,)])
    assert changed_answers(runs, before, after, lambda sql: sql != "other") == ()


def test_the_newest_come_first_each_query_once_and_not_without_end() -> None:
    runs = [run(str(n), "count") for n in range(5)] + [run(str(n), f"q{n}") for n in range(5, 60)]
    results = {"count": [(1,)], **{f"q{n}": [(1,)] for n in range(60)}}
    found = changed_answers(runs, gives(**results), gives(**{k: [(2,)] for k in results}), lambda sql: True)
    assert len(found) == LOOKED_AT and found[0].run == "59"
