"""Pages under AppTest: every page draws, with nothing, with a dataset, with answers; failures become sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from peek_core import settings
from peek_core.book import StoreBook
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap
from peek_core.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["data", "ask", "context_map", "explain", "load_report", "demo", "settings"]


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh data directory that the pages' cached workspace will open."""
    st.cache_resource.clear()
    monkeypatch.setenv("PEEK_DATA_DIR", str(tmp_path / "data"))
    yield tmp_path / "data"
    st.cache_resource.clear()


def open_app(page: str, **query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "pages" / "parts" / "frame.py"), default_timeout=30)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    if page != "data":
        at.switch_page(str(ROOT / "pages" / f"{page}.py"))
        for name, value in query.items():
            at.query_params[name] = value
        at.run()
    return at


def prepared(data_dir: Path, tickets: Path) -> tuple[str, str]:
    """A dataset with one answered question, by the same store."""
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    run = w.ask(dataset, "Rows with status test don't count. How many tickets are there per channel?")
    w.wait(run, 60)
    w.close()
    return dataset, run


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_workspace_says_what_to_do(page: str, data_dir: Path) -> None:
    at = open_app(page)
    assert not at.exception
    assert at.main.children


@pytest.mark.parametrize("page", PAGES)
def test_every_page_draws_a_dataset_with_an_answer(page: str, data_dir: Path, tickets: Path) -> None:
    dataset, run = prepared(data_dir, tickets)
    at = open_app(page, dataset=dataset, run=run)
    assert not at.exception
    assert at.session_state["dataset"] == dataset


def test_accepting_a_definition_by_a_click(data_dir: Path, tickets: Path) -> None:
    dataset, _ = prepared(data_dir, tickets)
    at = open_app("ask", dataset=dataset)
    at.button(key="accept-def-1").click().run()
    w = Workspace(settings.read({}, data_dir))
    assert [d.state for d in w.map(dataset).definitions] == ["proposed"]
    w.close()
    at.button(key="confirm-def-1").click().run()
    assert not at.exception
    w = Workspace(settings.read({}, data_dir))
    assert [d.state for d in w.map(dataset).definitions] == ["on"]
    w.close()


def test_the_next_question_alone_leaves_a_definition_out(data_dir: Path, tickets: Path) -> None:
    dataset, _ = prepared(data_dir, tickets)
    w = Workspace(settings.read({}, data_dir))
    w.curator(dataset).decide("def-1", "on")
    w.close()
    at = open_app("ask", dataset=dataset)
    (pills,) = [b for b in at.get("button_group") if b.key.startswith("leave-out-")]
    pills.set_value(["def-1"]).run()
    at.chat_input[0].set_value("How many tickets are there?").run()
    assert not at.exception
    w = Workspace(settings.read({}, data_dir))
    asked = w.wait(w.runs(dataset)[-1].id, 60)
    assert [d["id"] for d in asked.summary["left_out"]] == ["def-1"]
    w.close()
    at.run()
    assert [b.value for b in at.get("button_group") if b.key.startswith("leave-out-")] == [[]]
    assert any("Left out for this question" in str(h.proto.body) for h in at.get("html"))


def said(at: AppTest) -> str:
    return "\n".join(str(h.proto.body) for h in at.get("html"))


def map_of(data_dir: Path, dataset: str) -> ContextMap:
    w = Workspace(settings.read({}, data_dir))
    try:
        return w.map(dataset)
    finally:
        w.close()


def test_an_answer_is_kept_by_a_click_and_says_as_what(data_dir: Path, tickets: Path) -> None:
    dataset, run = prepared(data_dir, tickets)
    at = open_app("ask", dataset=dataset)
    at.button(key=f"keep-{run}").click().run()
    assert not at.exception
    (item,) = [i for i in map_of(data_dir, dataset).items if i.section.value == "rr" and i.author == "person"]
    assert [t.value for t in at.toast] == [f"Kept as {item.id}"]
    assert f'kept as <span class="pk-id">{item.id}</span>' in said(at)
    assert not [b for b in at.button if b.key.startswith("keep-")]


