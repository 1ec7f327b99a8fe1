"""Several files at once: one dataset of several tables, or a dataset each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, settled

pytestmark = pytest.mark.browser


@pytest.fixture
def files(tickets: Path) -> list[str]:
    people = tickets.with_name("people.jsonl")
    people.write_text("".join(f'{{"id": {n}, "name": "n{n}"}}\n' for n in range(7)))
    return [str(tickets), str(people)]


def choose(page: Page, server: Server, files: list[str]) -> None:
    page.goto(server.url)
    settled(page)
    page.locator("[data-testid=stFileUploaderDropzoneInput]").first.set_input_files(files)
    expect(page.get_by_text("one dataset with 2 tables")).to_be_visible()


def test_several_files_become_one_dataset(serve: Callable[..., Server], page: Page, files: list[str]) -> None:
    choose(page, serve(), files)
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_text("Every row accounted for")).to_be_visible()
    for table in ("Table tickets", "Table people"):
        expect(page.get_by_text(table)).to_be_visible()


def test_or_a_dataset_each(serve: Callable[..., Server], page: Page, files: list[str]) -> None:
    choose(page, serve(), files)
    page.get_by_text("2 datasets", exact=True).click()
    settled(page)
    expect(page.get_by_label("Name of the dataset")).to_have_count(0)
    page.get_by_role("button", name="Load", exact=True).click()
    for title in ("tickets", "people"):
        expect(page.locator("b", has_text=title).first).to_be_visible()
