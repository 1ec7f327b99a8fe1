"""Rates and their ratios: unknown stays unknown, free stays finite."""

from __future__ import annotations

import math

import pytest

from peek_core.values.prices import Cost, Rates


def rates(input: float, output: float, cached: float | None = None, write: float | None = None) -> Rates:
    return Rates(input, output, cached, write, None, "a table", "2026-11-30")


def test_ratios_are_over_the_input_price() -> None:
    found = rates(2.0, 10.0, 0.10, 2.5)
    assert (found.r, found.w, found.o) == pytest.approx((0.05, 1.25, 5.0))


def test_an_unpublished_cached_rate_is_unknown_and_an_unpublished_write_costs_what_input_costs() -> None:
    found = rates(2.0, 6.0)
    assert found.r is None and found.w == 1.0


@pytest.mark.parametrize(("output", "o"), [(0.0, 0.0), (1.0, math.inf)])
def test_free_input_has_no_ratios_to_divide_by(output: float, o: float) -> None:
    found = rates(0.0, output, 0.0, 0.0)
    assert (found.r, found.w, found.o) == (None, 1.0, o)


def test_a_cached_rate_of_zero_is_a_rate() -> None:
    assert rates(2.0, 10.0, 0.0).r == 0.0


def test_a_cost_is_an_estimate_unless_it_says_at_most() -> None:
    assert not Cost(0.1, "a table", "2026-11-30").at_most
