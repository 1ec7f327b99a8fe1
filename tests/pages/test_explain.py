"""Explain and the dry run under AppTest: every part with the built-in analyst and with an endpoint that caches; hostile text."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts import html
from pages.parts.request_strip import enlarged, strip
from peek_core import settings
from peek_core.context_pipe.explain import SectionRow
from peek_core.providers.simulator import LOCAL, Simulator
from peek_core.values.call_trace import Alert, CallTrace
from peek_core.values.run_view import RunHead, RunView
from peek_core.values.trajectory import SqlRecord, Step, Table, Trajectory
from peek_core.workspace import Workspace
from tests.context_pipe.traces import RATES, call, decision, flat, section
from tests.kit import simulated
from tests.pages.test_pages import data_dir, open_app, prepared, said

__all__ = ["data_dir"]
NASTY = "<img src=x onerror=alert(1)></div>`*_$x$"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A data directory with two questions answered by a simulated endpoint: (its folder, dataset, run)."""
    from tests.conftest import TICKETS

    folder = tmp_path_factory.mktemp("played")
    (folder / "tickets.csv").write_text(TICKETS, "utf-8")
    with simulated.simulator() as server:
        simulated.price(folder / "data", server)
        w = Workspace(settings.read({}, folder / "data"))
        dataset = w.load(folder / "tickets.csv").id
        simulated.use(w, dataset, simulated.settings_of(server))
        for question in ("How many tickets have a score above 2?", "And by channel?"):
            run = w.wait(w.ask(dataset, question), 60)
            assert run.status == "answered", run.reason
        w.close()
    return folder / "data", dataset, run.id


