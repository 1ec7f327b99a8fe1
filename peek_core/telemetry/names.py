"""Every attribute name of an exported span.

Owns: the names. Refuses to know: values. The gen_ai names follow OpenTelemetry's GenAI conventions as of
opentelemetry-util-genai 1.3b0 (2026), where none is stable yet and cache_creation has become cache_write.
"""

from __future__ import annotations

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
"""Not sent yet: a call trace keeps the requested model only."""
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
"""Includes what was read from and written to the cache."""
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE = "gen_ai.usage.cache_write.input_tokens"
REASONING = "gen_ai.usage.reasoning.output_tokens"
CONVERSATION = "gen_ai.conversation.id"
"""A keyed hash of the run's id."""
ERROR_TYPE = "error.type"

CALL = "peek.call"
"""A keyed hash of the call's id."""
SOURCE = "peek.source"
CONFIGURATION = "peek.configuration"
LEVEL = "peek.level"
PRESSURE = "peek.pressure"
"""Predicted, as the level was chosen by it."""
PREDICTED_CACHED = "peek.predicted_cached"
ESTIMATE = "peek.estimate"
"""Tokens of the request before it was sent, by the local counter."""
APPLIED = "peek.decisions.applied"
RETRIES = "peek.retries"
FAILED = "peek.failed"
