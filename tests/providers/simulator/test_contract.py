"""What holds for every profile: one reply however it travels, counts that add up, a record that agrees, a clean end."""

from __future__ import annotations

import ast
import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import peek_core.providers.simulator as package
from peek_core.providers.simulator import PROFILES, Hang, HttpError, Profile, Request, Simulator, tokens
from peek_core.providers.simulator.prompt import read
from tests.providers.simulator.asking import Clock, ask, part, post, said, text_of

TALK = [said("system", text_of(5_000)), said("user", "Größe? 数据 🙂")]


@pytest.fixture(params=PROFILES.values(), ids=lambda p: p.name)
def profile(request: pytest.FixtureRequest) -> Profile:
    found: Profile = request.param
    return found


def marked(profile: Profile) -> list[dict[str, Any]]:
    """A prompt that every caching profile caches the first 5,000 tokens of, or nearly."""
    return [said("system", [part(text_of(5_000), profile.name)]), TALK[1]]


def test_a_reply_is_the_same_streamed_or_whole(profile: Profile) -> None:
    script = "Ein Satz über mehr als vierzig Zeichen, 数据 🙂, in mehreren Stücken."
    with Simulator(profile, script=lambda _: script) as one, Simulator(profile, script=lambda _: script) as other:
        for _ in range(3):
            whole, streamed = ask(one, *TALK), ask(other, *TALK, stream=True)
            assert (whole.text, whole.finish, whole.usage) == (streamed.text, streamed.finish, streamed.usage)
            assert whole.text == script
    assert [e.prompt for e in one.log] == [e.prompt for e in other.log]


def test_without_a_script_the_same_prompt_gets_the_same_reply(profile: Profile) -> None:
    with Simulator(profile) as sim, Simulator(profile) as another:
        first, again, streamed = ask(sim, *TALK), ask(another, *TALK), ask(sim, *TALK, stream=True)
        other = ask(sim, said("user", "Something else"))
    assert first.text == again.text == streamed.text != other.text


def test_read_written_and_uncached_are_the_prompt(profile: Profile) -> None:
    with Simulator(profile) as sim:
        for end in ("a", "b", "a"):
            usage = ask(sim, *marked(profile), said("assistant", "fine"), said("user", end)).usage or {}
            entry = sim.log[-1]
            processed = entry.cached + entry.written + entry.uncached
            assert processed == min(entry.prompt, profile.window)
            if profile.report == "anthropic":
                names = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
                assert tuple(usage[n] for n in names) == (entry.cached, entry.written, entry.uncached)
                assert usage["output_tokens"] == entry.completion
            else:
                assert usage["prompt_tokens"] == processed
                assert usage["total_tokens"] == processed + usage["completion_tokens"]
                assert usage["completion_tokens"] == entry.completion


def test_the_second_of_two_equal_requests_reads_unless_nothing_is_cached(profile: Profile) -> None:
    with Simulator(profile) as sim:
        ask(sim, *marked(profile))
        ask(sim, *marked(profile))
    first, second = sim.log
    assert first.cached == 0
    assert (second.cached > 4_800) is (profile.match != "none")


def test_an_entry_is_gone_at_exactly_its_end_and_every_read_starts_it_anew(profile: Profile) -> None:
    clock, ttl_s = Clock(), profile.ttl_s()
    with Simulator(profile, clock=clock) as sim:
        for wait in (0.0, ttl_s - 1, ttl_s - 1, ttl_s):
            clock.pass_s(wait)
            ask(sim, *marked(profile))
    reads = [e.cached > 0 for e in sim.log]
    assert reads == ([False, True, True, False] if profile.match != "none" else [False] * 4)


def test_a_cache_is_shared_by_nobody_else(profile: Profile) -> None:
    """Another key, another model: nothing of the first is read."""
    with Simulator(profile) as sim:
        ask(sim, *marked(profile), key="one")
        ask(sim, *marked(profile), key="other")
        ask(sim, *marked(profile), key="one", model="another")
    assert [e.cached for e in sim.log] == [0, 0, 0]


def test_settings_that_break_a_cache(profile: Profile) -> None:
    for name in set(profile.scope) - {"model"}:
        with Simulator(profile) as sim:
            ask(sim, *marked(profile), **{name: "one"})
            ask(sim, *marked(profile), **{name: "other"})
        assert sim.log[1].cached == 0, name


def test_the_reply_is_cut_at_the_tokens_asked_for(profile: Profile) -> None:
    with Simulator(profile, script=["abcdefghij"] * 2) as sim:
        assert (ask(sim, *TALK, max_tokens=2).text, sim.log[-1].finish) == ("abcdefgh", "length")
        assert (ask(sim, *TALK, max_completion_tokens=3).text, sim.log[-1].finish) == ("abcdefghij", "stop")


def test_usage_is_streamed_only_where_it_was_asked_for(profile: Profile) -> None:
    body = json.dumps({"model": "m", "messages": TALK, "stream": True}).encode()
    with Simulator(profile) as sim:
        assert "usage" not in post(sim, body)[1]
        assert ask(sim, *TALK, stream=True).usage


# Script and record


