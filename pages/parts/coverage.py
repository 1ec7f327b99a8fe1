"""What the questions so far have looked at, table by table: columns, values, periods, and what nobody looked at.

Owns: how it is drawn. Refuses to know: how it is read off the queries.
"""

from __future__ import annotations

from pages.parts import state
from pages.parts.html import draw, esc, meter, table, tag
from peek_core.cli_map import coverage
from peek_core.cli_text import NOTHING_INSPECTED
from peek_core.context_map.regions import Coverage, Region

SHOWN = 12
"""Values of a column drawn; the rest is counted."""


def listed(dataset: str) -> None:
    """All tables of the dataset."""
    queries, tables = coverage(state.workspace(), dataset)
    if not queries:
        draw(
            f'<div class="pk-note">{esc(NOTHING_INSPECTED)} Once questions are asked, the columns, values and periods their '
            "queries name stand here, and those that none named.</div>"
        )
        return
    many = "query" if queries == 1 else "queries"
    draw(
        f'<div class="pk-note">Counted from the {queries:,} {many} of all questions so far. '
        "The next question is told the same in one line.</div>"
    )
    for one in tables:
        _table(one)


def _table(t: Coverage) -> None:
    looked = f"{len(t.seen)} of {t.columns} columns looked at"
    never = (
        f'<div class="pk-small pk-muted pk-never">Never looked at: {esc(", ".join(t.never))}</div>' if t.never else ""
    )
    body = table(["Column", "Values asked for", "Period"], [_column(r) for r in t.seen]) if t.seen else ""
    draw(
        f'<div class="pk-sec"><span>Table {esc(t.table)}</span><span>{esc(looked)}</span></div>'
        f'<div class="pk-under">{meter(len(t.seen) / max(1, t.columns), looked)}</div>{body}{never}'
    )


def _column(r: Region) -> list[str]:
    values = " ".join(tag(v, "line") for v in r.values[:SHOWN])
    if len(r.values) > SHOWN:
        values += f' <span class="pk-small pk-muted">and {len(r.values) - SHOWN:,} more</span>'
    days = dict.fromkeys(day for day in (r.since, r.until) if day)
    whole = "" if r.values or days else '<span class="pk-muted">as a whole</span>'
    return [f"<b>{esc(r.column)}</b>", values or whole or "–", esc(" to ".join(days)) or "–"]
