"""The context map: ids are never reused, the text form is exact, agents keep their hands off what is locked."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.history import diff
from peek_core.context_map.map import ContextMap, Edit, MapSection, apply, one_line, parse, render, tag, update_item
from peek_core.values.codec import dump, load

TEXT = st.text(min_size=1, max_size=80).filter(lambda t: one_line(t) != "")
SECTIONS = st.sampled_from([s.value for s in MapSection])
EDITS = st.lists(
    st.one_of(
        st.builds(lambda s, t: Edit("ADD", section=s, text=t), SECTIONS, TEXT),
        st.builds(lambda n, s, t: Edit("REPLACE", id=f"{s}-{n:05d}", text=t), st.integers(1, 9), SECTIONS, TEXT),
        st.builds(lambda n, s: Edit("DELETE", id=f"{s}-{n:05d}"), st.integers(1, 9), SECTIONS),
    ),
    max_size=30,
)


def applied(edits: list[Edit]) -> tuple[ContextMap, list[str]]:
    """The map after the edits, and the id of each item ever added."""
    current, born = ContextMap(), []
    for edit in edits:
        current, item, refusal = apply(current, edit, author="agent")
        if edit.op == "ADD" and refusal is None and item is not None:
            born.append(item.id)
    return current, born


@given(EDITS)
def test_ids_are_unique_for_ever(edits: list[Edit]) -> None:
    current, born = applied(edits)
    assert len(born) == len(set(born))
    assert {i.id for i in current.items} <= set(born)


@given(EDITS)
def test_the_text_form_gives_back_what_a_prompt_may_see(edits: list[Edit]) -> None:
    current, _ = applied(edits)
    seen = {(i.id, i.section, i.text) for i in parse(render(current.items))}
    assert seen == {(i.id, i.section, i.text) for i in current.items}


@given(EDITS)
def test_saving_and_loading_is_exact(edits: list[Edit]) -> None:
    current, _ = applied(edits)
    assert load(ContextMap, dump(current)) == current


def test_replace_keeps_id_score_and_birth() -> None:
    current, item, _ = apply(ContextMap(questions=4), Edit("ADD", section="cu", text="old"), author="agent")
    assert item is not None
    current, _ = tag(current, item.id, "helpful")
    current, changed, refusal = apply(current, Edit("REPLACE", id=item.id, text="new"), author="agent")
    assert refusal is None
    assert changed is not None
    assert (changed.id, changed.score, changed.born, changed.text) == (item.id, 1, 4, "new")


def test_an_agent_keeps_its_hands_off_locked_frozen_and_pinned_items() -> None:
    current, item, _ = apply(ContextMap(), Edit("ADD", section="cu", text="fact"), author="agent")
    assert item is not None
    for mark, said in (("locked", "locked"), ("frozen", "frozen")):
        held = update_item(current, item.id, lambda i, m=mark: replace(i, **{m: True}))
        for edit in (Edit("REPLACE", id=item.id, text="x"), Edit("DELETE", id=item.id)):
            after, _, refusal = apply(held, edit, author="agent")
            assert after == held
            assert said in str(refusal)
        assert tag(held, item.id, "harmful") == (held, f"{item.id} is {said}")
    pinned = update_item(current, item.id, lambda i: replace(i, pinned=True))
    assert apply(pinned, Edit("DELETE", id=item.id), author="agent")[2] == f"{item.id} is pinned"
    assert apply(pinned, Edit("REPLACE", id=item.id, text="x"), author="agent")[2] is None
    assert apply(pinned, Edit("DELETE", id=item.id), author="person")[0].items == ()


def test_illegal_edits_come_back_with_their_reason_and_change_nothing() -> None:
    empty = ContextMap()
    for edit, why in (
        (Edit("ADD", section="zz", text="x"), "no section 'zz'"),
        (Edit("ADD", section="cu", text="  \n "), "empty text"),
        (Edit("REPLACE", id="cu-00001", text="x"), "no item 'cu-00001'"),
        (Edit("DELETE", id="cu-00001"), "no item 'cu-00001'"),
    ):
        after, _, refusal = apply(empty, edit, author="agent")
        assert after is empty
        assert refusal == why


def test_the_diff_names_what_was_added_changed_scored_marked_and_removed() -> None:
    a, one, _ = apply(ContextMap(), Edit("ADD", section="cr", text="first"), author="agent")
    a, two, _ = apply(a, Edit("ADD", section="cu", text="second"), author="agent")
    assert one is not None
    assert two is not None
    b, _, _ = apply(a, Edit("REPLACE", id=one.id, text="better"), author="agent")
    b = update_item(b, one.id, lambda i: replace(i, score=2, pinned=True))
    b, _, _ = apply(b, Edit("DELETE", id=two.id), author="agent")
    b, _, _ = apply(b, Edit("ADD", section="rr", text="third"), author="agent")
    assert [(c.kind, c.id) for c in diff(a, b)] == [
        ("changed", one.id), ("re-scored", one.id), ("marked", one.id), ("added", "rr-00003"), ("removed", two.id),
    ]  # fmt: skip