def test_a_script_is_a_list_or_a_function_of_the_request() -> None:
    with Simulator(script=["one"]) as sim:
        assert ask(sim, *TALK).text == "one"
        sim.add("two")
        assert ask(sim, *TALK).text == "two"
        assert (ask(sim, *TALK).status, sim.log[-1].finish) == (400, "")
    with Simulator(script=lambda r: f"{r.number}: {r.messages[-1]['content']}") as sim:
        assert [ask(sim, said("user", end)).text for end in "ab"] == ["0: a", "1: b"]


def test_a_script_that_fails_is_told_as_a_500() -> None:
    def fails(_: Request) -> str:
        raise RuntimeError("no such question")

    with Simulator(script=fails) as sim:
        got = ask(sim, *TALK)
    assert (got.status, "no such question" in got.body) == (500, True)


def test_the_record_keeps_every_byte_and_its_hash() -> None:
    body = json.dumps({"model": "m", "messages": TALK}).encode()
    with Simulator(faults=[HttpError(500), None]) as sim:
        assert [post(sim, body, "secret")[0] for _ in range(2)] == [500, 200]
    first, second = sim.log
    assert first.body == second.body == body and sim.sent == body + b"\n" + body
    assert first.sha256 == second.sha256
    assert (first.status, first.fault, first.prompt) == (500, HttpError(500), second.prompt)
    assert (first.cached, first.written, first.uncached, first.completion, first.finish) == (0, 0, 0, 0, "")
    assert "secret" not in repr(sim.log)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"{}",
        b'{"messages": []}',
        b'{"messages": ["x"]}',
        b'{"messages": [{"role": "user", "content": [5]}]}',
    ],
)
def test_what_is_no_request_is_a_400(body: bytes) -> None:
    with Simulator() as sim:
        assert post(sim, body)[0] == 400
        assert ask(sim, *TALK).status == 200


def test_key_model_and_path_are_checked() -> None:
    with Simulator(key="right", model="m") as sim:
        assert ask(sim, *TALK, key="right").status == 200
        assert ask(sim, *TALK, key="wrong").status == 401
        assert ask(sim, *TALK, key="right", model="typo").status == 404
        assert post(sim, b"{}", "right", "/v1/completions")[0] == 404
        status, models = post(sim, b"", "right", "/v1/models", "GET")
    assert (status, [m["id"] for m in json.loads(models)["data"]]) == (200, ["m"])


# Tokens


def test_tokens_are_the_sum_over_blocks_of_four_bytes_rounded_up() -> None:
    parts = [part("abcde"), part("ä"), {"type": "image_url", "image_url": {"url": "data:"}}]
    body = {"messages": [said("system", "abcd"), said("user", parts), said("assistant", None)], "tools": [{"a": 1}]}
    prompt = read(body, "", PROFILES["plain"])
    image = json.dumps(parts[2])
    assert prompt.ends[-1] == tokens.count('{"a": 1}') + 1 + 2 + 1 + tokens.count(image) == len(prompt.tokens)


def test_a_longer_text_begins_with_the_whole_tokens_of_a_shorter_one() -> None:
    one, other = tokens.pieces("user", "abcdefghij"), tokens.pieces("user", "abcdefghXj")
    assert one[:2] == other[:2] and one[2] != other[2]
    assert tokens.pieces("system", "abcd") != tokens.pieces("user", "abcd")


# A server among servers


def test_it_listens_on_this_machine_alone() -> None:
    with Simulator() as sim:
        assert urlsplit(sim.base_url).hostname == "127.0.0.1"
        assert sim._listener.server_address[0] == "127.0.0.1"


def test_50_requests_at_once_are_all_answered_and_recorded() -> None:
    together = threading.Barrier(50, timeout=20)

    def script(request: Request) -> str:
        together.wait()
        return str(request.messages[0]["content"])

    with Simulator(PROFILES["openai"], script=script) as sim, ThreadPoolExecutor(50) as pool:
        answers = list(
            pool.map(lambda n: ask(sim, said("user", f"{n} {text_of(1_100)}"), stream=n % 2 == 0), range(50))
        )
        assert [a.text.split()[0] for a in answers] == [str(n) for n in range(50)]
    assert [e.number for e in sim.log] == list(range(50))


def test_the_end_leaves_no_thread_no_port_and_nobody_waiting() -> None:
    before, ended = threading.active_count(), []

    def client() -> None:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            ask(sim, *TALK)
        ended.append(True)

    with Simulator(faults=[Hang(), Hang()]) as sim:
        waiting = [threading.Thread(target=client) for _ in range(2)]
        for thread in waiting:
            thread.start()
        idle = socket.create_connection(("127.0.0.1", urlsplit(sim.base_url).port or 0))  # says nothing
        while len(sim.log) < 2:
            sim.arrived.wait(0.01)
    for thread in waiting:
        thread.join(10)
    idle.close()
    assert (len(ended), threading.active_count()) == (2, before)
    with pytest.raises(ConnectionRefusedError):
        post(sim, b"{}")


def test_it_imports_nothing_of_the_product_and_nothing_that_must_be_installed() -> None:
    import sys

    names = set()
    for path in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
    own = "peek_core.providers.simulator"
    assert [n for n in names if not n.startswith(own) and n.split(".")[0] not in sys.stdlib_module_names] == []
