"""Proposing a definition: checked, measured on the rows there are, and laid before a person.

Owns: what is refused before a person sees it, and the events a proposal leaves. Refuses to know: who found it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from peek_core.context_map import definitions as defs
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap
from peek_core.ports import RunQuery


def propose(
    current: ContextMap,
    data: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, str]],
    query: RunQuery,
    version: int,
    *,
    author: str = "agent",
    run: str = "",
    question: str = "",
    accept: bool = False,
) -> tuple[ContextMap, list[MapEvent]]:
    """The map with the definition in `data` proposed (or refused), and what is to be told.

    `columns`: table -> column -> type of the raw tables; `version`: the dataset's. `accept`: the person chose automatic
    acceptance.
    """
    made = defs.from_data(data, columns)
    if isinstance(made, str):
        return current, [MapEvent("refuse", "", {"definition": data, "why": made}, author)]
    known = next((d for d in current.definitions if d.same_rule(made)), None)
    refusal = f"{known.id} already says this ({known.state})" if known else defs.conflict(made, current.active)
    effect = "" if refusal else defs.measure(made, current.active, columns[made.table], query, version)
    if isinstance(effect, str):
        refusal = refusal or effect
    elif (
        not any(effect[key] for key in ("values_changed", "values_lost"))
        and effect["rows_before"] == effect["rows_after"]
    ):
        refusal = "it would change no row and no value"
    if refusal or isinstance(effect, str):
        return current, [MapEvent("refuse", "", {"definition": made.as_data(), "why": refusal}, author)]
    made = replace(
        made,
        id=f"def-{current.next_definition}",
        author=author,
        run=run,
        question=question,
        effect=effect,
        state="on" if accept else "proposed",
    )
    events = [MapEvent("propose", made.id, {**made.as_data(), "effect": effect}, author)]
    if accept:
        events.append(MapEvent("accept", made.id, {"why": "automatic acceptance is on"}, author))
    new = replace(current, definitions=(*current.definitions, made), next_definition=current.next_definition + 1)
    return new, events
