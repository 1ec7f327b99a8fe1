"""What a map contributes to a prompt: as it is, without its literals, and within the cap of the definitions block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.definitions import Definition
from peek_core.context_map.map import ContextMap, MapItem, MapSection
from peek_core.context_map.redaction import without_literals
from peek_core.policies.records import DEFINITIONS_FRAME, definitions_record, map_record

FOLD = Definition("def-1", "spelling_fold", "t", "region", "One spelling", mapping={"D-A-CH": "DACH"}, state="on")
TESTS = Definition("def-2", "row_exclusion", "t", "status", "No tests", values=("test", 99), state="on")


def body(*definitions: Definition, cap: int = 10_000, literals: bool = True) -> str:
    record = definitions_record(definitions, literals=literals, fits=lambda text: len(text) <= cap)
    return record.text.removeprefix(DEFINITIONS_FRAME)


def test_values_are_withheld_where_only_the_schema_is_shared() -> None:
    said = body(FOLD, TESTS, literals=False)
    assert "region" in said and "status" in said and "One spelling" in said
    assert not any(value in said for value in ("D-A-CH", "DACH", "'test'", "99"))
    item = MapItem(
        "cu-00001", MapSection.UNDERSTANDING, "status 'test' stands in 2,067 of 50,000 rows since 2025-05-01"
    )
    told = map_record(ContextMap(items=(item,)), literals=False)
    assert "[cu-00001] status … stands in … of … rows since …" in told.text
    assert told.data == {
        "items": [{"id": "cu-00001", "section": "cu", "text": "status … stands in … of … rows since …"}]
    }


@pytest.mark.parametrize("text", ["plan P1 and column x_2", "don't touch the customers' names", "no literal at all"])
def test_words_stay(text: str) -> None:
    assert without_literals(text) == text


def test_long_rules_give_way_before_short_ones_and_names_before_nothing() -> None:
    assert (
        body(FOLD, TESTS)
        == "[def-1] One spelling: region: 'D-A-CH' → 'DACH'\n[def-2] No tests: rows with status = 'test', 99 don't count"
    )
    assert body(FOLD, TESTS, cap=75) == "[def-1] One spelling: region: 'D-A-CH' → 'DACH'\n[def-2] No tests"
    assert body(FOLD, TESTS, cap=40) == "[def-1] One spelling\n[def-2] No tests"
    assert body() == "(none yet)"


@given(st.lists(st.text("ab ", min_size=1, max_size=40), max_size=30), st.integers(60, 400))
def test_the_cap_holds_and_every_definition_is_counted(names: list[str], cap: int) -> None:
    many = [
        Definition(f"def-{n}", "sentinel", "t", "c", name, values=(name,), state="on")
        for n, name in enumerate(names, 1)
    ]
    said = body(*many, cap=cap)
    shown = sum(line.startswith("[def-") for line in said.split("\n"))
    left = int(said.rsplit("… and ", 1)[1].split(" ")[0].replace(",", "")) if "… and " in said else 0
    assert shown + left == len(many)
    assert len(said) <= cap or shown == 1
