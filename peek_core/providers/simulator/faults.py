"""What can go wrong with a request, as values, and who gets what.

Owns: the faults and their choice by script or seed. Refuses to know: how one is sent. A fault that refuses takes no reply
from the script and leaves the cache alone; one that spoils a reply takes both like any other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class HttpError:
    """An HTTP error with a JSON body. `retry_after_s`: seconds, told as a number or (`as_date`) as an HTTP date."""

    code: int
    message: str = "as ordered"
    retry_after_s: float | None = None
    as_date: bool = False


@dataclass(frozen=True)
class TooLong:
    """The provider's context length error, whatever the prompt's length."""


@dataclass(frozen=True)
class Redirect:
    """307 to another address, which a client holding somebody's data must not follow."""

    location: str


@dataclass(frozen=True)
class Hang:
    """Nothing is sent, not even headers, until the simulator closes. `headers`: they are, and nothing after them."""

    headers: bool = False


@dataclass(frozen=True)
class Garbage:
    """200 and a body of another kind: the page of a proxy, unless said otherwise."""

    body: str = "<html><body>Welcome to the proxy</body></html>"
    content_type: str = "text/html"


@dataclass(frozen=True)
class WrongJson:
    """200 and JSON that breaks off: the body, or one event of the stream."""


@dataclass(frozen=True)
class SlowFirstByte:
    """So many seconds before the first byte."""

    seconds: float


@dataclass(frozen=True)
class SlowChunks:
    """So many seconds before each chunk of text."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The reply stops after its first chunk: the stream ends without a finish reason, the connection drops, or silence."""

    how: Literal["politely", "dropped", "silently"] = "politely"


@dataclass(frozen=True)
class ErrorEvent:
    """A stream that begins well and then carries an error event; where nothing streams, a 500."""

    message: str = "the model fell over"


@dataclass(frozen=True)
class LyingUsage:
    """Counts a tenth of the truth, none at all, below zero, or as text."""

    how: Literal["too_small", "missing", "negative", "strings"] = "too_small"


@dataclass(frozen=True)
class DuplicateChunks:
    """Every chunk of text twice, as a retrying proxy sends them. Chat Completions numbers no chunks, so nobody can tell."""


@dataclass(frozen=True)
class FinishLength:
    """The reply breaks off in its middle with finish_reason `length`."""


Refusal = HttpError | TooLong | Redirect | Hang | Garbage | WrongJson
Spoiler = SlowFirstByte | SlowChunks | Cut | ErrorEvent | LyingUsage | DuplicateChunks | FinishLength
Fault = Refusal | Spoiler

ALL: tuple[Fault, ...] = (
    HttpError(429, retry_after_s=0.0),
    HttpError(429, retry_after_s=0.0, as_date=True),
    HttpError(500),
    HttpError(503),
    TooLong(),
    Garbage(),
    WrongJson(),
    SlowFirstByte(0.01),
    SlowChunks(0.001),
    Cut(),
    Cut("dropped"),
    ErrorEvent(),
    LyingUsage("too_small"),
    LyingUsage("missing"),
    LyingUsage("negative"),
    LyingUsage("strings"),
    DuplicateChunks(),
    FinishLength(),
)
"""One of each that comes to an end by itself."""


@dataclass(frozen=True)
class Rate:
    """A share of all requests gets a fault, chosen by seed and request number: the same ones every time."""

    share: float
    seed: int = 0
    kinds: tuple[Fault, ...] = ALL

    def of(self, number: int) -> Fault | None:
        """The fault of request `number`, counted from 0."""
        dice = random.Random(f"{self.seed}:{number}")
        return dice.choice(self.kinds) if dice.random() < self.share else None
