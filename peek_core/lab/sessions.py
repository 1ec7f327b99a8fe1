"""A scripted session of many turns through a real pipe, and what each turn took.

Owns: the workload, the little agent that plays it, the measures. Refuses to know: which provider answers. The agent needs
facts from earlier observations: where a prompt no longer holds one, it must read it back, which costs a turn. So what was
cleared has its price, and a session has an answer that is right or wrong.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from peek_core.context_pipe.alerts import Seen, changed_prefix
from peek_core.context_pipe.pipe import RECALL_CHARS, Pipe
from peek_core.context_pipe.stats import percentile
from peek_core.errors import PeekError
from peek_core.values.call_trace import STEP, CallTrace
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord

_NEED = re.compile(r"NEXT: use FACT-(\d+)")
_SIZE = re.compile(r"LENGTH: (\d+)")
_FACT = re.compile(r"FACT-(\d+) is ([0-9a-f]{8})")
_USED = re.compile(r"used FACT-(\d+) = ([0-9a-f]{8})")
_RECALL = re.compile(r"recall\('observation (\d+)'\)")
WORDS = (
    *("ticket", "channel", "priority", "opened", "closed", "refund", "delivery", "invoice", "waiting", "customer"),
    *("region", "north", "south", "reply", "agent", "minutes", "score", "survey", "product", "broken", "late"),
    *("missing", "order", "status", "open", "resolved", "escalated", "note", "reason", "week", "month"),
)


@dataclass(frozen=True)
class Workload:
    """What a session is made of. Sizes in words, about a token each; times in seconds of the session's clock."""

    turns: int = 60
    seed: int = 0
    observation: tuple[int, int] = (150, 2_600)
    reply: tuple[int, int] = (60, 200)
    need_every: int = 3
    """Every so many turns a fact of an earlier observation is needed."""
    far: int = 12
    """How many observations back it may lie."""
    pause_s: float = 8.0
    long_pause_every: int = 0
    long_pause_s: float = 3_600.0
    burst_every: int = 0
    """Every so many turns an observation is three times as long."""
    flip_every: int = 0
    """Every so many turns a latched section is offered with another value."""
    notices: int = 0
    """Notices written before every turn; half of them repeat."""
    volatile_first: bool = False
    """Whether a section that changes with every turn is declared before the lasting ones."""


@dataclass(frozen=True)
class Outcome:
    """One session. Tokens as the endpoint counted them, None where it said nothing; `usd` at the prices of the traces."""

    right: bool
    finished: bool
    turns: int
    calls: int
    refetches: int
    refused: int
    """Requests refused for their length."""
    recoveries: int
    cut: int
    """Replies that found no room in the window and lost their turn."""
    input: int | None
    cached: int | None
    written: int | None
    output: int | None
    fresh_p99: int | None
    predicted_cached: int
    estimated: int
    breaks: int
    notices_sent: int
    notices_repeated: int
    usd: float | None
    traces: tuple[CallTrace, ...] = field(repr=False, default=())

    @property
    def hit_rate(self) -> float | None:
        """Cache-read tokens over input tokens."""
        return None if self.cached is None or not self.input else self.cached / self.input

    @property
    def predicted_rate(self) -> float | None:
        """What the documented rules foretold, over the estimated tokens of the same requests."""
        return self.predicted_cached / self.estimated if self.estimated else None


def fact(seed: int, n: int) -> str:
    """The secret of an observation."""
    return f"{random.Random(f'{seed}:{n}').getrandbits(32):08x}"


def reply(prompt: str) -> str:
    """What the scripted model says: it uses the fact it is asked for, or reads the observation that held it."""
    needs = _NEED.findall(prompt)
    asked = _SIZE.findall(prompt)
    thought = " ".join(WORDS[(len(prompt) + n) % len(WORDS)] for n in range(int(asked[-1]) if asked else 60))
    if not needs:
        return f"{thought}\n```python\nsql('look')\n```"
    wanted = needs[-1]
    # The newest mention counts: a fact that was read back stands at the end.
    found = [value for n, value in _FACT.findall(prompt) if n == wanted]
    if found:
        return f"{thought}\n```python\nprint('used FACT-{wanted} = {found[-1]}')\n```"
    return f"{thought}\n```python\nprint(recall('observation {wanted}'))\n```"


def play(
    pipe: Pipe, work: Workload, tick: Callable[[float], None], traces: Callable[[], Sequence[CallTrace]]
) -> Outcome:
    """Play the session to its end or to the first terminal failure. `tick` moves the clock; `traces` gives what was stored."""
    session = _Session(pipe, work, tick)
    finished = session.run()
    return measured(session, finished, tuple(traces()))


