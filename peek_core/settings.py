"""Limits and settings, frozen and read once.

Owns: every default number of the product. Refuses to know: where a value is used. Keys are kept in the process and
never written to disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class RunLimits:
    """The one budget ledger of a run; reserved before each call, checked at every host call."""

    turns: int = 30
    model_calls: int = 80
    sql_queries: int = 200
    llm_queries: int = 200
    batch: int = 50
    tokens: int = 1_500_000
    usd: float = 5.0
    """Counted where the price is known; an estimate."""
    wall_s: float = 900.0
    question_chars: int = 20_000


@dataclass(frozen=True)
class DayLimits:
    """Hard stops of one day, over all questions of the data directory."""

    model_calls: int = 5_000
    tokens: int = 50_000_000
    usd: float = 50.0
    wall_s: float = 8 * 3_600.0


@dataclass(frozen=True)
class CellLimits:
    """Limits of one Python cell in the sandbox."""

    code_chars: int = 20_000
    feed_s: float = 10.0
    turn_s: float = 5.0
    memory_bytes: int = 256 * 2**20
    recursion: int = 200
    suspensions: int = 100_000
    output_chars: int = 10_000
    """What the model sees of printed output: head and tail, with the true length."""


@dataclass(frozen=True)
class SqlLimits:
    """Limits of one SQL statement in the worker."""

    text_chars: int = 20_000
    seconds: float = 20.0
    memory_bytes: int = 2 * 2**30
    threads: int = 2
    rows_to_cell: int = 10_000
    bytes_to_cell: int = 5_000_000
    rows_stored: int = 200
    """Rows of a result kept with the run; the export runs the query again, whole."""


@dataclass(frozen=True)
class MapSettings:
    """The dials of a context map."""

    budget: int = 1024
    """Tokens the prose items may take, rendered (o200k)."""
    evolve_steps: int | None = None
    """m: how many teaching runs may change the map; None is unlimited."""
    order: str = "paper"
    grace: int = 3
    """Questions during which a new item is not evicted."""
    freeze_after: int = 3
    """Updates in a row without a change after which the map freezes itself."""
    definition_cap: int = 400
    """Tokens of the definitions block, which stands outside the budget."""
    auto_accept: bool = False
    review: bool = False
    """Whether the agent's edits wait as suggestions until a person takes them."""
    error_patterns: bool = False
    """Whether the agent may use the sixth section of the released code."""
    trajectory_tokens: int = 8_192
    """What the Distiller sees of a run: whole steps from its head and its tail."""


@dataclass(frozen=True)
class EndpointSettings:
    """A model endpoint speaking Chat Completions. The key is never stored, logged or shown."""

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    read_timeout_s: float = 120.0
    retries: int = 2
    max_output_tokens: int = 8_000
    window: int | None = None
    """What the endpoint takes at most, reply included; None: not known, and `budget` stands for it."""
    budget: int = 64_000
    """What a prompt should stay under; low on purpose (cost and attention, not only the window)."""
    cache: str = ""
    """Name of the cache rules the endpoint follows (`peek_core.providers.cache_rules`); empty: by its address."""


@dataclass(frozen=True)
class Settings:
    """All of it. Built by `read`, changed only by `dataclasses.replace`."""

    data_dir: Path
    run: RunLimits = RunLimits()
    day: DayLimits = DayLimits()
    cell: CellLimits = CellLimits()
    sql: SqlLimits = SqlLimits()
    map: MapSettings = MapSettings()
    endpoint: EndpointSettings | None = None
    otlp: str = ""
    """Address of an OpenTelemetry collector; empty: none."""
    jobs: int = 2
    heartbeat_s: float = 2.0
    stale_s: float = 15.0
    keep_text_days: int = 30
    configuration: str = "default"
    """How requests are assembled: flat, paper or default."""
    shadow: str | None = "flat"
    """The configuration every request is also planned in, for comparison; None: no other."""
    server_paths: bool = True
    """Whether a path on the server may be loaded (only while bound to loopback)."""


def read(environ: Mapping[str, str] | None = None, data_dir: Path | None = None) -> Settings:
    """Settings from the environment: PEEK_DATA_DIR, PEEK_BASE_URL, PEEK_MODEL, PEEK_API_KEY, OTEL_EXPORTER_OTLP_ENDPOINT."""
    env = os.environ if environ is None else environ
    place = data_dir or Path(env.get("PEEK_DATA_DIR") or platformdirs.user_data_path("peek"))
    otlp = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    settings = Settings(data_dir=place.expanduser().resolve(), otlp=otlp)
    if env.get("PEEK_BASE_URL") and env.get("PEEK_MODEL"):
        endpoint = EndpointSettings(env["PEEK_BASE_URL"], env["PEEK_MODEL"], env.get("PEEK_API_KEY", ""))
        settings = replace(settings, endpoint=endpoint)
    return settings
