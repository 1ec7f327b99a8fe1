"""`peek explain`, `peek replay` and `peek trace`: what would be sent, what was, and whether it would be again; and what
`peek ask` says of its run.

Owns: their data and text. Refuses to know: arguments, exit codes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from peek_core import cli_text
from peek_core.context_pipe.explain import explain_text
from peek_core.errors import NotFound
from peek_core.values.query_plan import plan_text
from peek_core.values.run_view import RunView
from peek_core.workspace import Workspace

Said = tuple[dict[str, Any], str]


def explain(
    w: Workspace, dataset: str, question: str, *, without: Sequence[str], configuration: str | None, texts: bool
) -> Said:
    """The first request of a question, decided but not sent."""
    made = w.dry_run(dataset, question, without=without, configuration=configuration)
    text = explain_text(made.explain)
    if texts:
        text += "".join(f"\n--- {p.record.name} ({p.section.role})\n{p.section.text}\n" for p in made.placed)
    bodies = [{"name": p.record.name, "role": p.section.role, "text": p.section.text} for p in made.placed]
    data = {"explain": made.explain, "wire_hash": made.wire_hash, "wire_bytes": len(made.wire)}
    return data | ({"sections": bodies} if texts else {}), f"{text}Nothing was sent.\n"


def replay(w: Workspace, call: str, *, today: bool) -> Said:
    """A stored request planned again."""
    found = w.explaining.replay(call, today=today)
    verdict = "same bytes, same decisions" if found.same else "differs"
    lines = [f"call {call}: {verdict}", f"  then {found.trace.wire_hash}", f"  now  {found.prepared.wire_hash}"]
    data = {
        "call": call,
        "same": found.same,
        "differs": found.differs,
        "then": found.trace.wire_hash,
        "now": found.prepared.wire_hash,
    }
    return data, "\n".join([*lines, *(f"  {d}" for d in found.differs)])


def trace(w: Workspace, run: str, *, plans: bool) -> Said:
    """EXPLAIN ANALYZE of every request of a run, and where asked for the plan of every query."""
    view = w.run(run)
    calls = w.explaining.calls(run)
    if not calls:
        raise NotFound(f"Run {run} made no model request", next=view.reason)
    text = cli_text.trace(view, calls)
    queries = [q for q in view.trajectory.queries if q.error is None] if view.trajectory else []
    if plans:
        text += "".join(f"\n{q.id}  {' '.join(q.sql.split())}\n{plan_text(q.profile)}" for q in queries)
    return {"run": view.id, "status": view.status, "calls": calls}, text


def answer(w: Workspace, view: RunView) -> dict[str, Any]:
    """`peek ask --json`."""
    t = view.trajectory
    answer = t.answer if t else None
    table = answer.table if answer and view.status in ("answered", "partly") else None
    after = w.map(view.dataset, view.arm)
    usage = view.summary.get("usage") or {}
    events = w.store.map_events(view.dataset, view.arm, run=view.id)
    edits = [
        {
            "op": e.name.upper(),
            "id": e.item,
            "section": json.loads(e.body).get("section"),
            "text": json.loads(e.body).get("text"),
        }
        for e in events
        if e.name in ("add", "replace", "delete", "evict")
    ]
    return {
        "run": view.id,
        "status": view.status,
        "answer": answer.text if answer else view.reason or None,
        "value": answer.value if answer else None,
        "table": None
        if table is None
        else {"columns": table.columns, "rows": table.rows, "row_count": table.row_count},
        "sql": [q.sql for q in t.queries] if t else [],
        "iterations": len(t.steps) if t else 0,
        "look_ups": t.look_ups if t else 0,
        "usage": {k: usage.get(k) for k in ("input", "cached", "output", "calls")},
        "cost": usage.get("usd"),
        "definitions": [{"id": d["id"], "rows_moved": d["rows_moved"]} for d in view.summary.get("definitions", [])],
        "left_out": [d["id"] for d in view.summary.get("left_out", [])],
        "went_around": [d["id"] for d in view.summary.get("went_around", [])],
        "notes": list(answer.notes) if answer else [],
        "suggestions": list(answer.suggestions) if answer else [],
        "map": {"version_before": view.map_version, "version_after": after.version, "edits": edits},
        "analyst": view.analyst,
    }
