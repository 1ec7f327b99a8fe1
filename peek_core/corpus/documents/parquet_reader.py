"""From a Parquet file to one DuckDB table with the few types that this app knows.

Owns: which type becomes which, and checking over all values that nothing is lost on the way, or saying what is.
Refuses to know how Parquet lies in bytes: DuckDB's own reader is built in; and what strings say (`typed.strings`): they
stay text until a person chooses otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from peek_core.corpus import names
from peek_core.corpus.cells import count_rows
from peek_core.corpus.described import describe, renamed
from peek_core.corpus.desk import Desk, Loaded
from peek_core.corpus.refusals import spoken
from peek_core.corpus.text.dialect import MAX_COLUMNS
from peek_core.corpus.typed import columns as typed
from peek_core.corpus.typed import strings, types
from peek_core.corpus.wording import count, some
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import ReadChoices, TableReport

MAX_ROWS_PER_BYTE = 1_000
"""A file that claims more rows than this for each of its bytes is refused, from `SUSPECT` rows on."""
SUSPECT = 50_000_000

_BATCH = 100
_WHOLE = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger")
_TOO_LARGE = ("ubigint", "hugeint", "uhugeint")
_STRINGS = ("varchar", "enum")
_PLAIN_TEXT = (*_STRINGS, "uuid")
_NESTED = ("list", "map", "struct", "array", "union", "variant")


@dataclass(frozen=True)
class _Field:
    """A column to be: a column of the file, or one field of a struct."""

    label: str
    sql: str
    type: str
    """As DuckDB names it, e.g. DECIMAL(10,2)."""
    kind: str
    """Its family, e.g. decimal."""


@dataclass(frozen=True)
class _Way:
    """How a field is read. `lost` counts, over all rows, values for which `sql` would not do; `otherwise` does then."""

    type: str
    sql: str
    said: str = ""
    """What is assumed, of all columns read this way."""
    lost: str = ""
    otherwise: Callable[[int], _Way] | None = None


def load_parquet(desk: Desk, source: Path) -> tuple[Loaded, ...]:
    """Reads `source` into a new table named after the file.

    Raises `UnreadableFile` for damaged files and for those that claim more rows than their size can hold.
    """
    con, table = desk.con, desk.name(desk.label)
    desk.tell("finding columns", None)
    read = f"read_parquet({names.literal(str(source))})"
    try:
        rows = _claimed_rows(con, source)
        fields, flat = _fields(con, source, read)
        labels = [field.label for field in fields]
        columns = names.unique(labels)
        desk.tell("checking values", None)
        ways = _settled(con, read, [_way(field) for field in fields])
        wanted = ", ".join(f"{way.sql} AS {names.quoted(column)}" for way, column in zip(ways, columns, strict=True))
        relation = f"(SELECT {wanted} FROM {read})"
        readings = [types.Reading(w.type, names.quoted(c), way="") for w, c in zip(ways, columns, strict=True)]
        texts = [n for n, field in enumerate(fields) if field.kind in _STRINGS]
        for n, found in strings.chosen_only(con, relation, columns, labels, texts, desk.choices.columns):
            readings[n] = found
        desk.tell("loading rows", None)
        with spoken("loading the rows"):
            selected = typed.selected(columns, readings)
            con.execute(f"CREATE TABLE {names.quoted(table)} AS SELECT {selected} FROM {relation}")
    except (duckdb.OutOfMemoryException, UnreadableFile):
        raise
    except duckdb.Error as error:
        first = str(error).splitlines()[0].replace(str(source), desk.label)
        raise UnreadableFile(
            f"{desk.label} is a damaged Parquet file ({first[:200]})", next="Write it again."
        ) from error
    with spoken("counting the rows"):
        got = count_rows(con, table)
        if got != rows:
            raise UnreadableFile(f"{desk.label} states {rows:,} rows, but {got:,} arrived", next="Write it again.")
        shown = ", ".join(f"any_value({names.quoted(column)})::VARCHAR" for column in columns)
        first_row = con.execute(f"SELECT {shown} FROM (FROM {relation} LIMIT 1000)").fetchone() or ()
        described = describe(
            con, table, typed.laid_out(columns, labels, readings, [value or "" for value in first_row])
        )
    report = TableReport(
        name=table,
        rows=rows,
        columns=described,
        encoding="Parquet",
        dialect="Parquet",
        header_rows=0,
        repairs=renamed(described),
        assumptions=(*flat, *_said(labels, ways), *(line for reading in readings for line in reading.assumptions)),
        source=desk.label,
        read=ReadChoices(columns={c.name: c.way for c in described if c.way}),
    )
    return (Loaded(report, tuple(doubt for reading in readings for doubt in reading.doubts)),)


def _claimed_rows(con: duckdb.DuckDBPyConnection, source: Path) -> int:
    found = con.execute("SELECT num_rows FROM parquet_file_metadata($1)", [str(source)]).fetchone()
    rows = int(found[0]) if found else 0
    if rows > max(SUSPECT, MAX_ROWS_PER_BYTE * source.stat().st_size):
        raise UnreadableFile(
            f"The file claims {rows:,} rows in {source.stat().st_size:,} bytes, as no ordinary file does",
            next="If it is meant so, save a part of it.",
        )
    return rows


def _fields(con: duckdb.DuckDBPyConnection, source: Path, read: str) -> tuple[list[_Field], list[str]]:
    """The columns to be, and what is said of structs that became several and of decimals that were cut."""
    described: Sequence[tuple[Any, ...]] = con.execute(f"SELECT * FROM {read} LIMIT 0").description
    written = _written_names(con, source)
    labels = written if len(written) == len(described) else [str(column[0]) for column in described]
    fields: list[_Field] = []
    flat: list[str] = []
    for label, (name, kind, *_) in zip(labels, described, strict=True):
        if kind.id == "struct":
            inner = [
                _Field(names.label(f"{label}.{part}"), f"{names.quoted(name)}.{names.quoted(part)}", str(deep), deep.id)
                for part, deep in kind.children
            ]
            fields += inner
            flat.append(f"{label}: its fields became the columns {some([field.label for field in inner], 4)}.")
        else:
            fields.append(_Field(names.label(label), names.quoted(name), str(kind), kind.id))
    wide = con.execute("SELECT name FROM parquet_schema($1) WHERE precision > 38", [str(source)]).fetchall()
    if wide:
        shown = some([str(row[0]) for row in wide])
        flat.append(f"{shown}: decimals of more than 38 digits, read as numbers of about 16 digits.")
    if len(fields) > MAX_COLUMNS:
        raise UnreadableFile(
            f"The file has {len(fields):,} columns; at most {MAX_COLUMNS:,} can be read", next="Leave out columns."
        )
    return fields, flat


def _written_names(con: duckdb.DuckDBPyConnection, source: Path) -> list[str]:
    """The columns as the file names them; the engine renames those that differ only by case."""
    rows = con.execute("SELECT name, num_children FROM parquet_schema($1)", [str(source)]).fetchall()
    found: list[str] = []
    open_levels = [1]
    for name, children in rows:
        if len(open_levels) == 2:
            found.append(str(name))
        open_levels[-1] -= 1
        if children:
            open_levels.append(int(children))
        while open_levels and not open_levels[-1]:
            open_levels.pop()
    return found


def _way(field: _Field) -> _Way:
    sql, kind = field.sql, field.kind
    as_text = _Way(types.VARCHAR, f"{sql}::VARCHAR")
    whole = _Way(types.BIGINT, f"{sql}::BIGINT")
    if kind in _WHOLE:
        return whole
    if kind == "boolean":
        return _Way(types.BOOLEAN, sql)
    if kind == "date":
        return _Way(types.DATE, sql)
    if kind in _PLAIN_TEXT:
        return as_text
    if kind in _TOO_LARGE:
        lost = f"count({sql}) - count(TRY_CAST({sql} AS BIGINT))"
        said = "kept as text, because their whole numbers have too many digits"
        return _Way(whole.type, whole.sql, lost=lost, otherwise=lambda n: _Way(types.VARCHAR, as_text.sql, said))
    if kind == "decimal":
        return _decimal(field)
    if kind == "double":
        return _finite(_Way(types.DOUBLE, sql), sql)
    if kind == "float":
        said = "single-precision numbers, read by the shortest form that means them (0.1, not 0.10000000149)"
        return _finite(_Way(types.DOUBLE, f"{sql}::VARCHAR::DOUBLE", said), sql)
    if kind == "timestamp with time zone":
        return _Way(types.TIMESTAMP, f"make_timestamp(epoch_us({sql}))", "times with a zone, read as UTC")
    if kind == "timestamp_ns":
        lost = f"count(*) FILTER (epoch_ns({sql}) % 1000 <> 0)"
        cut = f"make_timestamp((epoch_ns({sql}) - epoch_ns({sql}) % 1000) // 1000)"
        said = "times finer than a microsecond were cut"
        return _Way(types.TIMESTAMP, cut, lost=lost, otherwise=lambda n: _Way(types.TIMESTAMP, cut, f"{n:,} {said}"))
    if kind.startswith("timestamp"):
        return _Way(types.TIMESTAMP, f"{sql}::TIMESTAMP")
    if kind == "blob":
        lost = f"count({sql}) - count(TRY(decode({sql})))"
        said = "bytes that are no text, kept as \\x.."
        return _Way(
            types.VARCHAR, f"decode({sql})", "bytes, all of them UTF-8, read as text",
            lost, lambda n: _Way(types.VARCHAR, as_text.sql, said),
        )  # fmt: skip
    if kind in _NESTED:
        return _Way(types.VARCHAR, f"to_json({sql})::VARCHAR", "lists and nested values, kept as JSON text")
    return _Way(types.VARCHAR, as_text.sql, f"{field.type}, kept as text")


def _decimal(field: _Field) -> _Way:
    """Whole decimals become BIGINT and others DOUBLE where that is exact for every value, else they stay text."""
    sql = field.sql
    text = _Way(
        types.VARCHAR, f"{sql}::VARCHAR", "kept as text, because as numbers some of their decimals would be rounded"
    )
    if field.type.endswith(",0)"):
        lost = f"count({sql}) - count(TRY_CAST({sql} AS BIGINT))"
        return _Way(types.BIGINT, f"{sql}::BIGINT", lost=lost, otherwise=lambda n: text)
    lost = f"count(*) FILTER (TRY_CAST({sql}::DOUBLE AS {field.type}) IS DISTINCT FROM {sql})"
    said = "decimals, read as numbers that hold every one of them exactly as written"
    return _Way(types.DOUBLE, f"{sql}::DOUBLE", said, lost, lambda n: text)


def _finite(way: _Way, sql: str) -> _Way:
    def without(n: int) -> _Way:
        said = f"{count(n, 'value')} such as NaN and Infinity read as missing"
        both = f"{way.said}; {said}" if way.said else said
        return _Way(way.type, f"CASE WHEN isfinite({sql}) THEN {way.sql} END", both)

    return _Way(way.type, way.sql, way.said, f"count(*) FILTER (NOT isfinite({sql}))", without)


def _settled(con: duckdb.DuckDBPyConnection, read: str, ways: list[_Way]) -> list[_Way]:
    """The ways that lose nothing unsaid, by one scan over the columns that have to be checked."""
    checked = [(n, way) for n, way in enumerate(ways) if way.lost]
    for start in range(0, len(checked), _BATCH):
        part = checked[start : start + _BATCH]
        row = con.execute(f"SELECT {', '.join(way.lost for _, way in part)} FROM {read}").fetchone()
        assert row is not None
        for (n, way), lost in zip(part, row, strict=True):
            if lost and way.otherwise:
                ways[n] = way.otherwise(int(lost))
    return ways


def _said(labels: Sequence[str], ways: Sequence[_Way]) -> Iterator[str]:
    """One sentence for all columns of which the same is said."""
    for said in dict.fromkeys(way.said for way in ways if way.said):
        yield f"{some([label for label, way in zip(labels, ways, strict=True) if way.said == said])}: {said}."
