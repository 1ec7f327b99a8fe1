"""The parent's side of one worker process.

Owns: starting it with a bare environment, its pipes, its memory reading and its end. Refuses to know: SQL, rows,
timeouts.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import psutil  # type: ignore[import-untyped]

from peek_core.engines import protocol
from peek_core.errors import Broken

START_S = 20.0
WAITING = 8
"""Messages read ahead; a fast export waits in its pipe, not in this process's memory."""
_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "LD_LIBRARY_PATH")
_GONE: dict[str, Any] = {"gone": True}


def bare_environment(source: Mapping[str, str]) -> dict[str, str]:
    """What a worker may know of the environment: enough to start Python, no keys and no home."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *(p for p in source.get("PYTHONPATH", "").split(os.pathsep) if p)]
    kept = {name: source[name] for name in _PASSED if name in source}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


class WorkerProcess:
    """A running worker. Messages come through a queue, so that the caller can wait with a timeout anywhere."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Start and configure. Raises Broken when the worker can't be started or refuses the files."""
        command = [sys.executable, "-P", "-m", "peek_core.engines.worker"]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=bare_environment(os.environ), cwd=Path(sys.executable).anchor, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Broken("The SQL engine could not be started", next="Check the installation.") from error
        self._stdin = cast(BinaryIO, self._process.stdin)
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue(WAITING)
        self._killed = threading.Event()
        self._write_lock = threading.Lock()
        self._memory: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._memory = psutil.Process(self._process.pid)
        threading.Thread(target=self._listen, daemon=True, name="peek-engine").start()
        self._configure(config)

    def _configure(self, config: Mapping[str, Any]) -> None:
        answer: dict[str, Any] | None = None
        with contextlib.suppress(OSError):
            self.send(dict(config))
            answer = self.receive(START_S)
        if answer is None or not answer.get("ready"):
            self.kill()
            why = str((answer or {}).get("error") or "it ended or did not answer")
            raise Broken(f"The SQL engine could not be started: {why}", next="Load the dataset again.")

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def send(self, message: Mapping[str, Any]) -> None:
        """Send from any thread. Raises OSError when the worker is gone."""
        with self._write_lock:
            try:
                protocol.write(self._stdin, dict(message))
            except ValueError as error:
                raise OSError("the pipe is closed") from error

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """The next message, None after `timeout_s`. Raises OSError when the worker is gone."""
        try:
            message = self._messages.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if message is _GONE:
            self._put(_GONE)
            raise OSError("the worker is gone")
        return message

    def rss(self) -> int:
        """Resident memory in bytes; 0 when it can't be read."""
        if self._memory is None:
            return 0
        try:
            return int(self._memory.memory_info().rss)
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End the process now and take its exit code; safe to call twice and from any thread."""
        self._killed.set()
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        with self._write_lock, contextlib.suppress(OSError):
            self._stdin.close()

    def _listen(self) -> None:
        stdout = cast(BinaryIO, self._process.stdout)
        with contextlib.suppress(OSError, protocol.ProtocolError, ValueError):
            while (message := protocol.read(stdout)) is not None:
                self._put(message)
        self._put(_GONE)
        with contextlib.suppress(OSError):
            stdout.close()

    def _put(self, message: dict[str, Any]) -> None:
        """Queue a message; once the worker is killed nobody may be waiting, and a full queue is given up."""
        while True:
            try:
                self._messages.put(message, timeout=0.2)
                return
            except queue.Full:
                if self._killed.is_set():
                    return
