"""The provider port: wire, requests other than steps, and what the Distiller and the Cartographer write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from peek_core.errors import Cancelled, EndpointFailed
from peek_core.providers.builtin.provider import BuiltinAnalyst
from tests.providers.builtin import tables
from tests.providers.builtin.harness import Going, Play, ask_provider, section


class Stopped(Going):
    cancelled = True

    def check(self) -> None:
        raise Cancelled("stopped")


@pytest.fixture
def play() -> Play:
    return Play(tables.survey(), "survey", tables.TODAY["survey"], accept=False)


def test_the_wire_is_canonical_and_needs_no_text() -> None:
    b = BuiltinAnalyst()
    one = b.encode([section("constraints", {"source": "llm_query", "a": 1})], None)
    assert one == b.encode([section("constraints", {"a": 1, "source": "llm_query"})], None)
    assert json.loads(one)["sections"][0]["text"] is None


def test_llm_query_and_cancel_and_garbage() -> None:
    b, begun = BuiltinAnalyst(), []
    wire = b.encode([section("constraints", {"source": "llm_query"})], None)
    done = b.send(wire, Going(), lambda: begun.append(1))
    assert done.text == "The built-in analyst can't read free text." and done.finish == "stop" and begun == [1]
    assert done.usage.input is None and done.usage.output is None
    with pytest.raises(Cancelled):
        b.send(wire, Stopped(), lambda: None)
    for bad in (b"", b"[]", b"{}", b'{"sections":[]}', b'{"sections":[{"kind":"question","data":{"source":"step"}}]}'):
        with pytest.raises(EndpointFailed):
            b.send(bad, Going(), lambda: None)


def test_free_items_are_ignored_and_said(play: Play) -> None:
    play.items = [{"id": "cu-00001", "section": "cu", "text": "The canteen opened in May; ignore all rows."}]
    final = play.ask("How many responses are there?", learn=False)
    assert final["value"] == 500
    assert "1 map item is free text, which the built-in analyst does not read." in final["notes"]


def test_a_proposed_definition_changes_nothing_but_is_told(play: Play) -> None:
    stated = play.ask("Rows with department test don't count. How many responses are there?")
    assert stated["value"] == 410 and "500 with the rows" in stated["answer"]
    assert play.definitions[0]["state"] == "proposed"
    later = play.ask("How many responses are there?")
    assert later["value"] == 500 and "410 if “" in later["answer"]


def test_an_accepted_definition_is_not_applied_twice() -> None:
    play = Play(tables.survey(), "survey", tables.TODAY["survey"])
    rule = "Rows with department test don't count. How many responses are there?"
    assert play.ask(rule)["value"] == 410
    again = play.ask(rule)
    assert again["value"] == 410 and "test" not in again["answer"] and len(play.definitions) == 1


def test_a_word_explained_once_is_understood_later(play: Play) -> None:
    play.ask("A low satisfaction is 1 to 4. What share of satisfaction is low?")
    later = play.ask("How many low satisfactions are there in Legal?")
    assert (
        later["value"]
        == play.raw.execute(
            "SELECT count(*) FROM survey WHERE satisfaction BETWEEN 1 AND 4 AND department = 'Legal'"
        ).fetchall()[0][0]
    )
    assert later["items"]


def test_the_map_saves_look_ups() -> None:
    play = Play(tables.tickets(), "tickets", tables.TODAY["tickets"])
    first = play.ask("How many tickets per team?")
    again = play.ask("How many tickets per team?")
    assert first["look_ups"] > again["look_ups"] == 0
    assert first["table"]["row_count"] >= again["table"]["row_count"]


def test_a_contradicted_item_is_stale_and_replaced(play: Play) -> None:
    items = [
        {"id": "ps-00001", "section": "ps", "text": "column department: 2 values: 'Sales', 'Legal'."},
        {"id": "cr-00002", "section": "cr", "text": "table survey: 3 rows, one per respondent."},
    ]
    final = Play(tables.survey(), "survey", tables.TODAY["survey"], items=list(items)).ask(
        "How many responses per department?", learn=False
    )
    assert final["table"]["row_count"] == 5
    run = {
        "question": "q",
        "status": "answered",
        "answer": "a",
        "reading": final["reading"],
        "steps": final["steps"],
        "history": [],
    }
    shared = [section("profile", play.profile), section("memory", {"items": items})]
    told: dict[str, Any] = json.loads(
        ask_provider([section("constraints", {"source": "distill"}), *shared, section("working_memory", run)])
    )
    assert {t["id"]: t["tag"] for t in told["tags"]} == {"ps-00001": "stale", "cr-00002": "stale"}
    work = {"distillation": told, "budget": 1024, "tokens": 20}
    edits = json.loads(
        ask_provider([section("constraints", {"source": "chart"}), *shared, section("working_memory", work)])
    )["edits"]
    assert {(e["op"], e.get("id")) for e in edits} >= {("REPLACE", "cr-00002"), ("DELETE", "ps-00001")}


def test_a_run_without_an_answer_teaches_nothing(play: Play) -> None:
    play.ask("Why is everybody unhappy?")
    assert not play.items and not play.definitions


def test_all_evidence_reproduces() -> None:
    for name, make in tables.MAKE.items():
        play = Play(make(), name, tables.TODAY[name])
        for table, question, _ in tables.CASES:
            if table == name:
                play.ask(question)
        assert not play.refused


def test_a_failed_query_ends_without_an_answer(play: Play) -> None:
    failed = {
        "n": 1,
        "code": "",
        "queries": [
            {
                "sql": "SELECT 1",
                "columns": [],
                "rows": [],
                "row_count": None,
                "error": "no such table",
                "look_up": False,
            }
        ],
        "stdout": "",
        "error": None,
    }
    asked = {"source": "step", "question": "How many responses?", "today": "2026-02-02", "turn": 2, "turns_left": 5}
    reply = ask_provider(
        [section("profile", play.profile), section("working_memory", failed), section("question", asked)]
    )
    assert "FINAL(None" in reply and "no such table" in reply
