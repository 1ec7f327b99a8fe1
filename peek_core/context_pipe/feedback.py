"""Feedback: what a call really took -> trace and statistics. The only stage that learns.

Owns: the call trace's second half. Refuses to know: how the request was decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peek_core.context_pipe.rules.working import Placed
from peek_core.context_pipe.stats import PipelineStats
from peek_core.errors import Cancelled, PeekError
from peek_core.ports import TokenCounter, TraceSink
from peek_core.values.call_trace import Analyze, CallTrace, Explain
from peek_core.values.messages import Completion


@dataclass(frozen=True)
class Call:
    """A numbered request on its way."""

    id: str
    run: str
    source: str
    n: int
    explain: Explain
    wire_hash: str
    wire_bytes: int
    at: float

    def trace(self, analyze: Analyze | None, error: str | None) -> CallTrace:
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
        )


def succeeded(
    stats: PipelineStats, sink: TraceSink, call: Call, placed: Sequence[Placed], done: Completion, count: TokenCounter
) -> None:
    """Store the trace with its texts and add one usage sample."""
    actual = done.usage.input
    error = None if not actual else (actual - call.explain.tokens) / actual
    analyze = Analyze(
        usage=done.usage,
        seconds=done.seconds,
        first_byte_s=done.first_byte_s,
        finish=done.finish,
        retries=done.retries,
        raw_usage=done.raw_usage,
        estimate_error=error,
    )
    output = done.usage.output if done.usage.output is not None else count(done.text)
    stats.add(call.explain.model, call.source, output)
    sink.add_call(call.trace(analyze, None), bodies(placed), done.text)


def failed(stats: PipelineStats, sink: TraceSink, call: Call, placed: Sequence[Placed], failure: PeekError) -> None:
    """Store the trace with the sentence; no usage sample. A stop by the person is no recovery event."""
    if not isinstance(failure, Cancelled):
        stats.failed(call.explain.model, call.source)
    sink.add_call(call.trace(None, failure.sentence()), bodies(placed), None)


def bodies(placed: Sequence[Placed]) -> dict[str, str]:
    """Section texts by hash; stored once each."""
    return {p.section.hash: p.section.text for p in placed}
