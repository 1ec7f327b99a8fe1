"""Statistics: exact digests, moving averages, rings, reserves by percentile, and a calibration that learns tokenizers."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_pipe.cache_model import trail
from peek_core.context_pipe.stats import (
    DEFAULT_OUTPUT,
    DIGEST,
    EXPECTED_CALLS,
    RING,
    PipelineStats,
    kinds_of,
    percentile,
)
from peek_core.ports import CacheRules
from peek_core.values.messages import PromptSection
from tests.context_pipe.test_cache_model import sections

HERE = ("https://models.example/v1", "m")


def reserve(stats: PipelineStats, most: int = 8_000) -> tuple[int, str]:
    made = stats.reserves("m", "step", most)
    return made.output, made.reason


# The digest and the reserve


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=DIGEST), st.sampled_from([0.5, 0.75, 0.95]))
def test_a_percentile_is_by_nearest_rank(values: list[int], share: float) -> None:
    """The smallest value that at least such a share of them does not exceed."""
    found = percentile(values, share)
    assert found in values
    assert sum(v <= found for v in values) >= share * len(values) - 1e-9
    assert sum(v < found for v in values) < share * len(values)


def test_before_any_reply_the_reserve_is_a_default_within_what_the_model_may_say() -> None:
    assert reserve(PipelineStats()) == (DEFAULT_OUTPUT, "no reply of step seen yet: 1,200")
    assert reserve(PipelineStats(), most=500) == (500, "no reply of step seen yet: 500")


def test_the_reserve_is_p75_of_what_was_seen_and_p95_once_a_call_failed() -> None:
    stats = PipelineStats()
    for output in range(1, 101):
        stats.succeeded("m", "step", output)
    assert reserve(stats) == (75, "p75 of 100 replies: 75")
    stats.failed("m", "step")
    assert reserve(stats) == (95, "p95 after a recovery of 100 replies: 95")
    stats.succeeded("m", "step", 101)
    assert reserve(stats) == (76, "p75 of 101 replies: 76")
    assert reserve(stats, most=10)[0] == 10


def test_models_and_sources_have_statistics_of_their_own() -> None:
    stats = PipelineStats()
    stats.succeeded("m", "step", 10)
    stats.succeeded("m", "distill", 20)
    stats.succeeded("other", "step", 30)
    stats.failed("m", "distill")
    assert [stats.reserves(*who, 8_000).output for who in (("m", "step"), ("m", "distill"), ("other", "step"))] == [
        10,
        20,
        30,
    ]
    assert (stats.recoveries("m", "step"), stats.recoveries("m", "distill")) == (0, 1)


def test_the_digest_holds_the_latest_512_exactly() -> None:
    stats = PipelineStats()
    for output in range(1_000):
        stats.succeeded("m", "step", output)
    assert stats.usage_samples()["replies"]["m|step"] == list(range(1_000 - DIGEST, 1_000))
    assert DIGEST == 512


def test_failures_are_counted_until_a_reply_comes() -> None:
    stats = PipelineStats()
    for n in (1, 2, 3):
        stats.failed("m", "step")
        assert stats.recoveries("m", "step") == n
    stats.succeeded("m", "step", 1)
    assert stats.recoveries("m", "step") == 0


# Moving averages and rings


def test_the_hit_rate_moves_by_a_tenth() -> None:
    stats = PipelineStats()
    assert stats.hit_rate is None
    stats.hit(0.5)
    assert stats.hit_rate == 0.5
    stats.hit(1.0)
    assert stats.hit_rate == pytest.approx(0.55)


def test_tokens_by_kind_move_by_three_tenths() -> None:
    stats = PipelineStats()
    assert stats.tokens_of("memory") == 0
    stats.measured(*HERE, {"memory": 100}, 100, 100)
    stats.measured(*HERE, {"memory": 200}, 200, 200)
    assert stats.tokens_of("memory") == 130


def test_the_latest_64_breaks_and_compactions_are_kept() -> None:
    stats = PipelineStats()
    for n in range(100):
        stats.broke(f"c{n}", "why")
        stats.compacted(f"c{n}", "spill", n, 0)
    data = stats.as_data()
    assert RING == 64
    assert [row["call"] for row in data["breaks"]] == [f"c{n}" for n in range(36, 100)]
    assert [row["before"] for row in data["compactions"]] == list(range(36, 100))


def test_further_calls_are_expected_by_the_median_of_past_runs_and_never_none() -> None:
    stats = PipelineStats()
    assert [stats.expected_calls("step", n) for n in (0, 2, EXPECTED_CALLS, 9, 20)] == [6, 4, 1, 4, 10]
    for calls in (3, 10, 12):
        stats.run_ended({"step": calls})
    assert stats.expected_calls("step", 0) == 10
    assert stats.expected_calls("distill", 0) == 6


# Calibration


def taught(stats: PipelineStats, mix: dict[str, int], true: dict[str, float]) -> float:
    """One request of so many counted tokens by kind; how far its estimate was off, as a share of what was counted."""
    factors = stats.factors(*HERE)
    sent = {kind: round(n * factors.get(kind, 1.0)) for kind, n in mix.items()}
    estimate, actual = sum(sent.values()), round(sum(n * true[kind] for kind, n in mix.items()))
    stats.measured(*HERE, sent, actual, estimate)
    return abs(actual - estimate) / actual


@pytest.mark.parametrize("kinds", [1, 3, 6, 10])
def test_a_tokenizer_half_as_dense_again_is_learned_within_two_percent_in_ten_calls(kinds: int) -> None:
    stats = PipelineStats()
    mix = {f"k{n}": 300 * (n + 1) for n in range(kinds)}
    true = dict.fromkeys(mix, 1.5)
    assert taught(stats, mix, true) == pytest.approx(1 / 3, abs=0.01)
    for _ in range(9):
        taught(stats, mix, true)
    assert taught(stats, mix, true) < 0.02


def test_kinds_of_their_own_density_are_told_apart_once_their_shares_differ() -> None:
    stats, dice = PipelineStats(), random.Random(4)
    true = {"prose": 1.0, "tables": 1.55, "sql": 1.25}
    for _ in range(60):
        taught(stats, {kind: dice.randint(50, 4_000) for kind in true}, true)
    off = [taught(stats, {kind: dice.randint(50, 4_000) for kind in true}, true) for _ in range(20)]
    assert max(off) < 0.05
    assert stats.factors(*HERE)["tables"] > stats.factors(*HERE)["sql"] > stats.factors(*HERE)["prose"]


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 100_000), min_size=1), st.floats(0.62, 2.4))
def test_no_request_ever_moves_an_estimate_beyond_what_was_counted(mix: dict[str, int], dense: float) -> None:
    """Learning must not swing: after a call the same request is estimated closer, and on the same side."""
    total = sum(mix.values())
    if total < 1_000:
        mix["a"] = mix.get("a", 0) + 1_000
        total = sum(mix.values())
    stats, actual = PipelineStats(), round(total * dense)
    stats.measured(*HERE, mix, actual, total)
    factors = stats.factors(*HERE)
    again = sum(n * factors[kind] for kind, n in mix.items())
    assert min(total, actual) - 0.001 * total <= again <= max(total, actual) + 0.001 * total


@pytest.mark.parametrize("ratio", [0.1, 0.49, 0.55, 2.6, 10.0])
def test_counts_no_tokenizer_makes_teach_nothing(ratio: float) -> None:
    stats = PipelineStats()
    stats.measured(*HERE, {"memory": 1_000}, round(1_000 * ratio), 1_000)
    assert stats.factors(*HERE) == {}


def test_each_endpoint_and_model_is_calibrated_by_itself() -> None:
    stats = PipelineStats()
    stats.measured(*HERE, {"memory": 1_000}, 1_500, 1_000)
    assert stats.factors("https://elsewhere.example/v1", "m") == stats.factors(HERE[0], "n") == {}


def test_an_empty_request_teaches_nothing() -> None:
    stats = PipelineStats()
    stats.measured(*HERE, {}, 10, 0)
    stats.measured(*HERE, {"memory": 0}, 10, 10)
    assert all(math.isfinite(v) and v == 1.0 for v in stats.factors(*HERE).values())


# The window that a refusal has shown


def test_what_was_refused_lowers_the_ceiling_and_only_ever_lowers_it() -> None:
    stats = PipelineStats()
    assert stats.ceiling(*HERE) is None
    stats.refused_at(*HERE, 9_000)
    stats.refused_at(*HERE, 12_000)
    assert stats.ceiling(*HERE) == 9_000


def test_a_longer_request_that_was_answered_proves_the_ceiling_wrong() -> None:
    stats = PipelineStats()
    stats.refused_at(*HERE, 9_000)
    stats.accepted(*HERE, 9_000)
    assert stats.ceiling(*HERE) == 9_000
    stats.accepted(*HERE, 9_001)
    assert stats.ceiling(*HERE) is None


# Keeping


def test_everything_survives_as_json() -> None:
    stats = PipelineStats()
    for n in range(20):
        stats.succeeded("m", "step", n)
        stats.measured(*HERE, {"memory": 100 + n, "history": 5}, 150, 100)
        stats.hit(n / 20)
        stats.sent(*HERE, trail(sections("ab", marked="b"), CacheRules("prefix"), f"r{n}", float(n)))
    stats.failed("m", "distill")
    stats.refused_at(*HERE, 9_000)
    stats.broke("c1", "why")
    stats.compacted("c2", "spill", 2, 1)
    stats.run_ended({"step": 4, "distill": 1})
    stats.latch("step", {"map": "sha256:1"})
    data = json.loads(json.dumps(stats.as_data()))
    back = PipelineStats.of_data(data)
    assert back.as_data() == stats.as_data()
    assert back.trails(*HERE) == stats.trails(*HERE) and len(back.trails(*HERE)) == 8
    assert back.latched("step") == {"map": "sha256:1"} and back.expected_calls("step", 0) == 4
    for each in (back, stats):
        for n in range(600):
            each.succeeded("m", "step", n)
            each.broke(f"c{n}", "later")
    assert back.as_data() == stats.as_data()


def test_what_an_older_version_kept_is_read_and_the_rest_begins_empty() -> None:
    back = PipelineStats.of_data({"replies": {"m|step": [5]}})
    assert reserve(back)[0] == 5 and back.hit_rate is None and back.trails(*HERE) == ()


def test_nothing_that_is_kept_holds_a_text() -> None:
    stats = PipelineStats()
    canary = PromptSection("a", "memory", "user", "CANARY", 1, "sha256:x")
    stats.sent(*HERE, trail([canary], CacheRules("prefix"), "sha256:r", 0.0))
    assert "CANARY" not in json.dumps(stats.as_data())


def test_tokens_add_up_by_kind() -> None:
    assert kinds_of([("map", 3), ("question", 1), ("map", 2)]) == {"map": 5, "question": 1}
