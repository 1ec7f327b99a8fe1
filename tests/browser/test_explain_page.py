"""Explain in a real browser: a question to a simulated endpoint, its requests, its run, its dataset, and a dry run.

PEEK_SCREENSHOTS=FOLDER keeps the pictures.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from peek_core import settings
from peek_core.providers.simulator import OPENAI_PREFIX, Simulator
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, ask, looks, settled
from tests.kit import simulated

pytestmark = pytest.mark.browser
Serve = Callable[..., Server]


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with simulated.simulator(profile=OPENAI_PREFIX, window=64_000) as server:
        yield server


@pytest.fixture
def address(serve: Serve, simulator: Simulator, tmp_path: Path, tickets: Path) -> Callable[[str], str]:
    """A server that asks the simulated endpoint, with prices, about a dataset that may be shared; gives a page's address."""
    simulated.price(tmp_path / "data", simulator)
    w = Workspace(settings.read({}, tmp_path / "data"))
    dataset = w.load(tickets).id
    simulated.use(w, dataset, simulated.settings_of(simulator))
    w.close()
    server = serve(PEEK_BASE_URL=simulator.base_url, PEEK_MODEL=simulated.MODEL, PEEK_API_KEY="k")
    return lambda page: f"{server.url}/{page}?dataset={dataset}"


def look(page: Page, name: str, tmp_path: Path) -> None:
    """A picture as high as the page, and that nothing scrolls sideways."""
    settled(page)
    width = page.viewport_size["width"]  # type: ignore[index]
    height = page.evaluate(
        "Math.max(600, ...[...document.querySelectorAll('[data-testid=stMain] .pk')].map(e => e.getBoundingClientRect().bottom))"
    )
    page.set_viewport_size({"width": width, "height": int(min(height + 140, 4_000))})
    page.wait_for_timeout(900)
    page.screenshot(path=str(Path(os.environ.get("PEEK_SCREENSHOTS") or tmp_path) / f"explain-{name}.png"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} scrolls sideways"
    page.set_viewport_size({"width": width, "height": 1000})


def test_from_an_answer_to_its_requests_run_and_dataset(address: Callable[[str], str], page: Page) -> None:
    page.goto(address("ask"))
    settled(page)
    ask(page, "How many tickets have a score above 2?", "tickets have a score above")
    page.get_by_role("button", name="Explain").last.click()
    settled(page)
    expect(page.get_by_text("Sections in the order sent")).to_be_visible()
    page.get_by_role("radio", name="Turn 7").or_(page.get_by_role("button", name="Turn 7", exact=True)).first.click()
    settled(page)
    expect(page.locator(".pk-strip .bar > b.miss").first).to_be_attached()
    expect(page.locator(".pk-strip .bar > i.global:not(.fresh)").first).to_be_attached()
    expect(page.locator(".pk-table .pk-tag", has_text="first miss")).to_have_count(1)
    page.get_by_text("What was sent, section by section").click()
    expect(page.get_by_text("You are a data analyst.").first).to_be_visible()
    page.get_by_role("button", name="Plan again").click()
    expect(page.get_by_text("same bytes", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Run").click()
    expect(page.get_by_text("Requests in time")).to_be_visible()
    expect(page).to_have_url(re.compile(r"tab=Run"))
    expect(page.get_by_text("default and flat would have sent the same: no price decides anything.")).to_be_visible()
    expect(page.get_by_text("Token-weighted")).to_be_visible()
    settled(page)
    page.reload()
    settled(page)
    expect(page.get_by_text("Requests in time")).to_be_visible()
    page.get_by_role("tab", name="Dataset").click()
    expect(page.get_by_text("Hard stops of the day")).to_be_visible()
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    settled(page)
    page.get_by_role("tab", name="Request").click()
    expect(page.get_by_text("Sections in the order sent")).to_be_visible()


def test_a_dry_run_shows_the_request_and_sends_nothing(
    address: Callable[[str], str], page: Page, simulator: Simulator
) -> None:
    page.goto(address("ask"))
    settled(page)
    page.get_by_role("button", name="What would it send?").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("Question")
    field.fill("How many tickets came by chat?")
    field.press("Enter")
    expect(dialog.get_by_text("nothing was sent")).to_be_visible()
    expect(dialog.get_by_text("Decisions, in order")).to_be_visible()
    dialog.get_by_text("What would be sent, section by section").click()
    expect(dialog.get_by_text("QUESTION: How many tickets came by chat?")).to_be_visible()
    assert simulator.log == ()
    dialog.get_by_role("button", name="Ask it").click()
    expect(page.locator(".pk-q", has_text="How many tickets came by chat?")).to_be_visible()
    expect(page.locator(".pk-a", has_text="tickets have a score above")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert simulator.log


def test_pictures_of_every_part(address: Callable[[str], str], page: Page, chromium: Browser, tmp_path: Path) -> None:
    page.goto(address("ask"))
    settled(page)
    ask(page, "How many tickets have a score above 2?", "tickets have a score above")
    # The narrowest look tells whether anything breaks; all four where somebody keeps the pictures.
    for scheme, width in looks() if len(looks()) == 4 else looks()[1:]:
        context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)  # type: ignore[arg-type]
        other = context.new_page()
        for tab in ("Request", "Run", "Dataset"):
            other.goto(f"{address('explain')}&tab={tab}")
            look(other, f"{tab.lower()}-{scheme}-{width}", tmp_path)
        other.goto(address("ask"))
        settled(other)
        other.get_by_role("button", name="What would it send?").click()
        expect(other.get_by_role("dialog").get_by_text("nothing was sent")).to_be_visible()
        look(other, f"dry-{scheme}-{width}", tmp_path)
        context.close()
