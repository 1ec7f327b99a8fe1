"""Trimming: descriptions become signatures when the level asks for it, and stay so."""

from __future__ import annotations

from dataclasses import replace

from peek_core.context_pipe.catalog import PAPER, Held
from peek_core.context_pipe.rules.trim_schemas import apply
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, Priority, Scope
from tests.context_pipe.kit import CHEAP_CACHE, RULES, Worked, record, snapshot

FUNCTIONS = record("functions", Kind.HOST_FUNCTIONS, "f" * 2_000, Scope.GLOBAL, trimmed="f()", priority=Priority.NEVER)
REST = record("rest", Kind.HISTORY, "x" * 4_000)
ALL = [RULES, FUNCTIONS, REST]
"""1,600 tokens, of which trimming takes 499."""


def trimmed(records, **more) -> Worked:
    return Worked(snapshot(records, **{"window": 2_600, "configuration": PAPER, **more}), apply)


def test_at_its_level_a_description_becomes_a_signature() -> None:
    made = trimmed(ALL)
    assert made.texts["functions"] == "f()"
    assert made.decision.applied and made.decision.sections == ("functions",)
    assert (made.decision.tokens_before, made.decision.tokens_after) == (1_600, 1_101)
    assert made.reason == "descriptions cut to signatures; level trim_schemas; this configuration asks for no gain"


def test_below_its_level_nothing_is_trimmed() -> None:
    made = trimmed(ALL, window=2_700)
    assert made.unchanged and made.reason == "level normal is below trim_schemas"


def test_what_has_no_short_form_or_is_no_description_is_left_alone() -> None:
    made = trimmed([RULES, replace(FUNCTIONS, trimmed=""), replace(REST, trimmed="r")])
    assert made.unchanged and made.reason == "nothing more can be trimmed"


def test_once_trimmed_it_stays_trimmed() -> None:
    made = trimmed(ALL, window=64_000, held=Held(trimmed=frozenset({"functions", "gone"})))
    assert made.texts["functions"] == "f()"
    assert made.decision.applied and made.reason == (
        "trimmed before, stays trimmed; level normal is below trim_schemas"
    )


def test_where_edits_must_pay_a_description_near_the_front_is_not_trimmed() -> None:
    """499 tokens go, 1,001 stay behind: 19 * 1,001 / 499 = 38 calls."""
    pays = replace(PAPER, pays=True)
    made = trimmed(ALL, configuration=pays, cache=CacheRules("prefix"), rates=CHEAP_CACHE)
    assert made.unchanged and "needs more than 38 further calls, 1 expected" in made.reason


def test_what_was_trimmed_stays_so_where_trimming_more_does_not_pay() -> None:
    more = record("more functions", Kind.HOST_FUNCTIONS, "g" * 2_000, Scope.GLOBAL, trimmed="g()")
    made = trimmed([RULES, FUNCTIONS, more, REST], configuration=replace(PAPER, pays=True), cache=CacheRules("prefix"),
                   rates=CHEAP_CACHE, held=Held(trimmed=frozenset({"functions"})), window=3_000)  # fmt: skip
    assert made.texts["functions"] == "f()" and made.texts["more functions"] == "g" * 2_000
    assert made.decision.applied and made.decision.sections == ("functions",)
    assert made.reason.startswith("trimmed before, stays trimmed; takes ") and made.reason.endswith("1 expected")
