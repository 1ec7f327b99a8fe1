"""`peek map …`: what its acts do, and the map and the exported view as data.

Owns: which act calls what. Refuses to know: how results are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peek_core.consequences import ChangedAnswer
from peek_core.context_map.definitions import DefinitionState
from peek_core.context_map.map import render
from peek_core.context_map.regions import Coverage, by_table
from peek_core.curation import Refusal
from peek_core.deciding import Preview
from peek_core.errors import Broken, NotFound, Refused
from peek_core.values.dataset import Dataset
from peek_core.workspace import Workspace

ACTS = (
    "accept",
    "reject",
    "off",
    "export",
    "coverage",
    "refused",
    "admit",
    "keep",
    "unlearn",
    "pin",
    "unpin",
    "lock",
    "unlock",
    "freeze",
    "thaw",
    "edit",
    "add",
    "delete",
    "score",
)
_DECISIONS: Mapping[str, DefinitionState] = {"reject": "rejected", "off": "off"}
_NEEDED = {
    "keep": ("the run of an answer", "`peek ask` names it at the end."),
    "unlearn": ("the run of a question", "`peek ask` names it at the end."),
    "admit": ("the number of what was refused", "`peek map DATASET refused` lists them."),
}
"""What stands for the id of an act where it is no item's."""


@dataclass(frozen=True)
class Accepted:
    """What accepting a definition moved."""

    preview: Preview
    earlier: tuple[ChangedAnswer, ...]
    """Earlier answers that are others now."""

    def as_data(self) -> dict[str, Any]:
        p = self.preview
        return {"id": p.definition.id, "effect": p.effect, "samples": p.samples, "earlier_answers": self.earlier}


def change(w: Workspace, dataset: str, args: argparse.Namespace) -> Accepted | None:
    """Do one act; for `accept` what it moved."""
    curator, act, id = w.curator(dataset), args.act, args.id
    if act in ("freeze", "thaw") and id is None:
        curator.freeze_map(act == "freeze")
    elif id is None:
        what, where = _NEEDED.get(act, ("the id of an item", "`peek map DATASET` shows the ids."))
        raise Refused(f"`{act}` needs {what}", next=where)
    elif act == "accept":
        return _accept(w, dataset, id)
    elif act in _DECISIONS:
        curator.decide(id, _DECISIONS[act])
    elif act == "keep":
        run = w.run(id)
        if run.dataset != dataset:
            raise NotFound(f"Run {id} is of another dataset", next=f"peek map {run.dataset} keep {id}")
        curator.keep(run)
    elif act == "unlearn":
        curator.unlearn(id)
    elif act == "admit":
        curator.admit(_number(id, "The number of what was refused"))
    elif act in ("pin", "lock", "freeze"):
        curator.mark(id, act)
    elif act in ("unpin", "unlock", "thaw"):
        curator.mark(id, {"unpin": "pin", "unlock": "lock", "thaw": "freeze"}[act], on=False)
    elif act == "delete":
        curator.delete(id)
    elif args.text is None:
        raise Refused(f"`{act}` needs a text", next=f'peek map DATASET {act} {id} "…"')
    elif act == "edit":
        curator.edit(id, args.text, args.evidence)
    elif act == "add":
        curator.add(id, args.text, args.evidence)
    else:
        curator.score(id, _number(args.text, "A score"))
    return None


def _accept(w: Workspace, dataset: str, id: str) -> Accepted:
    curator = w.curator(dataset)
    shown = curator.preview_definition(id)
    earlier = () if shown.refused else w.consequences(dataset, id)
    curator.decide(id, "on")
    return Accepted(shown, earlier)


def _number(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refused(f"{what} is a whole number, not {text!r}") from None


def coverage(w: Workspace, dataset: str) -> tuple[int, tuple[Coverage, ...]]:
    """In how many queries what was looked at of each table."""
    seen = w.inspected(dataset)
    return seen.queries, by_table(seen, {t.name: [c.name for c in t.columns] for t in w.report(dataset).tables})


def refused_data(kept: Sequence[Refusal]) -> list[dict[str, Any]]:
    """`peek map DATASET refused --json`."""
    return [{"id": r.id, "text": r.says, "why": r.why, "version": r.version} for r in kept]


def exported(w: Workspace, dataset: Dataset, form: str, to: Path | None) -> dict[str, str]:
    """The files, written into a folder where one is named."""
    files = w.curator(dataset.id).export_view(form, dataset.title)
    if to is not None:
        try:
            to.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (to / name).write_text(text, "utf-8")
        except OSError as failure:
            raise Broken(
                "The export can't be written", where=str(to), next="Choose another folder with --to."
            ) from failure
    return files


def map_data(w: Workspace, dataset: Dataset) -> dict[str, Any]:
    """`peek map --json`."""
    current, dials = w.map(dataset.id), w.map_settings(dataset)
    items = [
        {
            "id": i.id,
            "kind": "prose",
            "section": i.section.value,
            "text": i.text,
            "score": i.score,
            "pinned": i.pinned,
            "locked": i.locked,
            "frozen": i.frozen,
            "author": i.author,
            "tokens": w.count_tokens(i.line()),
            "evidence": i.evidence.sql if i.evidence else None,
            "state": i.state,
        }
        for i in current.items
    ]
    items += [
        {
            "id": d.id,
            "kind": d.kind,
            "section": None,
            "text": f"{d.name}: {d.rule}",
            "score": None,
            "pinned": None,
            "locked": None,
            "frozen": None,
            "author": d.author,
            "tokens": w.count_tokens(d.rule),
            "evidence": None,
            "state": d.state,
        }
        for d in current.definitions
    ]
    return {
        "version": current.version,
        "frozen": current.frozen,
        "budget": dials.budget,
        "tokens": w.count_tokens(render(current.items)),
        "items": items,
    }
