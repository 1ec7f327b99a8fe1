"""PEEK's cache policy for other people's agents: a map that stands in the system prompt and learns from trajectories.

Owns: the order of an update (Algorithm 1 of arXiv:2605.19932) over plain text. Refuses to know: our app, DuckDB, the
pipe, files other than its own. What differs from the released code, on purpose: ids are never used again, text that
reads like an instruction, a secret or personal data is refused with its reason, and new items have a grace.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from peek_core import tokens
from peek_core.context_map import cartographer, distiller
from peek_core.context_map import map as maps
from peek_core.context_map.admission import text_refusal, twin_of
from peek_core.context_map.distiller import Distillation, head_and_tail
from peek_core.context_map.evictor import Eviction, evict
from peek_core.context_map.map import ContextMap, Edit, render
from peek_core.context_map.prompts import prompt
from peek_core.errors import UnreadableFile
from peek_core.ports import TokenCounter
from peek_core.settings import MapSettings
from peek_core.values.canon import canonical_json, clean_text, fold
from peek_core.values.codec import dump, load

Message = Mapping[str, Any]


class LMClient(Protocol):
    """Whatever answers. `last_usage()` is asked for where it is there."""

    def completion(self, messages: Sequence[Message]) -> str:
        """The reply to chat messages with `role` and `content`."""


@dataclass(frozen=True)
class UpdateResult:
    """What one trajectory changed. `refused` are edits with their reasons, `usage` one entry a call."""

    distillation: Distillation
    applied: tuple[Edit, ...]
    refused: tuple[tuple[Edit, str], ...]
    dropped: tuple[str, ...]
    evicted: tuple[Eviction, ...]
    map_text: str
    usage: tuple[Any, ...]


@dataclass(frozen=True)
class _Saved:
    """The file of `save`."""

    map: ContextMap
    steps: int
    token_budget: int
    evolve_steps: int | None
    order: str


class CachePolicy:
    """One map over one body of material.

    `token_budget` is held exactly in o200k tokens of the rendered map; the map learns from the first `evolve_steps`
    trajectories, from all of them where that is None. `order` is one of the Evictor's.
    """

    def __init__(
        self,
        client: LMClient,
        token_budget: int = 1024,
        evolve_steps: int | None = None,
        *,
        order: str = "paper",
        count: TokenCounter | None = None,
    ) -> None:
        self.client, self.token_budget, self.evolve_steps, self.order = client, token_budget, evolve_steps, order
        self.map = ContextMap()
        self.steps = 0
        self._count = count or tokens.counter()[1]

    @property
    def current_map_text(self) -> str:
        """For the system prompt, below your own instructions: notes that may be out of date."""
        return render(self.map.items)

    def update(self, *, trajectory: str | Sequence[Message], question: str = "") -> UpdateResult | None:
        """Learn from one trajectory: text, or chat messages. None where learning has ended; that counts as a step too.

        Raises what the client raises; then nothing was changed.
        """
        if self.evolve_steps is not None and self.steps >= self.evolve_steps:
            self.steps += 1
            return None
        usage: list[Any] = []
        told = self._ask(
            usage,
            prompt("any_distiller"),
            self.current_map_text,
            f"Question: {question}\n\nTrajectory:\n{self._shortened(trajectory)}",
        )
        found = distiller.read(told, 1)
        size = self._count(self.current_map_text)
        charted = self._ask(
            usage,
            prompt("any_cartographer"),
            self.current_map_text,
            f"The map holds {size:,} of {self.token_budget:,} tokens.\n\nDistillation:\n{canonical_json(found.as_data())}",
        )
        chart = cartographer.read(charted, found, 1)
        new = self.map
        for id, name, _ in {tag[0]: tag for tag in found.tags}.values():
            new, _refusal = maps.tag(new, id, name)
        applied: list[Edit] = []
        refused: list[tuple[Edit, str]] = []
        for edit in (replace(e, evidence=None, text=clean_text(e.text)) for e in chart.edits):
            refusal = _refusal_of(new, edit)
            if refusal is None:
                new, _, refusal = maps.apply(new, edit, author="agent", question=question)
            if refusal is None:
                applied.append(edit)
            else:
                refused.append((edit, refusal))
        new, gone = evict(replace(new, questions=new.questions + 1), self.token_budget, self._count, order=self.order)
        self.map = replace(new, version=self.map.version + 1)
        self.steps += 1
        return UpdateResult(
            found, tuple(applied), tuple(refused), chart.dropped, gone, self.current_map_text, tuple(usage)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write map, scores and step count as JSON, whole or not at all."""
        target = Path(path)
        part = target.with_name(f".{target.name}.part")
        part.write_text(dump(_Saved(self.map, self.steps, self.token_budget, self.evolve_steps, self.order)), "utf-8")
        os.replace(part, target)

    @classmethod
    def load(cls, path: str | os.PathLike[str], client: LMClient, *, count: TokenCounter | None = None) -> CachePolicy:
        """The policy as it was saved. Raises `UnreadableFile` where the file is none of ours, `OSError` where it is gone."""
        try:
            held = load(_Saved, Path(path).read_text("utf-8"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableFile(f"{path} holds no saved map", next="Save one with CachePolicy.save.") from error
        made = cls(client, held.token_budget, held.evolve_steps, order=held.order, count=count)
        made.map, made.steps = held.map, held.steps
        return made

    def _ask(self, usage: list[Any], rules: str, map_text: str, material: str) -> str:
        messages = [
            {"role": "system", "content": rules},
            {"role": "user", "content": f"CONTEXT MAP:\n{map_text}\n\n{clean_text(material)}"},
        ]
        reply = self.client.completion(messages)
        last = getattr(self.client, "last_usage", None)
        usage.append(last() if callable(last) else None)
        return reply

    def _shortened(self, trajectory: str | Sequence[Message]) -> str:
        """Whole paragraphs or messages of head and tail within the budget."""
        if isinstance(trajectory, str):
            parts = trajectory.split("\n\n")
        else:
            parts = [f"{m.get('role', '')}: {m.get('content', '')}" for m in trajectory]
        head, tail = head_and_tail([self._count(p) for p in parts], MapSettings.trajectory_tokens)
        left_out = [f"({tail - head} parts left out here)"] if tail > head else []
        return "\n\n".join([*parts[:head], *left_out, *parts[tail:]])


def _refusal_of(current: ContextMap, edit: Edit) -> str | None:
    """Without a query nothing can be settled: what contradicts an item is for a REPLACE of it."""
    if edit.op == "DELETE":
        return None
    refusal = text_refusal(edit.text)
    twin, contradicts = twin_of(current, edit)
    if refusal or twin is None:
        return refusal
    if contradicts:
        return f"contradicts {twin.id}, which has to be replaced" if edit.op == "ADD" else None
    return f"{twin.id} already says this" if edit.op == "ADD" or fold(twin.text) == fold(edit.text) else None
