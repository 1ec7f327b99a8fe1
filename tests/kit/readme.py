"""The README's outputs are produced by running the product. `--write` renews them; the tests compare.

Blocks stand between `<!-- output: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from peek_core import settings
from peek_core.cli import main
from peek_core.context_pipe.emergent import EmergentQueue
from peek_core.providers.scripted import Scripted
from peek_core.workspace import Workspace

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


def explain() -> str:
    """`peek explain` of the sample, without the reasons' tails."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["explain", "Product feedback", "How many reviews are there per region?", "--data-dir", _sample().name])
    return "\n".join(line[:118] + (" …" if len(line) > 118 else "") for line in out.getvalue().splitlines())


def records() -> str:
    """Every kind of record the product's own requests are made of, from what one run really sent."""
    code = [
        'r = sql("SELECT count(*) AS n FROM product_feedback")\nprint(llm_query("what is this?"))',
        "FINAL(f\"{r[0]['n']} rows\", value=r[0]['n'])",
    ]
    found = '{"diagnosis": "", "tags": [], "candidates": [{"kind": "item", "section": "cr", "text": "One row is one review."}]}'
    replies = [f"```python\n{code[0]}\n```", "a review", f"```python\n{code[1]}\n```", found, '{"edits": []}']
    rows: dict[str, tuple[str, ...]] = {}
    model = Scripted(replies)
    with contextlib.closing(Workspace(settings.read({}, Path(_sample().name)), provider=lambda: model)) as w:
        run = w.ask(w.datasets()[0].id, "How many rows?")
        w.wait(run, 120)
        for call in w.explaining.calls(run):
            held = w.store.texts(w.datasets()[0].id, (call.snapshot or {})["records"])
            for told in (json.loads(held[h]) for h in (call.snapshot or {})["records"]):
                name = re.sub(r" \d+$", " n", told["name"])
                cells = (
                    told["kind"],
                    told["tier"],
                    told["scope"],
                    told["priority"],
                    "yes" if told["recoverable"] else "–",
                )
                rows.setdefault(name, (name, call.source, *cells))
    notice = EmergentQueue()
    notice.write("x")
    (n,) = notice.due()
    rows["notice n"] = ("notice n", "step", n.kind, n.tier, n.scope, n.priority, "–")
    table = [("record", "first in", "kind", "tier", "scope", "priority", "read back"), *rows.values()]
    widths = [max(len(r[c]) for r in table) for c in range(7)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)).rstrip() for r in table)


@functools.cache
def _sample() -> tempfile.TemporaryDirectory[str]:
    """A data directory with the sample; it goes with the process."""
    held = tempfile.TemporaryDirectory()
    with contextlib.closing(Workspace(settings.read({}, Path(held.name)))) as w:
        w.load_sample("product_feedback")
    return held


OUTPUTS: dict[str, Callable[[], str]] = {"demo": demo, "help": help_text, "explain": explain, "records": records}


def renewed() -> str:
    """The README as it would be with every output made now."""
    return BLOCK.sub(lambda m: m[1] + OUTPUTS[m[2]]().rstrip() + "\n" + m[4], README.read_text("utf-8"))


if __name__ == "__main__":
    if "--write" in sys.argv:
        README.write_text(renewed(), "utf-8")
