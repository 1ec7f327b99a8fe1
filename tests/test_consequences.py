"""Earlier answers run again with and without a definition; those that give something else are told."""

from __future__ import annotations

from typing import Any

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
        return Table(("n",) if len(rows) == 1 else ("k", "n"), rows, len(rows))

    return query


def test_a_figure_that_changes_is_told_with_both_values() -> None:
    found = changed_answers([run("1", "count")], gives(count=[(50_000,)]), gives(count=[(47_933,)]), lambda sql: True)
    assert found == (ChangedAnswer("1", "question 1?", "50,000", "47,933"),)


def test_one_row_of_several_figures_tells_those_that_differ() -> None:
    before, after = ((lambda sql, n=n: Table(("total", "kind", "rows"), ((n, "a", 40),), 1)) for n in (160, 320))
    (found,) = changed_answers([run("1", "q")], before, after, lambda sql: True)
    assert (found.before, found.after) == ("total 160", "total 320")


def test_a_table_is_told_by_its_rows() -> None:
    before, after = gives(q=[("a", 1), ("b", 2)]), gives(q=[("a", 1), ("b", 3), ("c", 1)])
    (found,) = changed_answers([run("1", "q")], before, after, lambda sql: True)
    assert (found.before, found.after) == ("2 rows, 1 of them otherwise", "3 rows, 2 of them otherwise")


def test_what_stays_concerns_others_failed_or_never_answered_is_not_told() -> None:
    runs = [run("1", "same"), run("2", "other"), run("3", "gone"), run("4", None), run("5", "count", "failed")]
    before = gives(same=[(1,)], gone=QueryFailed("no column"), count=[(1,)])
    after = gives(same=[(1,)], gone=[(2,)], count=[(2,)])
    assert changed_answers(runs, before, after, lambda sql: sql != "other") == ()


def test_the_newest_come_first_each_query_once_and_not_without_end() -> None:
    runs = [run(str(n), "count") for n in range(5)] + [run(str(n), f"q{n}") for n in range(5, 60)]
    results = {"count": [(1,)], **{f"q{n}": [(1,)] for n in range(60)}}
    found = changed_answers(runs, gives(**results), gives(**{k: [(2,)] for k in results}), lambda sql: True)
    assert len(found) == LOOKED_AT and found[0].run == "59"
