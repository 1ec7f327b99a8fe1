"""Age is the order records were given in, wherever they stand; what goes in any case pays for nothing else."""

from __future__ import annotations

from dataclasses import replace

from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.cache_model import known, trail
from peek_core.context_pipe.catalog import PAPER, Held
from peek_core.context_pipe.plan import plan
from peek_core.context_pipe.rules import clear_observations, drop_rounds, spill
from peek_core.context_pipe.rules.held import again
from peek_core.context_pipe.rules.working import Placed, RuleContext
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, Priority
from tests.context_pipe.kit import CHEAP_CACHE, QUESTION, RULES, quarter, record, snapshot, steps

LARGE = record("profile", Kind.PROFILE, "a" * 20_000 + "b" * 20_000, recoverable=True, priority=Priority.NEVER)


def work(given, rule, warm=0, order=lambda p: p):
    """What a rule gives; `warm`: so many leading sections are cached, `order`: how they stand by now."""
    b = Binder(quarter)
    before = tuple(Placed(r, b.section(r)) for r in given.records)
    if warm:
        c = given.capabilities.cache
        given = replace(given, cache=known([trail([p.section for p in before[:warm]], c, "x", 0.0)], c, 0.0))
    return rule(order(before), RuleContext(given, plan(given), b.replaced))


def test_spill_fresh_must_not_pay_for_the_cache_the_old_one_breaks():
    given = snapshot(
        [RULES, LARGE, replace(LARGE, name="new")],
        spill_backend=True,
        held=Held(order=("rules", "profile")),
        cache=CacheRules("prefix"),
        rates=CHEAP_CACHE,
        expected_calls=1,
    )
    assert work(given, spill.apply, 2)[1].sections == ("new",)


def ahead(p):
    """The newest two in front."""
    return (*p[-2:], *p[:-2])


def test_newest_observation_is_safe_wherever_it_stands():
    _, d = work(snapshot([RULES, *steps(6, 1_200)], window=2_000), clear_observations.apply, order=ahead)
    assert d.sections == ("observation 1", "observation 2", "observation 3")


def test_newest_round_is_safe_wherever_it_stands():
    _, d = work(snapshot([RULES, QUESTION, *steps(8, 1_192)], window=2_600), drop_rounds.apply, order=ahead)
    assert "cell 8" not in d.sections


def test_trimmed_after_spilled_stays_trimmed_as_the_estimate_says():
    told = replace(LARGE, name="told", kind=Kind.HOST_FUNCTIONS, trimmed="f()")
    n = frozenset({"told"})
    given = snapshot([told], configuration=PAPER, held=Held(spilled=n, trimmed=n))
    b = Binder(quarter)
    p = (Placed(told, b.section(told)),)
    assert again(p, RuleContext(given, plan(given), b.replaced))[0].section.text == "f()"