def test_where_there_is_no_answer_nothing_can_be_kept(data_dir: Path, tickets: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    w.wait(w.ask(dataset, "Wie ist das Wetter?"), 60)
    w.close()
    at = open_app("ask", dataset=dataset)
    assert not [b for b in at.button if b.key.startswith("keep-")]


def test_the_dialog_says_which_earlier_answers_would_change(data_dir: Path, tickets: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    for question in ("How many tickets are there?", "Rows with status test don't count. How many tickets are there?"):
        w.wait(w.ask(dataset, question), 60)
    w.close()
    at = open_app("ask", dataset=dataset)
    at.button(key="accept-def-1").click().run()
    assert "Earlier answers that would change" in said(at)
    assert "<td>How many tickets are there?</td><td>100 → 90</td>" in said(at)


def test_or_that_none_would(data_dir: Path, cities: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(cities).id
    w.wait(w.ask(dataset, "How many rows are there?"), 60)
    w.close()
    at = open_app("context_map", dataset=dataset, tab="Definitions")
    assert "Proposed definition, found while reading the file" in said(at)
    at.button(key="accept-def-1").click().run()
    assert "No earlier answer changes." in said(at)


def test_a_map_that_can_not_pay_and_spellings_that_wait_are_told_by_the_load_report(
    data_dir: Path, cities: Path
) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(cities).id
    w.close()
    at = open_app("load_report", dataset=dataset)
    assert "All 60 rows fit one prompt" in said(at)
    assert at.button(key="see-proposed")
    assert "All 60 rows fit one prompt" in said(open_app("context_map", dataset=dataset))


def test_coverage_shows_what_was_looked_at_and_what_never(data_dir: Path, tickets: Path) -> None:
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(tickets).id
    w.close()
    assert "No question has looked at the data yet." in said(open_app("context_map", dataset=dataset, tab="Coverage"))
    w = Workspace(settings.read({}, data_dir))
    w.wait(w.ask(dataset, "How many tickets came by chat?"), 60)
    w.close()
    shown = said(open_app("context_map", dataset=dataset, tab="Coverage"))
    assert "2 of 5 columns looked at" in shown and ">chat</span>" in shown
    assert "Never looked at: id, score, comment" in shown


def test_what_was_refused_is_admitted_or_says_why_it_can_not_be(data_dir: Path, tickets: Path) -> None:
    dataset, _ = prepared(data_dir, tickets)
    w = Workspace(settings.read({}, data_dir))
    refuse(w, dataset, op="REPLACE", id="cu-00099", text="it is gone", why="locked")
    refuse(w, dataset, op="ADD", section="cu", text="there are 9 <b>tickets</b>", why="no query shows it")
    w.close()
    at = open_app("context_map", dataset=dataset, tab="Refused")
    assert "there are 9 &lt;b&gt;tickets&lt;/b&gt;" in said(at)
    first, second = [b for b in at.button if b.key.startswith("admit-")]
    second.click().run()
    assert "It can&#x27;t be admitted: no item &#x27;cu-00099&#x27;" in said(at)
    first.click().run()
    assert not at.exception
    assert "there are 9 <b>tickets</b>" in [i.text for i in map_of(data_dir, dataset).items if i.author == "person"]
    assert len([b for b in at.button if b.key.startswith("admit-")]) == 1


def refuse(w: Workspace, dataset: str, **body: str) -> None:
    book = StoreBook(w.store, dataset, "peek")
    book.commit(book.current(), book.current(), [MapEvent("refuse", body.get("id", ""), body)])


def test_error_patterns_are_learned_where_a_person_says_so(data_dir: Path, tickets: Path) -> None:
    dataset, _ = prepared(data_dir, tickets)
    at = open_app("context_map", dataset=dataset)
    at.toggle(key="errors-False").set_value(True).run()
    assert at.toggle(key="errors-True").value
    w = Workspace(settings.read({}, data_dir))
    assert w.map_settings(w.dataset(dataset)).error_patterns
    w.close()


def test_numbers_that_follow_the_data_are_marked(data_dir: Path, tickets: Path) -> None:
    dataset, _ = prepared(data_dir, tickets)
    w = Workspace(settings.read({}, data_dir))
    w.curator(dataset).add("cu", "100 tickets, 9 of them <b>", "SELECT count(*) FROM tickets")
    w.close()
    at = open_app("context_map", dataset=dataset)
    assert '<span class="pk-slot">100</span> tickets, 9 of them &lt;b&gt;' in said(at)


def test_a_refusal_is_a_sentence_on_the_page(data_dir: Path, tickets: Path) -> None:
    dataset, _ = prepared(data_dir, tickets)
    at = open_app("settings", dataset=dataset)
    at.text_input(key="base-url").set_value("http://example.org/v1")
    at.text_input(key="model").set_value("m")
    at.run()
    at.button(key="use").click().run()
    assert not at.exception
    assert any("must start with https://" in str(h.proto.body) for h in at.get("html"))


def test_hostile_text_is_drawn_as_text(data_dir: Path, tmp_path: Path) -> None:
    source = tmp_path / "<img src=x onerror=alert(1)>.csv"
    source.write_text('id,"<script>alert(1)</script>"\n1,![x](http://evil.example/a.png)\n2,<b>x</b>\n', "utf-8")
    w = Workspace(settings.read({}, data_dir))
    dataset = w.load(source, title="<img src=x>").id
    w.close()
    for page in ("data", "load_report", "ask"):
        at = open_app(page, dataset=dataset)
        assert not at.exception
        for element in at.get("html"):
            assert "<script>" not in element.proto.body
            assert "<img" not in element.proto.body


def test_a_comparison_that_is_playing_does_not_disturb_the_conversation(data_dir: Path, tickets: Path) -> None:
    """Its runs are another arm's: the Ask page neither waits for them nor draws itself anew because of them."""
    dataset, _ = prepared(data_dir, tickets)
    w = Workspace(settings.read({}, data_dir))
    w.store.add_run(
        id="other", dataset=dataset, version=1, arm="cmp-x-with", map_version=None, question="q", analyst="a", status="running",
        phase="working", created=w.store.now(), owner="elsewhere", patient=0,
    )  # fmt: skip
    assert w.active_runs(dataset) == ()
    at = open_app("ask", dataset=dataset)
    assert not at.exception
    assert not [b for b in at.button if b.key == "stop"]
    w.close()
