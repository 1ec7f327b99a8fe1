"""The small parts of the agent: finding the cell, telling look-ups, checking numbers, cutting output."""

from __future__ import annotations

import pytest

from peek_core.agents.cell import find_cell
from peek_core.agents.grounding import figures
from peek_core.agents.look_ups import is_look_up
from peek_core.agents.observation import head_and_tail
from peek_core.agents.sharing import row_level


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("Thought.\n```py\nx = 1\n```\nOutput: 1\n```python\nFINAL('1')\n```", "x = 1"),
        ("```\nx = 1\n\ny = 2\n```", "x = 1\n\ny = 2"),
        ("  ```Python\nx = '''```'''\n  ```", "x = '''```'''"),
    ],
)
def test_the_first_cell_counts_and_nothing_after_it(reply: str, code: str) -> None:
    assert find_cell(reply, "stop").code == code


@pytest.mark.parametrize(
    ("reply", "finish", "problem"),
    [
        ("42", "stop", "The reply held no cell"),
        ("```python\nx = 1", "stop", "The cell's fence was never closed"),
        ("```python\nx = 1", "length", "The reply was cut off at the token limit"),
        ("```python\n\n```", "stop", "The cell was empty"),
    ],
)
def test_a_reply_without_a_cell_says_what_is_wrong(reply: str, finish: str, problem: str) -> None:
    assert str(find_cell(reply, finish).problem).startswith(problem)


@pytest.mark.parametrize("sql", ["DESCRIBE t", "SUMMARIZE t", "SELECT DISTINCT region FROM t", "SELECT * FROM t LIMIT 5", "FROM t LIMIT 3",
                                 "/* look-up */ SELECT max(nps) FROM t", "-- hm\nDESCRIBE t"])  # fmt: skip
def test_orientation(sql: str) -> None:
    assert is_look_up(sql)


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM t", "SELECT region, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
                                 "SELECT * FROM t WHERE id = 7 LIMIT 5", "SELECT count(DISTINCT region) FROM t"])  # fmt: skip
def test_question_work(sql: str) -> None:
    assert not is_look_up(sql)


def found(text: str, *tables: list[list[object]], question: str = "") -> list[tuple[str, int | None]]:
    return [(f.text, f.result) for f in figures(text, tables, question)]


def test_numbers_are_found_in_the_results_or_marked() -> None:
    assert found("47,933 rows, mean 3.07, 57.1 % of 7", [[47933, 3.0701]], [[0.571428, 7]]) == [
        ("47,933", 1), ("3.07", 1), ("57.1", 2), ("7", 2),
    ]  # fmt: skip
    assert found("About 12 of them", [[13]]) == [("12", None)]


def test_rounding_goes_by_the_decimals_shown() -> None:
    assert found("3.1", [[3.0501]]) == [("3.1", 1)]
    assert found("3.10", [[3.0501]]) == [("3.10", None)]
    assert found("13", [[13.4]]) == [("13", 1)]
    assert found("13", [[14]]) == [("13", None)]


def test_what_the_person_wrote_needs_no_cell_and_a_row_count_is_a_result() -> None:
    assert found("Ratings 1 or 2: 9", [[9]], question="A low rating is 1 or 2. How many?") == [
        ("1", 0),
        ("2", 0),
        ("9", 1),
    ]
    assert found("3 regions", [["a"], ["b"], ["c"]]) == [("3", 1)]


def test_dates_versions_and_negative_numbers() -> None:
    assert found("up to 2026-10-31", [["2026-10-31"]]) == [("2026-10-31", 1)]
    assert found("NPS −20.4", [[-20.42]]) == [("−20.4", 1)]
    assert found("version 5.10", [["5.10"]]) == [("5.10", 1)]


def test_output_is_cut_in_the_middle_with_its_true_length() -> None:
    cut = head_and_tail("a" * 50_000 + "the error", 100)
    assert "49,909 of 50,009 characters left out" in cut
    assert cut.endswith("the error")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*), avg(score) FROM t", False), ("SELECT region, count(*) FROM t GROUP BY ALL", False), ("DESCRIBE t", False),
        ("SELECT comment FROM t LIMIT 3", True), ("SELECT count(*) OVER () , comment FROM t", True), ("SELECT list(comment) FROM t", True),
        ("SELECT string_agg(comment, '') FROM t", True), ("nonsense", True), ("WITH x AS (SELECT * FROM t) SELECT count(*) FROM x", False),
    ],
)  # fmt: skip
def test_rows_are_told_from_aggregates(sql: str, rows: bool) -> None:
    assert row_level(sql) is rows
