"""What a model sees of a map is what a request has of it, to the byte, and its lines add up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from peek_core import tokens
from peek_core.context_map.definitions import Definition
from peek_core.context_map.map import ContextMap, MapItem, MapSection
from peek_core.policies.records import definitions_record, map_record
from peek_core.policies.seen import seen
from peek_core.workspace import Workspace

COUNT = tokens.counter()[1]
TESTS = Definition("def-1", "row_exclusion", "t", "status", "No tests", values=("test",), state="on")


def test_it_is_the_text_of_a_request(open_workspace: Callable[..., Workspace], tickets: Path) -> None:
    w = open_workspace()
    dataset = w.load(tickets).id
    w.curator(dataset).add("cu", "100 tickets, one a row – “each”", "SELECT count(*) FROM tickets")
    found = {"kind": "row_exclusion", "table": "tickets", "column": "status", "values": ["test"], "name": "no tests"}
    w.curator(dataset).propose([found], author="person")
    sent = {p.record.name: p.section.text for p in w.dry_run(dataset, "How many?").placed}
    told = w.seen(dataset)
    assert [(r.name, r.text) for r in told.records] == [(name, sent[name]) for name in ("definitions", "context map")]
    assert told.sha256 == hashlib.sha256(told.text.encode()).hexdigest()


@given(st.lists(st.text("ab 1,.\té", min_size=1, max_size=40), max_size=6))
def test_lines_make_up_the_text_and_their_tokens_its_tokens(texts: list[str]) -> None:
    items = tuple(MapItem(f"cu-{n:05d}", MapSection.UNDERSTANDING, text) for n, text in enumerate(texts, 1))
    told = seen(ContextMap(items, (TESTS,)), COUNT, cap=400)
    for record in told.records:
        assert "\n".join(line.text for line in record.lines) == record.text
        assert sum(line.tokens for line in record.lines) == record.tokens == COUNT(record.text)
    assert told.tokens == sum(r.tokens for r in told.records)


def test_values_and_the_cap_are_kept_as_in_a_request() -> None:
    current = ContextMap((MapItem("cu-00001", MapSection.UNDERSTANDING, "status 'open' in 90 rows"),), (TESTS,))
    told = seen(current, COUNT, cap=40, literals=False)
    assert told.records[1].text == map_record(current, literals=False).text and "'open'" not in told.text
    capped = definitions_record((TESTS,), literals=False, fits=lambda text: COUNT(text) <= 40)
    assert told.records[0].text == capped.text
