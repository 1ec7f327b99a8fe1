"""Where the worth of a map lies, measured: the same questions under profile, prose, view, both, stale facts, and what
the product's own policy found.

    python -m tests.bench.worth [--repeats N] [--questions N] [--corpus NAME] [--found] [--scripted]

Any endpoint (`PEEK_BASE_URL`, `PEEK_MODEL`, `PEEK_API_KEY`), else the built-in analyst, which ignores free prose and is
named in the head of the table. `--scripted` plays a script that obeys whatever it is told: it checks this harness and
says nothing of any model. Rows are paired by question and repeat; the interval is a percentile bootstrap over
questions (Efron 1979) of the difference to `profile`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from peek_core import settings
from peek_core.book import StoreBook
from peek_core.context_map import map as maps
from peek_core.context_map.definitions import Definition, from_data
from peek_core.context_map.history import MapEvent
from peek_core.context_map.map import ContextMap, Edit
from peek_core.lab.grading import grade
from peek_core.ports import Provider
from peek_core.samples import sample
from peek_core.workspace import Workspace
from tests.bench.worth_questions import CORPORA, Asked, Corpus
from tests.kit.obedient import Obedient

RESAMPLES = 2_000


@dataclass(frozen=True)
class Condition:
    """What the model is given beside the profile."""

    name: str
    view: bool = False
    prose: str = ""
    """"" none, `all` facts, or `rest`: those that don't compile."""
    stale: bool = False


CONDITIONS = (
    Condition("profile"),
    Condition("prose", prose="all"),
    Condition("prose, stale", prose="all", stale=True),
    Condition("view", view=True),
    Condition("view + prose", view=True, prose="rest"),
    Condition("view + prose, stale", view=True, prose="rest", stale=True),
)
FOUND = "found by the policy"


@dataclass(frozen=True)
class Row:
    """One condition: for each question the share of repeats that were right."""

    name: str
    right: tuple[float, ...]
    tokens: float | None
    """Of a question's largest request, on average; estimated."""


def definitions(w: Workspace, dataset: str, corpus: Corpus) -> tuple[Definition, ...]:
    columns = w.shelf.columns(w.shelf.version(w.dataset(dataset)))
    made = []
    for n, fact in enumerate((f for f in corpus.facts if f.definition), 1):
        one = from_data(fact.definition or {}, columns)
        assert isinstance(one, Definition), one
        made.append(replace(one, id=f"def-{n}", state="on", author="person"))
    return tuple(made)


def given(w: Workspace, dataset: str, corpus: Corpus, condition: Condition) -> ContextMap:
    """The map of one condition, frozen by hand."""
    current = ContextMap(frozen=True, frozen_why="bench", frozen_by="person")
    for fact in corpus.facts if condition.prose else ():
        if condition.prose == "all" or fact.definition is None:
            text = (fact.stale or fact.text) if condition.stale else fact.text
            current, _, refusal = maps.apply(current, Edit("ADD", section=fact.section, text=text), author="person")
            assert refusal is None
    active = definitions(w, dataset, corpus) if condition.view else ()
    return replace(current, definitions=active, next_definition=len(active) + 1)


def learned(w: Workspace, dataset: str, corpus: Corpus) -> ContextMap:
    """The map after the sample's own series was asked, its proposals accepted as they came; then frozen."""
    for question in [q for q in sample(corpus.sample).questions if q.get("states_rule")]:
        w.wait(
            w.ask(
                dataset,
                str(question["question"]),
                arm="teach",
                map_settings=replace(settings.MapSettings(), auto_accept=True),
            )
        )
    return replace(w.map(dataset, "teach"), version=0, frozen=True, frozen_why="bench", frozen_by="person")


def gold(w: Workspace, dataset: str, corpus: Corpus, asked: Asked) -> dict[str, Any]:
    """What the query gives on the view of all definitions."""
    with w.shelf.engine(w.view(dataset, definitions=definitions(w, dataset, corpus))) as engine:
        rows = engine.query(asked.sql, limit=1_000).table.rows
    answer = [list(row) for row in rows] if asked.kind == "table" else rows[0][0]
    return {"answer": answer, "answer_kind": asked.kind, "tolerance": asked.tolerance}


