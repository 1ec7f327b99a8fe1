"""What every test shares: no paid service, no leftover state, and no silent skip where all must run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from peek_core import settings
from peek_core.ports import Provider
from peek_core.workspace import Workspace

TICKETS = "id,channel,score,status,comment\n" + "".join(
    f"{i},{'email' if i % 3 else 'chat'},{1 + i % 5},{'test' if i % 10 == 0 else 'open'},note {i}\n"
    for i in range(1, 101)
)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Where PEEK_REQUIRE_ALL is set, a skip is a failure with the same reason."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("PEEK_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"skipped although everything must run: {report.longrepr}"


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach an endpoint somebody configured."""
    for name in ("PEEK_BASE_URL", "PEEK_MODEL", "PEEK_API_KEY", "OPENAI_API_KEY", "PEEK_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


CITIES = "id,city\n" + "".join(f"{n},{('Paris', 'PARIS', 'Rome')[n % 3]}\n" for n in range(60))


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    """100 rows: id, channel (email 67, chat 33), score 1..5, status (test 10, open 90), comment."""
    path = tmp_path / "tickets.csv"
    path.write_text(TICKETS, "utf-8")
    return path


@pytest.fixture
def cities(tmp_path: Path) -> Path:
    """60 rows: id, city (Paris and PARIS are one, which reading proposes)."""
    path = tmp_path / "cities.csv"
    path.write_text(CITIES, "utf-8")
    return path


@pytest.fixture
def open_workspace(tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    """Opens workspaces on one data directory; all are closed at the end."""
    opened: list[Workspace] = []

    def open_one(provider: Provider | None = None, **changes: Any) -> Workspace:
        made = settings.replace(settings.read({}, tmp_path / "data"), **changes)
        opened.append(Workspace(made, provider=(lambda: provider) if provider else None))
        return opened[-1]

    yield open_one
    for workspace in opened:
        workspace.close()


@pytest.fixture(scope="session")
def bench_data() -> Path:
    """Real datasets with gold answers, read only."""
    folder = os.environ.get("PEEK_BENCH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PEEK_BENCH_DATA names no folder with the real datasets")
    return Path(folder)
