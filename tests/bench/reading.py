"""How faithfully difficult files are read: ours beside DuckDB's and pandas' defaults, file by file, in one run.

    PEEK_BENCH_DATA=FOLDER python -m tests.bench.reading [WORD…]

`right`: exactly the table that the file's source states (cells too, where it states them). `said`: not that table, but
refused, rejected or doubted by name. `silent`: wrong without a word. Words choose files whose name holds one of them.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from peek_core.corpus.load import load_file
from peek_core.corpus.names import quoted
from peek_core.errors import PeekError

MISSING = {"", "na", "n/a", "nan", "null", "none", ".", "-", "--", "–", "#n/a", "#div/0!", "?", "nil"}


@dataclass(frozen=True)
class Case:
    """One file and the table that its source states."""

    path: Path
    rows: int | None
    columns: int | None
    header: tuple[str, ...] | None
    cells: tuple[tuple[str, ...], ...] | None
    """Rows below the header."""
    quirk: str


@dataclass(frozen=True)
class Found:
    """What a reader made of a file."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    said: tuple[str, ...] = ()
    """Doubts and rejects; a refusal is one of them."""
    refused: bool = False
    doubts: int = 0


def cases(folder: Path) -> list[Case]:
    """The files of the folder `csv_torture` that state a shape."""
    made = []
    with (folder / "index.tsv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            stated = folder / "expected" / line["expected_file"] if line["expected_file"] else None
            header, cells = _expected(stated, line["has_header"] == "yes") if stated else (None, None)
            rows = int(line["expected_rows"]) if line["expected_rows"] else None
            columns = int(line["expected_columns"]) if line["expected_columns"] else None
            if rows is not None or columns is not None:
                made.append(Case(folder / "files" / line["file"], rows, columns, header, cells, line["quirk"]))
    return made


def _expected(path: Path, has_header: bool) -> tuple[tuple[str, ...] | None, tuple[tuple[str, ...], ...]]:
    """Header, where it is stated, and rows."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = tuple(tuple(row) for row in csv.reader(file))
        # Where the file has no header the first row only numbers the columns.
        return (rows[0] if has_header else None, rows[1:]) if rows else (None, ())
    data = json.loads(path.read_text("utf-8"))
    data = [data] if isinstance(data, dict) else data
    if data and isinstance(data[0], dict):
        return tuple(data[0]), tuple(tuple(str(v) for v in row.values()) for row in data)
    return None, tuple(tuple("" if v is None else str(v) for v in row) for row in data)


def ours(path: Path) -> Found:
    """The product's own loader."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "v.duckdb"
        try:
            report = load_file(path, target, label="t")
        except PeekError as error:
            return Found(said=(error.sentence(),), refused=True)
        said = [f"{d.where}: {d.what}" for d in report.doubts]
        table = report.tables[0]
        said += [f"{table.rejects} rejects"] if table.rejects else []
        with duckdb.connect(str(target), read_only=True) as con:
            rows = con.execute(f"SELECT * FROM {quoted(table.name)}").fetchall()
        labels = tuple(c.label for c in table.columns)
        return Found(labels, tuple(rows), tuple(said), doubts=len(report.doubts))


def by_duckdb(path: Path) -> Found:
    try:
        with duckdb.connect() as con:
            found = con.execute("SELECT * FROM read_csv($1)", [str(path)])
            return Found(tuple(d[0] for d in found.description or ()), tuple(found.fetchall()))
    except duckdb.Error as error:
        return Found(said=(str(error)[:80],), refused=True)


def by_pandas(path: Path) -> Found:
    try:
        frame = pd.read_csv(path)
    except Exception as error:
        return Found(said=(str(error)[:80],), refused=True)
    cells = frame.astype(object).where(frame.notna(), None)
    return Found(tuple(map(str, frame.columns)), tuple(map(tuple, cells.values.tolist())))


def same(expected: str, got: Any) -> bool:
    """Whether a cell says what the source states; numbers and dates by value, text by its letters."""
    text = " ".join(unicodedata.normalize("NFC", expected).split())
    if got is None:
        return text.lower() in MISSING
    if isinstance(got, bool):
        return text.lower() in (("true", "t", "yes", "1") if got else ("false", "f", "no", "0"))
    if isinstance(got, int | float):
        number = _number(text)
        return number is not None and math.isclose(number, float(got), rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(got, date | datetime):
        digits = sorted(c for c in text if c.isdigit() and c != "0")
        return bool(digits) and set(digits) <= set(got.isoformat().replace("0", ""))
    return text == " ".join(unicodedata.normalize("NFC", str(got)).split())


def _number(text: str) -> float | None:
    bare = text.strip("()").replace(" ", "").strip("$€£%")
    sign = -1 if text.startswith("(") and text.endswith(")") else 1
    for form in (
        bare,
        bare.replace(",", ""),
        bare.replace(".", "").replace(",", "."),
        bare.replace("$", "").replace("£", "").replace(",", ""),
    ):
        try:
            return sign * float(form)
        except ValueError:
            continue
    return None


def shape_right(case: Case, found: Found) -> bool:
    if case.rows == 0 and not case.columns:
        return found.refused
    if found.refused:
        return False
    rows = case.rows if case.rows is not None else len(case.cells) if case.cells else None
    columns = case.columns if case.columns is not None else len(case.cells[0]) if case.cells else None
    return rows in (None, len(found.rows)) and columns in (None, len(found.columns))


def wrong_cells(case: Case, found: Found) -> list[tuple[int, int, str, Any]]:
    """Cells and headers that differ: row, column, expected, got; row 0 is the header."""
    if not case.cells or found.refused:
        return []
    heads = enumerate(zip(case.header or (), found.columns, strict=False))
    wrong: list[tuple[int, int, str, Any]] = [(0, n, e, g) for n, (e, g) in heads if not same(e, g)]
    for r, (expected, got) in enumerate(zip(case.cells, found.rows, strict=False), start=1):
        wrong += [(r, n, e, g) for n, (e, g) in enumerate(zip(expected, got, strict=False)) if not same(e, g)]
    return wrong


def verdict(case: Case, found: Found) -> str:
    """right, said or silent."""
    if shape_right(case, found) and not wrong_cells(case, found):
        return "right"
    return "said" if found.said else "silent"


def share_of_cells(case: Case, found: Found) -> tuple[int, int]:
    """Right and all body cells that the source states."""
    if not case.cells:
        return (0, 0)
    total = sum(len(row) for row in case.cells) + len(case.header or ())
    if not shape_right(case, found) or found.refused:
        return (0, total)
    return (total - len(wrong_cells(case, found)), total)


READERS: dict[str, Callable[[Path], Found]] = {"ours": ours, "duckdb": by_duckdb, "pandas": by_pandas}


def main(words: Sequence[str]) -> None:
    data = os.environ.get("PEEK_BENCH_DATA")
    if not data:
        print("PEEK_BENCH_DATA names no folder; there is nothing to read")
        return
    chosen = [c for c in cases(Path(data) / "csv_torture") if not words or any(w in c.path.name for w in words)]
    counts: dict[str, Counter[str]] = {name: Counter() for name in READERS}
    cells = {name: [0, 0] for name in READERS}
    cried = 0
    for case in chosen:
        line = []
        for name, read in READERS.items():
            if name != "ours" and case.path.suffix.lower() in (".xlsx", ".xls"):
                line.append("–")
                continue
            found = read(case.path)
            got = verdict(case, found)
            counts[name][got] += 1
            right, total = share_of_cells(case, found)
            cells[name][0] += right
            cells[name][1] += total
            cried += name == "ours" and got == "right" and bool(found.doubts)
            line.append(got)
            if name == "ours" and (words or got != "right" or found.said):
                for sentence in found.said:
                    print(f"    {sentence[:200]}")
                if got != "right":
                    print(
                        f"    {len(found.rows)} x {len(found.columns)}, stated {case.rows} x {case.columns}; {case.quirk}"
                    )
                    for cell in wrong_cells(case, found)[:4]:
                        print(f"    {cell}"[:200])
        print(f"{case.path.name[:58]:<58}" + "".join(f"{v:>8}" for v in line))
    print(f"\n{'':<20}{'right':>8}{'said':>8}{'silent':>8}{'files':>8}{'right cells':>16}")
    for name, count in counts.items():
        share = f"{100 * cells[name][0] / max(1, cells[name][1]):.1f} %"
        print(f"{name:<20}{count['right']:>8}{count['said']:>8}{count['silent']:>8}{count.total():>8}{share:>16}")
    print(f"rightly read with a doubt: {cried} of {counts['ours']['right']}")


if __name__ == "__main__":
    main(sys.argv[1:])
