"""From decoded text to one typed DuckDB table.

Owns: the two scans (check types, load), the row count that must agree, and the table's report. Refuses to know bytes
and encodings, and never lets DuckDB guess: dialect and types are forced.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from peek_core.corpus import columns as typed
from peek_core.corpus import dialect as dialects
from peek_core.corpus import names, records, types
from peek_core.corpus.decode import Text, encoding_words
from peek_core.corpus.desk import Desk, Loaded
from peek_core.corpus.refusals import spoken
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Column, TableReport


def load_csv(desk: Desk, text: Text) -> Loaded:
    """Reads `text` into a new table named after the file.

    Raises `UnreadableFile` naming the line where rows and header do not fit, or where the number of rows that arrived
    differs from the number of records in the file. Then the table may exist half-filled: the caller drops the file.
    """
    con, progress = desk.con, desk.tell
    table = desk.name(desk.label)
    progress("finding columns", None)
    with spoken("finding the columns"):
        found = dialects.find(con, text)
        columns = names.unique(found.labels)
        source = found.read_csv(text.path, columns)
        sample = typed.sample(con, source, columns)
    with spoken("checking the values"):
        progress("checking values", None)
        readings = typed.readings(con, source, columns, found.labels, sample)
    with spoken("loading the rows"):
        progress("loading rows", None)
        selected = ", ".join(f"{r.sql} AS {names.quoted(c)}" for c, r in zip(columns, readings, strict=True))
        con.execute(f"CREATE TABLE {names.quoted(table)} AS SELECT {selected} FROM {source}")
    with spoken("counting the rows"):
        progress("counting rows", None)
        rows = _verified_count(con, table, text, found)
    samples = [next((value for row in sample if (value := row[n]) is not None), "") for n in range(len(columns))]
    described = describe(con, table, columns, found.labels, [r.type for r in readings], samples)
    doubts = [*text.doubts, *found.doubts]
    for n, reading in enumerate(readings):
        if reading.type == types.VARCHAR and not reading.assumptions:
            doubt = types.text_doubt(found.labels[n] or columns[n], (row[n] for row in sample))
            doubts += [doubt] if doubt else []
    assumptions = [line for reading in readings for line in reading.assumptions]
    report = TableReport(
        name=table,
        rows=rows,
        columns=described,
        encoding=encoding_words(text.encoding),
        dialect=found.words(),
        header_rows=int(found.header),
        repairs=(*text.repairs, *found.repairs, *renamed(described)),
        assumptions=tuple(assumptions),
    )
    return Loaded(report, tuple(doubts))


def _verified_count(con: duckdb.DuckDBPyConnection, table: str, text: Text, found: dialects.Dialect) -> int:
    got = con.execute(f"SELECT count(*) FROM {names.quoted(table)}").fetchone()
    assert got is not None
    rows = int(got[0])
    if any(records.fast_count(text.path, found, blank_lines=blank) == rows for blank in (False, True)):
        return rows
    expected = records.slow_count(text.path, found)
    if expected != rows:
        raise UnreadableFile(
            f"The file has {expected:,} records below its header, but only {rows:,} could be read as rows"
            if expected > rows
            else f"The file has {expected:,} records below its header, but was read as {rows:,} rows",
            next="Usually quotes are not closed or not doubled. Check them and load the file again.",
        )
    return rows


def describe(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[str],
    labels: Sequence[str],
    column_types: Sequence[str],
    samples: Sequence[str],
) -> tuple[Column, ...]:
    """The columns of a loaded table with their number of nulls; `samples` has one value of each column, or ""."""
    made: list[Column] = []
    step = 500
    for start in range(0, len(columns), step):
        part = columns[start : start + step]
        wanted = ", ".join(f"count({names.quoted(c)})" for c in part)
        row = con.execute(f"SELECT count(*), {wanted} FROM {names.quoted(table)}").fetchone()
        assert row is not None
        for n, name in enumerate(part, start=start):
            made.append(
                Column(
                    name=name,
                    label=labels[n],
                    type=column_types[n],
                    nulls=int(row[0]) - int(row[1 + n - start]),
                    sample=samples[n][:60],
                )
            )
    return tuple(made)


def renamed(columns: Sequence[Column]) -> tuple[str, ...]:
    """One sentence on headers whose SQL name differs by more than case and spaces; the mapping is in the columns."""
    changed = [c for c in columns if c.name != c.label]
    if not changed:
        return ()
    shown = ", ".join(f"“{c.label}” is {c.name}" for c in changed[:8])
    more = f", and {len(changed) - 8:,} more" if len(changed) > 8 else ""
    return (f"Columns got names for SQL: {shown}{more}.",)
