"""Frames between the engine and its worker: length-prefixed JSON over pipes nobody can print into.

Owns: framing, and claiming the child's standard descriptors. Refuses to know: what a message means. Never pickle: a
worker that ran hostile SQL must not be able to run code in the parent.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any, BinaryIO

HEADER = struct.Struct(">I")
MAX_FRAME = 64 * 2**20
"""Bytes. A worker that announces more than this is not believed."""


class ProtocolError(Exception):
    """The other side sent something that is not a frame."""


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """(reader, writer) over private copies of descriptors 0 and 1, which then point at the null device.

    Whatever a library prints later goes nowhere and cannot corrupt the protocol.
    """
    reader = os.fdopen(os.dup(0), "rb", buffering=-1)
    writer = os.fdopen(os.dup(1), "wb", buffering=-1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    return reader, writer


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dumps_text(message: Any) -> str:
    """JSON text of a message. Raises ValueError for NaN, which is no JSON; values are converted before."""
    return _ENCODER.encode(message)


def dumps(message: Any) -> bytes:
    """JSON bytes of a message; raises as `dumps_text` does."""
    return dumps_text(message).encode("utf-8")


def write(stream: BinaryIO, message: Any) -> None:
    """Send one message. Raises OSError when the other side is gone, ValueError for what JSON can't hold."""
    write_bytes(stream, dumps(message))


def write_bytes(stream: BinaryIO, body: bytes) -> None:
    """Send one already encoded message. Raises ProtocolError when it is larger than MAX_FRAME."""
    if len(body) > MAX_FRAME:
        raise ProtocolError(f"frame of {len(body)} bytes")
    stream.write(HEADER.pack(len(body)) + body)
    stream.flush()


def read(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message, or None at the end of the stream. Raises ProtocolError for anything that is no frame."""
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    (size,) = HEADER.unpack(head)
    if size > MAX_FRAME:
        raise ProtocolError(f"frame of {size} bytes")
    body = stream.read(size)
    if len(body) < size:
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("frame is no JSON") from error
    if not isinstance(message, dict):
        raise ProtocolError("frame is no object")
    return message
