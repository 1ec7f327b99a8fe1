"""Grading an answer against gold: right, wrong, or no answer. Unknown gold is never right.

Owns: what counts as equal, per kind of answer. Refuses to know: who answered. Shares in gold are fractions; answers
may give percent. Tables are compared as sets of rows of (labels, number), whatever the column order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from peek_core.values.canon import fold
from peek_core.values.trajectory import Answer

Verdict = Literal["right", "wrong", "no_answer"]


def grade(gold: Mapping[str, Any], status: str, answer: Answer | None) -> Verdict:
    """`gold` is a line of questions.jsonl: answer, answer_kind (number, share, text, table, none), tolerance."""
    kind = gold["answer_kind"]
    if status not in ("answered", "partly") or answer is None:
        return "right" if kind == "none" and status == "no_answer" else "no_answer"
    if kind == "none":
        return "wrong"
    tolerance = float(gold.get("tolerance") or 0.0)
    if kind in ("number", "share"):
        right = any(_near(gold["answer"], v, tolerance, kind) for v in _numbers(answer))
    elif kind == "text":
        right = _says(str(gold["answer"]), answer)
    else:
        right = _same_table(gold["answer"], answer, tolerance)
    return "right" if right else "wrong"


def _numbers(answer: Answer) -> list[float]:
    """The figure the answer gives: its value, else the one cell of its result."""
    value = answer.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [float(value)]
    table = answer.table
    if table is not None and len(table.rows) == 1 and len(table.rows[0]) == 1:
        cell = table.rows[0][0]
        return [float(cell)] if isinstance(cell, (int, float)) else []
    return []


def _near(gold: Any, got: float, tolerance: float, kind: str) -> bool:
    slack = max(tolerance, 1e-9) * (1 + 1e-9)
    if kind == "share":
        # Percent with one decimal is how people give a share.
        share = float(gold)
        return abs(got - share) <= slack or abs(got / 100 - share) <= max(slack, 0.0005 + 1e-9)
    return abs(got - float(gold)) <= slack or (tolerance > 0 and round(got, 2) == round(float(gold), 2))


def _says(gold: str, answer: Answer) -> bool:
    wanted = fold(gold)
    if isinstance(answer.value, str):
        return fold(answer.value) == wanted
    return wanted in fold(answer.text)


def _same_table(gold: Sequence[Sequence[Any]], answer: Answer, tolerance: float) -> bool:
    if answer.table is None:
        return False
    wanted = [_row(r) for r in gold]
    rows = [_row(r) for r in answer.table.rows]
    if len(rows) != len(wanted):
        return False
    rest = list(rows)
    for labels, numbers in wanted:
        hit = next((r for r in rest if r[0] == labels and _covers(r[1], numbers, tolerance)), None)
        if hit is None:
            return False
        rest.remove(hit)
    return True


def _row(row: Sequence[Any]) -> tuple[tuple[str, ...], list[float]]:
    numbers = [float(c) for c in row if isinstance(c, (int, float)) and not isinstance(c, bool)]
    labels = sorted(fold(_label(c)) for c in row if not isinstance(c, (int, float)) or isinstance(c, bool))
    return tuple(labels), numbers


def _label(cell: Any) -> str:
    text = "missing" if cell is None else str(cell)
    # A month may come as its first day.
    return text[:7] if len(text) in (10, 19) and text[4:5] == "-" and text[7:10] == "-01" else text


def _covers(got: Sequence[float], wanted: Sequence[float], tolerance: float) -> bool:
    """Each wanted number is among the row's numbers (which may hold counts as well)."""
    return all(
        any(_near(w, g, tolerance, "share" if abs(w) <= 1 and tolerance else "number") for g in got) for w in wanted
    )
