"""From decoded text to typed DuckDB tables.

Owns: the choice between the engine's own strict reading of a file and a mended copy of it, the two scans (check types,
load), the row count that must agree, and the report. Refuses to know bytes and encodings, and never lets DuckDB guess:
dialect and types are forced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb

from peek_core.corpus import names
from peek_core.corpus.cells import count_rows
from peek_core.corpus.described import describe, renamed
from peek_core.corpus.desk import Desk, Loaded
from peek_core.corpus.refusals import spoken
from peek_core.corpus.rejects import write_rejects
from peek_core.corpus.text import dialect as dialects
from peek_core.corpus.text import records
from peek_core.corpus.text import structure as structures
from peek_core.corpus.text.compare import compared, copied_rows, file_rows, sampled_rows
from peek_core.corpus.text.decode import Text, encoding_words
from peek_core.corpus.text.dialect import Dialect, Head
from peek_core.corpus.text.mend import Mended, mend, repeats_header
from peek_core.corpus.text.row_kinds import sparse
from peek_core.corpus.text.structure import Structure
from peek_core.corpus.typed import columns as typed
from peek_core.corpus.typed import types
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import Column, Doubt, ReadChoices, TableReport

_MAX_TABLES = 12
_TOTALS = (
    "total",
    "grand total",
    "sum",
    "subtotal",
    "totals",
    "gesamt",
    "summe",
    "gesamtsumme",
    "total general",
    "totaal",
)
_MEMORY_MB, _MEMORY_A_COLUMN_MB, _NARROW = 384, 8, 40
_TAIL = 1 << 16
_TAIL_RECORDS = 20

Filled = tuple[tuple[Column, ...], list[types.Reading], list[Doubt]]
"""Columns of a new table, how each was read, and what could be otherwise."""


def load_csv(desk: Desk, text: Text) -> tuple[Loaded, ...]:
    """Reads `text` into a new table named after the file; into further ones where other tables stand below it.

    Raises `UnreadableFile` where there is no table, or where rows went missing on the way. Then a table may exist
    half-filled: the caller drops the file.
    """
    made: list[Loaded] = []
    skip: int | None = 0
    while skip is not None:
        loaded, skip = _table(desk, text, skip)
        made.append(loaded)
        if len(made) == _MAX_TABLES and skip is not None:
            said = Doubt(
                f"line {skip + 1:,}", f"More than {_MAX_TABLES} tables stand below each other", "split the file"
            )
            made[-1] = Loaded(loaded.report, (*loaded.doubts, said))
            break
    first, *others = made
    return (Loaded(first.report, (*text.doubts, *first.doubts)), *others)


def _table(desk: Desk, text: Text, skip: int) -> tuple[Loaded, int | None]:
    """One table of the file, and after how many lines the next one begins, if there is one."""
    con, progress, choices = desk.con, desk.tell, desk.choices
    progress("finding columns", None)
    with spoken("finding the columns"):
        head = dialects.find(text, choices, skip)
        found = structures.find(head.records, above=None if skip else choices.skip, header_rows=choices.header_rows)
    table = desk.name(desk.label)
    columns = names.unique(found.labels)
    mended: Mended | None = None
    started, agreed = None, None
    if _plain(head, found, text):
        source = _forced(head, found, text).read_csv(text.path, columns)
        started, agreed = _strictly(desk, text, table, source, columns, found, head)
    if started is None:
        with spoken("repairing lines"):
            progress("repairing lines", None)
            mended = mend(
                text.path, text.newline, head, found, desk.work / f"mended-{skip}.csv",
                lambda done: progress("repairing lines", done),
            )  # fmt: skip
        source = Dialect(",", '"', '"', "\n", 0, False, found.labels).read_csv(mended.path, columns)
        started = _filled(desk, table, source, columns, found.labels, european=head.cutter.delimiter == ";")
        got = count_rows(con, table)
        if got != mended.rows:
            raise UnreadableFile(
                f"{mended.rows:,} rows were found in the file, but {got:,} arrived",
                next="Save it as XLSX and load that.",
            )
        with spoken("comparing the cells"):
            progress("comparing cells", None)
            rows = copied_rows(mended.path, found.width, every=desk.every_cell)
            agreed = compared(con, table, columns, [r.sql for r in started[1]], rows)
        if agreed is None:
            raise UnreadableFile(
                "Some cells arrived other than they were written", next="Save it as XLSX and load that."
            )
        write_rejects(con, table, [*mended.rejects, *mended.outside, *mended.beyond])
    described, readings, column_doubts = started
    doubts = [*found.doubts, *(mended.doubts if mended else ()), *column_doubts]
    repairs = [*(text.repairs if not skip else ()), *head.repairs, *_above(found), *found.repairs]
    assumptions = [*found.assumptions, *(line for r in readings for line in r.assumptions)]
    if mended:
        repairs += mended.repairs
        assumptions += mended.assumptions
        if mended.rest:
            line = mended.rest.line
            if mended.rest.width == found.width:
                said = "The header and its first row come again; what follows was read as a table of its own"
                doubts.append(Doubt(f"line {line:,}", said, "rows of the same table"))
            else:
                assumptions.append(f"Another table begins in line {line:,}; it was read as a table of its own.")
    assumptions += _totals(con, table, described)
    header = found.header[0].line if found.header else None
    report = TableReport(
        name=table,
        rows=count_rows(con, table),
        columns=described,
        rejects=len(mended.rejects) + len(mended.outside) if mended else 0,
        encoding=encoding_words(text.encoding),
        dialect=f"{head.words()}, {f'header in line {header}' if header else 'no header'}",
        header_rows=len(found.header),
        repairs=(*repairs, *renamed(described)),
        assumptions=tuple(assumptions),
        source=desk.label,
        read=ReadChoices(
            encoding=text.encoding,
            delimiter=head.cutter.delimiter,
            quote=head.cutter.quote,
            skip=(header or found.body + 1) - 1,
            header_rows=len(found.header),
            columns={c.name: c.way for c in described if c.way},
        ),
        compared=agreed,
    )
    return Loaded(report, tuple(doubts)), mended.rest.line - 1 if mended and mended.rest else None


def _plain(head: Head, found: Structure, text: Text) -> bool:
    """Whether the engine can read the file as it stands: nothing in its head and tail asks for repair."""
    if (
        len(found.header) > 1
        or found.comments
        or head.cutter.escape != head.cutter.quote
        or len(head.cutter.delimiter) != 1
    ):
        return False
    rows = head.records[found.body :]
    padded = re.compile(f"(?:^|{re.escape(head.cutter.delimiter)}) +{head.cutter.quote}")
    if any("\n" in r.raw or "\r" in r.raw for r in found.above):
        return False
    if found.width > 1 and any(not r.blank and (r.filled == 0 or repeats_header(r, found)) for r in rows):
        return False
    if any(not r.blank and (r.width != found.width or r.stray or padded.search(r.raw)) for r in (*found.header, *rows)):
        return False
    return found.width == 1 or _ends_well(head, found, text)


def _ends_well(head: Head, found: Structure, text: Text) -> bool:
    """Whether the last lines look like rows, not like notes or padding below the table."""
    tail = (
        head.records[found.body :][-_TAIL_RECORDS:] if head.whole else head.cutter.text(_tail(text), text.newline)[1:]
    )
    rows = [r for r in tail if not r.blank][-_TAIL_RECORDS:]
    if not rows:
        return True
    last = rows[-1]
    return last.width == found.width and not (sparse(last, found.width) and (last.filled == 0 or found.width > 2))


def _tail(text: Text) -> str:
    with text.path.open("rb") as file:
        file.seek(-min(_TAIL, text.path.stat().st_size), 2)
        return file.read().decode("utf-8", "ignore")


def _forced(head: Head, found: Structure, text: Text) -> Dialect:
    cut = head.cutter
    first = found.header[0] if found.header else head.records[found.body]
    return Dialect(cut.delimiter, cut.quote, cut.escape, text.newline, first.line - 1, bool(found.header), found.labels)


def _strictly(
    desk: Desk, text: Text, table: str, source: str, columns: Sequence[str], found: Structure, head: Head
) -> tuple[Filled | None, int | None]:
    """The table as the engine reads the file itself, and how many rows were compared; None where it stumbles or rows
    went missing."""
    try:
        made = _filled(desk, table, source, columns, found.labels, european=head.cutter.delimiter == ";")
        with spoken("counting the rows"):
            desk.tell("counting rows", None)
            rows, forced = count_rows(desk.con, table), _forced(head, found, text)
            if _header_inside(desk.con, table, made[0], found):
                raise UnreadableFile("The header comes again below")
            counted = next(
                (
                    c
                    for blank in (False, True)
                    if (c := records.fast_count(text.path, forced, blank_lines=blank)).records == rows
                ),
                None,
            )
            if counted is None and records.slow_count(text.path, forced) != rows:
                raise UnreadableFile("Rows went missing")
            desk.tell("comparing cells", None)
            spots = counted.spots if counted else ()
            cut = head.cutter
            looked_at = file_rows(text, cut, found) if desk.every_cell else sampled_rows(text, cut, found, rows, spots)
            agreed = compared(desk.con, table, columns, [r.sql for r in made[1]], looked_at)
            if agreed is not None:
                return made, agreed
    except UnreadableFile:
        pass
    desk.con.execute(f"DROP TABLE IF EXISTS {names.quoted(table)}")
    return None, None


def _header_inside(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[Column], found: Structure) -> bool:
    """Whether a row repeats the header; it would have made every column text."""
    if not found.header or found.width < 2 or any(c.type != types.VARCHAR for c in columns):
        return False
    same = " AND ".join(f"{names.quoted(c.name)} = {names.literal(c.label)}" for c in columns if c.label)
    row = con.execute(f"SELECT 1 FROM {names.quoted(table)} WHERE {same or 'false'} LIMIT 1").fetchone()
    return row is not None


def _totals(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[Column]) -> list[str]:
    """Says which rows look like totals of the others: sums over the table count them twice."""
    first = columns[0]
    if first.type != types.VARCHAR or all(c.type == types.VARCHAR for c in columns):
        return []
    words = ", ".join(names.literal(word) for word in _TOTALS)
    name = names.quoted(first.name)
    found = con.execute(
        f"SELECT count(*), min(rowid) + 1, min({name}) FROM {names.quoted(table)} WHERE lower(trim({name}, ' :')) IN ({words})"
    ).fetchone()
    if found is None or not found[0]:
        return []
    many = "row looks like a total" if found[0] == 1 else "rows look like totals"
    return [f"{found[0]:,} {many} of the others, e.g. row {found[1]:,}: “{found[2]}”; sums over all rows count both."]


def _filled(
    desk: Desk, table: str, source: str, columns: Sequence[str], labels: Sequence[str], *, european: bool
) -> Filled:
    """Creates `table` from a relation of text: one scan decides the types, one loads."""
    con = desk.con
    # A long file needs no more; a wide one does, since the engine gathers whole groups of rows of every column.
    con.execute(f"SET memory_limit = '{_MEMORY_MB + _MEMORY_A_COLUMN_MB * max(0, len(columns) - _NARROW)}MB'")
    with spoken("checking the values"):
        desk.tell("checking values", None)
        sample = typed.sample(con, source, columns)
        readings = typed.readings(con, source, columns, labels, sample, desk.choices.columns, european=european)
    with spoken("loading the rows"):
        desk.tell("loading rows", None)
        con.execute(f"CREATE TABLE {names.quoted(table)} AS SELECT {typed.selected(columns, readings)} FROM {source}")
        samples = [next((value for row in sample if (value := row[n]) is not None), "") for n in range(len(columns))]
        described = describe(con, table, typed.laid_out(columns, labels, readings, samples))
        return described, readings, [doubt for reading in readings for doubt in reading.doubts]


def _above(found: Structure) -> list[str]:
    """What stood above the header."""
    lines = [r for r in found.above if not r.blank and r.filled]
    if not lines:
        return []
    text = next(f for f in lines[0].fields if f.strip()).strip()
    many = "line" if len(lines) == 1 else "lines"
    return [f"{len(lines)} {many} above the header left out, e.g. line {lines[0].line}: “{text[:80]}”."]
