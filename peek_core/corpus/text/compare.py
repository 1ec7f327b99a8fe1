"""Comparing a loaded table, cell by cell, with the file as another reader cuts it.

Owns: which rows are compared and the comparison. Refuses to know how the table was loaded, but for the expressions
that made its columns from text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import duckdb

from peek_core.corpus import names
from peek_core.corpus.text.cutting import Cutter, Record
from peek_core.corpus.text.decode import Text
from peek_core.corpus.text.structure import Structure

ROWS = 10_000
"""So many rows are compared at most: some at the beginning, the others at places spread over the file."""
_CELLS = 500_000
_AT_ONCE = 100_000
_SPOT = 1 << 17


def cells_agree(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[str],
    expressions: Sequence[str],
    text: Text,
    cutter: Cutter,
    found: Structure,
    spots: Sequence[tuple[int, int]],
    *,
    rows: int = ROWS,
) -> bool:
    """Whether the rows of `table`, in the order of the file, hold what the file says at the beginning and at `spots`.

    `expressions` make the columns from text columns of the same names; a spot is (row, byte where its record begins).
    """
    wanted = max(1, min(rows, _CELLS // len(columns)))
    each = max(1, wanted // 2 // len(spots)) if spots else 0
    first = wanted - each * len(spots)
    here = _below(text, cutter, found)
    chosen = [(n, record) for n, record in enumerate(islice(here, first))]
    for row, at in spots:
        chosen += [(row + n, record) for n, record in enumerate(_at(text, cutter, at, each))]
    step = max(1, _AT_ONCE // len(columns))
    return all(
        _same(con, table, columns, expressions, chosen[start : start + step]) for start in range(0, len(chosen), step)
    )


def _below(text: Text, cutter: Cutter, found: Structure) -> Iterator[Record]:
    """The records below the header, blank lines left out as the engine leaves them out."""
    skip = found.header[-1].line if found.header else 0
    for record in cutter.file(text.path, text.newline):
        if record.line > skip and not (record.blank and found.width > 1) and record not in found.above:
            yield record


def _at(text: Text, cutter: Cutter, at: int, count: int) -> list[Record]:
    """Up to `count` whole records from byte `at` on, which begins one; none where a blank line stands among them."""
    with text.path.open("rb") as file:
        file.seek(at)
        part = file.read(_SPOT)
    lines = part.decode("utf-8", "ignore").split(text.newline)[:-1]
    found = list(islice(cutter.records(lines, text.newline), count + 1))[:-1]
    return [] if any(r.blank for r in found) else found


def _same(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[str],
    expressions: Sequence[str],
    chosen: Sequence[tuple[int, Record]],
) -> bool:
    if any(record.width != len(columns) for _, record in chosen):
        return False
    quoted = [names.quoted(column) for column in columns]
    texts = [[record.fields[n] or None for _, record in chosen] for n in range(len(columns))]
    unnested = ", ".join(f"unnest(${n}::VARCHAR[]) AS {name}" for n, name in enumerate(quoted, start=2))
    typed = ", ".join(f"{sql} AS {name}" for sql, name in zip(expressions, quoted, strict=True))
    differs = " OR ".join(f"a.{name} IS DISTINCT FROM t.{name}" for name in quoted)
    row = con.execute(
        f"SELECT count(*), count(*) FILTER ({differs}) FROM (SELECT peek_row, {typed} FROM "
        f"(SELECT unnest($1::BIGINT[]) AS peek_row, {unnested})) a LEFT JOIN {names.quoted(table)} t ON t.rowid = a.peek_row",
        [[n for n, _ in chosen], *texts],
    ).fetchone()
    return row is not None and row == (len(chosen), 0)
