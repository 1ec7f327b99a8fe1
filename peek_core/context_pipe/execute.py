"""Execute: encode to exact bytes, verify, send, decode. The only stage that talks to a provider.

Owns: the stage-boundary verification and the send. Refuses to know: why sections are in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from peek_core.context_pipe.rules.working import Placed
from peek_core.errors import Broken
from peek_core.ports import CancelToken, Provider
from peek_core.values.messages import Completion
from peek_core.values.sources import ANCHORS, Priority, SourceRecord


def verify(records: Sequence[SourceRecord], placed: Sequence[Placed]) -> None:
    """What was decided is what will be sent: nothing that never leaves is gone, pairs are adjacent.

    Raises Broken, before anything is sent, naming the section that failed.
    """
    names = [p.record.name for p in placed]
    for record in records:
        must_stay = record.priority is Priority.NEVER or record.kind in ANCHORS
        if must_stay and record.name not in names:
            raise Broken(f"Prompt section {record.name} may never be dropped, but was", next="Nothing was sent.")
    pairs = [p.record.pair for p in placed]
    for pair in filter(None, dict.fromkeys(pairs)):
        first = pairs.index(pair)
        if any(p != pair for p in pairs[first : first + pairs.count(pair)]):
            raise Broken(f"Prompt sections of {pair} were torn apart", next="Nothing was sent.")


def send(provider: Provider, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
    """Send the exact bytes and read to the end. Raises EndpointFailed or Cancelled."""
    return provider.send(wire, cancel, on_first_byte)
