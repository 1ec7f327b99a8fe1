"""How long a big map's page and a big version's report take.

Owns: a map of 60 items over 200 versions, a table of a million rows that changed, and the measures. Needs Chromium. Run it
with `python -m tests.bench.tending`; times are of this machine, beside that of an empty page as a yardstick.
"""

from __future__ import annotations

import csv
import random
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from peek_core import settings
from peek_core.book import StoreBook
from peek_core.context_map import map as maps
from peek_core.context_map.history import MapEvent
from peek_core.corpus.load import Source
from peek_core.workspace import Workspace
from tests.browser.conftest import CHROMIUM, FLAGS, Server, settled
from tests.conftest import TICKETS

ITEMS, VERSIONS, ROWS = 60, 200, 1_000_000


def grown(w: Workspace, dataset: str) -> None:
    """60 items; in every later version a few are tagged, some edited."""
    dice, book = random.Random(7), StoreBook(w.store, dataset, "peek")
    w.set_map(dataset, budget=8_000)
    new, events = book.current(), list[MapEvent]()
    for n in range(ITEMS):
        edit = maps.Edit(
            "ADD", section=("cr", "cu", "dc", "ps", "rr")[n % 5], text=f"Item {n} says something of column {n % 9}."
        )
        new, item, _ = maps.apply(new, edit, author="agent")
        assert item is not None
        events.append(MapEvent("add", item.id, {"text": item.text}))
    new = book.commit(book.current(), new, events)
    while new.version < VERSIONS:
        events, old = [], new
        for item in dice.sample(old.items, 6):
            new, _ = maps.tag(new, item.id, "helpful")
            events.append(MapEvent("tag", item.id, {"tag": "helpful"}))
        new = book.commit(old, new, events)


def opened(page: Page, url: str) -> float:
    """Seconds until a page stands, of three the middle one; the first opening warms up."""
    taken = []
    for _ in range(4):
        page.goto("about:blank")
        start = time.perf_counter()
        page.goto(url)
        settled(page)
        taken.append(time.perf_counter() - start)
    return sorted(taken[1:])[1]


def pages() -> dict[str, float]:
    """Seconds for each tab of a big map, and for the settings page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        (Path(folder) / "tickets.csv").write_text(TICKETS)
        w = Workspace(settings.read({}, Path(folder) / "data"))
        dataset = w.load(Path(folder) / "tickets.csv").id
        grown(w, dataset)
        w.close()
        server = Server(Path(folder) / "data", {})
        server.start()
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        made = {"settings": opened(page, f"{server.url}/settings?dataset={dataset}")}
        for tab in ("Items", "History", "Graveyard", "As sent"):
            made[tab] = opened(page, f"{server.url}/context_map?dataset={dataset}&tab={tab.replace(' ', '%20')}")
        browser.close()
        server.stop()
        return made


def export(path: Path, first: int, scale: float) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["id", "created", "customer", "region", "plan", "amount", "rating", "status", "comment"])
        for n in range(first, first + ROWS):
            out.writerow([n, f"2026-{1 + n % 12:02}-{1 + n % 28:02}", f"C-{n % 40_000}", "NSEW"[n % 4], f"P{n % 3}",
                          f"{n * 7_919 % 100_000 * scale:.2f}", n % 5 + 1, "closed" if (n + first) % 9 else "new",
                          f"comment {n} speaks of {n % 97} things"])  # fmt: skip


def report() -> dict[str, float]:
    """Seconds to read, recognise and report a second export of a million rows, with 24 items and 10 answers' queries."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "feedback_1.csv", Path(folder) / "feedback_2.csv"
        export(first, 0, 1.0)
        export(second, 50_000, 0.01)
        w = Workspace(settings.read({}, Path(folder) / "data"))
        dataset = w.load(first).id
        table = w.report(dataset).tables[0].name
        for n in range(24):
            w.curator(dataset).add(
                "rr", f"Fact {n}.", f"SELECT count(*) FILTER (rating = {n % 5 + 1}) FROM {table} WHERE id % 7 = {n % 7}"
            )
        start = time.perf_counter()
        arrival = w.returning.receive(dataset, [Source(second, second.name)])
        received = time.perf_counter()
        settled_one = w.returning.settle(arrival)
        done = time.perf_counter()
        w.returning.drop(settled_one)
        w.close()
        return {"read and recognised": received - start, "impact report": done - received}


if __name__ == "__main__":
    for name, seconds in {**report(), **pages()}.items():
        print(f"{name:<22} {seconds:6.2f} s")
