"""What a person does with the map beyond asking: keep an answer, see what a definition changes, admit, look at coverage.

PEEK_SCREENSHOTS=FOLDER keeps the pictures.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from peek_core import settings
from peek_core.book import StoreBook
from peek_core.context_map.history import MapEvent
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, choose, looks, settled
from tests.conftest import CITIES, TICKETS

pytestmark = pytest.mark.browser
REFUSED = (
    {"op": "REPLACE", "id": "cr-00099", "section": "cr", "text": "One row is one answer.", "why": "cr-00099 is locked"},
    {"op": "ADD", "section": "cu", "text": "there are 9 <b>tickets</b>", "evidence": "SELECT count(*) FROM tickets",
     "why": "its own query gives something else: 9 → 100"},
)  # fmt: skip
CHANGED = "Earlier answers that would change"


@dataclass
class App:
    url: str
    tickets: str
    """A dataset with answers, a definition that waits, and two refused edits."""
    cities: str
    """A dataset whose reading proposed a definition; nothing was asked."""

    def at(self, page: str, dataset: str, **more: str) -> str:
        return f"{self.url}/{page}?dataset={dataset}" + "".join(f"&{k}={v}" for k, v in more.items())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, App]:
    """A data directory as a week of questions leaves it, made once; each test has a copy."""
    folder = tmp_path_factory.mktemp("prepared")
    w = Workspace(settings.read({}, folder / "data"))
    for name, content in (("tickets.csv", TICKETS), ("cities.csv", CITIES)):
        (folder / name).write_text(content, "utf-8")
    made = App("", w.load(folder / "tickets.csv").id, w.load(folder / "cities.csv").id)
    for question in ("How many tickets are there?", "How many tickets are there per channel?",
                     "Rows with status test don't count. How many tickets came by chat?"):  # fmt: skip
        w.wait(w.ask(made.tickets, question), 60)
    w.curator(made.tickets).add(
        "cr", "100 tickets over 2 channels", "SELECT count(*), count(DISTINCT channel) FROM tickets"
    )
    book = StoreBook(w.store, made.tickets, "peek")
    book.commit(book.current(), book.current(), [MapEvent("refuse", r.get("id", ""), r) for r in REFUSED])
    w.close()
    return folder / "data", made


@pytest.fixture
def app(prepared: tuple[Path, App], serve: Callable[..., Server], tmp_path: Path) -> App:
    data, made = prepared
    shutil.copytree(data, tmp_path / "data")
    return replace(made, url=serve().url)


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    settled(page)


def test_an_answer_is_kept(app: App, page: Page) -> None:
    open_page(page, app.at("ask", app.tickets))
    page.get_by_role("button", name="Keep in map").first.click()
    expect(page.get_by_test_id("stToast")).to_contain_text("Kept as rr-")
    expect(page.locator(".pk-small", has_text="kept as rr-")).to_be_visible()
    expect(page.get_by_role("button", name="Keep in map")).to_have_count(2)
    page.get_by_role("button", name="Open map").click()
    expect(page.get_by_text("How many tickets are there? 100")).to_be_visible()


def test_a_thumb_down_offers_to_undo_what_the_question_taught(app: App, page: Page) -> None:
    open_page(page, app.at("ask", app.tickets))
    layout = page.get_by_text("table tickets: 100 rows")
    expect(layout).to_be_visible()
    page.get_by_role("button", name="Not helpful").first.click()
    page.get_by_role("button", name="Undo what it taught").click()
    expect(page.get_by_test_id("stToast")).to_contain_text("undone")
    expect(page.get_by_role("button", name="Undo what it taught")).to_have_count(0)
    expect(layout).to_have_count(0)


def test_accepting_shows_which_earlier_answers_change(app: App, page: Page) -> None:
    open_page(page, app.at("ask", app.tickets))
    page.get_by_role("button", name="Accept").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(CHANGED)
    expect(dialog.get_by_role("row", name="How many tickets are there? 100 → 90")).to_be_visible()
    dialog.get_by_role("button", name="Accept and rebuild the view").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("1 definition on")).to_be_visible()


def test_the_load_report_leads_to_what_reading_proposed(app: App, page: Page) -> None:
    open_page(page, app.at("load_report", app.cities))
    expect(page.get_by_text("All 60 rows fit one prompt")).to_be_visible()
    page.get_by_role("button", name="See the proposed definitions").click()
    expect(page.get_by_text("Proposed definition, found while reading the file")).to_be_visible()
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("dialog")).to_contain_text("No earlier answer changes.")
    page.get_by_role("dialog").get_by_role("button", name="Accept and rebuild the view").click()
    expect(page.get_by_role("tab", name="Definitions")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("found while reading the file, 20 values change")).to_be_visible()


def test_what_was_refused_is_admitted_where_that_can_be_done(app: App, page: Page) -> None:
    open_page(page, app.at("context_map", app.tickets))
    page.get_by_role("tab", name="Refused").click()
    admit = page.get_by_role("button", name="Admit")
    expect(admit).to_have_count(2)
    admit.last.click()
    expect(page.get_by_role("alert")).to_have_text(
        "It can't be admitted: no item 'cr-00099'. Add it by hand, as an item of its own."
    )
    admit.first.click()
    expect(admit).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("tab", name="Items").click()
    expect(page.get_by_text("there are 9 <b>tickets</b>")).to_be_visible()


def test_coverage_stays_open_over_a_reload_and_another_dataset(app: App, page: Page) -> None:
    open_page(page, app.at("context_map", app.tickets))
    page.get_by_role("tab", name="Coverage").click()
    expect(page.get_by_text("2 of 5 columns looked at")).to_be_visible()
    expect(page.get_by_text("Never looked at: id, score, comment")).to_be_visible()
    assert "tab=Coverage" in page.url
    page.reload()
    expect(page.get_by_text("2 of 5 columns looked at")).to_be_visible()
    page.locator(".st-key-dataset input").click()
    page.get_by_role("option", name="cities").click()
    expect(page.get_by_text("No question has looked at the data yet.")).to_be_visible()
    page.get_by_role("link", name="Ask").first.click()
    expect(page.get_by_text("No question yet.")).to_be_visible()
    assert "tab=" not in page.url


def test_error_patterns_are_switched_on_and_an_item_added_by_hand(app: App, page: Page) -> None:
    open_page(page, app.at("context_map", app.tickets))
    page.get_by_text("Learn error patterns").click()
    settled(page)
    expect(
        page.get_by_role("switch", name="Learn error patterns").or_(
            page.get_by_role("checkbox", name="Learn error patterns")
        )
    ).to_be_checked()
    page.get_by_role("button", name="Add item").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Section").click()
    page.get_by_role("option", name="Error Patterns").click()
    dialog.get_by_label("Text", exact=True).fill("avg(status) fails: status is text")
    dialog.get_by_label("Text", exact=True).press("Tab")
    dialog.get_by_role("button", name="Add").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("avg(status) fails: status is text")).to_be_visible()


def test_pictures(app: App, chromium: Browser, tmp_path: Path) -> None:
    target = Path(os.environ.get("PEEK_SCREENSHOTS") or tmp_path)

    def look(page: Page, name: str) -> None:
        settled(page)
        page.wait_for_timeout(500)
        page.screenshot(path=str(target / f"map-{name}.png"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} scrolls sideways"

    for scheme, width in looks():
        context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        for tab in ("Coverage", "Refused"):
            open_page(page, app.at("context_map", app.tickets, tab=tab))
            look(page, f"{tab.lower()}-{scheme}-{width}")
        open_page(page, app.at("context_map", app.tickets))
        choose(page, page.locator("[class*=st-key-row-cr-]").last.get_by_role("button").last, "Edit")
        expect(page.get_by_text("2 numbers follow the data")).to_be_visible()
        look(page, f"edit-{scheme}-{width}")
        open_page(page, app.at("context_map", app.tickets, tab="Definitions"))
        page.get_by_role("button", name="Accept").click()
        expect(page.get_by_role("dialog")).to_contain_text(CHANGED)
        look(page, f"accept-{scheme}-{width}")
        context.close()
