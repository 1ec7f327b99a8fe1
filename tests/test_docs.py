"""Documentation that cannot lie: doctests run, the README's outputs are what the product prints."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import peek_core
from tests.kit import readme

MODULES = [m.name for m in pkgutil.walk_packages(peek_core.__path__, "peek_core.") if ".migrations" not in m.name]


def test_every_doctest_runs() -> None:
    tried = 0
    for name in MODULES:
        result = doctest.testmod(importlib.import_module(name))
        assert result.failed == 0, name
        tried += result.attempted
    assert tried >= 8


def test_the_readme_shows_what_the_product_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert readme.renewed() == readme.README.read_text("utf-8"), "run: COLUMNS=100 python -m tests.kit.readme --write"


def test_pictures_of_the_readme_are_there() -> None:
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme.README.read_text("utf-8"))
    assert named
    for picture in named:
        assert (Path(readme.README).parent / picture).is_file(), picture


def test_the_readme_names_the_commands_that_ci_runs() -> None:
    text = readme.README.read_text("utf-8")
    ci = (readme.README.parent / ".ci" / "run").read_text("utf-8")
    command = ".uv/bin/uv run --group test pytest"
    assert command in text
    assert command in ci
    assert ".uv/bin/uv run streamlit run app.py" in text


def test_the_example_for_other_agents_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = re.search(r"<!-- example: cache_policy -->\n```python\n(.*?)```", readme.README.read_text("utf-8"), re.S)
    assert example and len(example[1].strip().splitlines()) <= 11
    monkeypatch.chdir(tmp_path)
    learned = '{"candidates": [{"kind": "item", "section": "cr", "text": "One line is one message."}]}'

    class Client:
        replies: ClassVar = [learned, '{"edits": [{"op": "ADD", "candidate": 0}]}', "{}", "{}"]

        def completion(self, messages: Sequence[Any]) -> str:
            return str(self.replies.pop(0))

    def my_agent(question: str, system_prompt: str) -> tuple[str, str]:
        return "42", f"I looked, because I was told: {system_prompt}"

    exec(example[1], {"client": Client(), "questions": ["how many?", "who?"], "RULES": "", "my_agent": my_agent})
    said = capsys.readouterr().out
    assert said.startswith("1 edits, 0 refused\n0 edits, 0 refused\n")
    assert "[cr-00001] One line is one message." in said
