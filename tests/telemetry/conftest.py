"""A collector on this machine that keeps what it is sent, and traces full of what must not leave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from peek_core.values.call_trace import Analyze, CallTrace, Decision, Explain, SectionTrace
from peek_core.values.messages import Usage

CANARY = "canary-cell-text-4711"


class Collector:
    """What arrived, raw; `hold` makes it accept and never answer."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[str] = []
        self.paths: list[str] = []
        self.hold = threading.Event()
        self.released = threading.Event()
        self.status = 200
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                collector.headers.append(str(self.headers))
                collector.paths.append(self.path)
                if collector.hold.is_set():
                    collector.released.wait(20)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def spans(self) -> list[Span]:
        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    made = Collector()
    yield made
    made.stop()


@pytest.fixture
def make_trace() -> Callable[..., CallTrace]:
    def make(failed: bool = False, finish: str = "stop", usage: Usage | None = None) -> CallTrace:
        section = SectionTrace(
            name=CANARY, kind="observation", role="user", scope="none", tier="per_turn", priority="normal", planned=900,
            bound=1000, sent=1000, hash=f"sha256:{CANARY}",
        )  # fmt: skip
        explain = Explain(
            sections=(section,),
            decisions=(
                Decision("clear", True, CANARY, 1200, 1000),
                Decision("spill", False, CANARY, 1000, 1000),
            ),
            configuration="structured", counter="o200k", limit=64_000, reserve=800, pressure_raw=0.1,
            pressure_predicted=0.25, level="none", provider="chat completions", model="gpt-6.1-sol", serializer="1",
            predicted_cached=640,
        )  # fmt: skip
        analyze = Analyze(
            usage=usage or Usage(1030, 640, 128, 55, 21), seconds=1.5, first_byte_s=0.2, finish=finish, retries=1,
            raw_usage={CANARY: CANARY},
        )  # fmt: skip
        return CallTrace(
            id=f"call-{CANARY}", run=f"run-{CANARY}", source="step", n=3, explain=explain,
            analyze=None if failed else analyze, error=f"refused: {CANARY}" if failed else None,
            wire_hash=f"sha256:{CANARY}", wire_bytes=4000, at=1_796_000_000.25,
        )  # fmt: skip

    return make
