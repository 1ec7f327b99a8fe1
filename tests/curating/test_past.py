"""What was can come back: step by step, whole versions, single items; and every item has a story."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from peek_core.context_map import map as maps
from peek_core.context_map import story
from peek_core.context_map.evictor import evict
from peek_core.context_map.history import MapEvent, evicted
from peek_core.context_map.map import ContextMap, Edit, Evidence, MapSection, render
from peek_core.curation import Curator
from peek_core.errors import NotFound, Refused
from peek_core.settings import MapSettings
from tests.curating.conftest import Bench

SMALL = MapSettings(budget=110, grace=1)
"""Room for one or two items beside the headings."""
SECTIONS = st.sampled_from([s.value for s in MapSection])
TEXTS = st.text("abc ", min_size=1, max_size=60).filter(lambda t: t.strip() != "")
WHICH = st.integers(0, 9)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), SECTIONS, TEXTS),
        st.tuples(st.just("learn"), SECTIONS, TEXTS),
        st.tuples(st.just("edit"), WHICH, TEXTS),
        st.tuples(st.sampled_from(["pin", "lock", "freeze"]), WHICH, st.booleans()),
        st.tuples(st.just("score"), WHICH, st.integers(-5, 5)),
        st.tuples(st.just("delete"), WHICH, st.none()),
        st.tuples(st.just("revive"), WHICH, st.none()),
        st.tuples(st.just("freeze_map"), st.just(0), st.booleans()),
        st.tuples(st.just("restore"), WHICH, st.none()),
        st.tuples(st.just("propose"), TEXTS, st.none()),
        st.tuples(st.just("decide"), WHICH, st.sampled_from(["on", "off", "rejected"])),
        st.tuples(st.sampled_from(["undo", "redo"]), st.just(0), st.none()),
    ),
    max_size=20,
)
State = tuple[Any, ...]


def state(current: ContextMap) -> State:
    """What undo promises to bring back."""
    return render(current.items), current.items, current.definitions, current.frozen, current.frozen_by


def learn(curator: Curator, section: str, text: str) -> None:
    """An update of the agent: an item with evidence, a tag, and whoever has to leave for it."""
    book = curator._book
    before = book.current()
    evidence = Evidence("SELECT 7 FROM t", ((7,),))
    edit = Edit("ADD", section=section, text=text, evidence=evidence)
    new, item, _ = maps.apply(before, edit, author="agent", run="r", question="?", state="holds")
    assert item is not None
    events = [MapEvent("add", item.id, {"text": item.text})]
    if before.items and maps.tag(new, before.items[0].id, "harmful")[1] is None:
        new, _ = maps.tag(new, before.items[0].id, "harmful")
        events.append(MapEvent("tag", before.items[0].id, {"tag": "harmful"}))
    new, gone = evict(replace(new, questions=before.questions + 1), SMALL.budget, curator._count, grace=SMALL.grace)
    book.commit(before, new, [*events, *evicted(gone)], run="r")


def act(curator: Curator, name: str, a: Any, b: Any) -> None:
    """One act, where it can be done."""
    current = curator._book.current()
    items = current.items
    item = items[a % len(items)].id if isinstance(a, int) and items else ""
    try:
        if name == "add":
            curator.add(a, b, "SELECT 7 FROM t" if len(b) % 2 else None)
        elif name == "learn":
            learn(curator, a, b)
        elif name == "edit":
            curator.edit(item, b)
        elif name in ("pin", "lock", "freeze"):
            curator.mark(item, name, b)
        elif name == "score":
            curator.score(item, b)
        elif name == "delete":
            curator.delete(item)
        elif name == "revive":
            left = curator.graveyard()
            curator.revive(left[a % len(left)].item.id if left else "")
        elif name == "freeze_map":
            curator.freeze_map(b)
        elif name == "restore":
            curator.restore(a % (current.version + 1))
        elif name == "propose":
            curator.propose([{"kind": "row_exclusion", "table": "t", "column": "status", "values": [a]}], "person")
        elif name == "decide" and current.definitions:
            curator.decide(current.definitions[a % len(current.definitions)].id, b)
        elif name == "undo":
            curator.undo()
        elif name == "redo":
            curator.redo()
    except Refused:
        assert curator._book.current() == current


class Editor:
    """How any editor undoes: states in a row, and where one stands among them."""

    def __init__(self, first: State) -> None:
        self.states, self.at = [first], 0

    def did(self, name: str, now: State) -> None:
        if name in ("undo", "redo"):
            self.at = min(max(0, self.at + (1 if name == "redo" else -1)), len(self.states) - 1)
        elif now != self.states[self.at]:
            self.at += 1
            self.states[self.at :] = [now]
        assert now == self.states[self.at], name


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTS)
def test_undo_and_redo_bring_back_every_state_to_the_byte(bench: Bench, acts: list[tuple[str, Any, Any]]) -> None:
    curator = bench.curator(bench.dataset(), SMALL)
    book, editor, numbers = curator._book, Editor(state(ContextMap())), 1
    for name, a, b in acts:
        act(curator, name, a, b)
        editor.did(name, state(book.current()))
        assert book.current().next_number >= numbers, "ids are never used again"
        numbers = book.current().next_number
    while editor.at > 0:
        editor.did("undo", state(curator.undo()))
    with pytest.raises(Refused, match="nothing to undo"):
        curator.undo()
    while editor.at < len(editor.states) - 1:
        editor.did("redo", state(curator.redo()))
    with pytest.raises(Refused, match="nothing to redo"):
        curator.redo()


def test_nothing_can_be_undone_in_an_empty_map(curator: Curator) -> None:
    with pytest.raises(Refused) as refusal:
        curator.undo()
    assert refusal.value.sentence() == "There is nothing to undo. The map is as it began."


def test_an_undo_is_a_version_that_says_what_it_took_back(curator: Curator) -> None:
    curator.add("cu", "first")
    curator.add("cu", "second")
    assert (curator.steps().done[-1].version, curator.steps().done[-1].act.name) == (2, "add")
    assert curator.undo().version == 3
    (told,) = curator._book.events("undo")
    assert (told.version, told.event.body, told.event.author) == (3, {"version": 2}, "person")
    assert [s.version for s in curator.steps().undone] == [2]
    curator.add("cu", "third")
    assert curator.steps().undone == (), "what came after ends what could be redone"
    assert [i.text for i in curator.undo().items] == ["first"]


def test_what_the_data_did_to_the_map_is_no_step(bench: Bench) -> None:
    dataset = bench.dataset()
    bench.data.rows = 10
    bench.curator(dataset).add("cu", "10 rows", "SELECT count(*) FROM t")
    bench.curator(dataset).add("cu", "a remark")
    bench.data.rows = 12
    later = bench.curator(dataset, version=2)
    later.verify()
    current = later.undo()
    assert [(i.text, i.state) for i in current.items] == [("12 rows", "drifted")], "its evidence ran again"
    assert later.undo().items == ()


def test_what_a_question_taught_is_taught_again_after_a_redo(curator: Curator) -> None:
    learn(curator, "cu", "learned")
    assert curator.taught("r")
    curator.undo()
    assert not curator.taught("r")
    with pytest.raises(Refused, match="taught the map nothing"):
        curator.unlearn("r")
    curator.redo()
    curator.unlearn("r")
    assert not curator.taught("r")
    curator.undo()
    assert curator.taught("r")


def test_who_left_is_kept_whole_with_how_and_why(bench: Bench) -> None:
    curator = bench.curator(bench.dataset(), SMALL)
    _, item = curator.add("cu", "10 rows", "SELECT count(*) FROM t")
    curator.mark(item.id, "pin")
    curator.delete(item.id)
    curator.add("ps", "y" * 90)
    learn(curator, "cu", "z" * 90)
    learn(curator, "cu", "w" * 90)
    latest, first = curator.graveyard()[0], curator.graveyard()[-1]
    assert (first.item.id, first.how, first.by, first.version) == (item.id, "deleted", "person", 3)
    assert first.item.evidence == item.evidence and first.item.pinned
    assert (latest.how, latest.by, latest.run) == ("evicted", "agent", "r")
    assert latest.why.startswith("score ") and "of 110 tokens" in latest.why


def test_one_that_came_and_left_in_one_update_is_in_the_graveyard_too(bench: Bench) -> None:
    curator = bench.curator(bench.dataset(), MapSettings(budget=115, grace=0))
    for n in range(2):
        curator.add("cu", f"{n} pinned " + "x" * 60)
        curator.mark(f"cu-0000{n + 1}", "pin")
    curator.add("ps", "y" * 90)
    (left,) = curator.graveyard()
    assert (left.item.id, left.item.text, left.how) == ("ps-00003", "y" * 90, "evicted")
    assert curator.steps().done[-1].version == 4, "it changed nothing, so there is nothing to take back"


def test_one_that_left_before_leaving_was_kept_whole_is_found_all_the_same(bench: Bench) -> None:
    dataset = bench.dataset()
    curator = bench.curator(dataset)
    _, item = curator.add("cu", "10 rows", "SELECT count(*) FROM t")
    curator.delete(item.id)
    with bench.store._engine.begin() as c:
        c.execute(
            text("UPDATE map_event SET body = '{\"text\": \"10 rows\"}' WHERE name = 'delete' AND dataset = :d"),
            {"d": dataset},
        )
    (left,) = curator.graveyard()
    assert left.item == item


def test_a_revived_item_has_its_own_id_no_marks_and_a_new_grace(bench: Bench) -> None:
    dataset = bench.dataset()
    curator = bench.curator(dataset)
    bench.data.rows = 10
    _, item = curator.add("cu", "10 rows", "SELECT count(*) FROM t")
    curator.score(item.id, -3)
    curator.mark(item.id, "lock")
    curator.delete(item.id)
    _, other = curator.add("cu", "another")
    bench.data.rows = 12
    current = curator.revive(item.id)
    assert [i.id for i in current.items] == [item.id, other.id]
    back = current.items[0]
    assert (back.text, back.state, back.score, back.locked, back.born) == ("12 rows", "drifted", -3, False, 0)
    assert curator.graveyard() == ()
    with pytest.raises(Refused, match="is in the map"):
        curator.revive(item.id)
    with pytest.raises(NotFound, match="No item 'cu-00009' has left the map"):
        curator.revive("cu-00009")


def test_broken_evidence_does_not_keep_an_item_in_the_graveyard(bench: Bench) -> None:
    curator = bench.curator(bench.dataset())
    bench.data.rows = 10
    _, item = curator.add("cu", "10 rows", "SELECT count(*) FROM t")
    curator.delete(item.id)
    bench.data.gone = True
    try:
        assert curator.revive(item.id).items[0].state == "broken"
    finally:
        bench.data.gone = False


def test_others_leave_for_a_revived_item_and_it_does_not_go_at_once(bench: Bench) -> None:
    curator = bench.curator(bench.dataset(), MapSettings(budget=125, grace=3))
    _, first = curator.add("cu", "x" * 120)
    curator.delete(first.id)
    _, second = curator.add("cu", "y" * 120)
    _, third = curator.add("cu", "z" * 60)
    current = curator.revive(first.id)
    assert current.item(first.id) is not None and current.item(second.id) is None
    assert [g.item.id for g in curator.graveyard()] == [second.id]
    curator.mark(third.id, "pin")
    curator.mark(first.id, "pin")
    with pytest.raises(Refused, match="With the pinned items, cu-00002 would take"):
        curator.revive(second.id)
    with pytest.raises(Refused, match="alone would take"):
        bench.curator(curator._book._dataset, MapSettings(budget=60)).revive(second.id)


def test_the_life_of_an_item(bench: Bench) -> None:
    dataset = bench.dataset()
    curator = bench.curator(dataset)
    bench.data.rows = 10
    bench.store.add_run(
        id="r", dataset=dataset, version=1, arm="peek", map_version=0, question="how many?", analyst="a",
        status="answered", phase="done", created=1.0, owner="o", patient=0,
    )  # fmt: skip
    learn(curator, "cu", "seven")
    id = curator._book.current().items[0].id
    curator.edit(id, "exactly seven")
    curator.score(id, 2)
    curator.mark(id, "pin")
    curator.delete(id)
    curator.undo()
    curator.delete(id)
    curator.revive(id)
    moments = curator.life(id)
    assert [(m.version, m.what, m.before, m.after, m.author) for m in moments] == [
        (1, "born", "", "seven", "agent"),
        (2, "edited", "seven", "exactly seven", "person"),
        (3, "scored", "0", "2", "person"),
        (4, "pinned", "", "pinned", "person"),
        (5, "deleted", "exactly seven", "", "person"),
        (6, "undone", "", "exactly seven", "person"),
        (7, "deleted", "exactly seven", "", "person"),
        (8, "revived", "", "exactly seven", "person"),
    ]
    assert (moments[0].run, moments[0].question, moments[0].evidence) == ("r", "how many?", "SELECT 7 FROM t")
    assert moments[0].at < moments[1].at
    with pytest.raises(NotFound, match="There never was"):
        curator.life("cu-00099")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTS)
def test_the_scores_are_those_of_every_version(bench: Bench, acts: list[tuple[str, Any, Any]]) -> None:
    curator = bench.curator(bench.dataset(), SMALL)
    for name, a, b in acts:
        act(curator, name, a, b)
    told = curator.story().scores
    assert story.scores(curator._book.events()) == told, "the outline is enough"
    for version, row in zip(told.versions, told.table, strict=True):
        scores = {i.id: i.score for i in curator._book.at(version).items}
        assert {id: s for id, s in zip(told.items, row, strict=True) if s is not None} == scores


def test_sixty_items_over_two_hundred_versions_are_told_at_once(bench: Bench) -> None:
    dataset = bench.dataset()
    book = bench.book(dataset)
    new, events = ContextMap(), list[MapEvent]()
    for n in range(60):
        new, item, _ = maps.apply(new, Edit("ADD", section="cu", text=f"item {n} " + "word " * 20), author="agent")
        assert item is not None
        events.append(MapEvent("add", item.id))
    current = book.commit(ContextMap(), new, events)
    for n in range(199):
        new, events = replace(current, questions=n), []
        for k in range(10):
            id = current.items[(n + 6 * k) % 60].id
            new, _ = maps.tag(new, id, "helpful")
            events.append(MapEvent("tag", id, {"tag": "helpful", "why": "it named the column"}))
        current = book.commit(current, new, events)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        told = bench.curator(dataset).story()
        taken.append(time.perf_counter() - start)
    assert (len(told.scores.versions), len(told.scores.items), len(told.last_used)) == (200, 60, 60)
    assert min(taken) < 0.3
