"""Every page through axe-core: no violation outside a short list of what Streamlit draws itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from peek_core import settings
from peek_core.corpus.load import Source
from peek_core.workspace import Workspace
from tests.browser.conftest import Server, settled
from tests.conftest import TICKETS

pytestmark = pytest.mark.browser
KNOWN = {
    "presentation-role-conflict": "the drop zone of Streamlit's file uploader is labelled and presentational at once"
}
"""Rule -> why it is not ours to mend."""
PAGES = (
    "", "ask", "context_map", "context_map?tab=Definitions", "context_map?tab=Review", "context_map?tab=History",
    "context_map?tab=Graveyard", "context_map?tab=As%20sent", "explain", "versions", "load_report", "settings",
)  # fmt: skip


def test_no_violation_outside_the_list(serve: Callable[..., Server], chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "tickets.csv").write_text(TICKETS)
    w = Workspace(settings.read({}, tmp_path / "data"))
    dataset = w.load(tmp_path / "tickets.csv", title="Tickets").id
    curator = w.curator(dataset)
    curator.add("cr", "There are 100 tickets.", "SELECT count(*) FROM tickets")
    curator.add("cu", "A chat is answered at once.")
    curator.delete("cu-00002")
    w.wait(w.ask(dataset, "How many tickets are there per channel?"))
    (tmp_path / "next.csv").write_text(TICKETS + "101,chat,3,open,note 101\n")
    arrival = w.returning.receive(dataset, [Source(tmp_path / "next.csv", "next.csv")])
    w.returning.accept(w.returning.settle(arrival))
    w.close()
    server = serve()
    found = []
    for scheme, names in (("light", PAGES), ("dark", ("ask", "versions"))):
        context = chromium.new_context(viewport={"width": 1440, "height": 1100}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        for name in names:
            page.goto(f"{server.url}/{name}{'&' if '?' in name else '?'}dataset={dataset}")
            settled(page)
            for violation in Axe().run(page).response["violations"]:
                if violation["id"] not in KNOWN:
                    nodes = [n["html"][:160] for n in violation["nodes"][:2]]
                    found.append(f"{name or 'data'}, {scheme}: {violation['id']}: {nodes}")
        context.close()
    assert not found, "\n".join(found)
