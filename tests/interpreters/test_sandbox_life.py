"""Bombs, losses, restoring, stopping, killing; tracebacks and output."""

from __future__ import annotations

import datetime
import threading
import time

import psutil  # type: ignore[import-untyped]
import pytest

from peek_core.errors import CellFailed
from peek_core.interpreters.monty import MontyInterpreter, available
from peek_core.interpreters.output import HARD_CAP
from peek_core.settings import CellLimits

from .conftest import Host

BOMBS = {
    "loop": "while True:\n    pass",
    "caught loop": "while 1:\n    try:\n        while 1:\n            pass\n    except BaseException:\n        pass",
    "loop in finally": "try:\n    1/0\nfinally:\n    while True:\n        pass",
    "list": "x = [0] * 10**9",
    "string": "x = 'a' * 10**10",
    "growing": "x = ['a' * 1000]\nwhile True:\n    x = x + x",
    "bytes": "x = b'a' * 10**10",
    "power": "x = 10 ** (10 ** 9)",
    "shift": "x = 1 << 10**10",
    "replace": "x = ('a' * 10**6).replace('a', 'b' * 10**4)",
    "format": "x = '{:>10000000000}'.format('a')",
    "zfill": "x = 'a'.zfill(10**10)",
    "range": "x = list(range(10**10))",
    "recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "nesting": "x = []\nfor i in range(100000):\n    x = [x]\nx",
    "json": "import json\njson.loads('[' * 100000)",
    "regex": "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
    "digits": "x = str(10 ** (10 ** 7))",
    "big value": "'a' * (100 * 2**20)",
    "big argument": "sql('a' * (100 * 2**20))",
    "source": "x = " + "(" * 5000 + "1" + ")" * 5000,
    "sleep": "import time\ntime.sleep(1000)",
    "async sleep": "import asyncio\nawait asyncio.sleep(1000)",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_leaves_the_session_as_it_was(name: str, monty: MontyInterpreter, host: Host) -> None:
    monty.run("kept = {'a': [1, 2]}", host.functions())
    started = time.monotonic()
    outcome = monty.run(BOMBS[name], host.functions())
    assert time.monotonic() - started < 5.0
    if name not in ("regex", "sleep", "async sleep", "nesting", "big value", "big argument"):
        assert outcome.error
    after = monty.run("kept['a']", host.functions())
    assert (after.value, after.error) == ("[1, 2]", None)


def test_a_time_limit_says_where_variables_stand(monty: MontyInterpreter, host: Host) -> None:
    monty.run("n = 1", host.functions())
    outcome = monty.run("n = 2\nwhile True:\n    pass", host.functions())
    assert outcome.error is not None and "as they were before" in outcome.error and "TimeoutError" in outcome.error
    assert monty.run("n", host.functions()).value == "1"


def test_used_up_host_calls_do_not_stay_used_up(host: Host) -> None:
    with MontyInterpreter(CellLimits(suspensions=50)) as interpreter:
        outcome = interpreter.run("while True:\n    sql('x')", host.functions())
        assert outcome.error is not None and "more than 50 host calls" in outcome.error
        assert interpreter.run("len(sql('x'))", host.functions()).value == "5"


def test_a_lost_worker_is_restored_and_said(monty: MontyInterpreter, host: Host) -> None:
    monty.run("def double(x):\n    return 2 * x\nrows = sql('x')", host.functions())

    def die(query: str) -> None:
        process = monty._session._process
        assert process is not None
        process.kill()

    outcome = monty.run("lost = 1\nsql('x')", {"sql": die})
    assert outcome.error is not None and "lost" in outcome.error
    after = monty.run("double(len(rows))", host.functions())
    assert (after.value, after.error) == ("10", None)
    assert after.variables == ("double: function", "rows: list[5]")


def test_a_loss_between_cells_is_mended(monty: MontyInterpreter, host: Host) -> None:
    monty.run("n = 7", host.functions())
    process = monty._session._process
    assert process is not None
    process.kill()
    process.wait()
    outcome = monty.run("n", host.functions())
    assert outcome.value == "7" or (outcome.error and "lost" in outcome.error)
    assert monty.run("n", host.functions()).value == "7"


def test_kill_from_another_thread_within_a_second(monty: MontyInterpreter, host: Host) -> None:
    monty.run("n = 1", host.functions())
    killed: list[float] = []

    def kill() -> None:
        killed.append(time.monotonic())
        monty.kill()

    threading.Timer(0.3, kill).start()
    outcome = monty.run("while True:\n    pass", host.functions())
    assert time.monotonic() - killed[0] < 1.0
    assert outcome.error is not None and "stopped" in outcome.error
    assert monty.run("n", host.functions()).value == "1"


def test_kill_with_nothing_running_costs_nothing(monty: MontyInterpreter, host: Host) -> None:
    monty.run("n = 1", host.functions())
    monty.kill()
    assert monty.run("n + 1", host.functions()).value == "2"


def test_close_ends_the_worker(host: Host) -> None:
    interpreter = MontyInterpreter()
    process = interpreter._session._process
    assert process is not None
    interpreter.close()
    interpreter.close()
    assert not psutil.pid_exists(process.pid) or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    "code",
    [
        "FINAL(1)\nprint('after')",
        "try:\n    FINAL(1)\nexcept Exception:\n    print('swallowed')",
        "try:\n    FINAL(1)\nexcept:\n    print('swallowed')\nprint('after')\nFINAL(2)\nsql('x')",
        "while True:\n    try:\n        FINAL(1)\n    except:\n        pass",
        "def f():\n    FINAL(1)\n[f() for i in range(3)]\n1/0",
        "try:\n    FINAL(1)\nfinally:\n    1/0",
        "try:\n    FINAL(1)\nexcept BaseException as e:\n    raise ValueError('x')",
    ],
)
def test_final_stops_the_cell(code: str, monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run("print('before')\n" + code, host.functions())
    assert (outcome.stdout, outcome.value, outcome.error) == ("before\n", None, None)
    assert (host.finals, host.calls) == ([1], [])


def test_a_print_flood_is_counted_not_kept(monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run("for i in range(3000):\n    print('x' * 999)", host.functions())
    assert outcome.error is None
    assert len(outcome.stdout) < HARD_CAP + 200
    assert "3,000,000 characters were printed" in outcome.stdout


def test_a_long_value_is_cut_with_its_length(monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run("'x' * 50000", host.functions())
    assert outcome.value is not None and outcome.value.endswith("[50,002 characters in all]")


def test_tracebacks_speak_of_the_cell_as_written(monty: MontyInterpreter, host: Host) -> None:
    code = (
        "import statistics  # rewritten\n\n\ndef inner(row):\n    # a comment\n    return row['nope']\n\n\n"
        "totals = {'a': 1,\n          'b': 2}\nbest = max(totals, key=totals.get)\n\ninner(\n    {'x': 1})\n"
    )
    outcome = monty.run(code, host.functions())
    assert outcome.error is not None
    assert 'File "cell", line 13, in <module>' in outcome.error
    assert "File \"cell\", line 6, in inner\n    return row['nope']" in outcome.error
    assert outcome.error.endswith("KeyError: 'nope'")
    later = monty.run("\ninner({})", host.functions())
    assert later.error is not None
    assert 'File "cell", line 2' in later.error and 'File "earlier cell", line 6, in inner' in later.error


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import pandas as pd", "modules here"),
        ("from sklearn import x", "modules here"),
        ("f = 'a'.lower", "not passed as values"),
        ("undefined_name", "host functions: sql"),
        ("class A(dict):\n    def f(self):\n        pass", "can't inherit"),
        ("open('x')", "no files here"),
        ("x = 10 ** (10 ** 9)", "aggregate in SQL"),
    ],
)
def test_errors_say_what_exists(code: str, said: str, monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run(code, host.functions())
    assert outcome.error is not None and said in outcome.error and "monty" not in outcome.error.lower()


def test_variables_are_listed_with_types(monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run(
        "import json\nrows = sql('x')\nn, s = 3, 'abc'\nfor i in range(2):\n    t = 1.5\ndef f(): pass\n"
        "if False:\n    never = 1\n_hidden = 1\nwith_walrus = (w := 2)\ngone = 1\ndel gone",
        host.functions(),
    )
    assert outcome.error is None
    assert set(outcome.variables) == {
        "rows: list[5]", "n: int", "s: str[3]", "i: int", "t: float", "f: function", "with_walrus: int", "w: int",
    }  # fmt: skip


def test_read_gives_values_and_refuses_expressions(monty: MontyInterpreter, host: Host) -> None:
    monty.run("d = {'a': [1, 2.5, None, True]}", host.functions())
    assert monty.read("d") == {"a": [1, 2.5, None, True]}
    for name in ("d['a']", "sql('x')", "_peek_show", "1"):
        with pytest.raises(CellFailed):
            monty.read(name)


def test_host_results_of_any_kind_arrive(monty: MontyInterpreter, host: Host) -> None:
    import uuid

    odd = {"u": uuid.UUID(int=1), "s": "a\ud800b", "t": (1, {2}), "d": datetime.date(2024, 1, 1), "o": object}
    outcome = monty.run("r = give()\nr['u'], r['d'].year, len(r['s'])", {"give": lambda: odd})
    assert outcome.value == "('00000000-0000-0000-0000-000000000001', 2024, 3)"


def test_functions_can_be_passed_and_kept(monty: MontyInterpreter, host: Host) -> None:
    assert monty.run("f = sql\nlen(f(query='q')), len(list(map(sql, ['a', 'b'])))", host.functions()).value == "(5, 2)"
    assert host.calls == ["q", "a", "b"]


def test_the_clock_can_be_frozen(host: Host) -> None:
    with MontyInterpreter(now=datetime.datetime(2025, 3, 4, 5, 6)) as interpreter:
        assert interpreter.run("from datetime import date\nstr(date.today())", host.functions()).value == "'2025-03-04'"


def test_random_is_the_same_every_time(host: Host) -> None:
    values = []
    for _ in range(2):
        with MontyInterpreter() as interpreter:
            values.append(interpreter.run("import random\nrandom.random()", host.functions()).value)
    assert values[0] == values[1] is not None


def test_the_binary_is_there() -> None:
    assert available()
