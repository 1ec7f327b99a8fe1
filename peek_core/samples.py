"""The sample corpora: what is there, how each is made, its questions.

Owns: finding them. Refuses to know: how they are loaded or asked.
"""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from peek_core.errors import NotFound

NAMES = ("product_feedback", "support_tickets")


@dataclass(frozen=True)
class SampleCorpus:
    """A corpus that makes itself. `questions` are the lines of questions.jsonl in order.

    `generate` writes its files, which are the tables of one dataset, into a folder and returns their paths.
    """

    name: str
    title: str
    description: str
    as_of: str
    generate: Callable[[Path], tuple[Path, ...]]
    questions: tuple[Mapping[str, Any], ...]
    planted: tuple[Mapping[str, Any], ...]
    next_export: Callable[[Path], Path] | None = None
    """Writes the export that follows, where the corpus has one."""
    next_as_of: str = ""


def sample(name: str) -> SampleCorpus:
    """Raises NotFound."""
    if name not in NAMES:
        raise NotFound(f"There is no sample {name!r}", next=f"There are: {', '.join(NAMES)}.")
    folder = files(f"sample_corpora.{name}")
    about = tomllib.loads(folder.joinpath("corpus.toml").read_text("utf-8"))
    lines = folder.joinpath("questions.jsonl").read_text("utf-8").splitlines()
    return SampleCorpus(
        name,
        about["title"],
        about["description"],
        str(about["as_of"]),
        _all_files(_function(about["generator"])),
        tuple(json.loads(line) for line in lines if line.strip()),
        tuple(about["planted"]),
        _function(about["second"]) if "second" in about else None,
        str(about.get("second_as_of", "")),
    )


def _function(where: str) -> Any:
    """The function `module:name`."""
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


def _all_files(make: Callable[[Path], Path | tuple[Path, ...]]) -> Callable[[Path], tuple[Path, ...]]:
    """A generator of one file as one of several."""

    def generate(folder: Path) -> tuple[Path, ...]:
        made = make(folder)
        return (made,) if isinstance(made, Path) else made

    return generate
