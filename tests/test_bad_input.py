"""Bad input from every side: models, endpoints, questions, disks, dying processes. Each ends in a sentence, and nothing
that was there before is touched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from peek_core import settings
from peek_core.errors import EndpointFailed, PeekError, Refused
from peek_core.providers.scripted import Scripted
from peek_core.providers.simulator import Cut, Hang, Simulator
from peek_core.settings import CellLimits, EndpointSettings, RunLimits
from peek_core.values.run_view import RunView
from peek_core.values.trajectory import Step
from peek_core.workspace import Workspace
from tests.conftest import TICKETS

ROOT = Path(__file__).resolve().parents[1]
Open = Callable[..., Workspace]


def cell(code: str) -> str:
    return f"```python\n{code}\n```"


LOOK = cell('r = sql("SELECT count(*) AS n FROM tickets")\nprint(r)')
ANSWER = cell("FINAL(f\"{r[0]['n']} tickets.\", value=r[0]['n'])")
LEARNED = ('{"diagnosis": "", "tags": [], "candidates": []}', '{"edits": []}')
TAUGHT = (
    '{"diagnosis": "", "tags": [], "candidates": [{"kind": "item", "section": "cr", "text": "One row is one ticket.", '
    '"evidence": {"sql": "SELECT count(*) - count(DISTINCT id) FROM tickets", "expect": [[0]]}}]}',
    '{"edits": [{"op": "ADD", "candidate": 0}]}',
)


class Case:
    """A workspace with one good run and a taught map; `ask` runs replies and checks that both are still as they were."""

    def __init__(self, open_workspace: Open) -> None:
        self.w = open_workspace(cell=CellLimits(feed_s=2.0), run=RunLimits(turns=10), heartbeat_s=0.4)
        (dataset,) = self.w.datasets()
        self.dataset = dataset.id
        (self.first,) = self.w.runs(self.dataset)
        self.map = self.w.map(self.dataset)

    def use(self, *replies: str | EndpointFailed) -> None:
        """From now on a model with these replies answers."""
        model = Scripted([*replies, *LEARNED])
        self.w.endpoints.chosen = lambda: model

    def use_endpoint(self, server: Simulator, **changes: Any) -> None:
        """From now on this endpoint answers; everything may be shared with it."""
        self.w.endpoints.chosen = None
        self.w.endpoints.use(replace(EndpointSettings(server.base_url, "m", "right-key", retries=0), **changes))
        self.w.endpoints.share(self.dataset, "sample_rows")

    def ask(self, *replies: str | EndpointFailed) -> RunView:
        """The run of a question a model with these replies gets."""
        self.use(*replies)
        return self.end(self.w.ask(self.dataset, "What about it?"))

    def end(self, run: str) -> RunView:
        """The run's end; what was there before is checked to be untouched, and the next question to be answered."""
        view = self.w.wait(run, 60)
        assert not view.active
        assert view.status == "answered" or view.reason.strip()
        self.untouched()
        return view

    def untouched(self) -> None:
        assert self.w.map(self.dataset).items == self.map.items
        assert self.w.map(self.dataset).definitions == self.map.definitions
        # A question without an answer is counted and learned from; a failed or stopped one leaves no trace in the map.
        if all(r.status in ("failed", "cancelled", "interrupted") for r in self.w.runs(self.dataset)[1:]):
            assert self.w.map(self.dataset) == self.map
        assert self.w.run(self.first.id) == self.first

    def still_answers(self) -> None:
        assert self.ask(LOOK, ANSWER).status == "answered"


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one answered question and what was learned from it; every test gets a copy."""
    folder = tmp_path_factory.mktemp("taught")
    (folder / "tickets.csv").write_text(TICKETS, "utf-8")
    model = Scripted([LOOK, ANSWER, *TAUGHT])
    w = Workspace(settings.read({}, folder / "data"), provider=lambda: model)
    dataset = w.load(folder / "tickets.csv").id
    assert w.wait(w.ask(dataset, "How many tickets?"), 60).status == "answered"
    assert w.map(dataset).version == 1
    w.close()
    return folder / "data"


@pytest.fixture
def case(open_workspace: Open, taught: Path, tmp_path: Path) -> Case:
    shutil.copytree(taught, tmp_path / "data")
    return Case(open_workspace)


def steps(view: RunView) -> tuple[Step, ...]:
    assert view.trajectory is not None
    return view.trajectory.steps


# What a model replies


def test_a_model_that_never_writes_a_cell_is_stopped_after_three_replies(case: Case) -> None:
    view = case.ask("It is 42.", "Really, it is 42.", "42!", LOOK, ANSWER)
    assert view.status == "no_answer"
    assert view.reason == "The model's last 3 replies held no cell to run. Choose another model or ask again."
    assert len(steps(view)) == 3
    case.still_answers()


def test_one_reply_without_a_cell_is_told_and_the_run_goes_on(case: Case) -> None:
    view = case.ask("Let me think.", LOOK, ANSWER)
    assert view.status == "answered"
    assert "held no cell" in steps(view)[0].observation


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("```python\n```", "empty"),
        ("```python\nx = 1", "never closed"),
        ("", "held no cell"),
        ("\x00\x1b[2J", "held no cell"),
        ("```sql\nSELECT 1\n```", "held no cell"),
    ],
)
def test_a_malformed_reply_is_an_observation(case: Case, reply: str, told: str) -> None:
    view = case.ask(reply, LOOK, ANSWER)
    assert view.status == "answered", view.reason
    assert told in steps(view)[0].observation


def test_the_same_cell_three_times_ends_the_run(case: Case) -> None:
    view = case.ask(LOOK, LOOK, LOOK, ANSWER)
    assert (view.status, "same cell 3 times" in view.reason) == ("no_answer", True)


def test_a_model_that_never_ends_meets_the_limit_of_turns(case: Case) -> None:
    view = case.ask(*[cell(f'sql("SELECT {n}")') for n in range(30)])
    assert (view.status, len(steps(view))) == ("no_answer", 10)
    assert "after 10 turns" in view.reason


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("print(nope)", "NameError"),
        ("def (", "SyntaxError"),
        ("raise ValueError('by hand')", "by hand"),
        ("import os\nos.system('id')", "Error"),
        ("open('/etc/passwd').read()", "Error"),
        ("def f():\n    return f()\nf()", "RecursionError"),
        ("sql('SELECT nope FROM tickets')", "nope"),
        ("sql(42)", "text"),
        ("llm_query_batched(['x'] * 51)", "51 prompts at once; at most 50"),
        ("FINAL_VAR('nope')", "made in an earlier turn"),
        ("x = 'a' * 10**10", "Memory"),
    ],
)
def test_a_cell_that_fails_is_an_observation_and_the_next_reply_recovers(case: Case, code: str, told: str) -> None:
    view = case.ask(cell(code), LOOK, ANSWER)
    assert view.status == "answered", view.reason
    assert told in steps(view)[0].observation
    assert "passwd" not in steps(view)[0].stdout


def test_a_cell_that_loops_forever_is_stopped_and_the_run_goes_on(case: Case) -> None:
    started = time.monotonic()
    view = case.ask(cell("while True:\n    pass"), LOOK, ANSWER)
    assert view.status == "answered", view.reason
    assert steps(view)[0].error
    assert time.monotonic() - started < 15


def test_a_cell_that_prints_without_end_fills_neither_prompt_nor_store(case: Case) -> None:
    view = case.ask(cell("while True:\n    print('x' * 1000)"), LOOK, ANSWER)
    assert view.status == "answered", view.reason
    assert len(steps(view)[0].observation) < 13_000
    assert len(steps(view)[0].stdout) < 5_000_000
    assert "left out" in steps(view)[0].observation or steps(view)[0].error


@pytest.mark.parametrize(
    "query",
    [
        "COPY tickets TO '/tmp/peek-stolen.csv'",
        "ATTACH '/etc/passwd' AS p",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT content FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "EXPORT DATABASE '/tmp/peek-stolen'",
        "DROP TABLE raw.main.tickets",
        "DELETE FROM tickets",
        "UPDATE tickets SET score = 0",
        "SELECT 1; DROP TABLE tickets",
        "SELECT 1; SELECT 2",
        "SELECT getenv('HOME')",
    ],
)
def test_a_hostile_statement_is_refused_and_the_run_goes_on(case: Case, query: str) -> None:
    view = case.ask(cell(f"print(sql({query!r}))"), LOOK, ANSWER)
    assert view.status == "answered", view.reason
    first = steps(view)[0]
    assert [q.error is not None for q in first.queries] == [True]
    assert "root:" not in first.observation
    assert first.error
    assert view.trajectory is not None and view.trajectory.answer is not None
    assert view.trajectory.answer.value == 100
    assert not list(Path("/tmp").glob("peek-stolen*"))


def test_an_answer_before_any_look_at_the_data_is_refused(case: Case) -> None:
    view = case.ask(cell("FINAL('42 tickets.', value=42)"), LOOK, ANSWER)
    assert view.status == "answered"
    assert "before any look at the data" in steps(view)[0].observation
    assert view.trajectory is not None and view.trajectory.answer is not None
    assert view.trajectory.answer.value == 100


def test_an_answer_in_the_same_cell_as_the_first_look_is_refused(case: Case) -> None:
    """Nobody has read the result yet."""
    view = case.ask(cell('sql("SELECT 1")\nFINAL("42")'), LOOK, ANSWER)
    assert "before any look at the data" in steps(view)[0].observation
    assert view.trajectory is not None and view.trajectory.answer is not None
    assert view.trajectory.answer.value == 100


def test_an_output_the_model_invents_after_its_cell_is_ignored(case: Case) -> None:
    invented = f"{LOOK}\nOutput:\n[{{'n': 4711}}]\n" + cell("FINAL('4711 tickets.')")
    view = case.ask(invented, ANSWER)
    assert view.status == "answered"
    assert len(steps(view)) == 2
    assert all("4711" not in s.reply + s.observation for s in steps(view))


def test_a_number_found_in_no_result_is_marked(case: Case) -> None:
    view = case.ask(LOOK, cell('FINAL("There are 100 tickets, 12 of them urgent.")'))
    assert [(f["text"], f["result"]) for f in view.summary["figures"]] == [("100", 1), ("12", None)]


# Endpoints


def test_a_hanging_endpoint_can_be_stopped(case: Case) -> None:
    with Simulator(faults=[Hang()]) as server:
        case.use_endpoint(server)
        run = case.w.ask(case.dataset, "What about it?")
        assert server.arrived.wait(10)
        stopped = time.monotonic()
        case.w.cancel(run)
        view = case.end(run)
        assert time.monotonic() - stopped < 2
    assert view.status == "cancelled"
    assert view.reason.startswith("Stopped")
    case.still_answers()


def test_a_reply_cut_off_fails_the_run_and_keeps_the_steps_before_it(case: Case) -> None:
    with Simulator(script=[LOOK, cell("FINAL('half an answer')")], faults=[None, Cut()]) as server:
        case.use_endpoint(server)
        view = case.end(case.w.ask(case.dataset, "What about it?"))
    assert view.status == "failed"
    assert "cut off before it ended" in view.reason
    assert view.trajectory is not None
    assert (len(view.trajectory.steps), view.trajectory.answer) == (1, None)
    case.still_answers()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"key": "wrong-key"}, r"refused the key \(401\).*Check the key"),
        ({"model": "typo"}, r"no model 'typo'.*Check model"),
    ],
)
def test_wrong_key_and_wrong_model_name(case: Case, changes: dict[str, Any], told: str) -> None:
    with Simulator(script=[LOOK], key="right-key", model="m") as server:
        case.use_endpoint(server, **changes)
        view = case.end(case.w.ask(case.dataset, "What about it?"))
    assert view.status == "failed"
    assert re.search(told, view.reason)
    assert "wrong-key" not in view.reason
    case.still_answers()


def test_an_endpoint_that_is_gone(case: Case) -> None:
    with Simulator() as server:
        case.use_endpoint(server)
    view = case.end(case.w.ask(case.dataset, "What about it?"))
    assert (view.status, "can't be reached" in view.reason) == ("failed", True)
    case.still_answers()


def test_an_endpoint_that_fails_while_the_map_learns_leaves_the_answer(case: Case) -> None:
    with Simulator(script=[LOOK, ANSWER], faults=[None, None, Cut()]) as server:
        case.use_endpoint(server)
        view = case.end(case.w.ask(case.dataset, "What about it?"))
    assert (view.status, view.phase) == ("answered", "done")
    case.still_answers()


# Questions


@pytest.mark.parametrize(
    ("question", "told"), [("", "empty"), (" \n\t ", "empty"), ("x" * 20_001, "20,001 characters")]
)
def test_an_empty_or_endless_question_is_refused_and_leaves_no_run(case: Case, question: str, told: str) -> None:
    before = case.w.runs(case.dataset)
    with pytest.raises(Refused, match=told) as caught:
        case.w.ask(case.dataset, question)
    assert caught.value.next
    assert case.w.runs(case.dataset) == before
    case.untouched()


def test_the_longest_question_is_read(case: Case) -> None:
    case.use(LOOK, ANSWER)
    assert case.end(case.w.ask(case.dataset, "x" * 20_000)).status == "answered"


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Tickets gab es je Kanal im letzten Monat?",
        "每个渠道有多少张工单？",
        "¿Cuántos tickets hay por canal?",
        "asdf qwer zxcv",
        "?" * 500,
        "🙂🙂🙂",
        "'; DROP TABLE tickets; --",
        "\u202egnp.exe \x00 \x1b[31m",
    ],
)
def test_what_the_built_in_analyst_does_not_understand_it_does_not_answer(
    open_workspace: Open, tickets: Path, question: str
) -> None:
    w = open_workspace()
    dataset = w.load(tickets).id
    view = w.wait(w.ask(dataset, question), 60)
    assert (view.status, view.phase) == ("no_answer", "done")
    assert view.reason.strip()
    assert w.sql(dataset, "SELECT count(*) FROM tickets").table.rows == ((100,),)


# Processes and disks


def test_a_second_workspace_on_the_same_data_directory_sees_the_same_runs(case: Case, open_workspace: Open) -> None:
    other = open_workspace(Scripted([LOOK, ANSWER, *LEARNED]))
    assert other.runs(case.dataset) == case.w.runs(case.dataset)
    assert other.map(case.dataset) == case.map
    run = other.ask(case.dataset, "From the other side?")
    assert other.wait(run, 60).status == "answered"
    assert case.w.run(run) == other.run(run)
    case.still_answers()


def test_a_run_can_be_stopped_from_another_workspace(case: Case, open_workspace: Open) -> None:
    with Simulator(faults=[Hang()]) as server:
        case.use_endpoint(server)
        run = case.w.ask(case.dataset, "What about it?")
        assert server.arrived.wait(10)
        open_workspace().cancel(run)
        assert case.end(run).status == "cancelled"


SLOW_RUN = """
import sys, time
from pathlib import Path
from peek_core import settings
from peek_core.providers.scripted import Scripted
from peek_core.workspace import Workspace

