"""One contract for everything that replies: a scripted model, the built-in analyst, an endpoint over Chat Completions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from peek_core.agents.observation import Sharing
from peek_core.agents.records import conversation_record, fixed_records, profile_record, question_record
from peek_core.context_pipe.bind import Binder
from peek_core.errors import Cancelled
from peek_core.jobs import CancelSignal
from peek_core.ports import Provider
from peek_core.providers.builtin.provider import BuiltinAnalyst
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.scripted import Scripted
from peek_core.providers.simulator import Simulator
from peek_core.settings import EndpointSettings
from peek_core.values.dataset import ColumnProfile, Profile, TableProfile, TopValue
from peek_core.values.messages import Completion, PromptSection

ROOT = Path(__file__).resolve().parents[2]
CELL = "```python\nsql('SELECT 1')\n```"
OFFLINE: dict[str, Callable[[], Provider]] = {
    "scripted": lambda: Scripted([CELL]),
    "builtin": BuiltinAnalyst,
    "chat": lambda: ChatCompletions(EndpointSettings("http://127.0.0.1:9/v1", "m"), LoopThread()),
}
"""Each provider as far as encoding needs it."""


def sections() -> tuple[PromptSection, ...]:
    """The first request of a question about a small table, bound as the pipe binds it."""
    column = ColumnProfile(
        "channel", "Käñäl 渠道", "VARCHAR", 0, 2, None, None, (TopValue("email", 2), TopValue("chat", 1))
    )
    profile = Profile((TableProfile("tickets", 3, (column,)),))
    told = profile_record(profile, Sharing.SAMPLE_ROWS)
    earlier = conversation_record((), Sharing.SAMPLE_ROWS)
    asked = question_record("How many tickets by channel?", "2026-03-31", 1, 29)
    return tuple(map(Binder(len).section, (*fixed_records(), told, earlier, asked)))


def hashes() -> dict[str, str]:
    """What every provider makes of the request, as one hash each."""
    return {name: hashlib.sha256(make().encode(sections(), None)).hexdigest() for name, make in OFFLINE.items()}


@pytest.fixture(params=list(OFFLINE))
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """One provider ready to reply once."""
    if request.param != "chat":
        yield OFFLINE[request.param]()
        return
    with Simulator(script=[CELL]) as server:
        yield ChatCompletions(EndpointSettings(server.base_url, "m"), LoopThread())


def test_encoding_is_pure(provider: Provider) -> None:
    """The same sections give the same bytes, whatever was sent before, and are left as they were."""
    given = sections()
    first = provider.encode(given, None)
    assert isinstance(first, bytes)
    assert provider.encode(given, None) == first
    provider.send(first, CancelSignal(), lambda: None)
    assert provider.encode(given, None) == first
    assert given == sections()


def test_a_changed_question_changes_the_bytes(provider: Provider) -> None:
    *most, last = sections()
    other = (Binder(len).section(question_record("How many?", "2026-03-31", 1, 29)),)
    assert provider.encode([*most, last], None) != provider.encode([*most, *other], None)


def test_bytes_are_the_same_in_another_process() -> None:
    """A hash seed, a working day later: a cache keyed by bytes still hits."""
    code = "from tests.contracts.test_provider import hashes; print(sorted(hashes().items()))"
    for seed in ("1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == str(sorted(hashes().items()))


def test_sending_gives_a_whole_completion_and_tells_the_first_byte(provider: Provider) -> None:
    told: list[str] = []
    done = provider.send(provider.encode(sections(), None), CancelSignal(), lambda: told.append("first byte"))
    assert isinstance(done, Completion)
    assert (done.finish, told) == ("stop", ["first byte"])
    assert "```" in done.text
    assert done.model


def test_a_stopped_run_sends_nothing(provider: Provider) -> None:
    stop = CancelSignal()
    stop.cancel()
    told: list[str] = []
    with pytest.raises(Cancelled):
        provider.send(provider.encode(sections(), None), stop, lambda: told.append("first byte"))
    assert told == []


def test_it_says_what_it_is(provider: Provider) -> None:
    assert provider.name
    assert provider.model
    assert provider.capabilities.window > provider.capabilities.max_output > 0
    assert provider.capabilities.language_model is not isinstance(provider, BuiltinAnalyst)
