"""Listening and sending: one thread a request, JSON bodies, server-sent events, and every way of getting them wrong.

Owns: sockets, the HTTP handler, the chunks. Refuses to know: why a request gets what it gets. Every response closes its
connection, so that one request is one thread. Nothing is logged anywhere but in the simulator's own record.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from peek_core.providers.simulator import faults
from peek_core.providers.simulator.faults import Fault

CHUNK = 40
"""Characters of text per chunk."""
BROKEN = '{"choices": [{"delta": {"cont'


@dataclass(frozen=True)
class Whole:
    """A response with its length known: an error, a page, a list of models."""

    status: int
    body: str
    content_type: str = "application/json"
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Reply:
    """A model's reply. `usage` None: nothing is said of tokens."""

    text: str
    finish: str
    model: str
    id: str
    usage: Mapping[str, Any] | None
    stream: bool
    include_usage: bool
    fault: Fault | None = None
    begun: Callable[[], None] = lambda: None
    """Called before the first byte goes out."""

    @property
    def status(self) -> int:
        """An error event is a 500 where nothing streams."""
        return 500 if isinstance(self.fault, faults.ErrorEvent) and not self.stream else 200


@dataclass(frozen=True)
class Silence:
    """Nothing until the simulator closes; `headers` first, if so ordered."""

    headers: bool


Outcome = Whole | Reply | Silence
Answer = Callable[[str, Mapping[str, str], bytes], Outcome]
Wait = Callable[[float | None], None]
"""Wait so many seconds, or for ever; returns at once when the simulator closes."""


def handler(answer: Answer, models: Callable[[], Whole], wait: Wait) -> type[BaseHTTPRequestHandler]:
    """The class of one request's handler."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "simulator"
        sys_version = ""

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            self._send(models() if self.path.endswith("/models") else Whole(404, error("Not found", code="not_found")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self._send(answer(self.path, {k.lower(): v for k, v in self.headers.items()}, body))

        def _send(self, outcome: Outcome) -> None:
            self.close_connection = True
            try:
                if isinstance(outcome, Whole):
                    self._whole(outcome)
                elif isinstance(outcome, Silence):
                    if outcome.headers:
                        self._begin()
                    wait(None)
                else:
                    self._reply(outcome)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client left

        def _reply(self, reply: Reply) -> None:
            fault = reply.fault
            if isinstance(fault, faults.SlowFirstByte):
                wait(fault.seconds)
            reply.begun()
            if reply.stream:
                self._stream(reply)
            elif isinstance(fault, faults.Cut):
                self._half(completion(reply), fault)
            elif isinstance(fault, faults.ErrorEvent):
                self._whole(Whole(reply.status, error(fault.message, type="server_error")))
            else:
                self._whole(Whole(200, completion(reply)))

        def _stream(self, reply: Reply) -> None:
            fault = reply.fault
            self._begin()
            self._say(chunk(reply, {"role": "assistant", "content": ""}))
            for at in range(0, max(1, len(reply.text)), CHUNK):
                if isinstance(fault, faults.SlowChunks):
                    wait(fault.seconds)
                said = chunk(reply, {"content": reply.text[at : at + CHUNK]})
                for _ in range(2 if isinstance(fault, faults.DuplicateChunks) else 1):
                    self._say(said)
                if isinstance(fault, faults.Cut | faults.ErrorEvent):
                    self._break_off(fault)
                    return
            self._say(chunk(reply, {}, reply.finish))
            if reply.include_usage and reply.usage is not None:
                self._say({**chunk(reply, {}), "choices": [], "usage": reply.usage})
            self._raw("data: [DONE]\n\n")
            self._raw("")

        def _break_off(self, fault: faults.Cut | faults.ErrorEvent) -> None:
            if isinstance(fault, faults.ErrorEvent):
                self._say({"error": {"message": fault.message, "type": "server_error"}})
                self._raw("")
            elif fault.how == "politely":
                self._raw("")
            elif fault.how == "silently":
                wait(None)

        def _half(self, body: str, fault: faults.Cut) -> None:
            """A body shorter than its length says."""
            data = body.encode()
            self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(data))})
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            if fault.how == "silently":
                wait(None)

        def _whole(self, whole: Whole) -> None:
            data = whole.body.encode()
            given = {"Content-Type": whole.content_type, "Content-Length": str(len(data)), **(whole.headers or {})}
            self._head(whole.status, given)
            self.wfile.write(data)

        def _begin(self) -> None:
            self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
            self.wfile.flush()

        def _head(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()

        def _say(self, event: Mapping[str, Any]) -> None:
            self._raw(f"data: {json.dumps(event, ensure_ascii=False)}\n\n")

        def _raw(self, text: str) -> None:
            """One piece of a chunked body; an empty one ends it."""
            data = text.encode("utf-8", "replace")
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    return Handler


class Listener(ThreadingHTTPServer):
    """A socket on 127.0.0.1 that knows its open connections, so that closing it leaves no thread behind."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet: a client that left is no error here."""

    def hang_up(self) -> None:
        """End every connection, whatever it waits for."""
        with self._guard:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def error(
    message: str, *, type: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> str:
    """The body of an error."""
    return json.dumps({"error": {"message": message, "type": type, "param": param, "code": code}})


def chunk(reply: Reply, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": reply.id, "object": "chat.completion.chunk", "created": 1, "model": reply.model, "choices": [choice]}


def completion(reply: Reply) -> str:
    """The body of a reply that does not stream."""
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    said = {"id": reply.id, "object": "chat.completion", "created": 1, "model": reply.model, "choices": [choice]}
    return json.dumps(said if reply.usage is None else {**said, "usage": reply.usage})
