"""The Cartographer: distillation + map -> minimal edits (PEEK, section 3.2). One model call, separate from the Distiller.

Owns: its request and its reply's shape. Refuses to know: whether an edit is admitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peek_core.context_map.distiller import Candidate, Distillation, evidence
from peek_core.context_map.map import ContextMap, Edit, MapItem
from peek_core.context_map.prompts import prompt
from peek_core.context_map.replies import json_object, objects, text
from peek_core.ports import Caller
from peek_core.values.canon import canonical_json, plain
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord

MAX_EDITS = 48
BROKEN_CHARS = 600
"""Of the rows behind a broken item, each time."""

SCHEMA: Mapping[str, Any] = {
    "name": "edits",
    "strict": False,
    "schema": {
        "type": "object",
        "required": ["edits"],
        "properties": {
            "edits": {"type": "array", "items": {"type": "object"}},
            "definitions": {"type": "array", "items": {"type": "integer"}},
        },
    },
}


@dataclass(frozen=True)
class Chart:
    """Edits to try, definitions to propose, and what was dropped with its reason."""

    edits: tuple[Edit, ...]
    definitions: tuple[Candidate, ...]
    dropped: tuple[str, ...] = ()


def chart(
    call: Caller,
    distillation: Distillation,
    current: ContextMap,
    context: Sequence[SourceRecord],
    *,
    budget: int,
    tokens: int,
    version: int,
    broken: Sequence[tuple[MapItem, str]] = (),
) -> Chart:
    """Ask for edits. `context` holds definitions and map as they stand; `broken` are items whose evidence failed since."""
    marks = [
        f"{i.id}: {', '.join(m for m in ('pinned', 'locked', 'frozen') if getattr(i, m))}"
        for i in current.items
        if i.pinned or i.untouchable
    ]
    state = f"The map holds {tokens:,} of {budget:,} tokens. Hands off: {'; '.join(marks) or 'nothing'}."
    rules = SourceRecord(
        name="cartographer",
        kind=Kind.CONSTRAINTS,
        tier=LifecycleTier.IMMUTABLE,
        scope=Scope.GLOBAL,
        priority=Priority.NEVER,
        role="system",
        text=prompt("cartographer"),
        data={"source": "chart"},
    )
    found = SourceRecord(
        name="distillation",
        kind=Kind.WORKING_MEMORY,
        tier=LifecycleTier.PER_TURN,
        scope=Scope.NONE,
        priority=Priority.NEVER,
        role="user",
        text=f"{state}{_told(broken)}\n\nDistillation:\n{canonical_json(_readable(distillation))}",
        data={
            "distillation": distillation.as_data(),
            "budget": budget,
            "tokens": tokens,
            "broken": [{"id": i.id, "text": i.text, "why": i.detail} for i, _ in broken],
        },
    )
    done = call("chart", [rules, *context, found], schema=SCHEMA)
    return read(done.text, distillation, version)


def _readable(distillation: Distillation) -> dict[str, Any]:
    """Without what only people are shown: counts of the log that are not those the Distiller names."""
    told = distillation.as_data()
    told["orientation"] = {k: v for k, v in told["orientation"].items() if k != "counted"}
    return told


def _told(broken: Sequence[tuple[MapItem, str]]) -> str:
    if not broken:
        return ""
    lines = [
        f"[{i.id}] {i.text}\n  its query: {i.evidence.sql if i.evidence else ''}\n  its rows were: "
        f"{canonical_json(plain(i.evidence.expect if i.evidence else ()))[:BROKEN_CHARS]}\n  they are now: {now[:BROKEN_CHARS]}"
        for i, now in broken
    ]
    return "\n\nBroken since the data has a new version, and no longer shown in prompts:\n" + "\n".join(lines)


def read(reply: str, distillation: Distillation, version: int) -> Chart:
    """The edits in a reply; what can't be an edit is dropped with its reason."""
    data, problem = json_object(reply)
    edits: list[Edit] = []
    dropped: list[str] = [problem] if problem else []
    raw = data.get("edits")
    if isinstance(raw, list) and len(raw) > MAX_EDITS:
        dropped.append(f"{len(raw) - MAX_EDITS} edits beyond the first {MAX_EDITS}")
    for item in objects(raw, MAX_EDITS):
        edit = _edit(item, distillation.candidates, version)
        if isinstance(edit, Edit):
            edits.append(edit)
        else:
            dropped.append(edit)
    chosen: list[Candidate] = []
    for index in data.get("definitions") or [] if isinstance(data.get("definitions"), list) else []:
        candidate = _at(distillation.candidates, index)
        if candidate is None or candidate.kind != "definition":
            dropped.append(f"candidate {str(index)[:20]} is no definition")
        elif candidate not in chosen:
            chosen.append(candidate)
    return Chart(tuple(edits), tuple(chosen), tuple(dropped))


def _at(candidates: Sequence[Candidate], index: Any) -> Candidate | None:
    return (
        candidates[index]
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(candidates)
        else None
    )


def _edit(data: Mapping[str, Any], candidates: Sequence[Candidate], version: int) -> Edit | str:
    op, id = text(data.get("op"), 20).upper(), text(data.get("id"), 40)
    source = _at(candidates, data.get("candidate"))
    said = text(data.get("text")) or (source.text if source else "")
    proof = evidence(data.get("evidence"), version) or (source.evidence if source else None)
    why = text(data.get("why"), 300)
    if op == "ADD":
        section = text(data.get("section"), 20) or (source.section if source else "")
        return Edit("ADD", section=section, text=said, evidence=proof, why=why)
    if op == "REPLACE":
        return Edit("REPLACE", id=id, text=said, evidence=proof, why=why)
    if op == "DELETE":
        return Edit("DELETE", id=id, why=why)
    return f"no operation is called {op[:20]!r}"
