"""A client of plain HTTP, a clock set by hand, and texts of a known number of tokens."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from peek_core.providers.simulator import Simulator

MARKERS = {
    "anthropic": {"cache_control": {"type": "ephemeral"}},
    "openai": {"prompt_cache_breakpoint": {"mode": "explicit"}},
}


class Clock:
    """Seconds, moved by hand."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class Answer:
    """What came back; `events` are the stream's, `body` is the text as received."""

    status: int
    body: str
    text: str = ""
    finish: str | None = None
    usage: dict[str, Any] | None = None


def text_of(tokens: int, letter: str = "x") -> str:
    """A text of exactly so many tokens (four bytes each)."""
    return letter * (4 * tokens)


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def part(text: str, profile: str = "", **marker: str) -> dict[str, Any]:
    """A text part, marked as the provider marks the end of a reusable prefix if one is named."""
    field = {name: {**value, **marker} for name, value in MARKERS.get(profile, {}).items()}
    return {"type": "text", "text": text, **field}


def post(
    sim: Simulator, body: bytes, key: str = "", path: str = "/v1/chat/completions", method: str = "POST"
) -> tuple[int, str]:
    """One request byte for byte; status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(sim.base_url).port, timeout=20)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {key}"} if key else {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def ask(sim: Simulator, *messages: dict[str, Any], stream: bool = False, key: str = "", **body: Any) -> Answer:
    """One request, streamed or not, put together."""
    given = {"model": "m", "messages": messages, **body}
    if stream:
        given |= {"stream": True, "stream_options": {"include_usage": True}}
    status, got = post(sim, json.dumps(given).encode(), key)
    if status != 200:
        return Answer(status, got)
    return _streamed(got) if stream else _whole(got)


def usages(sim: Simulator, *prompts: Sequence[dict[str, Any]], **body: Any) -> list[dict[str, Any]]:
    """The usage of one request after another."""
    return [ask(sim, *prompt, **body).usage or {} for prompt in prompts]


def _whole(got: str) -> Answer:
    reply = json.loads(got)
    choice = reply["choices"][0]
    return Answer(200, got, choice["message"]["content"], choice["finish_reason"], reply.get("usage"))


def _streamed(got: str) -> Answer:
    *events, done, end = got.split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    chunks = [json.loads(e.removeprefix("data: ")) for e in events]
    choices = [c["choices"][0] for c in chunks if c["choices"]]
    text = "".join(c["delta"].get("content", "") for c in choices)
    (finish,) = [c["finish_reason"] for c in choices if c["finish_reason"]]
    return Answer(200, got, text, finish, chunks[-1].get("usage"))
