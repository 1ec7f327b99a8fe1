"""How soon a step is seen, and what open tabs cost the server.

`python -m tests.bench.pages`: needs Chromium. Times are of this machine; CPU is the share of one core.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
from playwright.sync_api import Page, sync_playwright

from peek_core import settings
from peek_core.workspace import Workspace
from tests.browser.conftest import CHROMIUM, FLAGS, Server, settled

TABS, STEPS, PAUSE_S, IDLE_S = 5, 28, 1.0, 12
# Notes when each turn's line first stands in the page.
WATCH = """() => { window.seen = {}; window.since = Date.now() / 1000; const look = () => { for (const e of document.querySelectorAll('.pk-step')) {
  const m = /Turn (\\d+): .*(done|failed)/.exec(e.textContent); if (m && !(m[1] in window.seen)) window.seen[m[1]] = Date.now() / 1000; } };
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true}); }"""


class Stepper(BaseHTTPRequestHandler):
    """A model that writes one small cell every half second."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        n = sum(m["role"] == "assistant" for m in body["messages"]) + 1
        time.sleep(PAUSE_S)
        cell = f'x{n} = sql("SELECT {n} AS n, count(*) AS c FROM product_feedback")\nprint(x{n})'
        text = f"```python\n{cell if n <= STEPS else 'FINAL(str(STEPS), notes=[])'.replace('STEPS', str(STEPS))}\n```"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for choice in (
            {"delta": {"role": "assistant", "content": text}, "finish_reason": None},
            {"delta": {}, "finish_reason": "stop"},
        ):
            chunk = {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, **choice}],
            }
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args: object) -> None:
        """Quiet."""


def cpu(process: psutil.Process, seconds: float) -> float:
    """Share of one core the server took, its workers not counted."""
    before, at = process.cpu_times(), time.monotonic()
    time.sleep(seconds)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / (time.monotonic() - at)


def main() -> None:
    endpoint = ThreadingHTTPServer(("127.0.0.1", 0), Stepper)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        w = Workspace(settings.read({}, Path(folder)))
        dataset = w.load_sample("product_feedback").id
        server = Server(
            Path(folder), {"PEEK_BASE_URL": f"http://127.0.0.1:{endpoint.server_port}/v1", "PEEK_MODEL": "m"}
        )
        server.start()
        process = psutil.Process(server.pid)
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        # One context a tab: Chromium slows timers of tabs in the background.
        tabs = [browser.new_context().new_page()]
        started = time.monotonic()
        tabs[0].goto(server.url)
        tabs[0].get_by_role("link", name="Ask").first.wait_for()
        print(f"first page after {time.monotonic() - started:.2f} s (at most 3)")
        tabs += [browser.new_context().new_page() for _ in range(TABS - 1)]
        for tab in tabs:
            tab.goto(f"{server.url}/ask?dataset={dataset}")
            settled(tab)
        time.sleep(3)
        print(f"idle, {TABS} tabs: {100 * cpu(process, IDLE_S):.1f} % of a core (under 2)")
        watch_a_job(w, dataset, tabs, process)
        browser.close()
        server.stop()
        w.close()


def watch_a_job(w: Workspace, dataset: str, tabs: list[Page], process: psutil.Process) -> None:
    tabs[0].get_by_placeholder("Ask about").fill("Count slowly")
    tabs[0].get_by_placeholder("Ask about").press("Enter")
    tabs[0].get_by_role("button", name="Share this and ask").click()
    tabs[0].get_by_text("Turn 1").first.wait_for()
    for tab in tabs:
        if tab is not tabs[0]:
            tab.reload()
        tab.evaluate(WATCH)
    time.sleep(4)  # the reloads themselves are over then
    load = cpu(process, 8)
    run = w.runs(dataset)[-1].id
    w.wait(run, 120, learned=False)
    time.sleep(1)
    written = {str(e.body["n"]): e.at for e in w.events(run) if e.name == "step"}
    seen = [(tab.evaluate("window.since"), tab.evaluate("window.seen")) for tab in tabs]
    lags = sorted(at[n] - written[n] for since, at in seen for n in at if n in written and written[n] > since)
    if lags:
        p95 = lags[int(0.95 * (len(lags) - 1))]
        print(
            f"step visible: median {1000 * statistics.median(lags):.0f} ms, p95 {1000 * p95:.0f} ms (at most 500), {len(lags)} sightings"
        )
    print(f"one job, {TABS} tabs watching: {100 * load:.1f} % of a core (under 10)")


if __name__ == "__main__":
    main()
