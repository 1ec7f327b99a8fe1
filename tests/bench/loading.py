"""How much a faithful load costs over DuckDB's own: seconds and peak memory, side by side in one run.

    python -m tests.bench.loading [ROWS] [ROUNDS]

Each load runs in a process of its own, in turns, after one unmeasured turn; medians are printed. The goal is at most
2.0 times the time and 1.5 times the memory of plain `CREATE TABLE AS read_csv`. Not a test: it depends on the machine.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from sample_corpora.product_feedback import generate

ROOT = Path(__file__).parents[2]

PLAIN = """
con = duckdb.connect(target)
con.execute("CREATE TABLE t AS SELECT * FROM read_csv($1)", [source])
con.execute("CHECKPOINT")
con.close()
"""
FAITHFUL = """
load_file(Path(source), Path(target), label="t")
"""
MEASURE = """
import json, resource, sys, time
from pathlib import Path
import duckdb
from peek_core.corpus.load import load_file
source, target = sys.argv[1:3]
started = time.perf_counter()
{body}
seconds = time.perf_counter() - started
# DuckDB may draw its progress bar on standard output.
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]), file=sys.stderr)
"""


def write(path: Path, rows: int) -> None:
    """The sample corpus repeated, with new ids and longer comments: about 170 MB for a million rows."""
    base = list(generate.build())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(generate.COLUMNS)
        for n in range(rows):
            row = base[n % len(base)]
            more = base[(n * 7) % len(base)].comment
            writer.writerow((generate.FIRST_ID + n, *row[1:11], f"{row.comment} {more}"[:400]))


def measure(body: str, source: Path, target: Path) -> tuple[float, float]:
    """Seconds and peak MB of one load in a new process."""
    target.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(body=body), str(source), str(target)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    seconds, megabytes = json.loads(done.stderr.splitlines()[-1])
    return seconds, megabytes


def main(rows: int = 1_000_000, rounds: int = 3) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "feedback.csv"
        write(source, rows)
        print(f"{rows:,} rows, {source.stat().st_size / 1e6:.0f} MB, {rounds} rounds, medians")
        results: dict[str, list[tuple[float, float]]] = {"plain": [], "faithful": []}
        for turn in range(rounds + 1):
            for name, body in (("plain", PLAIN), ("faithful", FAITHFUL)):
                result = measure(body, source, Path(folder) / f"{name}.duckdb")
                if turn:
                    results[name].append(result)
        seconds = {name: statistics.median(s for s, _ in got) for name, got in results.items()}
        memory = {name: statistics.median(m for _, m in got) for name, got in results.items()}
        print(f"{'load':<10}{'seconds':>10}{'peak MB':>10}")
        for name in results:
            print(f"{name:<10}{seconds[name]:>10.2f}{memory[name]:>10.0f}")
        ratio_s, ratio_m = seconds["faithful"] / seconds["plain"], memory["faithful"] / memory["plain"]
        print(f"{'ratio':<10}{ratio_s:>10.2f}{ratio_m:>10.2f}")
        print(f"{'goal':<10}{'<= 2.00':>10}{'<= 1.50':>10}")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:3]))
