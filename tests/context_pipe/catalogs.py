"""Random catalogs for the laws: any kind, scope, priority, pair and dependency, sizes over five orders of magnitude.

A catalog is drawn as whole numbers, one per unit (a section alone, a pair, or a round), so that hypothesis draws and shrinks
two hundred sections fast; each number is read digit by digit in mixed radix.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from peek_core.context_pipe.catalog import DEFAULT, FLAT, PAPER, Configuration
from peek_core.errors import NotFound
from peek_core.values.sources import ANCHORS, Kind, LifecycleTier, Priority, Scope, SourceRecord
from tests.context_pipe.kit import closed

CONFIGURATIONS: tuple[Configuration, ...] = (
    FLAT,
    PAPER,
    DEFAULT,
    replace(DEFAULT, name="default without a price", pays=False),
    *(replace(closed(c, rule), name=f"{c.name}, only {rule}") for c in (DEFAULT, PAPER) for rule in c.rules),
)
"""As named, and with one gate open at a time."""
KINDS, SCOPES, PRIORITIES = list(Kind), list(Scope), list(Priority)
FORMS = ("alone", "alone", "round", "round", "pair", "lazy")
CODES = st.integers(0, 2**52 - 1)


def catalog_codes(least: int = 1, most: int = 100) -> st.SearchStrategy[list[int]]:
    """Units of one to two sections each: a few that shrink one by one, or any number from a seed."""
    sown = st.builds(_sown, st.integers(least, most), st.integers(0, 2**32))
    return st.lists(CODES, min_size=least, max_size=min(most, 8)) | sown


def _sown(count: int, seed: int) -> list[int]:
    dice = random.Random(seed)
    return [dice.randrange(2**52) for _ in range(count)]


class Digits:
    """A whole number read digit by digit."""

    def __init__(self, code: int) -> None:
        self._left = code

    def __call__(self, radix: int) -> int:
        self._left, digit = divmod(self._left, radix)
        return digit


def records_of(codes: Sequence[int], first: int = 0) -> list[SourceRecord]:
    """The catalog. Sections are called `s0`, `s1`, …; a pair's second one ends in `b`."""
    made: list[SourceRecord] = []
    for n, code in enumerate(codes, first):
        made += _unit(n, code)
    return made


def _unit(n: int, code: int) -> list[SourceRecord]:
    digit = Digits(code)
    form = FORMS[digit(6)]
    size = round(10 ** (digit(501) / 100))
    kind, scope, priority = KINDS[digit(12)], SCOPES[digit(3)], PRIORITIES[digit(4)]
    back, back_too = digit(24), digit(24)
    flags = digit(64)
    depends = tuple(f"s{n - d}" for d in (back, back_too) if 0 < d < 12) + ((f"s{n + 1}",) if back == 20 else ())
    recoverable, short, latched = bool(flags & 1), bool(flags & 6), not flags & 56
    name = f"s{n}"
    one = SourceRecord(
        name=name,
        kind=kind,
        tier=LifecycleTier.LATCHED if latched else LifecycleTier.PER_TURN,
        scope=scope,
        priority=priority,
        role="system" if kind in ANCHORS else "user",
        text=_text(name, size, recoverable),
        recoverable=recoverable,
        cleared=f"(cleared {name})" if short else "",
        trimmed=f"{name}()" if short else "",
        markerable=bool(flags & 2),
        depends=depends,
    )
    if form == "lazy":
        text, may_fail = one.text, priority is not Priority.NEVER and kind not in ANCHORS
        load = _locked if may_fail and not flags & 8 else lambda: text
        return [replace(one, text="", load=load, est_tokens=None if flags & 16 else size * (1 + flags % 3))]
    if form == "alone":
        return [one]
    pair = f"p{n}"
    if form == "pair":
        return [replace(one, pair=pair), replace(one, name=f"{name}b", text=_text(f"{name}b", 3, False), pair=pair)]
    usual = Priority.LAST_RESORT if flags & 3 else priority
    cell = replace(one, kind=Kind.WORKING_MEMORY, role="assistant", priority=usual, text=_text(name, 1 + size % 50, False),
                   pair=pair, recoverable=False, tier=LifecycleTier.PER_TURN)  # fmt: skip
    seen = replace(one, name=f"{name}b", kind=Kind.OBSERVATION, text=_text(f"{name}b", size, recoverable), pair=pair, role="user",
                   depends=(name,), tier=LifecycleTier.PER_TURN)  # fmt: skip
    return [cell, seen]


def _text(name: str, size: int, real: bool) -> str:
    """`size` tokens by kit.written: as a number, or in as many real characters where it may be spilled."""
    return f"{name} ".ljust(size, "x") if real and size >= 10_000 else f"#{size} {name}"


def _locked() -> str:
    raise NotFound("The shelf is locked")
