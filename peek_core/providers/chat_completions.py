"""Any OpenAI-compatible endpoint over Chat Completions, through the openai package, with bytes of our own.

Owns: the wire form of a request, reading the stream to its end, retries, and turning failures into sentences. Refuses
to know: why a section is in the prompt. Keys and request objects never reach an error, a log or the store.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from peek_core.errors import EndpointFailed, Refused, TooLong
from peek_core.ports import CancelToken, Capabilities
from peek_core.providers.cache_rules import cache_rules
from peek_core.providers.loop import LoopThread
from peek_core.settings import EndpointSettings
from peek_core.values.canon import escaped
from peek_core.values.messages import Completion, PromptSection, Usage

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
MAX_WAIT_S = 20.0
MARKERS = {
    "anthropic": b',"cache_control":{"type":"ephemeral"}',
    "openai": b',"prompt_cache_breakpoint":{"mode":"explicit"}',
}
"""The field of a content part that says that a reusable prefix ends here, by marker policy."""
PARALLEL = 4
"""Requests one endpoint is sent at a time."""


def check_url(
    base_url: str, whose: str = "The endpoint's", fix: str = "Correct the base URL on the Settings page."
) -> None:
    """Raises Refused unless the address is https, or http on this machine."""
    try:
        scheme, host = urlsplit(base_url).scheme, urlsplit(base_url).hostname
    except ValueError:  # brackets that are no IPv6 address
        scheme, host = "", None
    if scheme == "https" and host:
        return
    if scheme == "http" and host in LOOPBACK:
        return
    raise Refused(
        f"{whose} address must start with https://, or with http:// on this machine",
        where=host or "no host",
        next=fix,
    )


class ChatCompletions:
    """Implements ports.Provider. One client per endpoint, all calls on the shared loop thread."""

    name = "chat completions"

    def __init__(self, settings: EndpointSettings, loop: LoopThread) -> None:
        check_url(settings.base_url)
        self._settings, self._loop = settings, loop
        self.model, self.endpoint = settings.model, settings.base_url
        window = settings.window or settings.budget
        self.capabilities = Capabilities(
            window=window,
            max_output=min(settings.max_output_tokens, window // 2),
            budget=settings.budget,
            cache=cache_rules(settings.base_url, settings.model, settings.cache),
            parallel=PARALLEL,
        )
        self._client: Any = None
        self._lock = threading.Lock()

    @classmethod
    def offline(cls, model: str, capabilities: Capabilities, loop: LoopThread) -> ChatCompletions:
        """One that encodes for a model whose endpoint is not at hand, and has no address to send to."""
        made = cls(EndpointSettings("https://nowhere.invalid", model), loop)
        made.capabilities = capabilities
        return made

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        """Compact JSON in a fixed key order; neighbouring sections of one role become one message.

        Where the endpoint takes markers, every section is a content part of its own, marked or not: its bytes must not
        depend on whether a marker stands there.
        """
        marker = self.capabilities.cache.marker
        # One list and one join: a long prompt is copied once.
        out = [b'{"model":', json.dumps(self.model, ensure_ascii=False).encode(), b',"messages":[']
        for n, (role, group) in enumerate(groupby(sections, key=lambda s: s.role)):
            out += [b"," if n else b"", b'{"role":"', role.encode(), b'","content":', b"[" if marker else b'"']
            for k, s in enumerate(group):
                if marker:
                    field = MARKERS[marker] if s.marker else b""
                    out += [b"," if k else b"", b'{"type":"text","text":"', escaped(s.text), b'"', field, b"}"]
                else:
                    out += [b"\\n\\n" if k else b"", escaped(s.text)]
            out.append(b"]}" if marker else b'"}')
        out.append(b'],"stream":true,"stream_options":{"include_usage":true}}')
        return b"".join(out)

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        """Stream the reply to its end. Raises EndpointFailed or Cancelled."""
        if not (self._settings.key.isascii() and all(c.isprintable() and c != " " for c in self._settings.key)):
            raise EndpointFailed(
                "The key holds a space, a line break or a letter no key has",
                next="Copy the key again on the Settings page.",
            )
        return self._loop.run(self._with_retries(wire, on_first_byte), cancel)

    async def _with_retries(self, wire: bytes, on_first_byte: Callable[[], None]) -> Completion:
        started = time.monotonic()
        for attempt in range(self._settings.retries + 1):
            try:
                return await self._once(wire, on_first_byte, started, attempt)
            except _Transient as failure:
                if attempt == self._settings.retries:
                    raise failure.final from None
                await asyncio.sleep(min(failure.wait_s if failure.wait_s is not None else 0.5 * 2**attempt, MAX_WAIT_S))
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _once(self, wire: bytes, on_first_byte: Callable[[], None], started: float, attempt: int) -> Completion:
        import openai

        began = False

        def first_byte() -> None:
            nonlocal began
            began = True
            on_first_byte()

        try:
            stream = await self._open(wire)
            return await self._read(stream, first_byte, started, attempt)
        except openai.APITimeoutError:
            late = EndpointFailed(
                f"The endpoint sent nothing for {self._settings.read_timeout_s:.0f} seconds",
                next="Try again, or raise the read timeout on the Settings page.",
            )
            # A reply that has begun is paid for: asking again would pay twice.
            raise (late if began else _Transient(late)) from None
        except openai.APIStatusError as failure:
            raise self._of_status(failure) from None
        except openai.APIConnectionError:
            if began:
                raise self._cut_off() from None
            raise _Transient(
                EndpointFailed(
                    "The endpoint can't be reached",
                    where=self._host(),
                    next="Check that it runs and that the base URL is right.",
                )
            ) from None
        except openai.APIResponseValidationError:
            raise self._no_reply() from None
        except openai.APIError as failure:
            said = self._quoted(failure.message)
            raise EndpointFailed(f"The endpoint reported an error while replying: {said}", next="Ask again.") from None
        except (ValueError, TypeError, AttributeError, LookupError):
            raise self._no_reply() from None

    async def _open(self, wire: bytes) -> Any:
        from openai import AsyncStream
        from openai.types.chat import ChatCompletionChunk

        return await self._started().post(
            "/chat/completions",
            content=wire,
            cast_to=ChatCompletionChunk,
            stream=True,
            stream_cls=AsyncStream[ChatCompletionChunk],
            # What was shared with one address must not travel on to another.
            options={"headers": {"Content-Type": "application/json"}, "follow_redirects": False},
        )

    async def _read(self, stream: Any, on_first_byte: Callable[[], None], started: float, attempt: int) -> Completion:
        parts: list[str] = []
        finish, model, raw, first = "", self.model, None, None
        async with stream:
            async for chunk in stream:
                if first is None:
                    first = time.monotonic() - started
                    on_first_byte()
                if getattr(chunk, "usage", None):
                    raw = chunk.usage.model_dump(exclude_none=True)
                for choice in (getattr(chunk, "choices", None) or [])[:1]:
                    parts.append((choice.delta and choice.delta.content) or "")
                    finish = choice.finish_reason or finish
                model = getattr(chunk, "model", None) or model
        if not finish:
            raise self._no_reply() if first is None else self._cut_off()
        return Completion(
            text=_whole_characters("".join(parts)),
            finish=finish,
            usage=self._usage(raw),
            model=model,
            raw_usage=raw,
            first_byte_s=first,
            seconds=time.monotonic() - started,
            retries=attempt,
        )

    def _usage(self, raw: Mapping[str, Any] | None) -> Usage:
        said = normalised(raw)
        if said.input is not None and said.cached is None and self.capabilities.cache.silent_misses:
            return replace(said, cached=0)
        return said

    def _of_status(self, failure: Any) -> Exception:
        """The sentence for an HTTP status; transient ones are tried again."""
        code = int(failure.status_code)
        said = self._quoted(getattr(failure, "message", ""))
        if 300 <= code < 400:
            return EndpointFailed(
                f"The endpoint points to another address ({code}), which is not followed",
                where=self._host(),
                next="Put the final address into the base URL on the Settings page.",
            )
        if code in (401, 403):
            return EndpointFailed(f"The endpoint refused the key ({code})", next="Check the key on the Settings page.")
        if code == 404:
            return EndpointFailed(
                f"The endpoint knows no model {self.model!r}, or no such path (404)",
                next="Check model name and base URL on the Settings page.",
            )
        if code in (400, 413) and _too_long(f"{getattr(failure, 'code', '')} {said}".lower()):
            return TooLong(
                f"The request is longer than the model's window ({code})",
                next="Ask a narrower question, or lower the window on the Settings page.",
            )
        if code in RETRIED:
            what = "The endpoint is busy (429)" if code == 429 else f"The endpoint failed ({code})"
            return _Transient(EndpointFailed(what, next="Wait a little and ask again."), _hint(failure))
        return EndpointFailed(
            f"The endpoint refused the request ({code}): {said}", next="Check model name and settings."
        )

    def _no_reply(self) -> EndpointFailed:
        return EndpointFailed(
            "The endpoint sent something that is no reply",
            where=self._host(),
            next="Check that the base URL ends in the Chat Completions API (often /v1).",
        )

    def _cut_off(self) -> EndpointFailed:
        return EndpointFailed("The reply was cut off before it ended; nothing of it is used", next="Ask again.")

    def _quoted(self, said: Any) -> str:
        """What the endpoint said, short and without the key: some echo it."""
        text = " ".join(str(said).split())
        return (text.replace(self._settings.key, "…") if self._settings.key else text)[:200]

    def _host(self) -> str:
        return urlsplit(self._settings.base_url).hostname or ""

    def _started(self) -> Any:
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.AsyncOpenAI(
                    api_key=self._settings.key or "none",
                    base_url=self._settings.base_url,
                    max_retries=0,
                    timeout=openai.Timeout(self._settings.read_timeout_s, connect=10.0),
                )
            return self._client


class _Transient(Exception):
    """A failure worth another attempt; `final` is what it becomes when there is none left."""

    def __init__(self, final: EndpointFailed, wait_s: float | None = None) -> None:
        super().__init__(final.what)
        self.final, self.wait_s = final, wait_s


def _whole_characters(text: str) -> str:
    """Halves of a character joined (an endpoint may split one over two chunks); a half that stays alone is replaced.

    >>> _whole_characters("\\ud83d\\ude42 \\ud800")
    '🙂 \ufffd'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _too_long(said: str) -> bool:
    """Whether an error, in small letters, speaks of the window: OpenAI, Anthropic, Gemini and local servers word it so."""
    return any(word in said for word in ("context", "too long", "maximum number of tokens"))


