"""Cells that a reader has at hand, on their way into DuckDB as a relation of text.

Owns: the file in between, and that a missing cell stays apart from an empty text. Refuses to know types and where the
cells come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from peek_core.corpus.names import literal, quoted
from peek_core.errors import UnreadableFile

_MARK = "peek_mark_"
_LINE = 2_000_000


class CellFile:
    """Rows of text cells, written inside a `with` block. Cells that early rows lack count as missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8", newline="")
        self._longest = 0
        self.rows = 0

    def write(self, cells: Iterable[str | None]) -> None:
        """Adds a row; None is a missing cell. Raises `OSError` where the disk is full."""
        # What is missing has no quotes. The mark at the front keeps a row of missing cells from being a blank line.
        line = '"",' + ",".join(["" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in cells]) + "\n"
        self._longest = max(self._longest, len(line))
        self._file.write(line)
        self.rows += 1

    def __enter__(self) -> CellFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def relation(self, columns: Sequence[str]) -> str:
        """The table function that reads the rows back, every column as text; to be used after the `with` block."""
        struct = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in (_MARK, *columns))
        longest = max(_LINE, 4 * self._longest)  # in bytes
        read = (
            f"read_csv({literal(str(self._path))}, auto_detect=false, delim=',', quote='\"', escape='\"', "
            f"new_line='\\n', comment='', header=false, nullstr='', allow_quoted_nulls=false, null_padding=true, "
            f"parallel=false, max_line_size={longest}, columns={{{struct}}})"
        )
        return f"(SELECT {', '.join(map(quoted, columns))} FROM {read})"


def count_rows(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Rows that stand in a table."""
    got = con.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()
    assert got is not None
    return int(got[0])


def create_table(con: duckdb.DuckDBPyConnection, table: str, selected: str, relation: str, rows: int) -> None:
    """Makes `table` by a SELECT list from `relation`, and checks that `rows` rows arrived.

    Raises `UnreadableFile` where another number arrived and `duckdb.Error` where a value does not fit its type.
    """
    con.execute(f"CREATE TABLE {quoted(table)} AS SELECT {selected} FROM {relation}")
    got = count_rows(con, table)
    if got != rows:
        raise UnreadableFile(
            f"{rows:,} rows were read, but {got:,} arrived",
            next="Save the table as CSV and load that.",
        )
