"""Decisions on definitions: what one would do, whether it may stand, whether it still fits a new version.

Owns: previews, acceptance, switching off, holding back. Refuses to know: pages, terminals, how a map is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from peek_core.context_map import definitions as defs
from peek_core.context_map.definitions import Definition, DefinitionState
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap
from peek_core.errors import NotFound, Refused
from peek_core.ports import RunQuery
from peek_core.values.canon import plain
from peek_core.values.trajectory import Table

JUMP = 3.0
"""A definition whose share of rows or values changes by such a factor no longer does what it was accepted for."""
SHARE = 0.01
"""Shares below this differ from version to version without a reason."""
NAMES: Mapping[str, str] = {"on": "accept", "rejected": "reject", "off": "switch_off"}
"""The event of each decision."""


@dataclass(frozen=True)
class Bench:
    """What definitions are measured on: table -> column -> type of a dataset version, its number, and its raw tables.

    `on_raw` calls what it is given with a query function over them.
    """

    columns: Mapping[str, Mapping[str, str]]
    version: int
    on_raw: Callable[[Callable[[RunQuery], Any]], Any]
    moved: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(table, column) -> what became of its numbers since the version before, where they all moved."""


@dataclass(frozen=True)
class Preview:
    """What a definition would do before anything moves. `refused` says why it can't be accepted, empty if it can."""

    definition: Definition
    effect: Mapping[str, Any]
    samples: Table
    """Examples: what stands there before and after, and in how many rows (`n_rows`)."""
    refused: str = ""


def found(current: ContextMap, id: str) -> Definition:
    """Raises NotFound."""
    definition = current.definition(id)
    if definition is None:
        raise NotFound(f"There is no definition {id!r}", next="`peek map DATASET` lists those there are.")
    return definition


def preview(current: ContextMap, id: str, bench: Bench) -> Preview:
    """The effect of a definition on the present version, with examples."""
    d = found(current, id)
    refused = _refusal(d, current.active, bench)
    if refused:
        return Preview(d, d.effect, Table((), (), 0), refused)

    def look(query: RunQuery) -> Preview:
        columns = bench.columns[d.table]
        effect = defs.measure(d, current.active, columns, query, bench.version)
        if isinstance(effect, str):
            return Preview(d, d.effect, Table((), (), 0), effect)
        return Preview(d, effect, query(defs.samples_sql(d, columns, current.active)))

    shown: Preview = bench.on_raw(look)
    return shown


def decided(current: ContextMap, id: str, state: DefinitionState, bench: Bench) -> tuple[ContextMap, MapEvent]:
    """The map after accepting (on), rejecting or switching off; Refused when the view could not stand so."""
    d = found(current, id)
    if state == "on":
        shown = preview(current, id, bench)
        if shown.refused:
            raise Refused(f"{id} can't be accepted: {shown.refused}", next=_next(shown.refused))
        d = replace(d, effect=shown.effect)
    elif d.state == "on":
        needing = defs.needed_by(d, current.active, bench.columns.get(d.table, {}))
        if needing:
            raise Refused(
                f"“{d.name}” can't go: “{needing[0].name}” needs it", next=f"Switch {needing[0].id} off first."
            )
    changed = replace(d, state=state)
    new = replace(current, definitions=tuple(changed if o.id == id else o for o in current.definitions))
    body = {"rule": d.rule, "effect": plain(changed.effect)}
    return new, MapEvent(NAMES.get(state, state), id, body, "person")


def _refusal(d: Definition, active: Sequence[Definition], bench: Bench) -> str:
    if not defs.fits(d, bench.columns.get(d.table, {})):
        return f"version {bench.version} of the data has no such columns, or has taken the name"
    return defs.conflict(d, active) or ""


def _next(refused: str) -> str:
    return "Switch the other one off first." if " and “" in refused else "Reject it, or state the rule anew."


def rows_of(current: ContextMap, id: str, bench: Bench) -> Table:
    """The rows a definition is about; the engine's limit of rows, and how many in all."""
    d = found(current, id)
    others = [o for o in current.active if defs.fits(o, bench.columns.get(o.table, {}))]
    if not defs.fits(d, bench.columns.get(d.table, {})):
        raise Refused(f"{id} no longer fits the data", next="Reject it, or state the rule anew.")
    sql = defs.touched_sql(d, bench.columns[d.table], others)
    rows: Table = bench.on_raw(lambda query: query(sql))
    return rows


