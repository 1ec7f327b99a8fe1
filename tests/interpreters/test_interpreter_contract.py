"""What both interpreters do; the smaller one with single calls only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from peek_core.errors import Broken, CellFailed, OutOfBudget
from peek_core.interpreters.boundary import rows_as_dicts
from peek_core.interpreters.monty import MontyInterpreter
from peek_core.interpreters.sql_only import SqlOnlyInterpreter
from peek_core.ports import Interpreter

from .conftest import ROWS, Host

INTERPRETERS: dict[str, Callable[[], Interpreter]] = {"monty": MontyInterpreter, "sql_only": SqlOnlyInterpreter}


@pytest.fixture(params=sorted(INTERPRETERS))
def interpreter(request: pytest.FixtureRequest) -> Iterator[Interpreter]:
    interpreter = INTERPRETERS[request.param]()
    yield interpreter
    interpreter.close()


def test_rows_arrive_as_dicts_and_stay(interpreter: Interpreter, host: Host) -> None:
    outcome = interpreter.run('rows = sql("""SELECT *\nFROM t""")', host.functions())
    assert outcome.error is None
    assert outcome.variables == ("rows: list[5]",)
    assert host.calls == ["SELECT *\nFROM t"]
    assert interpreter.read("rows") == rows_as_dicts(ROWS)


def test_the_value_of_a_call_is_shown(interpreter: Interpreter, host: Host) -> None:
    outcome = interpreter.run('sql("x")', host.functions())
    assert outcome.value is not None and "'topic': 'billing'" in outcome.value


def test_final_ends_the_cell_without_error(interpreter: Interpreter, host: Host) -> None:
    outcome = interpreter.run('FINAL("42")', host.functions())
    assert (outcome.error, outcome.value, host.finals) == (None, None, ["42"])


def test_a_failed_query_is_an_observation(interpreter: Interpreter, host: Host) -> None:
    outcome = interpreter.run('sql("bad")', host.functions())
    assert outcome.error is not None and "no column nope" in outcome.error and "Columns: id" in outcome.error


def test_internal_errors_are_scrubbed_and_logged(
    interpreter: Interpreter, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = interpreter.run('sql("internal")', host.functions())
    assert outcome.error is not None and "secret" not in outcome.error and "ValueError" not in outcome.error
    assert "secret" in caplog.text


def test_terminal_errors_end_the_run(interpreter: Interpreter, host: Host) -> None:
    interpreter.run('rows = sql("x")', host.functions())
    with pytest.raises(OutOfBudget):
        interpreter.run('sql("budget")', host.functions())
    assert interpreter.read("rows")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sql()", "missing"),
        ("nothing(1)", "nothing"),
        ("sql('a', 'b', 'c')", "sql()"),
        ("x = (", "SyntaxError"),
    ],
)
def test_mistakes_are_observations(interpreter: Interpreter, host: Host, code: str, said: str) -> None:
    outcome = interpreter.run(code, host.functions())
    assert outcome.error is not None and said in outcome.error


def test_too_long_a_cell(interpreter: Interpreter, host: Host) -> None:
    outcome = interpreter.run("#" * 20_001, host.functions())
    assert outcome.error is not None and "20,001" in outcome.error


def test_an_unknown_variable_says_what_exists(interpreter: Interpreter, host: Host) -> None:
    interpreter.run('rows = sql("x")', host.functions())
    with pytest.raises(CellFailed) as failure:
        interpreter.read("nope")
    assert "rows: list[5]" in failure.value.sentence()


def test_closed_is_broken(interpreter: Interpreter, host: Host) -> None:
    interpreter.kill()
    interpreter.close()
    with pytest.raises(Broken):
        interpreter.run("sql('x')", host.functions())


HOSTILE: list[Any] = [
    "import os",
    "x = 1 + 1",
    "sql('a'); sql('b')",
    "sql(f'{1}')",
    "sql('a' + open('/etc/passwd').read())",
    "sql(__import__('os').environ)",
    "rows = [sql('a')]",
    "rows.x = sql('a')",
    "a = b = sql('a')",
    "sql(*['a'])",
    "sql(**{'query': 'a'})",
    "host.sql('a')",
    "(lambda: sql('a'))()",
    "exec('1')",
    "print('x')",
    "sql(" + "[" * 500 + "]" * 500 + ")",
    "",
]


@pytest.mark.parametrize("code", HOSTILE)
def test_sql_only_runs_nothing_but_single_calls(code: str, host: Host) -> None:
    outcome = SqlOnlyInterpreter().run(code, host.functions())
    assert outcome.error is not None
    assert host.calls == []


def test_sql_only_says_what_is_supported(host: Host) -> None:
    outcome = SqlOnlyInterpreter().run("x = 1", host.functions())
    assert outcome.error is not None and 'sql("""SELECT ..."""' in outcome.error and "not installed" in outcome.error


def test_sql_only_passes_earlier_results(host: Host) -> None:
    interpreter = SqlOnlyInterpreter()
    interpreter.run("rows = sql('a')", host.functions())
    interpreter.run("FINAL(rows)", host.functions())
    assert host.finals == [rows_as_dicts(ROWS)]
