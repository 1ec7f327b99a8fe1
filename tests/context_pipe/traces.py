"""Call traces made by hand, for what is read off them."""

from __future__ import annotations

import itertools
from typing import Any

from peek_core.values.call_trace import (
    Alert,
    Analyze,
    Base,
    CallTrace,
    Decision,
    Explain,
    Reserves,
    SectionTrace,
    Shadow,
)
from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates

RATES = Rates(2.0, 10.0, 0.2, 2.5, None, "own prices file", "2026-11-30")
BREAK = Alert("cache_break", "The request leaves the one before it", "Nothing")
_ids = itertools.count(1)


def section(
    name: str,
    sent: int,
    *,
    bound: int | None = None,
    scope: str = "none",
    hash: str = "",
    kind: str = "observation",
    marker: bool = False,
) -> SectionTrace:
    size = sent if bound is None else bound
    return SectionTrace(
        name, kind, "user", scope, "per_turn", "normal", size, size, sent, hash or f"{name}:{sent}", None, marker
    )


def decision(rule: str, *names: str, before: int = 100, after: int = 50, reason: str = "it must") -> Decision:
    return Decision(rule, True, reason, before, after, tuple(names))


def call(n: int, source: str = "step", sections: tuple[SectionTrace, ...] = (), *, input: int | None = None, cached: int | None = None,
         output: int | None = None, written: int | None = None, usd: float | None = None, seconds: float = 1.0, error: str | None = None,
         predicted: int = 0, strategy: str = "prefix", decisions: tuple[Decision, ...] = (), alerts: tuple[Alert, ...] = (),
         shadow: Shadow | None = None, rates: Rates | None = None, window: int = 1_000, reserve: int = 10, pressure: float = 0.1,
         level: str = "normal", provider: str = "chat completions", snapshot: Any = None, truncated: bool = False) -> CallTrace:  # fmt: skip
    parts = sections or (section("question", 100, kind="question"),)
    explain = Explain(
        parts, decisions, "default", "o200k_base", window, reserve, pressure - 0.01, pressure, level, provider, "m", "s1",
        predicted_cached=predicted, base=Base(window), reserves=Reserves(reserve, "p75 of 3 replies: 10"), strategy=strategy,
        rates=rates, shadow=shadow,
    )  # fmt: skip
    cost = None if usd is None else Cost(usd, "own prices file", "2026-11-30")
    used = Usage(input, cached, written, output)
    analyze = None if error else Analyze(used, seconds, 0.1, "stop", cost=cost, truncated=truncated, model="m")
    return CallTrace(
        f"c{next(_ids)}", "r1", source, n, explain, analyze, error, "sha256:aa", 10, 1_000.0 + n, alerts, snapshot
    )


def flat(tokens: int, cached: int = 0, overflow: bool = False, applied: tuple[str, ...] = ()) -> Shadow:
    return Shadow("flat", tokens, "normal", cached, "sha256:bb", (), applied, overflow)
