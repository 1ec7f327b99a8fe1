"""Usage under each provider's own names, and the lies told about it.

Owns: names and shapes. Refuses to know: where the numbers come from. OpenAI, Gemini and DeepSeek count cached tokens into
the prompt's; Anthropic's `input_tokens` is the uncached rest only.
"""

from __future__ import annotations

from typing import Any

from peek_core.providers.simulator.cache import Reading
from peek_core.providers.simulator.faults import Fault, LyingUsage
from peek_core.providers.simulator.profiles import Report


def usage(report: Report, reading: Reading, completion: int) -> dict[str, Any]:
    """The usage object of a reply of so many tokens."""
    if report == "anthropic":
        return {
            "cache_creation_input_tokens": reading.written,
            "cache_read_input_tokens": reading.cached,
            "input_tokens": reading.uncached,
            "output_tokens": completion,
        }
    prompt = reading.cached + reading.written + reading.uncached
    said: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if report == "deepseek":
        said |= {"prompt_cache_hit_tokens": reading.cached, "prompt_cache_miss_tokens": prompt - reading.cached}
    elif report == "gemini":
        said |= {"prompt_tokens_details": {"cached_tokens": reading.cached}} if reading.cached else {}
    elif report != "plain":
        writes = {"cache_write_tokens": reading.written} if report == "openai_writes" else {}
        said["prompt_tokens_details"] = {"cached_tokens": reading.cached, **writes}
        said["completion_tokens_details"] = {
            "reasoning_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        }
    return said


def told(said: dict[str, Any], fault: Fault | None) -> dict[str, Any] | None:
    """What a request with this fault is told instead."""
    if not isinstance(fault, LyingUsage):
        return said
    if fault.how == "missing":
        return None
    return {name: _lie(value, fault) for name, value in said.items()}


def _lie(value: Any, fault: LyingUsage) -> Any:
    if isinstance(value, dict):
        return {name: _lie(v, fault) for name, v in value.items()}
    return {"too_small": value // 10, "negative": -value - 1, "strings": str(value)}[fault.how]
