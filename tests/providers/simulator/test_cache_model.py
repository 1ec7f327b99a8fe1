"""The cache against a slow one that keeps whole prefixes in a list and compares them piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peek_core.providers.simulator import ANTHROPIC, DEEPSEEK, OPENAI, OPENAI_PREFIX, Profile
from peek_core.providers.simulator.cache import PromptCache
from peek_core.providers.simulator.prompt import Prompt, read
from peek_core.providers.simulator.tokens import pieces
from tests.providers.simulator.asking import MARKERS, Clock, said

Tokens = tuple[bytes, ...]

SMALL: dict[str, Profile] = {
    "openai-prefix": replace(OPENAI_PREFIX, minimum=6, step=3, ttls=(("", 10.0),)),
    "openai": replace(OPENAI, minimum=4, max_markers=3, readable=4, ttls=(("30m", 10.0), ("12h", 50.0))),
    "anthropic": replace(ANTHROPIC, minimum=4, lookback=2, ttls=(("5m", 10.0), ("1h", 50.0))),
    "deepseek": replace(DEEPSEEK, minimum=2, step=5, ttls=(("", 10.0),)),
}
"""The real rules with numbers small enough for short prompts to meet them all."""


@dataclass
class Slow:
    """Every rule as its provider words it, without hashes or positions computed ahead."""

    profile: Profile
    stored: list[list[Any]] = field(default_factory=list)
    """[scope, prefix, ends, lives]"""
    inputs: list[tuple[str, float, Tokens]] = field(default_factory=list)

    def ask(self, prompt: Prompt, reply: str, now: float) -> tuple[int, int]:
        """(read, written) of a request that is answered at once."""
        whole = prompt.tokens
        may = {"prefix": self._steps, "breakpoints": self._marks, "units": self._any}[self.profile.match](prompt)
        found = [
            e
            for e in self.stored
            if e[0] == prompt.scope and now < e[2] and whole[: len(e[1])] == e[1] and len(e[1]) in may
        ]
        for entry in found:
            entry[2] = now + entry[3]
        cached = max((len(e[1]) for e in found), default=0)
        kept = self._written(prompt, reply, now)
        for prefix, lives in kept:
            self._store(prompt.scope, prefix, now + lives, lives)
        longest = max((len(p) for p, _ in kept), default=0)
        return cached, max(0, longest - cached) if self.profile.match == "breakpoints" else 0

    def _store(self, scope: str, prefix: Tokens, ends: float, lives: float) -> None:
        for entry in self.stored:
            if entry[0] == scope and entry[1] == prefix:
                entry[2:] = max(entry[2:], [ends, lives])
                return
        self.stored.append([scope, prefix, ends, lives])

    def _steps(self, prompt: Prompt) -> set[int]:
        least, step = self.profile.minimum, self.profile.step
        return {n for n in range(len(prompt.tokens) + 1) if n >= least and n % step == 0 and n}

    def _any(self, prompt: Prompt) -> set[int]:
        return set(range(len(prompt.tokens) + 1))

    def _upto(self, prompt: Prompt, block: int) -> int:
        return sum(len(pieces(b.role, b.text)) for b in prompt.blocks[: block + 1])

    def _marks(self, prompt: Prompt) -> set[int]:
        numbered = list(enumerate(prompt.blocks))
        if self.profile.lookback is not None:
            near = [n for n, _ in numbered for m, b in numbered if b.marked and 0 <= m - n <= self.profile.lookback]
            return {self._upto(prompt, n) for n in near}
        eligible = [n for n, b in numbered if b.marked or (b.ends_turn and prompt.implicit)]
        return {self._upto(prompt, n) for n in eligible[-self.profile.readable :]}

    def _written(self, prompt: Prompt, reply: str, now: float) -> list[tuple[Tokens, float]]:
        profile, whole, lives = self.profile, prompt.tokens, self.profile.ttl_s()
        if profile.match == "prefix":
            return [(whole[:n], lives) for n in self._steps(prompt)]
        if profile.match == "breakpoints":
            places = [n for n, b in enumerate(prompt.blocks) if b.marked]
            if prompt.implicit and (turns := [n for n, b in enumerate(prompt.blocks) if b.ends_turn]):
                places = [*places[-(profile.max_markers - 1) :], turns[-1]]
            places = places[-profile.max_markers :]
            best: dict[int, float] = {}
            for n in places:
                at = self._upto(prompt, n)
                best[at] = max(best.get(at, 0.0), profile.ttl_s(prompt.blocks[n].ttl))
            return [(whole[:at], ttl) for at, ttl in best.items() if at >= profile.minimum]
        both = whole + pieces("assistant", reply)
        common = []
        for scope, at, other in self.inputs:
            if scope == prompt.scope and now < at + lives:
                same = 0
                while same < min(len(other), len(whole)) and other[same] == whole[same]:
                    same += 1
                common.append(whole[:same])
        self.inputs.append((prompt.scope, now, whole))
        units = [whole, both, *(both[:n] for n in range(1, len(both) + 1) if n % profile.step == 0), *common]
        return [(u, lives) for u in units if len(u) >= profile.minimum]


TEXT = st.text("ab", min_size=1, max_size=12).map(lambda t: "".join(c * 2 for c in t))
REPLY = st.sampled_from(["aa", "bbbbbb"])


def bodies(profile: Profile) -> st.SearchStrategy[dict[str, Any]]:
    """Requests over few letters, so that prefixes are shared often; parts marked or not; one of two models."""
    mark = [
        {},
        *(
            {name: {**value, **ttl}}
            for name, value in MARKERS.get(profile.name, {}).items()
            for ttl in ({}, {"ttl": "1h"}, {"ttl": "12h"})
        ),
    ]
    parts = st.builds(lambda t, m: {"type": "text", "text": t, **m}, TEXT, st.sampled_from(mark))
    content = TEXT | st.lists(parts, min_size=1, max_size=3)
    messages = st.lists(
        st.builds(said, st.sampled_from(["system", "user", "user", "assistant"]), content), min_size=1, max_size=5
    )
    options = st.sampled_from(
        [{}, {"prompt_cache_options": {"mode": "explicit"}}, {"prompt_cache_options": {"ttl": "12h"}}]
    )
    return st.builds(
        lambda m, o, model: {"messages": m, "model": model, **o}, messages, options, st.sampled_from("mmmn")
    )


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_fast_cache_is_the_slow_one(name: str, data: st.DataObject) -> None:
    """Up to ten requests, new or grown from earlier ones by their reply, some time apart."""
    profile, clock = SMALL[name], Clock()
    fast, slow = PromptCache(profile, clock), Slow(profile)
    earlier: list[dict[str, Any]] = []
    for _ in range(data.draw(st.integers(2, 10))):
        clock.pass_s(data.draw(st.sampled_from([0.0, 1.0, 4.0, 9.0, 10.0, 30.0])))
        body = data.draw(bodies(profile))
        reply = data.draw(REPLY)
        if earlier and data.draw(st.booleans()):
            before = data.draw(st.sampled_from(earlier))
            body = {**before, "messages": [*before["messages"], *body["messages"]]}
        marks = json_count(body, profile)
        if profile.marker == "cache_control" and marks > profile.max_markers:
            continue
        prompt = read(body, "", profile)
        reading = fast.read(prompt)
        fast.write(prompt, reading, reply)
        assert (reading.cached, reading.written) == slow.ask(prompt, reply, clock())
        assert reading.cached + reading.written + reading.uncached == len(prompt.tokens)
        earlier.append({**body, "messages": [*body["messages"], said("assistant", reply)]})


def test_a_marker_of_a_shorter_life_shortens_no_entry() -> None:
    """A prefix written for an hour, then for five minutes: the hour stays, and so do reads after it."""
    profile, clock = SMALL["anthropic"], Clock()
    cache = PromptCache(profile, clock)

    def cached(ttl: str) -> int:
        marker = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
        prompt = read({"messages": [said("user", [{"type": "text", "text": "a" * 40, **marker}])]}, "", profile)
        reading = cache.read(prompt)
        cache.write(prompt, reading, "")
        return reading.cached

    reads = []
    for ttl, wait in (("1h", 0.0), ("5m", 1.0), ("5m", 49.0), ("5m", 50.0)):
        clock.pass_s(wait)
        reads.append(cached(ttl))
    assert reads == [0, 10, 10, 0]


def json_count(body: dict[str, Any], profile: Profile) -> int:
    contents = [m["content"] for m in body["messages"] if isinstance(m["content"], list)]
    return sum(profile.marker in part for content in contents for part in content)