class Slow(Scripted):
    def send(self, wire, cancel, on_first_byte):
        if self.wires:
            time.sleep(600)
        return super().send(wire, cancel, on_first_byte)

model = Slow([{look!r}])
w = Workspace(settings.read({{}}, Path({data!r})), provider=lambda: model)
run = w.ask({dataset!r}, "A slow one?")
while "step" not in [e.name for e in w.events(run)]:
    time.sleep(0.02)
print(run, flush=True)
time.sleep(600)
"""


def python(code: str, **more: Any) -> subprocess.Popen[str]:
    """A process of its own running `code` beside this one."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def test_a_run_whose_process_was_killed_is_interrupted_with_what_it_had(case: Case, open_workspace: Open) -> None:
    code = SLOW_RUN.format(look=LOOK, data=str(case.w.settings.data_dir), dataset=case.dataset)
    slow = python(code)
    try:
        assert slow.stdout is not None
        run = slow.stdout.readline().strip()
        assert run, slow.stderr and slow.stderr.read()
        assert case.w.run(run).status == "running"
    finally:
        slow.send_signal(signal.SIGKILL)
        slow.communicate()
    assert [r.id for r in case.w.active_runs(case.dataset)] == [run]  # it may only be slow
    time.sleep(1.2)
    later = open_workspace(stale_s=1.0)
    view = later.run(run)
    assert (view.status, view.phase) == ("interrupted", "done")
    assert view.reason.endswith("Ask it again.")
    assert view.ended is not None
    had = [e.body for e in later.events(run) if e.name == "step"]
    assert len(had) == 1
    assert "query q1: 1 row" in had[0]["observation"]
    assert [c.source for c in later.explaining.calls(run)] == ["step"]
    assert later.active_runs(case.dataset) == ()
    case.untouched()
    case.still_answers()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX users")
