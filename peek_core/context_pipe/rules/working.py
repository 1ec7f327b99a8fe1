"""What a rule works on: records beside their bound sections, and the snapshot and plan they belong to.

Owns: the shared shapes of rules. Refuses to know: any single rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peek_core.context_pipe.catalog import Snapshot
from peek_core.context_pipe.plan import ContextPlan
from peek_core.values.call_trace import Decision
from peek_core.values.messages import PromptSection
from peek_core.values.sources import SourceRecord


@dataclass(frozen=True)
class Placed:
    """A record and the section it became."""

    record: SourceRecord
    section: PromptSection


@dataclass(frozen=True)
class RuleContext:
    """What a rule may know besides the sections. `rebind` counts a replaced text (same counter as Bind)."""

    snapshot: Snapshot
    plan: ContextPlan
    rebind: Callable[[SourceRecord, str], PromptSection]


Rule = Callable[[Sequence[Placed], RuleContext], tuple[tuple[Placed, ...], Decision]]


def tokens(placed: Sequence[Placed]) -> int:
    """Tokens of all sections together."""
    return sum(p.section.tokens for p in placed)
