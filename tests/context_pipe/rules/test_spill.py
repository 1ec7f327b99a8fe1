"""Spilling: what is very large and can be read back leaves its beginning, its end and how to read the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.catalog import Held
from peek_core.context_pipe.rules.spill import apply
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, Priority
from tests.context_pipe.kit import CHEAP_CACHE, RULES, Worked, record, snapshot

LARGE = record("profile", Kind.PROFILE, "a" * 20_000 + "b" * 20_000, recoverable=True, priority=Priority.NEVER)
"""10,000 tokens."""


def spilled(records, **more) -> Worked:
    return Worked(snapshot(records, **{"spill_backend": True, **more}), apply)


def test_a_large_section_keeps_its_beginning_its_end_and_how_to_read_on() -> None:
    made = spilled([RULES, LARGE])
    text = made.texts["profile"]
    assert text == (
        "a" * 6_000 + "\n(… 32,500 characters of 'profile' are left out here; recall('profile', 6000) reads on …)\n"
        "" + "b" * 1_500
    )
    assert made.decision.applied and made.decision.sections == ("profile",)
    assert made.reason == "1 spilled, read back with recall(); large sections go to the store before they are ever sent"
    assert (made.decision.tokens_before, made.decision.tokens_after) == (10_100, 100 + (len(text) + 3) // 4)


def test_below_ten_thousand_tokens_nothing_is_spilled() -> None:
    made = spilled([RULES, replace(LARGE, text="a" * 39_996)])
    assert made.unchanged and made.reason == "no section of 10,000 tokens or more"


def test_what_can_not_be_read_back_is_not_spilled() -> None:
    made = spilled([RULES, replace(LARGE, recoverable=False)])
    assert made.unchanged and made.reason == "none of them can be read back"


@pytest.mark.parametrize("kind", [Kind.IDENTITY, Kind.CONSTRAINTS, Kind.WORKING_MEMORY])
def test_anchors_and_working_memory_are_never_spilled(kind: Kind) -> None:
    assert spilled([RULES, replace(LARGE, kind=kind)]).unchanged


def test_without_a_store_nothing_is_spilled_and_that_is_said() -> None:
    made = spilled([RULES, LARGE], spill_backend=False)
    assert made.unchanged and made.reason == "there is no store to spill to just now"


def test_what_was_sent_whole_is_spilled_only_where_that_pays() -> None:
    """8,102 tokens go, 1,898 stay: 19 * 1,898 / 8,102 = 4.5 calls."""
    told = {"held": Held(order=("rules", "profile")), "cache": CacheRules("prefix"), "rates": CHEAP_CACHE}
    made = spilled([RULES, LARGE], **told, expected_calls=4)
    assert made.unchanged and made.reason.startswith(
        "takes 8,102 tokens out and breaks the cache for 1,898: needs more"
    )
    assert spilled([RULES, LARGE], **told, expected_calls=5).decision.sections == ("profile",)


def test_what_is_new_is_spilled_although_what_was_sent_whole_stays() -> None:
    new = replace(LARGE, name="new")
    made = spilled([RULES, LARGE, new], held=Held(order=("rules", "profile")), cache=CacheRules("prefix"), rates=CHEAP_CACHE,
                   expected_calls=1)  # fmt: skip
    assert made.decision.sections == ("new",)
    assert made.texts["profile"] == LARGE.text


def test_what_was_spilled_stays_spilled_although_estimates_moved() -> None:
    """The endpoint turned out to count two percent less: 9,800 tokens, below the limit."""
    held = Held(order=("rules", "profile"), spilled=frozenset({"profile"}))
    made = spilled([RULES, LARGE], held=held, factors={"profile": 0.98}, cache=CacheRules("prefix"), rates=CHEAP_CACHE)
    assert made.decision.sections == ("profile",)
    assert len(made.texts["profile"]) < 8_000


def test_what_would_not_get_shorter_is_not_spilled() -> None:
    """Few characters, many tokens, as some scripts have it."""
    dense = replace(LARGE, text="𒀀" * 6_000)
    made = Worked(snapshot([RULES, dense], spill_backend=True, count=lambda t: 2 * len(t)), apply, lambda t: 2 * len(t))
    assert made.unchanged and made.reason == "none of them would get shorter"
