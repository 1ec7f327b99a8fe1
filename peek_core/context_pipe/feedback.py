"""Feedback: what a call really took -> trace, statistics, alerts. The only stage that learns.

Owns: the call trace's second half. Refuses to know: how the request was decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peek_core.context_pipe import alerts
from peek_core.context_pipe.cache_model import trail
from peek_core.context_pipe.rules.working import Placed
from peek_core.context_pipe.stats import BELIEVED, PipelineStats, kinds_of
from peek_core.errors import Cancelled, PeekError, TooLong
from peek_core.ports import CacheRules, PriceBook, TokenCounter
from peek_core.values.call_trace import Alert, Analyze, CallTrace, Explain
from peek_core.values.canon import content_hash
from peek_core.values.messages import Completion

TRUNCATED = BELIEVED[0]
"""Counted input below this share of the estimate: no known tokenizer makes so few tokens of the same text."""


@dataclass(frozen=True)
class Call:
    """A numbered request on its way."""

    id: str
    run: str
    source: str
    n: int
    explain: Explain
    endpoint: str
    wire_hash: str
    wire_bytes: int
    at: float
    snapshot: Mapping[str, object]

    def trace(self, analyze: Analyze | None, error: str | None, raised: tuple[Alert, ...] = ()) -> CallTrace:
        return CallTrace(
            id=self.id,
            run=self.run,
            source=self.source,
            n=self.n,
            explain=self.explain,
            analyze=analyze,
            error=error,
            wire_hash=self.wire_hash,
            wire_bytes=self.wire_bytes,
            at=self.at,
            alerts=raised,
            snapshot=self.snapshot,
        )


def analyzed(call: Call, done: Completion, prices: PriceBook | None) -> Analyze:
    """What a reply says of its request."""
    actual, estimate = done.usage.input, call.explain.tokens
    return Analyze(
        usage=done.usage,
        seconds=done.seconds,
        first_byte_s=done.first_byte_s,
        finish=done.finish,
        retries=done.retries,
        raw_usage=done.raw_usage,
        estimate_error=None if not actual else (actual - estimate) / actual,
        cost=prices.cost(call.explain.model, call.endpoint, done.usage, call.at) if prices else None,
        truncated=bool(actual) and actual is not None and actual < TRUNCATED * estimate,
        model=done.model,
    )


def succeeded(
    stats: PipelineStats,
    call: Call,
    placed: Sequence[Placed],
    done: Completion,
    analyze: Analyze,
    before: Sequence[alerts.Seen],
    rules: CacheRules,
    count: TokenCounter,
    overflowed: int,
    *,
    grows: bool = True,
) -> CallTrace:
    """One usage sample, what the cache now holds, and the trace with its alerts."""
    explain, usage = call.explain, done.usage
    raised = alerts.raised(
        explain,
        analyze,
        before,
        rules,
        recoveries=stats.recoveries(explain.model, call.source),
        overflowed=overflowed,
        grows=grows,
    )
    stats.succeeded(explain.model, call.source, usage.output if usage.output is not None else count(done.text))
    if not analyze.truncated:
        stats.accepted(call.endpoint, explain.model, explain.tokens)
    share = alerts.hit_rate(analyze)
    if share is not None:
        stats.hit(share)
    if usage.input:
        kinds = kinds_of((s.kind, s.sent) for s in explain.sections)
        stats.measured(call.endpoint, explain.model, kinds, usage.input, explain.tokens)
    stats.sent(
        call.endpoint, explain.model, trail([p.section for p in placed], rules, content_hash(done.text), call.at)
    )
    for alert in raised:
        if alert.name == "cache_break":
            stats.broke(call.id, alert.cause)
    if alerts.compacts(explain, before):
        for d in explain.decisions:
            if d.applied and d.tokens_after < d.tokens_before:
                stats.compacted(call.id, d.rule, d.tokens_before, d.tokens_after)
    return call.trace(analyze, None, raised)


def failed(stats: PipelineStats, call: Call, failure: PeekError) -> CallTrace:
    """The trace with the sentence; no usage sample. A stop by the person is no recovery event."""
    if not isinstance(failure, Cancelled):
        stats.failed(call.explain.model, call.source)
    if isinstance(failure, TooLong):
        # A tenth less than what was refused: the next plan must not try the same again.
        stats.refused_at(call.endpoint, call.explain.model, int(0.9 * (call.explain.tokens + call.explain.reserve)))
    return call.trace(None, failure.sentence())


def bodies(placed: Sequence[Placed]) -> dict[str, str]:
    """Section texts by hash; stored once each."""
    return {p.section.hash: p.section.text for p in placed}
