"""How many columns of generated pairs of exports are matched right, and what is acted upon without asking.

Owns: the measure. Refuses to know: how columns are matched. Run it with `python -m tests.bench.rename_matching [PAIRS]`.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from peek_core.corpus.load import load_file
from peek_core.corpus.versions.propose import propose
from tests.kit.exports import Pair, pair


@dataclass
class Count:
    columns: int = 0
    right: int = 0
    certain: int = 0
    certain_wrong: int = 0
    renamed: int = 0
    renamed_right: int = 0
    renamed_certain: int = 0


def measured(seeds: range, folder: Path, wrong: list[str]) -> Count:
    """Judges every old column and every new one that stands for none; `wrong` takes what went wrong, in words."""
    count = Count()
    for seed in seeds:
        made = pair(seed, folder)
        _judge(made, folder, count, wrong)
    return count


def _judge(made: Pair, folder: Path, count: Count, wrong: list[str]) -> None:
    files = [folder / f"{path.stem}.duckdb" for path in (made.old, made.new)]
    reports = [
        load_file(path, file, label="export.csv") for path, file in zip((made.old, made.new), files, strict=True)
    ]
    found = propose(files[0], files[1], reports[0], reports[1], folder / "spill")
    labels = [{c.name: c.label for t in r.tables for c in t.columns} for r in reports]
    got = {labels[0][c.old]: c for t in found.tables for c in t.columns}
    taken = {c.label for c in got.values()}
    for old, new in made.truth.items():
        match = got.get(old)
        right = (match.label if match else None) == new
        count.columns += 1
        count.right += right
        if match is not None and match.certain:
            count.certain += 1
            count.certain_wrong += not right
        if new is not None and old.casefold().replace(" ", "_") != new.casefold().replace(" ", "_"):
            count.renamed += 1
            count.renamed_right += right
            count.renamed_certain += right and match is not None and match.certain
        if not right:
            said = (
                f"{match.label} ({match.similarity}, {match.why}{', certain' if match.certain else ''})"
                if match
                else "nothing"
            )
            wrong.append(f"{made.told}: {old} is {new}, was taken for {said}")
    for name in made.added:
        count.columns += 1
        count.right += name not in taken
    for file in files:
        file.unlink()


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as place:
        said: list[str] = []
        done = measured(range(many), Path(place), said)
    print("\n".join(said))
    print(f"{done.right:,} of {done.columns:,} columns right, {done.right / done.columns:.1%}; renamed: {done.renamed_right} of "
          f"{done.renamed}, {done.renamed_certain} of them certain; certain {done.certain:,}, wrong among them {done.certain_wrong}")  # fmt: skip