def play(
    w: Workspace,
    dataset: str,
    name: str,
    current: ContextMap,
    golds: Sequence[tuple[Asked, Mapping[str, Any]]],
    repeats: int,
) -> Row:
    arm = f"worth-{name}"[:40]
    StoreBook(w.store, dataset, arm).commit(ContextMap(), current, [MapEvent("restore", author="person")])
    right = [0] * len(golds)
    tokens: list[int] = []
    for repeat in range(repeats):
        order = list(range(len(golds)))
        random.Random(repeat).shuffle(order)
        for n in order:
            w.new_conversation(dataset)
            run = w.wait(w.ask(dataset, golds[n][0].question, arm=arm))
            answer = run.trajectory.answer if run.trajectory else None
            right[n] += grade(golds[n][1], run.status, answer) == "right"
            tokens += [max((c.explain.tokens for c in w.explaining.calls(run.id)), default=0)]
    return Row(name, tuple(r / repeats for r in right), statistics.mean(tokens) if tokens else None)


def interval(better: Sequence[float], base: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean difference, resampling questions."""
    differences = [a - b for a, b in zip(better, base, strict=True)]
    chance = random.Random(0)
    means = sorted(statistics.mean(chance.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES) - 1]


def measure(
    corpora: Sequence[Corpus], *, repeats: int = 1, questions: int | None = None, found: bool = False,
    provider: Callable[[Corpus], Provider] | None = None, tell: Callable[[str], None] = lambda line: None,
) -> tuple[str, list[Row]]:  # fmt: skip
    """(who played, one row a condition over the questions of all corpora)."""
    rows: dict[str, list[Row]] = {}
    analyst = ""
    for corpus in corpora:
        with tempfile.TemporaryDirectory() as folder:
            chosen = provider(corpus) if provider else None
            w = Workspace(settings.read(data_dir=Path(folder)), provider=(lambda one=chosen: one) if chosen else None)  # type: ignore[misc]
            try:
                analyst = w.endpoints.analyst()
                dataset = w.load_sample(corpus.sample).id
                w.endpoints.share(dataset, "sample_rows")
                golds = [(q, gold(w, dataset, corpus, q)) for q in corpus.questions[:questions]]
                maps_of = {c.name: given(w, dataset, corpus, c) for c in CONDITIONS}
                if found:
                    maps_of[FOUND] = learned(w, dataset, corpus)
                for name, current in maps_of.items():
                    tell(f"{corpus.sample}: {name}")
                    rows.setdefault(name, []).append(play(w, dataset, name, current, golds, repeats))
            finally:
                w.close()
    return analyst, [
        Row(name, tuple(r for part in parts for r in part.right), statistics.mean(p.tokens or 0 for p in parts))
        for name, parts in rows.items()
    ]


def table(analyst: str, rows: Sequence[Row], repeats: int) -> str:
    """For a terminal."""
    base = rows[0].right
    lines = [
        f"played by: {analyst}; {len(base)} questions, {repeats} repeat{'s' * (repeats != 1)}",
        f"{'given':24} {'right':>9} {'to profile':>11} {'95 % interval':>18} {'tokens':>8}",
    ]
    for row in rows:
        low, high = interval(row.right, base)
        gain = statistics.mean(row.right) - statistics.mean(base)
        lines.append(
            f"{row.name:24} {sum(row.right):5.1f}/{len(base)} {gain:+11.1%} {f'{low:+.1%} .. {high:+.1%}':>18} {row.tokens or 0:8,.0f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="worth")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--corpus", choices=[c.sample for c in CORPORA])
    parser.add_argument("--found", action="store_true", help="also what the policy learns from the sample's own series")
    parser.add_argument(
        "--scripted", action="store_true", help="play the obedient script: a check of the harness, no model"
    )
    args = parser.parse_args()
    chosen = [c for c in CORPORA if args.corpus in (None, c.sample)]
    analyst, rows = measure(
        chosen, repeats=args.repeats, questions=args.questions, found=args.found,
        provider=Obedient if args.scripted else None, tell=print,
    )  # fmt: skip
    print(table(analyst, rows, args.repeats))


if __name__ == "__main__":
    main()
