"""Execute: spill, encode to exact bytes, verify, send, decode. The only stage that talks to a provider.

Owns: the stage-boundary verification and the send. Refuses to know: why sections are in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from peek_core.context_pipe.rules.working import Placed
from peek_core.errors import Broken
from peek_core.ports import CancelToken, Provider
from peek_core.values.canon import canonical_json, escaped
from peek_core.values.messages import Completion
from peek_core.values.sources import ANCHORS, Priority, SourceRecord

HEAD = 48
"""Bytes of a section that are looked for before the whole of it is compared."""
UNSENT = "Nothing was sent. Ask again; if it stays, report it."


def verify(records: Sequence[SourceRecord], placed: Sequence[Placed]) -> None:
    """What was decided keeps the laws: what never leaves is there, anchors are in their order, pairs are adjacent.

    Raises Broken, before anything is sent, naming the section that failed.
    """
    names = {p.record.name for p in placed}
    for record in records:
        must_stay = record.priority is Priority.NEVER or record.kind in ANCHORS
        if must_stay and record.name not in names:
            raise Broken(f"Prompt section {record.name} may never be dropped, but was", next=UNSENT)
    anchors = [p.record.name for p in placed if p.record.kind in ANCHORS]
    if anchors != [r.name for r in records if r.kind in ANCHORS]:
        raise Broken(f"Prompt sections {', '.join(anchors)} are out of order", next=UNSENT)
    pairs = [p.record.pair for p in placed]
    ended: set[str] = set()
    for n, pair in enumerate(pairs):
        if n and pairs[n - 1] and pairs[n - 1] != pair:
            ended.add(pairs[n - 1])
        if pair and pair in ended:
            raise Broken(f"Prompt sections of {pair} were torn apart", next=UNSENT)


def verify_wire(wire: bytes, placed: Sequence[Placed], *, structured: bool) -> None:
    """What will be sent is what was decided: every section's bytes, in the order decided.

    `structured`: the provider reads the typed form where there is one. Raises Broken, before anything is sent, naming
    the first section that is not there.
    """
    at = 0
    for p in placed:
        typed = structured and p.section.data is not None
        needle = canonical_json(p.section.data).encode("utf-8") if typed else escaped(p.section.text)
        # A short look first: a long search prepares itself at length, and the place is nearly always the next one.
        found = wire.find(needle[:HEAD], at)
        if found >= 0 and not wire.startswith(needle, found):
            found = wire.find(needle, at)
        if found < 0:
            raise Broken(f"Prompt section {p.record.name} is not in the request as it was decided", next=UNSENT)
        at = found + len(needle)


def send(provider: Provider, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
    """Send the exact bytes and read to the end. Raises EndpointFailed or Cancelled."""
    return provider.send(wire, cancel, on_first_byte)
