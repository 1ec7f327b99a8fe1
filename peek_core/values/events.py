"""What a run tells while it goes on; stored one row each, drawn live and again after a reload.

Owns: the event names and their fields. Refuses to know: who listens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

EventName = Literal[
    "started",  # question, map_version, waiting_update
    "thinking",  # turn, call: a request was sent
    "first_byte",  # turn
    "cell",  # turn, code
    "sql",  # turn, query: SqlRecord
    "sub_call",  # turn, asked, answered
    "shown",  # turn, table
    "step",  # step: Step
    "recall",  # turn, section, start, characters: a shortened or cleared section was read on
    "alert",  # source, call, name, cause
    "recovery",  # source, tokens before and after: a request refused for its length is made shorter
    "truncated",  # source, estimated, counted: the endpoint seems to have read a part only
    "answer",  # answer: Answer, checked numbers
    "ended",  # status, reason
    "distilled",  # diagnosis, tags, candidates
    "edits",  # edits proposed, dropped with reason
    "admission",  # admitted, suggested, refused with reason
    "evicted",  # items that left, tokens before and after
    "learned",  # version_before, version_after, no change or failure said
]


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run. `at` is seconds since the epoch, `seq` counts from 1 within the run."""

    run: str
    seq: int
    name: EventName
    at: float
    body: Mapping[str, Any]