class _Session:
    """One agent at work."""

    def __init__(self, pipe: Pipe, work: Workload, tick: Callable[[float], None]) -> None:
        self._pipe, self._work, self._tick = pipe, work, tick
        self._dice = random.Random(f"session:{work.seed}")
        self._steps: list[SourceRecord] = []
        self._fixed = fixed(work)
        self.used: dict[int, str] = {}
        self.wanted: dict[int, str] = {}
        self.refetches = self.turns = self.cut = 0

    def run(self) -> bool:
        for turn in range(1, self._work.turns + 1):
            try:
                self._turn(turn)
            except PeekError:
                return False
        return True

    def _turn(self, turn: int) -> None:
        self.turns = turn
        w = self._work
        self._tick(w.long_pause_s if w.long_pause_every and turn % w.long_pause_every == 0 else w.pause_s)
        for n in range(w.notices):
            self._pipe.notice(f"Notice {n if n % 2 else f'{turn}-{n}'}: " + " ".join(WORDS[:12]))
        said = self._ask(turn)
        read = _RECALL.search(said)
        if read:
            # The fact was cleared: one more turn to read it back, and another to use it.
            self.refetches += 1
            self._append(said, f"{self._searched(read[1])}\nNEXT: use FACT-{read[1]}", f"{turn}b")
            said = self._ask(turn)
        for again in range(2):
            if said.rstrip().endswith("```"):
                break
            # No room for the reply: the turn is lost, and the model is asked for a shorter one.
            self.cut += 1
            newest = self._steps[-1].text.rpartition("\nLENGTH: ")[0]
            task = newest.rpartition("\n")[2]
            self._append(said, f"The reply was cut off. Write a shorter one.\n{task}\nLENGTH: 40", f"{turn}c{again}")
            said = self._ask(turn)
        for n, value in _USED.findall(said):
            self.used[int(n)] = value
        self._append(said, self._observation(turn), str(turn))

    def _searched(self, n: str) -> str:
        """What a cell prints that reads an observation back and looks for the fact in it."""
        name, start = f"observation {n}", 0
        while True:
            part = self._pipe.recall(name, start)
            found = _FACT.search(part)
            if found or "more characters" not in part:
                return found[0] if found else part[:200]
            start += RECALL_CHARS

    def _ask(self, turn: int) -> str:
        return self._pipe(STEP, [*self._context(turn), *self._steps]).text

    def _context(self, turn: int) -> list[SourceRecord]:
        out, flip = self._fixed, self._work.flip_every
        if flip:
            # Somebody changes a setting while the run goes on.
            out = [_latched(r, f"mode {turn // flip}") if r.name == "definitions" else r for r in out]
        if self._work.volatile_first:
            now = _record("now", Kind.HISTORY, f"It is minute {turn} of the session. " + " ".join(WORDS[:20]))
            out = [*out[:3], now, *out[3:]]
        return out

    def _observation(self, turn: int) -> str:
        w = self._work
        size = self._dice.randint(*w.observation) * (3 if w.burst_every and turn % w.burst_every == 0 else 1)
        words = [
            self._dice.choice(WORDS) if self._dice.random() < 0.7 else str(self._dice.randint(0, 99_999))
            for _ in range(size)
        ]
        words.insert(len(words) // 2, f"FACT-{turn} is {fact(w.seed, turn)}")
        text = " ".join(words)
        if w.need_every and turn % w.need_every == 0 and turn > 1:
            back = max(1, turn - self._dice.randint(1, w.far))
            self.wanted[back] = fact(w.seed, back)
            text += f"\nNEXT: use FACT-{back}"
        else:
            text += "\nNEXT: look"
        return f"{text}\nLENGTH: {self._dice.randint(*w.reply)}"

    def _append(self, said: str, seen: str, name: str) -> None:
        pair = f"step-{name}"
        cell = _record(
            f"cell {name}", Kind.WORKING_MEMORY, said, role="assistant", priority=Priority.LAST_RESORT, pair=pair
        )
        self._steps.append(cell)
        self._steps.append(
            _record(
                f"observation {name}",
                Kind.OBSERVATION,
                seen,
                pair=pair,
                cleared=f"(result of step {name} cleared to save room; recall('observation {name}') reads it)",
                recoverable=True,
            )
        )


def measured(session: _Session, finished: bool, traces: tuple[CallTrace, ...]) -> Outcome:
    """The sums of a session."""
    done = [t for t in traces if t.analyze is not None]
    usages = [t.analyze.usage for t in done if t.analyze is not None]

    def total(name: str) -> int | None:
        values = [getattr(u, name) for u in usages]
        return sum(values) if values and all(v is not None for v in values) else None

    fresh = [u.input - (u.cached or 0) for u in usages if u.input is not None]
    costs = [t.analyze.cost for t in done if t.analyze is not None]
    shown = [s.name for t in done for s in t.explain.sections if s.kind == Kind.NOTICE]
    texts = [(t.n, s.hash) for t in done for s in t.explain.sections if s.kind == Kind.NOTICE]
    steps = [t for t in done if t.source == STEP]
    return Outcome(
        right=finished and all(session.used.get(n) == value for n, value in list(session.wanted.items())[:-1]),
        finished=finished,
        turns=session.turns,
        calls=len(done),
        refetches=session.refetches,
        refused=sum(t.error is not None and "longer than the model's window" in t.error for t in traces),
        recoveries=sum(t.explain.recovery > 0 for t in done),
        cut=session.cut,
        input=total("input"),
        cached=total("cached"),
        written=total("cache_write"),
        output=total("output"),
        fresh_p99=percentile(fresh, 0.99) if fresh else None,
        predicted_cached=sum(t.explain.predicted_cached for t in done),
        estimated=sum(t.explain.tokens for t in done),
        breaks=sum(changed_prefix_of(b, a) for a, b in pairwise(steps)),
        notices_sent=len(shown),
        notices_repeated=len(texts) - len({h for _, h in texts}),
        usd=sum(c.usd for c in costs if c is not None) if costs and all(c is not None for c in costs) else None,
        traces=traces,
    )


def changed_prefix_of(now: CallTrace, was: CallTrace) -> bool:
    """Whether a request leaves the one before it."""

    return changed_prefix(now.explain, [Seen(was.explain, was.analyze)]) is not None


def spread(values: Sequence[float | None]) -> str:
    """Median and range of what is known.

    >>> spread([1.0, 3.0, 2.0]), spread([None])
    ('2 (1 to 3)', '–')
    """
    known = [v for v in values if v is not None]
    if not known:
        return "–"
    low, middle, high = (
        f"{v:,.0f}" if abs(v) >= 1_000 else f"{v:.3g}" for v in (min(known), median(known), max(known))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def fixed(work: Workload) -> list[SourceRecord]:
    """Everything before the first step, in sizes like the product's own."""
    dice = random.Random(f"fixed:{work.seed}")

    def words(n: int) -> str:
        return " ".join(dice.choice(WORDS) for _ in range(n))

    never, session, everyone = Priority.NEVER, Scope.SESSION, Scope.GLOBAL
    return [
        _record("identity", Kind.IDENTITY, words(120), everyone, role="system", priority=never),
        _record("protocol", Kind.CONSTRAINTS, words(700), everyone, role="system", priority=never),
        _record(
            "host functions",
            Kind.HOST_FUNCTIONS,
            words(500),
            everyone,
            role="system",
            priority=never,
            trimmed=words(120),
        ),
        _record("profile", Kind.PROFILE, words(1_600), session, priority=never, recoverable=True),
        _latched(_record("definitions", Kind.DEFINITIONS, words(200), session, priority=never), "mode 0"),
        _record("context map", Kind.MEMORY, words(900), session, priority=never),
        _record("coverage", Kind.HISTORY, words(120), priority=Priority.FIRST),
        _record("conversation", Kind.HISTORY, words(350)),
        _record("question", Kind.QUESTION, words(30), priority=never),
    ]


def _latched(record: SourceRecord, state: str) -> SourceRecord:

    return replace(record, tier=LifecycleTier.LATCHED, text=f"{state}\n{record.text}")


def _record(
    name: str,
    kind: Kind,
    text: str,
    scope: Scope = Scope.NONE,
    *,
    role: str = "user",
    priority: Priority = Priority.NORMAL,
    pair: str = "",
    cleared: str = "",
    trimmed: str = "",
    recoverable: bool = False,
) -> SourceRecord:
    return SourceRecord(
        name=name,
        kind=kind,
        tier=LifecycleTier.PER_TURN if scope is Scope.NONE else LifecycleTier.PER_SESSION,
        scope=scope,
        priority=priority,
        role=role,  # type: ignore[arg-type]  # one of the three, from above
        text=text,
        pair=pair,
        cleared=cleared,
        trimmed=trimmed,
        recoverable=recoverable,
    )
