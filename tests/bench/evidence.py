"""What it costs to hold a map to its evidence: a full map on 50,000 rows, and an update beside the evidence it runs.

`python -m tests.bench.evidence [ROUNDS]`: medians; goals are 1 s for all the evidence of a full map, and an update without
its model calls within 1.5 times the evidence it runs.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peek_core import settings
from peek_core.book import StoreBook
from peek_core.context_map.evidence import check, verified
from peek_core.context_map.map import render
from peek_core.datasets import run_query
from peek_core.policies.peek import PeekPolicy, Surroundings
from peek_core.ports import RunQuery
from peek_core.settings import MapSettings
from peek_core.values.messages import Completion, Usage
from peek_core.values.sources import Kind, LifecycleTier, Priority, Scope, SourceRecord
from peek_core.values.trajectory import Answer, Trajectory
from peek_core.workspace import Workspace
from tests.policies.test_false_claims import TRUE, item, written

CANDIDATES = 12
PROFILE = SourceRecord(name="profile", kind=Kind.PROFILE, tier=LifecycleTier.PER_SESSION, scope=Scope.SESSION,
                       priority=Priority.NEVER, role="user", text="")  # fmt: skip


def claims(query: RunQuery) -> list[dict[str, Any]]:
    rows = [(text, sql, [list(row) for row in query(sql).rows]) for text, sql in TRUE]
    return [item(written(text, given), sql, given) for text, sql, given in rows]


def update(w: Workspace, dataset: str, query: RunQuery, candidates: Sequence[dict[str, Any]], arm: str) -> float:
    """Seconds of one update whose model replies take no time."""
    replies = [
        json.dumps({"diagnosis": "d", "tags": [], "candidates": list(candidates)}),
        json.dumps({"edits": [{"op": "ADD", "candidate": n} for n in range(len(candidates))], "definitions": []}),
    ]

    def call(source: str, records: Sequence[SourceRecord], *, schema: Any = None) -> Completion:
        return Completion(replies.pop(0), "stop", Usage())

    version = w.shelf.version(w.dataset(dataset))
    around = Surroundings(call=call, query=query, count=w._count[1], emit=lambda name, body: None, profile=PROFILE,
                          columns=w.shelf.columns(version), version=1)  # fmt: skip
    policy = PeekPolicy(StoreBook(w.store, dataset, arm), MapSettings(budget=4_000), around)
    started = time.perf_counter()
    policy.after(Trajectory("run", "how many?").end("answered", answer=Answer("7")))
    return time.perf_counter() - started


def main(rounds: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder:
        w = Workspace(settings.read({}, Path(folder)))
        dataset = w.load_sample("product_feedback").id
        with w.shelf.engine(w.view(dataset)) as engine:
            query = run_query(engine)
            candidates = claims(query)
            update(w, dataset, query, candidates, "full")
            full = w.map(dataset, "full")
            whole, alone, updates = [], [], []
            for n in range(rounds):
                started = time.perf_counter()
                states = {verified(i, query, 1).state for i in full.items}
                whole.append(time.perf_counter() - started)
                assert states == {"holds"}
                edits = w.map(dataset, "full").items[:CANDIDATES]
                started = time.perf_counter()
                for one in edits:
                    assert one.evidence and check(one.evidence, query, one.template).state == "holds"
                alone.append(time.perf_counter() - started)
                updates.append(update(w, dataset, query, candidates[:CANDIDATES], f"round-{n}"))
            tokens = w.count_tokens(render(full.items))
        w.close()
    evidence, one, learned = map(statistics.median, (whole, alone, updates))
    print(f"map of {len(full.items)} items, {tokens:,} tokens, on 50,000 rows; {rounds} rounds, medians")
    print(f"all evidence           {evidence:6.3f} s   goal <= 1")
    print(f"evidence of {CANDIDATES} edits   {one:6.3f} s")
    print(f"update with {CANDIDATES} edits   {learned:6.3f} s   ratio {learned / one:.2f}   goal <= 1.5")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:2]))
