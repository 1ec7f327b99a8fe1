"""The Distiller: trajectory + map -> diagnosis, tags and candidates (PEEK, section 3.2). One model call.

Owns: its request, its reply's shape. Refuses to know: which model answers, how a map is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peek_core.context_map.map import Evidence, MapSection
from peek_core.context_map.prompts import prompt
from peek_core.context_map.replies import json_object, objects, text
from peek_core.ports import Caller, TokenCounter
from peek_core.settings import MapSettings
from peek_core.values.canon import plain
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord
from peek_core.values.trajectory import Step, Trajectory

MAX_CANDIDATES = 48
MAX_TAGS = 200
MAX_TOLERANCE = 0.05
"""The widest relative tolerance a model may ask for; beyond that a query shows nothing."""

SCHEMA: Mapping[str, Any] = {
    "name": "distillation",
    "strict": False,
    "schema": {
        "type": "object",
        "required": ["diagnosis", "tags", "candidates"],
        "properties": {
            "diagnosis": {"type": "string"},
            "orientation": {"type": "object"},
            "tags": {"type": "array", "items": {"type": "object"}},
            "candidates": {"type": "array", "items": {"type": "object"}},
        },
    },
}


@dataclass(frozen=True)
class Candidate:
    """Something worth keeping: an item (section, text, evidence) or a definition (as data)."""

    kind: str
    section: str = ""
    text: str = ""
    evidence: Evidence | None = None
    definition: Mapping[str, Any] | None = None
    transferability: str = ""
    rationale: str = ""
    found: str = ""
    """What its evidence gave when it was run after the reply came; empty where it was not."""


@dataclass(frozen=True)
class Distillation:
    """What one run taught. `tags` are (item id, tag, why); `problem` says why a reply could not be read."""

    diagnosis: str
    orientation: Mapping[str, Any]
    """As the model reports it; `counted` is what the SQL log says: queries, and those of them that oriented."""
    tags: tuple[tuple[str, str, str], ...]
    candidates: tuple[Candidate, ...]
    problem: str | None = None

    def as_data(self) -> dict[str, Any]:
        """For the Cartographer's request and for the event log."""
        return {
            "diagnosis": self.diagnosis,
            "orientation": plain(self.orientation),
            "tags": [{"id": i, "tag": t, "why": w} for i, t, w in self.tags],
            "candidates": [_candidate_data(c) for c in self.candidates],
        }


def _candidate_data(c: Candidate) -> dict[str, Any]:
    if c.kind == "definition":
        return {"kind": "definition", "definition": plain(c.definition), "rationale": c.rationale}
    evidence = (
        {"sql": c.evidence.sql, "expect": plain(c.evidence.expect), "found": c.found or None} if c.evidence else None
    )
    return {
        "kind": "item",
        "section": c.section,
        "text": c.text,
        "evidence": evidence,
        "transferability": c.transferability,
        "rationale": c.rationale,
    }


def distill(
    call: Caller,
    trajectory: Trajectory,
    context: Sequence[SourceRecord],
    *,
    history: Sequence[str],
    version: int,
    count: TokenCounter,
    budget: int = MapSettings.trajectory_tokens,
    sections: Sequence[MapSection] = (),
) -> Distillation:
    """Ask for what the run taught. `context` holds profile, definitions and map as the run saw them.

    `budget` (tokens) bounds what is shown of the steps; `sections` are further ones that may be used.
    """
    further = "".join(f"\nOne more section: {s.value} {s.hint}." for s in sections)
    rules = SourceRecord(
        name="distiller",
        kind=Kind.CONSTRAINTS,
        tier=LifecycleTier.IMMUTABLE,
        scope=Scope.GLOBAL,
        priority=Priority.NEVER,
        role="system",
        text=prompt("distiller") + further,
        data={"source": "distill"},
    )
    steps = kept(trajectory.steps, count, budget)
    run = SourceRecord(
        name="trajectory",
        kind=Kind.WORKING_MEMORY,
        tier=LifecycleTier.PER_TURN,
        scope=Scope.NONE,
        priority=Priority.NEVER,
        role="user",
        text=trajectory_text(trajectory, steps),
        data=trajectory_data(trajectory, steps, history),
    )
    done = call("distill", [rules, *context, run], schema=SCHEMA)
    found = read(done.text, version)
    counted = {"queries": len(trajectory.queries), "orienting": trajectory.look_ups}
    return replace(found, orientation={**found.orientation, "counted": counted})


