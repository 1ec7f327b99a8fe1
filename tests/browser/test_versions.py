"""A person brings the next export: it is recognised, reported, accepted or dropped; earlier versions stay and go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from peek_core import settings
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, ask, looks, settled

pytestmark = pytest.mark.browser
FIRST = "id,region,score\n" + "".join(f"{n},{('DACH', 'UK', 'APAC')[n % 3]},{n % 5}\n" for n in range(120))
NEXT = "id,region,score\n" + "".join(f"{n},{('DACH', 'UK', 'APAC')[n % 3]},{n % 5}\n" for n in range(20, 180))
RENAMED = "id,market,score\n" + "".join(f"{n},{('DACH', 'UK', 'APAC')[n % 3]},{n % 5}\n" for n in range(500, 640))
"""No row is in both, so the market is only taken for the region: somebody has to look."""


@pytest.fixture
def tickets(tmp_path: Path, shared: Server) -> Iterator[tuple[Workspace, str]]:
    (tmp_path / "tickets.csv").write_text(FIRST)
    w = Workspace(settings.read({}, shared.data))
    dataset = w.load(tmp_path / "tickets.csv", title="Tickets").id
    w.curator(dataset).add("cr", "The table has 120 rows.", "SELECT count(*) FROM tickets")
    w.curator(dataset).add("dc", "Ids begin at 0.", "SELECT min(id) = 0 AS from_zero FROM tickets")
    yield w, dataset
    w.forget(dataset)  # a file's name must lead to one dataset only
    w.close()


def upload(page: Page, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    page.locator("input[type=file]").first.set_input_files(str(tmp_path / name))
    expect(page.get_by_text(name).first).to_be_visible()
    settled(page)


def test_new_version_report_accept(shared: Server, page: Page, tmp_path: Path, tickets: tuple[Workspace, str]) -> None:
    w, dataset = tickets
    page.goto(f"{shared.url}/?dataset={dataset}")
    settled(page)
    upload(page, tmp_path, "tickets_2026-11.csv", NEXT)
    proposed = page.get_by_role("combobox", name="Make of it")
    expect(proposed).to_have_value("the next export of Tickets")  # by its name
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_text("Tickets: version 2 is ready")).to_be_visible()
    expect(page.get_by_text("1 broke")).to_be_visible()
    expect(page.locator("ins", has_text="160").first).to_be_visible()
    assert w.dataset(dataset).version == 1
    page.get_by_role("button", name="Accept version 2").click()
    expect(page.get_by_text("Version 2 against 1")).to_be_visible()
    assert w.dataset(dataset).version == 2
    assert [(i.state, i.text) for i in w.map(dataset).items] == [
        ("drifted", "The table has 160 rows."),
        ("broken", "Ids begin at 0."),
    ]
    # The version before is asked as it was.
    page.get_by_role("button", name="Ask it").click()
    settled(page)
    expect(page.get_by_text("Questions go to")).to_be_visible()
    ask(page, "How many rows are there?", "120")
    page.get_by_role("button", name="Back to the newest").click()
    expect(page.get_by_text("Questions go to")).to_have_count(0)
    settled(page)
    ask(page, "How many rows are there?", "160")
    # And deleted, after saying what depends on it.
    page.goto(f"{shared.url}/versions?dataset={dataset}")
    settled(page)
    page.locator(".st-key-row-version-1").get_by_role("button").last.click()
    expect(page.get_by_role("dialog").get_by_text("1 question asked of it")).to_be_visible()
    page.get_by_role("button", name="Delete version 1").click()
    expect(page.get_by_text("Version 1 is deleted")).to_be_visible()
    assert [v.number for v in w.returning.versions(dataset)] == [2]


def test_what_is_not_certain_is_asked_and_can_be_dropped(
    shared: Server, page: Page, tmp_path: Path, tickets: tuple[Workspace, str]
) -> None:
    w, dataset = tickets
    page.goto(f"{shared.url}/versions?dataset={dataset}")
    settled(page)
    upload(page, tmp_path, "markets.csv", RENAMED)
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_text("Is this the next export of Tickets?")).to_be_visible()
    expect(page.get_by_text("please look").first).to_be_visible()
    page.get_by_role("button", name="Drop it").click()
    expect(page.get_by_text("Load the next export")).to_be_visible()
    settled(page)
    assert w.dataset(dataset).version == 1
    upload(page, tmp_path, "markets.csv", RENAMED)
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_text("Is this the next export of Tickets?")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Take it so").click()
    expect(page.get_by_text("Tickets: version 2 is ready")).to_be_visible()
    page.get_by_role("button", name="Accept version 2").click()
    expect(page.get_by_text("Version 2 against 1")).to_be_visible()
    assert w.sql(dataset, "SELECT count(DISTINCT region) FROM tickets").table.rows == ((3,),)


def test_pictures(shared: Server, chromium: Browser, tmp_path: Path, tickets: tuple[Workspace, str]) -> None:
    target = Path(os.environ.get("PEEK_SCREENSHOTS") or tmp_path)
    _, dataset = tickets
    for scheme, width in looks():
        context = chromium.new_context(viewport={"width": width, "height": 1100}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{shared.url}/versions?dataset={dataset}")
        settled(page)
        page.screenshot(path=str(target / f"versions-first-{scheme}-{width}.png"))
        for name, text, what in (("markets.csv", RENAMED, "match"), ("november.csv", NEXT, "offer")):
            upload(page, tmp_path, name, text)
            page.get_by_role("button", name="Read it").click()
            page.get_by_role("button", name="Drop it").wait_for()
            settled(page)
            page.screenshot(path=str(target / f"versions-{what}-{scheme}-{width}.png"), full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            page.get_by_role("button", name="Drop it").click()
            expect(page.get_by_text("Load the next export")).to_be_visible()
            settled(page)
        context.close()
