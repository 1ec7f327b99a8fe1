"""The Distiller sees whole steps within its budget, and what orientation cost is counted, not only told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.distiller import distill, evidence, kept, read, trajectory_text
from peek_core.context_map.map import MapSection
from peek_core.values.messages import Completion, Usage
from peek_core.values.sources import SourceRecord
from peek_core.values.trajectory import Answer, SqlRecord, Step, Trajectory


def count(text: str) -> int:
    return len(text)


def steps(*sizes: int) -> tuple[Step, ...]:
    return tuple(
        Step(
            n,
            "",
            "",
            "",
            None,
            None,
            observation="x" * size,
            queries=(SqlRecord("q", "SELECT 1", 0.0, look_up=n == 1),),
        )
        for n, size in enumerate(sizes, 1)
    )


@given(st.lists(st.integers(0, 400), max_size=30), st.integers(50, 3_000))
def test_what_is_kept_are_whole_steps_of_head_and_tail_within_the_budget(sizes: list[int], budget: int) -> None:
    run = steps(*sizes)
    held = kept(run, count, budget)
    numbers = [s.n for s in held]
    assert numbers == sorted(set(numbers)) and all(s in run for s in held)
    gaps = [(a, b) for a, b in itertools.pairwise(numbers) if b != a + 1]
    assert len(gaps) <= 1
    if run:
        assert held[-1] == run[-1], "how it ended is always told"
        size = sum(len(trajectory_text(Trajectory("r", ""), (s,))) for s in held[:-1])
        assert len(held) == 1 or size <= budget + 60 * len(held)


def test_what_was_left_out_is_counted_where_it_stood() -> None:
    run = Trajectory("r", "how many?", steps(10, 10, 900, 900, 10)).end("answered", answer=Answer("7"))
    text = trajectory_text(run, kept(run.steps, count, 400))
    assert text.index("Step 2") < text.index("(2 steps left out here)") < text.index("Step 5")


def asked(reply: Any, **more: Any) -> tuple[Any, str]:
    seen: list[str] = []

    def call(source: str, records: Sequence[SourceRecord], *, schema: Any = None) -> Completion:
        seen.extend(r.text for r in records)
        return Completion(json.dumps(reply), "stop", Usage())

    run = Trajectory("r", "how many?", steps(10, 10)).end("answered", answer=Answer("7"))
    return distill(call, run, [], history=(), version=1, count=count, **more), "\n".join(seen)


def test_orientation_is_counted_from_the_queries_beside_what_the_model_reports() -> None:
    found, _ = asked(
        {"diagnosis": "d", "orientation": {"orienting_queries": ["a", "b", "c"]}, "tags": [], "candidates": []}
    )
    assert found.orientation["counted"] == {"queries": 2, "orienting": 1}
    assert found.orientation["orienting_queries"] == ["a", "b", "c"]


def test_the_sixth_section_is_offered_where_it_is_on() -> None:
    assert "ep queries that fail" not in asked({})[1]
    assert "ep queries that fail" in asked({}, sections=[MapSection.ERRORS])[1]


@pytest.mark.parametrize(
    ("data", "tolerance"),
    [(0.01, 0.01), (0.5, 1e-6), (-1, 1e-6), ("wide", 1e-6), (None, 1e-6), (True, 1e-6)],
)
def test_a_model_can_not_widen_the_tolerance_until_nothing_is_shown(data: Any, tolerance: float) -> None:
    found = evidence({"sql": "SELECT 1", "expect": [[1]], "tolerance": data}, 3)
    assert found is not None and (found.tolerance, found.version) == (tolerance, 3)


@given(st.text(max_size=300))
def test_no_reply_breaks_reading(reply: str) -> None:
    read(reply, 1)


def test_rows_go_before_code_does() -> None:
    """A step that printed much is shown with less of what it printed; what the others did stays."""
    held = kept(steps(8_000, 8_000, 8_000), lambda text: len(text) // 4, 1_500)
    assert [s.n for s in held] == [1, 2, 3]
    assert all("characters left out" in s.observation for s in held)
