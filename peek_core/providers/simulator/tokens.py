"""Counting and cutting tokens by a rule anyone can check by hand.

Owns: the tokenizer. Refuses to know: messages, providers, caches. A text is cut into pieces of four UTF-8 bytes, the last
one shorter, so it has ceil(bytes / 4) tokens. No framing is counted: a prompt has the sum over its blocks. The rule is
prefix-stable: two texts that share b bytes share their first floor(b / 4) tokens.
"""

from __future__ import annotations

BYTES = 4
"""UTF-8 bytes per token, the last piece of a text excepted."""


def count(text: str) -> int:
    """Tokens of a text.

    >>> count(""), count("abcd"), count("abcde"), count("ä" * 3)
    (0, 1, 2, 2)
    """
    return -(-len(_bytes(text)) // BYTES)


def pieces(role: str, text: str) -> tuple[bytes, ...]:
    """The tokens of one block. Its first carries the role behind a byte no UTF-8 has, so equal texts of two roles differ.

    >>> pieces("user", "abcdef")
    (b'\\xffuser\\xffabcd', b'ef')
    """
    data = _bytes(text)
    cut = [data[at : at + BYTES] for at in range(0, len(data), BYTES)]
    if cut:
        cut[0] = b"\xff" + role.encode() + b"\xff" + cut[0]
    return tuple(cut)


def first(text: str, tokens: int) -> str:
    """The text up to so many tokens; a character cut in two is left out.

    >>> first("abcdefgh", 1), first("aäää", 1)
    ('abcd', 'aä')
    """
    return _bytes(text)[: tokens * BYTES].decode("utf-8", "ignore")


def last(text: str, tokens: int) -> str:
    """The text's end of so many tokens, cut where its own pieces are cut; a character cut in two is left out."""
    data = _bytes(text)
    return data[max(0, -(-len(data) // BYTES) - tokens) * BYTES :].decode("utf-8", "ignore")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
