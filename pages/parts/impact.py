"""The impact report: what a version changed in the data, and what follows from it, the consequences first.

Owns: how it is drawn. Refuses to know: how it is worked out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pages.parts.html import draw, esc, facts, head, percent, swatches, table, tag
from pages.parts.map_drawers import STATES, words_changed
from peek_core.context_map.map import MapSection
from peek_core.impact import DefinitionOutcome, Impact, ItemOutcome, column_said
from peek_core.values.versions import ColumnDiff, TableDiff

CARDS = 60
WORDS = {"holds": "hold", "drifted": "drifted", "broken": "broke", "unverifiable": "can’t be verified"}


def report(dataset: str, found: Impact) -> None:
    """The whole report."""
    for t in found.data.tables:
        _rows(t, several=len(found.data.tables) > 1)
    for name in found.data.tables_added:
        draw(f'<div class="pk-note"><b>{esc(name)}</b> is a new table.</div>')
    for name in found.data.tables_removed:
        draw(f'<div class="pk-note"><b>{esc(name)}</b> is gone.</div>')
    items(found)
    definitions(found)
    answers(found)
    for t in found.data.tables:
        columns(t)


def _rows(t: TableDiff, several: bool) -> None:
    def said(n: int | None) -> str:
        return "–" if n is None else f"{n:,}"

    by = f"by {t.key}" if t.key else ""
    name = f'<div class="pk-cap" style="padding-top:8px">{esc(t.name)}</div>' if several else ""
    draw(
        name
        + '<div style="padding-top:6px">'
        + facts(
            [
                (f"{t.rows_before:,} → {t.rows_after:,}", "rows"),
                (said(t.added), "added"),
                (said(t.removed), "removed"),
                (said(t.changed), f"changed {by}".strip()),
            ]
        )
        + "</div>"
        + (f'<div class="pk-small pk-muted">{esc(t.key_said)}.</div>' if t.key_said else "")
    )


def items(found: Impact) -> None:
    """What became of the map's items; those that hold are counted."""
    counts = [(s, len(found.items_that(s))) for s in WORDS]  # type: ignore[arg-type]  # the four states
    told = "".join(tag(f"{n} {WORDS[s]}", STATES[s]) for s, n in counts if n)
    draw(
        head("Map items", "each item’s query was run on the new rows")
        + f'<div class="pk-row" style="padding:6px 0">{told}</div>'
    )
    if not found.items:
        draw('<div class="pk-note">The map holds no items yet.</div>')
        return
    moved = [*found.items_that("broken"), *found.items_that("drifted"), *found.items_that("unverifiable")]
    if moved:
        rows = [[tag(i.state, STATES[i.state]), _item(i), esc(i.detail or "–")] for i in moved]
        draw(table(["", "Item", "Its query gave"], rows))
    if found.items_that("broken"):
        draw(
            '<div class="pk-small pk-muted">Broken items are no longer shown to the model; the next question’s update '
            "mends or removes them.</div>"
        )


def _item(i: ItemOutcome) -> str:
    section = esc(MapSection(i.section).heading)
    text = words_changed(i.before, i.text) if i.text != i.before else esc(i.text)
    return f'{text}<div class="pk-small pk-muted"><span class="pk-id">{esc(i.id)}</span> {section}</div>'


def definitions(found: Impact) -> None:
    """Which definitions still fit, and why not."""
    on = [d for d in found.definitions if d.state == "on"]
    draw(head("Definitions", f"{len(on)} on, {len(found.held_back)} held back"))
    if not found.definitions:
        draw('<div class="pk-note">None is on.</div>')
        return
    rows = [
        [_fits(d), esc(d.rule), _why(d), *_moved(d)] for d in sorted(found.definitions, key=lambda d: d.state == "on")
    ]
    draw(table(["", "Rule", "Why", "Concerned before", "and now"], rows, num=frozenset({3, 4})))
    if found.held_back:
        draw(
            '<div class="pk-small pk-muted">What is held back changes no figure until you accept it again, or until a later '
            "version fits it.</div>"
        )


def _fits(d: DefinitionOutcome) -> str:
    if d.state == "held_back":
        return tag("held back", "warn")
    return tag("fits again", "accent") if d.was == "held_back" else tag("fits", "ok")


def _why(d: DefinitionOutcome) -> str:
    missing = f"{d.unlabelled:,} values have no label yet" if d.unlabelled else ""
    return esc(". ".join(filter(None, [d.why, missing])) or "–")


