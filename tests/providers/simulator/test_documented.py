"""What providers document of their caches, number by number. Sources as read in November 2026."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from peek_core.providers.simulator import (
    ANTHROPIC,
    DEEPSEEK,
    GEMINI,
    LOCAL,
    OPENAI,
    OPENAI_PREFIX,
    Request,
    Simulator,
)
from tests.providers.simulator.asking import Clock, ask, part, said, text_of, usages

REPLY_300, REPLY_393 = text_of(300, "r"), text_of(393, "r")


def cached(usage: dict[str, Any]) -> int:
    found: int = usage["prompt_tokens_details"]["cached_tokens"]
    return found


# OpenAI before GPT-5.6: the prompt caching guide


def test_openai_the_usage_example_of_the_guide() -> None:
    """2,006 prompt tokens, 1,920 of them cached: the longest multiple of 128."""
    with Simulator(OPENAI_PREFIX, script=[REPLY_300] * 2) as sim:
        first, second = usages(sim, *[[said("user", text_of(2_006))]] * 2)
    assert cached(first) == 0
    assert second == {
        "prompt_tokens": 2_006,
        "completion_tokens": 300,
        "total_tokens": 2_306,
        "prompt_tokens_details": {"cached_tokens": 1_920},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def test_openai_below_1024_tokens_nothing_is_cached_and_nothing_is_said() -> None:
    with Simulator(OPENAI_PREFIX) as sim:
        short, enough = [[said("user", text_of(n))] for n in (1_023, 1_024)]
        assert [cached(u) for u in usages(sim, short, short, enough, enough)] == [0, 0, 0, 1_024]


def test_openai_matches_grow_in_steps_of_128() -> None:
    with Simulator(OPENAI_PREFIX) as sim:
        known = text_of(1_500)
        usages(sim, [said("user", known)])
        shared = [[said("user", known[: 4 * n] + text_of(500, "y"))] for n in (1_023, 1_024, 1_151, 1_152, 1_500)]
        assert [cached(u) for u in usages(sim, *shared)] == [0, 1_024, 1_024, 1_152, 1_408]


# OpenAI from GPT-5.6 on: the guide, and the docstrings of openai 3.57


def test_openai_the_boundary_of_a_marker_is_not_rounded_to_a_token_block() -> None:
    prompt = [said("system", [part(text_of(1_025), "openai")]), said("user", text_of(10))]
    with Simulator(OPENAI) as sim:
        first, second = usages(sim, prompt, [prompt[0], said("user", text_of(9, "y"))])
    assert first["prompt_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 1_035}
    assert second["prompt_tokens_details"] == {"cached_tokens": 1_025, "cache_write_tokens": 9}


def test_openai_a_changing_tail_inside_the_implicit_breakpoint_hits_nothing() -> None:
    """9,000 equal tokens and a changing end in one message: 0 % (codex#35300); an explicit marker before it helps."""
    with Simulator(OPENAI) as sim:
        tails = [[said("user", text_of(9_000) + f"now {n:04}")] for n in range(3)]
        assert [cached(u) for u in usages(sim, *tails)] == [0, 0, 0]
        marked = [[said("user", [part(text_of(9_000), "openai"), part(f"now {n:04}")])] for n in range(3)]
        assert [cached(u) for u in usages(sim, *marked)] == [0, 9_000, 9_000]


def test_openai_there_is_no_fallback_to_an_unmarked_shorter_prefix() -> None:
    with Simulator(OPENAI) as sim:
        one, other = ([said("system", text_of(2_000)), said("user", text_of(50, end))] for end in "ab")
        assert [cached(u) for u in usages(sim, one, other, one)] == [0, 0, 2_050]


def test_openai_a_growing_conversation_reads_its_last_turn() -> None:
    turns = [said("system", text_of(1_500)), said("user", text_of(100, "a"))]
    more = [*turns, said("assistant", text_of(60, "b")), said("user", text_of(40, "c"))]
    with Simulator(OPENAI) as sim:
        _, second = usages(sim, turns, more)
    assert second["prompt_tokens_details"] == {"cached_tokens": 1_600, "cache_write_tokens": 100}


def test_openai_writes_three_explicit_markers_beside_the_implicit_one_or_four() -> None:
    parts = [part(text_of(1_100, letter), "openai") for letter in "abcde"]
    explicit = {"mode": "explicit"}
    for options, readable in (({}, [0, 0, 3_300, 4_400]), (explicit, [0, 2_200, 3_300, 4_400])):
        for n, read in enumerate(readable, 1):
            with Simulator(OPENAI) as sim:
                ask(sim, said("system", parts), said("user", "go"), prompt_cache_options=options)
                found = ask(sim, said("system", parts[:n]), said("user", "other"), prompt_cache_options=explicit)
                assert cached(found.usage or {}) == read


def test_openai_explicit_mode_without_a_marker_caches_nothing() -> None:
    with Simulator(OPENAI) as sim:
        twice = usages(sim, *[[said("user", text_of(2_000))]] * 2, prompt_cache_options={"mode": "explicit"})
    assert [u["prompt_tokens_details"] for u in twice] == [{"cached_tokens": 0, "cache_write_tokens": 0}] * 2


def test_openai_a_marker_on_what_the_assistant_said_is_none() -> None:
    prompt = [said("user", "a"), said("assistant", [part(text_of(2_000), "openai")]), said("user", "b")]
    with Simulator(OPENAI) as sim:
        usages(sim, prompt)
        (other,) = usages(sim, [*prompt[:2], said("user", "c")])
    assert cached(other) == 0


def test_openai_only_the_newest_80_breakpoints_are_considered() -> None:
    old = said("system", [part(text_of(1_100), "openai")])
    for turns, hit in ((79, 1_100), (80, 0)):
        with Simulator(OPENAI) as sim:
            ask(sim, old, said("user", "go"))
            later = ask(sim, old, *[said("user", f"turn {n}") for n in range(turns)])
            assert cached(later.usage or {}) == hit


def test_openai_a_marker_lives_30_minutes_or_12_hours_from_its_last_use() -> None:
    for ttl, minutes in ((None, 30), ("30m", 30), ("12h", 720)):
        clock, marker = Clock(), {"ttl": ttl} if ttl else {}
        prompt = [said("system", [part(text_of(2_000), "openai", **marker)]), said("user", "q")]
        with Simulator(OPENAI, clock=clock) as sim:
            hits = []
            for wait in (0, minutes * 60 - 1, minutes * 60 - 1, minutes * 60):
                clock.pass_s(wait)
                hits.append(cached(ask(sim, *prompt, prompt_cache_options={"mode": "explicit"}).usage or {}))
        assert hits == [0, 2_000, 2_000, 0]


# Anthropic: the prompt caching page


BOOK = said("system", [part("You read books."), part(text_of(188_082), "anthropic")])
"""15 bytes and so 4 tokens, then the book: 188,086 up to the marker."""


def test_anthropic_the_usage_example_of_the_page() -> None:
    """The whole book written by the first request and read by the second; 21 tokens after the marker each time."""
    prompt = [BOOK, said("user", text_of(21, "q"))]
    with Simulator(ANTHROPIC, script=[REPLY_393] * 2) as sim:
        assert usages(sim, prompt, prompt) == [
            {
                "cache_creation_input_tokens": 188_086,
                "cache_read_input_tokens": 0,
                "input_tokens": 21,
                "output_tokens": 393,
            },
            {
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 188_086,
                "input_tokens": 21,
                "output_tokens": 393,
            },
        ]


def blocks(count: int) -> list[dict[str, Any]]:
    return [said("user" if n % 2 else "assistant", f"block {n:03}") for n in range(count)]


def test_anthropic_looks_back_20_blocks_from_a_marker() -> None:
    start = said("user", [part(text_of(1_100), "anthropic")])
    bare = said("user", [part(text_of(1_100))])
    for between, read in ((19, 1_100), (20, 0)):
        with Simulator(ANTHROPIC) as sim:
            ask(sim, start)
            later = ask(sim, bare, *blocks(between), said("user", [part("end", "anthropic")]))
            assert (later.usage or {})["cache_read_input_tokens"] == read


def test_anthropic_more_than_four_markers_are_refused() -> None:
    parts = [part(text_of(1_100, letter), "anthropic") for letter in "abcde"]
    with Simulator(ANTHROPIC) as sim:
        assert ask(sim, said("user", parts[:4])).status == 200
        refused = ask(sim, said("user", parts))
        automatic = ask(sim, said("user", parts[:4]), said("user", "last"), cache_control={"type": "ephemeral"})
    assert refused.status == automatic.status == 400
    assert "A maximum of 4 blocks with cache_control may be provided. Found 5." in refused.body


def test_anthropic_one_marker_can_be_automatic() -> None:
    talk = [said("user", text_of(1_200)), said("assistant", text_of(20, "b")), said("user", text_of(30, "c"))]
    with Simulator(ANTHROPIC) as sim:
        first, second = usages(sim, talk[:1], talk, cache_control={"type": "ephemeral"})
    assert (first["cache_creation_input_tokens"], first["input_tokens"]) == (1_200, 0)
    assert (second["cache_read_input_tokens"], second["cache_creation_input_tokens"]) == (1_200, 50)


def test_anthropic_an_entry_lives_5_minutes_or_an_hour_and_a_read_refreshes_it() -> None:
    for ttl, seconds in (("5m", 300), ("1h", 3_600)):
        clock, prompt = Clock(), [said("system", [part(text_of(2_000), "anthropic", ttl=ttl)]), said("user", "q")]
        with Simulator(ANTHROPIC, clock=clock) as sim:
            reads = []
            for wait in (0, seconds - 1, seconds - 1, seconds):
                clock.pass_s(wait)
                reads.append((ask(sim, *prompt).usage or {})["cache_read_input_tokens"])
        assert reads == [0, 2_000, 2_000, 0]


def test_anthropic_the_minimum_is_the_models() -> None:
    """1,024 for Sonnet; 512 for Opus 5; 4,096 for Haiku 4.5."""
    for minimum in (512, 1_024, 4_096):
        with Simulator(replace(ANTHROPIC, minimum=minimum)) as sim:
            for tokens, written in ((minimum - 1, 0), (minimum, minimum)):
                usage = ask(sim, said("user", [part(text_of(tokens), "anthropic")])).usage or {}
                assert usage["cache_creation_input_tokens"] == written


def test_tools_stand_before_everything() -> None:
    prompt = [said("system", [part(text_of(2_000), "anthropic")]), said("user", "q")]
    tools = [{"type": "function", "function": {"name": name}} for name in "ab"]
    with Simulator(ANTHROPIC) as sim:
        same, again = usages(sim, prompt, prompt, tools=tools)
        (turned,) = usages(sim, prompt, tools=tools[::-1])
    assert (same["cache_read_input_tokens"], turned["cache_read_input_tokens"]) == (0, 0)
    assert again["cache_read_input_tokens"] > 2_000


def test_requests_sent_together_cannot_read_each_others_write() -> None:
    """What a request writes can be read once its reply has begun; fan out after the first token."""
    prompt = [said("system", [part(text_of(2_000), "anthropic")]), said("user", "q")]

    def second_while_the_first_is_read(request: Request) -> str:
        if request.number == 0:
            usages(sim, prompt)
        return "fine"

    with Simulator(ANTHROPIC, script=second_while_the_first_is_read) as sim:
        usages(sim, prompt, prompt)
        assert [(e.cached, e.written) for e in sim.log] == [(0, 2_000), (0, 2_000), (2_000, 0)]


# DeepSeek: the context caching guide


def hits(*usages: dict[str, Any]) -> list[int]:
    for u in usages:
        assert u["prompt_cache_hit_tokens"] + u["prompt_cache_miss_tokens"] == u["prompt_tokens"]
    return [u["prompt_cache_hit_tokens"] for u in usages]


def test_deepseek_example_one_a_conversation_of_several_rounds() -> None:
    """The second request contains the first whole, with its answer: all of it is a hit."""
    first = [said("system", "You are a helpful assistant"), said("user", "What is the capital of China?")]
    answer = "The capital of China is Beijing."
    second = [*first, said("assistant", answer), said("user", "What is the capital of the United States?")]
    with Simulator(DEEPSEEK, script=[answer, "Washington."]) as sim:
        assert hits(*usages(sim, first, second)) == [0, 7 + 8 + 8]


def test_deepseek_example_one_with_another_answer_hits_the_input_alone() -> None:
    first = [said("user", text_of(30))]
    with Simulator(DEEPSEEK) as sim:
        edited = [*first, said("assistant", "not what it said"), said("user", "next")]
        assert hits(*usages(sim, first, edited)) == [0, 30]


def test_deepseek_example_two_a_common_prefix_is_read_by_the_third_request() -> None:
    """A + B, then A + C: no hit, but A is found to be common and stored; A + D reads it."""
    report = text_of(500, "A")
    with Simulator(DEEPSEEK) as sim:
        asked = [
            [said("system", "You are an analyst"), said("user", report + end)] for end in ("B" * 80, "C" * 80, "D" * 80)
        ]
        assert hits(*usages(sim, *asked)) == [0, 0, 5 + 500]


def test_deepseek_a_unit_is_matched_whole_or_not_at_all() -> None:
    with Simulator(DEEPSEEK) as sim:
        long, short = [said("user", text_of(400))], [said("user", text_of(399))]
        assert hits(*usages(sim, long, short)) == [0, 0]


def test_deepseek_text_of_one_turn_leaves_no_unit_of_its_request_readable() -> None:
    """Inferred from the guide: what stands in one request and is gone in the next spoils both units of that request."""
    fixed = said("system", text_of(300))
    with Simulator(DEEPSEEK, script=["one", "two"]) as sim:
        first = [fixed, said("user", text_of(20, "n") + text_of(5, "q"))]
        second = [fixed, said("user", text_of(5, "q")), said("assistant", "one"), said("user", "next")]
        assert hits(*usages(sim, first, second)) == [0, 0]


def test_deepseek_units_are_stored_at_fixed_intervals_too() -> None:
    with Simulator(replace(DEEPSEEK, step=100)) as sim:
        asked = [[said("user", text_of(350) + end)] for end in ("b" * 40, "c" * 40)]
        assert hits(*usages(sim, *asked)) == [0, 300]


# Gemini and small local servers


def test_gemini_speaks_of_cached_tokens_only_when_there_are_some() -> None:
    with Simulator(GEMINI) as sim:
        first, second = usages(sim, *[[said("user", text_of(4_100))]] * 2)
    assert "prompt_tokens_details" not in first
    assert second["prompt_tokens_details"] == {"cached_tokens": 4_096}


def test_a_small_local_server_loses_the_front_in_silence_and_counts_the_rest() -> None:
    """Ollama with its default context of 4,096: 200, a normal reply, fewer prompt tokens."""
    seen = []

    def look(request: Request) -> str:
        seen.append(request.prompt.text)
        return "fine"

    with Simulator(LOCAL, script=look) as sim:
        (usage,) = usages(sim, [said("system", "The rules."), said("user", text_of(21_000) + "the end.")])
    assert usage["prompt_tokens"] == 4_096
    assert "The rules." not in seen[0] and seen[0].endswith("the end.")
    assert (sim.log[0].prompt, sim.log[0].uncached) == (3 + 21_002, 4_096)
