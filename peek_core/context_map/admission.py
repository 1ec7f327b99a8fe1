"""Admission: what may enter the map. Evidence is run; claims its query does not reproduce stay out.

Owns: the checks and their reasons. Refuses to know: models, storage. SQL goes through the query function it is given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rapidfuzz import fuzz

from peek_core.context_map.map import ContextMap, Edit, Evidence, EvidenceState
from peek_core.errors import QueryFailed
from peek_core.ports import RunQuery
from peek_core.values.canon import fold, plain

MAX_CHARS = 600
MAX_QUOTE = 60
NEAR = 92.0
"""token_set_ratio above which two items of one section say the same."""

# Text that tells the next model what to do instead of saying what is true of the data.
_ORDERS = re.compile(
    r"\b(ignore (?:all|any|previous|the above)|disregard|you (?:must|should|are now)|always answer|never answer|"
    r"do not (?:tell|reveal|mention)|system prompt|as an ai|new instructions?|override|jailbreak|"
    r"(?:send|post|upload|forward) (?:it|this|the data|them) to)\b",
    re.I,
)
_MARKUP = re.compile(r"<\|[^|]*\|>|</?(?:system|assistant|user|tool)\b|!\[[^\]]*\]\(|```|^#{1,6} ", re.I | re.M)
_SECRETS = re.compile(
    r"\b(?:sk|pk|ghp|xox[abp])[-_][A-Za-z0-9_-]{12,}|\bAKIA[0-9A-Z]{12,}|-----BEGIN [A-Z ]*KEY-----|"
    r"\b(?:password|passwd|api[_ ]?key|secret)\s*[:=]\s*\S+",
    re.I,
)
_PII = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]{2,}|\b(?:\d[ -]?){13,19}\b|\+\d[\d ()-]{8,}\d")
_QUOTED = re.compile(rf"[\"“‘']([^\"”’']{{{MAX_QUOTE + 1},}})[\"”’']")


def text_refusal(text: str) -> str | None:
    """Why this text may not stand in the map, or None."""
    if len(text) > MAX_CHARS:
        return f"longer than {MAX_CHARS} characters"
    if _ORDERS.search(text):
        return "reads like an instruction, not like a fact about the data"
    if _MARKUP.search(text):
        return "holds markup or prompt markers"
    if _SECRETS.search(text):
        return "looks like a secret"
    if _PII.search(text):
        return "holds what looks like personal data (e-mail, phone or card number)"
    if _QUOTED.search(text):
        return f"quotes cell text longer than {MAX_QUOTE} characters"
    return None


def duplicate_of(current: ContextMap, edit: Edit) -> str | None:
    """Id of an item of the same section that already says this, or None."""
    wanted = fold(edit.text)
    for item in current.items:
        if item.id == edit.id or (edit.op == "ADD" and item.section.value != edit.section):
            continue
        if fold(item.text) == wanted or (
            fuzz.token_set_ratio(item.text, edit.text) >= NEAR and _digits(item.text) == _digits(edit.text)
        ):
            return item.id
    return None


def _digits(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def check_evidence(evidence: Evidence, query: RunQuery) -> tuple[EvidenceState, str]:
    """Run the evidence: (holds, ""), (drifted, "old → new") or (broken, reason)."""
    try:
        table = query(evidence.sql)
    except QueryFailed as failure:
        return "broken", failure.what[:200]
    got = tuple(tuple(plain(v) for v in row) for row in table.rows)
    if equal(evidence.expect, got, evidence.tolerance):
        return "holds", ""
    return "drifted", f"{_short(evidence.expect)} → {_short(got)}"


def equal(a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]], tolerance: float) -> bool:
    """Same shape and cells; numbers within the relative tolerance."""
    return len(a) == len(b) and all(
        len(x) == len(y) and all(_same(u, v, tolerance) for u, v in zip(x, y, strict=True))
        for x, y in zip(a, b, strict=True)
    )


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-9)
    return bool(a == b) or str(a) == str(b)


def _short(rows: Sequence[Sequence[Any]]) -> str:
    text = "; ".join(", ".join("–" if c is None else str(c) for c in row) for row in rows[:3])
    return (text[:60] + " …") if len(text) > 60 or len(rows) > 3 else text or "no rows"


def admit(current: ContextMap, edit: Edit, query: RunQuery) -> tuple[Edit, EvidenceState, str | None]:
    """The edit as it may be applied, the state of its evidence, and the reason when it is refused."""
    if edit.op == "DELETE":
        return edit, "unverifiable", None
    refusal = text_refusal(edit.text)
    if refusal:
        return edit, "unverifiable", refusal
    twin = duplicate_of(current, edit)
    if twin:
        return edit, "unverifiable", f"{twin} already says this"
    if edit.evidence is None:
        return edit, "unverifiable", None
    state, detail = check_evidence(edit.evidence, query)
    if state != "holds":
        said = "its own query gives something else" if state == "drifted" else "its query fails"
        return edit, state, f"{said}: {detail}"
    return replace(edit, text=" ".join(edit.text.split())), "holds", None
