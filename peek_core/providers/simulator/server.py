"""The simulator: a provider on loopback with a profile, a script, faults and a record of every request.

Owns: the life of the server, who gets which reply or fault, the record. Refuses to know: the product that asks it. It
binds 127.0.0.1 only, answers each request on a thread of its own, and leaves none behind.

    with Simulator(OPENAI, script=["first", "second"], faults=[HttpError(429), None]) as sim:
        sim.base_url, sim.log
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import formatdate
from typing import Any, Self

from peek_core.providers.simulator import faults as f
from peek_core.providers.simulator import tokens, wire
from peek_core.providers.simulator.cache import PromptCache
from peek_core.providers.simulator.faults import Fault, Rate
from peek_core.providers.simulator.profiles import PLAIN, Profile
from peek_core.providers.simulator.prompt import BadRequest, Prompt, read
from peek_core.providers.simulator.record import Exchange, Request, Script
from peek_core.providers.simulator.usage import told, usage
from peek_core.providers.simulator.window import refusal

Decided = tuple[Exchange, wire.Outcome]


class Simulator:
    """A provider for the length of a `with`. `key`, `model`: what it accepts; anything else is 401 or 404.

    `script`: replies in order (then 400), or a function from the request; without one, a text derived from the prompt's
    hash. `faults`: by request, None for none, or a seeded rate. `clock`: seconds; what lifetimes and dates are counted in.
    """

    def __init__(
        self,
        profile: Profile = PLAIN,
        *,
        script: Script | None = None,
        faults: Sequence[Fault | None] | Rate = (),
        clock: Callable[[], float] = time.time,
        key: str | None = None,
        model: str | None = None,
        port: int = 0,
    ) -> None:
        self.profile = profile
        self.arrived = threading.Event()
        """Set once a request has been recorded."""
        self._script: Callable[[Request], str] | None = script if callable(script) else None
        self._replies = None if script is None or callable(script) else list(script)
        self._faults: list[Fault | None] | Rate = faults if isinstance(faults, Rate) else list(faults)
        self._clock, self._key, self._model = clock, key, model
        self._cache = PromptCache(profile, clock)
        self._log: dict[int, Exchange] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._listener = wire.Listener(port, wire.handler(self._answer, self._models, self._wait))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_address[1]}/v1"

    @property
    def log(self) -> tuple[Exchange, ...]:
        """Every request so far, in the order of arrival. A request is here before its reply begins."""
        with self._lock:
            return tuple(self._log[number] for number in sorted(self._log))

    @property
    def sent(self) -> bytes:
        """Every byte of every request's body."""
        return b"\n".join(e.body for e in self.log)

    def add(self, *replies: str, faults: Sequence[Fault | None] = ()) -> None:
        """Append replies to a scripted list; faults are for the next requests."""
        with self._lock:
            if self._replies is None or isinstance(self._faults, Rate):
                raise TypeError("only a list of replies and a list of faults can be added to")
            self._replies += replies
            if faults:
                self._faults[self._count :] = faults

    def __enter__(self) -> Self:
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), name="simulator", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._listener.shutdown()
        self._listener.hang_up()
        self._listener.server_close()

    def _wait(self, seconds: float | None) -> None:
        self._closing.wait(seconds)

    def _models(self) -> wire.Whole:
        data = [{"id": self._model or "simulator", "object": "model", "created": 1, "owned_by": "simulator"}]
        return wire.Whole(200, json.dumps({"object": "list", "data": data}))

    def _answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> wire.Outcome:
        """Decide, record, and say what to send."""
        with self._lock:
            number, self._count = self._count, self._count + 1
        exchange, outcome = self._decide(Exchange(number, path, headers, raw))
        with self._lock:
            self._log[number] = exchange
        self.arrived.set()
        return outcome

    def _decide(self, arrived: Exchange) -> Decided:
        given = arrived.headers.get("authorization", "").removeprefix("Bearer ")
        if not arrived.path.endswith("/chat/completions"):
            return _whole(arrived, 404, wire.error(f"Invalid URL (POST {arrived.path})"))
        if self._key is not None and given != self._key:
            said = wire.error(f"Incorrect API key provided: {given}", code="invalid_api_key")
            return _whole(arrived, 401, said)
        try:
            body = json.loads(arrived.body)
            prompt = read(body, given, self.profile)
        except BadRequest as failure:
            return _whole(arrived, 400, wire.error(str(failure)))
        except (ValueError, TypeError, LookupError, AttributeError):
            return _whole(arrived, 400, wire.error("We could not parse the JSON body of your request."))
        if self._model is not None and body.get("model") != self._model:
            return _whole(arrived, 404, wire.error("The model does not exist", code="model_not_found"))
        seen = replace(arrived, prompt=len(prompt.tokens), fault=self._fault(arrived.number))
        return self._refused(seen, body) or self._replied(seen, body, prompt)

    def _fault(self, number: int) -> Fault | None:
        if isinstance(self._faults, Rate):
            return self._faults.of(number)
        return self._faults[number] if number < len(self._faults) else None

    def _refused(self, seen: Exchange, body: Mapping[str, Any]) -> Decided | None:
        profile, asked = self.profile, _asked(body) or 0
        beyond = profile.overflow != "truncate" and seen.prompt + asked > profile.window
        match seen.fault:
            case f.HttpError(code, message, seconds, as_date):
                headers = {}
                if seconds is not None:
                    date = formatdate(self._clock() + seconds, usegmt=True)
                    headers = {"Retry-After": date if as_date else f"{seconds:g}"}
                kind = "rate_limit_error" if code == 429 else "server_error" if code >= 500 else "ordered"
                return _whole(seen, code, wire.error(message, type=kind), headers=headers)
            case f.Redirect(location):
                return _whole(seen, 307, "", "text/plain", {"Location": location})
            case f.Hang(headers):
                return seen, wire.Silence(headers)
            case f.Garbage(text, content_type):
                return _whole(seen, 200, text, content_type)
            case f.WrongJson() if body.get("stream"):
                return _whole(seen, 200, f"data: {wire.BROKEN}\n\n", "text/event-stream")
            case f.WrongJson():
                return _whole(seen, 200, wire.BROKEN)
            case f.TooLong():
                beyond = True
        return _whole(seen, 400, refusal(profile.overflow, profile.window, seen.prompt, asked)) if beyond else None

    def _replied(self, seen: Exchange, body: Mapping[str, Any], prompt: Prompt) -> Decided:
        fault = seen.fault
        if self.profile.overflow == "truncate":
            prompt = prompt.keeping_last(self.profile.window)
        reading = self._cache.read(prompt)
        try:
            text = self._text(Request(body, prompt, seen.number), fault)
        except IndexError:
            return _whole(seen, 400, wire.error("the script is over"))
        except Exception as failure:  # what a script's function raises must not look like a lost connection
            return _whole(seen, 500, wire.error(f"the script failed: {failure!r}", type="server_error"))
        most = tokens.count(text) // 2 if isinstance(fault, f.FinishLength) else _asked(body)
        if self.profile.overflow != "truncate":
            # Prompt and reply share the window: a reply that finds no room ends early.
            room = self.profile.window - seen.prompt
            most = room if most is None else min(most, room)
        finish = "stop"
        if most is not None and tokens.count(text) > most:
            text, finish = tokens.first(text, most), "length"
        completion = tokens.count(text)
        reply = wire.Reply(
            text=text,
            finish=finish,
            model=str(body.get("model", "")),
            id=f"chatcmpl-{prompt.sha256[:24]}",
            usage=told(usage(self.profile.report, reading, completion), fault),
            stream=bool(body.get("stream")),
            include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            fault=fault,
            begun=lambda: self._cache.write(prompt, reading, text),
        )
        served = replace(seen, cached=reading.cached, written=reading.written, uncached=reading.uncached)
        return replace(served, completion=completion, finish=finish, status=reply.status), reply

    def _text(self, request: Request, fault: Fault | None) -> str:
        if self._script is not None:
            return self._script(request)
        with self._lock:
            if self._replies or (self._replies is not None and fault is None):
                return self._replies.pop(0)
        return simulated(request.prompt)


def simulated(prompt: Prompt) -> str:
    """The reply of a simulator without a script: the same prompt, the same text, of 8 to 39 words."""
    digest = bytes.fromhex(prompt.sha256)
    words = [digest[n % 31 : n % 31 + 2].hex() for n in range(8 + digest[0] % 32)]
    return f"Simulated reply {prompt.sha256[:12]}: {' '.join(words)}."


def _whole(
    seen: Exchange,
    status: int,
    body: str,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Decided:
    return replace(seen, status=status), wire.Whole(status, body, content_type, headers)


def _asked(body: Mapping[str, Any]) -> int | None:
    """Tokens of reply the request allows at most."""
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    return most if isinstance(most, int) and most >= 0 else None
