"""Host functions over a fixed result, and a sandbox a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from peek_core.errors import OutOfBudget, QueryFailed, StopCell
from peek_core.interpreters.monty import MontyInterpreter
from peek_core.settings import CellLimits
from peek_core.values.trajectory import Table

ROWS = Table(
    ("id", "topic", "stars", "text"),
    (
        (1, "billing", 2, "Refund took 14 days, invoice INV-77"),
        (2, "speed", 5, "Fast and easy"),
        (3, "billing", 1, "Charged twice (INV-78)"),
        (4, "crash", 1, "Crashes on start"),
        (5, "speed", None, ""),
    ),
    5,
)


class Host:
    """sql, FINAL and the like, remembering what was called."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.finals: list[Any] = []

    def sql(self, query: str) -> Table:
        self.calls.append(query)
        if query == "bad":
            raise QueryFailed("Binder Error: no column nope", next="Columns: id, topic.")
        if query == "internal":
            raise ValueError("/srv/secret/place.duckdb")
        if query == "budget":
            raise OutOfBudget("No queries left")
        return ROWS

    def final(self, answer: Any) -> None:
        self.finals.append(answer)
        raise StopCell

    def llm(self, prompts: list[str]) -> list[str]:
        self.calls.append(prompts)
        return [f'```json\n{{"label": "{p.split()[0].lower() if p else "none"}"}}\n```' for p in prompts]

    def functions(self) -> dict[str, Callable[..., Any]]:
        return {"sql": self.sql, "FINAL": self.final, "llm_query_batched": self.llm}


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def monty() -> Iterator[MontyInterpreter]:
    with MontyInterpreter(CellLimits(feed_s=3.0, turn_s=1.0, memory_bytes=128 * 2**20)) as interpreter:
        yield interpreter


@pytest.fixture(scope="module")
def shared() -> Iterator[MontyInterpreter]:
    with MontyInterpreter(CellLimits(feed_s=3.0, turn_s=1.0, memory_bytes=128 * 2**20)) as interpreter:
        yield interpreter
