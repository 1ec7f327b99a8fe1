"""Dropping: whole rounds from the oldest end, four or more at a time, with one note in their place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.catalog import DEFAULT, Held
from peek_core.context_pipe.rules.drop_rounds import NOTE, apply
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, Priority
from tests.context_pipe.kit import CHEAP_CACHE, QUESTION, RULES, Worked, record, snapshot, steps

EIGHT = [RULES, QUESTION, *steps(8, 1_192)]
"""103 tokens in front, eight rounds of 300."""


def dropped(records, **more) -> Worked:
    return Worked(snapshot(records, **{"window": 2_600, **more}), apply)


def gone(made: Worked) -> list[int]:
    """Numbers of the rounds of which nothing is left."""
    there = {n for n in range(1, 100) for what in ("cell", "observation") if f"{what} {n}" in made.names}
    given = {int(r.name.split()[1]) for r in made.context.snapshot.records if r.name.startswith("cell")}
    return sorted(given - there)


def test_the_oldest_rounds_go_whole_and_a_note_says_how_many() -> None:
    made = dropped(EIGHT)
    assert gone(made) == [1, 2, 3, 4]
    assert made.names[:3] == ["rules", "question", NOTE] and made.names[3:] == [r.name for r in EIGHT[10:]]
    assert made.texts[NOTE].startswith("(4 earlier rounds were left out here")
    assert made.decision.applied and made.decision.sections == tuple(r.name for r in EIGHT[2:10])
    assert made.reason == "4 oldest rounds dropped; 2,503 of at most 2,600 tokens: it must"
    assert made.decision.tokens_before - made.decision.tokens_after == 1_200 - 26


def test_as_many_go_as_bring_the_request_down_to_sixty_percent() -> None:
    more = [RULES, QUESTION, *steps(12, 1_192)]
    assert gone(dropped(more, window=3_800)) == [1, 2, 3, 4, 5]
    assert gone(dropped(more, window=3_000)) == [1, 2, 3, 4, 5, 6, 7]


def test_below_aggressive_prune_none_goes() -> None:
    made = dropped(EIGHT, window=2_782)
    assert made.unchanged and made.reason == "level compact_history is below aggressive_prune"
    assert gone(dropped(EIGHT, window=2_781))


def test_fewer_than_four_are_not_worth_it_and_the_newest_three_stay() -> None:
    made = dropped([RULES, *steps(6, 2_000)])
    assert made.unchanged and made.reason == "only 3 rounds may go, fewer than 4"
    assert gone(dropped([RULES, *steps(6, 2_000)], configuration=replace(DEFAULT, drop_at_least=3))) == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "change"),
    [("cell 2", {"priority": Priority.NEVER}), ("observation 2", {"priority": Priority.NEVER}), ("cell 2", {"kind": Kind.IDENTITY})],
)  # fmt: skip
def test_a_round_that_holds_what_must_stay_stays(name: str, change: dict) -> None:
    records = [replace(r, **change) if r.name == name else r for r in EIGHT]
    assert gone(dropped(records)) == [1, 3, 4, 5]


def test_what_takes_no_more_than_the_note_is_not_dropped() -> None:
    made = dropped([RULES, record("big", Kind.HISTORY, "x" * 9_600), *steps(8, 1)])
    assert made.unchanged and made.reason == "nothing would get shorter"


def test_rounds_once_dropped_stay_dropped_at_every_level() -> None:
    held = Held(dropped=frozenset({"cell 1", "observation 1", "cell 2", "observation 2"}))
    made = dropped(EIGHT, window=64_000, held=held)
    assert gone(made) == [1, 2]
    assert made.texts[NOTE].startswith("(2 earlier rounds")
    assert made.decision.applied and made.reason == (
        "2 rounds dropped before stay dropped; level normal is below aggressive_prune"
    )
    assert made.decision.sections == ("cell 1", "observation 1", "cell 2", "observation 2")


def test_what_was_dropped_before_is_not_counted_among_those_that_may_go() -> None:
    held = Held(dropped=frozenset({"cell 1", "observation 1", "cell 2", "observation 2"}))
    made = dropped(EIGHT, held=held, window=2_000)
    assert gone(made) == [1, 2] and made.reason.startswith("2 rounds dropped before stay dropped; only 3 rounds may go")
    more = dropped([RULES, QUESTION, *steps(9, 1_192)], held=held, window=2_000)
    assert gone(more) == [1, 2, 3, 4, 5, 6]
    assert more.reason.startswith("4 oldest rounds dropped; ")
    assert more.texts[NOTE].startswith("(6 earlier rounds")


def test_a_drop_that_does_not_pay_is_not_made() -> None:
    made = dropped(EIGHT, window=64_000, budget=2_600, cache=CacheRules("prefix"), rates=CHEAP_CACHE)
    assert made.unchanged
    assert made.reason == (
        "takes 1,174 tokens out and breaks the cache for 1,226: needs more than 20 further calls, 1 expected"
    )
    assert gone(dropped(EIGHT, window=64_000, budget=2_600, cache=CacheRules("prefix"), rates=CHEAP_CACHE,
                        expected_calls=20)) == [1, 2, 3, 4]  # fmt: skip


def test_a_refused_request_drops_at_any_size() -> None:
    assert gone(dropped(EIGHT, window=64_000, recovery=1, cache=CacheRules("prefix"))) == [1, 2, 3, 4]
