"""`peek map …`: what its acts do, and the map and the exported view as data.

Owns: which act calls what. Refuses to know: how results are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peek_core.context_map.definitions import DefinitionState
from peek_core.context_map.map import render
from peek_core.deciding import Preview
from peek_core.errors import Broken, Refused
from peek_core.values.dataset import Dataset
from peek_core.workspace import Workspace

ACTS = (
    "accept",
    "reject",
    "off",
    "export",
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
_DECISIONS: Mapping[str, DefinitionState] = {"accept": "on", "reject": "rejected", "off": "off"}


def change(w: Workspace, dataset: str, args: argparse.Namespace) -> Preview | None:
    """Do one act; for `accept` what it moved."""
    curator, act, id = w.curator(dataset), args.act, args.id
    if act in ("freeze", "thaw") and id is None:
        curator.freeze_map(act == "freeze")
    elif id is None:
        raise Refused(f"`{act}` needs the id of an item", next="`peek map DATASET` shows the ids.")
    elif act in _DECISIONS:
        shown = curator.preview_definition(id) if act == "accept" else None
        curator.decide(id, _DECISIONS[act])
        return shown
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
        try:
            curator.score(id, int(args.text))
        except ValueError:
            raise Refused(f"A score is a whole number, not {args.text!r}") from None
    return None


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
