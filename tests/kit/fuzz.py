"""What must hold for any file whatever: a table or a refusal, in time, and no row lost without a word.

`python -m tests.kit.fuzz [FILES] [FIRST]` tries many; the tests try a few hundred.
"""

from __future__ import annotations

import csv
import io
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import duckdb

from peek_core.corpus.load import load_file
from peek_core.corpus.names import quoted
from peek_core.errors import PeekError
from peek_core.values.dataset import LoadReport
from tests.kit.mutate import damaged

SECONDS_PER_100_KB = 5.0


def trouble(content: bytes, folder: Path) -> str:
    """What went wrong with a file, or an empty string; `refused` is for the caller to count."""
    source, target = folder / "t.csv", folder / "v.duckdb"
    source.write_bytes(content)
    started = time.monotonic()
    try:
        report = load_file(source, target, label="t")
    except PeekError as error:
        return "" if error.what and type(error).__name__ != "Broken" else f"refused without a reason: {error!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - started
    if seconds > SECONDS_PER_100_KB * max(1.0, len(content) / 100_000):
        return f"took {seconds:.1f} s for {len(content):,} bytes"
    with duckdb.connect(str(target), read_only=True) as con:
        for table in report.tables:
            row = con.execute(f"SELECT count(*) FROM {quoted(table.name)}").fetchone()
            if row != (table.rows,):
                return f"{table.rows} rows were reported, {row} are there"
    return _lost(content, report)


def _lost(content: bytes, report: LoadReport) -> str:
    """Where nothing was said about its lines, a file has as many rows as the standard reader finds records."""
    table = report.tables[0]
    said = [*report.doubts, *table.repairs]
    if said or table.rejects or len(report.tables) > 1 or table.header_rows > 1 or not table.read.delimiter:
        return ""
    text = content.decode(table.read.encoding or "utf-8", "replace").removeprefix("\ufeff")
    bare = text.replace("\r\n", "")
    if sum(("\r\n" in text, "\n" in bare, "\r" in bare)) > 1:
        return ""  # the standard reader ends records at each of them
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=table.read.delimiter, quotechar=table.read.quote)
    csv.field_size_limit(1 << 30)
    records = sum(1 for record in reader if record or len(table.columns) == 1)
    expected = records - table.header_rows
    return "" if expected == table.rows else f"{expected} records, {table.rows} rows, and nothing was said"


def main(files: int = 20_000, first: int = 0) -> int:
    """Tries `files` numbers from `first` on; prints each trouble with its number."""
    bad: Counter[str] = Counter()
    started = time.monotonic()
    for number in range(first, first + files):
        with tempfile.TemporaryDirectory() as folder:
            found = trouble(damaged(number), Path(folder))
        if found:
            bad[found.split(":")[0][:40]] += 1
            print(f"{number}: {found[:300]}", flush=True)
    print(f"{files:,} files in {time.monotonic() - started:.0f} s, {bad.total()} in trouble: {dict(bad)}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
