"""What all runs of a data directory share beside data: statistics by dataset, prices, the day's sums, who collects traces.

Owns: when statistics are read and kept, and the day's sums. Refuses to know: how a request is made.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime

from peek_core.context_pipe.ledger import Day
from peek_core.context_pipe.stats import PipelineStats
from peek_core.keeping import Export, directory_key
from peek_core.ports import Clock, PriceBook
from peek_core.providers.chat_completions import check_url
from peek_core.settings import Settings
from peek_core.store.sql_store import SqlStore
from peek_core.values.canon import canonical_json

COUNTS_KEPT = 20_000
"""Token counts by content hash kept in the process."""


class Meters:
    """Safe from several threads."""

    def __init__(self, settings: Settings, store: SqlStore, clock: Clock, prices: PriceBook) -> None:
        self._store, self._clock, self.prices = store, clock, prices
        self.key = directory_key(settings.data_dir)
        """For hashes of what is not kept; never leaves."""
        self._otlp = None
        if settings.otlp:
            check_url(settings.otlp, "The OpenTelemetry collector's", "Correct OTEL_EXPORTER_OTLP_ENDPOINT.")
            from peek_core.telemetry import Otlp

            self._otlp = Otlp(settings.otlp, self.key)
        self._stats: dict[str, PipelineStats] = {}
        self._lock = threading.Lock()
        self._tokens: dict[str, int] = {}

    @property
    def export(self) -> Export | None:
        """Where call traces go besides the store, counts and keyed hashes only; None where nobody collects them."""
        return self._otlp.export if self._otlp else None

    def close(self) -> None:
        """Send what still waits."""
        if self._otlp:
            self._otlp.close()

    @property
    def tokens(self) -> dict[str, int]:
        """Counts by content hash; begun anew when it has grown too large."""
        if len(self._tokens) > COUNTS_KEPT:
            self._tokens = {}
        return self._tokens

    def stats(self, dataset: str) -> PipelineStats:
        """The dataset's statistics, read from the store once per process."""
        with self._lock:
            if dataset not in self._stats:
                held = self._store.stats(dataset)
                self._stats[dataset] = PipelineStats.of_data(json.loads(held)) if held else PipelineStats()
            return self._stats[dataset]

    def keep(self, dataset: str) -> None:
        """Write the dataset's statistics down."""
        self._store.save_stats(dataset, canonical_json(self.stats(dataset).as_data()))

    def forget(self, dataset: str) -> None:
        with self._lock:
            self._stats.pop(dataset, None)
            self._tokens = {}

    def others_today(self, run: str) -> Callable[[], Day]:
        """What all runs but this one have spent since midnight."""

        def day() -> Day:
            return Day(**self._store.spent_since(self._midnight(), but=run))

        return day

    def unpriced_today(self, free: str) -> int:
        """Requests since midnight whose price nobody knows, but those of an analyst that costs nothing."""
        return self._store.unpriced_since(self._midnight(), free)

    def _midnight(self) -> float:
        now = datetime.fromtimestamp(self._clock())
        return now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
