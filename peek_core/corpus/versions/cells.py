"""Cells of two exports in a form in which they can be compared.

Owns: the SQL of that form and the kinds of type. Refuses to know: why somebody compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from peek_core.corpus.names import literal, quoted

OLD, NEW = "before", "after"
"""Names the two files are attached under."""
EXACT_DIGITS = 15
"""What spreadsheets keep of a number."""
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("DATE", "TIMESTAMP", "TIME")


@contextmanager
def both(old: Path, new: Path, spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reads both files, and nothing else."""
    con = duckdb.connect(
        config={
            "temp_directory": str(spill),
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    try:
        for name, path in ((OLD, old), (NEW, new)):
            con.execute(f"ATTACH {literal(str(path))} AS {name} (READ_ONLY)")
        con.execute("SET enable_external_access=false")
        yield con
    finally:
        con.close()


def columns_of(con: duckdb.DuckDBPyConnection, where: str, table: str) -> dict[str, str]:
    """Column -> type, in the order of the table."""
    rows = con.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = $1 AND schema_name = 'main' "
        "AND table_name = $2 ORDER BY column_index",
        [where, table],
    ).fetchall()
    return {str(name): str(kind) for name, kind in rows}


def relation(where: str, table: str) -> str:
    return f"{where}.main.{quoted(table)}"


def kind_of(type: str) -> str:
    """number, time, truth or text."""
    base = type.split("(")[0].split(" ")[0]
    return "number" if base in _NUMBERS else "time" if base in _TIMES else "truth" if base == "BOOLEAN" else "text"


def comparable(column: str, type: str) -> str:
    """SQL: the cell as text that says the same for the same value, however it is typed.

    Numbers to ten significant digits; long whole numbers to the digits a spreadsheet keeps; texts without case and
    outer blanks, or as the number they spell.
    """
    kind = kind_of(type)
    if kind == "number":
        return f"CASE WHEN {column} IS NOT NULL THEN {_number(column, type)} END"
    if kind == "time":
        return f"{column}::VARCHAR" if type == "TIME" else f"strftime({column}::TIMESTAMP, '%Y-%m-%d %H:%M:%S')"
    if kind == "truth":
        return f"{column}::VARCHAR"
    text = f"lower(trim({column}::VARCHAR))"
    return f"coalesce(printf('%.10g', TRY_CAST({text} AS DOUBLE)), nullif({text}, ''))"


def digits(column: str) -> str:
    """SQL: what a spreadsheet keeps of a long whole number."""
    return f"left(abs({column}::HUGEINT)::VARCHAR, {EXACT_DIGITS})"


def _number(column: str, type: str) -> str:
    if type in ("BIGINT", "HUGEINT", "UBIGINT"):
        long = f"abs({column}::HUGEINT) >= 10::HUGEINT ** {EXACT_DIGITS}"
        return f"CASE WHEN {long} THEN {digits(column)} ELSE {column}::VARCHAR END"
    return f"printf('%.10g', {column}::DOUBLE)"
