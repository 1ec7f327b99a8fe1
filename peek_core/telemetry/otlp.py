"""Call traces to an OpenTelemetry collector (OTLP over HTTP), in the background.

Owns: the queue, its bounds, and ending in time. Refuses to know: what a span may hold, and where the endpoint and the key
come from: the workspace takes them from settings (OTEL_EXPORTER_OTLP_ENDPOINT), and checks the address by the rule for
model endpoints (https, or http on this machine) before this is made.

Nothing here may harm a run. A collector that is down, slow or wrong costs the spans and a line in the log of the
opentelemetry package; redirects are not followed. OTEL_EXPORTER_OTLP_HEADERS and the certificate variables work as the
package documents them.
"""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

from peek_core.telemetry.attributes import attributes
from peek_core.values.call_trace import CallTrace

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
PATH = "/v1/traces"
QUEUE = 1024
"""Spans kept while the collector doesn't answer; then the oldest is dropped for each new one."""
BATCH = 256
DELAY_MS = 2_000
SEND_S = 3.0
"""Seconds for one batch, its retries included."""
CLOSE_S = 2.0
"""Seconds `close` waits for what is queued."""
MIN_KEY = 16


class Otlp:
    """Sends each call trace as one span. Safe from any thread."""

    def __init__(self, endpoint: str, key: bytes) -> None:
        """`endpoint` is the collector's base address; /v1/traces is added if it isn't there.

        `key` is the data directory's random key, at least 16 bytes, for keyed hashes; it never leaves. Raises ValueError
        for a shorter one.
        """
        if len(key) < MIN_KEY:
            raise ValueError(f"the key for hashes must have at least {MIN_KEY} bytes")
        # A second of imports that only those pay who set an endpoint.
        import requests
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        self._key = key
        session = requests.Session()
        # What goes to this machine must not take the way through a proxy.
        session.trust_env = urlsplit(endpoint).hostname not in LOOPBACK
        base = endpoint.rstrip("/")
        exporter = OTLPSpanExporter(
            endpoint=base if base.endswith(PATH) else base + PATH, timeout=SEND_S, session=session
        )
        # A resource of our own: the detected one tells host, process and command line. Ending is ours too: at exit the
        # package would wait up to half a minute.
        self._spans = TracerProvider(
            resource=Resource({"service.name": "peek"}), sampler=ALWAYS_ON, shutdown_on_exit=False
        )
        self._spans.add_span_processor(
            BatchSpanProcessor(
                exporter, max_queue_size=QUEUE, schedule_delay_millis=DELAY_MS, max_export_batch_size=BATCH
            )
        )
        self._tracer = self._spans.get_tracer("peek")
        self._lock = threading.Lock()
        self._closed = False

    def export(self, trace: CallTrace) -> None:
        """Queue the trace as a span from `at` to `at` plus its seconds. Returns at once, and never raises."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, Status, StatusCode

        if self._closed:
            return
        try:
            seconds = trace.analyze.seconds if trace.analyze is not None else 0.0
            span = self._tracer.start_span(
                f"chat {trace.explain.model}",
                context=Context(),  # a root of its own, whatever else in this process is traced
                kind=SpanKind.CLIENT,
                attributes=attributes(trace, self._key),
                start_time=_nanoseconds(trace.at),
            )
            if trace.analyze is None:
                span.set_status(Status(StatusCode.ERROR))
            span.end(end_time=_nanoseconds(trace.at + seconds))
        except Exception:
            # A span lost is a span lost; the run it speaks of goes on.
            return

    def close(self) -> None:
        """Send what is queued, for at most two seconds; what isn't sent by then is dropped. Further calls do nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        ending = threading.Thread(target=self._spans.shutdown, name="otlp-close", daemon=True)
        ending.start()
        ending.join(CLOSE_S)


def _nanoseconds(at: float) -> int:
    """Whole microseconds: finer digits of seconds since the epoch are noise of the float."""
    return round(at * 1e6) * 1_000
