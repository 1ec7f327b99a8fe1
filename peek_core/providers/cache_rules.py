"""How known endpoints cache prompts, by address and model: documented facts, each with the date it was read.

Owns: the table. Refuses to know: requests, prices. An unknown address gets the safest row: nothing is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from peek_core.errors import Refused
from peek_core.ports import CacheRules

RULES: Mapping[str, CacheRules] = {
    "plain": CacheRules(),
    # Servers on this machine (vLLM, llama.cpp, Ollama) keep the last prompts' state: a prefix costs less time, no money.
    "local": CacheRules("prefix", ttl_s=300.0, as_of="2026-08-21"),
    # OpenAI's prompt caching guide: 1,024 tokens, then steps of 128; 5 to 10 minutes of inactivity, the shorter here.
    "openai-prefix": CacheRules("prefix", minimum=1_024, step=128, ttl_s=300.0, as_of="2026-11-12"),
    # From GPT-5.6 on: only at breakpoints; one implicit at the newest user message, three explicit; 30 minutes at least.
    "openai": CacheRules(
        "breakpoints",
        minimum=1_024,
        ttl_s=1_800.0,
        marker="openai",
        max_markers=4,
        implicit=True,
        as_of="2026-11-12",
    ),
    # Anthropic behind a gateway that passes cache_control on; its own compatible endpoint caches nothing.
    "anthropic": CacheRules(
        "breakpoints", minimum=1_024, ttl_s=300.0, marker="anthropic", max_markers=4, as_of="2026-09-30"
    ),
    # DeepSeek's context caching guide: units matched whole; hours to days, and 4,096 as the interval is a guess.
    "deepseek": CacheRules("units", minimum=1, step=4_096, ttl_s=6 * 3_600.0, as_of="2026-10-27"),
    # Google's implicit cache: 4,096 tokens for 3.x; step and lifetime are not stated.
    "gemini": CacheRules("prefix", minimum=4_096, step=256, ttl_s=3_600.0, silent_misses=True, as_of="2026-07-15"),
}
_BEFORE_BREAKPOINTS = re.compile(r"^(?:gpt-(?:3|4|5(?:\.[0-5])?(?:$|-))|o\d|chatgpt)")


def cache_rules(base_url: str, model: str, named: str = "") -> CacheRules:
    """The rules of an endpoint; `named` overrides what its address says. Raises Refused for an unknown name."""
    if named:
        if named not in RULES:
            raise Refused(f"There are no cache rules called {named!r}", next=f"There are: {', '.join(RULES)}.")
        return RULES[named]
    host, bare = urlsplit(base_url).hostname or "", model.rsplit("/", 1)[-1]
    if host == "api.openai.com" or host.endswith(".openai.azure.com"):
        return RULES["openai-prefix" if _BEFORE_BREAKPOINTS.match(bare) else "openai"]
    if host == "openrouter.ai":
        by_maker = {"anthropic": "anthropic", "openai": "openai-prefix", "deepseek": "deepseek", "google": "gemini"}
        # A gateway's routing is sticky for ten minutes only.
        rules = RULES[by_maker.get(model.split("/", 1)[0], "plain")]
        return replace(rules, ttl_s=min(rules.ttl_s, 600.0))
    if host.endswith("deepseek.com"):
        return RULES["deepseek"]
    if host == "generativelanguage.googleapis.com":
        return RULES["gemini"]
    if host in ("localhost", "127.0.0.1", "::1"):
        return RULES["local"]
    return RULES["plain"]
