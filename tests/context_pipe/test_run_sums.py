"""Sums and story of a run, both ways of assembling it, sums of a dataset: what is unknown stays unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe import beside as ways
from peek_core.context_pipe import run_story, run_sums
from peek_core.context_pipe.dataset_sums import Spent, dataset_sums
from peek_core.context_pipe.explain import expected
from peek_core.context_pipe.ledger import Day
from peek_core.context_pipe.run_sums import Total, sums
from peek_core.settings import DayLimits, RunLimits
from peek_core.values.events import Event
from peek_core.values.prices import Rates
from peek_core.values.run_view import RunHead
from peek_core.values.trajectory import SqlRecord, Step
from tests.context_pipe.traces import BREAK, RATES, call, decision, flat, section

# Sums


def test_tokens_and_money_by_source() -> None:
    s = sums([
        call(1, input=100, cached=0, output=10, written=80, usd=0.1),
        call(2, input=200, cached=100, output=20, written=90, usd=0.2),
        call(3, error="The endpoint failed"),
        call(4, "distill", input=50, cached=0, output=20, written=0, usd=0.1),
    ])  # fmt: skip
    steps, distill = s.sources
    assert (steps.source, steps.requests, steps.failed) == ("step", 3, 1)
    assert (steps.input, steps.cached, steps.written, steps.output) == (Total(300), Total(100), Total(170), Total(30))
    assert (distill.taken, s.total.taken, s.total.requests, s.total.failed) == (70, 400, 4, 1)
    assert s.total.usd.value == pytest.approx(0.4)
    assert s.learning_tokens == pytest.approx(70 / 400) and s.learning_usd == pytest.approx(0.25)
    assert s.costs == pytest.approx((0.1, 0.3, 0.3, 0.4))
    assert s.prices == ("own prices file, 2026-11-30",)


def test_what_nobody_said_is_no_zero() -> None:
    s = sums([call(1, strategy="none"), call(2, "distill", strategy="none")])
    assert s.total.input == Total(None, 2) and s.total.usd == Total(None, 2)
    assert s.hits == run_sums.HitRates(None, None, None, 0)
    assert (s.total.taken, s.total.estimated) == (200, 2)
    assert s.costs == (None, None) and s.learning_usd is None
    assert s.learning_tokens == 0.5


def test_a_price_that_lacks_ends_the_sum_so_far_but_what_is_known_is_said() -> None:
    s = sums(
        [
            call(1, input=10, output=1, usd=0.1),
            call(2, input=10, output=1),
            call(3, "chart", input=10, output=1, usd=0.1),
        ]
    )
    assert s.costs == (0.1, None, None)
    assert (s.total.usd.value, s.total.usd.lacking) == (pytest.approx(0.2), 1)
    assert s.learning_usd is None  # a share of what is not all known


def test_the_three_hit_rates_have_their_own_names() -> None:
    s = sums([
        call(1, input=100, cached=0, predicted=0),
        call(2, input=100, cached=50, predicted=60),
        call(3, input=800, cached=640, predicted=60),
        call(4, input=100),
    ])  # fmt: skip
    assert s.hits.weighted == pytest.approx(690 / 1_000)
    assert s.hits.median == pytest.approx(0.5)
    assert s.hits.predicted == pytest.approx(120 / 400)
    assert s.hits.told == 3


def test_waits_are_nearest_ranks_of_what_came_back() -> None:
    s = sums([call(n, seconds=float(n)) for n in range(1, 101)] + [call(101, error="no")])
    assert s.waits == run_sums.Waits(50.0, 95.0, 99.0, 100)
    assert sums([call(1, error="no")]).waits is None
    assert sums([]).total.requests == 0


def test_pressure_of_each_request_with_its_level() -> None:
    s = sums([call(1, pressure=0.3), call(2, pressure=0.8, level="compact_history")])
    assert [(p.n, p.predicted, p.level) for p in s.pressure] == [(1, 0.3, "normal"), (2, 0.8, "compact_history")]


# Story


def step(n: int, *sqls: str, seconds: float = 1.0) -> Step:
    queries = tuple(SqlRecord(f"q{n}-{i}", sql, 0.2) for i, sql in enumerate(sqls))
    return Step(n, "", "code", "", None, None, queries=queries, seconds=seconds)


def test_a_turn_keeps_its_number_when_its_request_was_refused() -> None:
    calls = [call(1), call(2, error="too long"), call(3), call(4, "llm_query"), call(5, "distill"), call(6, "other")]
    assert run_story.titles(calls) == ("Turn 1", "Turn 2, failed", "Turn 2", "Sub-call 1", "Distil", "other 1")


def test_time_goes_to_model_sql_sub_calls_and_sandbox_in_order() -> None:
    calls = [
        call(1, seconds=2.0),
        call(2, "llm_query", seconds=0.3),
        call(3, error="refused"),
        call(4, seconds=1.0),
        call(5, "distill", seconds=0.5),
    ]
    spans = run_story.timeline(calls, [step(1, "SELECT 1"), step(2)])
    told = [(s.row, s.what, s.kind, round(s.start, 2), round(s.seconds, 2)) for s in spans]
    assert told == [
        ("Turn 1", "reply", "model", 0.0, 2.0),
        ("Turn 1", "1 query", "SQL", 2.0, 0.2),
        ("Turn 1", "1 sub-call", "model", 2.2, 0.3),
        ("Turn 1", "cell", "sandbox", 2.5, 0.5),
        ("Turn 2", "reply", "model", 3.0, 1.0),
        ("Turn 2", "cell", "sandbox", 4.0, 1.0),
        ("Distil", "reply", "model", 5.0, 0.5),
    ]
    assert run_story.timeline([], []) == ()


def test_a_break_names_its_section_the_decision_and_what_lies_behind() -> None:
    a, b, c = section("a", 100), section("observation 1", 50), section("z", 30)
    cleared = decision("clear_observations", "observation 1")
    calls = [
        call(1, sections=(a, b)),
        call(2, sections=(a, section("observation 1", 5), c), decisions=(cleared,), alerts=(BREAK,)),
        call(3, sections=(a, section("observation 1", 5), c), decisions=(cleared,)),
    ]
    (found,) = run_story.breaks(calls)
    assert (found.n, found.section, found.behind) == (2, "observation 1", 35)
    assert found.cause == "clear_observations: it must"


def test_a_break_by_dropped_rounds_is_theirs() -> None:
    calls = [
        call(1, sections=(section("a", 10), section("cell 1", 10), section("cell 2", 10))),
        call(2, sections=(section("a", 10), section("rounds left out", 5)), alerts=(BREAK,),
             decisions=(decision("clear_observations", "observation 9"), decision("drop_rounds", "cell 1", "cell 2", reason="2 rounds"))),
    ]  # fmt: skip
    assert run_story.breaks(calls)[0].cause == "drop_rounds: 2 rounds"


def test_an_alert_that_can_not_be_read_off_again_keeps_its_own_words() -> None:
    (found,) = run_story.breaks([call(1, alerts=(BREAK,))])
    assert (found.section, found.cause) == ("", BREAK.cause)


def test_what_was_taken_out_counts_once_where_it_happened_first() -> None:
    one, short = section("observation 1", 500), section("observation 1", 20, bound=500)
    calls = [
        call(1, sections=(one,)),
        call(2, sections=(short, section("observation 2", 60)), decisions=(decision("clear_observations", "observation 1"),)),
        call(3, sections=(section("rounds left out", 5),),
             decisions=(decision("clear_observations", "observation 1"), decision("drop_rounds", "observation 2", "observation 1"))),
        call(4, sections=(section("rounds left out", 5),), decisions=(decision("drop_rounds", "observation 1", "observation 2"),)),
        call(5, sections=(section("profile", 40, bound=900),), decisions=(decision("spill", "profile"), replace(decision("bind", "x"), applied=False))),
    ]  # fmt: skip
    told = [(r.n, r.how, r.sections, r.tokens) for r in run_story.removed(calls)]
    assert told == [
        (2, "cleared", ("observation 1",), 480),
        (3, "dropped", ("observation 1", "observation 2"), 80),
        (5, "spilled", ("profile",), 860),
    ]


def test_names_are_put_in_the_order_people_count() -> None:
    names = [f"observation {n}" for n in (10, 2, 1)]
    (found,) = run_story.removed([call(1, decisions=(decision("drop_rounds", *names),))])
    assert found.sections == ("observation 1", "observation 2", "observation 10")
    assert found.tokens == 50  # nothing of them was ever seen: what the rule says


def test_what_was_read_again() -> None:
    events = [Event("r1", n, "recall", 1.0, {"section": name}) for n, name in enumerate(["b", "a", "b"])]
    assert list(run_story.fetched([*events, Event("r1", 9, "sql", 1.0, {})]).items()) == [("b", 2), ("a", 1)]


def test_a_query_repeats_only_where_its_result_was_gone() -> None:
    gone = decision("clear_observations", "observation 1")
    calls = [call(1), call(2), call(3, error="refused"), call(4, decisions=(gone,))]
    steps = [step(1, "SELECT  1"), step(2, "SELECT 1", "SELECT 2"), step(3, "SELECT 2")]
    assert (
        run_story.repeated(calls, steps) == ()
    )  # in turn 2 it stood there; of turn 3 that of turn 1 is not asked again
    assert run_story.repeated(calls, [step(1, "SELECT  1"), step(2), step(3, "SELECT 1")]) == (
        run_story.Repeated("SELECT 1", 1, 3),
    )
    assert run_story.repeated(calls, [*steps, step(4, "SELECT 1")]) == ()  # a step whose request is unknown


# Beside


def test_both_ways_over_the_same_requests() -> None:
    calls = [
        call(1, sections=(section("a", 100),), shadow=flat(100), rates=RATES),
        call(2, sections=(section("a", 100), section("b", 100)), predicted=100, shadow=flat(400, 300), rates=RATES),
        call(3, error="refused", shadow=flat(9_000)),
        call(4),
    ]
    both = ways.beside(calls)
    assert both is not None and both.requests == 2
    assert (both.sent.configuration, both.sent.tokens, both.sent.cached, both.sent.written) == ("default", 300, 100, 0)
    assert (both.other.configuration, both.other.tokens, both.other.cached) == ("flat", 500, 300)
    assert both.sent.usd == pytest.approx((200 * 2.0 + 100 * 0.2) / 1e6)
    assert both.other.usd == pytest.approx((200 * 2.0 + 300 * 0.2) / 1e6)
    assert ways.beside([call(1)]) is None


def test_one_request_without_a_price_leaves_the_money_unknown() -> None:
    both = ways.beside([call(1, shadow=flat(1), rates=RATES), call(2, shadow=flat(1))])
    assert both is not None and both.sent.usd is None and both.other.usd is None


def test_overflows_are_counted_on_both_sides() -> None:
    both = ways.beside([call(1, sections=(section("a", 995),), shadow=flat(2_000, overflow=True))])
    assert both is not None and (both.sent.overflows, both.other.overflows) == (1, 1)


@pytest.mark.parametrize(("implicit", "sent", "other"), [(False, 60, 0), (True, 160, 300)])
def test_what_breakpoints_write_is_paid_as_written(implicit: bool, sent: int, other: int) -> None:
    rules = {"capabilities": {"cache": {"implicit": implicit}}}
    parts = (section("a", 100, marker=True), section("b", 100))
    both = ways.beside(
        [call(1, sections=parts, predicted=40, shadow=flat(300), strategy="breakpoints", snapshot=rules)]
    )
    assert both is not None and (both.sent.written, both.other.written) == (sent, other)
    marked = ways.beside(
        [call(1, sections=parts, shadow=flat(300, applied=("place_markers",)), strategy="breakpoints")]
    )
    assert marked is not None and marked.other.written == 300


def pair(sent: tuple[int, int], other: tuple[int, int]) -> ways.Beside:
    return ways.Beside(ways.Way("default", *sent, 0, 0, None), ways.Way("flat", *other, 0, 0, None), 3)


@pytest.mark.parametrize(
    ("sent", "other", "says"),
    [
        ((300, 100), (500, 400), "default is cheaper where reading a cached token costs above 0.333"),
        ((500, 400), (300, 100), "default is cheaper where reading a cached token costs below 0.333"),
        ((100, 0), (500, 100), "default is cheaper at every price"),
        ((600, 100), (500, 400), "flat is cheaper at every price"),
        ((300, 100), (300, 100), "would have sent the same"),
        ((200, 100), (300, 100), "default sends 100 tokens less"),
        ((300, 100), (200, 100), "flat sends 100 tokens less"),
    ],
)
def test_break_even_in_words(sent: tuple[int, int], other: tuple[int, int], says: str) -> None:
    assert says in ways.in_words(pair(sent, other))


def test_against_the_models_of_today() -> None:
    both = pair((300, 100), (500, 400))
    cheap = Rates(1.0, 5.0, 0.1, None, None, "t", "d")
    dear, unknown = replace(cheap, cached=0.9), replace(cheap, cached=None)
    a, b, c = ways.against(both, [("cheap", cheap), ("dear", dear), ("unknown", unknown)])
    assert a.r_star == b.r_star == pytest.approx(1 / 3)
    assert a.ratio == pytest.approx(210 / 140) and b.ratio == pytest.approx(290 / 460)
    assert c.ratio is None and c.r_star == pytest.approx(1 / 3)


# Before anything is sent


def test_what_is_expected_of_the_cache_goes_to_the_leading_sections() -> None:
    parts = (section("a", 100), section("b", 100))
    a, b = expected(call(1, sections=parts, predicted=150, rates=RATES).explain)
    assert (a.cached, b.cached, a.actual) == (100, 50, None)
    assert b.usd == pytest.approx((50 * 2.0 + 50 * 0.2) / 1e6)
    c, _ = expected(call(1, sections=parts, strategy="none").explain)
    assert (c.cached, c.usd) == (None, None)


# A dataset


def head(id: str, status: str = "answered", analyst: str = "m", took: float | None = 5.0) -> RunHead:
    return RunHead(
        id, "peek", f"Question {id}?", analyst, status, "done", 100.0, None if took is None else 100.0 + took
    )


def of(heads: list[RunHead], spent: list[Spent], **more: object):  # type: ignore[no-untyped-def]
    today = Day(model_calls=10, tokens=900, usd=0.0, wall_s=60.0)
    given = {
        "today": today,
        "unpriced_today": 2,
        "day": DayLimits(tokens=1_000),
        "run": RunLimits(tokens=500, wall_s=10.0),
        "free": "nobody",
    }
    return dataset_sums(heads, spent, **{**given, **more})  # type: ignore[arg-type]


def test_questions_of_a_dataset_split_answering_from_learning() -> None:
    spent = [Spent("a", "step", 3, 300, 0.3, 0), Spent("a", "distill", 1, 80, 0.1, 0), Spent("a", "chart", 1, 20, None, 1),
             Spent("b", "step", 1, 100, None, 1), Spent("elsewhere", "step", 9, 7_000, 1.0, 0)]  # fmt: skip
    s = of([head("a"), head("b", "no_answer", took=None)], spent)
    a, b = s.questions
    assert (a.answering, a.learning, a.tokens, a.requests) == (300, 100, 400, 5)
    assert (a.usd, a.learning_usd, a.unpriced, b.usd, b.wall_s) == (pytest.approx(0.4), 0.1, 1, None, None)
    assert (s.answered, s.tokens, s.unpriced, s.elsewhere) == (1, 500, 2, 7_000)
    assert s.usd == pytest.approx(0.4)
    assert s.learning_tokens == pytest.approx(0.2) and s.learning_usd is None  # not all of it has a price


def test_an_analyst_that_costs_nothing_lacks_no_price() -> None:
    s = of([head("a", analyst="nobody")], [Spent("a", "step", 2, 100, None, 2)])
    assert (s.unpriced, s.free, s.usd, s.learning_usd) == (0, 1, None, None)


def test_hard_stops_of_the_day_and_of_one_question() -> None:
    s = of(
        [head("a"), head("b", "out_of_budget", took=9.0)],
        [Spent("a", "step", 3, 450, 0.5, 0), Spent("b", "step", 2, 90, None, 2)],
    )
    day = {x.unit: x for x in s.day}
    assert (day["tokens"].share, day["usd"].used, day["usd"].unpriced) == (0.9, None, 2)
    question = {x.unit: x for x in s.question}
    assert (question["tokens"].used, question["tokens"].share) == (450, 0.9)
    assert (question["usd"].used, question["requests"].used, question["seconds"].share) == (0.5, 3, 0.9)
    assert s.out_of_budget == 1


def test_no_question_no_sums() -> None:
    s = of([], [], unpriced_today=0)
    assert (s.questions, s.usd, s.learning_tokens, s.question[0].used, s.question[0].share) == (
        (),
        None,
        None,
        None,
        None,
    )
    assert s.day[1].used == 0.0  # nothing was asked without a price
