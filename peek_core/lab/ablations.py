"""Gates opened one at a time, and the paper's open ablations A1 to A4, each on a workload where the mechanism can matter.

Owns: arms, workloads, what is reported. Refuses to know: how a session is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from peek_core.context_pipe.catalog import DEFAULT, Configuration
from peek_core.lab.sessions import Outcome, Workload, spread

Play = Callable[[Configuration, Workload], Outcome]


@dataclass(frozen=True)
class Ablation:
    """One comparison. `window` is the endpoint's, in tokens; None: the simulated provider's own."""

    name: str
    about: str
    arms: tuple[Configuration, ...]
    work: Workload
    window: int | None = None
    budget: int = 64_000


def _open(name: str, *rules: str, **more: object) -> Configuration:
    return replace(DEFAULT, name=name, rules=rules, **more)  # type: ignore[arg-type]  # fields of Configuration, from here


_ORDER, _CLEAR, _SPILL, _DROP, _MARK = DEFAULT.rules
ABLATIONS: Mapping[str, Ablation] = {
    a.name: a
    for a in (
        Ablation(
            "gates",
            "gates opened one at a time; very large observations, and a section that changes every turn declared first",
            (
                _open("nothing"),
                _open("clear", _CLEAR),
                _open("+ spill", _CLEAR, _SPILL),
                _open("+ drop", _CLEAR, _SPILL, _DROP),
                _open("+ order", _ORDER, _CLEAR, _SPILL, _DROP),
                _open("+ markers", *DEFAULT.rules),
            ),
            Workload(burst_every=7, volatile_first=True),
        ),
        Ablation(
            "pressure",
            "A1: predicted pressure may raise the level, against the raw one alone; replies as long as observations",
            (replace(DEFAULT, name="predictive"), replace(DEFAULT, name="reactive", predictive=False)),
            Workload(reply=(200, 3_000), observation=(100, 1_200), burst_every=5),
            window=32_000,
            budget=32_000,
        ),
        Ablation(
            "latches",
            "A2: latched sections, against sections read anew; a setting changes every third turn",
            (replace(DEFAULT, name="latched"), replace(DEFAULT, name="recomputed", latches=False)),
            Workload(flip_every=3),
        ),
        Ablation(
            "notices",
            "A3: notices that live one turn, are kept in place, or are only ever appended; four a turn, half of them repeats",
            (
                replace(DEFAULT, name="one turn", emergent="one_turn"),
                replace(DEFAULT, name="kept in place"),
                replace(DEFAULT, name="append only", emergent="append_only"),
            ),
            Workload(notices=4),
        ),
        Ablation(
            "markers",
            "A4: markers by the provider's policy, against markers at fixed places",
            (replace(DEFAULT, name="by policy"), replace(DEFAULT, name="fixed places", markers="fixed")),
            Workload(),
        ),
    )
}

COLUMNS: tuple[tuple[str, Callable[[Outcome], float | None]], ...] = (
    ("right", lambda o: float(o.right)),
    ("finished", lambda o: float(o.finished)),
    ("calls", lambda o: o.calls),
    ("re-fetched", lambda o: o.refetches),
    ("refused", lambda o: o.refused),
    ("recoveries", lambda o: o.recoveries),
    ("cut", lambda o: o.cut),
    ("input", lambda o: o.input),
    ("fresh", lambda o: None if o.input is None or o.cached is None else o.input - o.cached),
    ("hit %", lambda o: None if o.hit_rate is None else 100 * o.hit_rate),
    ("P99 fresh", lambda o: o.fresh_p99),
    ("breaks", lambda o: o.breaks),
    ("notices", lambda o: o.notices_sent),
    ("repeated", lambda o: o.notices_repeated),
    ("usd", lambda o: o.usd),
)
"""What is told of every arm; `right` and `finished` are shares of the sessions, the rest medians with their range."""


def compared(ablation: Ablation, play: Play, seeds: int, turns: int | None = None) -> dict[str, tuple[Outcome, ...]]:
    """Every arm on the same seeded sessions, arm by arm within a seed."""
    outcomes: dict[str, list[Outcome]] = {arm.name: [] for arm in ablation.arms}
    for seed in range(seeds):
        work = replace(ablation.work, seed=seed, turns=turns or ablation.work.turns)
        for arm in ablation.arms:
            outcomes[arm.name].append(play(arm, work))
    return {name: tuple(found) for name, found in outcomes.items()}


def rows(outcomes: Mapping[str, Sequence[Outcome]]) -> list[list[str]]:
    """A table: heads, then one row an arm. Columns in which no arm has anything to tell are left out."""
    shown = [(head, of) for head, of in COLUMNS if any(of(o) for found in outcomes.values() for o in found)]
    table = [["arm", *(head for head, _ in shown)]]
    for name, found in outcomes.items():
        cells = [
            f"{sum(of(o) or 0 for o in found):.0f}/{len(found)}"
            if head in ("right", "finished")
            else spread([of(o) for o in found])
            for head, of in shown
        ]
        table.append([name, *cells])
    return table


def verdict(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """What may be said of the first arm against the last, where both were right: paired by seed."""
    (first, one), *_, (last, other) = outcomes.items()
    pairs = [(a.usd, b.usd) for a, b in zip(one, other, strict=True) if a.right and b.right]
    priced = [(a, b) for a, b in pairs if a is not None and b is not None]
    right = f"right {sum(o.right for o in one)} and {sum(o.right for o in other)} of {len(one)}"
    if not priced:
        return f"{first} against {last}: {right}; no cost to compare (both right and priced in none)"
    shares = [100 * (b / a - 1) for a, b in priced if a]
    return f"{last} against {first}: {right}; cost {spread([round(s, 1) for s in shares])} % where both were right ({len(shares)})"
