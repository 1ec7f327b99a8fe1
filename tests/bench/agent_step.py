"""What one agent step costs beside the bare cell and query it runs, and whether late steps cost more than early ones.

`python -m tests.bench.agent_step`: prints a table; times are of this machine, compare the ratios.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from peek_core import settings
from peek_core.agents.host import Host
from peek_core.agents.host import Surroundings as HostSurroundings
from peek_core.agents.observation import Sharing
from peek_core.agents.records import fixed_records, profile_record
from peek_core.agents.repl import ReplAgent, Surroundings
from peek_core.asking import RunEvents, Traces
from peek_core.context_pipe.ledger import Ledger
from peek_core.context_pipe.pipe import Pipe
from peek_core.context_pipe.stats import PipelineStats
from peek_core.interpreters.monty import MontyInterpreter
from peek_core.jobs import CancelSignal
from peek_core.providers.scripted import Scripted
from peek_core.values.trajectory import Trajectory
from peek_core.workspace import Workspace

STEPS = 30
QUERY = (
    "SELECT region, count(*) AS n, avg(rating) AS r FROM product_feedback WHERE nps <> 99 GROUP BY ALL ORDER BY n DESC"
)
CELL = f'rows_{{n}} = sql("{QUERY}")\nprint(rows_{{n}})'


def steps(w: Workspace, dataset: str) -> list[float]:
    """Seconds of each of 30 steps, model time excluded (the scripted provider takes none)."""
    replies = [f"```python\n{CELL.replace('{n}', str(n))}\n```" for n in range(STEPS)]
    replies.append('```python\nFINAL("done")\n```')
    at: list[float] = []
    cancel, clock, ids = CancelSignal(), time.time, (f"c{n}" for n in itertools.count())
    emit = RunEvents(f"bench{time.time_ns()}", dataset, w.store, clock)

    def told(name: str, body) -> None:  # type: ignore[no-untyped-def]  # as the run's own events
        emit(name, body)
        if name == "thinking":
            at.append(time.perf_counter())

    limits = settings.RunLimits(turns=STEPS + 2)
    ledger = Ledger(limits, clock, cancel)
    with w.shelf.engine(w.view(dataset)) as engine:
        pipe = Pipe(run="bench", provider=Scripted(replies), counter=w._count, stats=PipelineStats(), sink=Traces(w.store, dataset),
                    ledger=ledger, cancel=cancel, clock=clock, ids=lambda: f"{time.time_ns()}{next(ids)}", emit=told)  # fmt: skip
        interpreter = MontyInterpreter(w.settings.cell)
        host = Host(HostSurroundings(engine=engine, limits=w.settings.sql, sharing=Sharing.SAMPLE_ROWS, spend=ledger.spend,
                                     ask_model=str, emit=told))  # fmt: skip
        context = (*fixed_records(), profile_record(w.profile(dataset), Sharing.SAMPLE_ROWS))
        agent = ReplAgent(Surroundings(call=pipe, interpreter=interpreter, host=host, emit=told, limits=limits, cell=w.settings.cell,
                                       sharing=Sharing.SAMPLE_ROWS, context=context, today="2026-11-15"))  # fmt: skip
        agent.run(Trajectory("bench", "How many per region?"))
        interpreter.close()
    return [b - a for a, b in itertools.pairwise(at)]


def bare(w: Workspace, dataset: str) -> list[float]:
    """Seconds of the same cell with the worker's query behind it, and nothing else."""
    times = []
    with w.shelf.engine(w.view(dataset)) as engine, MontyInterpreter(w.settings.cell) as interpreter:

        def sql(query: str) -> list[dict]:
            table = engine.query(query, limit=w.settings.sql.rows_to_cell).table
            return [dict(zip(table.columns, row, strict=True)) for row in table.rows]

        for n in range(STEPS):
            started = time.perf_counter()
            interpreter.run(CELL.replace("{n}", str(n)), {"sql": sql})
            times.append(time.perf_counter() - started)
    return times


def line(name: str, values: Sequence[float]) -> str:
    ordered = sorted(values)
    return f"{name:<34}{1000 * statistics.median(values):>10.1f}{1000 * ordered[int(0.95 * len(ordered))]:>10.1f}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        w = Workspace(settings.read({}, Path(folder)))
        dataset = w.load_sample("product_feedback").id
        alone, whole = bare(w, dataset), steps(w, dataset)
        w.close()
    print(f"{'ms':<34}{'median':>10}{'p95':>10}")
    print(line("bare cell + worker SQL", alone[1:]))
    print(line("agent step, model excluded", whole[1:]))
    over = 1000 * (statistics.median(whole[1:]) - statistics.median(alone[1:]))
    early, late = statistics.median(whole[1:5]), statistics.median(whole[-4:])
    print(f"over the bare cell: {over:.1f} ms (at most 15); step 30 over step 3: {late / early:.2f} (at most 1.5)")


if __name__ == "__main__":
    main()
