"""`peek map …`: what its acts do, and the map and the exported view as data.

Owns: which act calls what. Refuses to know: how results are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peek_core.cli_curate import LOOKS, bring_file
from peek_core.consequences import ChangedAnswer
from peek_core.context_map.definitions import DefinitionState
from peek_core.context_map.exchange import FORMS as MAP_FORMS
from peek_core.context_map.exchange import merged, written
from peek_core.context_map.map import render
from peek_core.context_map.regions import Coverage, by_table
from peek_core.curating.bringing import Brought
from peek_core.curation import FORMS as VIEW_FORMS
from peek_core.curation import Curator, Refusal
from peek_core.deciding import Preview
from peek_core.errors import Broken, NotFound, Refused
from peek_core.values.dataset import Dataset
from peek_core.workspace import Workspace

ACTS = (
    "accept",
    "reject",
    "off",
    "export",
    "import",
    "copy",
    "coverage",
    "refused",
    "admit",
    "review",
    *LOOKS,
    "take",
    "turn-down",
    "undo",
    "redo",
    "revive",
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
ACTS_SAID = """acts:
  look at it    coverage, seen, blame ID, diff A B, graveyard, refused, suggestions
  items         add SECTION TEXT, edit ID TEXT, score ID NUMBER, delete ID, keep RUN,
                pin ID, unpin ID, lock ID, unlock ID, freeze ID, thaw ID
  definitions   accept ID, reject ID, off ID
  the agent     admit NUMBER, review on|off, take NUMBER|all [TEXT], turn-down NUMBER|all, unlearn RUN
  the past      undo, redo, revive ID
  as a whole    freeze, thaw, export, import FILE, copy --to DATASET

sections: cr, cu, dc, ps, rr, ep. Without an act the map is printed."""
FORMS = (*VIEW_FORMS, *MAP_FORMS)
"""What `export` writes: the curated view (sql, dbt), or the map."""
_DECISIONS: Mapping[str, DefinitionState] = {"reject": "rejected", "off": "off"}
_NEEDED = {
    "keep": ("the run of an answer", "`peek ask` names it at the end."),
    "unlearn": ("the run of a question", "`peek ask` names it at the end."),
    "admit": ("the number of what was refused", "`peek map DATASET refused` lists them."),
    "take": ("the number of a suggestion, or `all`", "`peek map DATASET suggestions` lists them."),
    "turn-down": ("the number of a suggestion, or `all`", "`peek map DATASET suggestions` lists them."),
    "revive": ("the id of an item that left", "`peek map DATASET graveyard` lists them."),
    "import": ("a file", "`peek map DATASET export --as json --to DIR` writes one."),
    "review": ("on or off", "on: the agent's edits wait as suggestions."),
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
    elif act in ("undo", "redo"):
        curator.undo() if act == "undo" else curator.redo()
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
    elif act in ("take", "turn-down"):
        _decide(curator, act, id, args.text)
    elif act == "review":
        if id not in ("on", "off"):
            raise Refused(f"`review` is on or off, not {id!r}")
        w.set_map(dataset, review=id == "on")
    elif act == "revive":
        curator.revive(id)
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


def _decide(curator: Curator, act: str, which: str, text: str | None) -> None:
    """Take or turn down one suggestion, or all of them."""
    if which == "all":
        if text is not None:
            raise Refused("One text can't stand for all suggestions", next="Take them one by one.")
        curator.take_all() if act == "take" else curator.turn_down_all()
        return
    number = _number(which, "The number of a suggestion")
    curator.take(number, text) if act == "take" else curator.turn_down(number)


def bring(w: Workspace, dataset: Dataset, args: argparse.Namespace) -> tuple[Dataset, Brought]:
    """Import a file, or copy to another dataset: whose map it changed, and the report."""
    if args.act == "import":
        if args.id is None:
            what, where = _NEEDED["import"]
            raise Refused(f"`import` needs {what}", next=where)
        return dataset, bring_file(w, dataset.id, Path(args.id))
    if args.to is None:
        raise Refused("`copy` needs another dataset", next="peek map DATASET copy --to OTHER")
    target = w.dataset(args.to)
    return target, w.copy_map(dataset.id, target.id)


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


def exported(w: Workspace, dataset: Dataset, form: str, to: Path | None, *, redacted: bool = False) -> dict[str, str]:
    """The files, written into a folder where one is named; a section for agents takes its place in the file there is.

    `redacted`: without values.
    """
    if form in MAP_FORMS:
        files = {MAP_FORMS[form]: written(form, w.map(dataset.id), dataset.title, literals=not redacted)}
    elif redacted:
        raise Refused("The view can't be written without values", next=f"Export the map: {', '.join(MAP_FORMS)}.")
    else:
        files = w.curator(dataset.id).export_view(form, dataset.title)
    if to is not None:
        try:
            to.mkdir(parents=True, exist_ok=True)
            if form == "agents":
                files = {name: merged(_held(to / name), text) for name, text in files.items()}
            for name, text in files.items():
                (to / name).write_text(text, "utf-8", newline="")
        except (OSError, UnicodeDecodeError) as failure:
            raise Broken(
                "The export can't be written", where=str(to), next="Choose another folder with --to."
            ) from failure
    return files


def _held(path: Path) -> str:
    # As bytes, so that its line ends stay.
    return path.read_bytes().decode("utf-8") if path.exists() else ""


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
        "review": dials.review,
        "tokens": w.count_tokens(render(current.items)),
        "items": items,
    }
