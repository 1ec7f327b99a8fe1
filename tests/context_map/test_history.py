"""Events alone rebuild every version of a map, whoever changed it and whatever was told."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.definitions import Definition
from peek_core.context_map.evictor import evict
from peek_core.context_map.history import MapEvent, completed, evicted, rebuilt, unlearned, word_diff
from peek_core.context_map.map import ContextMap, Edit, Evidence, MapSection, apply, tag, update_item

SECTIONS = st.sampled_from([s.value for s in MapSection])
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), SECTIONS, st.text("abc ", min_size=1, max_size=30)),
        st.tuples(st.just("replace"), st.integers(0, 9), st.text("abc ", min_size=1, max_size=30)),
        st.tuples(st.just("delete"), st.integers(0, 9), st.none()),
        st.tuples(st.just("tag"), st.integers(0, 9), st.sampled_from(["helpful", "harmful", "stale"])),
        st.tuples(st.just("pin"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("evict"), st.integers(20, 200), st.none()),
        st.tuples(st.just("learn"), st.integers(0, 3), st.none()),
        st.tuples(st.just("define"), st.text("xyz", min_size=1, max_size=4), st.none()),
        st.tuples(st.just("decide"), st.integers(0, 3), st.sampled_from(["on", "off", "rejected"])),
        st.tuples(st.just("silent"), st.integers(0, 9), st.integers(-9, 9)),
        st.tuples(st.just("restore"), st.integers(0, 20), st.none()),
    ),
    max_size=25,
)


def done(current: ContextMap, act: tuple[str, Any, Any], past: list[ContextMap]) -> tuple[ContextMap, list[MapEvent]]:
    """One act as the product does it; `silent` is a change that nobody told of."""
    name, a, b = act
    items = current.items
    item = items[a % len(items)] if isinstance(a, int) and items else None
    if name == "add":
        evidence = Evidence("SELECT 1", ((1, "x", None, 0.5),))
        new, made, refusal = apply(current, Edit("ADD", section=a, text=b, evidence=evidence), author="agent")
        return new, [MapEvent("add", made.id)] if made and not refusal else []
    if name == "define":
        made_d = Definition(f"def-{current.next_definition}", "row_exclusion", "t", "c", a, values=(a, 1))
        new = replace(current, definitions=(*current.definitions, made_d), next_definition=current.next_definition + 1)
        return new, [MapEvent("propose", made_d.id)]
    if name == "decide" and current.definitions:
        d = current.definitions[a % len(current.definitions)]
        changed = tuple(replace(x, state=b) if x.id == d.id else x for x in current.definitions)
        return replace(current, definitions=changed), [MapEvent("accept", d.id, author="person")]
    if name == "evict":
        new, gone = evict(current, a, len, grace=0)
        return new, [MapEvent("evict", g.item.id, {"after": g.after}) for g in gone]
    if name == "learn":
        return replace(current, questions=current.questions + 1, quiet=a, frozen=a == 3, frozen_why="quiet"), []
    if name == "restore" and past:
        old = past[a % len(past)]
        kept = replace(
            old, version=current.version, next_number=current.next_number, next_definition=current.next_definition
        )
        return kept, [MapEvent("restore")]
    if item is None:
        return current, []
    if name == "replace":
        new, made, refusal = apply(current, Edit("REPLACE", id=item.id, text=b), author="agent")
        return new, [MapEvent("refuse", item.id) if refusal else MapEvent("replace", item.id)]
    if name == "delete":
        new, _, refusal = apply(current, Edit("DELETE", id=item.id), author="agent")
        return new, [] if refusal else [MapEvent("delete", item.id)]
    if name == "tag":
        return tag(current, item.id, b)[0], [MapEvent("tag", item.id)]
    if name == "pin":
        return update_item(current, item.id, lambda i: replace(i, pinned=b)), [
            MapEvent("pin", item.id, author="person")
        ]
    return update_item(current, item.id, lambda i: replace(i, score=b)) if name == "silent" else current, []


@given(ACTS)
def test_events_rebuild_every_version(acts: list[tuple[str, Any, Any]]) -> None:
    current, told, past = ContextMap(), list[MapEvent](), list[ContextMap]()
    for act in acts:
        new, events = done(current, act, past)
        told += completed(current, new, events)
        current = new
        past.append(current)
        kept = [MapEvent(e.name, e.item, json.loads(json.dumps(e.body)), e.author) for e in told]
        assert rebuilt(kept, current.version) == current


def test_what_was_told_stays_told() -> None:
    before, item, _ = apply(ContextMap(), Edit("ADD", section="cu", text="a fact"), author="agent")
    assert item is not None
    after = update_item(before, item.id, lambda i: replace(i, score=1))
    (event,) = completed(before, after, [MapEvent("tag", item.id, {"tag": "helpful", "why": "used"})])
    assert (event.name, event.body["tag"], event.body["whole"]["score"]) == ("tag", "helpful", 1)
    assert completed(before, before, []) == ()


def test_what_leaves_is_kept_whole() -> None:
    before = added(added(ContextMap(), "first"), "second")
    after, gone = evict(tag(before, "cu-00001", "harmful")[0], 0, len, grace=0)
    first, second = completed(before, after, [MapEvent("tag", "cu-00001"), *evicted(gone)])[1:]
    assert (first.name, first.body["whole"]["text"], first.body["whole"]["score"]) == ("evict", "first", -1)
    assert second.body["whole"]["id"] == "cu-00002"
    (told,) = completed(before, added(ContextMap(), "first"), [MapEvent("undo", author="person")])[1:2]
    assert (told.name, told.body["whole"]["text"], told.body["act"], told.author) == (
        "delete",
        "second",
        "undo",
        "person",
    )


def test_a_suggestion_changes_nothing() -> None:
    before = added(ContextMap(), "first")
    after = tag(before, "cu-00001", "helpful")[0]
    suggested = MapEvent("suggest", "cu-00001", {"text": "better"})
    tagged, same = completed(before, after, [MapEvent("tag", "cu-00001"), suggested])
    assert same == suggested and tagged.body["whole"]["score"] == 1


WORDS = st.text("ab ,\n", max_size=60)


@given(WORDS, WORDS)
def test_words_that_stay_and_go_are_the_old_text_and_those_that_stay_and_come_the_new(before: str, after: str) -> None:
    words = word_diff(before, after)
    assert "".join(text for text, kind in words if kind != "new") == before
    assert "".join(text for text, kind in words if kind != "gone") == after
    assert all(a[1] != b[1] for a, b in itertools.pairwise(words)), "pieces are whole"


def test_words_are_compared_not_letters() -> None:
    assert word_diff("one row is one ticket", "one row is one order line") == (
        ("one row is one ", "same"),
        ("ticket", "gone"),
        ("order line", "new"),
    )


def added(current: ContextMap, text: str) -> ContextMap:
    return apply(current, Edit("ADD", section="cu", text=text), author="agent")[0]


def test_unlearning_takes_back_one_update_and_nothing_else() -> None:
    before = added(added(ContextMap(), "first"), "second")
    proposed = Definition("def-1", "sentinel", "t", "c", "n", values=(9,))
    after = tag(added(before, "third"), "cu-00001", "helpful")[0]
    after = apply(after, Edit("REPLACE", id="cu-00001", text="first, better"), author="agent")[0]
    after = apply(after, Edit("DELETE", id="cu-00002"), author="agent")[0]
    after = replace(after, definitions=(proposed,), next_definition=2)
    now = tag(added(after, "by somebody since"), "cu-00001", "helpful")[0]
    back = unlearned(now, before, after)
    assert [(i.text, i.score) for i in back.items] == [("first", 1), ("second", 0), ("by somebody since", 0)]
    assert back.definitions == () and back.next_number == now.next_number


def test_what_was_changed_or_decided_since_stays() -> None:
    before = added(ContextMap(), "first")
    after = apply(added(before, "third"), Edit("REPLACE", id="cu-00001", text="first, better"), author="agent")[0]
    after = replace(after, definitions=(Definition("def-1", "sentinel", "t", "c", "n", values=(9,)),))
    now = apply(after, Edit("REPLACE", id="cu-00001", text="by hand"), author="person")[0]
    now = apply(now, Edit("REPLACE", id="cu-00002", text="by hand too"), author="person")[0]
    now = replace(now, definitions=(replace(now.definitions[0], state="on"),))
    back = unlearned(now, before, after)
    assert [i.text for i in back.items] == ["by hand", "by hand too"]
    assert [d.state for d in back.definitions] == ["on"]


@given(ACTS)
def test_unlearning_the_last_update_is_as_if_it_had_not_been(acts: list[tuple[str, Any, Any]]) -> None:
    current, before = ContextMap(), ContextMap()
    for act in acts:
        if act[0] in ("decide", "silent", "pin", "restore"):
            continue  # acts of people, which stay
        before, current = current, done(current, act, [])[0]
    back = unlearned(current, before, current)
    assert (back.items, back.definitions) == (before.items, before.definitions)
