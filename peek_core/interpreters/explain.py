"""Error text of a cell, as the model reads it.

Owns: a Python-like traceback over the ORIGINAL cell text, and hints that say what exists. Refuses to know: how the
error came about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peek_core.interpreters.compat import Cell

MODULES = (
    "asyncio, base64, bisect, calendar, collections, copy, csv, dataclasses, datetime, decimal, functools, hashlib, "
    "heapq, html, itertools, json, math, operator, pprint, random, re, statistics, string, textwrap, time, typing, "
    "unicodedata, warnings"
)
SHOWN_FRAMES = 8


@dataclass(frozen=True)
class Place:
    """One frame: the feed it is in, the line there, and the function (None at the top level)."""

    feed: str
    line: int
    function: str | None


def traceback(head: str, places: Sequence[Place], cells: Mapping[str, Cell], current: str, hint: str = "") -> str:
    """`head` is `Type: message`. Frames of the layer itself are left out; a long repetition is cut in the middle."""
    frames = [text for place in places if (text := _frame(place, cells, current))]
    if len(frames) > SHOWN_FRAMES:
        cut = len(frames) - SHOWN_FRAMES
        frames = [*frames[: SHOWN_FRAMES // 2], f"  [{cut} more calls]", *frames[-SHOWN_FRAMES // 2 :]]
    lines = ["Traceback (most recent call last):", *frames] if frames else []
    return "\n".join([*lines, head, *([f"Hint: {hint}"] if hint else [])])


def _frame(place: Place, cells: Mapping[str, Cell], current: str) -> str | None:
    cell = cells.get(place.feed)
    name = place.function or "<module>"
    if name.startswith("_peek"):
        return None
    label = "cell" if place.feed == current else "earlier cell"
    if cell is None:
        return None
    line = cell.line(place.line)
    source = cell.source.split("\n")
    text = source[line - 1].strip() if 0 < line <= len(source) else ""
    where = f'  File "{label}", line {line}, in {name}'
    return f"{where}\n    {text}" if text else where


def hint(kind: str, message: str, variables: Sequence[str], functions: Sequence[str]) -> str:
    """What exists instead, for the errors that come from the sandbox being smaller than Python."""
    if kind in ("ModuleNotFoundError", "ImportError"):
        return f"modules here: {MODULES}. Data comes from sql(), there is no pandas or numpy."
    if kind == "NameError":
        return f"variables: {', '.join(variables) or 'none yet'}; host functions: {', '.join(functions) or 'none'}."
    if kind == "AttributeError" and _is_python(message):
        return (
            "methods of built-ins can be called but not passed as values (write lambda x: x.lower()); some are missing."
        )
    if kind == "NotImplementedError" and "cannot suspend" in message:
        return "host functions can't be called inside a key or default function: call them in a loop first."
    if kind == "NotImplementedError":
        return "classes can't inherit and have no static or class methods here; use functions, dicts or @dataclass."
    if kind == "TimeoutError":
        return "do the counting in SQL, or work on fewer rows."
    if kind == "MemoryError":
        return "aggregate in SQL and fetch fewer rows."
    if kind in ("PermissionError", "FileNotFoundError"):
        return "there are no files here; the data is reached with sql()."
    if kind == "TypeError" and "is not an iterator" in message:
        return "generator expressions are lists here: use next(iter(...), default)."
    return ""


def clean(message: str) -> str:
    """The sandbox's own wording, without its name."""
    text = re.sub(r"[Tt]he monty syntax parser does not yet support", "this sandbox does not support", message)
    text = re.sub(r"suspension limit (\d+) exceeded", r"more than \1 host calls were made", text)
    text = re.sub(r"turn time limit exceeded: [\d.]+s > ([\d.]+)s", r"the cell ran longer than \1 s at a stretch", text)
    return re.sub(
        r"(?:feed|.*duration) time limit exceeded: [\d.]+s > ([\d.]+)s", r"the cell ran longer than \1 s", text
    )


def _is_python(message: str) -> bool:
    """Whether the attribute an AttributeError misses is one that Python's own type has."""
    found = re.search(r"'(\w+)'(?: object)? has no attribute '(\w+)'", message)
    known = {
        "str": str,
        "dict": dict,
        "list": list,
        "set": set,
        "tuple": tuple,
        "int": int,
        "float": float,
        "bytes": bytes,
    }
    return bool(found and found[1] in known and hasattr(known[found[1]], found[2]))
