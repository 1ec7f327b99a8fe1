"""Loading in a process of its own, which can be killed at any moment.

Owns: the line protocol between parent and worker, the kill, and removing what a killed worker left. Refuses to know
how files are read: that is `load_file`.

    python -m peek_core.corpus.worker SOURCE TARGET [--label LABEL] [--work FOLDER]

writes JSON lines: {"stage": "...", "done": 0.4} while working, then as the last line {"report": {...}} or
{"error": {"kind", "what", "where", "next"}}. The worker ends, and cleans up, when its standard input is closed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import peek_core
from peek_core.corpus.load import load_file, work_folder
from peek_core.errors import Broken, Cancelled, PeekError, Refused, UnreadableFile
from peek_core.values.canon import plain
from peek_core.values.dataset import Column, Doubt, LoadReport, TableReport

_POLL_S = 0.05
# The worker parses hostile files: of the parent's environment it gets only what Python needs to start.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE")
_KINDS: Mapping[str, type[PeekError]] = {"UnreadableFile": UnreadableFile, "Refused": Refused}


def report_from(data: Mapping[str, Any]) -> LoadReport:
    """A `LoadReport` from its plain JSON form."""
    tables = tuple(
        TableReport(
            **{
                **table,
                "columns": tuple(Column(**column) for column in table["columns"]),
                "repairs": tuple(table["repairs"]),
                "assumptions": tuple(table["assumptions"]),
            }
        )
        for table in data["tables"]
    )
    doubts = tuple(Doubt(**doubt) for doubt in data["doubts"])
    return LoadReport(**{**data, "tables": tables, "doubts": doubts})


def load_in_process(
    source: Path,
    target: Path,
    label: str,
    on_progress: Callable[[str, float | None], None],
    cancelled: Callable[[], bool],
) -> LoadReport:
    """`load_file` in a worker process; `cancelled` is asked about twenty times a second.

    Raises what `load_file` raises, `Cancelled` after the worker was killed because `cancelled()` became true, and
    `Broken` if the worker died. In each of these cases neither a target nor temporary files are left behind.
    """
    work = work_folder(target)
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = str(Path(peek_core.__file__).parents[1])
    environment["PYTHONUTF8"] = "1"
    command = [sys.executable, "-m", "peek_core.corpus.worker", str(source), str(target), "--label", label]
    worker = subprocess.Popen(
        [*command, "--work", str(work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert worker.stdout is not None and worker.stdin is not None
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_pump, args=(worker.stdout, lines), name="load-reader", daemon=True)
    reader.start()
    last: Mapping[str, Any] = {}
    try:
        while True:
            if cancelled():
                raise Cancelled("Loading was cancelled", next="Nothing was changed.")
            try:
                line = lines.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if line is None:
                break
            last = json.loads(line)
            if "stage" in last:
                on_progress(str(last["stage"]), last["done"])
        code = worker.wait()
    finally:
        if worker.poll() is None:
            worker.kill()
            worker.wait()
        reader.join()
        worker.stdin.close()
        worker.stdout.close()
        shutil.rmtree(work, ignore_errors=True)
    if "report" in last:
        return report_from(last["report"])
    if "error" in last:
        error = last["error"]
        raise _KINDS.get(error["kind"], Broken)(error["what"], where=error["where"], next=error["next"])
    raise Broken(
        f"The loader stopped unexpectedly (exit code {code})",
        next="Often the computer ran out of memory. Load a smaller file, or try again.",
    )


def _pump(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _end_with_parent(work: Path) -> None:
    """Waits for the end of standard input, which comes when the parent is gone."""
    while os.read(0, 4_096):
        pass
    shutil.rmtree(work, ignore_errors=True)
    os._exit(1)


def main(argv: Sequence[str] | None = None) -> int:
    """The worker's side; returns the exit code (0 loaded, 1 refused or failed)."""
    parser = argparse.ArgumentParser(prog="python -m peek_core.corpus.worker", description="Load one file.")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--label", default="")
    parser.add_argument("--work", type=Path)
    args = parser.parse_args(argv)
    # Lines go to a copy of standard output; whatever a library prints must not get between them.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message, ensure_ascii=False) + "\n")
            out.flush()

    work = args.work or work_folder(args.target)
    if args.work is not None:
        threading.Thread(target=_end_with_parent, args=(work,), name="parent-watch", daemon=True).start()
    try:
        report = load_file(
            args.source,
            args.target,
            label=args.label or args.source.name,
            progress=lambda stage, done: say({"stage": stage, "done": done}),
            work=work,
        )
    except PeekError as error:
        say(_error(type(error).__name__, error.what, error.where, error.next))
        return 1
    except MemoryError:
        say(_error("Refused", "There was not enough memory to load the file", "", "Load a smaller file."))
        return 1
    except Exception as error:
        say(_error("Broken", f"The loader failed ({type(error).__name__}: {error})", "", "Please report this file."))
        return 1
    say({"report": plain(report)})
    return 0


def _error(kind: str, what: str, where: str, next: str) -> Mapping[str, Any]:
    return {"error": {"kind": kind, "what": what, "where": where, "next": next}}


if __name__ == "__main__":
    sys.exit(main())
