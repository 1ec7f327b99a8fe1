"""The workspace end to end, with a scripted model and with the built-in analyst: what a person does, and finds again."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from peek_core.context_map.map import render
from peek_core.errors import Conflict, NotFound, QueryFailed, Refused, UnreadableFile
from peek_core.keeping import KEY_FILE
from peek_core.providers.scripted import Scripted
from peek_core.values.dataset import ReadChoices
from peek_core.values.events import Event
from peek_core.workspace import Workspace

LOOK = '```python\nr = sql("SELECT count(*) AS n FROM tickets")\nshow("SELECT channel, count(*) AS n FROM tickets GROUP BY ALL", "by channel")\n```'
ANSWER = "```python\nFINAL(f\"{r[0]['n']} tickets.\", value=r[0]['n'], notes=['all rows'])\n```"
DISTILLED = json.dumps({
    "diagnosis": "d", "tags": [],
    "candidates": [
        {"kind": "item", "section": "cr", "text": "One row is one ticket; id is unique.",
         "evidence": {"sql": "SELECT count(*) - count(DISTINCT id) FROM tickets", "expect": [[0]]}},
        {"kind": "definition", "definition": {"kind": "row_exclusion", "table": "tickets", "column": "status", "values": ["test"],
                                              "name": "Test rows don't count"}},
    ],
})  # fmt: skip
CHARTED = json.dumps({"edits": [{"op": "ADD", "candidate": 0}], "definitions": [1]})
NOTHING = ['{"diagnosis": "", "tags": [], "candidates": []}', '{"edits": []}']


@pytest.fixture
def taught(open_workspace: Callable[..., Workspace], tickets: Path) -> tuple[Workspace, str, str]:
    """A workspace whose scripted model has answered one question and proposed one definition."""
    w = open_workspace(Scripted([LOOK, ANSWER, DISTILLED, CHARTED, LOOK, ANSWER, *NOTHING]))
    dataset = w.load(tickets).id
    run = w.ask(dataset, "How many tickets?")
    assert w.wait(run, 60).status == "answered"
    return w, dataset, run


def test_spellings_found_while_reading_wait_as_a_definition(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    w = open_workspace()
    source = tmp_path / "sales.csv"
    source.write_text("city,amount\n" + "Paris,111\n" * 3 + "paris,50\n" * 2 + "Rome,7\n")
    dataset = w.load(source).id
    (proposed,) = w.map(dataset).definitions
    assert (proposed.kind, proposed.column, proposed.mapping) == ("spelling_fold", "city", {"paris": "Paris"})
    assert (proposed.state, proposed.author, proposed.effect["values_changed"]) == ("proposed", "reading", 2)
    by_city = "SELECT city, sum(amount) FROM sales GROUP BY 1 ORDER BY 1"
    assert w.sql(dataset, by_city).table.rows == (("Paris", 333), ("Rome", 7), ("paris", 100))
    w.curator(dataset).decide(proposed.id, "on")
    assert w.sql(dataset, by_city).table.rows == (("Paris", 433), ("Rome", 7))
    file, report = w.reread(dataset, {"sales.csv": ReadChoices(columns={"amount": "text"})})
    w.apply_reread(dataset, file, report)
    assert [d.id for d in w.map(dataset).definitions] == [proposed.id]


def test_a_reading_nobody_decided_on_is_swept_away(
    open_workspace: Callable[..., Workspace], tickets: Path, tmp_path: Path
) -> None:
    w = open_workspace()
    dataset = w.load(tickets).id
    file, _ = w.reread(dataset, {})
    corpora = w.settings.data_dir / "corpora"
    w.shelf.sweep()
    assert (corpora / file).exists(), "somebody may be looking at it"
    old = time.time() - 2 * 86_400
    for held in corpora.glob("*.duckdb"):
        os.utime(held, (old, old))
    w.shelf.sweep()
    assert not (corpora / file).exists()
    assert w.sql(dataset, "SELECT 1 FROM tickets LIMIT 1").table.row_count == 1


def test_whoever_watches_sees_this_process_write_at_once(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    w = open_workspace(Scripted([]))
    dataset = w.load(tickets).id
    assert w.at_work(dataset) == ()
    w.store.add_run(
        id="r", dataset=dataset, version=1, arm="peek", map_version=None, question="q", analyst="a", status="running",
        phase="working", created=w.store.now(), owner="elsewhere", patient=0,
    )  # fmt: skip
    assert [(view.id, events) for view, events in w.at_work(dataset)] == [("r", ())]
    w.store.add_event(dataset, Event("r", 1, "turn", 0.0, {"turn": 1}))
    assert [e.seq for _, events in w.at_work(dataset) for e in events] == [1]
    w.store.update_run("r", phase="done")
    assert w.at_work(dataset) == ()


def test_a_question_leaves_steps_answer_checked_numbers_and_what_was_learned(
    taught: tuple[Workspace, str, str],
) -> None:
    w, dataset, run = taught
    view = w.run(run)
    assert view.trajectory is not None
    assert view.trajectory.answer is not None
    assert (view.trajectory.answer.text, view.trajectory.answer.value, view.trajectory.answer.notes) == (
        "100 tickets.",
        100,
        ("all rows",),
    )
    assert view.trajectory.answer.table is not None
    assert (
        view.trajectory.answer.table.rows == (("chat", 33), ("email", 67))
        or view.trajectory.answer.table.row_count == 2
    )
    assert [f["result"] for f in view.summary["figures"]] == [2]
    names = [e.name for e in w.events(run)]
    assert names[0] == "started"
    assert [n for n in names if n in ("answer", "ended", "distilled", "edits", "admission", "evicted", "learned")] == [
        "answer", "ended", "distilled", "edits", "admission", "evicted", "learned",
    ]  # fmt: skip
    assert [c.source for c in w.explaining.calls(run)] == ["step", "step", "distill", "chart"]
    assert [i.text for i in w.map(dataset).items] == ["One row is one ticket; id is unique."]


def test_accepting_a_definition_rebuilds_the_view_and_the_next_answer_says_what_it_did(
    taught: tuple[Workspace, str, str],
) -> None:
    w, dataset, _ = taught
    (proposed,) = w.map(dataset).definitions
    assert (proposed.state, proposed.effect["rows_after"]) == ("proposed", 90)
    assert w.sql(dataset, "SELECT count(*) FROM tickets").table.rows == ((100,),)
    w.curator(dataset).decide(proposed.id, "on")
    assert w.sql(dataset, "SELECT count(*) FROM tickets").table.rows == ((90,),)
    assert w.sql(dataset, "SELECT count(*) FROM raw.main.tickets").table.rows == ((100,),)
    assert w.profile(dataset).tables[0].rows == 90
    again = w.wait(w.ask(dataset, "And now?"), 60)
    assert [d["rows_moved"] for d in again.summary["definitions"]] == [10]
    w.curator(dataset).decide(proposed.id, "off")
    assert w.sql(dataset, "SELECT count(*) FROM tickets").table.rows == ((100,),)


def test_everything_is_there_again_after_a_restart(
    taught: tuple[Workspace, str, str], open_workspace: Callable[..., Workspace]
) -> None:
    w, dataset, run = taught
    w.curator(dataset).mark("cr-00001", "pin")
    w.rename(dataset, "Ticket dump")
    before = w.map(dataset)
    w.close()
    again = open_workspace()
    assert again.map(dataset) == before
    assert again.dataset("Ticket dump").id == dataset
    assert again.run(run).trajectory == w_trajectory(again, run)
    assert [e.seq for e in again.events(run)] == list(range(1, len(again.events(run)) + 1))


def w_trajectory(w: Workspace, run: str):
    return w.run(run).trajectory


def test_what_was_sent_can_be_read_word_for_word(taught: tuple[Workspace, str, str]) -> None:
    w, dataset, run = taught
    call = w.explaining.calls(run)[1]
    texts, reply = w.explaining.texts(dataset, call)
    assert reply == ANSWER
    assert {s.name for s in call.explain.sections} >= {
        "identity",
        "protocol",
        "profile",
        "context map",
        "question",
        "cell 1",
        "observation 1",
    }
    assert "QUESTION: How many tickets?" in texts[next(s.hash for s in call.explain.sections if s.name == "question")]


def test_curation_by_hand(taught: tuple[Workspace, str, str]) -> None:
    w, dataset, _ = taught
    c = w.curator(dataset)
    saved, item = c.add("dc", "A good score is 4 or 5.", "SELECT count(*) FROM tickets WHERE score >= 4")
    assert (item.author, item.state, item.evidence.expect) == ("person", "holds", ((40,),))  # type: ignore[union-attr]
    c.edit(item.id, "A good score is 5.", "SELECT count(*) FROM tickets WHERE score = 5", based_on=saved.version)
    c.score(item.id, 4)
    c.mark(item.id, "lock")
    held = w.map(dataset).item(item.id)
    assert held is not None
    assert (held.text, held.score, held.locked) == ("A good score is 5.", 4, True)
    with pytest.raises(Refused, match="was changed meanwhile"):
        c.edit(item.id, "stale edit", based_on=saved.version)
    with pytest.raises(QueryFailed):
        c.add("cu", "nonsense", "SELECT nope FROM tickets")
    with pytest.raises(NotFound):
        c.delete("cu-99999")
    c.delete(item.id)
    assert w.map(dataset).item(item.id) is None
    c.restore(saved.version)
    assert w.map(dataset).item(item.id) is not None
    assert [v.author for v in w.store.map_versions(dataset, "peek")] == ["agent"] + ["person"] * 6


def test_lowering_the_budget_previews_who_leaves_and_pins_stay(taught: tuple[Workspace, str, str]) -> None:
    w, dataset, _ = taught
    c = w.curator(dataset)
    for n in range(6):
        c.add("ps", f"Trap number {n}: column note_{n} holds " + "free words " * 12)
    pinned = w.map(dataset).items[1].id
    c.mark(pinned, "pin")
    budget = w.count_tokens(render(w.map(dataset).items)) - 60
    before = w.map(dataset)
    _, gone = c.preview(budget, "paper")
    assert gone
    assert w.map(dataset) == before
    w.set_map(dataset, budget=budget)
    w.curator(dataset).apply_budget()
    after = w.map(dataset)
    assert w.count_tokens(render(after.items)) <= budget
    assert after.item(pinned) is not None
    other = next(i.id for i in after.items if not i.pinned)
    w.set_map(dataset, budget=w.count_tokens(render([i for i in after.items if i.pinned])))
    with pytest.raises(Refused, match="can't be pinned: the 2 pinned items would take"):
        w.curator(dataset).mark(other, "pin")


def test_two_people_cannot_overwrite_each_other(taught: tuple[Workspace, str, str]) -> None:
    from peek_core.book import StoreBook
    from peek_core.context_map.history import MapEvent

    w, dataset, _ = taught
    book = StoreBook(w.store, dataset, "peek")
    seen = book.current()
    w.curator(dataset).score("cr-00001", 3)
    with pytest.raises(Conflict):
        book.commit(seen, seen, [MapEvent("score")])


def test_the_whole_result_is_exported_with_formula_starts_neutralised(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    source = tmp_path / "f.csv"
    source.write_text("id,note,n\n" + "".join(f"{i},=cmd|' /C calc'!A0,-{i}\n" for i in range(1, 1_801)), "utf-8")
    w = open_workspace()
    dataset = w.load(source).id
    target = tmp_path / "out.csv"
    assert w.export_csv(dataset, "SELECT * FROM f", target) == 1_800
    first = target.read_text("utf-8").splitlines()[1]
    assert first.startswith("1,")
    assert "'=cmd" in first
    assert first.endswith(",-1")


def test_forget_leaves_no_trace_on_the_disk(taught: tuple[Workspace, str, str], tmp_path: Path) -> None:
    w, dataset, _ = taught
    w.curator(dataset).add("cu", "canary-7f3a stands here")
    w.forget(dataset)
    assert w.datasets() == ()
    w.close()
    left = [p for p in (tmp_path / "data").rglob("*") if p.is_file() and p.suffix not in (".sqlite-wal", ".sqlite-shm")]
    # The directory's own key belongs to no dataset.
    assert sorted(p.name for p in left) == [KEY_FILE, "peek.sqlite"]
    with w.store._engine.connect() as c:
        from peek_core.store.schema import metadata

        assert {
            t.name: c.exec_driver_sql(f'SELECT count(*) FROM "{t.name}"').scalar()
            for t in metadata.sorted_tables
            if "dataset" in t.c
        } == {t.name: 0 for t in metadata.sorted_tables if "dataset" in t.c}
    w.store.close()


def test_cancel_ends_the_run_at_once_and_keeps_what_there_was(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    slow = '```python\nr = sql("SELECT count(*) FROM range(40000000000) a")\n```'
    w = open_workspace(Scripted([LOOK, slow]))
    dataset = w.load(tickets).id
    run = w.ask(dataset, "Slow one")
    deadline = time.monotonic() + 30
    while not any(e.name == "cell" and e.body["turn"] == 2 for e in w.events(run)) and time.monotonic() < deadline:
        time.sleep(0.05)
    started = time.monotonic()
    w.cancel(run)
    view = w.wait(run, 20)
    assert view.status == "cancelled"
    assert time.monotonic() - started < 5
    assert view.trajectory is not None
    assert len(view.trajectory.steps) >= 1
    assert w.map(dataset).version == 0


def test_questions_of_one_conversation_are_worked_on_in_order(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    w = open_workspace()
    dataset = w.load(tickets).id
    runs = [
        w.ask(dataset, q, patient=True)
        for q in ("How many email tickets?", "Of those, how many scored 4 or more?", "And for chat?")
    ]
    views = [w.wait(r, 60) for r in runs]
    assert all(a.ended <= b.ended for a, b in itertools.pairwise(views))  # type: ignore[operator]
    assert [v.status for v in views] == ["answered"] * 3


def test_the_data_directory_can_be_shared_and_pid_names_the_owner(open_workspace: Callable[..., Workspace]) -> None:
    a, b = open_workspace(), open_workspace()
    assert a._jobs.owner != b._jobs.owner
    assert a._jobs.owner.startswith(str(os.getpid()))


def test_another_reading_is_looked_at_before_it_is_kept(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id;created\n1;03/01/2024\n2;04/02/2024\n", "utf-8")
    w = open_workspace(Scripted([]))
    dataset = w.load(source).id
    source.unlink()  # the kept original is read, not the file
    file, report = w.reread(dataset, {"t.csv": ReadChoices(columns={"created": "month first"})})
    assert w.dataset(dataset).version == 1 and not [d for d in report.doubts if "created" in d.where]
    w.shelf.discard(file)
    assert w.sql(dataset, "SELECT max(month(created_date)) FROM t").table.rows == ((2,),)
    w.apply_reread(dataset, *w.reread(dataset, {"t.csv": ReadChoices(columns={"created": "month first"})}))
    assert w.dataset(dataset).version == 2
    assert w.sql(dataset, "SELECT max(month(created_date)) FROM t").table.rows == ((4,),)
    assert w.report(dataset).sources[0].choices.columns == {"created": "month first"}


def test_a_file_read_by_its_path_must_be_the_same_when_read_again(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id;a\n1;x\n", "utf-8")
    w = open_workspace(Scripted([]))
    dataset = w.load(source, keep=False).id
    source.write_text("id;a\n1;y\n", "utf-8")
    with pytest.raises(Refused, match="not the file it was"):
        w.reread(dataset, {})
    source.unlink()
    with pytest.raises(UnreadableFile):
        w.reread(dataset, {})
    assert w.sql(dataset, "SELECT a FROM t").table.rows == (("x",),)


def test_further_files_become_tables_of_a_dataset(open_workspace: Callable[..., Workspace], tmp_path: Path) -> None:
    for name, text in (("a", "id,k\n1,x\n2,y\n3,z\n"), ("b", "k,v\nx,1\ny,2\nz,3\n")):
        (tmp_path / f"{name}.csv").write_text(text, "utf-8")
    w = open_workspace(Scripted([]))
    dataset = w.load(tmp_path / "a.csv").id
    w.load(tmp_path / "b.csv", into=dataset)
    report = w.report(dataset)
    assert [t.name for t in report.tables] == ["a", "b"] and w.dataset(dataset).version == 2
    assert [(k.left_column, k.right_column) for k in report.keys] == [("k", "k")]
    assert w.sql(dataset, "SELECT sum(v) FROM a JOIN b USING (k)").table.rows == ((6,),)


def test_a_correction_says_which_earlier_answers_it_would_have_changed(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    rule = {"kind": "row_exclusion", "table": "tickets", "column": "status", "values": ["test"], "name": "No tests"}
    told = json.dumps({"tags": [], "candidates": [{"kind": "definition", "definition": rule, "rationale": "stated"}]})
    w = open_workspace(Scripted([LOOK, ANSWER, *NOTHING, LOOK, ANSWER, told, '{"edits": [], "definitions": [0]}']))
    dataset = w.load(tickets).id
    first = w.ask(dataset, "How many tickets?")
    w.wait(first, 60)
    w.wait(w.ask(dataset, "Test tickets don't count, leave them out. How many?"), 60)
    (proposed,) = w.map(dataset).definitions
    assert (proposed.state, proposed.question) == ("proposed", "Test tickets don't count, leave them out. How many?")
    (changed, *_) = w.consequences(dataset, proposed.id)
    assert (changed.before, changed.after) == ("email 67", "60 and 1 more row")
    w.curator(dataset).decide(proposed.id, "on")
    assert w.consequences(dataset, proposed.id)[0].question == changed.question


def test_what_was_looked_at_is_told_to_the_next_question_in_one_line(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    script = Scripted([LOOK, ANSWER, *NOTHING, LOOK, ANSWER, *NOTHING])
    w = open_workspace(script)
    dataset = w.load(tickets).id
    w.wait(w.ask(dataset, "How many tickets?"), 60)
    assert [(r.table, r.column) for r in w.inspected(dataset).seen] == [("tickets", "channel")]
    w.wait(w.ask(dataset, "And again?"), 60)
    asked = [
        next(s["text"] for s in json.loads(wire) if s["name"] == "coverage")
        for wire in (script.wires[0], script.wires[4])
    ]
    assert asked[0].endswith("Looked at so far: nothing.")
    assert "Looked at so far, in 2 queries: tickets: channel; never " in asked[1]


def test_a_dataset_that_fits_one_prompt_is_told_of(open_workspace: Callable[..., Workspace], tickets: Path) -> None:
    w = open_workspace()
    assert "fit one prompt" in (w.cannot_pay(w.load(tickets).id) or "")


def test_refunds_corrected_in_chat_become_a_proposal_that_says_what_it_changes(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    w = open_workspace()
    source = tmp_path / "orders.csv"
    source.write_text("id,amount\n" + "".join(f"{n},{-20 if n % 5 == 0 else 10}\n" for n in range(1, 41)))
    dataset = w.load(source).id
    first = w.wait(w.ask(dataset, "What is the total amount?"), 60)
    second = w.wait(w.ask(dataset, "Refunds are negative, leave them out. What is the total amount?"), 60)
    assert [v.trajectory and v.trajectory.answer and v.trajectory.answer.value for v in (first, second)] == [160, 320]
    (proposed,) = w.map(dataset).definitions
    assert (proposed.rule, proposed.effect["rows_after"]) == ("rows where amount < 0 don't count", 32)
    (changed,) = [c for c in w.consequences(dataset, proposed.id) if c.run == first.id]
    assert changed.question == "What is the total amount?"
    assert changed.before.startswith("sum_amount 160") and changed.after.startswith("320")


def test_a_question_without_an_answer_is_part_of_the_conversation(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    refused = '```python\nFINAL(None, notes=["There is no column for prices."])\n```'
    script = Scripted([LOOK, refused, *NOTHING, LOOK, ANSWER, *NOTHING])
    w = open_workspace(script)
    dataset = w.load(tickets).id
    assert w.wait(w.ask(dataset, "What do tickets cost?"), 60).status == "no_answer"
    w.wait(w.ask(dataset, "Then how many are there?"), 60)
    told = next(s["text"] for s in json.loads(script.wires[4]) if s["name"] == "conversation")
    assert "- What do tickets cost?" in told and "(no answer: There is no column for prices." in told
