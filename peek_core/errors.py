"""Every error PEEK raises on purpose, and what each one means to the person who sees it.

Owns: the error tree and the sentence each error carries. Refuses to know: how an error is shown or logged.

    PeekError                    has .what (what happened), .where (file, line, column, item), .next (what to do)
    ├── Refused                  the input can't be read or the act isn't allowed; nothing was changed
    │   ├── UnreadableFile       not a table, wrong encoding, empty, no permission
    │   └── NotFound             no dataset, run, item or call of that name
    ├── Repairable               the model's code or SQL failed; goes back to it as an observation
    │   ├── CellFailed           a Python cell raised, looped or printed without end
    │   └── QueryFailed          DuckDB refused or stopped a statement
    ├── Terminal                 ends the run with what there is
    │   ├── OutOfBudget          calls, tokens, money or wall time are used up
    │   ├── Cancelled            the person stopped it
    │   └── Broken               sandbox, engine or model endpoint failed
    │       └── EndpointFailed   the model endpoint refused, hung, cut the stream or spoke garbage
    │           └── TooLong      it refused a request for its length
    └── Conflict                 somebody else changed the same thing first
"""

from __future__ import annotations


class PeekError(Exception):
    """A failure with a sentence for the person: what happened, where, and what to do next."""

    def __init__(self, what: str, *, where: str = "", next: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next = next

    def sentence(self) -> str:
        """What happened, where, and what to do, as one text for page or terminal."""
        head = f"{self.what} ({self.where})" if self.where else self.what
        return f"{head.rstrip('.')}. {self.next}".strip() if self.next else head


class Refused(PeekError):
    """The input can't be read or the act isn't allowed; nothing was changed."""


class UnreadableFile(Refused):
    """The file is not a table this app can read faithfully."""


class NotFound(Refused):
    """There is no dataset, run, item or call of that name."""


class Repairable(PeekError):
    """The submitted code failed; the text goes back to the model as an observation."""


class CellFailed(Repairable):
    """A Python cell raised, ran too long, used too much memory or printed without end."""


class QueryFailed(Repairable):
    """The SQL engine refused or stopped a statement."""


class Terminal(PeekError):
    """The run ends here with what it has."""


class OutOfBudget(Terminal):
    """Calls, tokens, money or wall time are used up."""


class Cancelled(Terminal):
    """The person stopped the run."""


class Broken(Terminal):
    """Sandbox, engine or model endpoint failed; never turned into an answer."""


class EndpointFailed(Broken):
    """The model endpoint refused, hung, cut the stream or sent something that is no reply."""


class TooLong(EndpointFailed):
    """The endpoint refused a request for its length; a shorter one may go through."""


class Conflict(PeekError):
    """Somebody else changed the same thing first; reload and try again."""


class StopCell(Exception):
    """Not a failure: a host function ends the running cell here (FINAL). Interpreters stop at the call site."""
