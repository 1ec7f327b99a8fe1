"""A request's body as a prompt: blocks in the order providers render them, with their tokens and markers.

Owns: reading the body, its render order (tools, then messages) and what of it is a marker. Refuses to know: what was
cached before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from peek_core.providers.simulator import tokens
from peek_core.providers.simulator.profiles import Profile


class BadRequest(ValueError):
    """The body is no Chat Completions request this provider accepts; the text is the provider's."""


@dataclass(frozen=True)
class Block:
    """A content part, a whole string content, or a tool's definition."""

    role: str
    text: str
    marked: bool = False
    ttl: str | None = None
    ends_turn: bool = False
    """Whether a user or tool message ends here."""


@dataclass(frozen=True)
class Prompt:
    """What is rendered, counted and cached."""

    blocks: tuple[Block, ...]
    scope: str
    """Requests of another scope share no cache with this one."""
    implicit: bool = False
    """Whether the newest turn is a marker by itself."""

    @cached_property
    def tokens(self) -> tuple[bytes, ...]:
        return tuple(piece for b in self.blocks for piece in tokens.pieces(b.role, b.text))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """For each block, how many tokens the prompt has up to its end."""
        return tuple(accumulate(tokens.count(b.text) for b in self.blocks))

    @property
    def sha256(self) -> str:
        """Of what the model sees, whatever else the body says."""
        return hashlib.sha256(b"".join(self.tokens)).hexdigest()

    @property
    def text(self) -> str:
        return "\n\n".join(b.text for b in self.blocks)

    def keeping_last(self, count: int) -> Prompt:
        """What is left when the front is cut away."""
        kept: list[Block] = []
        for b in reversed(self.blocks):
            if count > 0:
                kept.insert(0, Block(b.role, tokens.last(b.text, count)))
            count -= tokens.count(b.text)
        return Prompt(tuple(kept), self.scope)


def read(body: Mapping[str, Any], key: str, profile: Profile) -> Prompt:
    """The prompt of a body sent with this key. Raises BadRequest."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        raise BadRequest("Invalid value for 'messages': expected a non-empty array of objects")
    blocks = [_block("tools", tool, profile, json.dumps(_unmarked(tool, profile))) for tool in body.get("tools") or []]
    for message in messages:
        blocks += _of_message(message, profile)
    if profile.marker == "cache_control" and "cache_control" in body and blocks:
        last = blocks[-1]
        blocks[-1] = Block(last.role, last.text, True, _ttl(body["cache_control"]), last.ends_turn)
    marked = sum(b.marked for b in blocks)
    if profile.marker == "cache_control" and marked > profile.max_markers:
        raise BadRequest(
            f"A maximum of {profile.max_markers} blocks with cache_control may be provided. Found {marked}."
        )
    options = body.get("prompt_cache_options") or {}
    if profile.marker == "prompt_cache_breakpoint":
        blocks = [Block(b.role, b.text, b.marked, b.ttl or options.get("ttl"), b.ends_turn) for b in blocks]
    parted = json.dumps([key, *(body.get(name) for name in profile.scope)])
    scope = hashlib.sha256(parted.encode()).hexdigest()
    return Prompt(tuple(blocks), scope, profile.implicit and options.get("mode") != "explicit")


def _of_message(message: Mapping[str, Any], profile: Profile) -> list[Block]:
    role, content = str(message.get("role")), message.get("content")
    blocks: list[Block] = []
    if isinstance(content, str):
        blocks.append(Block(role, content))
    for part in content if isinstance(content, list) else []:
        text = part["text"] if part.get("type") == "text" else json.dumps(_unmarked(part, profile))
        blocks.append(_block(role, part, profile, text))
    if message.get("tool_calls"):
        blocks.append(Block(role, json.dumps(message["tool_calls"])))
    if blocks and role in ("user", "tool"):
        end = blocks[-1]
        blocks[-1] = Block(end.role, end.text, end.marked, end.ttl, ends_turn=True)
    return blocks


def _block(role: str, part: Mapping[str, Any], profile: Profile, text: str) -> Block:
    """OpenAI takes no marker on what the assistant said; Anthropic takes one on any block."""
    may = profile.marker == "cache_control" or (profile.marker != "" and role not in ("assistant", "tools"))
    marker = part.get(profile.marker) if may else None
    return Block(role, text, marker is not None, _ttl(marker))


def _unmarked(part: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    return {k: v for k, v in part.items() if k != profile.marker}


def _ttl(marker: Any) -> str | None:
    return marker.get("ttl") if isinstance(marker, dict) else None
