"""The pipe: five stages in order, one door; what a run keeps between its requests; reading back what was shortened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peek_core.context_pipe.catalog import DEFAULT, FLAT, PAPER
from peek_core.context_pipe.stats import DEFAULT_OUTPUT, PipelineStats
from peek_core.errors import EndpointFailed, NotFound, OutOfBudget
from peek_core.ports import CacheRules
from peek_core.settings import RunLimits
from peek_core.values.call_trace import Decision
from peek_core.values.messages import Usage
from peek_core.values.sources import Kind, Scope
from tests.context_pipe.kit import (
    QUESTION,
    RULES,
    Kit,
    Model,
    Prices,
    Spills,
    named,
    quarter,
    read_back,
    record,
    steps,
)

LONG = record("profile", Kind.PROFILE, "".join(f"line {n:05}\n" for n in range(5_000)), Scope.SESSION, recoverable=True)
"""55,000 characters, 13,750 tokens, no two lines alike."""


def sent(made: Kit, n: int = -1) -> dict[str, int]:
    return {s.name: s.sent for s in made.sink.traces[n].explain.sections}


# One request


def test_a_reply_comes_back_with_its_trace_its_texts_and_its_events() -> None:
    made = Kit(provider=Model(["hello"], count=quarter))
    done = made.pipe("step", [RULES, QUESTION])
    assert done.text == "hello"
    trace = made.last
    assert (trace.id, trace.run, trace.source, trace.n, trace.error) == ("c1", "r1", "step", 1, None)
    assert trace.analyze.usage == Usage(input=103, output=2) and trace.analyze.model == "m-2026"
    assert trace.wire_bytes == len(made.provider.wires[0])
    assert {s.hash for s in trace.explain.sections} <= set(made.sink.texts)
    assert made.sink.replies == ["hello"]
    assert made.events == [("first_byte", {"source": "step"})]


def test_a_dry_run_sends_stores_and_counts_nothing() -> None:
    made = Kit(provider=Model(), spills=Spills())
    explain = made.pipe.prepare("step", [RULES, LONG]).explain
    assert explain.reserve == DEFAULT_OUTPUT
    assert (made.provider.wires, made.sink.traces, made.events, made.pipe._a.spills.kept) == ([], [], [], {})
    assert set(made.ledger.spent().values()) == {0}
    assert made.stats.as_data() == PipelineStats().as_data()


def test_requests_are_numbered_and_dry_runs_are_not() -> None:
    made = Kit(provider=Model())
    for source in ("step", "llm_query", "step"):
        made.pipe.prepare(source, [RULES])
        made.pipe(source, [RULES])
    assert [(t.n, t.id, t.source) for t in made.sink.traces] == [
        (1, "c1", "step"),
        (2, "c2", "llm_query"),
        (3, "c3", "step"),
    ]


def test_a_decision_without_a_reason_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="gave no reason"):
        Decision("rule", True, "", 1, 1)


def test_a_failed_send_adds_no_sample_but_raises_the_next_reserve() -> None:
    made = Kit(["x" * 4_000, "y" * 40, EndpointFailed("The endpoint failed (500)")])
    made.pipe("step", [RULES])
    made.pipe("step", [RULES])
    samples = made.stats.usage_samples()
    assert made.pipe.prepare("step", [RULES]).explain.reserves.reason == "p75 of 2 replies: 1,000"
    with pytest.raises(EndpointFailed):
        made.pipe("step", [RULES])
    assert made.stats.usage_samples() == samples
    assert made.pipe.prepare("step", [RULES]).explain.reserves.reason == "p95 after a recovery of 2 replies: 1,000"
    assert [t.error for t in made.sink.traces] == [None, None, "The endpoint failed (500)"]
    assert made.sink.replies[-1] is None


def test_how_many_requests_a_run_took_is_known_to_the_next() -> None:
    stats = PipelineStats()
    for _ in range(3):
        made = Kit(provider=Model(), stats=stats)
        for _ in range(4):
            made.pipe("step", [RULES])
        made.pipe.close()
    assert Kit(provider=Model(), stats=stats).pipe.prepare("step", [RULES]).explain.expected_calls == 4


# What a run keeps


def test_the_oldest_observations_are_cleared_first_and_stay_cleared() -> None:
    made = Kit(provider=Model(window=3_000, count=quarter, cache=CacheRules("prefix")))
    made.pipe("step", [RULES, QUESTION, *steps(6, 1_000)])
    assert [sent(made)[f"observation {n}"] for n in range(1, 7)] == [3, 3, 3, 250, 250, 250]
    made.pipe("step", [RULES, QUESTION, *steps(7, 1_000)])
    assert [sent(made)[f"observation {n}"] for n in range(1, 8)] == [3, 3, 3, 250, 250, 250, 250]
    assert (
        named(made.last, "clear_observations").reason
        == "3 cleared before stay cleared; level normal is below compact_history"
    )
    assert made.last.explain.predicted_cached == sum(sent(made, 0).values())
    assert not [a for a in made.last.alerts if a.name == "cache_break"]


def test_pressure_is_that_of_what_would_be_sent_and_not_of_what_went_long_ago() -> None:
    """Otherwise whoever cleared once would stay at the highest level for ever and break its cache every turn."""
    made = Kit(provider=Model(window=64_000, budget=2_600, count=quarter, cache=CacheRules("prefix")), spills=Spills(),
               prices=Prices(), configuration=replace(DEFAULT, pays=False))  # fmt: skip
    made.pipe("step", [RULES, LONG, QUESTION, *steps(9, 1_000)])
    first = made.last.explain
    assert first.level == "aggressive_prune"
    assert {d.rule for d in first.decisions if d.applied} >= {"clear_observations", "spill", "drop_rounds"}
    made.pipe("step", [RULES, LONG, QUESTION, *steps(10, 4)])
    again = made.last.explain
    assert again.used < first.tokens + 20
    assert again.level == "aggressive_prune" if again.pressure_predicted >= 0.9 else again.level != "aggressive_prune"
    # What was cleared first and dropped then is gone either way.
    assert set(named(made.sink.traces[0], "clear_observations").sections) <= set(
        named(made.last, "drop_rounds").sections
    )
    assert named(made.last, "drop_rounds").sections == named(made.sink.traces[0], "drop_rounds").sections


def test_sources_keep_apart_what_they_cleared() -> None:
    made = Kit(provider=Model(window=3_000, count=quarter))
    made.pipe("step", [RULES, QUESTION, *steps(6, 1_000)])
    made.pipe("distill", [RULES, *steps(3, 1_000)])
    assert sent(made)["observation 1"] == 250


def test_sections_go_from_stable_to_volatile() -> None:
    made = Kit(provider=Model())
    made.pipe("step", [RULES, QUESTION, record("map", Kind.MEMORY, "m", Scope.SESSION)])
    assert list(sent(made)) == ["rules", "map", "question"]
    assert named(made.last, "order_by_volatility").sections == ("map", "question")


# The shadow


def test_the_shadow_is_planned_beside_every_request_and_never_sent() -> None:
    made = Kit(provider=Model(window=3_000, count=quarter), shadow=FLAT)
    for n in (6, 7):
        made.pipe("step", [RULES, QUESTION, *steps(n, 1_000)])
    shadow = made.last.explain.shadow
    assert (shadow.configuration, shadow.tokens, shadow.level) == ("flat", 103 + 7 * 252, "trim_schemas")
    assert shadow.applied == () and shadow.wire_hash != made.last.wire_hash
    assert len(made.provider.wires) == 2 and made.stats.usage_samples()["kinds"]


def test_the_shadow_remembers_its_own_requests_and_their_cache() -> None:
    cache = CacheRules("prefix")
    shadowed = Kit(provider=Model(window=3_000, count=quarter, cache=cache), shadow=PAPER)
    alone = Kit(provider=Model(window=3_000, count=quarter, cache=cache), configuration=PAPER)
    for n in range(3, 9):
        for made in (shadowed, alone):
            made.pipe("step", [RULES, QUESTION, *steps(n, 1_000)])
        shadow, real = shadowed.last.explain.shadow, alone.last.explain
        assert shadow.hashes == tuple(s.hash for s in real.sections)
        assert shadow.predicted_cached == real.predicted_cached
        assert shadow.applied == tuple(d.rule for d in real.decisions if d.applied)


def test_without_another_configuration_there_is_no_shadow() -> None:
    made = Kit(provider=Model(), shadow=DEFAULT)
    made.pipe("step", [RULES])
    assert made.last.explain.shadow is None


# Reading back


def test_a_spilled_section_is_written_before_it_is_sent_and_read_back_whole() -> None:
    spills = Spills()
    made = Kit(provider=Model(count=quarter), spills=spills)
    made.pipe("step", [RULES, LONG, QUESTION])
    assert sent(made)["profile"] < 2_000 and list(spills.kept.values()) == [LONG.text]
    assert read_back(made.pipe, "profile") == LONG.text
    assert read_back(made.pipe, "question") == QUESTION.text


def test_a_cleared_observation_is_read_back_whole() -> None:
    made = Kit(provider=Model(window=20_000, count=quarter))
    made.pipe("step", [RULES, QUESTION, *steps(6, 11_000)])
    assert sent(made)["observation 1"] == 3
    assert read_back(made.pipe, "observation 1") == "1" * 11_000


def test_a_part_says_how_to_read_on() -> None:
    made = Kit(provider=Model())
    made.pipe("step", [RULES, LONG])
    assert made.pipe.recall("profile", 50_000).endswith("\n(… 1,000 more characters: recall('profile', 54000))")
    assert made.pipe.recall("profile", 54_990) == "ine 04999\n"
    assert made.pipe.recall("profile", 60_000) == ""


def test_a_spill_that_is_gone_is_said_and_ends_nothing() -> None:
    spills = Spills()
    made = Kit(provider=Model(count=quarter), spills=spills)
    made.pipe("step", [RULES, LONG])
    spills.kept.clear()
    assert made.pipe.recall("profile").startswith("('profile' can't be read back: the store no longer holds sha256:")


def test_what_was_to_be_spilled_but_was_dropped_in_the_same_request_is_read_back() -> None:
    made = Kit(provider=Model(window=40_000, count=quarter), spills=Spills())
    rounds = [replace(r, text=r.text * (40 if r.name == "observation 1" else 1)) for r in steps(8, 1_100, cleared="")]
    made.pipe("step", [RULES, QUESTION, record("big", Kind.HISTORY, "x" * 131_000), *rounds])
    assert "observation 1" in named(made.last, "spill").sections
    assert "observation 1" in named(made.last, "drop_rounds").sections
    assert read_back(made.pipe, "observation 1") == "1" * 44_000


def test_what_only_the_shadow_would_have_spilled_is_still_at_hand() -> None:
    made = Kit(provider=Model(count=quarter), spills=Spills(), configuration=FLAT, shadow=DEFAULT)
    made.pipe("step", [RULES, LONG])
    assert "spill" in made.last.explain.shadow.applied
    assert read_back(made.pipe, "profile") == LONG.text


def test_a_section_nobody_has_is_said_with_those_there_are() -> None:
    made = Kit(provider=Model())
    made.pipe("step", [RULES, QUESTION])
    with pytest.raises(NotFound, match="No prompt section is called 'nothing'") as failure:
        made.pipe.recall("nothing")
    assert failure.value.next == "There are: rules, question."


def test_what_could_not_be_loaded_is_read_back_once_it_can() -> None:
    doors = iter([True, True, False])

    def load() -> str:
        if next(doors):
            raise NotFound("The shelf is locked")
        return "what it says"

    made = Kit(provider=Model())
    made.pipe("step", [RULES, record("notes", Kind.MEMORY, load=load, est_tokens=5)])
    assert made.pipe.recall("notes") == "('notes' can't be read back: The shelf is locked)"
    assert made.pipe.recall("notes") == "what it says"


# Money


def test_the_worst_case_is_reserved_and_the_real_cost_is_kept() -> None:
    """103 tokens and a reserve of 1,200 replies cost at most $0.012206."""
    with pytest.raises(OutOfBudget, match=r"used its \$0.01 "):
        Kit(provider=Model(count=quarter), prices=Prices(), limits=RunLimits(usd=0.0122)).pipe(
            "step", [RULES, QUESTION]
        )
    made = Kit(provider=Model(count=quarter), prices=Prices(), limits=RunLimits(usd=0.0123))
    made.pipe("step", [RULES, QUESTION])
    assert (
        made.ledger.spent()["usd"]
        == pytest.approx(made.last.analyze.cost.usd)
        == pytest.approx((103 * 2 + 2 * 10) / 1e6)
    )
