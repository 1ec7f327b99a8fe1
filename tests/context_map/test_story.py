"""A map's story is read off its events: one item's life, remarks on scores, last uses, who left."""

from __future__ import annotations

from typing import Any

import pytest

from peek_core.context_map.history import MapEvent, Told
from peek_core.context_map.map import Evidence, MapItem, MapSection
from peek_core.context_map.steps import steps, taken_back
from peek_core.context_map.story import Mark, Named, Use, gone, last_used, life, scores
from peek_core.values.canon import plain

ID = "cu-00001"


def whole(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": "8,000 rows", "evidence": Evidence("SELECT 1", ((1,),)), "question": "how many?"}
    return {"whole": plain(MapItem(ID, MapSection.UNDERSTANDING, **(fields | changes)))}


def told(*events: tuple[int, str, dict[str, Any]], item: str = ID, run: str = "r") -> list[Told]:
    """Events of one item, as (version, name, body)."""
    return [Told(n, v, 100.0 + v, run, MapEvent(name, item, body)) for n, (v, name, body) in enumerate(events, 1)]


def moments(*events: tuple[int, str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(m.what, m.before, m.after) for m in life(told(*events), ID)]


BORN = (1, "add", whole())


@pytest.mark.parametrize(
    ("event", "moment"),
    [
        ((2, "tag", {"tag": "helpful", "why": "used"} | whole(score=1)), ("tagged", "0", "1")),
        ((2, "tag", {"tag": "harmful"}), ("tagged", "0", "-1")),
        ((2, "replace", {"text": "9,100 rows"} | whole(text="9,100 rows")), ("edited", "8,000 rows", "9,100 rows")),
        ((2, "verify", {"before": "holds", "after": "drifted", "text": "9,100 rows"} | whole(text="9,100 rows")), ("drifted", "8,000 rows", "9,100 rows")),
        ((2, "verify", {"before": "holds", "after": "broken", "text": "8,000 rows"} | whole()), ("broken", "holds", "broken")),
        ((2, "verify", {"before": "broken", "after": "holds", "text": "8,000 rows"} | whole()), ("verified", "broken", "holds")),
        ((2, "pin", whole(pinned=True)), ("pinned", "", "pinned")),
        ((2, "suggest", {"op": "REPLACE", "text": "better"}), ("suggested", "8,000 rows", "better")),
        ((2, "suggest", {"op": "DELETE", "text": ""}), ("suggested", "8,000 rows", "")),
        ((2, "admit", {"text": "by hand"} | whole(text="by hand")), ("edited", "8,000 rows", "by hand")),
        ((2, "change", {"act": "undo"} | whole(score=4)), ("undone", "0", "4")),
        ((2, "change", {"act": "accept"} | whole(score=4)), ("changed", "0", "4")),
        ((2, "evict", {"text": "8,000 rows", "why": "lowest"}), ("evicted", "8,000 rows", "")),
        ((2, "delete", {"act": "restore"}), ("restored", "8,000 rows", "")),
    ],
)  # fmt: skip
def test_what_each_event_means_for_an_item(
    event: tuple[int, str, dict[str, Any]], moment: tuple[str, str, str]
) -> None:
    assert moments(BORN, event) == [("born", "", "8,000 rows"), moment]


def test_a_moment_says_who_why_and_on_what_question() -> None:
    events = told(BORN, (2, "tag", {"tag": "helpful", "why": "used"} | whole(score=1)), (3, "refuse", {"why": "no"}))
    first, second = life(events, ID, {"r": "how many rows?"})
    assert (first.version, first.at, first.author, first.run) == (1, 101.0, "agent", "r")
    assert (first.question, first.evidence, second.why) == ("how many rows?", "SELECT 1", "used")
    assert life(events, ID)[0].question == "how many?", "where the run is not known, the item knows its first question"
    assert life(events, "cu-00002") == ()


def test_scores_have_their_remarks() -> None:
    events = told(
        BORN,
        (2, "tag", {"tag": "helpful"} | whole(score=1)),
        (3, "replace", {"tag": ""} | whole(score=1)),
        (3, "pin", whole(score=1, pinned=True)),
        (4, "verify", {"after": "drifted"} | whole(score=1)),
        (5, "evict", {"why": "lowest"} | whole(score=1)),
        (6, "change", {"act": "undo"} | whole(score=1)),
    )
    other = Told(8, 6, 106.0, "", MapEvent("propose", "def-1", {"whole": {"id": "def-1"}}))
    found = scores([*events, other])
    assert (found.versions, found.items) == ((1, 2, 3, 4, 5, 6), (ID,))
    assert [row[0] for row in found.table] == [0, 1, 1, 1, None, 1]
    assert [(m.version, m.what) for m in found.marks] == [
        (1, "born"), (3, "edited"), (3, "pinned"), (4, "drifted"), (5, "evicted"), (6, "back"),
    ]  # fmt: skip
    assert found.marks[0] == Mark(1, ID, "born") and found.times[0] == 101.0
    assert scores([]).table == ()


def test_the_last_use_is_a_helpful_tag_or_an_answer_that_named_the_item() -> None:
    events = told(BORN, (2, "tag", {"tag": "helpful"} | whole()), (3, "tag", {"tag": "harmful"} | whole()))
    assert last_used(events) == {ID: Use(2, 102.0, "r", "helpful")}
    named = [Named("s", 99.0, 1, (ID,)), Named("s", 110.0, 3, (ID, "cu-00002"))]
    assert last_used(events, named) == {ID: Use(3, 110.0, "s", "answer"), "cu-00002": Use(3, 110.0, "s", "answer")}


def test_who_left_and_came_back_is_not_gone() -> None:
    left = (2, "evict", {"why": "lowest", "score": -2} | whole())
    (one,) = gone(told(BORN, left))
    assert (one.how, one.by, one.why, one.version, one.item.score) == ("evicted", "agent", "lowest", 2, -2)
    assert gone(told(BORN, left, (3, "revive", whole()))) == ()
    assert gone(told(BORN, (2, "delete", {})))[0].item.text == "8,000 rows", "an earlier event carries it"


def test_what_is_a_step_and_what_is_not() -> None:
    def made(*names: str, item: str = "") -> list[Told]:
        return [Told(n, n, 0.0, "", MapEvent(name, item, {"version": 1})) for n, name in enumerate(names, 1)]

    silent = made("count", "refuse", "suggest", "verify", "measure", "hold_back", "add")
    assert steps(silent).done == (), "an add that carries no item changed nothing"
    assert [s.version for s in steps(made("turn_down", "turn_down")).done] == [1, 2]
    assert [s.version for s in steps(told(BORN, (2, "score", whole(score=1)))).done] == [1, 2]
    came_and_left = told((1, "add", {}), (1, "evict", whole()))
    assert steps(came_and_left).done == ()
    frozen = [
        Told(1, 1, 0.0, "", MapEvent("freeze_map")),
        Told(2, 1, 0.0, "", MapEvent("count", "", {"frozen_by": "person"})),
    ]
    assert [s.act.name for s in steps(frozen).done] == ["freeze_map"]
    assert taken_back(made("undo")) == {1} and taken_back(made("undo", "redo")) == frozenset()
