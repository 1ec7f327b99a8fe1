"""Packing: a snapshot as JSON and back, texts by hash; what comes back is planned to the same bytes."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.cache_model import Known
from peek_core.context_pipe.catalog import PAPER, Held, Snapshot
from peek_core.context_pipe.packing import Packer, unpacked
from peek_core.errors import NotFound
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, LifecycleTier, Scope, SourceRecord
from tests.context_pipe.kit import CHEAP_CACHE, QUESTION, RULES, assembled, quarter, record, snapshot, steps

EVERYTHING = [
    RULES,
    record("functions", Kind.HOST_FUNCTIONS, "f" * 400, Scope.GLOBAL, trimmed="f()", tier=LifecycleTier.PER_AGENT),
    record(
        "map",
        Kind.MEMORY,
        "Käse 渠道 🙂 <|im_start|>",
        Scope.SESSION,
        data={"b": [1, None], "a": 0.5},
        markerable=False,
    ),
    QUESTION,
    *steps(3, 400),
]


def full(**more) -> Snapshot:
    """Every field at something other than its default."""
    told = {"reserve": 77, "budget": 5_000, "cliff": 9_000, "ceiling": 60_000, "configuration": PAPER, "rates": CHEAP_CACHE,
            "cache": CacheRules("breakpoints", marker="openai", max_markers=4, implicit=True), "factors": {"memory": 1.25},
            "expected_calls": 3, "recovery": 1, "cold": True, "flips": ("map",), "spill_backend": True,
            "held": Held(frozenset({"observation 1"}), frozenset({"map"}), frozenset(), frozenset({"functions"}), ("rules", "map")),
            **more}  # fmt: skip
    known = Known(frozenset({"x", "y"}), frozenset({"x"}))
    return replace(snapshot(EVERYTHING, **told), cache=known)


def through_json(given: Snapshot, binder: Binder | None = None) -> tuple[Snapshot, dict[str, str], str]:
    """What comes back, the texts that were kept, and the JSON."""
    packer = Packer(binder or Binder(quarter))
    stored = json.dumps(packer.packed(given))
    return unpacked(json.loads(stored), packer.bodies.get), packer.bodies, stored


def test_every_field_comes_back() -> None:
    given = full()
    back, _, _ = through_json(given)
    for field in fields(Snapshot):
        if field.name != "records":
            assert getattr(back, field.name) == getattr(given, field.name), field.name
    binder = Binder(quarter)
    for was, now in zip(given.records, back.records, strict=True):
        kept = {
            f.name: getattr(was, f.name) for f in fields(SourceRecord) if f.name not in ("text", "load", "est_tokens")
        }
        assert {name: getattr(now, name) for name in kept} == kept
        assert binder.section(now) == binder.section(was)


def test_what_comes_back_is_planned_to_the_same_bytes_and_the_same_explain() -> None:
    given = full()
    back, _, _ = through_json(given)
    one, other = assembled(given), assembled(back)
    assert (one.wire, one.explain) == (other.wire, other.explain)


def test_texts_are_kept_apart_by_hash_and_once() -> None:
    twice = [record("a", Kind.MEMORY, "the same text"), record("b", Kind.HISTORY, "the same text")]
    _, bodies, stored = through_json(snapshot(twice))
    assert "the same text" not in stored
    assert list(bodies.values()).count("the same text") == 1


def test_a_record_is_packed_once_in_a_run() -> None:
    packer = Packer(Binder(quarter))
    first = packer.packed(snapshot([RULES, QUESTION]))
    packer.bodies = {}
    assert packer.packed(snapshot([RULES, QUESTION])) == first and packer.bodies == {}


@pytest.mark.parametrize("gone", ["r" * 400, "(cleared 1)", "f()", '{"a":0.5,"b":[1,null]}'])
def test_a_text_that_is_gone_is_said(gone: str) -> None:
    packer = Packer(Binder(quarter))
    packed = packer.packed(full())
    kept = {h: t for h, t in packer.bodies.items() if t != gone}
    assert len(kept) == len(packer.bodies) - 1
    with pytest.raises(NotFound, match=r"is no longer kept"):
        unpacked(packed, kept.get)


def test_what_could_not_be_loaded_then_is_the_same_placeholder_again() -> None:
    def locked() -> str:
        raise NotFound("locked")

    given = snapshot([RULES, record("notes", Kind.MEMORY, load=locked, est_tokens=9)])
    back, _, _ = through_json(given)
    one, other = assembled(given), assembled(back)
    assert b"can't be read just now" in one.wire and one.wire == other.wire and one.explain == other.explain


def test_what_was_loaded_is_kept_as_it_was_loaded() -> None:
    binder = Binder(quarter)
    given = snapshot([RULES, record("notes", Kind.MEMORY, load=lambda: "what it said", est_tokens=9)])
    binder.load(given.records)
    back, _, _ = through_json(given, binder)
    assert b"what it said" in assembled(back).wire


def test_a_record_that_could_be_loaded_later_is_packed_again() -> None:
    calls = iter([NotFound("locked")])

    def load() -> str:
        for failure in calls:
            raise failure
        return "open"

    binder = Binder(quarter)
    packer, given = Packer(binder), snapshot([record("notes", Kind.MEMORY, load=load, est_tokens=9)])
    binder.load(given.records)
    locked = packer.packed(given)
    binder.load(given.records)
    opened = packer.packed(given)
    assert locked["records"] != opened["records"]
    assert b"open" in assembled(unpacked(opened, packer.bodies.get)).wire
