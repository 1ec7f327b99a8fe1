"""Documentation that cannot lie: doctests run, the README's outputs are what the product prints."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

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
