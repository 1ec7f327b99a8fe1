"""`peek map …`: what was, what waits, what a model sees, and what comes in from elsewhere.

Owns: their data and text. Refuses to know: arguments as they are parsed, exit codes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from peek_core.context_map.exchange import MAX_CHARS
from peek_core.context_map.history import diff, word_diff
from peek_core.context_map.review import Suggestion
from peek_core.context_pipe.explain import DASH
from peek_core.curating.bringing import Brought
from peek_core.errors import Refused, UnreadableFile
from peek_core.values.canon import clean_text
from peek_core.workspace import Workspace

Said = tuple[dict[str, Any], str]
NOBODY_LEFT, NOTHING_WAITS, NOTHING_DIFFERS = "Nobody left the map.", "No suggestion waits.", "Nothing differs."


def graveyard(w: Workspace, dataset: str, first: str | None, second: str | None) -> Said:
    """Items that left, the latest first."""
    left = w.curator(dataset).graveyard()
    data = [
        {
            "id": g.item.id,
            "text": g.item.text,
            "score": g.item.score,
            "how": g.how,
            "by": g.by,
            "why": g.why,
            "version": g.version,
            "at": g.at,
            "run": g.run or None,
        }
        for g in left
    ]
    lines = [
        f"[{g.item.id}] {g.item.text}\n       {g.how} by the {g.by} in version {g.version}, {_when(g.at)}"
        + (f": {g.why}" if g.why else "")
        for g in left
    ]
    return {"graveyard": data}, clean_text("\n".join(lines) or NOBODY_LEFT)


def suggestions(w: Workspace, dataset: str, first: str | None, second: str | None) -> Said:
    """What waits for a decision, oldest first."""
    waiting = w.curator(dataset).suggestions()
    data = [
        {
            "id": s.id,
            "version": s.version,
            "op": s.edit.op,
            "item": s.edit.id or None,
            "section": s.edit.section,
            "text": s.edit.text or None,
            "present": s.present,
            "evidence": s.edit.evidence.sql if s.edit.evidence else None,
            "state": s.state,
            "why": s.why,
            "run": s.run,
            "question": s.question,
            "applies": s.applies,
            "outdated": s.outdated or None,
        }
        for s in waiting
    ]
    return {"suggestions": data}, clean_text("\n".join(map(_suggestion, waiting)) or NOTHING_WAITS)


def _suggestion(s: Suggestion) -> str:
    head = f"{s.id:>5}  {s.edit.op} {s.edit.id or s.edit.section}"
    said = {"ADD": s.edit.text, "DELETE": s.present or s.before}.get(s.edit.op) or marked(s.before, s.edit.text)
    notes = [s.state, s.why, f"asked: {s.question}", f"no longer applies: {s.outdated}" if s.outdated else ""]
    return f"{head}  {said}\n       {'; '.join(filter(None, notes))}"


def blame(w: Workspace, dataset: str, first: str | None, second: str | None) -> Said:
    """The life of one item."""
    moments = w.curator(dataset).life(_needed(first, "`blame` needs the id of an item"))
    lines = []
    for m in moments:
        lines.append(f"v{m.version}  {_when(m.at)}  {m.what} by the {m.author}")
        long = max(len(m.before), len(m.after)) > 20
        moved = marked(m.before, m.after) if long else f"{m.before or DASH} → {m.after or DASH}"
        lines += [f"    {moved}"] if m.before or m.after else []
        lines += [f"    why: {m.why}"] if m.why else []
        lines += [f"    asked: {m.question} (run {m.run})"] if m.run else []
        lines += [f"    evidence: {' '.join(m.evidence.split())}"] if m.evidence else []
    return {"id": first, "moments": moments}, clean_text("\n".join(lines))


def changes(w: Workspace, dataset: str, first: str | None, second: str | None) -> Said:
    """What turned one version into another, word by word."""
    a, b = (_version(v) for v in (first, second))
    found = diff(w.map(dataset, number=a), w.map(dataset, number=b))
    data = [
        {
            "kind": c.kind,
            "id": c.id,
            "before": c.before,
            "after": c.after,
            "words": word_diff(c.before, c.after) if c.kind == "changed" else None,
        }
        for c in found
    ]
    lines = [f"{c.kind:<10} {c.id}  {marked(c.before, c.after)}" for c in found]
    return {"from": a, "to": b, "changes": data}, clean_text("\n".join(lines) or NOTHING_DIFFERS)


def seen(w: Workspace, dataset: str, first: str | None, second: str | None) -> Said:
    """The text a model sees, with the tokens of each line."""
    told = w.seen(dataset)
    lines = []
    for record in told.records:
        lines += [f"{record.tokens:>6,}  --- {record.name} ---", *(f"{n.tokens:>6,}  {n.text}" for n in record.lines)]
    data = {"records": told.records, "tokens": told.tokens, "text": told.text, "sha256": told.sha256}
    return data, clean_text("\n".join([*lines, f"{told.tokens:>6,}  in all (estimated by o200k)"]))


LOOKS: Mapping[str, Callable[[Workspace, str, str | None, str | None], Said]] = {
    "suggestions": suggestions,
    "graveyard": graveyard,
    "blame": blame,
    "diff": changes,
    "seen": seen,
}
"""Acts that change nothing: workspace, dataset and what follows the act -> data and text."""


def bring_file(w: Workspace, dataset: str, path: Path) -> Brought:
    """Import a map from a file. Raises UnreadableFile, or Refused with the line."""
    try:
        # A character takes four bytes at most.
        large = path.stat().st_size > 4 * MAX_CHARS
        text = "" if large else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else "it is no UTF-8 text"
        raise UnreadableFile(f"The map can't be read: {why}", where=str(path), next="Export one as json.") from failure
    if large:
        raise UnreadableFile("The file is too large to be a map", where=str(path), next="Export one as json.")
    return w.curator(dataset).bring_text(text)


def brought_data(done: Brought) -> dict[str, Any]:
    """The report of an import or a copy."""
    return {
        "added": [{"id": i.id, "section": i.section.value, "text": i.text, "state": i.state} for i in done.added],
        "proposed": [{"id": d.id, "name": d.name, "rule": d.rule} for d in done.proposed],
        "passed": done.passed,
        "refused": done.refused,
    }


def brought_text(done: Brought) -> str:
    """The same for people, followed by an empty line."""
    counts = [
        (len(done.added), "added"),
        (len(done.proposed), "proposed"),
        (len(done.passed), "passed over"),
        (len(done.refused), "refused"),
    ]
    lines = [", ".join(f"{n:,} {what}" for n, what in counts if n) or "Nothing was in it"]
    lines += [f"  passed over: {one.text}  ({one.why})" for one in done.passed]
    lines += [f"  refused: {one.text}  ({one.why})" for one in done.refused]
    return clean_text("\n".join(lines) + "\n")


def marked(before: str, after: str) -> str:
    """Two texts as one, word by word: [-gone-] and {+new+}."""
    shape = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(shape[kind].format(text) for text, kind in word_diff(before, after))


def _needed(value: str | None, what: str) -> str:
    if value is None:
        raise Refused(what, next="`peek map DATASET` shows the ids.")
    return value


def _version(value: str | None) -> int:
    if value is None or not value.isdecimal():
        raise Refused("`diff` needs the numbers of two versions", next="peek map DATASET diff 3 5")
    return int(value)


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat(" ", "minutes")
