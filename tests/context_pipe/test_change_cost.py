"""What a change of the map costs once: all tokens from the map on are read anew instead of from the cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.change_cost import change_cost
from peek_core.values.call_trace import CallTrace
from tests.context_pipe.traces import RATES, call, section

SECTIONS = (section("rules", 1_000), section("context map", 300, kind="memory"), section("question", 200))


def cost(cached: int | None, **more: object) -> CallTrace:
    return call(1, sections=SECTIONS, input=1_500, cached=cached, output=5, **{"rates": RATES, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cached", "of_them", "usd_before"),
    [(1_400, 400, 0.00028), (1_024, 24, 0.0009568), (900, 0, 0.001), (0, 0, 0.001), (2_000, 500, 0.0001), (None, None, None)],
)  # fmt: skip
def test_only_what_was_cached_behind_the_map_gets_dearer(
    cached: int | None, of_them: int | None, usd_before: float | None
) -> None:
    found = change_cost(cost(cached))
    assert found is not None
    assert (found.tokens, found.cached, found.usd_anew) == (500, of_them, 0.001)
    assert found.usd_before == (None if usd_before is None else pytest.approx(usd_before))
    assert (found.run, found.prices) == ("r1", "own prices file, prices of 2026-11-30")


def test_where_the_cache_is_written_the_price_of_writing_counts() -> None:
    found = change_cost(cost(1_400, written=100))
    assert found is not None and found.usd_anew == 0.00125
    assert found.usd_before == pytest.approx(0.00025 + 0.00008)


def test_what_nobody_published_is_unknown() -> None:
    unpriced = change_cost(cost(1_400, rates=None))
    assert unpriced is not None and (unpriced.usd_anew, unpriced.usd_before, unpriced.prices) == (None, None, "")
    uncached = change_cost(cost(1_400, rates=replace(RATES, cached=None)))
    assert uncached is not None and (uncached.usd_anew, uncached.usd_before) == (0.001, None)


def test_a_request_without_a_map_says_nothing_of_it() -> None:
    assert change_cost(call(1)) is None
