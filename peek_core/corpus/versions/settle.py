"""A new file becomes the next version of a dataset: known names for what was matched, and the tables it brings nothing for.

Owns: names and tables of the new file, and the report that goes with them. Refuses to know: who agreed, and publishing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import duckdb

from peek_core.corpus import rejects
from peek_core.corpus.keys import suggest_keys
from peek_core.corpus.names import literal, quoted, unique
from peek_core.corpus.versions.cells import OLD
from peek_core.values.dataset import LoadReport, TableReport
from peek_core.values.versions import Proposal


def names_of(
    before: LoadReport, after: LoadReport, agreed: Proposal
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """New table -> its name in the version, and for each new table column -> name.

    What was matched takes the known name; what was not keeps its own, unless that is the known name of something else.
    """
    matched = {t.new: t for t in agreed.tables}
    tables = _named([t.name for t in after.tables], {n: t.old for n, t in matched.items()}, agreed.kept)
    held = {t.name: [c.name for c in t.columns] for t in before.tables}
    columns = {}
    for t in after.tables:
        known = matched[t.name].names if t.name in matched else {}
        # A column that went keeps its name to itself: a new one of that name is another one, unless it was matched.
        gone = set(held[matched[t.name].old]) - set(known.values()) if t.name in matched else set()
        columns[t.name] = _named([c.name for c in t.columns], known, gone)
    return tables, columns


def _named(all_of_them: Iterable[str], known: Mapping[str, str], taken: Iterable[str]) -> dict[str, str]:
    made = dict(known)
    for name in all_of_them:
        if name not in made:
            made[name] = unique((*taken, *made.values(), name))[-1]
    return made


def settle(old: Path, new: Path, before: LoadReport, after: LoadReport, agreed: Proposal) -> LoadReport:
    """Give `new` the known names, in place, and copy into it what is kept of `old`; returns the version's report."""
    tables, columns = names_of(before, after, agreed)
    con = duckdb.connect(str(new), config={"python_enable_replacements": "false", "autoload_known_extensions": "false"})
    try:
        con.execute(f"ATTACH {literal(str(old))} AS {OLD} (READ_ONLY)")
        con.execute("BEGIN")
        _rename(con, tables, columns)
        for name in agreed.kept:
            con.execute(f"CREATE TABLE main.{quoted(name)} AS FROM {OLD}.main.{quoted(name)}")
            if _has(con, OLD, name):
                con.execute(f"CREATE SCHEMA IF NOT EXISTS {rejects.SCHEMA}")
                con.execute(f"CREATE TABLE {_kept_apart(name)} AS FROM {OLD}.{_kept_apart(name)}")
        con.execute("COMMIT")
        con.execute(f"DETACH {OLD}")
        keys = suggest_keys(con, [*tables.values(), *agreed.kept])
        con.execute("CHECKPOINT")
    finally:
        con.close()
    return replace(settled_report(before, after, agreed), keys=keys)


def settled_report(before: LoadReport, after: LoadReport, agreed: Proposal) -> LoadReport:
    """What is said of the version: the new file's tables under their known names, and the tables that are kept."""
    tables, columns = names_of(before, after, agreed)
    kept = [t for t in before.tables if t.name in agreed.kept]
    sources = {t.source for t in kept}

    def named(t: TableReport) -> TableReport:
        names = columns[t.name]
        made = tuple(replace(c, name=names[c.name]) for c in t.columns)
        read = replace(t.read, columns={names.get(c, c): way for c, way in t.read.columns.items()})
        return replace(t, name=tables[t.name], columns=made, read=read)

    doubts = [replace(d, where=_where(d.where, tables, columns)) for d in after.doubts]
    said = tuple(f"{t}: " for t in agreed.kept)
    return LoadReport(
        (*(s for s in before.sources if s.name in sources), *after.sources),
        (*kept, *map(named, after.tables)),
        (*(d for d in before.doubts if said and d.where.startswith(said)), *doubts),
        after.seconds,
        (),
        (
            *(s for s in before.spellings if s.table in agreed.kept),
            *(replace(s, table=tables[s.table], column=columns[s.table][s.column]) for s in after.spellings),
        ),
    )


def _where(where: str, tables: Mapping[str, str], columns: Mapping[str, Mapping[str, str]]) -> str:
    """`table: column` or `column`, under the known names."""
    table, colon, rest = where.partition(": ")
    if colon and table in tables:
        return f"{tables[table]}: {columns[table].get(rest, rest)}"
    return next((names[where] for names in columns.values() if where in names), where)


def _rename(
    con: duckdb.DuckDBPyConnection, tables: Mapping[str, str], columns: Mapping[str, Mapping[str, str]]
) -> None:
    """Over names nobody has, so that two may change places."""
    for table, names in columns.items():
        moved = {a: b for a, b in names.items() if a != b}
        for n, name in enumerate(moved):
            con.execute(f'ALTER TABLE main.{quoted(table)} RENAME {quoted(name)} TO "__peek_{n}"')
        for n, name in enumerate(moved.values()):
            con.execute(f'ALTER TABLE main.{quoted(table)} RENAME "__peek_{n}" TO {quoted(name)}')
    moved = {a: b for a, b in tables.items() if a != b}
    apart = [name for name in moved if _has(con, None, name)]
    for n, name in enumerate(moved):
        con.execute(f'ALTER TABLE main.{quoted(name)} RENAME TO "__peek_{n}"')
        if name in apart:
            con.execute(f'ALTER TABLE {_kept_apart(name)} RENAME TO "__peek_{n}"')
    for n, (name, known) in enumerate(moved.items()):
        con.execute(f'ALTER TABLE main."__peek_{n}" RENAME TO {quoted(known)}')
        if name in apart:
            con.execute(f'ALTER TABLE {rejects.SCHEMA}."__peek_{n}" RENAME TO {quoted(known)}')


def _kept_apart(table: str) -> str:
    return f"{rejects.SCHEMA}.{quoted(table)}"


def _has(con: duckdb.DuckDBPyConnection, where: str | None, table: str) -> bool:
    """Whether rows of a table were kept apart, in an attached file or (None) the file itself."""
    database = "current_database()" if where is None else literal(where)
    found = con.execute(
        f"SELECT count(*) FROM duckdb_tables() WHERE database_name = {database} AND schema_name = $1 AND table_name = $2",
        [rejects.SCHEMA, table],
    ).fetchone()
    return bool(found and found[0])
