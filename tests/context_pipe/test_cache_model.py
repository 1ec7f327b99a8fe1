"""The cache model: boundaries a request leaves behind, and how much of the next one they cover, by each rule."""

from __future__ import annotations

import pytest

from peek_core.context_pipe.cache_model import Known, chained, known, predicted, trail
from peek_core.ports import CacheRules
from peek_core.providers.cache_rules import RULES
from peek_core.values.messages import PromptSection

ANY_PREFIX = CacheRules("prefix")
AT_MARKERS = CacheRules("breakpoints", marker="anthropic", max_markers=4)
WITH_IMPLICIT = CacheRules("breakpoints", marker="openai", max_markers=4, implicit=True)
WHOLE_UNITS = CacheRules("units", step=0)


def sections(names: str, *, marked: str = "", assistant: str = "") -> list[PromptSection]:
    """One section of 100 tokens per letter; equal letters are equal texts."""
    return [
        PromptSection(n, "memory", "assistant" if n in assistant else "user", n, 100, f"sha256:{n}", marker=n in marked)
        for n in names
    ]


def hit(before: list[PromptSection], now: list[PromptSection], rules: CacheRules, *, reply: str = "", later: float = 0.0,
        size: int = 100) -> int:  # fmt: skip
    """Tokens predicted for `now`, `later` seconds after `before` was answered with `reply`."""
    held = known([trail(before, rules, f"sha256:{reply}", 1_000.0)], rules, 1_000.0 + later)
    return predicted(now, [size] * len(now), rules, held)


def test_a_boundary_is_named_by_everything_before_it() -> None:
    assert chained(["a", "b", "c"])[:2] == chained(["a", "b", "x"])[:2]
    assert chained(["a", "b"])[1] != chained(["b", "a"])[1] != chained(["b"])[0]
    assert chained(["b"], start=chained(["a"])[0])[0] == chained(["a", "b"])[1]


def test_the_role_is_part_of_a_boundary() -> None:
    assert hit(sections("ab"), sections("ab", assistant="b"), ANY_PREFIX) == 100


def test_where_nothing_is_cached_nothing_is_predicted() -> None:
    assert hit(sections("abc"), sections("abc"), CacheRules("none")) == 0
    assert known([trail(sections("a"), CacheRules("none"), "", 0.0)], CacheRules("none"), 0.0) == Known()


def test_prefix_covers_as_far_as_both_are_equal() -> None:
    assert hit(sections("abc"), sections("abcd"), ANY_PREFIX) == 300
    assert hit(sections("abc"), sections("abx"), ANY_PREFIX) == 200
    assert hit(sections("abc"), sections("xbc"), ANY_PREFIX) == 0


def test_prefix_is_rounded_down_to_steps_and_begins_at_the_minimum() -> None:
    stepped = CacheRules("prefix", minimum=256, step=128)
    assert hit(sections("abc"), sections("abcd"), stepped) == 256
    assert hit(sections("abc"), sections("abx"), stepped) == 0
    assert hit(sections("abc"), sections("abx"), stepped, size=130) == 256


def test_breakpoints_cover_only_up_to_where_a_marker_stood() -> None:
    assert hit(sections("abcd", marked="b"), sections("abcd", marked="b"), AT_MARKERS) == 200
    assert hit(sections("abcd", marked="bd"), sections("abcde", marked="be"), AT_MARKERS) == 400
    assert hit(sections("abcd"), sections("abcd"), AT_MARKERS) == 0


def test_breakpoints_do_not_fall_back_to_a_shorter_prefix_nobody_marked() -> None:
    assert hit(sections("abcd", marked="d"), sections("abcx", marked="x"), AT_MARKERS) == 0
    assert hit(sections("abcd", marked="ad"), sections("abcx", marked="ax"), AT_MARKERS) == 100


def test_the_newest_user_section_is_a_breakpoint_by_itself_where_the_endpoint_says_so() -> None:
    before, now = sections("abc", assistant="c"), sections("abcd", assistant="c")
    assert hit(before, now, WITH_IMPLICIT) == 200
    assert hit(before, now, AT_MARKERS) == 0


def test_units_are_matched_whole() -> None:
    assert hit(sections("abc"), sections("abcd"), WHOLE_UNITS) == 300
    assert hit(sections("abc"), sections("abx"), WHOLE_UNITS) == 0


def test_the_end_of_a_reply_is_a_unit() -> None:
    before, now = sections("ab"), sections("abcd", assistant="c")
    assert hit(before, now, WHOLE_UNITS, reply="c") == 300
    assert hit(before, now, WHOLE_UNITS, reply="another") == 200


def test_what_two_requests_had_in_common_is_a_unit_for_the_third() -> None:
    trails = [trail(sections(names), WHOLE_UNITS, "", 1_000.0) for names in ("abc", "abx")]
    assert predicted(sections("aby"), [100] * 3, WHOLE_UNITS, known(trails, WHOLE_UNITS, 1_000.0)) == 200
    assert predicted(sections("aby"), [100] * 3, WHOLE_UNITS, known(trails[:1], WHOLE_UNITS, 1_000.0)) == 0


def test_fixed_intervals_are_units_wherever_a_section_ends() -> None:
    stepped = CacheRules("units", step=64)
    assert hit(sections("abc"), sections("abx"), stepped) == 192
    assert hit(sections("abc"), sections("xbc"), stepped) == 0


@pytest.mark.parametrize("name", [n for n, r in RULES.items() if r.match != "none"])
def test_an_entry_lives_as_long_as_documented_and_not_a_moment_longer(name: str) -> None:
    rules = RULES[name]
    before = now = sections("abcd", marked="bd")
    assert hit(before, now, rules, later=rules.ttl_s - 0.001, size=2_000) > 0
    assert hit(before, now, rules, later=rules.ttl_s, size=2_000) == 0


@pytest.mark.parametrize("name", [n for n, r in RULES.items() if r.minimum > 100])
def test_below_the_minimum_nothing_is_predicted(name: str) -> None:
    rules = RULES[name]
    before = now = sections("ab", marked="b")
    least = -(-rules.minimum // rules.step) * rules.step
    assert hit(before, now, rules, size=least // 2) == least
    assert hit(before, now, rules, size=least // 2 - 1) == 0


def test_a_later_request_over_the_same_boundary_keeps_it_alive() -> None:
    rules = CacheRules("breakpoints", marker="anthropic", max_markers=4, ttl_s=300.0)
    early = trail(sections("abc", marked="b"), rules, "", 0.0)
    late = trail(sections("abx", marked="b"), rules, "", 200.0)
    now = sections("aby", marked="b")
    assert predicted(now, [100] * 3, rules, known([early], rules, 400.0)) == 0
    assert predicted(now, [100] * 3, rules, known([early, late], rules, 400.0)) == 200


def test_an_empty_request_leaves_and_finds_nothing() -> None:
    for rules in RULES.values():
        assert hit([], [], rules) == 0
