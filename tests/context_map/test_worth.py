"""Where a map can't pay, that is said."""

from __future__ import annotations

from peek_core.context_map.regions import Region, Regions
from peek_core.context_map.worth import QUESTIONS, cannot_pay, estimated_tokens
from peek_core.values.dataset import ColumnProfile, Profile, TableProfile


def profile(rows: int, length: float | None = 80.0) -> Profile:
    text = ColumnProfile("comment", "comment", "VARCHAR", 0, rows, None, None, average_length=length)
    number = ColumnProfile("id", "id", "BIGINT", 0, rows, None, None)
    return Profile((TableProfile("t", rows, (number, text)),))


def looked_at(*columns: str) -> Regions:
    return Regions(1, tuple(Region("t", c) for c in columns))


def test_few_rows_fit_one_prompt() -> None:
    assert (
        cannot_pay(profile(15))
        == "All 15 rows fit one prompt (about 330 tokens, estimated), so a map can hardly save anything."
    )
    assert cannot_pay(profile(50_000)) is None


def test_missing_values_take_hardly_any_tokens() -> None:
    empty = ColumnProfile("a", "a", "VARCHAR", 40_000, 0, None, None)
    assert estimated_tokens(Profile((TableProfile("t", 40_000, (empty,)),))) == 10_000


def test_questions_that_share_nothing() -> None:
    apart = [looked_at(f"c{n}") for n in range(QUESTIONS)]
    assert "no column in common" in (cannot_pay(profile(50_000), apart) or "")
    assert cannot_pay(profile(50_000), apart[:-1]) is None
    assert cannot_pay(profile(50_000), [*apart[:-1], looked_at("c0", "x")]) is None
    assert cannot_pay(profile(50_000), [*apart[:-1], Regions(1)]) is None
