"""An endpoint on loopback that answers questions over several turns, with usage, a prompt cache and prices.

It prints long results, so that requests grow until something is cleared; it runs one query again and reads one section on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from peek_core.providers.simulator import OPENAI, Profile, Simulator
from peek_core.providers.simulator.record import Request
from peek_core.settings import EndpointSettings
from peek_core.workspace import Workspace

MODEL = "simulator"
WINDOW = 9_000
FIRST = "SELECT channel, status, count(*) AS n FROM tickets GROUP BY ALL ORDER BY n DESC, 1, 2"
PRICES = """[[price]]
base_url = "{base_url}"
model = "simulator"
date = 2026-11-30
input = 2.0
output = 10.0
cached = 0.2
write = 2.5
"""


def cell(code: str) -> str:
    return f"I look at one thing at a time.\n```python\n{code}\n```"


def script(turns: int, long: int = 60) -> Callable[[Request], str]:
    """Replies of so many turns to each question, then an answer; then what is to be learned."""
    done = [0]

    def reply(request: Request) -> str:
        text = "\n".join(str(m["content"]) for m in request.messages)
        if "How a turn goes" not in text:
            return learned(text)
        done[0] += 1
        turn = done[0]
        if turn >= turns:
            done[0] = 0
            return cell('FINAL(f"{n:,} tickets have a score above 2.", value=n)')
        if turn == turns - 1:
            return cell('n = sql("SELECT count(*) AS n FROM tickets WHERE score > 2")[0]["n"]\nprint(n)')
        if turn == turns - 2:
            return cell(f"print(recall('observation 1', 0)[:200])\nprint(sql({FIRST!r})[:1])")
        if turn == 1:
            return cell(f"print(sql({FIRST!r}))\nprint('a b c ' * {20 * long})")
        return cell(
            f'rows = sql("SELECT comment, score FROM tickets WHERE score = {turn % 5 + 1} ORDER BY id")\n'
            f"print(rows[:12], 'value {turn} ' * {12 * long})"
        )

    return reply


def learned(text: str) -> str:
    if "candidates" in text:
        return (
            '{"diagnosis": "", "tags": [], "candidates": [{"kind": "item", "section": "cr", "text": "One row is one ticket.",'
            ' "evidence": {"sql": "SELECT count(*) - count(DISTINCT id) FROM tickets", "expect": [[0]]}}],'
            ' "edits": [{"op": "ADD", "candidate": 0}]}'
        )
    return '{"edits": []}'


def simulator(turns: int = 9, profile: Profile = OPENAI, window: int = WINDOW, long: int = 60) -> Simulator:
    return Simulator(replace(profile, window=window), script=script(turns, long), model=MODEL)


def settings_of(server: Simulator, cache: str = "openai", window: int = WINDOW) -> EndpointSettings:
    return EndpointSettings(server.base_url, MODEL, retries=0, cache=cache, window=window, max_output_tokens=600)


def price(data_dir: Path, server: Simulator) -> None:
    """Write the person's own prices of this endpoint; read when a workspace opens."""
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "prices.toml").write_text(PRICES.format(base_url=server.base_url), "utf-8")


def use(w: Workspace, dataset: str, endpoint: EndpointSettings) -> None:
    """Questions go there from now on; everything may be shared."""
    w.endpoints.use(endpoint)
    w.endpoints.share(dataset, "sample_rows")
