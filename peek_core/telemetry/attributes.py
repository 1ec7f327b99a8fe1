"""A call trace as span attributes.

Owns: what may leave the machine in a span. Refuses to know: how spans travel.

Only what is named here leaves: counts, the product's own words, names of model and provider, and keyed hashes. No prompt,
reply, section name, reason, hash of a text or error sentence does: short texts can be guessed from a plain hash, and a
failed call's sentence may quote the endpoint, which may quote the prompt.
"""

from __future__ import annotations

import hashlib
import hmac

from peek_core.telemetry import names
from peek_core.values.call_trace import CallTrace

Value = str | bool | int | float | tuple[str, ...]

FINISHES = frozenset(
    {"stop", "length", "content_filter", "tool_calls", "function_call", "end_turn", "max_tokens", "stop_sequence"}
)
"""What endpoints are known to say; any other word is theirs to choose, so it is sent as `other`."""
OTHER_ERROR = "_OTHER"
"""OpenTelemetry's word for an error without a type: the trace keeps the sentence only."""


def attributes(trace: CallTrace, key: bytes) -> dict[str, Value]:
    """Attributes of one call. What the provider did not say is left out, never 0."""
    explain, analyze = trace.explain, trace.analyze
    failed = analyze is None
    found: dict[str, Value | None] = {
        names.OPERATION: "chat",
        names.PROVIDER: explain.provider,
        names.REQUEST_MODEL: explain.model,
        names.CONVERSATION: keyed(key, "run", trace.run),
        names.CALL: keyed(key, "call", trace.id),
        names.SOURCE: trace.source,
        names.CONFIGURATION: explain.configuration,
        names.LEVEL: explain.level,
        names.PRESSURE: explain.pressure_predicted,
        names.PREDICTED_CACHED: explain.predicted_cached,
        names.ESTIMATE: explain.tokens,
        names.APPLIED: sum(d.applied for d in explain.decisions),
        names.FAILED: failed,
        names.ERROR_TYPE: OTHER_ERROR if failed else None,
    }
    if analyze is not None:
        usage = analyze.usage
        found |= {
            names.FINISH_REASONS: (analyze.finish if analyze.finish in FINISHES else "other",),
            names.INPUT_TOKENS: usage.input,
            names.OUTPUT_TOKENS: usage.output,
            names.CACHE_READ: usage.cached,
            names.CACHE_WRITE: usage.cache_write,
            names.REASONING: usage.reasoning,
            names.RETRIES: analyze.retries,
        }
    return {name: value for name, value in found.items() if value is not None}


def keyed(key: bytes, kind: str, id: str) -> str:
    """32 hex digits that only the holder of the key can tie to an id (HMAC-SHA256)."""
    return hmac.new(key, f"{kind}\0{id}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]
