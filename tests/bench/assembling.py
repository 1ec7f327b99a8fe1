"""What assembling a request takes, against one canonical dump of it plus counting its new text.

Owns: the two measures. Refuses to know: providers that answer. Run it with `python -m tests.bench.assembling`. Ratios
are of medians, taken in turns in one run: the machine's own pace drops out.
"""

from __future__ import annotations

import itertools
import random
import time
from statistics import median

from peek_core import tokens
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.pipe import Pipe
from peek_core.context_pipe.session import Surroundings
from peek_core.context_pipe.stats import PipelineStats
from peek_core.jobs import CancelSignal
from peek_core.lab.sessions import WORDS, Workload, fixed
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.settings import EndpointSettings, RunLimits
from peek_core.values.call_trace import CallTrace
from peek_core.values.canon import canonical_json
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord

REPEATS = 41
ROUNDS = 12
"""With nine fixed sections and a cell and an observation each: 33 sections."""


class Nowhere:
    """A sink nobody reads."""

    def add_call(self, trace: CallTrace, bodies: object, reply: str | None) -> None: ...


def pipe() -> Pipe:
    """A pipe in front of an endpoint that is never asked."""
    cancel = CancelSignal()
    settings = EndpointSettings("https://nowhere.invalid/v1", "m", window=200_000, budget=200_000, cache="openai")
    return Pipe(
        Surroundings(
            run="bench",
            provider=ChatCompletions(settings, LoopThread()),
            counter=tokens.counter(),
            stats=PipelineStats(),
            sink=Nowhere(),
            ledger=Ledger(RunLimits(), time.time, cancel),
            cancel=cancel,
            clock=time.time,
            ids=(str(n) for n in itertools.count()).__next__,
            emit=lambda name, body: None,
        )
    )


def turn(n: int, words: int) -> tuple[SourceRecord, SourceRecord]:
    """A cell and its observation, unlike any other."""
    dice = random.Random(n)
    cell = _record(f"cell {n}", Kind.WORKING_MEMORY, f"look {n} " * 40, "assistant", n)
    seen = " ".join(dice.choice(WORDS) if dice.random() < 0.7 else str(dice.randint(0, 99_999)) for _ in range(words))
    return cell, _record(f"observation {n}", Kind.OBSERVATION, seen, "user", n)


def _record(name: str, kind: Kind, text: str, role: str, n: int) -> SourceRecord:
    tier, scope = LifecycleTier.PER_TURN, Scope.NONE
    return SourceRecord(name, kind, tier, scope, Priority.NORMAL, role, text, pair=f"step-{n}")  # type: ignore[arg-type]  # one of the three


def measured() -> dict[str, float]:
    """Ratios: a request of about 60,000 tokens against its plain dump and count; turn 60 against turn 5."""
    count = tokens.counter()[1]
    ours, plain, size, parts = [], [], 0, 0
    for repeat in range(REPEATS):
        made = pipe()
        steps = [r for n in range(ROUNDS - 1) for r in turn(repeat * 1_000 + n, 2_400)]
        base = fixed(Workload(seed=repeat))
        made.prepare("step", [*base, *steps])
        new = turn(repeat * 1_000 + ROUNDS, 2_400)
        records = [*base, *steps, *new]
        start = time.perf_counter()
        prepared = made.prepare("step", records)
        ours.append(time.perf_counter() - start)
        body = {"model": "m", "messages": [{"role": r.role, "content": r.text} for r in records]}
        start = time.perf_counter()
        canonical_json(body).encode()
        for r in new:
            count(r.text)
        plain.append(time.perf_counter() - start)
        size, parts = prepared.explain.tokens, len(prepared.placed)
    return {"sections": parts, "tokens": size, "ours_ms": 1e3 * median(ours), "plain_ms": 1e3 * median(plain),
            "ratio": median(ours) / median(plain), "turn_60_over_5": late()}  # fmt: skip


def late() -> float:
    """The time of turn 60 over that of turn 5, in sessions whose turns are all alike."""
    early, later = [], []
    for repeat in range(REPEATS // 4):
        made, base, steps = pipe(), fixed(Workload(seed=repeat)), []
        for n in range(1, 61):
            steps += turn(repeat * 1_000 + n, 900)
            start = time.perf_counter()
            made.prepare("step", [*base, *steps])
            taken = time.perf_counter() - start
            if n in (4, 5, 6):
                early.append(taken)
            elif n >= 59:
                later.append(taken)
    return median(later) / median(early)


if __name__ == "__main__":
    for name, value in measured().items():
        print(f"{name:<16} {value:,.2f}")
