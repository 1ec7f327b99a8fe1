"""OTLP export: named counts and keyed hashes arrive, contents never do, and a collector can't harm a run."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from peek_core.telemetry import Otlp, names
from peek_core.telemetry.attributes import attributes, keyed
from peek_core.values.call_trace import CallTrace
from peek_core.values.messages import Usage
from tests.telemetry.conftest import CANARY, Collector

KEY = b"key-canary-0123456789abcdef"
Make = Callable[..., CallTrace]


def said(span: Span) -> dict[str, Any]:
    """Attributes of a span as Python values."""
    found: dict[str, Any] = {}
    for a in span.attributes:
        kind = a.value.WhichOneof("value")
        value = getattr(a.value, kind)
        found[a.key] = [v.string_value for v in value.values] if kind == "array_value" else value
    return found


def sent(collector: Collector, trace: CallTrace) -> Span:
    otlp = Otlp(collector.url, KEY)
    otlp.export(trace)
    otlp.close()
    (span,) = collector.spans()
    return span


def test_a_call_arrives_under_its_names(collector: Collector, make_trace: Make) -> None:
    trace = make_trace()
    span = sent(collector, trace)
    assert collector.paths == ["/v1/traces"]
    assert (span.name, span.kind, span.parent_span_id) == ("chat gpt-6.1-sol", Span.SPAN_KIND_CLIENT, b"")
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (
        1_796_000_000_250_000_000,
        1_796_000_001_750_000_000,
    )
    assert said(span) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "chat completions",
        "gen_ai.request.model": "gpt-6.1-sol",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 1030,
        "gen_ai.usage.output_tokens": 55,
        "gen_ai.usage.cache_read.input_tokens": 640,
        "gen_ai.usage.cache_write.input_tokens": 128,
        "gen_ai.usage.reasoning.output_tokens": 21,
        "gen_ai.conversation.id": hmac.new(KEY, b"run\0" + trace.run.encode(), hashlib.sha256).hexdigest()[:32],
        "peek.call": keyed(KEY, "call", trace.id),
        "peek.source": "step",
        "peek.configuration": "structured",
        "peek.level": "none",
        "peek.pressure": 0.25,
        "peek.predicted_cached": 640,
        "peek.estimate": 1000,
        "peek.decisions.applied": 1,
        "peek.retries": 1,
        "peek.failed": False,
    }


def test_a_failed_call_says_that_it_failed_and_not_how(collector: Collector, make_trace: Make) -> None:
    span = sent(collector, make_trace(failed=True))
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "")
    assert not span.events and span.start_time_unix_nano == span.end_time_unix_nano
    found = said(span)
    assert found["peek.failed"] is True and found["error.type"] == "_OTHER"
    assert names.INPUT_TOKENS not in found and names.RETRIES not in found


def test_nothing_that_could_be_content_leaves(
    collector: Collector, make_trace: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    otlp = Otlp(collector.url, KEY)
    for trace in (make_trace(), make_trace(failed=True), make_trace(finish=CANARY)):
        otlp.export(trace)
    otlp.close()
    assert len(collector.spans()) == 3
    everything = b"".join(collector.bodies) + "".join(collector.headers).encode()
    for secret in (CANARY.encode(), KEY, hashlib.sha256(CANARY.encode()).hexdigest().encode()):
        assert secret not in everything and secret.decode() not in caplog.text
    assert said(collector.spans()[2])["gen_ai.response.finish_reasons"] == ["other"]
    for private in (socket.gethostname(), sys.executable, "process."):
        assert private.encode() not in b"".join(collector.bodies)


def test_what_the_provider_did_not_say_is_left_out(make_trace: Make) -> None:
    found = attributes(make_trace(usage=Usage(input=0, output=5)), KEY)
    assert found[names.INPUT_TOKENS] == 0 and names.CACHE_READ not in found and names.REASONING not in found


def test_every_name_stands_in_one_module(make_trace: Make) -> None:
    listed = {value for name, value in vars(names).items() if name.isupper()}
    assert set(attributes(make_trace(), KEY)) | set(attributes(make_trace(failed=True), KEY)) <= listed
    assert all(re.fullmatch(r"(gen_ai|peek|error)(\.[a-z_]+)+", name) for name in listed)


def test_hashes_depend_on_key_and_kind() -> None:
    assert len({keyed(KEY, "run", "a"), keyed(KEY, "call", "a"), keyed(KEY + b"x", "run", "a")}) == 3


@pytest.mark.parametrize("tail", ["/", "/v1/traces", "/v1/traces/"])
def test_the_path_is_added_once(collector: Collector, make_trace: Make, tail: str) -> None:
    otlp = Otlp(collector.url + tail, KEY)
    otlp.export(make_trace())
    otlp.close()
    assert collector.paths == ["/v1/traces"]


def test_a_proxy_of_the_environment_is_not_used_on_this_machine(
    collector: Collector, make_trace: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert sent(collector, make_trace()).name == "chat gpt-6.1-sol"


def test_spans_go_out_while_the_run_goes_on(collector: Collector, make_trace: Make) -> None:
    otlp = Otlp(collector.url, KEY)
    otlp.export(make_trace())
    until = time.monotonic() + 10
    while not collector.bodies and time.monotonic() < until:
        time.sleep(0.05)
    assert len(collector.spans()) == 1
    otlp.close()


def test_a_collector_that_is_down_costs_nothing(make_trace: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    otlp = Otlp(f"http://127.0.0.1:{port}", KEY)
    started = time.monotonic()
    for _ in range(3_000):  # more than the queue holds
        otlp.export(make_trace())
    assert time.monotonic() - started < 10
    started = time.monotonic()
    otlp.close()
    assert time.monotonic() - started < 4


def test_a_collector_that_never_answers_does_not_hold_the_end_up(collector: Collector, make_trace: Make) -> None:
    collector.hold.set()
    otlp = Otlp(collector.url, KEY)
    otlp.export(make_trace())
    started = time.monotonic()
    otlp.close()
    otlp.close()
    otlp.export(make_trace())
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("status", [302, 400, 500, 503])
def test_a_collector_that_refuses_raises_nothing(collector: Collector, make_trace: Make, status: int) -> None:
    collector.status = status
    otlp = Otlp(collector.url, KEY)
    otlp.export(make_trace())
    otlp.close()
    assert collector.bodies


def test_a_trace_that_can_not_be_told_is_dropped(collector: Collector) -> None:
    otlp = Otlp(collector.url, KEY)
    otlp.export(None)  # type: ignore[arg-type]
    otlp.close()
    assert collector.bodies == []


def test_many_threads_may_export(collector: Collector, make_trace: Make) -> None:
    otlp = Otlp(collector.url, KEY)
    threads = [threading.Thread(target=lambda: [otlp.export(make_trace()) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    otlp.close()
    assert len(collector.spans()) == 80


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Otlp("http://127.0.0.1:4318", b"short")


def test_the_exporter_is_imported_only_where_an_endpoint_is_set() -> None:
    code = "import sys, peek_core.telemetry; print([m for m in ('opentelemetry.sdk', 'requests') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
