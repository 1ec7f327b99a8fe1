"""Questions on three tables: what is answered is right, and what can't be read wholly is not answered."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from peek_core.values.canon import plain
from tests.providers.builtin import tables
from tests.providers.builtin.harness import Play, _row

GOLD_ANSWERED = 0.9


@pytest.fixture(scope="module")
def made() -> dict[str, duckdb.DuckDBPyConnection]:
    return {name: make() for name, make in tables.MAKE.items()}


def correct(con: duckdb.DuckDBPyConnection, sql: str, final: dict[str, Any]) -> bool:
    want = plain(con.execute(sql).fetchall())
    if len(want) == 1 and len(want[0]) == 1:
        if isinstance(want[0][0], str):
            return bool(final["value"] == want[0][0])
        return final["value"] is not None and abs(final["value"] - want[0][0]) < 1e-6
    got = final["table"]["whole"]
    return len(got) == len(want) and all(any(_row(w, g, 1e-6, 1) for g in got) for w in want)


@pytest.mark.parametrize(("table", "question", "sql"), tables.CASES)
def test_an_answer_is_the_right_one_or_there_is_none(
    made: dict[str, duckdb.DuckDBPyConnection], table: str, question: str, sql: str
) -> None:
    final = Play(made[table].cursor(), table, tables.TODAY[table], accept=False).ask(question)
    assert final["answer"] is None or (sql and correct(made[table], sql, final)), (final["answer"], final["table"])


def test_most_questions_are_answered(made: dict[str, duckdb.DuckDBPyConnection]) -> None:
    answered = [
        Play(made[t].cursor(), t, tables.TODAY[t], accept=False).ask(q, learn=False)["answer"] is not None
        for t, q, sql in tables.CASES
        if sql
    ]
    assert sum(answered) >= GOLD_ANSWERED * len(answered)


@pytest.mark.parametrize(("table", "question"), tables.MUST_ABSTAIN)
def test_what_is_not_wholly_understood_is_not_answered(
    made: dict[str, duckdb.DuckDBPyConnection], table: str, question: str
) -> None:
    final = Play(made[table].cursor(), table, tables.TODAY[table], accept=False).ask(question)
    assert final["answer"] is None, final["answer"]
    assert final["notes"][0]
    for suggestion in final["suggestions"]:
        assert (
            Play(made[table].cursor(), table, tables.TODAY[table], accept=False).ask(suggestion)["answer"] is not None
        ), suggestion
