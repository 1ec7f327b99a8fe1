"""What Plan goes by for each record: what would be sent of it, as the latest request left it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.catalog import PAPER, Held
from peek_core.context_pipe.estimate import estimated
from peek_core.context_pipe.stats import PipelineStats
from peek_core.values.sources import Kind, SourceRecord
from tests.context_pipe.kit import quarter, record

WHOLE = record("s", Kind.OBSERVATION, "x" * 40_000, cleared="(cleared)", trimmed="s()", recoverable=True)


DESCRIBED = replace(WHOLE, kind=Kind.HOST_FUNCTIONS)


def of(held: Held | None = None, factor: float = 1.0, whole: SourceRecord = WHOLE) -> int:
    return estimated(whole, Binder(quarter), PipelineStats(), {"observation": factor, "memory": 9.0}, held, PAPER.rules)


@pytest.mark.parametrize(
    ("held", "tokens"),
    [
        (None, 10_000),
        (Held(cleared=frozenset({"another"})), 10_000),
        (Held(cleared=frozenset({"s"})), 3),
        (Held(spilled=frozenset({"s"})), 1_895),
        (Held(spilled=frozenset({"s"}), cleared=frozenset({"s"})), 3),
        (Held(dropped=frozenset({"s"}), cleared=frozenset({"s"})), 0),
    ],
)
def test_what_was_shortened_is_estimated_as_it_stands_there_now(held: Held | None, tokens: int) -> None:
    assert of(held) == tokens


def test_a_description_that_was_trimmed_is_estimated_as_its_signatures() -> None:
    assert of(Held(trimmed=frozenset({"s"})), whole=DESCRIBED) == 1
    assert of(Held(trimmed=frozenset({"s"}), spilled=frozenset({"s"})), whole=DESCRIBED) == 1


def test_estimates_are_calibrated_by_kind() -> None:
    assert (of(factor=1.5), of(Held(cleared=frozenset({"s"})), factor=1.5)) == (15_000, 4)


def test_what_is_not_at_hand_goes_by_its_own_estimate_or_by_its_kind() -> None:
    stats = PipelineStats()
    stats.measured("e", "m", {"memory": 70}, 70, 70)
    lazy = record("s", Kind.MEMORY, load=lambda: "x", est_tokens=5)
    assert estimated(lazy, Binder(quarter), stats, {"memory": 9.0}) == 5
    unknown = record("s", Kind.MEMORY, load=lambda: "x")
    assert estimated(unknown, Binder(quarter), stats, {}) == 70
    assert estimated(unknown, Binder(quarter), PipelineStats(), {}) == 0
