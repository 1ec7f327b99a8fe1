"""Picking the sandbox: Monty where its binary is there, single-statement cells elsewhere. Never exec.

Owns: that choice. Refuses to know: who runs cells.
"""

from __future__ import annotations

import datetime

from peek_core.interpreters.monty import MontyInterpreter, available
from peek_core.interpreters.sql_only import SqlOnlyInterpreter
from peek_core.ports import Interpreter
from peek_core.settings import CellLimits


def open_interpreter(limits: CellLimits, today: datetime.datetime) -> Interpreter:
    """A fresh session whose clock says `today`."""
    return MontyInterpreter(limits, now=today) if available() else SqlOnlyInterpreter(limits)