def read(reply: str, version: int) -> Distillation:
    """The distillation in a reply; unreadable parts are left out."""
    data, problem = json_object(reply)
    tags = tuple(
        (text(t.get("id"), 40), text(t.get("tag"), 20), text(t.get("why"), 300))
        for t in objects(data.get("tags"), MAX_TAGS)
    )
    candidates = tuple(filter(None, (_candidate(c, version) for c in objects(data.get("candidates"), MAX_CANDIDATES))))
    orientation = data.get("orientation")
    return Distillation(
        text(data.get("diagnosis")), orientation if isinstance(orientation, Mapping) else {}, tags, candidates, problem
    )


def _candidate(data: Mapping[str, Any], version: int) -> Candidate | None:
    rationale = text(data.get("rationale"), 500)
    definition = data.get("definition")
    if data.get("kind") == "definition" or (isinstance(definition, Mapping) and "kind" not in data):
        return (
            Candidate("definition", definition=definition, rationale=rationale)
            if isinstance(definition, Mapping)
            else None
        )
    said = text(data.get("text"))
    if not said:
        return None
    return Candidate(
        "item",
        text(data.get("section"), 20),
        said,
        evidence(data.get("evidence"), version),
        transferability=text(data.get("transferability"), 20),
        rationale=rationale,
    )


def evidence(data: Any, version: int) -> Evidence | None:
    """Evidence from untrusted data: a query and the rows it must give; incomplete evidence is none."""
    if not isinstance(data, Mapping) or not isinstance(data.get("sql"), str):
        return None
    expect = data.get("expect")
    if not isinstance(expect, list):
        return None
    rows = [row if isinstance(row, list) else [row] for row in expect]
    tolerance = data.get("tolerance")
    within = float(tolerance) if isinstance(tolerance, (int, float)) and 0 <= tolerance <= MAX_TOLERANCE else 1e-6
    return Evidence(data["sql"], tuple(tuple(plain(c) for c in row) for row in rows[:200]), within, version)


HEAD_SHARE = 0.6
"""Share of the budget that the first steps of a long run may take; its last steps have the rest."""


OBSERVATION_CHARS = 1_600
"""What a long run's observations are shortened to before whole steps are left out: code tells more than rows."""


def kept(steps: Sequence[Step], count: TokenCounter, budget: int) -> tuple[Step, ...]:
    """Steps of a run within `budget` tokens: observations shortened first, then only its head and its tail, at least the
    last step."""
    if sum(count(_step_text(step)) for step in steps) > budget:
        steps = [replace(step, observation=_shortened(step.observation)) for step in steps]
    head, tail = head_and_tail([count(_step_text(step)) for step in steps], budget)
    return (*steps[:head], *steps[tail:])


def _shortened(observation: str) -> str:
    if len(observation) <= OBSERVATION_CHARS:
        return observation
    half = OBSERVATION_CHARS // 2
    left = len(observation) - 2 * half
    return f"{observation[:half]}\n… {left:,} characters left out …\n{observation[-half:]}"


def head_and_tail(sizes: Sequence[int], budget: int) -> tuple[int, int]:
    """(end of the head, start of the tail) of parts with these sizes, so that what is kept fits the budget."""
    if sum(sizes) <= budget:
        return len(sizes), len(sizes)
    head, left = 0, budget * HEAD_SHARE
    while head < len(sizes) - 1 and sizes[head] <= left:
        left -= sizes[head]
        head += 1
    tail = len(sizes) - 1
    left += budget * (1 - HEAD_SHARE) - sizes[tail]
    while tail > head and sizes[tail - 1] <= left:
        tail -= 1
        left -= sizes[tail]
    return head, tail


def _step_text(step: Step) -> str:
    return f"Step {step.n}\n```python\n{step.code}\n```\n{step.observation}"


def trajectory_text(trajectory: Trajectory, steps: Sequence[Step]) -> str:
    """Question, the kept steps with code and observation, answer; what was left out is counted where it stood."""
    parts = [f"Question: {trajectory.question}"]
    last = 0
    for step in steps:
        if step.n > last + 1:
            parts.append(f"({step.n - last - 1} steps left out here)")
        parts.append(_step_text(step))
        last = step.n
    answer = trajectory.answer.text if trajectory.answer else "none"
    parts.append(f"Status: {trajectory.status}\nAnswer: {answer}")
    return "\n\n".join(parts)


def trajectory_data(trajectory: Trajectory, steps: Sequence[Step], history: Sequence[str]) -> dict[str, Any]:
    """The same as typed data."""
    return {
        "question": trajectory.question,
        "status": trajectory.status,
        "answer": trajectory.answer.text if trajectory.answer else None,
        "reading": plain(trajectory.answer.reading) if trajectory.answer else None,
        "steps": [s.as_data() for s in steps],
        "history": list(history),
    }