@pytest.mark.parametrize("inside", [True, False], ids=["held", "to be made"])
def test_a_data_directory_that_cannot_be_written_is_a_sentence(inside: bool) -> None:
    """For the person who starts the app under another user, or points at a folder of somebody else."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        place = Path(folder) / "locked"
        place.mkdir()
        target = place if inside else place / "data"
        code = f"""
        import os
        import tempfile
        from pathlib import Path
        from peek_core import settings
        from peek_core.errors import Broken
        from peek_core.workspace import Workspace
        with tempfile.TemporaryDirectory() as elsewhere:  # what is imported late is imported before the user changes
            Workspace(settings.read({{}}, Path(elsewhere))).close()
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            Workspace(settings.read({{}}, Path({str(target)!r})))
            print("opened")
        except Broken as failure:
            print("Broken:", failure.sentence())
        except Exception as failure:
            print(type(failure).__name__, str(failure)[:200])
        """
        place.chmod(0o555)
        out, err = python(code, cwd="/").communicate(timeout=60)
        place.chmod(0o755)
        assert out.startswith("Broken: The data directory can't be written"), out + err[-500:]
        assert "PEEK_DATA_DIR" in out
        assert list(place.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MB."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here ({done.stderr.strip() or 'mount failed'}); run as root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_a_sentence_and_leaves_nothing_behind(small_disk: Path, tmp_path: Path, tickets: Path) -> None:
    big = tmp_path / "big.csv"
    with big.open("w", encoding="utf-8") as out:
        out.write("id,text\n")
        for n in range(60_000):
            out.write(f"{n},{os.urandom(90).hex()}\n")
    w = Workspace(settings.read({}, small_disk / "data"), provider=lambda: Scripted([LOOK, ANSWER, *LEARNED]))
    try:
        before = sorted(p.name for p in (small_disk / "data").rglob("*"))
        with pytest.raises(PeekError) as caught:
            w.load(big)
        assert re.search(r"space|disk", caught.value.sentence(), re.I)
        assert str(small_disk) not in caught.value.sentence()
        assert w.datasets() == ()
        assert sorted(p.name for p in (small_disk / "data").rglob("*")) == before
        small = w.load(tickets).id
        assert w.wait(w.ask(small, "How many tickets?"), 60).status == "answered"
    finally:
        w.close()
