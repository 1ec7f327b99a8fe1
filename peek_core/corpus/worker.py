"""Work on files of rows in a process of its own, which can be killed at any moment: loading, matching, comparing.

Owns: the line protocol between parent and worker, the kill, and removing what a killed worker left. Refuses to know
how files are read, matched and compared.

    python -m peek_core.corpus.worker

reads its job as one JSON line, {"do": "load" | "receive" | "settle" | "compare", "work": "...", …}, and writes JSON
lines: {"stage": "...", "done": 0.4} while working, then as the last line {"made": {...}} or
{"error": {"kind", "what", "where", "next"}}. The worker ends, and cleans up, when its standard input is closed.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from peek_core.corpus.desk import Progress
from peek_core.corpus.load import Source, load_files, work_folder
from peek_core.corpus.versions.compare import compare
from peek_core.corpus.versions.propose import propose
from peek_core.corpus.versions.settle import settle
from peek_core.errors import Broken, Cancelled, PeekError, Refused, UnreadableFile
from peek_core.values.canon import plain
from peek_core.values.codec import build
from peek_core.values.dataset import LoadReport, ReadChoices
from peek_core.values.versions import DataDiff, Proposal

_POLL_S = 0.05
# The worker parses hostile files: of the parent's environment it gets only what Python needs to start.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE")
_KINDS: Mapping[str, type[PeekError]] = {"UnreadableFile": UnreadableFile, "Refused": Refused}


def load_in_process(
    sources: Sequence[Source],
    target: Path,
    on_progress: Progress,
    cancelled: Callable[[], bool],
    *,
    base: Path | None = None,
) -> LoadReport:
    """`load_files` in a worker process; `cancelled` is asked about twenty times a second.

    Raises what `load_files` raises, `Cancelled` after the worker was killed because `cancelled()` became true, and
    `Broken` if the worker died. In each of these cases neither a target nor temporary files are left behind.
    """
    job = {
        "do": "load",
        "sources": _as_data(sources),
        "target": str(target),
        "base": None if base is None else str(base),
    }
    return typing.cast(LoadReport, build(LoadReport, _done(job, work_folder(target), on_progress, cancelled)))


def _as_data(sources: Sequence[Source]) -> list[dict[str, Any]]:
    return [{**plain(s), "path": str(s.path)} for s in sources]


@dataclass(frozen=True)
class TwoFiles:
    """The rows of two versions, and how each was read."""

    old: Path
    new: Path
    before: LoadReport
    after: LoadReport

    def job(self, do: str) -> dict[str, Any]:
        reports = {"before": plain(self.before), "after": plain(self.after)}
        return {"do": do, "old": str(self.old), "new": str(self.new), **reports}


def receive_in_process(
    sources: Sequence[Source],
    target: Path,
    old: Path,
    before: LoadReport,
    on_progress: Progress,
    cancelled: Callable[[], bool],
) -> tuple[LoadReport, Proposal]:
    """`load_files`, and what the files are taken for beside the version in `old`; raises as `load_in_process`."""
    job = {
        "do": "receive",
        "sources": _as_data(sources),
        "target": str(target),
        "base": None,
        "old": str(old),
        "new": str(target),
        "before": plain(before),
    }
    try:
        made = _done(job, work_folder(target), on_progress, cancelled)
    except BaseException:
        target.unlink(missing_ok=True)  # it is there before it is recognised
        raise
    return build(LoadReport, made["report"]), build(Proposal, made["proposal"])


def settle_in_process(
    two: TwoFiles, agreed: Proposal, on_progress: Progress, cancelled: Callable[[], bool]
) -> tuple[LoadReport, DataDiff]:
    """`settle`, then `compare`. Raises `Cancelled` or `Broken`; then the new file may be left half settled."""
    made = _done({**two.job("settle"), "agreed": plain(agreed)}, work_folder(two.new), on_progress, cancelled)
    return build(LoadReport, made["report"]), build(DataDiff, made["diff"])


def compare_in_process(two: TwoFiles, on_progress: Progress, cancelled: Callable[[], bool]) -> DataDiff:
    """`compare` in a worker process. Raises `Cancelled` or `Broken`."""
    made = _done(two.job("compare"), work_folder(two.new), on_progress, cancelled)
    return typing.cast(DataDiff, build(DataDiff, made))


def _done(
    job: Mapping[str, Any], work: Path, on_progress: Progress, cancelled: Callable[[], bool]
) -> Mapping[str, Any]:
    """What the worker made of the job. `work` is removed whatever happens."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    environment["PYTHONUTF8"] = "1"
    worker = subprocess.Popen(
        [sys.executable, "-m", "peek_core.corpus.worker"],
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
        with suppress(BrokenPipeError):
            worker.stdin.write(json.dumps({**job, "work": str(work)}).encode() + b"\n")
            worker.stdin.flush()
        while True:
            if cancelled():
                raise Cancelled(f"{_SAID[job['do']]} was cancelled", next="Nothing was changed.")
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
        with suppress(BrokenPipeError):
            worker.stdin.close()
        worker.stdout.close()
        shutil.rmtree(work, ignore_errors=True)
    if "made" in last:
        made: Mapping[str, Any] = last["made"]
        return made
    if "error" in last:
        error = last["error"]
        raise _KINDS.get(error["kind"], Broken)(error["what"], where=error["where"], next=error["next"])
    raise Broken(
        f"{_SAID[job['do']]} stopped unexpectedly (exit code {code})",
        next="Often the computer ran out of memory. Load a smaller file, or try again.",
    )


def _pump(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _first_line() -> bytes:
    """The job. Read byte by byte: what follows belongs to the watch on the parent."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def _end_with_parent(work: Path) -> None:
    """Waits for the end of standard input, which comes when the parent is gone."""
    while os.read(0, 4_096):
        pass
    shutil.rmtree(work, ignore_errors=True)
    os._exit(1)


def main() -> int:
    """The worker's side; returns the exit code (0 done, 1 refused or failed)."""
    job = json.loads(_first_line())
    # Lines go to a copy of standard output; whatever a library prints must not get between them.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message, ensure_ascii=False) + "\n")
            out.flush()

    work = Path(job["work"])
    threading.Thread(target=_end_with_parent, args=(work,), name="parent-watch", daemon=True).start()
    try:
        made = _JOBS[job["do"]](job, work, lambda stage, done: say({"stage": stage, "done": done}))
    except PeekError as error:
        say(_error(type(error).__name__, error.what, error.where, error.next))
        return 1
    except MemoryError:
        say(_error("Refused", "There was not enough memory for the file", "", "Load a smaller file."))
        return 1
    except Exception as error:
        said = f"{_SAID[job['do']]} failed ({type(error).__name__}: {error})"
        say(_error("Broken", said, "", "Please report this file."))
        return 1
    say({"made": plain(made)})
    return 0


def _load(job: Mapping[str, Any], work: Path, tell: Progress) -> LoadReport:
    sources = [
        Source(Path(s["path"]), s["label"], build(ReadChoices, s["choices"]), s["every_cell"]) for s in job["sources"]
    ]
    base = Path(job["base"]) if job["base"] else None
    return load_files(sources, Path(job["target"]), base=base, progress=tell, work=work)


def _receive(job: Mapping[str, Any], work: Path, tell: Progress) -> Mapping[str, Any]:
    report = _load(job, work, tell)
    tell("recognising the columns", None)
    found = propose(Path(job["old"]), Path(job["new"]), build(LoadReport, job["before"]), report, work)
    return {"report": report, "proposal": found}


def _settle(job: Mapping[str, Any], work: Path, tell: Progress) -> Mapping[str, Any]:
    old, new, before, after = _two(job)
    tell("giving known names", None)
    report = settle(old, new, before, after, build(Proposal, job["agreed"]))
    return {"report": report, "diff": compare(old, new, before, report, work, tell)}


def _compare(job: Mapping[str, Any], work: Path, tell: Progress) -> DataDiff:
    return compare(*_two(job), work, tell)


def _two(job: Mapping[str, Any]) -> tuple[Path, Path, LoadReport, LoadReport]:
    return Path(job["old"]), Path(job["new"]), build(LoadReport, job["before"]), build(LoadReport, job["after"])


_JOBS: Mapping[str, Callable[[Mapping[str, Any], Path, Progress], LoadReport | DataDiff | Mapping[str, Any]]] = {
    "load": _load,
    "receive": _receive,
    "settle": _settle,
    "compare": _compare,
}
_SAID = {"load": "Loading", "receive": "Loading", "settle": "Naming", "compare": "Comparing"}


def _error(kind: str, what: str, where: str, next: str) -> Mapping[str, Any]:
    return {"error": {"kind": kind, "what": what, "where": where, "next": next}}


if __name__ == "__main__":
    sys.exit(main())
