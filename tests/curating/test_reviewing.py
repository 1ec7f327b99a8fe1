"""The agent suggests, a person decides: taken as it is, in other words, or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from peek_core.context_map.history import rebuilt
from peek_core.context_map.review import Suggestion
from peek_core.curation import Curator
from peek_core.errors import NotFound, Refused
from peek_core.policies.peek import PeekPolicy, Surroundings
from peek_core.settings import MapSettings
from peek_core.values.messages import Completion, Usage
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord
from peek_core.values.trajectory import Answer, Trajectory
from tests.curating.conftest import COLUMNS, Bench

PROFILE = SourceRecord(name="profile", kind=Kind.PROFILE, tier=LifecycleTier.PER_SESSION, scope=Scope.SESSION,
                       priority=Priority.NEVER, role="user", text="t: 10 rows")  # fmt: skip
REVIEW = MapSettings(review=True)
ROWS = {"op": "ADD", "section": "cr", "text": "10 rows",
        "evidence": {"sql": "SELECT count(*) FROM t", "expect": [[10]]}}  # fmt: skip
FACT = {"op": "ADD", "section": "cu", "text": "one row is one order", "why": "asked again and again"}


@pytest.fixture
def suggesting(bench: Bench) -> Suggesting:
    bench.data.rows = 10
    return Suggesting(bench)


class Suggesting:
    """One map under review: what the agent learned, and the person's hands."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.dataset = bench, bench.dataset()
        self.told: list[tuple[str, Any]] = []

    def learn(
        self, *edits: dict[str, Any], run: str = "run", tags: Sequence[Any] = (), settings: MapSettings = REVIEW
    ) -> None:
        candidates = [{"kind": "item", "section": "cu", "text": "something"}]
        replies = [{"diagnosis": "d", "tags": list(tags), "candidates": candidates}, {"edits": list(edits)}]

        def call(source: str, records: Sequence[SourceRecord], *, schema: Any = None) -> Completion:
            return Completion(json.dumps(replies.pop(0)), "stop", Usage())

        around = Surroundings(call=call, query=self.bench.data, count=lambda text: len(text) // 4, columns=COLUMNS, version=1,
                              emit=lambda name, body: self.told.append((name, body)), profile=PROFILE)  # fmt: skip
        policy = PeekPolicy(self.bench.book(self.dataset), settings, around)
        policy.after(Trajectory(run, f"question of {run}?").end("answered", answer=Answer("7")))

    @property
    def curator(self) -> Curator:
        return self.bench.curator(self.dataset)

    def waiting(self) -> list[tuple[str, str]]:
        return [(s.edit.op, s.edit.text or s.edit.id) for s in self.curator.suggestions()]

    def texts(self) -> list[str]:
        return [i.text for i in self.bench.book(self.dataset).current().items]

    def one(self) -> Suggestion:
        (found,) = self.curator.suggestions()
        return found


def test_edits_wait_and_the_map_stays_as_it_is_but_for_its_scores(suggesting: Suggesting) -> None:
    suggesting.learn({**FACT, "text": "known"}, settings=MapSettings())
    suggesting.learn(ROWS, FACT, tags=[{"id": "cu-00001", "tag": "helpful"}])
    current = suggesting.bench.book(suggesting.dataset).current()
    assert [(i.text, i.score) for i in current.items] == [("known", 1)]
    assert (current.version, current.quiet) == (2, 0)
    first, second = suggesting.curator.suggestions()
    assert (first.version, first.run, first.question, first.why) == (2, "run", "question of run?", "")
    assert (first.edit.text, first.state, first.present, first.applies) == ("10 rows", "holds", None, True)
    assert first.edit.evidence is not None and first.edit.evidence.expect == ((10,),)
    assert first.edit.template == "⟦0.0:0⟧ rows"
    assert (second.edit.section, second.why) == ("cu", "asked again and again")
    told = next(body for name, body in reversed(suggesting.told) if name == "admission")
    assert [r["text"] for r in told["suggested"]] == ["10 rows", "one row is one order"] and told["admitted"] == []


