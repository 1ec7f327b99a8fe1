"""How the columns of a sheet become those of a table: by their cells, by what their texts say, or as a person chose.

Owns: which of these decides. Refuses to know what texts look like (`typed`) and cells of other kinds (`sheet_columns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import duckdb

from peek_core.corpus import names
from peek_core.corpus.typed import strings, types
from peek_core.corpus.workbook.sheet_columns import SheetColumn


def sheet_readings(
    con: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[str],
    labels: Sequence[str],
    read: Sequence[SheetColumn],
    chosen: Mapping[str, str],
) -> list[types.Reading]:
    """How every column of `source`, a relation of the cells as text, is read.

    Only columns of text are looked into, and those that a person wants otherwise than their cells are.
    """
    made = [_by_cells(name, column) for name, column in zip(columns, read, strict=True)]
    texts = [n for n, column in enumerate(read) if column.type == types.VARCHAR]
    for n, found in strings.readings(con, source, columns, labels, texts, chosen):
        # What is said of cells that became text is true only where they did.
        said = read[n].assumptions if found.type == types.VARCHAR else ()
        others = dict.fromkeys(way for way in (read[n].way, *read[n].ways, *found.ways) if way != found.way)
        ways = tuple(others) if columns[n] in chosen else found.ways
        made[n] = replace(found, assumptions=(*said, *found.assumptions), ways=ways)
    return made


def _by_cells(name: str, column: SheetColumn) -> types.Reading:
    sql = f"{names.quoted(name)}::{column.type}"
    return types.Reading(column.type, sql, column.assumptions, way=column.way, ways=column.ways)
