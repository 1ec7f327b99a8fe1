"""The sample series with the built-in analyst: it answers enough, is hardly ever wrong, and the map holds the facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peek_core import settings
from peek_core.comparison import Arms, Comparisons
from peek_core.lab.series import paired, planted_found, totals
from peek_core.samples import sample
from peek_core.workspace import Workspace

CORPUS = sample("product_feedback")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, str, Any]]:
    """The whole series, both arms."""
    data: Path = tmp_path_factory.mktemp("series")
    w = Workspace(settings.read({}, data))
    dataset = w.load_sample(CORPUS.name).id
    comparisons = Comparisons(w)
    comparisons.note(dataset, "s1", {"asked": len(CORPUS.questions), "questions": [q["id"] for q in CORPUS.questions]})
    comparisons.play(dataset, "s1", CORPUS.questions, lambda: False)
    yield w, dataset, comparisons.result(dataset, "s1", CORPUS.questions)
    w.close()


def test_it_answers_most_structured_questions_and_is_hardly_ever_wrong(played: tuple[Workspace, str, Any]) -> None:
    structured = [p for p in played[2].with_map if p.kind == "S"]
    answered = [p for p in structured if p.verdict != "no_answer"]
    assert len(answered) >= 0.6 * len(structured)
    wrong = [p for p in played[2].with_map if p.verdict == "wrong"]
    assert len(wrong) <= 0.02 * len(answered), [(p.question, p.answer) for p in wrong]


def test_the_planted_facts_stand_in_the_map_or_as_definitions_and_none_is_false(
    played: tuple[Workspace, str, Any],
) -> None:
    w, dataset, result = played
    current = w.map(dataset, Arms(result.id).with_map)
    found, missing = planted_found(
        CORPUS.planted, [i.text for i in current.items], [d.as_data() for d in current.active]
    )
    assert len(found) >= 8, missing
    assert [
        i.id for i in w.curator(dataset, Arms(result.id).with_map).verify().items if i.state in ("drifted", "broken")
    ] == []


def test_the_map_spares_look_ups_at_no_lower_accuracy(played: tuple[Workspace, str, Any]) -> None:
    """The same questions, map against emptied map, same definitions: paired."""
    with_map, without = played[2].with_map, played[2].without
    assert totals(with_map).look_ups < totals(without).look_ups
    assert totals(with_map).right >= totals(without).right
    assert paired(with_map, without).worse == 0


def test_every_change_of_the_map_is_in_its_versions_and_events(played: tuple[Workspace, str, Any]) -> None:
    w, dataset, result = played
    arm = Arms(result.id).with_map
    numbers = [v.number for v in w.store.map_versions(dataset, arm)]
    assert numbers == list(range(1, len(numbers) + 1))
    added = {e.item for e in w.store.map_events(dataset, arm) if e.name == "add"}
    assert {i.id for i in w.map(dataset, arm).items} <= added
