"""What a person does, in a real browser against a real server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, ask, choose, settled

pytestmark = pytest.mark.browser
Serve = Callable[..., Server]


def upload(page: Page, server: Server, file: Path) -> None:
    page.goto(server.url)
    settled(page)
    page.locator("[data-testid=stFileUploaderDropzoneInput]").first.set_input_files(str(file))
    expect(page.get_by_role("button", name="Load", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_text("Every row accounted for")).to_be_visible()


def test_upload_ask_pin_reload_restart_and_it_is_still_there(serve: Serve, page: Page, tickets: Path) -> None:
    server = serve()
    upload(page, server, tickets)
    expect(page.get_by_text("rows in the file")).to_be_visible()
    page.get_by_role("button", name="Ask about it").click()
    ask(page, "Rows with status test don't count. How many tickets are there?", "90")
    page.get_by_role("button", name="Accept").click()
    page.get_by_role("button", name="Accept and rebuild the view").click()
    expect(page.get_by_text("1 definition on")).to_be_visible()
    ask(page, "How many tickets are there per channel?", "email")
    ask(page, "What is the average score?", "average score")
    expect(page.locator(".pk-fig").first).to_be_visible()
    page.get_by_role("button", name="Open map").click()
    settled(page)
    row = page.locator(".st-key-row-cr-00001")
    choose(page, row.get_by_role("button").last, "Pin")
    expect(row.get_by_text("pinned")).to_be_visible()
    for again in (page.reload, server.restart):
        again()
        page.goto(page.url)
        settled(page)
        expect(page.locator(".st-key-row-cr-00001").get_by_text("pinned")).to_be_visible()
    page.get_by_role("link", name="Ask").first.click()
    settled(page)
    expect(page.locator(".pk-q")).to_have_count(3)


def test_a_cold_deep_link_gets_the_frame_and_the_run(serve: Serve, page: Page, tickets: Path) -> None:
    server = serve()
    upload(page, server, tickets)
    page.get_by_role("button", name="Ask about it").click()
    ask(page, "How many tickets are there?", "100")
    url = page.url
    assert re.search(r"/ask\?dataset=[\w-]+&run=\w+", url)
    server.restart()
    page.goto(url)
    settled(page)
    expect(page.get_by_role("link", name="Context map").first).to_be_visible()
    expect(page.locator(".st-key-dataset-bar")).to_be_visible()
    expect(page.locator(".pk-a", has_text="100")).to_be_visible()


def test_a_second_tab_sees_the_same_answer(serve: Serve, page: Page, tickets: Path) -> None:
    server = serve()
    upload(page, server, tickets)
    page.get_by_role("button", name="Ask about it").click()
    expect(page.get_by_placeholder("Ask about")).to_be_visible()
    settled(page)
    second = page.context.new_page()
    second.goto(page.url)
    settled(second)
    ask(page, "How many tickets are there?", "100")
    second.reload()
    settled(second)
    expect(second.locator(".pk-a", has_text="100")).to_be_visible()


def test_stop_works_before_the_first_byte(serve: Serve, page: Page, tickets: Path, hanging_endpoint: str) -> None:
    server = serve(PEEK_BASE_URL=hanging_endpoint, PEEK_MODEL="slow", PEEK_API_KEY="k")
    upload(page, server, tickets)
    page.get_by_role("button", name="Ask about it").click()
    settled(page)
    box = page.get_by_placeholder("Ask about")
    box.fill("How many tickets are there?")
    box.press("Enter")
    page.get_by_role("button", name="Share this and ask").click()
    expect(page.get_by_text("waiting for the model")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped while waiting for the model")).to_be_visible()
    expect(page.get_by_text("cancelled", exact=True)).to_be_visible()


def test_nothing_remote_is_fetched_whatever_the_cells_say(serve: Serve, page: Page, tmp_path: Path) -> None:
    server = serve()
    file = tmp_path / "notes.csv"
    image = "![x](http://evil.example/p.png) <img src=http://evil.example/q.png>"
    file.write_text("id,author,note\n" + "".join(f'{i},"{image}","{image} {i}"\n' for i in range(1, 30)), "utf-8")
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    upload(page, server, file)
    page.get_by_role("button", name="Ask about it").click()
    ask(page, "How many notes are there per author?", "29")
    for name in ("Load report", "Explain", "Context map"):
        page.get_by_role("link", name=name).first.click()
        settled(page)
    assert [
        u for u in asked if not u.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:"))
    ] == []
    reply = page.request.get(server.url)
    assert "img-src 'self' data: blob:" in reply.headers["content-security-policy"]


def test_one_click_plays_the_demo(serve: Serve, page: Page) -> None:
    server = serve()
    page.goto(f"{server.url}/demo")
    settled(page)
    page.get_by_text("first 12").click()
    page.get_by_role("button", name="Play the series").click()
    expect(page.get_by_text("12 of 12").first).to_be_visible(timeout=120_000)
    expect(page.get_by_text("Built-in analyst, no language model is playing")).to_be_visible()
    expect(page.get_by_text("Without the map", exact=True)).to_be_visible()
    expect(page.get_by_text("had to find again what it held")).to_be_visible()


def test_rename_and_delete_a_dataset(serve: Serve, page: Page, tickets: Path, chromium: Browser) -> None:
    server = serve()
    upload(page, server, tickets)
    page.get_by_role("link", name="Data").first.click()
    settled(page)

    menu = page.locator("[class*=st-key-menu-] button").first
    choose(page, menu, "Rename")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Ticket dump")
    dialog.get_by_label("Name").press("Tab")
    dialog.get_by_role("button", name="Rename").click()
    expect(page.locator("b", has_text="Ticket dump")).to_be_visible()
    choose(page, menu, "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete it all").click()
    expect(page.get_by_role("button", name="Open the sample")).to_be_visible()
