"""The small pieces every statement of the curated view is built from: identifiers, literals, casts.

Owns: quoting and what a value is as a literal of a column's type. Refuses to know: definitions.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

TYPES = ("BOOLEAN", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR")
"""The types a column can be read as or cast to."""
_NUMBERS = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
}


def numeric(type: str) -> bool:
    """Whether a DuckDB type holds numbers."""
    return type.split("(")[0] in _NUMBERS


def identifier(name: str) -> exp.Identifier:
    """Plain lower snake case stands bare, all else quoted; sqlglot's generator quotes reserved words by itself."""
    plain = name.isidentifier() and name.isascii() and name.islower()
    return exp.to_identifier(name, quoted=not plain)


def column(name: str) -> exp.Column:
    return exp.column(identifier(name))


def raw_table(name: str) -> exp.Table:
    """The table as it was read."""
    return exp.table_(identifier(name), db="main", catalog="raw")


def literals(values: Iterable[str | int | float | bool], type: str) -> list[exp.Expr]:
    """Values as literals that may be compared with a column of the type: DuckDB would read a text column as numbers
    as soon as one number stands in the list."""
    return [exp.convert(as_text(v) if type == "VARCHAR" else v) for v in values]


def as_text(value: str | int | float | bool) -> str:
    """A value as DuckDB writes it in a text column."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def text(value: exp.Expr, type: str) -> exp.Expr:
    """The value as text."""
    return value.copy() if type == "VARCHAR" else exp.cast(value.copy(), "VARCHAR")


def is_odd(value: str) -> bool:
    """Characters that no SQL text can carry: NUL and halves of surrogate pairs."""
    return any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)
