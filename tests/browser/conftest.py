"""A real server and a real browser. Needs Chromium; where there is none the tests are skipped with that reason."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
expect.set_options(timeout=30_000)


class Server:
    """`streamlit run app.py` on its own data directory; `restart` keeps the data."""

    def __init__(self, data: Path, env: dict[str, str]) -> None:
        self.data, self._env = data, env
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith("PEEK_")} | self._env
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port", str(self.port)],
            cwd=ROOT, env=env | {"PEEK_DATA_DIR": str(self.data)}, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1).read()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not start within a minute")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers; all end with the test."""
    started: list[Server] = []

    def start(**env: str) -> Server:
        server = Server(tmp_path / "data", env)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a file that each bring a dataset of their own."""
    server = Server(tmp_path_factory.mktemp("shared") / "data", {})
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, color_scheme="light")
    yield context.new_page()
    context.close()


LOOKS = (("light", 1440), ("dark", 390), ("dark", 1440), ("light", 390))
"""Schemes and widths; where nobody keeps the pictures, the narrow dark one tells whether anything breaks."""


def looks() -> tuple[tuple[str, int], ...]:
    return LOOKS if os.environ.get("PEEK_SCREENSHOTS") else LOOKS[1:2]


def settled(page: Page) -> None:
    """Wait until the script has ended and nothing is a skeleton."""
    page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]", timeout=30_000)
    page.wait_for_function(
        "() => document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'"
        " && !document.querySelector('[data-testid=stSkeleton]')", timeout=60_000)  # fmt: skip


def choose(page: Page, menu: Locator, what: str) -> None:
    """Pick an entry of a menu button; opened again when the page was just drawn anew under it."""
    entry = page.get_by_role("menuitem", name=what, exact=True).or_(page.get_by_text(what, exact=True)).first
    for _ in range(5):
        settled(page)
        menu.click()
        with contextlib.suppress(PlaywrightTimeout):
            entry.wait_for(timeout=4_000)
            entry.click(timeout=4_000)
            return
    raise AssertionError(f"the menu never offered {what!r}")


def ask(page: Page, question: str, answer: str) -> None:
    """Ask and wait for an answer that holds `answer`."""
    box = page.get_by_placeholder("Ask about")
    box.fill(question)
    box.press("Enter")
    expect(page.locator(".pk-a", has_text=answer).last).to_be_visible()
    expect(page.get_by_text("Learning", exact=True)).to_have_count(0)
    settled(page)


@pytest.fixture
def hanging_endpoint() -> Iterator[str]:
    """An endpoint that accepts a request and never answers."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    release = threading.Event()

    class Hang(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            release.wait(120)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hang)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    release.set()
    server.shutdown()