@pytest.fixture
def explained(played: tuple[Path, str, str], data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens a part of Explain on the played run."""
    folder, dataset, run = played
    monkeypatch.setenv("PEEK_DATA_DIR", str(folder))
    return lambda **more: open_app("explain", dataset=dataset, run=run, **more)


def choose(at: AppTest, run: str, place: int) -> AppTest:
    (requests,) = [b for b in at.get("button_group") if b.key == f"call-{run}"]
    return requests.set_value(place).run()


def boxes(at: AppTest) -> str:
    return next(
        str(h.proto.body) for h in at.get("html") if 'class="pk-strip' in h.proto.body and "bar" in h.proto.body
    )


def test_the_examples_in_the_text_hold() -> None:
    assert doctest.testmod(html).failed == 0


# With an endpoint that caches


def test_a_request_with_its_cached_part_and_first_miss(
    explained: Callable[..., AppTest], played: tuple[Path, str, str]
) -> None:
    at = choose(explained(), played[2], 6)
    assert not at.exception
    text = said(at)
    assert 'class="miss"' in text and "first miss" in text and 'class="none fresh"' in text
    assert all(f"<em>{line}</em>" in text for line in (".60", ".75", ".90"))
    assert '<span class="pk-tag accent">cleared</span>' in text and "marker</span>" in text
    assert "Lifecycle tier" in text and "<td>per agent</td>" in text and "last resort" in text
    assert " → " in text and "observations cleared, oldest first" in text
    assert "cache break</span>" in text and "hit rate regression</span>" in text
    assert "<b>flat</b> would have sent" in text and "It would not have fitted the window" in text
    assert "This run ended as answered; the other way was planned, never sent" in text
    assert "cost (estimate, prices of 2026-11-30)" in text
    assert "Estimate error" in text and "p75 of" in text


def test_texts_are_read_when_somebody_opens_them(explained: Callable[..., AppTest]) -> None:
    at = explained()
    assert [c.value for c in at.code if "EXPLAIN ANALYZE" in c.value] and len(at.code) == 1
    call = next(b.key for b in at.button if b.label == "Plan again").removeprefix("again-")
    at.session_state[f"sent-{call}"] = True
    at.session_state[f"back-{call}"] = True
    at.run()
    assert any("You are a data analyst" in c.value for c in at.code)
    assert any("QUESTION: And by channel?" in c.value for c in at.code)
    assert any(c.value.startswith("I look at one thing at a time.") for c in at.code)


def test_a_request_is_planned_again_to_the_same_bytes(explained: Callable[..., AppTest]) -> None:
    at = explained()
    again = next(b for b in at.button if b.label == "Plan again")
    again.click().run()
    assert not at.exception
    assert "same bytes</span>" in said(at) and "the same decisions. Nothing was sent." in said(at)
    today = next(b for b in at.button if b.label == "Plan with today’s statistics")
    today.click().run()
    assert "statistics: the calibration of token counts has moved" in said(at)


def test_a_run_with_its_sums_breaks_and_prices(explained: Callable[..., AppTest]) -> None:
    at = explained(tab="Run")
    assert not at.exception
    text = said(at)
    assert "<b>11</b>" in text and "requests in 9 turns" in text
    assert all(name in text for name in ("Token-weighted", "Median request", "Predicted boundary", "P50", "P95", "P99"))
    assert "clear_observations: 1 of 4 observations cleared" in text and "clear_observations: 2 of 6" in text
    assert "<b>default</b>" in text and "<b>flat</b>" in text and "never sent</span>" in text
    assert "Break-even at today’s prices" in text and "this run ended as answered; estimate, genai-prices" in text
    assert "default is cheaper where reading a cached token costs above" in text
    assert "<b>Read again</b>: observation 1." in text
    assert "<b>Ran again</b> in turn 7, first in turn 1" in text and "GROUP BY ALL" in text
    assert re.search(r"maintaining the map: [1-9]\d? % of the tokens", text)
    assert len(at.get("plotly_chart")) == 4  # time, pressure, money, the plan of a query


def test_a_dataset_with_its_series_and_hard_stops(explained: Callable[..., AppTest]) -> None:
    at = explained(tab="Dataset")
    assert not at.exception
    text = said(at)
    assert "<b>2 of 2</b>" in text and "questions answered" in text
    assert "cost (estimate, own prices file, prices of 2026-11-30)" in text
    assert "of the tokens maintained the map" in text
    assert text.index("And by channel?") < text.index("How many tickets have a score above 2?")
    assert "of 1,500,000" in text and "of 50,000,000" in text and "no question of this dataset ran into one" in text
    assert len(at.get("plotly_chart")) == 2
    assert not at.selectbox or all(s.label != "Run" for s in at.selectbox)


def test_an_unknown_tab_and_an_unknown_run_open_what_there_is(
    explained: Callable[..., AppTest], played: tuple[Path, str, str]
) -> None:
    at = explained(tab="Coverage")
    assert not at.exception and "Sections in the order sent" in said(at)
    at = open_app("explain", dataset=played[1], run="nowhere")
    assert not at.exception and "Sections in the order sent" in said(at)


# With the built-in analyst


@pytest.mark.parametrize("tab", ["Request", "Run", "Dataset"])
def test_without_usage_and_prices_there_are_dashes_and_no_zeros(tab: str, data_dir: Path, tickets: Path) -> None:
    dataset, run = prepared(data_dir, tickets)
    at = open_app("explain", dataset=dataset, run=run, tab=tab)
    assert not at.exception
    text = said(at)
    shown = text.partition("Hard stops of the day")[0]  # today nothing was spent, and that is known
    assert "$0" not in shown
    assert "cost, no prices set" in text
    if tab == "Dataset":
        assert "1 of the questions went to the built-in analyst, which counts and costs nothing" in text
        assert "<b>–</b> of $5.00" in text and "no price is known for these questions" in text
    else:
        assert text.count("The built-in analyst runs on this machine: it counts no tokens and costs nothing") == 1
        assert "<b>–</b>" in text and ("nothing is known of a cache" in text or tab == "Run")


def test_where_nothing_was_asked_each_part_says_so(data_dir: Path, tickets: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    w.close()
    for tab, words in (
        ("Request", "No question was asked yet"),
        ("Run", "No question was asked yet"),
        ("Dataset", "what each one takes will stand here"),
    ):
        at = open_app("explain", dataset=dataset, tab=tab)
        assert not at.exception and words in said(at)


# The dry run


def test_what_a_question_would_send_is_shown_and_nothing_is_sent(data_dir: Path, tickets: Path) -> None:
    dataset, run = prepared(data_dir, tickets)
    at = open_app("ask", dataset=dataset)
    at.button(key="dry-run").click().run()
    assert not at.exception
    field = at.text_input(key="dry-question")
    assert field.value == "Rows with status test don't count. How many tickets are there per channel?"
    field.set_value("How many tickets came by chat?")
    at.button(key="dry-run").click().run()
    text = said(at)
    assert "nothing was sent</span>" in text and "bytes would go to built-in analyst" in text
    assert "Decisions, in order" in text and "<b>flat</b> would have sent the same." in text
    assert any("QUESTION: How many tickets came by chat?" in c.value for c in at.code)
    assert any(c.value.startswith("EXPLAIN  builtin") for c in at.code)
    w = Workspace(settings.read({}, data_dir))
    assert [r.id for r in w.runs(dataset)] == [run]
    w.close()
    at.button(key="dry-ask").click()
    at.button(key="dry-run").click().run()
    w = Workspace(settings.read({}, data_dir))
    asked = w.wait(w.runs(dataset)[-1].id, 60)
    assert asked.question == "How many tickets came by chat?" and asked.id != run
    w.close()


def test_a_dry_run_without_a_question_or_with_an_endless_one_says_so(data_dir: Path, tickets: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    w.close()
    at = open_app("ask", dataset=dataset)
    at.button(key="dry-run").click().run()
    assert "Its first request will stand here" in said(at)
    at.text_input(key="dry-question").set_value("x" * 20_001)
    at.button(key="dry-run").click().run()
    assert not at.exception
    assert "not planned</span> The question has 20,001 characters" in said(at)


# What the endpoint cut


def test_an_answer_says_that_the_endpoint_may_have_read_a_part_only(data_dir: Path, tickets: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    profile = replace(LOCAL, window=700)
    with Simulator(profile, script=simulated.script(3, long=1), model=simulated.MODEL) as server:
        simulated.use(w, dataset, simulated.settings_of(server, cache="plain", window=64_000))
        run = w.wait(w.ask(dataset, "How many tickets have a score above 2?"), 60)
        w.close()
    assert [e.name for e in w.events(run.id) if e.name == "truncated"]
    text = said(open_app("ask", dataset=dataset))
    assert text.count("The endpoint counted only 700 of about") == 1
    assert "it may have read a part of the request. Set its window on the Settings page." in text
    text = said(open_app("explain", dataset=dataset, run=run.id))
    assert "The endpoint counted 700 of about" in text


# Hostile text


def drawn(act: Callable[[], None], **state: Any) -> str:
    at = AppTest.from_function(act, default_timeout=30)
    for name, value in state.items():
        at.session_state[name] = value
    at.run()
    assert not at.exception
    return said(at)


def nasty(n: int, **more: Any) -> CallTrace:
    parts = (section("a", 10), section(NASTY, 20 + n))
    alert = Alert("cache_break", NASTY, NASTY)
    made = call(n, NASTY, parts, input=30, cached=12, output=1, usd=0.1, rates=RATES, predicted=10, shadow=flat(90, 5), alerts=(alert,),
                decisions=(decision("clear_observations", NASTY, reason=NASTY),), **more)  # fmt: skip
    explain = replace(made.explain, flips=(NASTY,), factors={NASTY: 1.2}, model=NASTY, configuration=NASTY, level=NASTY)
    return replace(made, explain=explain)


def test_names_reasons_and_causes_are_text_on_the_request_part() -> None:
    def act() -> None:
        import streamlit as st

        from pages.parts import explain_request, request
        from peek_core.context_pipe.explain import rows

        one = st.session_state["call"]
        explain_request.top(one)
        request.picture(one.explain, rows(one), "read")
        request.sections(one.explain, rows(one), "read", one.explain.sections[1].name)
        request.decisions(one.explain)
        request.alerts(one.alerts)
        request.room(one.explain)
        request.shadow(one.explain, "")
        explain_request.came_back(one)

    text = drawn(act, call=nasty(1))
    assert "<img" not in text and "&lt;img src=x onerror=alert(1)&gt;" in text


def test_names_causes_and_sql_are_text_on_the_run_part(data_dir: Path) -> None:
    def act() -> None:
        import streamlit as st

        from pages.parts import explain_run

        explain_run.show(st.session_state["view"], st.session_state["calls"])

    step = Step(
        1, "", "", "", None, None, queries=(SqlRecord(NASTY, f"SELECT '{NASTY}'", 0.1, Table((), (), 0)),), seconds=0.2
    )
    again = replace(step, n=2)
    view = RunView(
        "r1",
        "d",
        "peek",
        NASTY,
        NASTY,
        "answered",
        "done",
        "",
        1.0,
        2.0,
        1,
        Trajectory("r1", NASTY, (step, again)),
        {},
        None,
    )
    gone = decision("clear_observations", "observation 1", reason=NASTY)
    calls = (call(1, shadow=flat(90)), call(2, decisions=(gone,), shadow=flat(90)), nasty(3), nasty(4))
    text = drawn(act, view=view, calls=calls)
    assert "<img" not in text and "&lt;img" in text and "Ran again" in text


def test_a_status_and_a_question_are_text_on_the_dataset_part(data_dir: Path) -> None:
    def act() -> None:
        import streamlit as st

        from pages.parts import explain_dataset

        explain_dataset.latest(st.session_state["questions"])

    from peek_core.context_pipe.dataset_sums import QuestionSum

    one = QuestionSum(RunHead("r", "peek", NASTY, NASTY, NASTY, "done", 1.0, None), 1, 1, 1, None, None, 1)
    text = drawn(act, questions=(one,))
    assert "<img" not in text and "&lt;img" in text


# The strip


def rows_of(*sizes: tuple[int, float | None]) -> tuple[SectionRow, ...]:
    return tuple(
        SectionRow(section(f"s{n}", size, scope="global"), float(size), cached, None)
        for n, (size, cached) in enumerate(sizes)
    )


def test_a_section_cached_in_part_is_drawn_in_two_pieces() -> None:
    text = strip(rows_of((100, 100.0), (100, 25.0)), 10, 1_000, "read")
    assert text.count('class="global"') == 2 and text.count('class="global fresh"') == 1
    assert 'class="miss" style="left:12.50%"' in text and "s1: 25 of 100 tokens cached" in text


def test_what_is_all_cached_has_no_miss_and_what_nobody_said_neither() -> None:
    assert "miss" not in strip(rows_of((100, 100.0)), 10, 1_000, "read")
    text = strip(rows_of((100, None)), 10, 1_000, "unsaid")
    assert "miss" not in text and "unsaid" in text and "cache unknown" in text


def test_a_request_beyond_its_limit_shows_where_the_limit_was() -> None:
    text = strip(rows_of((1_500, 0.0)), 500, 1_000, "read")
    assert 'class="limit" style="left:50.00%"' in text and '<em class="start">first miss</em>' in text


def test_a_small_request_is_drawn_a_second_time() -> None:
    assert "40 times as wide" in enlarged(rows_of((100, 50.0)), 100, 4_000, "read")
    assert enlarged(rows_of((900, 50.0)), 200, 4_000, "read") == ""
    assert enlarged((), 0, 4_000, "read") == ""
