"""Finding the cell in a reply. Text after the first closing fence is ignored: models invent outputs there.

Owns: the fence grammar. Refuses to know: Python, prompts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]*```[ \t]*(?:python|py|python3|repl)?[ \t]*\r?\n(.*?)^[ \t]*```", re.S | re.M | re.I)
_OPEN = re.compile(r"^[ \t]*```[ \t]*(?:python|py|python3|repl)?[ \t]*\r?\n", re.M | re.I)


@dataclass(frozen=True)
class Cell:
    """The code of a reply, or why there is none."""

    code: str
    problem: str | None = None


def find_cell(reply: str, finish: str) -> Cell:
    """The first fenced Python cell.

    >>> find_cell("I look first.\\n```python\\nx = 1\\n```\\nOutput: 1", "stop").code
    'x = 1'
    """
    found = _FENCE.search(reply)
    if found:
        code = found[1].rstrip()
        return Cell(code) if code.strip() else Cell("", "The cell was empty.")
    if finish == "length":
        return Cell("", "The reply was cut off at the token limit before its cell ended. Write a shorter cell.")
    if _OPEN.search(reply):
        return Cell("", "The cell's fence was never closed.")
    return Cell("", "The reply held no cell. Write exactly one ```python fenced cell.")
