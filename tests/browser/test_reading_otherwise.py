"""A person looks at how a file was read, sees what was kept apart, and reads it otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from peek_core import settings
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, settled

pytestmark = pytest.mark.browser


def test_the_other_order_of_dates(serve: Callable[..., Server], page: Page, tmp_path: Path) -> None:
    source = tmp_path / "refunds.csv"
    days = ["03/01/2024", "04/01/2024", "05/01/2024", "01/02/2024", "02/03/2024", "03/03/2024"]
    source.write_text(
        "id,created,n\n" + "".join(f"{n},{day},{n}\n" for n, day in enumerate(days)) + "x,y,z,1,2\n", "utf-8"
    )
    w = Workspace(settings.read({}, tmp_path / "data"))
    dataset = w.load(source).id
    server = serve()
    page.goto(f"{server.url}/load_report?dataset={dataset}")
    settled(page)
    expect(page.get_by_text("The order of day and month cannot be told")).to_be_visible()
    expect(page.get_by_text("x,y,z,1,2")).to_be_visible()
    page.get_by_text("Read it otherwise", exact=True).click()
    settled(page)
    page.get_by_role("button", name="created", exact=True).click()
    settled(page)
    page.get_by_role("radio", name="month first").or_(page.get_by_role("button", name="month first")).first.click()
    settled(page)
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_text("nothing is changed yet")).to_be_visible()
    assert w.dataset(dataset).version == 1
    page.get_by_role("button", name="Keep this reading").click()
    expect(page.get_by_text("nothing is changed yet")).to_have_count(0)
    settled(page)
    assert w.dataset(dataset).version == 2
    months = w.sql(dataset, "SELECT count(DISTINCT month(created_date)) FROM refunds").table.rows
    assert months == ((5,),)
    w.close()
