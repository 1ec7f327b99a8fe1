"""Notices: one turn, no content twice, a cap; a failed request leaves them waiting, a prefix cache keeps them in place."""

from __future__ import annotations

import threading

import pytest

from peek_core.context_pipe.catalog import DEFAULT, PAPER, Configuration
from peek_core.context_pipe.emergent import EmergentQueue
from peek_core.errors import EndpointFailed
from peek_core.ports import CacheRules
from peek_core.values.sources import Kind, LifecycleTier
from tests.context_pipe.kit import QUESTION, RULES, Kit, Model, named, record, steps

FIRST = [RULES, QUESTION]
APPENDING = Configuration("appending", DEFAULT.rules, emergent="append_only")


def carried(made: Kit, n: int = -1) -> list[str]:
    """Names of the sections of a request."""
    return [s.name for s in made.sink.traces[n].explain.sections]


def test_an_item_waits_until_a_request_has_shown_it() -> None:
    queue = EmergentQueue()
    assert queue.write("a") and queue.write("b")
    (a, b) = queue.due()
    assert (a.text, a.kind, a.tier, a.markerable) == ("a", Kind.NOTICE, LifecycleTier.EMERGENT, False)
    queue.advance((a.name, "no such name"))
    assert queue.due() == (b,)


def test_a_content_is_said_once_even_after_it_was_shown() -> None:
    queue = EmergentQueue()
    assert queue.write("a") and not queue.write("a")
    queue.advance(tuple(r.name for r in queue.due()))
    assert not queue.write("a") and queue.due() == ()
    assert EmergentQueue(dedup=False).write("a")


def test_beyond_the_cap_an_item_is_counted_and_not_kept_and_may_come_again() -> None:
    queue = EmergentQueue(cap=2)
    assert [queue.write(c) for c in "abcd"] == [True, True, False, False]
    assert (queue.overflowed, len(queue.due())) == (2, 2)
    queue.advance(tuple(r.name for r in queue.due()))
    assert queue.overflowed == 0 and queue.write("c")
    assert EmergentQueue.CAP == 16


def test_items_written_from_several_threads_are_all_there_under_names_of_their_own() -> None:
    queue = EmergentQueue(cap=1_000)
    threads = [threading.Thread(target=lambda t=t: [queue.write(f"{t} {n}") for n in range(50)]) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({r.name for r in queue.due()}) == len(queue.due()) == 200


@pytest.mark.parametrize("cache", [CacheRules(), CacheRules("breakpoints", marker="anthropic", max_markers=4)])
def test_a_notice_is_in_the_next_request_of_the_agent_and_in_no_other(cache: CacheRules) -> None:
    made = Kit(provider=Model(cache=cache))
    made.pipe.notice("careful")
    made.pipe("llm_query", [record("prompt", Kind.SUB_CALL, "p")])
    made.pipe("step", FIRST)
    made.pipe("step", [*FIRST, *steps(1, 8)])
    assert [carried(made, n) for n in range(3)] == [
        ["prompt"],
        ["rules", "question", "notice 1"],
        ["rules", "question", "cell 1", "observation 1"],
    ]


@pytest.mark.parametrize("match", ["prefix", "units"])
def test_where_a_prefix_is_cached_a_notice_stays_where_it_stood(match) -> None:
    made = Kit(provider=Model(cache=CacheRules(match)))
    made.pipe.notice("careful")
    made.pipe("step", FIRST)
    made.pipe("step", [*FIRST, *steps(1, 8)])
    made.pipe("step", [*FIRST, *steps(2, 8)])
    assert carried(made) == ["rules", "question", "notice 1", "cell 1", "observation 1", "cell 2", "observation 2"]
    assert not made.last.alerts


def test_the_paper_takes_it_away_again_whatever_that_breaks() -> None:
    made = Kit(provider=Model(cache=CacheRules("units")), configuration=PAPER)
    made.pipe.notice("careful")
    made.pipe("step", FIRST)
    made.pipe("step", [*FIRST, *steps(1, 8)])
    assert carried(made) == ["rules", "question", "cell 1", "observation 1"]
    assert "a notice for one turn came or went" in made.last.alerts[0].cause


def test_append_only_keeps_everything_even_what_was_said_before() -> None:
    made = Kit(provider=Model(), configuration=APPENDING)
    for n in range(1, 4):
        made.pipe.notice("careful")
        made.pipe("step", [*FIRST, *steps(n, 8)])
    assert [n for n in carried(made) if n.startswith("notice")] == ["notice 1", "notice 2", "notice 3"]


def test_a_notice_that_stays_never_comes_between_a_cell_and_its_observation() -> None:
    """The request that carried it ended with a cell; the observation came with the next one."""
    made = Kit(provider=Model(cache=CacheRules("prefix")))
    cell, observation = steps(1, 8)
    made.pipe.notice("careful")
    made.pipe("step", [*FIRST, cell])
    made.pipe("step", [*FIRST, cell, observation])
    assert carried(made) == ["rules", "question", "cell 1", "observation 1", "notice 1"]


def test_a_failed_request_leaves_the_queue_as_it_was() -> None:
    made = Kit(provider=Model([EndpointFailed("The endpoint failed (500)"), "a"]))
    made.pipe.notice("careful")
    with pytest.raises(EndpointFailed):
        made.pipe("step", FIRST)
    made.pipe("step", FIRST)
    assert carried(made, 0) == carried(made, 1) == ["rules", "question", "notice 1"]
    made.pipe("step", FIRST)
    assert carried(made) == ["rules", "question"]


def test_a_dry_run_leaves_the_queue_as_it_was() -> None:
    made = Kit(provider=Model())
    made.pipe.notice("careful")
    assert [p.record.name for p in made.pipe.prepare("step", FIRST).placed] == ["rules", "question", "notice 1"]
    made.pipe("step", FIRST)
    assert carried(made) == ["rules", "question", "notice 1"]


def test_a_notice_without_room_in_the_budget_waits() -> None:
    made = Kit(provider=Model(window=1_000))
    made.pipe.notice("#300 careful")
    made.pipe("step", [*FIRST, record("big", Kind.HISTORY, "#900 big")])
    assert carried(made) == ["rules", "question", "big"]
    assert named(made.last, "bind").sections == ("notice 1",)
    made.pipe("step", FIRST)
    assert carried(made) == ["rules", "question", "notice 1"]
