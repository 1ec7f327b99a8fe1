"""The import law, types and style, held by machines; and what importing the core must not bring along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["lint-imports", "--no-cache"]],
    ids=["ruff check", "ruff format", "mypy", "import contracts"],
)
def test_the_tree_passes(command: list[str]) -> None:
    done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_importing_the_core_brings_neither_the_browser_nor_a_model_client() -> None:
    code = "import sys, peek_core.workspace; print([m for m in ('streamlit', 'openai', 'plotly') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_only_the_pipe_sends_to_a_provider() -> None:
    """`.send(` on a provider stands in execute.py alone."""
    senders = sorted(
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / "peek_core").rglob("*.py")
        if "provider.send(" in p.read_text("utf-8")
    )
    assert senders == ["peek_core/context_pipe/execute.py"]


def test_the_main_path_can_be_read_in_one_sitting() -> None:
    path = ["workspace.py", "agents/repl.py", "context_pipe/pipe.py", "context_map/map.py", "policies/peek.py"]
    lines = {name: len((ROOT / "peek_core" / name).read_text("utf-8").splitlines()) for name in path}
    assert sum(lines.values()) <= 1_700, lines
    assert max(len(p.read_text("utf-8").splitlines()) for p in (ROOT / "peek_core").rglob("*.py")) <= 460


def test_every_module_says_what_it_owns() -> None:
    silent = [
        p.relative_to(ROOT).as_posix()
        for p in [*(ROOT / "peek_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
        if not p.read_text("utf-8").startswith('"""') and p.read_text("utf-8").strip()
    ]
    assert silent == []
