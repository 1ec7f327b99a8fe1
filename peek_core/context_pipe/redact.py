"""Personal data out of what a prompt carries: the same value always becomes the same token.

Owns: which shapes are taken for personal data, their tokens, and the way back for code and answers that stay here. Refuses
to know: who may see what. Tokens are keyed hashes: stable, so that the prefix cache holds, and not to be guessed.
"""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Callable, Mapping

from peek_core.values.sources import Kind

REDACTED = frozenset(
    {Kind.PROFILE, Kind.DEFINITIONS, Kind.MEMORY, Kind.HISTORY, Kind.WORKING_MEMORY, Kind.OBSERVATION, Kind.SUB_CALL}
)
"""Kinds that carry cells. The person's own question is exempt."""
_TOKEN = re.compile(r"⟨(?:e-mail|phone|card|account) [0-9a-f]{8}⟩")


def _luhn(text: str) -> bool:
    """The check digit of card numbers (ISO/IEC 7812-1)."""
    digits = [int(c) for c in text if c.isdigit()][::-1]
    return sum(d if n % 2 == 0 else sum(divmod(2 * d, 10)) for n, d in enumerate(digits)) % 10 == 0


def _iban(text: str) -> bool:
    """The check digits of account numbers (ISO 13616)."""
    plain = text.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


_SHAPES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("e-mail", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"), lambda text: True),
    ("account", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"), _iban),
    # Long counts and ids are no cards: a card starts with 3 to 6, has 15 or 16 digits and the right last one.
    ("card", re.compile(r"(?<![\w.,])[3-6]\d{3}(?:[ -]?\d){11,12}(?!\w|[.,]\d)"), _luhn),
    (
        "phone",
        re.compile(r"(?<![\w+])\+\d[\d ()/.-]{6,16}\d(?!\w)|(?<![\w.-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])"),
        lambda text: True,
    ),
)


class Redactor:
    """Redacts texts and remembers what stands for what. The memory is of this process only."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._values: dict[str, str] = {}

    def __call__(self, text: str) -> tuple[str, Mapping[str, int]]:
        """The text with tokens in place, and how many of each kind."""
        found: Counter[str] = Counter()
        for kind, shape, right in _SHAPES:

            def token(match: re.Match[str], kind: str = kind, right: Callable[[str], bool] = right) -> str:
                if not right(match[0]):
                    return match[0]
                found[kind] += 1
                made = f"⟨{kind} {hmac.new(self._key, match[0].casefold().encode(), 'sha256').hexdigest()[:8]}⟩"
                self._values[made] = match[0]
                return made

            text = shape.sub(token, text)
        return text, found

    def restore(self, text: str) -> str:
        """Tokens back to values, for what stays on this machine."""
        return _TOKEN.sub(lambda m: self._values.get(m[0], m[0]), text)
