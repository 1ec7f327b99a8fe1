"""A dataset returns: what a new export is taken for, what it means, what stays, and what an earlier version still answers."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peek_core.corpus.load import Source
from peek_core.errors import Cancelled, NotFound, Refused, UnreadableFile
from peek_core.policies.records import map_record
from peek_core.providers.scripted import Scripted
from peek_core.samples import sample
from peek_core.values.dataset import ReadChoices
from peek_core.workspace import Workspace

DATA = os.environ.get("PEEK_BENCH_DATA", "")
SECOND = Path(__file__).parents[1] / "sample_corpora" / "product_feedback"
HEADER = "id,status,score,spend,comment\n"


def row(n: int, status: str = "", spend: str = "") -> str:
    status = status or ("test" if n % 10 == 0 else "open")
    return f"{n},{status},{n % 5 + 1},{spend or 1_000 + n * 10},note {n}\n"


FIRST = HEADER + "".join(row(n) for n in range(1, 101))
TESTS_OUT = {
    "kind": "row_exclusion",
    "table": "t",
    "column": "status",
    "values": ["test"],
    "name": "Test rows don't count",
}
CENTS = {"kind": "unit", "table": "t", "column": "spend", "factor": 0.01, "unit": "euros", "name": "spend is in cents"}


@pytest.fixture
def start(open_workspace: Callable[..., Workspace], tmp_path: Path) -> Callable[..., tuple[Workspace, str]]:
    def begin(*replies: str) -> tuple[Workspace, str]:
        w = open_workspace(Scripted(list(replies)))
        (tmp_path / "t.csv").write_text(FIRST)
        return w, w.load(tmp_path / "t.csv", title="Tickets").id

    return begin


def export(tmp_path: Path, text: str, name: str = "next.csv") -> list[Source]:
    (tmp_path / name).write_text(text)
    return [Source(tmp_path / name, name)]


def files(w: Workspace) -> set[str]:
    root = w.settings.data_dir
    return {p.name for folder in ("corpora", "originals", "uploads") for p in (root / folder).iterdir()}


def accept(w: Workspace, dataset: str, sources: list[Source]) -> Any:
    settled = w.returning.settle(w.returning.receive(dataset, sources))
    return settled.impact, w.returning.accept(settled)


def on(w: Workspace, dataset: str, *definitions: dict[str, Any]) -> None:
    w.curator(dataset).propose(definitions, author="agent")
    for d in w.map(dataset).definitions:
        w.curator(dataset).decide(d.id, "on")


def test_nothing_changes_before_it_is_accepted(start: Callable[..., tuple[Workspace, str]], tmp_path: Path) -> None:
    w, dataset = start()
    before = files(w)
    arrival = w.returning.receive(dataset, export(tmp_path, FIRST + row(101)))
    settled = w.returning.settle(arrival)
    assert settled.impact.data.tables[0].added == 1
    assert w.dataset(dataset).version == 1 and w.report(dataset).rows == 100
    w.returning.drop(settled)
    assert files(w) == before


def test_what_nobody_decided_on_is_gone_after_a_day(open_workspace: Callable[..., Workspace], tmp_path: Path) -> None:
    w = open_workspace()
    (tmp_path / "t.csv").write_text(FIRST)
    dataset = w.load(tmp_path / "t.csv").id
    before = files(w)
    w.returning.receive(dataset, export(tmp_path, FIRST + row(101)))
    assert len(files(w)) == len(before) + 2
    w.shelf.sweep()
    assert len(files(w)) == len(before) + 2
    old = time.time() - 90_000
    for name in files(w) - before:
        (path,) = w.settings.data_dir.glob(f"*/{name}")
        os.utime(path, (old, old))
    w.shelf.sweep()
    assert files(w) == before


def test_accepting_makes_the_next_version_and_keeps_the_one_before(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    _, made = accept(w, dataset, export(tmp_path, FIRST + row(101)))
    assert made.version == 2
    assert [(v.number, v.report.rows) for v in w.returning.versions(dataset)] == [(1, 100), (2, 101)]
    assert w.sql(dataset, "SELECT count(*) FROM t").table.rows == ((101,),)


def test_renamed_and_moved_columns_keep_their_known_names(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    lines = [line.split(",") for line in FIRST.splitlines()[1:]]
    text = "State,comment,id,spend,stars\n" + "".join(f"{s},{c},{i},{m},{g}\n" for i, s, g, m, c in lines)
    impact, _ = accept(w, dataset, export(tmp_path, text + "open,new one,101,2010,4\n"))
    assert w.sql(dataset, "SELECT status, score FROM t WHERE id = 101").table.rows == (("open", 4),)
    labels = {c.name: c.label for c in w.report(dataset).tables[0].columns}
    assert (labels["status"], labels["score"]) == ("State", "stars")
    assert {c.name for c in impact.data.tables[0].columns if "renamed" in c.status} == {"status", "score"}


def test_the_same_file_again_is_refused(start: Callable[..., tuple[Workspace, str]], tmp_path: Path) -> None:
    w, dataset = start()
    before = files(w)
    with pytest.raises(Refused, match="byte for byte"):
        w.returning.receive(dataset, export(tmp_path, FIRST, "again.csv"))
    assert files(w) == before


@pytest.mark.parametrize("text", ["", "\x00\x01\x02" * 500])
def test_what_can_not_be_read_leaves_nothing(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path, text: str
) -> None:
    w, dataset = start()
    before = files(w)
    with pytest.raises(UnreadableFile):
        w.returning.receive(dataset, export(tmp_path, text))
    assert files(w) == before and w.dataset(dataset).version == 1


@pytest.mark.parametrize("stage", ["recognising the columns", "comparing t", "running earlier answers again"])
def test_stopping_leaves_everything_as_it_was(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path, stage: str
) -> None:
    w, dataset = start()
    before, seen = files(w), list[str]()

    def tell(name: str, done: float | None) -> None:
        seen.append(name)

    if stage == "running earlier answers again":
        tell = raising(stage)  # work in this process stops where its progress is told
    sources = export(tmp_path, FIRST + row(101))

    def whole() -> None:
        arrival = w.returning.receive(dataset, sources, progress=tell, cancelled=lambda: stage in seen)
        w.returning.settle(arrival, progress=tell, cancelled=lambda: stage in seen)

    with pytest.raises(Cancelled):
        whole()
    assert files(w) == before and w.dataset(dataset).version == 1


def raising(stage: str) -> Callable[[str, float | None], None]:
    def tell(name: str, done: float | None) -> None:
        if name == stage:
            raise Cancelled("Stopped", next="")

    return tell


def test_what_was_settled_about_reading_is_settled_for_the_next_export(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    w = open_workspace()
    day = lambda n, first: f"{n},{'{:02}.{:02}.2026' if first else '{:02}/{:02}/2026'}".format(n % 12 + 1, n % 9 + 1)  # noqa: E731
    (tmp_path / "t.csv").write_text("id,opened\n" + "".join(day(n, False) + "\n" for n in range(1, 40)))
    dataset = w.load(Source(tmp_path / "t.csv", "t.csv", ReadChoices(columns={"opened": "day first"}))).id
    arrival = w.returning.receive(
        dataset, export(tmp_path, "id,opened\n" + "".join(day(n, False) + "\n" for n in range(1, 60)))
    )
    (column,) = (c for c in arrival.report.tables[0].columns if c.name == "opened")
    assert column.way == "day first"


def test_items_hold_drift_or_break_without_a_model(start: Callable[..., tuple[Workspace, str]], tmp_path: Path) -> None:
    w, dataset = start()
    curator = w.curator(dataset)
    curator.add("cr", "The table has 100 rows.", "SELECT count(*) FROM t")
    curator.add("ps", "id is unique.", "SELECT count(*) = count(DISTINCT id) FROM t")
    curator.add("dc", "No status is 'closed'.", "SELECT count(*) FROM t WHERE status = 'closed'")
    curator.add("cu", "Scores are stars.")
    impact, _ = accept(w, dataset, export(tmp_path, FIRST + row(101, "closed")))
    assert [(i.state, i.text) for i in impact.items] == [
        ("drifted", "The table has 101 rows."),
        ("holds", "id is unique."),
        ("broken", "No status is 'closed'."),
        ("unverifiable", "Scores are stars."),
    ]
    assert [(i.state, i.text) for i in w.map(dataset).items] == [(i.state, i.text) for i in impact.items]


def test_what_broke_is_not_told_to_the_model_and_goes_to_the_cartographer(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    nothing = '{"diagnosis": "", "tags": [], "candidates": []}'
    w, dataset = start(
        "```python\nr = sql('SELECT count(*) AS n FROM t')\n```",
        "```python\nFINAL(str(r[0]['n']), value=r[0]['n'])\n```",
        nothing,
        json.dumps({"edits": [{"op": "DELETE", "id": "dc-00001", "why": "no longer so"}], "definitions": []}),
    )
    w.curator(dataset).add("dc", "No status is 'closed'.", "SELECT count(*) FROM t WHERE status = 'closed'")
    w.curator(dataset).add("ps", "id is unique.", "SELECT count(*) = count(DISTINCT id) FROM t")
    accept(w, dataset, export(tmp_path, FIRST + row(101, "closed")))
    assert "closed" not in map_record(w.map(dataset)).text and "unique" in map_record(w.map(dataset)).text
    run = w.wait(w.ask(dataset, "How many rows are there?"))
    chart = next(c for c in w.explaining.calls(run.id) if c.source == "chart")
    (hash,) = (s.hash for s in chart.explain.sections if s.name == "distillation")
    told = w.explaining.texts(dataset, chart)[0][hash]
    assert "[dc-00001] No status is 'closed'." in told and "ps-00002" not in told.partition("Distillation:")[0]
    assert [i.id for i in w.map(dataset).items] == ["ps-00002"]


def test_definitions_that_no_longer_fit_are_held_back_with_the_reason(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    on(w, dataset, TESTS_OUT, CENTS)
    text = HEADER + "".join(row(n, "open" if n % 10 == 0 else "", f"{10 + n / 10:.2f}") for n in range(1, 101))
    impact, _ = accept(w, dataset, export(tmp_path, text))
    assert {d.id: (d.state, d.why) for d in impact.definitions} == {
        "def-1": ("held_back", "nothing it speaks of is left in this version"),
        "def-2": (
            "held_back",
            "the numbers of spend are 0.01 times what they were: their unit seems to have changed",
        ),
    }
    assert w.sql(dataset, "SELECT avg(spend) FROM t").table.rows[0][0] == pytest.approx(15.05)


def test_a_definition_whose_effect_jumped_is_held_back_and_fits_again_later(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    on(w, dataset, TESTS_OUT)
    half = HEADER + "".join(row(n, "test" if n % 2 else "open") for n in range(1, 101))
    impact, _ = accept(w, dataset, export(tmp_path, half))
    assert impact.definitions[0].why == "it concerns 50.0% of the rows, it was 10.0% when it last fitted"
    impact, _ = accept(w, dataset, export(tmp_path, FIRST + row(101)))
    assert (impact.definitions[0].was, impact.definitions[0].state) == ("held_back", "on")
    assert w.sql(dataset, "SELECT count(*) FROM t").table.rows == ((91,),)


def test_earlier_answers_are_run_again(start: Callable[..., tuple[Workspace, str]], tmp_path: Path) -> None:
    answers = [
        f"```python\nr = sql({sql!r})\n```\n" if n % 2 == 0 else "```python\nFINAL(str(r[0]), value=1)\n```"
        for sql in ("SELECT count(*) AS n FROM t", "SELECT max(score) AS top FROM t", "SELECT avg(spend) AS a FROM t")
        for n in range(2)
    ]
    nothing = '{"diagnosis": "", "tags": [], "candidates": []}'
    replies = [x for pair in zip(answers[::2], answers[1::2], strict=True) for x in (*pair, nothing)]
    w, dataset = start(*replies)
    for question in ("How many rows?", "Which score is the highest?", "What is the average spend?"):
        assert w.wait(w.ask(dataset, question)).status == "answered"
    lines = (FIRST + row(101)).splitlines()
    without = "\n".join(",".join(line.split(",")[i] for i in (0, 1, 2, 4)) for line in lines) + "\n"
    impact, _ = accept(w, dataset, export(tmp_path, without))
    found = {a.question: (a.before, a.after) for a in impact.answers}
    assert impact.answers_run == 3 and set(found) == {"How many rows?", "What is the average spend?"}
    assert found["How many rows?"] == ("100", "101")
    assert found["What is the average spend?"][1].startswith("can't be run: ")


def test_an_earlier_version_is_asked_with_the_map_it_had_and_teaches_nothing(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start(
        "```python\nr = sql('SELECT count(*) AS n FROM t')\n```",
        "```python\nFINAL(str(r[0]['n']), value=r[0]['n'])\n```",
    )
    w.curator(dataset).add("cr", "The table has 100 rows.", "SELECT count(*) FROM t")
    accept(w, dataset, export(tmp_path, FIRST + row(101)))
    now = w.map(dataset)
    run = w.wait(w.ask(dataset, "How many rows were there?", version=1))
    assert run.trajectory is not None and run.trajectory.answer is not None
    assert run.trajectory.answer.value == 100 and run.version == 1
    assert w.returning.map_as_of(dataset, 1).items[0].text == "The table has 100 rows."
    assert w.map(dataset) == now
    with pytest.raises(NotFound):
        w.ask(dataset, "How many?", version=7)


def test_a_new_version_is_no_step_to_undo(start: Callable[..., tuple[Workspace, str]], tmp_path: Path) -> None:
    """What is taken back is the act before it, and what comes back is checked on the rows there are now."""
    w, dataset = start()
    w.curator(dataset).add("cr", "The table has 100 rows.", "SELECT count(*) FROM t")
    w.curator(dataset).add("cu", "Scores are stars.")
    accept(w, dataset, export(tmp_path, FIRST + row(101)))
    assert [i.text for i in w.curator(dataset).undo().items] == ["The table has 101 rows."]
    w.curator(dataset).undo()
    assert [i.text for i in w.curator(dataset).redo().items] == ["The table has 101 rows."]


def test_a_version_is_deleted_with_its_rows_and_its_number_is_not_given_again(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    w.curator(dataset).add("cr", "The table has 100 rows.", "SELECT count(*) FROM t")
    accept(w, dataset, export(tmp_path, FIRST + row(101)))
    on_two = w.returning.depends(dataset, 2)
    assert (on_two.questions, on_two.map_versions, on_two.newest) == (0, 1, True)
    before = files(w)
    assert w.returning.delete(dataset, 2).version == 1
    assert len(files(w)) == len(before) - 2, "its rows and its original are gone"
    assert w.map(dataset).items[0].text == "The table has 100 rows."
    _, made = accept(w, dataset, export(tmp_path, FIRST + row(101) + row(102)))
    assert made.version == 3
    w.returning.delete(dataset, 1)
    with pytest.raises(Refused, match="only version"):
        w.returning.delete(dataset, 3)


def test_any_two_versions_are_compared_and_a_stored_report_stays_as_it_was_found(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    with pytest.raises(Refused, match="no version before"):
        w.returning.impact(dataset)
    w.curator(dataset).add("cr", "The table has 100 rows.", "SELECT count(*) FROM t")
    first, _ = accept(w, dataset, export(tmp_path, FIRST + row(101)))
    accept(w, dataset, export(tmp_path, FIRST + row(101) + row(102)))
    assert w.returning.impact(dataset, 1, 2).items == first.items
    far = w.returning.impact(dataset, 1, 3)
    assert far.data.tables[0].added == 2 and far.items[0].text == "The table has 102 rows."


def test_a_version_that_came_meanwhile_is_not_overwritten(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start()
    one = w.returning.settle(w.returning.receive(dataset, export(tmp_path, FIRST + row(101), "a.csv")))
    other = w.returning.settle(w.returning.receive(dataset, export(tmp_path, FIRST + row(102), "b.csv")))
    w.returning.accept(one)
    with pytest.raises(Refused, match="meanwhile"):
        w.returning.accept(other)
    assert w.dataset(dataset).version == 2


# The samples, whole


def played(w: Workspace, dataset: str, question: str) -> tuple[str, Any, str]:
    run = w.wait(w.ask(dataset, question))
    answer = run.trajectory.answer if run.trajectory else None
    return run.status, answer.value if answer else None, answer.text if answer else ""


def test_24_planted_items_on_the_second_export_of_the_sample(open_workspace: Callable[..., Workspace]) -> None:
    """12 whose truth changes are all found, 12 that hold raise no alarm, none is unverifiable, and no later answer is
    wrong for a stale one."""
    about = tomllib.loads((SECOND / "second.toml").read_text("utf-8"))
    w = open_workspace()
    dataset = w.load_sample("product_feedback").id
    w.set_map(dataset, budget=4_000)
    ids = {}
    for item in about["item"]:
        curator = w.curator(dataset)
        if item["kind"] == "prose":
            ids[item["id"]] = curator.add(item["section"], item["text"], item["evidence"])[1].id
        else:
            known = {d.id for d in w.map(dataset).definitions}
            made = curator.propose([item["definition"]], author="agent")
            (ids[item["id"]],) = {d.id for d in made.definitions} - known
            curator.decide(ids[item["id"]], "on")
    arrival = w.returning.receive_sample(dataset)
    assert arrival.proposal.certain
    settled = w.returning.settle(arrival)
    w.returning.accept(settled)
    states = {o.id: o.state for o in (*settled.impact.items, *settled.impact.definitions)}
    wrong = {i["id"]: states[ids[i["id"]]] for i in about["item"] if states[ids[i["id"]]] not in i["expect"]}
    assert wrong == {}
    changing = [i for i in about["item"] if i["truth"] == "changes"]
    assert (len(changing), len(about["item"])) == (12, 24)
    assert sum(states[ids[i["id"]]] in ("drifted", "broken", "held_back") for i in changing) == 12
    assert sum(state == "unverifiable" for state in states.values()) <= 0.2 * 24
    for rule in ("A low rating is 1 or 2. What share of ratings are low?",):
        played(w, dataset, rule)
    answered = 0
    for line in (SECOND / "questions_second.jsonl").read_text("utf-8").splitlines():
        asked = json.loads(line)
        status, value, text = played(w, dataset, asked["question"])
        if status != "answered":
            continue
        answered += 1
        if asked["answer_kind"] == "number":
            assert value == pytest.approx(asked["answer"], abs=asked["tolerance"] or 0.5), (asked["question"], text)
        elif asked["answer_kind"] == "share":
            assert value == pytest.approx(100 * asked["answer"], abs=0.1) or value == pytest.approx(
                asked["answer"], abs=0.001
            )
    assert answered >= 12
    assert sample("product_feedback").next_as_of == w.dataset(dataset).asked_on


@pytest.mark.skipif(not DATA, reason="PEEK_BENCH_DATA is not set: the airline tweets are needed")
def test_airline_tweets_come_back_from_a_spreadsheet(open_workspace: Callable[..., Workspace]) -> None:
    """A map over the clean export, held against the one a spreadsheet saved: what still holds, and what does not."""
    w = open_workspace()
    dataset = w.load(Path(DATA, "feedback", "airline_tweets_a.csv"), title="t").id
    t = "airline_tweets_a"
    items = {
        "rows": ("holds", "cr", "There are 14,640 rows.", f"SELECT count(*) FROM {t}"),
        "classes": ("holds", "dc", "airline_sentiment is negative, neutral or positive.",
                    f"SELECT DISTINCT airline_sentiment FROM {t} ORDER BY 1"),
        "airlines": ("holds", "dc", "Six airlines are spoken of.", f"SELECT count(DISTINCT airline) AS airlines FROM {t}"),
        "negative": ("holds", "rr", "9,178 tweets are negative.", f"SELECT count(*) FROM {t} WHERE airline_sentiment = 'negative'"),
        "reasons": ("holds", "cu", "Only negative tweets have a reason.",
                    f"SELECT count(*) FROM {t} WHERE negativereason IS NOT NULL AND airline_sentiment <> 'negative'"),
        "worst": ("holds", "rr", "United has the most negative tweets.",
                  f"SELECT arg_max(airline, n) FROM (SELECT airline, count(*) AS n FROM {t} WHERE airline_sentiment = 'negative' GROUP BY 1)"),
        "days": ("holds", "cr", "Tweets run from 2015-02-16 to 2015-02-24.",
                 f"SELECT min(tweet_created)::DATE AS first_day, max(tweet_created)::DATE AS last_day FROM {t}"),
        "by_day": ("holds", "rr", "2015-02-22 is the busiest day.", f"SELECT arg_max(d, n) FROM (SELECT tweet_created::DATE AS d, count(*) AS n FROM {t} GROUP BY 1)"),
        "handles": ("broken", "ps", "Every text mentions an airline by its handle at the start in most cases: none begins with '='.",
                    f"SELECT count(*) FILTER (WHERE text LIKE '=%') AS formulas FROM {t}"),
        "minutes": ("broken", "ps", "tweet_created is exact to the minute.",
                    f"SELECT count(*) FILTER (WHERE second(tweet_created) <> 0) AS with_seconds FROM {t}"),
        "ids": ("broken", "ps", "tweet_id has all its digits: hardly one ends in 000.",
                f"SELECT count(*) FILTER (WHERE tweet_id % 1000 = 0) > 1000 AS rounded FROM {t}"),
        "texts": ("drifted", "rr", "There are 14,427 different texts.", f"SELECT count(DISTINCT text) FROM {t}"),
    }  # fmt: skip
    ids = {name: w.curator(dataset).add(s, text, sql)[1].id for name, (_, s, text, sql) in items.items()}
    arrival = w.returning.receive(dataset, [Source(Path(DATA, "feedback", "airline_tweets_b_excel.csv"), "b.csv")])
    assert arrival.proposal.certain
    settled = w.returning.settle(arrival)
    states = {i.id: i.state for i in settled.impact.items}
    assert {name: states[ids[name]] for name in items} == {name: expected for name, (expected, *_) in items.items()}
    w.returning.drop(settled)
