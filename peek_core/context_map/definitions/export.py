"""The curated view for use elsewhere: plain SQL, and a dbt project's models.

Owns: the texts, and that no value breaks out of a comment, of Jinja or of YAML. Refuses to know: files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from peek_core.context_map.definitions.building import identifier
from peek_core.context_map.definitions.check import Columns, fits
from peek_core.context_map.definitions.kinds import ORDER_SAID, Definition, in_order
from peek_core.context_map.definitions.view import view
from peek_core.values.canon import clean_text

HEAD = (
    "-- The tables as read are expected as raw.main.<table>; with DuckDB: ATTACH '<file>' AS raw (READ_ONLY)\n"
    f"-- {ORDER_SAID}\n"
)


def curated_tables(tables: Mapping[str, Columns], active: Sequence[Definition]) -> dict[str, tuple[Definition, ...]]:
    """The tables that definitions are about, with those that fit, in the order of application."""
    mine = {t: in_order(d for d in active if d.table == t and fits(d, tables[t])) for t in tables}
    return {t: found for t, found in mine.items() if found}


def plain_sql(tables: Mapping[str, Columns], active: Sequence[Definition]) -> str:
    """CREATE VIEW statements over the raw tables, each under one comment line per definition."""
    made = [HEAD]
    for table, mine in curated_tables(tables, active).items():
        name = exp.table_(identifier(table)).sql("duckdb")
        body = view(table, tables[table], mine).sql("duckdb", pretty=True)
        made.append(_comments(mine) + f"CREATE OR REPLACE VIEW {name} AS\n{body};\n")
    return "\n".join(made)


def dbt_files(source: str, tables: Mapping[str, Columns], active: Sequence[Definition]) -> dict[str, str]:
    """File name -> text: one model per table over `source(source, table)`, and a schema.yml that describes them."""
    shown = curated_tables(tables, active)
    called = re.sub(r"[^a-z0-9_]+", "_", source.lower()).strip("_") or "raw"
    files = {f"{table}.sql": _model(called, table, tables[table], mine) for table, mine in shown.items()}
    described: dict[str, Any] = {
        "version": 2,
        "sources": [{"name": called, "tables": [{"name": t} for t in shown]}],
        "models": [_described(t, mine) for t, mine in shown.items()],
    }
    # JSON is YAML: no library is needed to write it. Characters that YAML takes for line ends are escaped by hand.
    text = json.dumps(described, ensure_ascii=False, indent=2)
    for odd in "\x85\u2028\u2029":
        text = text.replace(odd, f"\\u{ord(odd):04x}")
    return {**files, "schema.yml": text + "\n"}


def _line(d: Definition) -> str:
    """Id, name and rule on one line."""
    return " ".join(clean_text(f"{d.id} {d.name}: {d.rule}").split())


def _comments(mine: Sequence[Definition]) -> str:
    return "".join(f"-- {_line(d)}\n" for d in mine)


def _model(source: str, table: str, columns: Columns, mine: Sequence[Definition]) -> str:
    stand_in = "source_table"
    while stand_in in view(table, columns, mine).sql("duckdb"):
        stand_in += "_"
    body = view(table, columns, mine, exp.table_(exp.to_identifier(stand_in))).sql("duckdb", pretty=True)
    reference = f"{{{{ source({_jinja_text(source)}, {_jinja_text(table)}) }}}}"
    # dbt renders comments too.
    return _no_jinja(_comments(mine)) + _no_jinja(body).replace(stand_in, reference) + "\n"


def _no_jinja(text: str) -> str:
    """The text as Jinja gives it back unchanged: no brace opens anything, and a carriage return stays one."""
    return text.replace("{", "{{ '{' }}").replace("\r", "{{ '\\r' }}")


def _jinja_text(name: str) -> str:
    return "'" + json.dumps(name)[1:-1].replace("'", "\\'") + "'"


def _described(table: str, mine: Sequence[Definition]) -> dict[str, Any]:
    about_rows = [d for d in mine if d.kind == "row_exclusion"]
    columns: dict[str, list[str]] = {}
    for d in mine:
        if d.kind != "row_exclusion":
            columns.setdefault(d.shown, []).append(_line(d))
    made: dict[str, Any] = {
        "name": table,
        "description": _no_jinja(" ".join([ORDER_SAID, *(_line(d) + "." for d in about_rows)])),
    }
    if columns:
        made["columns"] = [{"name": c, "description": _no_jinja("; ".join(said))} for c, said in columns.items()]
    return made
