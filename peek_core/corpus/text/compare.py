"""Comparing a loaded table, cell by cell, with the file as another reader cuts it.

Owns: which rows are compared and the comparison. Refuses to know how the table was loaded, but for the expressions
that made its columns from text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from pathlib import Path

import duckdb

from peek_core.corpus import names
from peek_core.corpus.text.cutting import Cutter, Record
from peek_core.corpus.text.decode import Text
from peek_core.corpus.text.records import MAX_FIELD
from peek_core.corpus.text.structure import Structure

ROWS = 10_000
"""So many rows are compared unless all are asked for: some at the beginning, the others at places spread over the file."""
_CELLS = 500_000
_AT_ONCE = 100_000

Row = tuple[int, Sequence[str]]
"""Position in the table, counted from 0, and the fields that the file has there."""


def compared(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[str],
    expressions: Sequence[str],
    rows: Iterable[Row],
) -> int | None:
    """How many of `rows` were compared with `table`; None where a cell of one of them differs.

    `expressions` make the columns from text columns of the same names.
    """
    seen, left = 0, iter(rows)
    while part := list(islice(left, max(1, _AT_ONCE // len(columns)))):
        if not _same(con, table, columns, expressions, part):
            return None
        seen += len(part)
    return seen


def file_rows(text: Text, cutter: Cutter, found: Structure) -> Iterator[Row]:
    """All rows of a file that needs no repair, in its order."""
    for n, record in enumerate(_below(text, cutter, found)):
        yield n, record.fields


def sampled_rows(
    text: Text, cutter: Cutter, found: Structure, rows: int, spots: Sequence[tuple[int, int]]
) -> Iterator[Row]:
    """Of the `rows` of such a file those at its beginning and at `spots`: (row, byte where its record begins)."""
    left = _wanted(found.width)
    each = max(1, left // 2 // len(spots)) if spots and rows > left else 0
    for row, at in spots if each else ():
        for n, fields in enumerate(_at(text, cutter, at, each)):
            left -= 1
            yield row + n, fields
    yield from islice(file_rows(text, cutter, found), left)


def copied_rows(copy: Path, width: int, *, every: bool) -> Iterator[Row]:
    """Rows of a mended copy, at its beginning or all."""
    csv.field_size_limit(MAX_FIELD)
    with copy.open(encoding="utf-8", newline="") as file:
        yield from islice(enumerate(csv.reader(file, lineterminator="\n")), None if every else _wanted(width))


def _wanted(width: int) -> int:
    return max(1, min(ROWS, _CELLS // width))


def _below(text: Text, cutter: Cutter, found: Structure) -> Iterator[Record]:
    """The records below the header, blank lines left out as the engine leaves them out."""
    skip = found.header[-1].line if found.header else 0
    for record in cutter.file(text.path, text.newline):
        if record.line > skip and not (record.blank and found.width > 1) and record not in found.above:
            yield record


def _at(text: Text, cutter: Cutter, at: int, count: int) -> Iterator[tuple[str, ...]]:
    """Up to `count` records from byte `at` on, which begins one; they end at a blank line, which counts for no row."""
    with text.path.open("rb") as file:
        file.seek(at)
        lines = (line.removesuffix(text.newline) for line in TextIOWrapper(file, "utf-8", newline=text.newline))
        for record in islice(cutter.records(lines, text.newline), count):
            if record.blank:
                return
            yield record.fields


def _same(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[str],
    expressions: Sequence[str],
    chosen: Sequence[Row],
) -> bool:
    if any(len(fields) != len(columns) for _, fields in chosen):
        return False
    quoted = [names.quoted(column) for column in columns]
    texts = [[fields[n] or None for _, fields in chosen] for n in range(len(columns))]
    unnested = ", ".join(f"unnest(${n}::VARCHAR[]) AS {name}" for n, name in enumerate(quoted, start=2))
    typed = ", ".join(f"{sql} AS {name}" for sql, name in zip(expressions, quoted, strict=True))
    differs = " OR ".join(f"a.{name} IS DISTINCT FROM t.{name}" for name in quoted)
    row = con.execute(
        f"SELECT count(*), count(*) FILTER ({differs}) FROM (SELECT peek_row, {typed} FROM "
        f"(SELECT unnest($1::BIGINT[]) AS peek_row, {unnested})) a LEFT JOIN {names.quoted(table)} t ON t.rowid = a.peek_row",
        [[n for n, _ in chosen], *texts],
    ).fetchone()
    return row is not None and row == (len(chosen), 0)