def _moved(d: DefinitionOutcome) -> list[str]:
    def share(effect: object) -> str:
        if not isinstance(effect, dict) or not effect.get("rows_before"):
            return "–"
        moved = effect["rows_before"] - effect["rows_after"] + effect["values_changed"]
        return percent(moved / effect["rows_before"], 1)

    return [share(dict(d.before)), "–" if d.state == "held_back" else share(dict(d.after))]


def answers(found: Impact) -> None:
    """Earlier answers that are others now."""
    n = found.answers_run
    draw(head("Earlier answers", f"{n} run again, {len(found.answers)} are others now"))
    if not found.answers:
        said = "No earlier answer changed." if n else "There is none whose query can be run on both versions."
        draw(f'<div class="pk-note">{said}</div>')
        return
    rows = [[esc(a.question), esc(a.before), esc(a.after)] for a in found.answers]
    draw(table(["Question", "Was", "Is now"], rows))


def columns(t: TableDiff) -> None:
    """Columns that changed as cards; the others in one line."""
    changed = [c for c in t.columns if _tells(c)]
    same = [c.name for c in t.columns if c not in changed]
    draw(head(f"Columns of {t.name}", f"{len(changed)} of {len(t.columns)} tell of a change"))
    if changed:
        draw(
            f'<div class="pk-row pk-small pk-muted" style="padding-top:6px">{swatches([("before", "before"), ("", "now")])}</div>'
            '<div class="pk-cards">' + "".join(map(card, changed[:CARDS])) + "</div>"
        )
    if same:
        draw(f'<div class="pk-note">As before: {esc(", ".join(same[:40]))}{"…" if len(same) > 40 else ""}.</div>')


def _tells(c: ColumnDiff) -> bool:
    return bool(column_said(c) or c.changed or c.bins)


def card(c: ColumnDiff) -> str:
    """One column: what changed in words, and a picture where people would rather look."""
    said = [column_said(c), f"{c.changed:,} values corrected" if c.changed and c.factor is None else ""]
    kind = {"added": "accent", "removed": "warn"}.get(c.status, "line")
    state = tag(c.status.split(",")[0], kind) if c.status else ""
    return (
        f'<div class="pk-card"><div class="pk-row"><span class="pk-grow"><b>{esc(c.name)}</b></span>{state}</div>'
        f'<div class="pk-small pk-muted">{esc("; ".join(filter(None, said)) or _range(c))}</div>{_picture(c)}</div>'
    )


def _range(c: ColumnDiff) -> str:
    if c.range_before is None or c.range_after is None or c.range_before == c.range_after:
        return "the same range"
    return f"{c.range_before[0]} to {c.range_before[1]}, now {c.range_after[0]} to {c.range_after[1]}"


def _picture(c: ColumnDiff) -> str:
    if c.bins:
        return _histogram(c)
    if c.values and c.factor is None:
        return _bars(c)
    return ""


def _histogram(c: ColumnDiff) -> str:
    top = max(max(b.before, b.after) for b in c.bins) or 1
    bars = "".join(
        f'<span title="{esc(b.start)} to {esc(b.end)}: {b.before:,}, now {b.after:,}">'
        f'<i class="before" style="height:{_height(b.before, top)}px"></i><i style="height:{_height(b.after, top)}px"></i></span>'
        for b in c.bins
    )
    alt = f"Histogram of {c.name}, before and now"
    return (
        f'<div class="pk-hist two" role="img" aria-label="{esc(alt)}">{bars}</div>'
        f'<div class="pk-ends"><span>{esc(c.bins[0].start)}</span><span>{esc(c.bins[-1].end)}</span></div>'
    )


def _height(count: int, top: int) -> int:
    return max(1, round(56 * count / top)) if count else 0


def _bars(c: ColumnDiff) -> str:
    most = max(max(v.before, v.after) for v in c.values) or 1
    shown: Sequence[object] = c.values[:7]
    rows = "".join(
        f'<span class="n" title="{esc(v.value)}">{esc(v.value[:28])}</span>'
        f'<span class="b two"><i class="before" style="width:{100 * v.before / most:.0f}%"></i>'
        f'<i style="width:{100 * v.after / most:.0f}%"></i></span>'
        f'<span class="pk-num">{v.before:,} → {v.after:,}</span>'
        for v in c.values[: len(shown)]
    )
    left = max(c.distinct_before or 0, c.distinct_after or 0) - len(shown)
    more = f'<div class="pk-small pk-muted">and {left:,} more values</div>' if left > 0 else ""
    return f'<div class="pk-bars">{rows}</div>{more}'