def _hint(failure: Any) -> float | None:
    return retry_after_s(failure.response.headers.get("retry-after", ""), time.time())


def retry_after_s(said: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or an HTTP date (RFC 9110); None if it says neither.

    >>> retry_after_s("1.5", 0), retry_after_s("Thu, 01 Jan 1970 00:01:00 GMT", 50), retry_after_s("soon", 0)
    (1.5, 10.0, None)
    """
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(said).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def normalised(raw: Mapping[str, Any] | None) -> Usage:
    """Usage under one set of names; `input` includes cached tokens. What was not said, or is no count, stays None."""
    if not raw:
        return Usage()
    if "input_tokens" in raw:
        return _of_anthropic(raw)
    details = _part(raw, "prompt_tokens_details")
    return Usage(
        input=_tokens(raw.get("prompt_tokens")),
        cached=_tokens(details.get("cached_tokens", raw.get("prompt_cache_hit_tokens"))),
        cache_write=_tokens(details.get("cache_write_tokens")),
        output=_tokens(raw.get("completion_tokens")),
        reasoning=_tokens(_part(raw, "completion_tokens_details").get("reasoning_tokens")),
    )


def _of_anthropic(raw: Mapping[str, Any]) -> Usage:
    """Gateways pass Anthropic's names on, whose `input_tokens` is the uncached rest."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    rest, read, written = (_tokens(raw.get(name)) for name in names)
    return Usage(
        input=None if rest is None else rest + (read or 0) + (written or 0),
        cached=read,
        cache_write=written,
        output=_tokens(raw.get("output_tokens")),
    )


def _part(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = raw.get(name)
    return found if isinstance(found, Mapping) else {}


def _tokens(said: Any) -> int | None:
    """A count, or None for whatever else an endpoint says."""
    return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else None
