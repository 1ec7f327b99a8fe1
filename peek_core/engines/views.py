"""The view file: a small second DuckDB file that holds only views over the dataset.

Owns: writing it whole or not at all. Refuses to know: what the views mean. A view's text names the dataset as `raw`,
which is what a worker attaches it as.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import duckdb

from peek_core.engines import gate
from peek_core.engines.locked import CORPUS
from peek_core.engines.scrub import Scrubber
from peek_core.errors import QueryFailed


def write_view_file(corpus: Path, target: Path, views: Mapping[str, str]) -> None:
    """Write `target` with one view per entry: name -> SELECT text over `raw.main.<table>`, in the order given.

    The file appears under its name only when every view could be bound to the dataset. Raises QueryFailed naming the
    view that could not.
    """
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        _build(part, corpus, views)
        os.replace(part, target)
    except duckdb.Error as error:
        raise QueryFailed(Scrubber([corpus, target, part]).error(str(error)), where="view file") from None
    finally:
        for leftover in (part, part.with_name(part.name + ".wal")):
            with contextlib.suppress(OSError):
                leftover.unlink()


def _build(part: Path, corpus: Path, views: Mapping[str, str]) -> None:
    config: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": "",
    }
    connection = duckdb.connect(str(part), config=config)
    try:
        quoted = str(corpus).replace("'", "''")
        connection.execute(f"ATTACH '{quoted}' AS {CORPUS} (READ_ONLY)")
        # Binding a view reads what it names: without this a view over read_csv() would read files here.
        connection.execute("SET GLOBAL enable_external_access=false")
        connection.execute("SET GLOBAL lock_configuration=true")
        for name, text in views.items():
            _create(connection, name, text, Scrubber([corpus, part]))
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


def _create(connection: duckdb.DuckDBPyConnection, name: str, text: str, scrub: Scrubber) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    try:
        statements = connection.extract_statements(text)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise QueryFailed("A view must be exactly one SELECT", where=name)
        body = gate.body(statements[0].query)
        connection.execute(f"CREATE VIEW main.{quoted} AS (\n{body}\n)")
    except (duckdb.Error, ValueError) as error:
        raise QueryFailed(scrub.error(str(error)), where=f"view {name}") from None
