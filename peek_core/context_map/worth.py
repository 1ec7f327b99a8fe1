"""Where a map can't pay: said before anybody waits for a gain that isn't there.

Owns: the two rules and their sentences. Refuses to know where the numbers come from.

Others measured no gain where the whole text fits a prompt or where questions have nothing in common
(arXiv:2605.19932, section 6, and two independent replications).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from peek_core.context_map.regions import Regions
from peek_core.values.dataset import Profile

ONE_PROMPT = 16_000
"""Tokens of all rows, estimated, up to which a model may as well read them whole."""
QUESTIONS = 6
"""So many questions are looked at before they are said to share nothing."""
_CHARS_A_TOKEN = 4
_CHARS_A_VALUE = 7
"""A number or date with its delimiter."""


def cannot_pay(profile: Profile, asked: Sequence[Regions] = ()) -> str | None:
    """Why a map is of no use here, in one sentence, or None. `asked`: what each question looked at, oldest first."""
    rows, tokens = sum(t.rows for t in profile.tables), estimated_tokens(profile)
    if tokens <= ONE_PROMPT:
        return (
            f"All {rows:,} rows fit one prompt (about {tokens:,} tokens, estimated), so a map can hardly save anything."
        )
    seen = [{(r.table, r.column) for r in regions.seen} for regions in asked if regions.seen][-QUESTIONS:]
    if len(seen) == QUESTIONS and not any(a & b for a, b in itertools.combinations(seen, 2)):
        return f"The last {QUESTIONS} questions looked at no column in common, so a map can hardly save anything."
    return None


def estimated_tokens(profile: Profile) -> int:
    """Tokens of all rows as text, from row counts and average lengths."""
    chars = 0.0
    for table in profile.tables:
        for column in table.columns:
            length = column.average_length + 1 if column.average_length is not None else _CHARS_A_VALUE
            chars += (table.rows - column.nulls) * length + column.nulls
    return round(chars / _CHARS_A_TOKEN)
