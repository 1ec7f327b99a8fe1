"""What may cross between the sandbox and the host's functions.

Owns: calling a host function, scrubbing what it raises, and making its result something the sandbox can hold.
Refuses to know: which sandbox it is.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from peek_core.errors import PeekError, StopCell, Terminal
from peek_core.ports import HostFunction
from peek_core.values.trajectory import Table

_LOG = logging.getLogger(__name__)
_PLAIN = (bool, int, float, bytes, date, datetime, timedelta, Decimal)


@dataclass(frozen=True)
class Reply:
    """What a host call gives the cell: a value, an error (Python type name and text), or the end of the cell."""

    value: Any = None
    error: tuple[str, str] | None = None
    stop: bool = False


def call(name: str, function: HostFunction | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Reply:
    """Call a host function for the cell.

    Only the sentence of a PeekError reaches the code; whatever else a function raises is logged and becomes a general
    text. Raises Terminal as it is: it ends the run, not the cell.
    """
    if function is None:
        return Reply(error=("NameError", f"name '{name}' is not defined"))
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return Reply(error=("TypeError", f"{name}(): {error}"))
    except ValueError:
        pass  # a callable without a signature; it then checks its own arguments
    try:
        return Reply(plain(function(*args, **kwargs)))
    except StopCell:
        return Reply(stop=True)
    except Terminal:
        raise
    except PeekError as error:
        return Reply(error=("RuntimeError", clean_text(error.sentence())))
    except Exception:
        _LOG.exception("host function %s failed", name)
        return Reply(error=("RuntimeError", f"{name}() failed for a reason inside the app; it was logged"))


def plain(value: Any) -> Any:
    """The value as a sandbox can hold it: rows as dicts, no foreign classes, no lone surrogates."""
    if isinstance(value, Table):
        return rows_as_dicts(value)
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, (set, frozenset)):
        return {plain(v) for v in value}
    if isinstance(value, Sequence):
        return [plain(v) for v in value]
    return clean_text(str(value))


def rows_as_dicts(table: Table) -> list[dict[str, Any]]:
    """Rows of a result as the cell sees them. Values come from an engine and are plain already."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def clean_text(text: str) -> str:
    """Text without lone surrogates, which break the sandbox's protocol."""
    return text.encode("utf-8", "replace").decode("utf-8")
