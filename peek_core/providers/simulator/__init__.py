"""A provider on loopback that streams, caches prompts, has a window and fails on demand, for tests and dry runs.

Owns: simulating. Refuses to know: anything else of this product; it imports nothing of it.
"""

from peek_core.providers.simulator.faults import (
    ALL,
    Cut,
    DuplicateChunks,
    ErrorEvent,
    Fault,
    FinishLength,
    Garbage,
    Hang,
    HttpError,
    LyingUsage,
    Rate,
    Redirect,
    SlowChunks,
    SlowFirstByte,
    TooLong,
    WrongJson,
)
from peek_core.providers.simulator.profiles import (
    ANTHROPIC,
    DEEPSEEK,
    GEMINI,
    LOCAL,
    OPENAI,
    OPENAI_PREFIX,
    PLAIN,
    PROFILES,
    Profile,
)
from peek_core.providers.simulator.record import Exchange, Request, Script
from peek_core.providers.simulator.server import Simulator

__all__ = [
    "ALL",
    "ANTHROPIC",
    "DEEPSEEK",
    "GEMINI",
    "LOCAL",
    "OPENAI",
    "OPENAI_PREFIX",
    "PLAIN",
    "PROFILES",
    "Cut",
    "DuplicateChunks",
    "ErrorEvent",
    "Exchange",
    "Fault",
    "FinishLength",
    "Garbage",
    "Hang",
    "HttpError",
    "LyingUsage",
    "Profile",
    "Rate",
    "Redirect",
    "Request",
    "Script",
    "Simulator",
    "SlowChunks",
    "SlowFirstByte",
    "TooLong",
    "WrongJson",
]
