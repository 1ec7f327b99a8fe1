"""What each kind of provider does with a prompt: one frozen profile each, every number with its source.

Owns: the numbers and rules. Refuses to know: how a cache is kept or a reply sent. Sources, as read in November 2026:
OpenAI's prompt caching guide and the docstrings of `openai` 3.57; Anthropic's prompt caching page (2026-07 to 2026-09);
DeepSeek's context caching guide (2026); Google's Gemini caching page (2026-05); Ollama's FAQ and issue 17889 (2026-08).
What a source leaves open is chosen here and says "chosen".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Match = Literal["none", "prefix", "breakpoints", "units"]
"""How a cached prefix is found.

prefix: the longest common prefix, in steps. breakpoints: only where a marker stands or stood. units: only a stored unit,
matched whole.
"""
Report = Literal["plain", "openai", "openai_writes", "anthropic", "deepseek", "gemini"]
"""The names usage is reported under."""
Overflow = Literal["openai", "anthropic", "deepseek", "gemini", "truncate"]
"""How a prompt beyond the window is refused, or cut in silence."""


@dataclass(frozen=True)
class Profile:
    """A provider's behaviour. Vary one with `dataclasses.replace`."""

    name: str
    match: Match
    report: Report
    overflow: Overflow
    window: int
    """Tokens of prompt and requested reply together."""
    minimum: int = 0
    """Tokens a prefix must have to be cached; below it nothing is cached and nothing is said."""
    step: int = 1
    """Tokens. prefix: what a match is rounded down to. units: the fixed interval at which units are stored too."""
    ttls: tuple[tuple[str, float], ...] = ()
    """Lifetimes in seconds beside the name a marker gives; the first is the default. Refreshed whenever an entry is read;
    gone at exactly its end."""
    marker: Literal["", "cache_control", "prompt_cache_breakpoint"] = ""
    """The field of a content part that marks the end of a reusable prefix."""
    max_markers: int = 0
    """Markers one request may write."""
    implicit: bool = False
    """Whether the newest user or tool message is a marker by itself (unless the request's mode is explicit)."""
    lookback: int | None = None
    """Blocks before a marker at which an older marker's entry is still found; None: see `readable`."""
    readable: int = 0
    """How many of the newest markers are considered for reading, where there is no lookback."""
    scope: tuple[str, ...] = ("model",)
    """Fields of the request that part one cache from another, beside the key."""

    def ttl_s(self, name: str | None = None) -> float:
        """Seconds an entry lives; an unknown or missing name is the default."""
        return dict(self.ttls).get(name or "", self.ttls[0][1] if self.ttls else 0.0)

    @property
    def counts_writes(self) -> bool:
        """Whether written tokens are told apart from uncached ones."""
        return self.report in ("openai_writes", "anthropic")


_OPENAI_SETTINGS = (
    "model",
    "prompt_cache_key",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "parallel_tool_calls",
    "service_tier",
)
"""A change of any of these breaks the cache (OpenAI's guide and its diagnostics' reasons)."""


PLAIN = Profile("plain", match="none", report="plain", overflow="openai", window=128_000)
"""A compatible server that caches nothing, or says nothing of it."""

OPENAI_PREFIX = Profile(
    "openai-prefix",
    match="prefix",
    report="openai",
    overflow="openai",
    window=128_000,
    minimum=1_024,
    step=128,
    ttls=(("in_memory", 300.0),),  # "5 to 10 minutes of inactivity": the shorter
    scope=_OPENAI_SETTINGS,
)
"""OpenAI before GPT-5.6: automatic, 1,024 tokens and then steps of 128; writes are free and not counted."""

OPENAI = Profile(
    "openai",
    match="breakpoints",
    report="openai_writes",
    overflow="openai",
    window=400_000,
    minimum=1_024,
    ttls=(("30m", 1_800.0), ("12h", 43_200.0)),
    marker="prompt_cache_breakpoint",
    max_markers=4,
    implicit=True,
    readable=80,
    scope=_OPENAI_SETTINGS,
)
"""OpenAI from GPT-5.6 on: exact ends of marked parts, no fallback to a shorter unmarked prefix; one implicit and three
explicit writes, or four explicit; reads consider the newest 80."""

ANTHROPIC = Profile(
    "anthropic",
    match="breakpoints",
    report="anthropic",
    overflow="anthropic",
    window=200_000,
    minimum=1_024,  # Sonnet 5 and 4.x; 512 for Opus 5, 4,096 for Haiku 4.5
    ttls=(("5m", 300.0), ("1h", 3_600.0)),
    marker="cache_control",
    max_markers=4,
    lookback=20,
)
"""Anthropic's cache and usage names inside a Chat Completions envelope, as gateways carry them: its own compatible
endpoint caches nothing."""

DEEPSEEK = Profile(
    "deepseek",
    match="units",
    report="deepseek",
    overflow="deepseek",
    window=131_072,
    minimum=1,  # not stated
    step=4_096,  # "fixed token intervals": chosen
    ttls=(("disk", 21_600.0),),  # "a few hours to a few days": chosen
    scope=("model", "user_id"),
)
"""DeepSeek V4: the end of each input, of each output, detected common prefixes and fixed intervals are units; a request
reads only a unit it contains whole."""

GEMINI = Profile(
    "gemini",
    match="prefix",
    report="gemini",
    overflow="gemini",
    window=1_048_576,
    minimum=4_096,  # 3.x; 2,048 for 2.5
    step=256,  # not stated: chosen
    ttls=(("implicit", 3_600.0),),  # not stated: that of explicit caches
)
"""Gemini's implicit cache; cached tokens appear in usage only when there are some."""

LOCAL = Profile("local", match="none", report="plain", overflow="truncate", window=4_096)
"""A small server on this machine (Ollama with its default context): a longer prompt loses its front in silence, and usage
counts what is left."""

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {p.name: p for p in (PLAIN, OPENAI_PREFIX, OPENAI, ANTHROPIC, DEEPSEEK, GEMINI, LOCAL)}
)
