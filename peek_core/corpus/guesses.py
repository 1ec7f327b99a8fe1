"""Guesses about text, from a sample of values: its languages, and whether it looks personal.

Owns: both guesses, which are called guesses wherever they are shown. Refuses to know tables. Language by py3langid
(Lui & Baldwin 2012, langid.py), whose model comes with the package; nothing is fetched.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence

LEAST_LETTERS = 12
"""Shorter texts tell no language."""
LEAST_SHARE = 0.02
_PERSONAL = 0.5
"""So much of the values must look personal."""
# The languages feedback and tickets come in; the model knows 140, and takes short English for Afrikaans among them.
LANGUAGES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_KINDS = (
    ("e-mail addresses", re.compile(r"[^@\s,;]+@[^@\s,;]+\.[A-Za-z]{2,}")),
    ("account numbers", re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?")),
    ("phone numbers", re.compile(r"(?:\+|00)\d[\d ()/.-]{6,16}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")),
    ("network addresses", re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")),
)
_NAMES = re.compile(r"(?:^|_)(?:first|last|sur|full|customer|user|reporter|agent|author|contact|person)?_?name(?:$|_)")
_CARD = re.compile(r"\d(?:[ -]?\d){12,18}")


def languages(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """(language, share of the texts that tell one), the most frequent first; empty where too few tell one."""
    told = [text for text in texts if sum(map(str.isalpha, text)) >= LEAST_LETTERS]
    if len(told) < 5:
        return ()
    found = Counter(_classify(text) for text in told)
    shares = [(LANGUAGES[code], count / len(told)) for code, count in found.most_common() if code in LANGUAGES]
    return tuple((name, round(share, 2)) for name, share in shares if share >= LEAST_SHARE)


def personal(name: str, texts: Sequence[str]) -> str:
    """What kind of personal data the values look like, or an empty string."""
    filled = [text.strip() for text in texts if text.strip()]
    if not filled:
        return ""
    for kind, shape in _KINDS:
        if sum(bool(shape.fullmatch(text)) for text in filled) >= _PERSONAL * len(filled):
            return kind
    if sum(bool(_CARD.fullmatch(text)) and _luhn(text) for text in filled) >= _PERSONAL * len(filled):
        return "card numbers"
    worded = sum(text.replace(" ", "").isalpha() and text[:1].isupper() and " " in text for text in filled)
    return "names of people" if _NAMES.search(name.lower()) and worded >= _PERSONAL * len(filled) else ""


def _luhn(text: str) -> bool:
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    return sum(d if n % 2 == 0 else (2 * d - 9 if d > 4 else 2 * d) for n, d in enumerate(digits)) % 10 == 0


@functools.cache
def _identifier() -> Callable[[str], tuple[str, float]]:
    # Its model takes most of a second to load, and many tables hold no free text.
    import py3langid  # type: ignore[import-untyped]

    py3langid.set_languages(list(LANGUAGES))
    return py3langid.classify  # type: ignore[no-any-return]


def _classify(text: str) -> str:
    return _identifier()(text)[0]
