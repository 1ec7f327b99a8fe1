"""Cells in the Monty sandbox, driven call by call.

Owns: the loop that feeds a cell, answers its host calls and turns what happened into an outcome. Refuses to know: what
the host functions do, budgets, prompts. Every host call happens here, in the parent, so that it is logged, counted and
can be refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import pydantic_monty as pm

from peek_core.errors import Broken, CellFailed
from peek_core.interpreters import boundary, compat, explain
from peek_core.interpreters.output import Output
from peek_core.interpreters.session import SandboxLost, Session
from peek_core.ports import CellOutcome, HostFunction
from peek_core.settings import CellLimits

KEPT_CELLS = 200
"""Earlier cells whose text is kept for tracebacks."""
_LOST = "The sandbox was lost while it ran this cell{why}. Variables are as they were before it."
_EMPTY = "The sandbox was lost while it ran this cell{why}. All variables are gone."


def available() -> bool:
    """Whether the sandbox's binary is there; where not, use `sql_only.SqlOnlyInterpreter`."""
    try:
        from pydantic_monty._binary import find_monty_binary

        find_monty_binary()
    except (ImportError, FileNotFoundError):
        return False
    return True


class _Run:
    """What one cell has done so far."""

    def __init__(self, functions: Mapping[str, HostFunction]) -> None:
        self.functions = functions
        self.output = Output()
        self.stopped = False

    def stop(self) -> None:
        """A host function ended the cell: nothing it does from here on is heard."""
        self.stopped = True
        self.output.close()


