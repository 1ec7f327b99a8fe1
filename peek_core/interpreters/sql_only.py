"""What is left when the sandbox's binary is missing: cells that are one call, read and never executed.

Owns: reading `name = sql("...")` out of a cell. Refuses to know: Python beyond literals. There is no fallback to
`exec`, ever.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from peek_core.errors import Broken, CellFailed
from peek_core.interpreters import boundary
from peek_core.ports import CellOutcome, HostFunction
from peek_core.settings import CellLimits

SUPPORTED = (
    'The Python sandbox is not installed here, so a cell is exactly one call: sql("""SELECT ..."""), '
    'rows = sql("""SELECT ..."""), or another listed function such as FINAL("...") with literal values or names of '
    "earlier results as arguments. Do all the work in SQL."
)
SHOWN_CHARS = 20_000


class SqlOnlyInterpreter:
    """Implements `ports.Interpreter` for single calls of host functions."""

    def __init__(self, limits: CellLimits | None = None) -> None:
        """Needs nothing and starts nothing."""
        self._limits = limits or CellLimits()
        self._values: dict[str, Any] = {}
        self._closed = threading.Event()

    def run(self, code: str, functions: Mapping[str, HostFunction]) -> CellOutcome:
        """Run one cell; what can't be read is said in the outcome, with what is supported. Raises Broken if closed."""
        if self._closed.is_set():
            raise Broken("The interpreter is closed")
        if len(code) > self._limits.code_chars:
            return self._failed(
                f"The cell has {len(code):,} characters; at most {self._limits.code_chars:,} are allowed"
            )
        try:
            target, name, args, kwargs = self._parse(code)
        except CellFailed as error:
            return self._failed(error.sentence())
        if name not in functions:
            return self._failed(f"NameError: there is no function {name}. Functions: {', '.join(functions) or 'none'}.")
        reply = boundary.call(name, functions[name], args, kwargs)
        if reply.error is not None:
            return self._failed(f"{reply.error[0]}: {reply.error[1]}")
        if target is not None:
            self._values[target] = reply.value
        shown = None if reply.stop or reply.value is None or target is not None else _text(reply.value)
        return CellOutcome("", shown, None, self._variables())

    def read(self, name: str) -> Any:
        """Value of an earlier result; raises CellFailed naming what exists."""
        if name not in self._values:
            raise CellFailed(
                f"There is no variable {name}", next=f"Variables: {', '.join(self._variables()) or 'none'}."
            )
        return self._values[name]

    def kill(self) -> None:
        """Nothing of the cell's runs here; the host functions have their own cancelling."""

    def close(self) -> None:
        """Refuse later cells."""
        self._closed.set()
        self._values.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _failed(self, text: str) -> CellOutcome:
        return CellOutcome("", None, text, self._variables())

    def _variables(self) -> tuple[str, ...]:
        return tuple(_described(name, value) for name, value in self._values.items())

    def _parse(self, code: str) -> tuple[str | None, str, list[Any], dict[str, Any]]:
        """(assigned name, function, arguments). Raises CellFailed for anything but one call of that shape."""
        try:
            body = ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise CellFailed(f"SyntaxError: {getattr(error, 'msg', 'the cell is no Python')}", next=SUPPORTED) from None
        statement = body[0] if len(body) == 1 else None
        target = None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            place = statement.targets[0]
            target = place.id if isinstance(place, ast.Name) else None
        call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
        plain_target = target is not None or isinstance(statement, ast.Expr)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or not plain_target:
            raise CellFailed("This cell can't be run", next=SUPPORTED)
        return target, call.func.id, self._arguments(call.args), self._keywords(call.keywords)

    def _arguments(self, nodes: Sequence[ast.expr]) -> list[Any]:
        return [self._literal(node) for node in nodes]

    def _keywords(self, nodes: Sequence[ast.keyword]) -> dict[str, Any]:
        if any(node.arg is None for node in nodes):
            raise CellFailed("This cell can't be run", next=SUPPORTED)
        return {str(node.arg): self._literal(node.value) for node in nodes}

    def _literal(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.read(node.id)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise CellFailed("An argument is no literal and no earlier result", next=SUPPORTED) from None


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… [{len(text):,} characters in all]"


def _described(name: str, value: Any) -> str:
    size = f"[{len(value)}]" if isinstance(value, (list, dict, str, tuple, set)) else ""
    return f"{name}: {type(value).__name__}{size}"
