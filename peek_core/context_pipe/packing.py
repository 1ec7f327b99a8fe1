"""A snapshot as JSON and back: texts by hash, so that a stored request can be planned again.

Owns: that form. Refuses to know: where texts are kept. Each record is packed once per run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.cache_model import Known
from peek_core.context_pipe.catalog import Configuration, Held, Snapshot
from peek_core.errors import NotFound
from peek_core.ports import Capabilities
from peek_core.values.call_trace import Base, Reserves
from peek_core.values.canon import canonical_json, clean_text, content_hash
from peek_core.values.codec import build
from peek_core.values.prices import Rates
from peek_core.values.sources import SourceRecord

_LOADED = ("text", "data", "cleared", "trimmed")


class Packer:
    """Packs the snapshots of one run. `bodies` grow with what is new."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder
        self._known: dict[int, tuple[SourceRecord, str]] = {}
        self.bodies: dict[str, str] = {}

    def packed(self, snapshot: Snapshot) -> dict[str, Any]:
        """JSON types; texts and records stand as hashes into `bodies`."""
        s = snapshot
        return {
            "source": s.source,
            "records": [self._record(r) for r in s.records],
            "estimates": list(s.estimates),
            "counter": s.counter,
            "provider": s.provider,
            "model": s.model,
            "capabilities": _plain(s.capabilities),
            "configuration": _plain(s.configuration),
            "base": _plain(s.base),
            "reserves": _plain(s.reserves),
            "rates": _plain(s.rates),
            "factors": dict(s.factors),
            "expected_calls": s.expected_calls,
            "refetch_rate": s.refetch_rate,
            "recovery": s.recovery,
            "held": _plain(s.held),
            "cache": {"common": sorted(s.cache.common), "entries": sorted(s.cache.entries)},
            "flips": list(s.flips),
            "spill_backend": s.spill_backend,
            "schema": None if s.schema is None else _plain(s.schema),
        }

    def _record(self, record: SourceRecord) -> str:
        held = self._known.get(id(record))
        if held is None:
            held = (record, self._pack(record))
            if self._binder.has(record):
                self._known[id(record)] = held
        return held[1]

    def _pack(self, record: SourceRecord) -> str:
        bound = self._binder.section(record) if self._binder.has(record) else None
        if bound is not None:
            self.bodies[bound.hash] = bound.text
        told = {
            "name": record.name,
            "kind": record.kind,
            "tier": record.tier,
            "scope": record.scope,
            "priority": record.priority,
            "role": record.role,
            "pair": record.pair,
            "recoverable": record.recoverable,
            "markerable": record.markerable,
            "depends": list(record.depends),
            "text": None if bound is None else bound.hash,
            "data": None if record.data is None else self._kept(canonical_json(record.data)),
            "cleared": self._kept(clean_text(record.cleared)),
            "trimmed": self._kept(clean_text(record.trimmed)),
        }
        return self._kept(canonical_json(told))

    def _kept(self, text: str) -> str:
        hash = content_hash(text)
        self.bodies[hash] = text
        return hash


def unpacked(data: Mapping[str, Any], text: Callable[[str], str | None]) -> Snapshot:
    """The snapshot that `packed` gave. Raises NotFound where a text is gone. What could not be loaded then can't be now."""

    def read(hash: str) -> str:
        found = text(hash)
        if found is None:
            raise NotFound(
                f"The text {hash[:19]}… of this request is no longer kept",
                next="Texts are kept for 30 days, and not at all where a dataset keeps hashes only.",
            )
        return found

    def record(hash: str) -> SourceRecord:
        told = json.loads(read(hash))
        rest = {k: v for k, v in told.items() if k not in _LOADED}
        made: SourceRecord = build(
            SourceRecord, {**rest, "cleared": read(told["cleared"]), "trimmed": read(told["trimmed"])}
        )
        typed = None if told["data"] is None else json.loads(read(told["data"]))
        at_hand = told["text"] is not None
        content = {"text": read(told["text"])} if at_hand else {"load": _unread}
        return replace(made, data=typed, **content)

    return Snapshot(
        source=data["source"],
        records=tuple(map(record, data["records"])),
        estimates=tuple(data["estimates"]),
        counter=data["counter"],
        provider=data["provider"],
        model=data["model"],
        capabilities=build(Capabilities, data["capabilities"]),
        configuration=build(Configuration, data["configuration"]),
        base=build(Base, data["base"]),
        reserves=build(Reserves, data["reserves"]),
        rates=None if data["rates"] is None else build(Rates, data["rates"]),
        factors=dict(data["factors"]),
        expected_calls=data["expected_calls"],
        refetch_rate=data["refetch_rate"],
        recovery=data["recovery"],
        held=Held(
            **{k: frozenset(data["held"][k]) for k in ("cleared", "spilled", "dropped", "trimmed")},
            order=tuple(data["held"]["order"]),
        ),
        cache=Known(frozenset(data["cache"]["common"]), frozenset(data["cache"]["entries"])),
        flips=tuple(data["flips"]),
        spill_backend=data["spill_backend"],
        schema=data.get("schema"),
    )


def _unread() -> str:
    raise NotFound("This content could not be read when the request was made")


def _plain(value: Any) -> Any:
    return json.loads(canonical_json(value))
