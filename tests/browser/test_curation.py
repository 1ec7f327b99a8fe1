"""A curator tends the map: finds, edits against another tab, reviews, undoes, restores, compares, freezes, brings back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from peek_core import settings
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, ask, choose, looks, settled
from tests.conftest import TICKETS

pytestmark = pytest.mark.browser
COUNT = "SELECT count(*) FROM tickets"


@pytest.fixture
def prepared(tmp_path: Path, shared: Server) -> tuple[Workspace, str]:
    (tmp_path / "tickets.csv").write_text(TICKETS)
    w = Workspace(settings.read({}, shared.data))
    dataset = w.load(tmp_path / "tickets.csv", title=f"Tickets {tmp_path.name[-12:]}").id
    curator = w.curator(dataset)
    curator.add("cr", "There are 100 tickets.", COUNT)
    curator.add("cu", "A chat is answered at once.")
    curator.add("dc", "A low score is 1 or 2.")
    curator.score("dc-00003", 4)
    curator.add("ps", "Comments are notes in English.")
    curator.delete("ps-00004")
    return w, dataset


def at(server: Server, dataset: str, tab: str = "Items") -> str:
    return f"{server.url}/context_map?dataset={dataset}&tab={tab}"


def row(page: Page, id: str) -> str:
    return f".st-key-row-{id}"


def open_edit(page: Page, id: str) -> None:
    choose(page, page.locator(row(page, id)).get_by_role("button").last, "Edit")
    expect(page.get_by_role("dialog")).to_be_visible()
    settled(page)


def type_text(page: Page, text: str) -> None:
    box = page.get_by_role("dialog").get_by_label("Text", exact=True)
    box.fill(text)
    box.press("Control+Enter")
    settled(page)


def test_an_edit_in_two_tabs_shows_both_texts_and_loses_none(
    shared: Server, page: Page, prepared: tuple[Workspace, str]
) -> None:
    w, dataset = prepared
    page.goto(at(shared, dataset))
    settled(page)
    other = page.context.new_page()
    other.goto(at(shared, dataset))
    settled(other)
    open_edit(page, "cu-00002")
    open_edit(other, "cu-00002")
    box = other.get_by_role("dialog").get_by_label("Text", exact=True)
    box.fill("A chat is answered within a minute.")
    other.get_by_role("dialog").get_by_role("button", name="Save as version").click()
    expect(other.get_by_role("dialog")).to_have_count(0)
    mine = page.get_by_role("dialog").get_by_label("Text", exact=True)
    mine.fill("A chat is answered within an hour.")
    page.get_by_role("dialog").get_by_role("button", name="Save as version").click()
    expect(page.get_by_role("dialog").get_by_text("Changed meanwhile.")).to_be_visible()
    expect(mine).to_have_value("A chat is answered within an hour.")
    assert "minute" in (w.map(dataset).item("cu-00002") or w.map(dataset).items[0]).text
    page.get_by_role("dialog").get_by_role("button", name="Save mine over it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    settled(page)
    item = w.map(dataset).item("cu-00002")
    assert item is not None and item.text == "A chat is answered within an hour." and item.author == "person"
    w.close()


def test_before_saving_it_is_said_what_it_costs(shared: Server, page: Page, prepared: tuple[Workspace, str]) -> None:
    w, dataset = prepared
    w.set_map(dataset, budget=120)
    page.goto(at(shared, dataset))
    settled(page)
    open_edit(page, "cu-00002")
    expect(page.get_by_role("dialog").get_by_text("of 120 tokens")).to_be_visible()
    box = page.get_by_role("dialog").get_by_label("Text", exact=True)
    box.fill("A chat is answered at once, " + "and the answer is kept with the ticket, " * 4)
    box.press("Tab")
    expect(page.get_by_role("dialog").get_by_text("would be evicted")).to_be_visible()
    w.close()


def test_find_undo_redo_graveyard_history(shared: Server, page: Page, prepared: tuple[Workspace, str]) -> None:
    w, dataset = prepared
    page.goto(at(shared, dataset))
    settled(page)
    page.get_by_label("Find", exact=True).fill("low score")
    expect(page.locator(row(page, "cu-00002"))).to_have_count(0)
    expect(page.locator(row(page, "dc-00003"))).to_be_visible()
    page.get_by_label("Find", exact=True).fill("")
    expect(page.locator(row(page, "cu-00002"))).to_be_visible()
    settled(page)
    before = w.map(dataset)
    choose(page, page.locator(row(page, "cu-00002")).get_by_role("button").last, "Delete")
    expect(page.locator(row(page, "cu-00002"))).to_have_count(0)
    settled(page)
    page.keyboard.press("Alt+Z")
    expect(page.locator(row(page, "cu-00002"))).to_be_visible()
    settled(page)
    assert w.map(dataset).items == before.items
    page.keyboard.press("Alt+Y")
    expect(page.locator(row(page, "cu-00002"))).to_have_count(0)
    settled(page)
    page.goto(at(shared, dataset, "Graveyard"))
    settled(page)
    page.locator(row(page, "gone-cu-00002")).get_by_role("button", name="Bring back").click()
    expect(page.locator(row(page, "gone-cu-00002"))).to_have_count(0)
    assert w.map(dataset).item("cu-00002") is not None
    page.goto(at(shared, dataset))
    settled(page)
    choose(page, page.locator(row(page, "cu-00002")).get_by_role("button").last, "What happened to it")
    expect(page.get_by_role("dialog").get_by_text("revived")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_text("deleted").first).to_be_visible()
    w.close()


def test_two_versions_word_by_word_and_back(shared: Server, page: Page, prepared: tuple[Workspace, str]) -> None:
    w, dataset = prepared
    old = w.map(dataset)
    w.curator(dataset).edit("cu-00002", "A chat is answered within a minute.")
    page.goto(at(shared, dataset, "History"))
    settled(page)
    expect(page.locator("del", has_text="at once").first).to_be_visible()
    expect(page.locator("ins", has_text="within a minute").first).to_be_visible()
    versions = page.get_by_role("combobox", name="Version")
    versions.click()
    page.get_by_role("option", name=f"version {old.version}", exact=True).click()
    settled(page)
    page.get_by_role("button", name=f"Restore version {old.version}").click()
    expect(page.get_by_text("is the newest again")).to_be_visible()
    settled(page)
    assert w.map(dataset).items == old.items and w.map(dataset).version == old.version + 2
    w.close()


def test_in_review_mode_the_agents_edits_wait(shared: Server, page: Page, prepared: tuple[Workspace, str]) -> None:
    w, dataset = prepared
    page.goto(at(shared, dataset))
    settled(page)
    page.get_by_text("Review edits first").click()
    settled(page)
    before = w.map(dataset)
    page.goto(f"{shared.url}/ask?dataset={dataset}")
    settled(page)
    ask(page, "How many tickets are there per channel?", "67")
    assert [i.text for i in w.map(dataset).items] == [i.text for i in before.items]
    waiting = w.curator(dataset).suggestions()
    assert waiting
    page.goto(at(shared, dataset, "Review"))
    settled(page)
    first = page.locator(row(page, f"suggestion-{waiting[0].id}"))
    first.get_by_role("button", name="Edit").click()
    settled(page)
    box = page.get_by_role("dialog").get_by_label("Text", exact=True)
    box.fill("Mine: tickets come by e-mail or chat.")
    box.press("Tab")
    settled(page)
    page.get_by_role("dialog").get_by_role("button", name="Accept").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    settled(page)
    assert any(i.text.startswith("Mine:") and i.author == "person" for i in w.map(dataset).items)
    for one in w.curator(dataset).suggestions():
        page.locator(row(page, f"suggestion-{one.id}")).get_by_role("button", name="Reject").click()
        expect(page.locator(row(page, f"suggestion-{one.id}"))).to_have_count(0)
        settled(page)
    assert w.curator(dataset).suggestions() == ()
    w.close()


def test_each_kind_of_freezing_does_what_it_says(
    shared: Server, page: Page, tmp_path: Path, prepared: tuple[Workspace, str]
) -> None:
    """Frozen item: neither edited by the agent nor refilled. Frozen map: nothing is learned, evidence still runs."""
    w, dataset = prepared
    w.curator(dataset).add("rr", "By chat came 33.", "SELECT count(*) FROM tickets WHERE channel = 'chat'")
    page.goto(at(shared, dataset))
    settled(page)
    choose(page, page.locator(row(page, "cr-00001")).get_by_role("button").last, "Freeze item")
    expect(page.locator(row(page, "cr-00001")).get_by_text("frozen", exact=True)).to_be_visible()
    settled(page)
    page.locator(".st-key-switches").get_by_text("Freeze map").click()
    expect(page.get_by_text("Frozen: by hand.")).to_be_visible()
    settled(page)
    before = [i.text for i in w.map(dataset).items]
    page.goto(f"{shared.url}/ask?dataset={dataset}")
    settled(page)
    ask(page, "How many tickets are there per channel?", "67")
    assert [i.text for i in w.map(dataset).items] == before
    more = TICKETS + "".join(f"{i},chat,3,open,note {i}\n" for i in range(101, 111))
    (tmp_path / "tickets_2.csv").write_text(more)
    from peek_core.corpus.load import Source

    w.returning.accept(
        w.returning.settle(w.returning.receive(dataset, [Source(tmp_path / "tickets_2.csv", "tickets_2.csv")]))
    )
    page.goto(at(shared, dataset))
    settled(page)
    texts = {i.id: (i.state, i.text) for i in w.map(dataset).items}
    assert texts["cr-00001"] == ("drifted", "There are 100 tickets.")
    assert texts["rr-00005"] == ("drifted", "By chat came 43.")
    assert w.map(dataset).frozen
    w.close()


def test_the_map_goes_out_and_comes_in(
    shared: Server, page: Page, tmp_path: Path, prepared: tuple[Workspace, str]
) -> None:
    w, dataset = prepared
    (tmp_path / "other.csv").write_text(TICKETS)
    other = w.load(tmp_path / "other.csv", title="Other").id
    page.goto(at(shared, dataset))
    settled(page)
    choose(page, page.locator(".st-key-map-menu").get_by_role("button"), "Export")
    settled(page)
    page.get_by_role("dialog").get_by_text("JSON, complete").click()
    settled(page)
    with page.expect_download() as got:
        page.get_by_role("dialog").get_by_role("button", name="Download map.json").click()
    file = tmp_path / "map.json"
    got.value.save_as(file)
    page.goto(at(shared, other))
    settled(page)
    choose(page, page.locator(".st-key-map-menu").get_by_role("button"), "Import or copy")
    settled(page)
    page.get_by_role("dialog").locator("input[type=file]").set_input_files(str(file))
    settled(page)
    page.get_by_role("dialog").get_by_role("button", name="Bring them in").click()
    expect(page.get_by_role("dialog").get_by_text("added").first).to_be_visible()
    assert {i.text for i in w.map(other).items} >= {"A low score is 1 or 2."}
    page.goto(at(shared, dataset, "As sent"))
    settled(page)
    expect(page.get_by_text("CONTEXT MAP of this dataset")).to_be_visible()
    w.close()


def test_pictures(shared: Server, chromium: Browser, tmp_path: Path, prepared: tuple[Workspace, str]) -> None:
    target = Path(os.environ.get("PEEK_SCREENSHOTS") or tmp_path)
    w, dataset = prepared
    w.set_map(dataset, review=True)
    w.wait(w.ask(dataset, "How many tickets are there per channel?"))
    for scheme, width in looks():
        context = chromium.new_context(viewport={"width": width, "height": 1100}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        for tab in ("Items", "Review", "History", "Graveyard", "As sent"):
            page.goto(at(shared, dataset, tab))
            settled(page)
            page.screenshot(path=str(target / f"map-{tab.replace(' ', '-')}-{scheme}-{width}.png"))
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), tab
        page.goto(at(shared, dataset))
        settled(page)
        open_edit(page, "cr-00001")
        page.screenshot(path=str(target / f"map-edit-{scheme}-{width}.png"))
        context.close()
    w.close()
