"""Events of a map by item and name, their outline, and what answers say they used."""

from __future__ import annotations

from pathlib import Path

import pytest

from peek_core.book import StoreBook
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap, Edit, apply, tag
from peek_core.context_map.story import Named
from peek_core.store.sql_store import SqlStore
from peek_core.values.events import Event
from tests.context_pipe.traces import call, section
from tests.store.test_call_rows import RUN


@pytest.fixture
def book(tmp_path: Path) -> StoreBook:
    book = StoreBook(SqlStore(f"sqlite:///{tmp_path / 'a.sqlite'}", lambda: 5.0), "d", "peek")
    new, _, _ = apply(ContextMap(), Edit("ADD", section="cu", text="first"), author="agent")
    new, _, _ = apply(new, Edit("ADD", section="cu", text="second"), author="agent")
    events = [MapEvent("add", "cu-00001"), MapEvent("add", "cu-00002"), MapEvent("refuse", "", {"why": "no"})]
    one = book.commit(ContextMap(), new, events, run="r1")
    book.commit(one, tag(one, "cu-00002", "helpful")[0], [MapEvent("tag", "cu-00002", {"tag": "helpful"})], run="r2")
    return book


def test_events_by_item_and_by_names(book: StoreBook) -> None:
    assert [(t.version, t.event.name) for t in book.events(item="cu-00002")] == [(1, "add"), (2, "tag")]
    assert [t.event.name for t in book.events("refuse", "tag")] == ["refuse", "tag"]
    assert [t.id for t in book.events()] == sorted(t.id for t in book.events())
    first = book.events("add")[0]
    assert (first.at, first.run, first.event.body["whole"]["text"]) == (5.0, "r1", "first")


def test_the_outline_carries_scores_and_no_texts(book: StoreBook) -> None:
    told = {(t.version, t.event.name, t.event.item): t.event.body for t in book.outline()}
    assert told[2, "tag", "cu-00002"] == {"tag": "helpful", "whole": {"score": 1}}
    assert told[1, "refuse", ""] == {}
    assert told[1, "count", ""] == {"frozen_by": ""}


def test_what_a_run_only_suggested_it_did_not_teach(book: StoreBook) -> None:
    now = book.current()
    book.commit(now, now, [MapEvent("suggest", "", {"op": "ADD"})], run="r3")
    assert (book.version_of("r2"), book.version_of("r3")) == (2, None)


def test_answers_name_the_items_they_used(book: StoreBook) -> None:
    store = book._store
    row = {k: v for k, v in RUN.items() if k != "map_version"}
    for id, arm, version in (("r1", "peek", 1), ("r2", "peek", None), ("r3", "other", 1)):
        store.add_run(id=id, analyst="m", **(row | {"arm": arm, "map_version": version, "question": f"{id}?"}))
        store.add_event(
            "d", Event(id, 1, "answer", 7.0, {"answer": {"items_used": ["cu-00001"] if id != "r2" else []}})
        )
    store.add_event("d", Event("r1", 2, "ended", 8.0, {"status": "answered"}))
    assert book.named() == (Named("r1", 7.0, 1, ("cu-00001",)), Named("r2", 7.0, 0, ()))
    assert book.questions() == {"r1": "r1?", "r2": "r2?"}


def test_the_latest_answered_call_of_an_arm(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 'b.sqlite'}", lambda: 5.0)
    store.add_run(id="r1", analyst="m", **RUN)
    assert store.latest_call("d", "peek", "step") is None
    for made in (
        call(1, sections=(section("one", 7),), input=7),
        call(2, input=9, sections=(section("two", 9),)),
        call(3, error="no"),
        call(4, "distill", input=7),
    ):
        store.add_call("d", made, {}, None)
    latest = store.latest_call("d", "peek", "step")
    assert latest is not None and latest.n == 2
    assert store.latest_call("d", "other", "step") is None