class MontyInterpreter:
    """Implements `ports.Interpreter`. One session per analysis; `run` is for one thread, `kill` for any."""

    def __init__(self, limits: CellLimits | None = None, *, now: datetime.datetime | None = None) -> None:
        """Start the sandbox. `now` freezes its clock. Raises Broken when it can't be started."""
        self._limits = limits or CellLimits()
        self._session = Session(self._limits, now)
        self._cells: dict[str, compat.Cell] = {}
        self._names: dict[str, None] = {}
        self._variables: tuple[str, ...] = ()
        self._properties: frozenset[str] = frozenset()
        self._usable, self._killed, self._closed = True, False, False

    def run(self, code: str, functions: Mapping[str, HostFunction]) -> CellOutcome:
        """Run one cell. What its code does wrong is in the outcome.

        Raises Broken when there is no sandbox any more, and whatever Terminal error a host function raises.
        """
        if len(code) > self._limits.code_chars:
            text = f"The cell has {len(code):,} characters; at most {self._limits.code_chars:,} are allowed"
            return CellOutcome("", None, text, self._variables)
        if self._killed:
            # A kill that arrived after the last cell had ended: the worker may be gone.
            self._usable = self._killed = False
        self._make_usable()
        cell = compat.prepare(boundary.clean_text(code), self._properties)
        run = _Run(functions)
        value, error = self._execute(cell, run)
        if run.stopped:
            value = error = None
        return CellOutcome(run.output.text(), value, error, self._variables)

    def read(self, name: str) -> Any:
        """Value of a variable. Raises CellFailed naming what exists."""
        if name not in self._names:
            raise CellFailed(f"There is no variable {name}", next=f"Variables: {', '.join(self._variables) or 'none'}.")
        self._make_usable()
        try:
            return self._quiet(name)
        except (pm.MontyError, SandboxLost):
            self._usable = False
            raise CellFailed(f"The value of {name} could not be read", next="Make it smaller and try again.") from None

    def kill(self) -> None:
        """Stop the running cell, from any thread. Variables go back to what they were before it."""
        self._killed = True
        self._session.kill()

    def close(self) -> None:
        """End the sandbox."""
        self._closed = True
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _execute(self, cell: compat.Cell, run: _Run) -> tuple[str | None, str | None]:
        """(value text, error text). Leaves the session saved, or marked for restoring."""
        self._usable = False
        try:
            value = self._drive(cell, run)
            error = None
        except pm.MontyCrashedError:
            return None, self._restore("")
        except pm.MontyError as caught:
            value, error = None, self._explain(caught, run)
            if _is_session_limit(caught):
                # A time limit stops the sandbox in the middle of things, so its state is not to be trusted; a used-up
                # number of host calls stays used up until the state is loaded anew.
                return None, f"{error}\n{self._restore('', after_limit=True)}"
        except (SandboxLost, RuntimeError):
            return None, self._restore("")
        return value, self._settle(cell, error)

    def _settle(self, cell: compat.Cell, error: str | None) -> str | None:
        """After a cell whose session lives: names, variables and state are brought up to date."""
        before = dict(self._names)
        try:
            self._names.update(dict.fromkeys(n for n in cell.names if not n.startswith("_")))
            variables = self._describe()
            self._session.save()
        except (pm.MontyError, SandboxLost, RuntimeError):
            self._names = before
            lost = self._restore(": it used too much memory" if error and "MemoryError" in error else "")
            return f"{error}\n{lost}" if error else lost
        self._variables, self._properties, self._usable = variables, self._properties | cell.properties, True
        return error

    def _drive(self, cell: compat.Cell, run: _Run) -> str | None:
        """Feed the cell and answer it until it is done; text of its trailing expression."""
        self._remember(cell)
        snapshot = self._session.start(cell.code, run.output.add)
        while not isinstance(snapshot, pm.MontyComplete):
            snapshot = self._answer(snapshot, run)
        shown = snapshot.output
        if not isinstance(shown, tuple):
            return None
        text, length = shown
        return text if len(text) == length else f"{text}… [{length:,} characters in all]"

    def _answer(self, snapshot: pm.SyncSnapshot, run: _Run) -> pm.SyncSnapshot:
        if isinstance(snapshot, pm.NameLookupSnapshot):
            name = snapshot.variable_name
            return snapshot.resume(value=_stub(name)) if name in run.functions else snapshot.resume()
        if isinstance(snapshot, pm.FunctionSnapshot):
            if snapshot.is_os_function:
                return _answer_system(snapshot)
            return self._answer_call(snapshot, run)
        raise SandboxLost("the cell waits for something nobody gives")

    def _answer_call(self, snapshot: pm.FunctionSnapshot, run: _Run) -> pm.SyncSnapshot:
        if run.stopped:
            return snapshot.resume({"exc_type": "SystemExit"})
        name = str(snapshot.function_name)
        reply = boundary.call(name, run.functions.get(name), snapshot.args, snapshot.kwargs)
        if reply.stop:
            run.stop()
            return snapshot.resume({"exc_type": "SystemExit"})
        if reply.error is not None:
            kind: Any = reply.error[0]
            return snapshot.resume({"exc_type": kind, "message": reply.error[1]})
        return snapshot.resume({"return_value": reply.value})

    def _explain(self, caught: pm.MontyError, run: _Run) -> str:
        kind, message = type(caught.exception()).__name__, explain.clean(str(caught.exception()))
        frames = caught.traceback() if isinstance(caught, (pm.MontyRuntimeError, pm.MontySyntaxError)) else []
        places = [explain.Place(f.filename, f.line, f.function_name) for f in frames]
        hint = explain.hint(kind, message, self._variables, list(run.functions))
        head = f"{kind}: {message}" if message else kind
        return explain.traceback(head, places, self._cells, self._session.feed_name, hint)

    def _restore(self, why: str, *, after_limit: bool = False) -> str:
        """Bring the saved state back; the sentence that says so."""
        if self._closed:
            raise Broken("The Python sandbox is closed")
        kept = self._session.restore()
        self._usable = True
        if not kept:
            self._names, self._variables = {}, ()
        if self._killed:
            return "The cell was stopped. Variables are as they were before it."
        if after_limit:
            return "Variables are as they were before this cell." if kept else "All variables are gone."
        return (_LOST if kept else _EMPTY).format(why=why)

    def _make_usable(self) -> None:
        if self._closed:
            raise Broken("The Python sandbox is closed")
        if not self._usable:
            self._restore("")

    def _remember(self, cell: compat.Cell) -> None:
        self._cells[self._session.next_feed] = cell
        while len(self._cells) > KEPT_CELLS:
            del self._cells[next(iter(self._cells))]

    def _describe(self) -> tuple[str, ...]:
        """`name: type[len]` of every variable; a name that is not bound after all is left out."""
        probes = [
            f"try:\n    _peek_v.append(_peek_describe({n!r}, {n}))\nexcept NameError:\n    pass" for n in self._names
        ]
        found = self._quiet("\n".join(["_peek_v = []", *probes, "_peek_v"])) if probes else []
        return tuple(str(v) for v in found if not str(v).endswith(": NoneType"))

    def _quiet(self, code: str) -> Any:
        """Run code of our own; its output is dropped and it gets no host functions."""
        snapshot = self._session.start(code, lambda stream, text: None)
        while not isinstance(snapshot, pm.MontyComplete):
            if not isinstance(snapshot, pm.NameLookupSnapshot):
                raise SandboxLost("unexpected call")
            snapshot = snapshot.resume()
        return snapshot.output


def _answer_system(snapshot: pm.FunctionSnapshot) -> pm.SyncSnapshot:
    """Nothing of the system is there; sleeping is done at once."""
    if "sleep" in str(snapshot.function_name):
        return snapshot.resume({"return_value": None})
    return snapshot.resume_not_handled()


def _stub(name: str) -> HostFunction:
    """What a host function's name is bound to when the code reads it as a value; calls come back here by name."""

    def stub() -> None: ...

    stub.__name__ = stub.__qualname__ = name
    return stub


def _is_session_limit(error: pm.MontyError) -> bool:
    cause, text = error.exception(), str(error)
    if isinstance(cause, TimeoutError):
        return "time limit exceeded" in text
    return isinstance(cause, RuntimeError) and "suspension limit" in text
