"""The worth bench measures what it says: a script that obeys the prompt is right exactly where the prompt tells it."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.worth import CONDITIONS, Row, interval, measure, table
from tests.bench.worth_questions import CORPORA, TICKETS
from tests.kit.obedient import Obedient


def test_it_asks_at_least_forty_questions_of_two_corpora() -> None:
    assert len(CORPORA) == 2 and sum(len(c.questions) for c in CORPORA) >= 40
    for corpus in CORPORA:
        assert sum(bool(f.stale) for f in corpus.facts) >= 3
        assert any(f.definition is None for f in corpus.facts) and any(f.definition for f in corpus.facts)


def test_what_the_prompt_tells_decides_what_the_obedient_script_gets_right() -> None:
    chosen = replace(
        TICKETS,
        questions=tuple(
            q for q in TICKETS.questions if "critical" in q.question or "late" in q.question or "statuses" in q.question
        ),
    )
    analyst, rows = measure([chosen], provider=Obedient, repeats=1)
    right = {row.name: sum(row.right) for row in rows}
    count = len(chosen.questions)
    assert analyst == "obedient script, no model"
    assert list(right) == [c.name for c in CONDITIONS]
    assert right["prose"] == right["view + prose"] == count
    assert right["profile"] < right["view"] < count
    assert right["prose, stale"] < count and right["view + prose, stale"] < count


def test_the_interval_is_of_paired_differences() -> None:
    assert interval([1.0] * 20, [0.0] * 20) == (1.0, 1.0)
    low, high = interval([1.0, 0.0] * 20, [0.0, 1.0] * 20)
    assert low < 0 < high
    assert interval([1.0, 0.0] * 20, [1.0, 0.0] * 20) == (0.0, 0.0)


def test_the_table_names_who_played() -> None:
    said = table("some model", [Row("profile", (0.0, 1.0), 100.0), Row("view", (1.0, 1.0), 120.0)], 3)
    assert said.startswith("played by: some model; 2 questions, 3 repeats") and "+50.0%" in said
