"""A model endpoint on loopback that speaks Chat Completions and fails on demand. Knows nothing of the product.

    with FaultServer(["first reply", Status(429, retry_after=1), "second reply"], key="secret", model="m") as server:
        server.base_url, server.requests

Every request takes the next entry of the script: a text is streamed as a reply with usage, anything else is a fault.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

USAGE: Mapping[str, Any] = {
    "prompt_tokens": 120,
    "completion_tokens": 30,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 80},
    "completion_tokens_details": {"reasoning_tokens": 7},
}


@dataclass(frozen=True)
class Reply:
    """A reply streamed to its end. `usage` None: the server says nothing of tokens."""

    text: str
    usage: Mapping[str, Any] | None = None
    finish: str = "stop"
    before_s: float = 0.0
    """Wait so long before the first byte."""


@dataclass(frozen=True)
class Status:
    """An HTTP error with a JSON body, as endpoints send it."""

    code: int
    message: str = "as ordered"
    retry_after: float | None = None


@dataclass(frozen=True)
class Redirect:
    """307 to another address, which a client holding somebody's data must not follow."""

    location: str


@dataclass(frozen=True)
class Hang:
    """Nothing is sent, not even headers, until the server closes. `headers`: they are, and nothing after them."""

    headers: bool = False


@dataclass(frozen=True)
class Cut:
    """The stream stops after some text: politely without a finish reason, with a dropped connection, or in silence."""

    text: str = "half a rep"
    how: str = "politely"


@dataclass(frozen=True)
class Garbage:
    """200 and something that is no stream of chunks: an HTML page, or an event that is broken JSON."""

    content_type: str = "text/html"
    body: str = "<html><body>Welcome to the proxy</body></html>"


BROKEN_CHUNK = Garbage("text/event-stream", 'data: {"choices": [{"delta": {"cont\n\n')


@dataclass(frozen=True)
class ErrorEvent:
    """A stream that begins well and then carries an error event."""

    message: str = "the model fell over"


Entry = str | Reply | Status | Redirect | Hang | Cut | Garbage | ErrorEvent


@dataclass(frozen=True)
class Request:
    """What arrived: path, headers in lower case, and the body byte for byte."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def messages(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(self.body)["messages"]
        return found


class FaultServer:
    """Serves a script on a free port of 127.0.0.1. `key`, `model`: what it accepts; anything else is 401 or 404."""

    def __init__(self, script: Sequence[Entry] = (), *, key: str | None = None, model: str | None = None) -> None:
        self.requests: list[Request] = []
        self.arrived = threading.Event()
        self._script = list(script)
        self._key, self._model = key, model
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def sent(self) -> bytes:
        """Every byte of every request's body."""
        return b"\n".join(r.body for r in self.requests)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="fault-server", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def add(self, *entries: Entry) -> None:
        """Append to the script."""
        with self._lock:
            self._script += entries

    def next(self, request: Request) -> Entry:
        """Record the request and take what it gets."""
        with self._lock:
            self.requests.append(request)
            self.arrived.set()
            if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
                given = request.headers.get("authorization", "").removeprefix("Bearer ")
                return Status(401, f"Incorrect API key provided: {given}")
            if self._model is not None and json.loads(request.body)["model"] != self._model:
                return Status(404, "The model does not exist")
            return self._script.pop(0) if self._script else Status(400, "the script is over")

    def wait_closing(self, seconds: float | None = None) -> None:
        self._closing.wait(seconds)


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "served-model", "choices": [choice]}


def _handler(server: FaultServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            entry = server.next(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            try:
                self._serve(Reply(entry, USAGE) if isinstance(entry, str) else entry)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _serve(self, entry: Entry) -> None:
            match entry:
                case Reply():
                    self._reply(entry)
                case Status():
                    extra = {} if entry.retry_after is None else {"Retry-After": f"{entry.retry_after:g}"}
                    error = {"error": {"message": entry.message, "type": "ordered", "code": None}}
                    self._whole(entry.code, "application/json", json.dumps(error), extra)
                case Redirect():
                    self._whole(307, "text/plain", "", {"Location": entry.location})
                case Garbage():
                    self._whole(200, entry.content_type, entry.body)
                case Hang():
                    if entry.headers:
                        self._begin()
                    server.wait_closing()
                    self.close_connection = True
                case Cut():
                    self._begin()
                    self._say(_chunk({"role": "assistant", "content": entry.text}))
                    if entry.how == "politely":
                        self._end()
                    elif entry.how == "silently":
                        server.wait_closing()
                    self.close_connection = True
                case ErrorEvent():
                    self._begin()
                    self._say(_chunk({"role": "assistant", "content": "half"}))
                    self._say({"error": {"message": entry.message, "type": "server_error"}})
                    self._end()

        def _reply(self, reply: Reply) -> None:
            time.sleep(reply.before_s)
            self._begin()
            self._say(_chunk({"role": "assistant", "content": ""}))
            for at in range(0, len(reply.text), 40):
                self._say(_chunk({"content": reply.text[at : at + 40]}))
            self._say(_chunk({}, reply.finish))
            if reply.usage is not None:
                self._say({**_chunk({}), "choices": [], "usage": reply.usage})
            self._raw("data: [DONE]\n\n")
            self._end()

        def _whole(self, code: int, kind: str, text: str, extra: Mapping[str, str] | None = None) -> None:
            data = text.encode()
            self.send_response(code)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(extra or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _begin(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.flush()

        def _say(self, event: Mapping[str, Any]) -> None:
            self._raw(f"data: {json.dumps(event, ensure_ascii=False)}\n\n")

        def _raw(self, text: str) -> None:
            data = text.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def _end(self) -> None:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    return Handler