def test_a_suggestion_is_news_and_the_same_one_is_made_once(suggesting: Suggesting) -> None:
    suggesting.learn(FACT)
    suggesting.learn(FACT, run="again")
    current = suggesting.bench.book(suggesting.dataset).current()
    assert current.quiet == 1 and len(suggesting.curator.suggestions()) == 1
    assert suggesting.curator.refused()[0].why == "waits as a suggestion already"


def test_taken_as_it_is_it_is_the_agents_item(suggesting: Suggesting) -> None:
    suggesting.learn(ROWS)
    suggesting.bench.data.rows = 12
    (item,) = suggesting.curator.take(suggesting.one().id).items
    assert (item.author, item.run, item.question) == ("agent", "run", "question of run?")
    assert (item.text, item.state, item.detail) == ("12 rows", "drifted", "10 → 12"), "its evidence ran again"
    assert suggesting.curator.suggestions() == ()
    (born,) = suggesting.curator.life(item.id)
    assert (born.what, born.author, born.run) == ("born", "agent", "run")


def test_taken_in_other_words_it_is_the_persons(suggesting: Suggesting) -> None:
    suggesting.learn(ROWS, FACT)
    first, second = suggesting.curator.suggestions()
    suggesting.curator.take(first.id, "There are 10 rows.")
    suggesting.curator.take(second.id, "One row is one order line.")
    items = suggesting.bench.book(suggesting.dataset).current().items
    assert [(i.text, i.author, i.state) for i in items] == [
        ("There are 10 rows.", "person", "holds"),
        ("One row is one order line.", "person", "unverifiable"),
    ]
    assert items[0].template == "There are ⟦0.0:0⟧ rows."


def test_a_query_that_no_longer_shows_it_keeps_it_out(suggesting: Suggesting) -> None:
    suggesting.learn(ROWS)
    suggesting.bench.data.gone = True
    try:
        with pytest.raises(Refused, match="Its query no longer shows what it says: no such table"):
            suggesting.curator.take(suggesting.one().id)
        assert suggesting.curator.take(suggesting.one().id, "About ten rows.").items[0].state == "unverifiable"
    finally:
        suggesting.bench.data.gone = False


def changes(suggesting: Suggesting) -> list[Suggestion]:
    """Suggestions to change one item and to delete another."""
    for text in ("first", "second, another one"):
        suggesting.learn({**FACT, "text": text}, settings=MapSettings())
    suggesting.learn({"op": "REPLACE", "id": "cu-00001", "text": "first, better"}, {"op": "DELETE", "id": "cu-00002"})
    return list(suggesting.curator.suggestions())


def test_changes_and_deletions_say_what_stands_there_now(suggesting: Suggesting) -> None:
    change, deletion = changes(suggesting)
    assert (change.edit.op, change.before, change.present) == ("REPLACE", "first", "first")
    assert (deletion.edit.op, deletion.present) == ("DELETE", "second, another one")
    assert suggesting.texts() == ["first", "second, another one"]
    suggesting.curator.take(deletion.id)
    suggesting.curator.take(change.id)
    assert suggesting.texts() == ["first, better"]
    suggesting.learn({"op": "DELETE", "id": "cu-00001"})
    with pytest.raises(Refused, match="needs no text"):
        suggesting.curator.take(suggesting.one().id, "a text")


def test_one_that_no_longer_applies_says_so(suggesting: Suggesting) -> None:
    change, deletion = changes(suggesting)
    suggesting.curator.edit("cu-00001", "by hand")
    suggesting.curator.mark("cu-00002", "pin")
    assert [s.outdated for s in suggesting.curator.suggestions()] == [
        "cu-00001 was changed since",
        "cu-00002 is pinned",
    ]
    for one in (change, deletion):
        with pytest.raises(Refused, match="It can't be taken: cu-0000"):
            suggesting.curator.take(one.id)
    with pytest.raises(Refused, match="It can't be taken: cu-00002 is pinned"):
        suggesting.curator.take_all()
    suggesting.curator.take(change.id, "by hand, better")
    assert suggesting.texts()[0] == "by hand, better"


def test_a_change_of_an_item_that_left_becomes_a_new_one_in_the_persons_words(suggesting: Suggesting) -> None:
    change, _ = changes(suggesting)
    suggesting.curator.delete("cu-00001")
    assert suggesting.curator.suggestions()[0].outdated == "cu-00001 has left the map"
    current = suggesting.curator.take(change.id, "first again")
    assert [(i.id, i.text) for i in current.items] == [
        ("cu-00002", "second, another one"),
        ("cu-00003", "first again"),
    ]


