"""The store's tables. Append-only where a table is history.

Owns: names and columns. Refuses to know: who writes them. `forget` empties every table with a `dataset` column.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

datasets = Table(
    "dataset",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("title", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("version", Integer, nullable=False),
    Column("as_of", String(10)),
    Column("options", Text, nullable=False),
)

versions = Table(
    "dataset_version",
    metadata,
    Column("dataset", String(40), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("file", Text, nullable=False),
    Column("originals", Text, nullable=False),
    Column("report", Text, nullable=False),
)

profiles = Table(
    "profile",
    metadata,
    Column("dataset", String(40), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("view", String(80), primary_key=True),
    Column("body", Text, nullable=False),
)

impacts = Table(
    "impact",
    metadata,
    Column("dataset", String(40), primary_key=True),
    Column("before", Integer, primary_key=True),
    Column("after", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

runs = Table(
    "run",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("dataset", String(40), nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("arm", String(40), nullable=False),
    Column("map_version", Integer),
    Column("question", Text, nullable=False),
    Column("analyst", Text, nullable=False),
    Column("status", String(20), nullable=False),
    Column("phase", String(10), nullable=False),
    Column("reason", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("ended", Float),
    Column("owner", String(80), nullable=False),
    Column("heartbeat", Float, nullable=False),
    Column("cancel", Integer, nullable=False),
    Column("patient", Integer, nullable=False),
    Column("trajectory", Text),
    Column("summary", Text),
    Column("feedback", String(10)),
)

events = Table(
    "event",
    metadata,
    Column("run", String(40), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("dataset", String(40), nullable=False, index=True),
    Column("name", String(20), nullable=False),
    Column("at", Float, nullable=False),
    Column("body", Text, nullable=False),
)

calls = Table(
    "call",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("run", String(40), nullable=False, index=True),
    Column("dataset", String(40), nullable=False, index=True),
    Column("n", Integer, nullable=False),
    Column("at", Float, nullable=False),
    Column("trace", Text, nullable=False),
    Column("reply", String(80)),
    Column("tokens", Integer, nullable=False, server_default="0"),
    Column("usd", Float),
    Column("source", String(20), nullable=False, server_default=""),
)

statistics = Table(
    "statistics",
    metadata,
    Column("dataset", String(40), primary_key=True),
    Column("body", Text, nullable=False),
)

bodies = Table(
    "body",
    metadata,
    Column("dataset", String(40), primary_key=True),
    Column("hash", String(80), primary_key=True),
    Column("at", Float, nullable=False),
    Column("text", Text, nullable=False),
)

maps = Table(
    "map_version",
    metadata,
    Column("dataset", String(40), primary_key=True),
    Column("arm", String(40), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("run", String(40), nullable=False),
    Column("author", String(10), nullable=False),
    Column("body", Text, nullable=False),
)

map_events = Table(
    "map_event",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset", String(40), nullable=False),
    Column("arm", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("at", Float, nullable=False),
    Column("run", String(40), nullable=False),
    Column("author", String(10), nullable=False),
    Column("name", String(20), nullable=False),
    Column("item", String(40), nullable=False),
    Column("body", Text, nullable=False),
)

Index("map_event_of", map_events.c.dataset, map_events.c.arm, map_events.c.number)
Index("call_at", calls.c.at)
# Sums of a dataset are read from here alone: a row holds a whole trace.
Index("call_sums", calls.c.dataset, calls.c.run, calls.c.source, calls.c.tokens, calls.c.usd)
Index("run_waiting", runs.c.phase, runs.c.created)
