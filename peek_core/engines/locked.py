"""The locked DuckDB connection the agent's SQL runs on.

Owns: the exact order of opening and locking (notes C1, C2). Refuses to know: statements, messages, processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

CORPUS = "raw"
VIEWS = "cur"
SCRATCH = "scratch"


@dataclass(frozen=True)
class Limits:
    """What a worker may use: bytes, threads, and seconds as DuckDB's own backstop to the parent's timer."""

    memory_bytes: int
    threads: int
    seconds: float


def _config(limits: Limits) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "threads": limits.threads,
        "memory_limit": f"{limits.memory_bytes // 2**20} MiB",
        # A temp directory would be readable and writable by COPY even with external access off.
        "temp_directory": "",
        # Set here and not by SET: a plain SET is not inherited by cursor().
        "max_execution_time": int(limits.seconds * 1000),
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "allow_unredacted_secrets": False,
    }


def open_locked(
    corpus: Path, view: Path | None, limits: Limits
) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]:
    """(connection, cursor): the dataset read-only as `raw`, views read-only as `cur`, scratch in memory, all locked.

    The order matters: nothing can be attached after external access is off, and the file system can't be disabled
    before. Raises duckdb.Error when a file can't be opened.
    """
    connection = duckdb.connect(":memory:", config=_config(limits))
    _attach(connection, corpus, CORPUS)
    if view is not None:
        _attach(connection, view, VIEWS)
    connection.execute(f"CREATE SCHEMA memory.{SCRATCH}")
    connection.execute("SET GLOBAL TimeZone='UTC'")
    cursor = connection.cursor()
    # Per cursor and before the lock; 'no_output' measures without printing a tree after every statement.
    cursor.execute("SET enable_profiling='no_output'")
    connection.execute("SET GLOBAL enable_external_access=false")
    connection.execute("SET GLOBAL disabled_filesystems='LocalFileSystem'")
    connection.execute("SET GLOBAL lock_configuration=true")
    first = VIEWS if view is not None else CORPUS
    cursor.execute(f"SET search_path='{first}.main,memory.{SCRATCH}'")
    return connection, cursor


def _attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    quoted = str(path).replace("'", "''")
    connection.execute(f"ATTACH '{quoted}' AS {name} (READ_ONLY)")


def restrict_address_space(memory_bytes: int) -> None:
    """Bound the process's address space (Linux only): bombs past DuckDB's own limit then fail instead of growing."""
    try:
        import resource
    except ImportError:
        return
    import sys

    if not sys.platform.startswith("linux"):
        return
    most = 2 * memory_bytes + 1536 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limits_from(message: Mapping[str, Any]) -> Limits:
    """Limits out of the worker's first message."""
    return Limits(int(message["memory_bytes"]), int(message["threads"]), float(message["seconds"]))
