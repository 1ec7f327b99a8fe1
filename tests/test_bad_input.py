"""Bad replies, bad cells, bad questions, bad places: each ends in a sentence and leaves everything else as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from peek_core import settings
from peek_core.errors import EndpointFailed, Refused
from peek_core.providers.scripted import Scripted
from peek_core.workspace import RunView, Workspace

ROOT = Path(__file__).resolve().parents[1]
LOOK = '```python\nr = sql("SELECT count(*) AS n FROM tickets")\nprint(r)\n```'
ANSWER = "```python\nFINAL(f\"{r[0]['n']} tickets.\")\n```"
NOTHING = ['{"diagnosis": "", "tags": [], "candidates": []}', '{"edits": []}']


def cell(code: str) -> str:
    return f"```python\n{code}\n```"


@pytest.fixture
def play(open_workspace: Callable[..., Workspace], tickets: Path) -> Callable[..., RunView]:
    """Answer one question with these replies."""

    def play(*replies: str | EndpointFailed, question: str = "How many tickets?", **changes: object) -> RunView:
        w = open_workspace(Scripted([*replies, *NOTHING]), **changes)
        return w.wait(w.ask(w.load(tickets).id, question), 120)

    return play


def answer(view: RunView) -> str:
    assert view.trajectory is not None
    assert view.trajectory.answer is not None
    return view.trajectory.answer.text


@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        ("There are 100 tickets.", "The reply held no cell"),
        (cell("1/0"), "ZeroDivisionError"),
        (cell('sql("SELECT nope FROM tickets")'), "nope"),
        (cell("import os\nprint(os.listdir('/'))"), ""),
        (cell('sql("COPY tickets TO \'/tmp/stolen.csv\'")'), ""),
        (cell("sql(\"SELECT * FROM read_csv('/etc/passwd')\")"), ""),
        (cell("sql(\"ATTACH '/tmp/x.duckdb'\")"), ""),
        (cell('sql("SELECT 1; SELECT 2")'), ""),
        (cell("sql(7)"), "A query is a text, not int"),
        (cell('FINAL("42 tickets")'), "FINAL before any look at the data"),
        (cell('FINAL_VAR("nothing")'), "FINAL_VAR takes a variable made in an earlier turn"),
        (cell('llm_query_batched(["x"] * 51)'), "51 prompts at once; at most 50"),
        (cell("def f(:\n  pass"), "SyntaxError"),
        ("```python\nx = 1", "The cell's fence was never closed"),
    ],
    ids=range(14),
)  # fmt: skip
def test_a_bad_cell_becomes_an_observation_and_the_run_goes_on(
    play: Callable[..., RunView], bad: str, seen: str
) -> None:
    view = play(bad, LOOK, ANSWER)
    assert view.status == "answered", view.reason
    assert answer(view) == "100 tickets."
    first = view.trajectory.steps[0]  # type: ignore[union-attr]
    assert first.error
    assert seen in first.observation
    assert "root:" not in first.observation
    assert not Path("/tmp/stolen.csv").exists()


def test_loops_and_floods_are_stopped_and_the_run_goes_on(play: Callable[..., RunView]) -> None:
    from dataclasses import replace

    quick = replace(settings.CellLimits(), feed_s=1.0, turn_s=1.0)
    view = play(
        cell("while True:\n    pass"), cell("for i in range(10**9):\n    print('x' * 100)"), LOOK, ANSWER, cell=quick
    )
    assert view.status == "answered", view.reason
    assert [bool(s.error) for s in view.trajectory.steps] == [True, True, False, False]  # type: ignore[union-attr]
    assert len(view.trajectory.steps[1].observation) < 20_000  # type: ignore[union-attr]


def test_an_invented_output_after_the_fence_is_not_read(play: Callable[..., RunView]) -> None:
    view = play(LOOK + "\nOutput: [{'n': 7}]\n" + cell('FINAL("7 tickets.")'), ANSWER)
    assert answer(view) == "100 tickets."


def test_a_model_that_never_writes_a_cell_ends_in_a_sentence(play: Callable[..., RunView]) -> None:
    view = play("no", "still no", "never")
    assert (view.status, view.reason) == (
        "no_answer", "The model's last 3 replies held no cell to run. Choose another model or ask again.",
    )  # fmt: skip


def test_a_model_that_repeats_itself_ends_in_a_sentence(play: Callable[..., RunView]) -> None:
    assert play(LOOK, LOOK, LOOK).reason == "The model wrote the same cell 3 times in a row. Ask in other words."


def test_turns_run_out_honestly(play: Callable[..., RunView]) -> None:
    from dataclasses import replace

    few = replace(settings.RunLimits(), turns=2)
    assert play(LOOK, cell("print(r)"), run=few).reason == "No answer after 2 turns. Ask a narrower question."


def test_a_failing_endpoint_ends_the_run_and_teaches_nothing(
    play: Callable[..., RunView], open_workspace: Callable[..., Workspace]
) -> None:
    view = play(LOOK, EndpointFailed("The endpoint is busy (429)", next="Wait a little and ask again."))
    assert (view.status, view.reason) == ("failed", "The endpoint is busy (429). Wait a little and ask again.")
    assert len(view.trajectory.steps) == 1  # type: ignore[union-attr]
    assert open_workspace().map(view.dataset).version == 0


def test_a_number_found_in_no_result_is_marked(play: Callable[..., RunView]) -> None:
    view = play(LOOK, cell('FINAL("There are 100 tickets, 12 of them urgent.")'))
    assert [(f["text"], f["result"]) for f in view.summary["figures"]] == [("100", 1), ("12", None)]


@pytest.mark.parametrize("question", ["", "   \n ", "x" * 20_001])
def test_no_question_and_an_endless_one_are_refused_before_anything_runs(
    open_workspace: Callable[..., Workspace], tickets: Path, question: str
) -> None:
    w = open_workspace()
    dataset = w.load(tickets).id
    with pytest.raises(Refused):
        w.ask(dataset, question)
    assert w.runs(dataset) == ()


@pytest.mark.parametrize(
    "question",
    ["Wie viele Tickets gibt es pro Kanal?", "有多少张工单？", "asdf qwer", "'; DROP TABLE tickets; --", "?" * 500],
)
def test_what_the_built_in_analyst_cannot_read_it_does_not_answer(
    open_workspace: Callable[..., Workspace], tickets: Path, question: str
) -> None:
    w = open_workspace()
    view = w.wait(w.ask(w.load(tickets).id, question), 60)
    assert view.status == "no_answer"
    assert answer(view)


def test_a_second_server_on_the_same_directory_sees_the_same(
    open_workspace: Callable[..., Workspace], tickets: Path
) -> None:
    a, b = open_workspace(), open_workspace()
    dataset = a.load(tickets).id
    first, second = a.ask(dataset, "How many tickets?"), b.ask(dataset, "How many tickets are there per channel?")
    assert a.wait(first, 60).status == b.wait(second, 60).status == "answered"
    assert [r.id for r in b.runs(dataset)] == [r.id for r in a.runs(dataset)] == [first, second]


SLOW = """
import sys
from pathlib import Path
from peek_core import settings
from peek_core.providers.scripted import Scripted
from peek_core.workspace import Workspace
look = '```python\\nr = sql("SELECT count(*) AS n FROM tickets")\\n```'
slow = '```python\\nsql("SELECT count(*) FROM range(90000000000)")\\n```'
w = Workspace(settings.read({}, Path(sys.argv[1])), provider=lambda: Scripted([look, slow]))
dataset = w.load(Path(sys.argv[2])).id
print(dataset, w.ask(dataset, "slow"), flush=True)
w.wait(w.runs(dataset)[0].id)
"""


def test_a_run_whose_server_was_killed_is_interrupted_with_what_it_had(
    open_workspace: Callable[..., Workspace], tickets: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path / "data"), str(tickets)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    dataset, run = process.stdout.readline().split()
    w = open_workspace(stale_s=3.0)
    deadline = time.monotonic() + 30
    while not any(e.name == "step" for e in w.events(run)) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while w.active_runs(dataset) and time.monotonic() < deadline:
        time.sleep(0.2)
    view = w.run(run)
    assert view.status == "interrupted"
    assert view.reason.endswith("Ask it again.")
    assert any(e.name == "sql" for e in w.events(run))


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from peek_core import settings
from peek_core.errors import PeekError
from peek_core.workspace import Workspace
from peek_core.providers.builtin import provider
import peek_core.store.migrations.versions.first
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    Workspace(settings.read({}, Path(sys.argv[1])))
except PeekError as failure:
    print(failure.sentence())
"""


def test_a_data_directory_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for above in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        if os.geteuid() == 0:
            above.chmod(0o755)
    env = os.environ | {"TIKTOKEN_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(closed / "data")], capture_output=True, text=True, cwd=ROOT, env=env
    )
    assert done.stdout.startswith("The data directory can't be written"), done.stdout + done.stderr[-2_000:]


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("a small file system can't be mounted here")
    try:
        source = tmp_path / "big.csv"
        source.write_text("id,text\n" + "".join(f"{i},{os.urandom(60).hex()}\n" for i in range(60_000)), "utf-8")
        w = Workspace(settings.read({}, small / "data"))
        with pytest.raises(Exception) as failed:
            w.load(source)
        assert getattr(failed.value, "sentence", lambda: "")(), repr(failed.value)
        assert "space" in failed.value.sentence().lower()  # type: ignore[attr-defined]
        assert w.datasets() == ()
        assert [p.name for p in (small / "data" / "corpora").iterdir()] == []
        w.close()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)
