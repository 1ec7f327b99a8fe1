"""The README's outputs are produced by running the product. `--write` renews them; the tests compare.

Blocks stand between `<!-- output: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from peek_core.cli import main

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"(<!-- output: (\w+) -->\n```text\n)(.*?)(```\n<!-- end -->)", re.S)


def demo() -> str:
    """`peek demo`: its first eight questions and what it says at the end."""
    out = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as data,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        main(["demo", "--data-dir", data])
    lines = out.getvalue().splitlines()
    end = next(i for i, line in enumerate(lines) if " questions; " in line)
    return "\n".join([*lines[:24], f"… ({(end - 24) // 3} more questions)", "", *lines[end:]])


def help_text() -> str:
    """The command list of `peek --help`."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(["--help"])
    return out.getvalue()


OUTPUTS: dict[str, Callable[[], str]] = {"demo": demo, "help": help_text}


def renewed() -> str:
    """The README as it would be with every output made now."""
    return BLOCK.sub(lambda m: m[1] + OUTPUTS[m[2]]().rstrip() + "\n" + m[4], README.read_text("utf-8"))


if __name__ == "__main__":
    if "--write" in sys.argv:
        README.write_text(renewed(), "utf-8")
