"""Random questions: never a crash, never an answer that leaves a word out."""

from __future__ import annotations

import re

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peek_core.providers.builtin.periods import extract
from peek_core.providers.builtin.reading import load, parse_condition
from tests.providers.builtin import tables
from tests.providers.builtin.harness import Play

WORDS = [
    "how",
    "many",
    "what",
    "share",
    "of",
    "average",
    "tickets",
    "open",
    "closed",
    "urgent",
    "per",
    "team",
    "by",
    "agent",
    "in",
    "last",
    "month",
    "and",
    "or",
    "not",
    "without",
    "summary",
    "reply",
    "minutes",
    "above",
    "60",
    "between",
    "10",
    "80",
    "which",
    "most",
    "top",
    "5",
    "list",
    "show",
    "those",
    "with",
    "the",
    "is",
    "than",
    "Network",
    "Bo",
    "Lind",
    ",",
    "?",
    ".",
    '"',
    "'",
    "means",
    "don't",
    "count",
    "P1",
    "99",
    "compare",
    "trend",
    "mention",
    "vpn",
    "as",
    "percentage",
    "same",
    "only",
    "score",
    "March",
    "2026",
    "Q1",
    "since",
]
questions = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return tables.tickets()


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=questions)
def test_no_question_breaks_it(con: duckdb.DuckDBPyConnection, question: str) -> None:
    Play(con.cursor(), "tickets", "2026-06-10").ask(question)


@settings(max_examples=60, deadline=None)
@given(
    case=st.sampled_from([c for c in tables.CASES if c[0] == "tickets" and c[2]]),
    at=st.integers(0, 20),
    word=st.sampled_from(["zorgle", "flimp", "unless", "twice", "hardly"]),
)
def test_a_word_nobody_knows_is_never_left_out(
    con: duckdb.DuckDBPyConnection, case: tuple[str, str, str], at: int, word: str
) -> None:
    words = case[1].split()
    words.insert(min(at, len(words)), word)
    final = Play(con.cursor(), "tickets", "2026-06-10").ask(" ".join(words))
    # a text search takes the words it is given, whatever they are
    assert final["answer"] is None or (word in final["answer"] and "mention" in case[1])


@given(text=st.text(max_size=80))
def test_periods_of_any_text(text: str) -> None:
    from datetime import date

    extract(text.lower(), date(2026, 5, 1), date(2025, 1, 1), date(2026, 4, 30))


@pytest.mark.parametrize(
    "text", ["between 31 and 31 February 2026", "since 99 march", "on 2026-13-45", "last 999 years", "in q9"]
)
def test_impossible_dates_stay_words(text: str) -> None:
    from datetime import date

    marked, found = extract(text, date(2026, 5, 1), date(2025, 1, 1), date(2026, 4, 30))
    assert found == [] or re.search(r"P\d", marked)


@given(
    data=st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(["measure", "period", "table"]), x),
    )
)
def test_a_reading_that_is_none_is_none(data: object) -> None:
    assert load(data) is None


@given(text=st.text(max_size=40))
def test_conditions_of_any_text(text: str) -> None:
    parse_condition(text)
