"""The laws of the pipe over random catalogs, configurations, caches, histories and failures.

L1 anchors and precedence hold. L2 what may never go stays whole. L3 pairs stay adjacent and what was shortened can be read
back. P1 every rule's decision is in the trace. P2 the same snapshot gives the same bytes and trace. P3 a failed Execute
teaches nothing but that it failed. M what was changed once never changes again unless a decision says so.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peek_core.context_pipe.alerts import Seen, changed_prefix
from peek_core.context_pipe.assemble import Prepared, assemble
from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.catalog import Configuration, Held, Snapshot
from peek_core.context_pipe.optimize import RULES as ALL_RULES
from peek_core.context_pipe.packing import Packer, unpacked
from peek_core.context_pipe.plan import recomputed_level
from peek_core.context_pipe.rules.drop_rounds import NOTE
from peek_core.errors import Broken, EndpointFailed, TooLong
from peek_core.ports import CacheRules, Provider
from peek_core.providers.cache_rules import RULES as CACHES
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.settings import DayLimits, RunLimits
from peek_core.values.call_trace import CallTrace, Explain
from peek_core.values.sources import ANCHORS, UNSPILLABLE, Kind, LifecycleTier, Priority, SourceRecord
from tests.context_pipe.catalogs import CONFIGURATIONS, catalog_codes, records_of
from tests.context_pipe.kit import CHEAP_CACHE, Clock, Kit, Model, Prices, Spills, read_back, snapshot, written

LAWS = settings(max_examples=int(os.environ.get("PEEK_LAWS", "70")), deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])  # fmt: skip
"""PEEK_LAWS=2000 looks longer."""
LOOP = LoopThread()
WINDOWS = (2_000, 20_000, 64_000, 1_000_000)


# One request: any snapshot, whatever an earlier request is said to have done


def one_request(
    codes: list[int], configuration: Configuration, cache: CacheRules, window: int, choices: int
) -> Snapshot:
    """A snapshot of the catalog; `choices` decide about all else, bit by bit."""
    records = records_of(codes)
    names = [r.name for r in records]
    bits = iter(f"{choices:064b}" * (len(names) * 5 // 64 + 2))
    some = lambda: next(bits) == "1"  # noqa: E731
    history = some()
    chosen = {
        what: frozenset(n for n in names if history and some()) for what in ("cleared", "spilled", "dropped", "trimmed")
    }
    order = tuple(n for n in (reversed(names) if some() else names) if history and some())
    return snapshot(
        records, count=written, window=window, cache=cache, configuration=configuration, reserve=choices % 5_000,
        budget=window // 2 if some() else None, cliff=window // 3 if some() else None, cold=some(), spill_backend=some(),
        ceiling=window // 2 if some() else None, recovery=choices % 3, rates=CHEAP_CACHE if some() else None,
        expected_calls=choices % 40, held=Held(**chosen, order=order), flips=("s0",) if some() else (),
        factors={"memory": 1.5, "observation": 0.97} if some() else {},
    )  # fmt: skip


SNAPSHOTS = st.builds(
    one_request, catalog_codes(), st.sampled_from(CONFIGURATIONS), st.sampled_from(list(CACHES.values())),
    st.sampled_from(WINDOWS), st.integers(0, 2**64 - 1),
)  # fmt: skip


def provider_of(given: Snapshot) -> Provider:
    return ChatCompletions.offline("m", given.capabilities, LOOP)


@LAWS
@given(SNAPSHOTS)
def test_every_law_holds_for_any_snapshot(given: Snapshot) -> None:
    binder = Binder(written)
    prepared = assemble(given, binder, provider_of(given))
    check_request(given.records, prepared, binder)
    recovering, config = given.recovery > 1, given.configuration
    cleared = {p.record.name: p for p in prepared.placed if p.record.name in prepared.named("clear_observations")}
    new = [p for name, p in cleared.items() if name not in given.held.cleared]
    sizes = [given.calibrated(p.section.kind, binder.section(p.record).tokens) for p in new]
    assert recovering or sum(sizes) <= config.clear_at_most
    clearable = [
        r for r in given.records if r.kind is Kind.OBSERVATION and r.cleared and r.priority is not Priority.NEVER
    ]
    # Only where no budget left one out: those were never in the request.
    if clearable == [r for r in clearable if r.name not in prepared.named("bind")]:
        safe = {r.name for r in clearable[-(1 if recovering else config.keep_observations) :]}
        assert not safe & {p.record.name for p in new}


@LAWS
@given(SNAPSHOTS)
def test_the_same_snapshot_gives_the_same_bytes_and_the_same_explain(given: Snapshot) -> None:
    """With a binder that knows nothing, and from what a store would have kept of it."""
    first_binder = Binder(written)
    first = assemble(given, first_binder, provider_of(given))
    again = assemble(given, Binder(written), provider_of(given))
    assert (again.wire, again.explain) == (first.wire, first.explain)
    packer = Packer(first_binder)
    stored = json.dumps(packer.packed(given))
    back = unpacked(json.loads(stored), packer.bodies.get)
    stored_again = assemble(back, Binder(written), provider_of(back))
    assert (stored_again.wire, stored_again.explain) == (first.wire, first.explain)


def fingerprint(seed: int) -> str:
    """A hash over bytes and traces of many requests, from a seed of its own."""
    import hashlib
    import random

    dice, whole = random.Random(seed), hashlib.sha256()
    for n in range(40):
        codes = [dice.randrange(2**52) for _ in range(dice.randint(1, 60))]
        cache = list(CACHES.values())[n % len(CACHES)]
        given = one_request(
            codes, CONFIGURATIONS[n % len(CONFIGURATIONS)], cache, WINDOWS[n % 4], dice.randrange(2**64)
        )
        made = assemble(given, Binder(written), provider_of(given))
        whole.update(made.wire)
        whole.update(repr(made.explain).encode())
        whole.update(json.dumps(Packer(Binder(written)).packed(given)).encode())
    return whole.hexdigest()


def test_the_same_snapshot_gives_the_same_bytes_in_another_process() -> None:
    root = Path(__file__).resolve().parents[2]
    code = "from tests.context_pipe.test_laws import fingerprint; print(fingerprint(7))"
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True,
                         env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": str(root)})
        for seed in ("1", "4242")
    ]  # fmt: skip
    assert [p.communicate(timeout=60)[0].strip() for p in started] == [fingerprint(7)] * 2


def check_request(records: tuple[SourceRecord, ...], prepared: Prepared, binder: Binder) -> None:
    """L1, L2, P1 and what of L3 one request can show."""
    explain, placed = prepared.explain, prepared.placed
    given = {r.name: r for r in records}
    at = {p.record.name: n for n, p in enumerate(placed)}
    assert len(at) == len(placed), "a name twice"
    # L1
    anchors = [r.name for r in records if r.kind in ANCHORS]
    assert [p.record.name for p in placed if p.record.kind in ANCHORS] == anchors
    before = given_before = 0
    passed: dict[str, int] = {}
    for r in records:
        passed[r.name] = given_before
        given_before += r.kind in ANCHORS
    seen: set[str] = set()
    for p in placed:
        if p.record.name in given:
            assert before == passed[p.record.name], f"{p.record.name} crossed an anchor"
        before += p.record.kind in ANCHORS
    for r in records:
        for d in r.depends:
            if d in seen and d in at and r.name in at:
                assert at[d] < at[r.name], f"{r.name} overtook {d}"
        seen.add(r.name)
    # L3: pairs whole and together, or gone together
    for pair in {r.pair for r in records if r.pair}:
        members = [r.name for r in records if r.pair == pair]
        there = [at[m] for m in members if m in at]
        left_out = [m for m in members if m not in at]
        assert there == list(range(there[0], there[0] + len(there))) if there else True
        assert not left_out or not there or set(left_out) <= prepared.named("bind"), f"half of {pair} went"
    # L2, and every change has a decision that names it
    short = {rule: prepared.named(rule) for rule in ("bind", *ALL_RULES)}
    for name, record in given.items():
        must = record.priority is Priority.NEVER or record.kind in ANCHORS
        if name not in at:
            assert not must and name in short["bind"] | short["drop_rounds"], f"{name} went without a word"
            continue
        text, whole = placed[at[name]].section.text, binder.section(record).text
        if text != whole:
            by = [
                rule
                for rule, names in short.items()
                if name in names and rule not in ("order_by_volatility", "place_markers")
            ]
            assert by, f"{name} changed without a word"
            assert record.kind not in ANCHORS
            if must:
                assert ("spill" in by and record.recoverable) or (by == ["trim_schemas"] and text == record.trimmed)
            if "spill" in by:
                assert record.recoverable and record.kind not in UNSPILLABLE and f"recall({name!r}" in text
    strangers = [p.record.name for p in placed if p.record.name not in given]
    assert strangers == ([NOTE] if short["drop_rounds"] else [])
    # P1
    assert Counter(d.rule for d in explain.decisions) == Counter(["bind", *ALL_RULES])
    assert all(d.reason for d in explain.decisions)
    assert all(d.sections for d in explain.decisions if d.applied), "applied, but to what?"
    ran = explain.decisions[1 : 1 + len(prepared.snapshot.configuration.rules)]
    for one, following in itertools.pairwise(ran):
        assert one.tokens_after == following.tokens_before
    assert all(d.tokens_after == explain.tokens for d in (*ran[-1:], *explain.decisions[1 + len(ran) :]))
    assert sum(s.marker for s in explain.sections) <= prepared.snapshot.capabilities.cache.max_markers
    assert 0 <= explain.predicted_cached <= explain.tokens
    assert recomputed_level(explain, prepared.snapshot.configuration).value == explain.level


# A run: growing catalogs through the whole pipe, with failures on the way


@dataclass(frozen=True)
class Course:
    """What happens in a run: a first catalog, what each turn adds, and what goes wrong in which turn (bits)."""

    base: list[int]
    turns: list[list[int]]
    configuration: Configuration
    cache: str
    window: int
    fails: int = 0
    full: int = 0
    notices: int = 0
    idles: int = 0
    dense: float = 1.0
    takes: int | None = None
    priced: bool = False


COURSES = st.builds(
    Course,
    base=catalog_codes(most=50),
    turns=st.lists(catalog_codes(least=0, most=12), min_size=3, max_size=6),
    configuration=st.sampled_from(CONFIGURATIONS),
    cache=st.sampled_from(list(CACHES)),
    window=st.sampled_from((2_000, 6_000, *WINDOWS)),
    fails=st.sampled_from([0, 0, 0, 0, 1, 2, 4, 10, 21]),
    full=st.sampled_from([0, 0, 0, 2, 5]),
    notices=st.integers(0, 127),
    idles=st.sampled_from([0, 0, 4]),
    dense=st.sampled_from([0.8, 1.0, 1.0, 1.4]),
    takes=st.sampled_from([None, None, None, None, 3_000, 30_000]),
    priced=st.booleans(),
)


@dataclass
class Run:
    """A run on its way, and what it has shown so far."""

    course: Course
    records: list[SourceRecord] = field(default_factory=list)
    last: tuple[Explain, dict[str, str]] | None = None
    """The latest request that succeeded, and its texts by name."""
    shortened: dict[str, str] = field(default_factory=dict)
    """What stood in for a section when it was last shortened."""

    def __post_init__(self) -> None:
        c = self.course
        self.replies: list[str | EndpointFailed] = []
        self.model = Model(self.feed(), window=c.window, cache=CACHES[c.cache], takes=c.takes, dense=c.dense)
        self.clock, self.spills = Clock(), Spills()
        self.kit = Kit(provider=self.model, configuration=c.configuration, spills=self.spills, clock=self.clock,
                       limits=RunLimits(tokens=10**9, model_calls=10**6, usd=1e9, wall_s=1e9),
                       day=DayLimits(10**6, 10**9, 1e9, 1e9), prices=Prices() if c.priced else None)  # fmt: skip
        self.records = records_of(c.base)

    def feed(self):
        while True:
            yield self.replies.pop(0) if self.replies else "a reply"

    def turn(self, n: int) -> None:
        """One more request, and every law about it."""
        c, bit = self.course, 1 << n
        self.records = [*self.records, *records_of(c.turns[n], first=len(c.base) + sum(map(len, c.turns[:n])))]
        if n == 1 and c.configuration.latches:
            self.records = [drifted(r) for r in self.records]
        self.clock.now += 100_000.0 if c.idles & bit else 10.0
        self.spills.full = bool(c.full & bit)
        if c.notices & bit:
            self.kit.pipe.notice(f"#20 notice of turn {n}")
        if c.fails & bit:
            self.replies.append(EndpointFailed("The endpoint failed (500)"))
        stats, queue = self.kit.stats, self.kit.pipe._session.notices
        samples, due, failures = stats.usage_samples(), queue.due(), stats.recoveries("m", "step")
        stored = len(self.kit.sink.traces)
        failure = self.asked()
        if failure is None:
            self.succeeded(self.kit.last)
            return
        # P3
        sent = self.kit.sink.traces[stored:]
        assert all(t.error is not None for t in sent)
        assert stats.usage_samples() == samples
        assert queue.due() == due
        assert stats.recoveries("m", "step") == failures + len(sent)
        assert isinstance(failure, EndpointFailed) or "and the store failed" in failure.what

    def asked(self) -> Broken | None:
        """Ask; the failure, if it was one."""
        try:
            self.kit.pipe("step", self.records)
        except Broken as failure:
            self.replies.clear()
            return failure
        return None

    def succeeded(self, trace: CallTrace) -> None:
        explain = trace.explain
        rows = json.loads(self.model.wires[-1])
        texts = {row["name"]: row["text"] for row in rows}
        assert [row["name"] for row in rows] == [s.name for s in explain.sections]
        assert recomputed_level(explain, self.course.configuration).value == explain.level
        assert trace.analyze is not None and self.kit.stats.recoveries("m", "step") == 0
        named = {n for d in explain.decisions for n in d.sections}
        self.unchanged(explain, texts)
        self.whole(explain)
        if self.last is not None:
            self.explained(explain, named)
        self.last = explain, texts

    def unchanged(self, explain: Explain, texts: dict[str, str]) -> None:
        """M: what stood in for a section once is what stands in for it now, until a decision of this turn replaces it."""
        down = {n for d in explain.decisions if d.rule == "spill" and not d.applied for n in d.sections}
        now = {
            rule: shortened_by(explain, rule) for rule in ("clear_observations", "spill", "drop_rounds", "trim_schemas")
        }
        for name, text in list(self.shortened.items()):
            if name not in texts:
                assert name in now["drop_rounds"], f"{name} was shortened and is gone without a word"
            elif texts[name] != text:
                # A spilled one may be cleared later, and is sent whole while the store is down.
                assert name in down or (name in now["clear_observations"] and "recall(" in text), (
                    f"{name} changed again"
                )
                del self.shortened[name]
        for rule in ("clear_observations", "spill", "trim_schemas"):
            self.shortened.update((n, texts[n]) for n in now[rule] if n in texts)
        if self.last is not None:
            gone = set(self.last[1]) - set(texts)
            returned = shortened_by(self.last[0], "drop_rounds") & set(texts)
            assert not returned, "dropped, and there again"
            assert all(n in now["drop_rounds"] or n.startswith("notice") or n == NOTE for n in gone)

    def whole(self, explain: Explain) -> None:
        """L3: whatever was shortened can be read back."""
        for rule in ("clear_observations", "spill"):
            for name in sorted(shortened_by(explain, rule))[:4]:
                record = self.kit.pipe._session.whole[name]
                if self.kit.pipe._session.binder.has(record):
                    assert read_back(self.kit.pipe, name) == self.kit.pipe._session.binder.section(record).text
                else:
                    assert self.kit.pipe.recall(name) == f"({name!r} can't be read back: The shelf is locked)"

    def explained(self, explain: Explain, named: set[str]) -> None:
        """Where a request leaves the one before it, a decision of either, a latch or a notice names the section."""
        assert self.last is not None
        left_at = changed_prefix(explain, [Seen(self.last[0], None)])
        if left_at is None:
            return
        old, new = self.last[0].sections, explain.sections
        place = next(
            (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if (a.hash, a.role) != (b.hash, b.role)),
            len(new),
        )
        there = {s.name for sections in (old, new) for s in sections[place : place + 1]}
        said = named | {n for d in self.last[0].decisions for n in d.sections} | set(explain.flips)
        assert there & said or any(n.startswith("notice") or n == NOTE for n in there), (
            f"left at {left_at}, nobody says why"
        )


def drifted(record: SourceRecord) -> SourceRecord:
    """With another value in the middle of a run, which a latch must hold back."""
    latched = record.tier is LifecycleTier.LATCHED and record.load is None
    return replace(record, text=f"#9 {record.name} drifted") if latched else record


def shortened_by(explain: Explain, rule: str) -> set[str]:
    return {n for d in explain.decisions if d.rule == rule and d.applied for n in d.sections}


@LAWS
@given(COURSES)
def test_every_law_holds_for_any_run(course: Course) -> None:
    run = Run(course)
    for n in range(len(course.turns)):
        run.turn(n)


def test_what_a_run_learns_is_the_same_without_its_failures() -> None:
    """P3 over a whole run: the same requests, once with every second send failing first."""
    codes = [7**17 + n * 11**13 for n in range(30)]
    kits = []
    for failing in (False, True):
        replies = [
            r for n in range(6) for r in ([EndpointFailed("down")] if failing else []) + [f"reply {n}" * (n + 1)]
        ]
        made = Kit(provider=Model(replies, window=1_000_000, dense=1.2, cache=CACHES["deepseek"]), clock=Clock())
        for n in range(6):
            for _ in range(2 if failing else 1):
                with contextlib.suppress(EndpointFailed, TooLong):
                    made.pipe("step", records_of(codes[: 5 * (n + 1)]))
        kits.append(made)
    one, other = kits
    assert one.stats.usage_samples() == other.stats.usage_samples()
    assert one.ledger.spent()["tokens"] == other.ledger.spent()["tokens"]
    assert one.provider.wires == other.provider.wires[1::2]
