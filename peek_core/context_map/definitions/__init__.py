"""Definitions: rules about the data, proposed as data and compiled into the dataset's curated view.

Never free SQL: a definition is a kind, a table, a column and values, a mapping or an expression of a small language;
sqlglot builds every statement. Order of application: `kinds.ORDER`.
"""

from peek_core.context_map.definitions.check import conflict, fits, from_data, needed_by, used_by
from peek_core.context_map.definitions.effects import effect_sql, measure, samples_sql, touched_sql
from peek_core.context_map.definitions.kinds import (
    ADDED,
    ORDER,
    ORDER_SAID,
    Definition,
    DefinitionKind,
    DefinitionState,
    Line,
    Scalar,
    in_order,
    lines,
)
from peek_core.context_map.definitions.view import view_sql

__all__ = [
    "ADDED",
    "ORDER",
    "ORDER_SAID",
    "Definition",
    "DefinitionKind",
    "DefinitionState",
    "Line",
    "Scalar",
    "conflict",
    "effect_sql",
    "fits",
    "from_data",
    "in_order",
    "lines",
    "measure",
    "needed_by",
    "samples_sql",
    "touched_sql",
    "used_by",
    "view_sql",
]
