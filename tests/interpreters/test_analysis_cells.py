"""Cells as models write them for analysis, and single rewrites of the compatibility layer.

Each cell runs twice: here in the sandbox, and as plain Python in this process (the cells are ours), where it must print
the same.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peek_core.interpreters import compat
from peek_core.interpreters.boundary import rows_as_dicts
from peek_core.interpreters.monty import MontyInterpreter

from .conftest import ROWS, Host

CELLS: dict[str, str] = dict(
    re.findall(
        r"^### (.+?)\n(.*?)(?=^### |\Z)",
        (Path(__file__).parent / "analysis_cells.txt").read_text(encoding="utf-8"),
        re.M | re.S,
    )
)


def _python(code: str, host: Host) -> str:
    """What plain Python prints for one of the cells above."""
    functions: dict[str, Any] = {"sql": lambda q: rows_as_dicts(host.sql(q)), "llm_query_batched": host.llm}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "cell", "exec"), {"__name__": "__main__", **functions})
    return printed.getvalue()


@pytest.mark.parametrize("name", CELLS)
def test_an_analysis_cell_prints_what_python_prints(name: str, monty: MontyInterpreter, host: Host) -> None:
    outcome = monty.run(CELLS[name], host.functions())
    assert outcome.error is None
    assert outcome.stdout == _python(CELLS[name], host)
    assert outcome.stdout


def test_a_cell_that_needs_nothing_is_passed_on_byte_for_byte() -> None:
    source = "x  =  1  # spaced\nprint( x )\n"
    assert compat.prepare(source).code == source


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("x", "_peek_show((x))"),
        ("x  # why\n", "_peek_show((x))  # why\n"),
        ("1, 2", "_peek_show((1, 2))"),
        ("a = 1; a", "a = 1; _peek_show((a))"),
        ("f(\n  1,\n)", "_peek_show((f(\n  1,\n)))"),
        ("'é'; 'ü'", "'é'; _peek_show(('ü'))"),
        ("x = 1", "x = 1"),
        ("print(1)", "print(1)"),
        ("(", "("),
        ("", ""),
    ],
)
def test_the_trailing_expression_is_wrapped_in_place(source: str, code: str) -> None:
    assert compat.prepare(source).code == code


def test_names_bound_at_the_top_level() -> None:
    cell = compat.prepare(
        "a = b, c = 1, 2\nfor i, (j, k) in z: pass\nwith f() as g: pass\ndef h(x):\n    y = 1\nclass C: pass\n"
        "[m for m in z]\nimport os\nif (w := 1): v: int = 2\ntry:\n    t = 1\nexcept E as e: pass"
    )
    assert set(cell.names) == set("abcijkghCwvt")


def test_lines_are_kept_through_a_rewrite() -> None:
    source = "import statistics\n\n# comment\nx = {\n  'a': 1,\n}\n\n\ndel x['a']\n\nfor i in range(3):\n\n    y = i\n"
    cell = compat.prepare(source)
    lines = cell.code.split("\n")
    assert cell.line(1 + next(n for n, text in enumerate(lines) if "pop" in text)) == 9
    assert cell.line(1 + next(n for n, text in enumerate(lines) if "y = i" in text)) == 13


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abx=+().,:[]{}\n '\"\\#del yield", max_size=60))
def test_preparing_never_fails_and_keeps_valid_cells_valid(source: str) -> None:
    cell = compat.prepare(source)
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return
    ast.parse(cell.code)


@pytest.mark.parametrize(
    "text", ["(" * 3000, "[" * 200 + "]" * 200, "-" * 3000 + "1", "x" + ".a" * 3000, "\x00", "a=" * 3000]
)
def test_nesting_bombs_are_left_to_the_sandbox(text: str) -> None:
    assert compat.prepare(text).source == text


def test_properties_are_known_in_later_cells(monty: MontyInterpreter, host: Host) -> None:
    monty.run("class T:\n    @property\n    def two(self):\n        return 2\nt = T()", host.functions())
    assert monty.run("t.two + 1", host.functions()).value == "3"


def test_results_fit_the_fixture() -> None:
    assert len(rows_as_dicts(ROWS)) == 5
