"""A prompt beyond the window: refused in the provider's own words, or cut.

Owns: the wordings, as quoted in public issues (openai 2024 and 2025-08, anthropic 2025-11, deepseek 2026-03) and
Google's error page. Refuses to know: HTTP.
"""

from __future__ import annotations

import json

from peek_core.providers.simulator.profiles import Overflow
from peek_core.providers.simulator.wire import error


def refusal(how: Overflow, window: int, prompt: int, asked: int) -> str:
    """The error's body for a prompt of so many tokens with a reply of at most `asked` tokens asked for."""
    if how == "anthropic":
        message = f"prompt is too long: {prompt} tokens > {window} maximum"
        return json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    if how == "gemini":
        message = f"The input token count ({prompt}) exceeds the maximum number of tokens allowed ({window})."
        return json.dumps({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
    most = f"This model's maximum context length is {window} tokens. However, "
    if how == "deepseek":
        parts = f"({prompt} in the messages, {asked} in the completion)"
        end = "Please reduce the length of the messages or completion."
        return error(f"{most}you requested {prompt + asked} tokens {parts}. {end}", code="invalid_request_error")
    end = "Please reduce the length of the messages."
    said = f"{most}your messages resulted in {prompt} tokens. {end}"
    return error(said, param="messages", code="context_length_exceeded")
