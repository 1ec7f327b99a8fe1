"""A prompt cache as providers keep it: what of a prompt was read, what was written, and when it is forgotten.

Owns: entries and their lifetimes. Refuses to know: HTTP, usage names, replies' contents beyond their tokens. A request
reads when it arrives; what it writes can be read once its reply begins, and counts from its arrival. So requests sent
together can't read each other's write (Anthropic's documentation, 2026-07).
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from peek_core.providers.simulator.profiles import Profile
from peek_core.providers.simulator.prompt import Prompt
from peek_core.providers.simulator.tokens import pieces

REMEMBERED = 100
"""Requests whose beginnings are compared to detect common prefixes (units)."""

Positions = dict[int, float]
"""Where a prefix ends, in tokens, and how many seconds an entry there lives."""


@dataclass(frozen=True)
class Reading:
    """What a prompt found: tokens, adding up to the prompt's."""

    cached: int
    written: int
    """0 where the provider does not tell writes apart."""
    uncached: int
    at: float
    """Seconds of the clock when the request arrived."""


class PromptCache:
    """One provider's cache. Safe from several threads."""

    def __init__(self, profile: Profile, clock: Callable[[], float]) -> None:
        self._profile, self._clock = profile, clock
        self._entries: dict[str, dict[tuple[int, bytes], tuple[float, float]]] = {}
        """By scope: (length, hash of the prefix) → (when it ends, seconds it lives from each use)."""
        self._inputs: dict[str, deque[tuple[float, tuple[bytes, ...]]]] = {}
        self._lock = threading.Lock()

    def read(self, prompt: Prompt) -> Reading:
        """The longest cached prefix this request may read; it, and every shorter one found, is refreshed."""
        now, whole, cached = self._clock(), len(prompt.tokens), 0
        with self._lock:
            held = self._live(prompt.scope, now)
            for entry in _keys(prompt.tokens, self._readable(prompt, held)):
                if entry in held:
                    cached, (_, ttl_s) = entry[0], held[entry]
                    held[entry] = (now + ttl_s, ttl_s)
        ends = writable(self._profile, prompt) if self._profile.counts_writes else {}
        written = max(0, max(ends, default=0) - cached)
        return Reading(cached, written, whole - cached - written, now)

    def write(self, prompt: Prompt, reading: Reading, reply: str) -> None:
        """Make the request's prefixes readable, from when it arrived."""
        sequence, ends = prompt.tokens, writable(self._profile, prompt)
        with self._lock:
            held = self._live(prompt.scope, reading.at)
            if self._profile.match == "units":
                sequence = prompt.tokens + pieces("assistant", reply)
                ends = self._units(prompt, len(sequence), reading.at)
            for entry in _keys(sequence, ends):
                ttl_s = ends[entry[0]]
                held[entry] = max(held.get(entry, (0.0, 0.0)), (reading.at + ttl_s, ttl_s))  # the longer lifetime stays

    def _live(self, scope: str, now: float) -> dict[tuple[int, bytes], tuple[float, float]]:
        held = {k: v for k, v in self._entries.get(scope, {}).items() if now < v[0]}
        self._entries[scope] = held
        return held

    def _readable(self, prompt: Prompt, held: Iterable[tuple[int, bytes]]) -> Iterable[int]:
        if self._profile.match == "units":
            return {length for length, _ in held if length <= len(prompt.tokens)}
        if self._profile.match == "breakpoints":
            return _considered(self._profile, prompt)
        return writable(self._profile, prompt)

    def _units(self, prompt: Prompt, whole: int, now: float) -> Positions:
        """The end of the input, the end of the output, fixed intervals, and what was common with earlier inputs."""
        step, ttl_s = self._profile.step, self._profile.ttl_s()
        earlier = self._inputs.setdefault(prompt.scope, deque(maxlen=REMEMBERED))
        common = [common_prefix(prompt.tokens, other) for at, other in earlier if now < at + ttl_s]
        earlier.append((now, prompt.tokens))
        ends = {len(prompt.tokens), whole, *range(step, whole + 1, step), *common}
        return {end: ttl_s for end in ends if end >= max(1, self._profile.minimum)}


def writable(profile: Profile, prompt: Prompt) -> Positions:
    """Where this request leaves entries when only the prompt decides (not so for units)."""
    whole, ttl_s = len(prompt.tokens), profile.ttl_s()
    if profile.match == "prefix":
        start = -(-profile.minimum // profile.step) * profile.step
        return dict.fromkeys(range(max(start, profile.step), whole + 1, profile.step), ttl_s)
    if profile.match != "breakpoints":
        return {}
    marked = [(end, b.ttl) for end, b in zip(prompt.ends, prompt.blocks, strict=True) if b.marked]
    turns = [(end, b.ttl) for end, b in zip(prompt.ends, prompt.blocks, strict=True) if b.ends_turn]
    newest = turns[-1:] if prompt.implicit else []
    chosen = marked[-(profile.max_markers - len(newest)) :] + newest
    positions: Positions = {}
    for end, name in chosen:
        if end >= profile.minimum:
            positions[end] = max(positions.get(end, 0.0), profile.ttl_s(name))
    return positions


def common_prefix(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many tokens two sequences share at their start, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _considered(profile: Profile, prompt: Prompt) -> set[int]:
    """The ends at which an earlier marker's entry would be found."""
    blocks = list(zip(prompt.ends, prompt.blocks, strict=True))
    if profile.lookback is not None:
        marked = [n for n, (_, b) in enumerate(blocks) if b.marked]
        return {end for n in marked for end in prompt.ends[max(0, n - profile.lookback) : n + 1]}
    ends = [end for end, b in blocks if b.marked or (prompt.implicit and b.ends_turn)]
    return set(ends[-profile.readable :])


def _keys(sequence: Sequence[bytes], ends: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """For each end, shortest first, its length and the hash of everything before it."""
    digest, at = hashlib.sha256(), 0
    for end in sorted(set(ends)):
        digest.update(b"".join(sequence[at:end]))
        at = end
        yield end, digest.digest()