def remeasured(current: ContextMap, bench: Bench) -> tuple[ContextMap, list[MapEvent]]:
    """Effects on a version they were not measured on yet; a definition that no longer fits it is held back.

    In the order they were accepted, each beside those before it, as when a person accepted them. One held back earlier
    joins again when it fits.
    """
    mine = [d for d in current.definitions if d.state in ("on", "held_back")]
    if all(d.effect.get("version") == bench.version for d in mine):
        return current, []

    def again(query: RunQuery) -> tuple[ContextMap, list[MapEvent]]:
        new, events = current, list[MapEvent]()
        kept: list[Definition] = []
        for d in mine:
            changed, event = _remeasured(d, kept, bench, query)
            if changed.state == "on":
                kept.append(changed)
            if event is not None:
                events.append(event)
            new = replace(new, definitions=tuple(changed if o.id == d.id else o for o in new.definitions))
        return new, events

    done: tuple[ContextMap, list[MapEvent]] = bench.on_raw(again)
    return done


def _remeasured(
    d: Definition, kept: Sequence[Definition], bench: Bench, query: RunQuery
) -> tuple[Definition, MapEvent | None]:
    why: str | dict[str, Any] = _refusal(d, kept, bench) or _rescaled(d, bench)
    why = why or defs.measure(d, kept, bench.columns[d.table], query, bench.version)
    if not isinstance(why, str):
        jumped = _jumped(d.effect, why)
        if jumped is None:
            name = "measure" if d.state == "on" else "fit_again"
            event = MapEvent(name, d.id, {"before": plain(d.effect), "effect": plain(why), "rule": d.rule})
            return replace(d, state="on", effect=why), event
        why = jumped
    # What it last did where it fitted is what the next version is held against.
    last = {k: v for k, v in d.effect.items() if k != "held_back"} | {"version": bench.version, "held_back": why}
    changed = replace(d, state="held_back", effect=last)
    if d.state == "held_back" and d.effect.get("held_back") == why:
        return changed, None
    return changed, MapEvent("hold_back", d.id, {"rule": d.rule, "why": why})


def _rescaled(d: Definition, bench: Bench) -> str:
    """Why a rule about numbers can't be trusted any more: they were all multiplied by something since."""
    if d.kind in ("spelling_fold", "code_label", "date_reading", "label_column"):
        return ""
    return next((why for c in sorted(defs.used_by(d)) if (why := bench.moved.get((d.table, c), ""))), "")


def _jumped(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Why an effect is no longer the one that was accepted; None where it is, within what versions differ by."""
    was, is_now = _share(before), _share(now)
    if was is None or is_now is None or was == 0:
        return None
    if is_now == 0:
        return "nothing it speaks of is left in this version"
    apart = max(was, is_now) / min(was, is_now)
    if apart < JUMP or max(was, is_now) < SHARE:
        return None
    return f"it concerns {is_now:.1%} of the rows, it was {was:.1%} when it last fitted"


def _share(effect: Mapping[str, Any]) -> float | None:
    """Share of rows an effect leaves out or whose value it changes."""
    rows = effect.get("rows_before")
    if not rows:
        return None
    return float((rows - effect["rows_after"] + effect["values_changed"]) / rows)


def check_left_out(current: ContextMap, ids: Sequence[str], columns: Mapping[str, Mapping[str, str]]) -> None:
    """Whether definitions may be left out of one question; raises Refused or NotFound."""
    left = [d for d in current.active if d.id not in ids]
    for id in ids:
        d = found(current, id)
        if d.state != "on":
            raise Refused(f"“{d.name}” is not on, so there is nothing to leave out", next="Ask without leaving it out.")
        needing = defs.needed_by(d, left, columns.get(d.table, {}))
        if needing:
            raise Refused(f"“{d.name}” can't be left out alone: “{needing[0].name}” needs it",
                          next=f"Leave out {needing[0].id} as well.")  # fmt: skip
