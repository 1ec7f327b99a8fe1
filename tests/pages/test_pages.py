"""Pages under AppTest: every page draws, with nothing, with a dataset, with answers; failures become sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from peek_core import settings
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
