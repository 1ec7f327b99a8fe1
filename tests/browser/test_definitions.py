"""Definitions by clicks: the effect before acceptance, the list and its export, leaving one out of a question.

PEEK_SCREENSHOTS=FOLDER keeps the pictures.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from peek_core import settings
from peek_core.book import StoreBook
from peek_core.context_map.definitions import Definition, from_data
from peek_core.context_map.history import MapEvent
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, ask, looks, settled

pytestmark = pytest.mark.browser
CSV = "id,status,channel,closed\n" + "".join(
    f"{n},{'test' if n % 10 == 0 else 'open'},{'C1' if n % 3 else 'C2'},{f'week {n}' if n % 4 == 0 else f'{n % 28 + 1}.4.2024'}\n"
    for n in range(1, 101)
)
PROPOSED = (
    {"kind": "row_exclusion", "column": "status", "values": ["test"], "name": "Test rows don't count"},
    {"kind": "date_reading", "column": "closed", "reading": "day first", "name": "closed is a date, day first"},
    {"kind": "label_column", "column": "channel", "new_column": "way_in", "name": "How people reach us",
     "mapping": {"C1": "E-mail", "C2": "Chat <b>"}},
    {"kind": "derived", "new_column": "closed_month", "expression": "month(closed)", "name": "Month of closing"},
    {"kind": "code_label", "column": "channel", "mapping": {"C1": "E-mail"}, "name": "C1 is e-mail"},
)  # fmt: skip


@pytest.fixture
def address(serve: Callable[..., Server], tmp_path: Path) -> Callable[[str], str]:
    """A server whose one dataset has five proposed definitions; gives the address of a page."""
    w = Workspace(settings.read({}, tmp_path / "data"))
    (tmp_path / "tickets.csv").write_text(CSV, "utf-8")
    dataset = w.load(tmp_path / "tickets.csv").id
    columns = w.shelf.columns(w.shelf.version(w.dataset(dataset)))
    made = [from_data({"table": "tickets", **p}, columns) for p in PROPOSED]
    kept = tuple(replace(d, id=f"def-{n}") for n, d in enumerate(made, 1) if isinstance(d, Definition))
    assert len(kept) == len(PROPOSED), made
    base = StoreBook(w.store, dataset, "peek").current()
    StoreBook(w.store, dataset, "peek").commit(
        base, replace(base, definitions=kept, next_definition=9), [MapEvent("propose")]
    )
    w.close()
    server = serve()
    return lambda page: f"{server.url}/{page}?dataset={dataset}"


def look(page: Page, name: str, tmp_path: Path) -> None:
    """A picture, and that nothing scrolls sideways."""
    settled(page)
    page.wait_for_timeout(700)
    page.screenshot(path=str(Path(os.environ.get("PEEK_SCREENSHOTS") or tmp_path) / f"definitions-{name}.png"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} scrolls sideways"


def open_dialog(page: Page, id: str) -> None:
    settled(page)
    page.locator(f".st-key-proposal-{id}").get_by_role("button", name="Accept").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def accept(page: Page, id: str) -> None:
    open_dialog(page, id)
    page.get_by_role("dialog").get_by_role("button", name="Accept and rebuild the view").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(f".st-key-proposal-{id}")).to_have_count(0)
    settled(page)


def definitions_of(page: Page, url: str) -> None:
    page.goto(url)
    settled(page)
    page.get_by_role("tab", name="Definitions").click()
    settled(page)


def test_the_effect_and_examples_stand_before_the_click(
    address: Callable[[str], str], page: Page, tmp_path: Path
) -> None:
    definitions_of(page, address("context_map"))
    open_dialog(page, "def-1")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("10 rows left out, 90 remain.")
    expect(dialog.get_by_role("row", name="test left out 10")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-proposal-def-1")).to_be_visible()
    open_dialog(page, "def-4")
    expect(dialog).to_contain_text("It can’t be accepted")
    page.keyboard.press("Escape")
    accept(page, "def-1")
    open_dialog(page, "def-2")
    expect(dialog).to_contain_text("of them can’t be read so and are missing then")
    expect(dialog.get_by_text("missing", exact=True).first).to_be_visible()
    page.keyboard.press("Escape")
    accept(page, "def-2")
    accept(page, "def-4")
    page.locator(".st-key-off-def-2").get_by_role("button").click()
    expect(page.get_by_role("alert").filter(has_text="needs it")).to_be_visible()
    expect(page.get_by_text("Applied in this order")).to_be_visible()


def test_the_view_goes_elsewhere_as_sql_and_as_dbt(address: Callable[[str], str], page: Page) -> None:
    definitions_of(page, address("context_map"))
    accept(page, "def-1")
    with page.expect_download() as sql:
        page.get_by_role("button", name="View as SQL").click()
    assert "CREATE OR REPLACE VIEW tickets AS" in Path(sql.value.path()).read_text("utf-8")
    with page.expect_download() as dbt:
        page.get_by_role("button", name="View as dbt models").click()
    with zipfile.ZipFile(io.BytesIO(Path(dbt.value.path()).read_bytes())) as archive:
        assert archive.namelist() == ["tickets.sql", "schema.yml"]


def test_one_question_leaves_a_definition_out(address: Callable[[str], str], page: Page) -> None:
    page.goto(address("ask"))
    accept(page, "def-1")
    ask(page, "How many tickets are there?", "90")
    page.get_by_role("button", name="Leave out").click()
    page.get_by_role("button", name="Test rows don't count").click()
    expect(page.get_by_role("button", name="1 left out")).to_be_visible()
    page.keyboard.press("Escape")
    ask(page, "How many tickets are there?", "100")
    expect(page.get_by_text("Left out for this question: “Test rows don't count”.")).to_be_visible()
    expect(page.get_by_role("button", name="Leave out")).to_be_visible()
    ask(page, "How many tickets are there in all?", "90")


def test_pictures(address: Callable[[str], str], chromium: Browser, page: Page, tmp_path: Path) -> None:
    definitions_of(page, address("context_map"))
    for id in ("def-1", "def-3"):
        accept(page, id)
    for scheme, width in looks():
        context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)  # type: ignore[arg-type]
        other = context.new_page()
        definitions_of(other, address("context_map"))
        look(other, f"list-{scheme}-{width}", tmp_path)
        open_dialog(other, "def-2")
        expect(other.get_by_role("dialog")).to_contain_text("of them can’t be read so")
        look(other, f"dialog-{scheme}-{width}", tmp_path)
        other.goto(address("ask"))
        settled(other)
        other.get_by_role("button", name="Leave out").click()
        expect(other.get_by_text("Not counting for the next question")).to_be_visible()
        look(other, f"ask-{scheme}-{width}", tmp_path)
        context.close()
