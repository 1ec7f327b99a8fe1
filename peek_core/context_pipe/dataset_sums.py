"""What the questions of one dataset took, and how far the hard stops are.

Owns: the sums over runs and their shares. Refuses to know: traces, storage, what a question was about. Money is the sum of
what has a known price; how many requests have none stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from peek_core.context_pipe.ledger import Day
from peek_core.context_pipe.run_sums import LEARNING, share
from peek_core.settings import DayLimits, RunLimits
from peek_core.values.run_view import RunHead

GOOD = frozenset({"answered", "partly"})


@dataclass(frozen=True)
class Spent:
    """What requests of one source in one run took; `usd` None where none has a price."""

    run: str
    source: str
    requests: int
    tokens: int
    usd: float | None
    unpriced: int


@dataclass(frozen=True)
class QuestionSum:
    """One question: what answering it took, and what learning from it took."""

    run: RunHead
    requests: int
    answering: int
    learning: int
    usd: float | None
    learning_usd: float | None
    unpriced: int

    @property
    def tokens(self) -> int:
        return self.answering + self.learning

    @property
    def wall_s(self) -> float | None:
        return None if self.run.ended is None else self.run.ended - self.run.created


@dataclass(frozen=True)
class Stop:
    """A hard stop. `used` None: not known. `unit` is tokens, usd, requests or seconds."""

    unit: str
    used: float | None
    limit: float
    unpriced: int = 0

    @property
    def share(self) -> float | None:
        return share(self.used, self.limit)


@dataclass(frozen=True)
class DatasetSums:
    """All of it. `day` counts every dataset of the data directory, `question` the most that one question here took."""

    questions: tuple[QuestionSum, ...]
    answered: int
    out_of_budget: int
    tokens: int
    usd: float | None
    unpriced: int
    learning_tokens: float | None
    learning_usd: float | None
    free: int
    """Questions whose analyst costs nothing."""
    prices: str
    """Where the latest prices are from, and of when; empty where none is known."""
    elsewhere: int
    """Tokens of comparisons, which are no questions of the series."""
    day: tuple[Stop, ...]
    question: tuple[Stop, ...]


def dataset_sums(
    heads: Sequence[RunHead],
    spent: Sequence[Spent],
    *,
    today: Day,
    unpriced_today: int,
    day: DayLimits,
    run: RunLimits,
    free: str = "",
    prices: str = "",
) -> DatasetSums:
    """`heads` are the questions of the series, oldest first; `spent` may know of other runs too. `free` is the analyst that
    costs nothing: a question it answered lacks no price."""
    by_run: dict[str, list[Spent]] = {}
    for s in spent:
        by_run.setdefault(s.run, []).append(s)
    questions = tuple(_question(h, by_run.get(h.id, ()), h.analyst == free) for h in heads)
    usd, learned = _money(q.usd for q in questions), _money(q.learning_usd for q in questions)
    tokens, unpriced = sum(q.tokens for q in questions), sum(q.unpriced for q in questions)
    known = {h.id for h in heads}
    return DatasetSums(
        questions=questions,
        answered=sum(h.status in GOOD for h in heads),
        out_of_budget=sum(h.status == "out_of_budget" for h in heads),
        tokens=tokens,
        usd=usd,
        unpriced=unpriced,
        learning_tokens=share(sum(q.learning for q in questions), tokens),
        learning_usd=None if unpriced else share(learned, usd),
        free=sum(h.analyst == free for h in heads),
        prices=prices,
        elsewhere=sum(s.tokens for s in spent if s.run not in known),
        day=_day(today, unpriced_today, day),
        question=_largest(questions, run),
    )


def _question(head: RunHead, spent: Sequence[Spent], free: bool) -> QuestionSum:
    learning = [s for s in spent if s.source in LEARNING]
    return QuestionSum(
        run=head,
        requests=sum(s.requests for s in spent),
        answering=sum(s.tokens for s in spent if s.source not in LEARNING),
        learning=sum(s.tokens for s in learning),
        usd=_money(s.usd for s in spent),
        learning_usd=_money(s.usd for s in learning),
        unpriced=0 if free else sum(s.unpriced for s in spent),
    )


def _money(parts: Iterable[float | None]) -> float | None:
    known = [p for p in parts if p is not None]
    return sum(known) if known else None


def _day(today: Day, unpriced: int, limits: DayLimits) -> tuple[Stop, ...]:
    usd = None if unpriced and not today.usd else today.usd
    return (
        Stop("tokens", today.tokens, limits.tokens),
        Stop("usd", usd, limits.usd, unpriced),
        Stop("requests", today.model_calls, limits.model_calls),
        Stop("seconds", today.wall_s, limits.wall_s),
    )


def _largest(questions: Sequence[QuestionSum], limits: RunLimits) -> tuple[Stop, ...]:
    def most(values: Sequence[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return max(known) if known else None

    return (
        Stop("tokens", most([q.tokens for q in questions]), limits.tokens),
        Stop("usd", most([q.usd for q in questions]), limits.usd, sum(q.unpriced for q in questions)),
        Stop("requests", most([q.requests for q in questions]), limits.model_calls),
        Stop("seconds", most([q.wall_s for q in questions]), limits.wall_s),
    )