def test_what_a_person_wrote_meanwhile_is_not_added_twice(suggesting: Suggesting) -> None:
    suggesting.learn(FACT)
    suggesting.curator.add("cu", "One row is one order.")
    assert suggesting.one().outdated == "cu-00001 already says this"


def test_what_was_turned_down_is_not_suggested_again(suggesting: Suggesting) -> None:
    suggesting.learn(FACT)
    suggesting.curator.turn_down(suggesting.one().id)
    suggesting.learn({**FACT, "text": "One row is one order."}, run="again")
    assert suggesting.waiting() == [] and suggesting.texts() == []
    assert suggesting.curator.refused()[0].why == "was turned down before"
    with pytest.raises(NotFound, match="No suggestion 1 waits"):
        suggesting.curator.turn_down(1)


def test_all_at_once_is_one_version(suggesting: Suggesting) -> None:
    suggesting.learn(ROWS, FACT, {**FACT, "text": "another fact altogether"})
    before = suggesting.bench.book(suggesting.dataset).current().version
    suggesting.curator.turn_down(suggesting.curator.suggestions()[2].id)
    assert suggesting.curator.take_all().version == before + 2
    assert suggesting.texts() == ["10 rows", "one row is one order"]
    suggesting.learn({**FACT, "text": "a third one"}, {**FACT, "text": "the fourth fact"})
    assert suggesting.curator.turn_down_all().version == before + 4
    assert suggesting.waiting() == []
    for act in (suggesting.curator.take_all, suggesting.curator.turn_down_all):
        with pytest.raises(Refused, match="No suggestion waits"):
            act()


def test_of_all_only_those_that_apply_are_taken(suggesting: Suggesting) -> None:
    changes(suggesting)
    suggesting.curator.edit("cu-00001", "by hand")
    suggesting.curator.take_all()
    assert suggesting.texts() == ["by hand"]
    assert suggesting.waiting() == [("REPLACE", "first, better")]


def test_a_decision_can_be_undone(suggesting: Suggesting) -> None:
    suggesting.learn(FACT)
    suggesting.curator.turn_down_all()
    suggesting.curator.undo()
    assert suggesting.waiting() == [("ADD", "one row is one order")]
    suggesting.curator.take_all()
    suggesting.curator.undo()
    assert suggesting.waiting() == [("ADD", "one row is one order")] and suggesting.texts() == []
    suggesting.curator.redo()
    assert suggesting.waiting() == [] and suggesting.texts() == ["one row is one order"]


def test_two_edits_of_one_update_are_one_suggestion_of_what_would_stand(suggesting: Suggesting) -> None:
    suggesting.learn({**FACT, "text": "first"}, settings=MapSettings())
    suggesting.learn(
        {"op": "REPLACE", "id": "cu-00001", "text": "first, better"},
        {"op": "REPLACE", "id": "cu-00001", "text": "first, best of all"},
        FACT,
        FACT,
    )
    assert suggesting.waiting() == [("REPLACE", "first, best of all"), ("ADD", "one row is one order")]


def test_the_budget_is_held_when_one_is_taken(suggesting: Suggesting) -> None:
    suggesting.learn({**FACT, "text": "x" * 120})
    tight = replace(REVIEW, budget=115, grace=0)
    curator = suggesting.bench.curator(suggesting.dataset, tight)
    curator.add("ps", "y" * 100)
    curator.mark("ps-00001", "pin")
    current = curator.take(suggesting.one().id)
    assert [i.id for i in current.items] == ["ps-00001"]
    assert [g.item.id for g in curator.graveyard()] == ["cu-00002"]


def test_events_rebuild_the_map_through_all_of_it(suggesting: Suggesting) -> None:
    changes(suggesting)
    suggesting.learn(ROWS)
    suggesting.curator.take_all()
    suggesting.curator.undo()
    suggesting.curator.redo()
    book = suggesting.bench.book(suggesting.dataset)
    assert rebuilt([t.event for t in book.events()], book.current().version) == book.current()
