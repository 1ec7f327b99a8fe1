"""Pictures of every page, light and dark, wide and narrow. PEEK_SCREENSHOTS=FOLDER keeps them, and renews the README's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, ask, looks, settled

pytestmark = pytest.mark.browser
README = {"ask-light-1440", "context_map-light-1440", "explain-dark-1440"}
KEPT = Path(__file__).resolve().parents[1] / "golden" / "screenshots"
QUESTIONS = [
    ("Rows with status test don't count. How much feedback do we have?", "47,933"),
    ("A low rating is 1 or 2. What share of ratings are low?", "35.6"),
    ("NPS 99 means not asked. What is the average NPS?", "6.34"),
    ("What is the average rating in each region?", "Nordics"),
]


def picture(page: Page, target: Path, name: str) -> None:
    """The page as high as its content."""
    settled(page)
    height = page.evaluate(
        "Math.max(600, ...[...document.querySelectorAll('[data-testid=stMain] .pk, [data-testid=stMain] button')]"
        ".map(e => e.getBoundingClientRect().bottom))")  # fmt: skip
    page.set_viewport_size({"width": page.viewport_size["width"], "height": int(min(height + 120, 2600))})  # type: ignore[index]
    page.wait_for_timeout(900)
    settled(page)
    page.screenshot(path=str(target / f"{name}.png"))
    if name in README and os.environ.get("PEEK_SCREENSHOTS"):
        page.screenshot(path=str(KEPT / f"{name}.png"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} scrolls sideways"


def test_pictures(serve: Callable[..., Server], chromium: Browser, page: Page, tmp_path: Path) -> None:
    target = Path(os.environ.get("PEEK_SCREENSHOTS") or tmp_path)
    server = serve()
    page.goto(server.url)
    settled(page)
    picture(page, target, "start-light-1440")
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.get_by_role("button", name="Open the sample").click()
    settled(page)
    for n, (question, answer) in enumerate(QUESTIONS):
        ask(page, question, answer)
        if n == 0:
            page.get_by_role("button", name="Accept").first.click()
            page.get_by_role("button", name="Accept and rebuild the view").click()
            expect(page.get_by_text("1 definition on")).to_be_visible()
            settled(page)
    address = page.url
    query = address.partition("?")[2]
    for scheme, width in looks():
        context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)  # type: ignore[arg-type]
        other = context.new_page()
        for name in ("ask", "context_map", "explain", "load_report", "data", "settings"):
            other.set_viewport_size({"width": width, "height": 1000})
            other.goto(f"{server.url}/{'' if name == 'data' else name}?{query}")
            picture(other, target, f"{name}-{scheme}-{width}")
        context.close()
    assert len(list(target.glob("*.png"))) >= 7
