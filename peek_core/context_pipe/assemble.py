"""Plan, Bind and Optimize of one snapshot, and the bytes they come to. Sends and stores nothing.

Owns: the order of the first three stages and the check of what they gave. Refuses to know: sessions, statistics, clock.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

from peek_core.context_pipe import execute
from peek_core.context_pipe.bind import Binder, bind
from peek_core.context_pipe.catalog import Held, Snapshot
from peek_core.context_pipe.optimize import optimize
from peek_core.context_pipe.plan import ContextPlan, plan
from peek_core.context_pipe.rules import clear_observations, drop_rounds, spill, trim_schemas
from peek_core.context_pipe.rules.working import Placed, RuleContext
from peek_core.ports import Provider
from peek_core.values.call_trace import Decision, Explain, Shadow


@dataclass(frozen=True)
class Prepared:
    """A request ready to send; where a dry run stops."""

    snapshot: Snapshot
    plan: ContextPlan
    placed: tuple[Placed, ...]
    explain: Explain
    wire: bytes
    beside: Prepared | None = None
    """The same request in the shadow configuration; never sent."""

    @cached_property
    def wire_hash(self) -> str:
        return "sha256:" + hashlib.sha256(self.wire).hexdigest()

    def named(self, rule: str) -> frozenset[str]:
        """Names of the sections an applied rule concerns."""
        return frozenset(n for d in self.explain.decisions if d.rule == rule and d.applied for n in d.sections)

    @property
    def overflows(self) -> bool:
        """Whether request and reserve exceed what the endpoint takes."""
        return self.explain.tokens + self.explain.reserve > self.plan.hard

    def held(self) -> Held:
        """What the next request of this source must keep doing."""
        order = tuple(p.record.name for p in self.placed)
        return Held(
            cleared=self.named(clear_observations.NAME),
            # What was dropped after all was never written to the store.
            spilled=self.named(spill.NAME) & frozenset(order),
            dropped=self.named(drop_rounds.NAME),
            trimmed=self.named(trim_schemas.NAME),
            order=order,
        )


def assemble(
    snapshot: Snapshot,
    binder: Binder,
    provider: Provider,
    also: tuple[Decision, ...] = (),
) -> Prepared:
    """All that happens before Execute. `also`: decisions taken before Plan. Raises Broken where a law would be broken."""
    planned = plan(snapshot)
    records, sections, noted = bind(binder, snapshot, planned)
    context = RuleContext(snapshot, planned, binder.replaced)
    bound = tuple(Placed(r, s) for r, s in zip(records, sections, strict=True))
    placed, explain = optimize(bound, context, noted)
    before = (*also, *binder.redaction([p.section for p in placed]))
    if before:
        explain = replace(explain, decisions=(*before, *explain.decisions))
    execute.verify(records, placed)
    wire = provider.encode([p.section for p in placed], snapshot.schema)
    execute.verify_wire(wire, placed, structured=not provider.capabilities.language_model)
    return Prepared(snapshot, planned, placed, explain, wire)


def as_shadow(prepared: Prepared) -> Shadow:
    """What is kept of a request that another configuration would have sent."""
    e = prepared.explain
    return Shadow(
        configuration=e.configuration,
        tokens=e.tokens,
        level=e.level,
        predicted_cached=e.predicted_cached,
        wire_hash=prepared.wire_hash,
        hashes=tuple(s.hash for s in e.sections),
        applied=tuple(d.rule for d in e.decisions if d.applied),
        overflow=prepared.overflows,
    )
