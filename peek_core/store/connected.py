"""A database behind one connection pool: opened, brought up to date, written in transactions.

Owns: pragmas, migrations, what a failed write becomes. Refuses to know: any table. SQLite runs in WAL mode with
synchronous NORMAL; several processes may share one data directory.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, Row, create_engine, event
from sqlalchemy.exc import IntegrityError, OperationalError

from peek_core.errors import Broken
from peek_core.ports import Clock


def open_engine(url: str) -> Engine:
    """An engine with SQLite's pragmas set on each connection."""
    engine = create_engine(url, connect_args={"timeout": 30} if url.startswith("sqlite") else {})
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _pragmas(connection: Any, _record: Any) -> None:
            for pragma in (
                "journal_mode=WAL",
                "synchronous=NORMAL",
                "busy_timeout=30000",
                "foreign_keys=ON",
                "secure_delete=ON",
            ):
                connection.execute(f"PRAGMA {pragma}")

    return engine


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; safe when several processes start at once."""
    config = Config()
    config.set_main_option("script_location", str(files("peek_core.store").joinpath("migrations")))
    for attempt in range(20):
        try:
            with engine.begin() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            return
        except (OperationalError, IntegrityError):
            if attempt == 19:
                raise
            time.sleep(0.1)


class Connected:
    """Each write is one transaction."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._engine = open_engine(url)
        self._clock = clock
        self.writes = 0
        """Grows after every write of this process: unchanged, what was read a moment ago still stands."""
        migrate(self._engine)

    def close(self) -> None:
        self._engine.dispose()

    @contextlib.contextmanager
    def _write(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
            self.writes += 1
        except OperationalError as failure:
            raise Broken("The data directory can't be written", next="Check free space and permissions.") from failure

    def wipe(self) -> None:
        """Nothing of what was deleted stays readable on disk: pages are overwritten, and the log is emptied.

        Where another process reads just now, the log is emptied by whoever closes last.
        """
        if self._engine.dialect.name == "sqlite":
            with contextlib.suppress(OperationalError), self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def _rows(self, statement: Any) -> Sequence[Row[Any]]:
        with self._engine.connect() as connection:
            return connection.execute(statement).all()
