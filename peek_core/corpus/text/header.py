"""The header of a table in a text file: how many rows it has, and what it calls the columns.

Owns: joining several rows to one label a column, names too many or too few, and what may be doubted of all that.
Refuses to know where the header begins (`structure`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from peek_core.corpus.names import label
from peek_core.corpus.text.cutting import Record
from peek_core.corpus.text.row_kinds import (
    BODY,
    MAX_HEADER_ROWS,
    Kind,
    data_like,
    header_like,
    names_years,
    neutral,
    sparse,
    typed,
)
from peek_core.values.dataset import Doubt

_WORD = re.compile(r"\w{4,}")


def count_rows(
    records: Sequence[Record], rows: Sequence[int], width: int, kinds: Sequence[Kind], doubts: list[Doubt]
) -> int:
    """How many of `rows`, indexes of `records` that begin at the header, belong to it; what is unsure joins `doubts`."""
    first = records[rows[0]]
    if width == 1:
        return _one_column(records, rows, kinds, doubts)
    if not any(kinds):
        below = [records[n] for n in rows[1:BODY]]
        again = sum(
            any(r.width > n and r.fields[n] == cell for r in below)
            for n, cell in enumerate(first.fields)
            if not neutral(cell)
        )
        told = sum(not neutral(cell) for cell in first.fields)
        if below and again == told and told > 1:
            doubts.append(
                Doubt("line 1", "Its values come again below, so columns were numbered", "read it as the header")
            )
            return 0
        return 1
    count = 0
    while count < min(MAX_HEADER_ROWS, len(rows)) and header_like(records[rows[count]], kinds):
        count += 1
        if names_years(records[rows[count - 1]], kinds):
            break
    if count == 0 and not data_like(first, kinds):
        return 1  # a header of signs only, or with nothing over its numbers
    if count > 1 and count == len(rows):
        return 1
    if count > 2 and not all(sparse(records[n], width) or _group(records[n]) for n in rows[: count - 2]):
        # Many rows of words over one column of numbers: rather gaps in that column than header rows.
        return 1
    if count > 1 and sum(map(bool, kinds)) == 1 and not _group(first) and not _repeats(first, records[rows[1]]):
        doubts.append(
            Doubt(f"line {records[rows[1]].line}", "It was read as a second header row", "read it as the first row")
        )
    return count


def _group(record: Record) -> bool:
    """A row of group names: gaps between its names, as merged cells leave them."""
    return record.filled < record.width and record.filled >= 1


def _repeats(first: Record, second: Record) -> bool:
    return [c.strip() for c in first.fields] == [c.strip() for c in second.fields]


def _one_column(records: Sequence[Record], rows: Sequence[int], kinds: Sequence[Kind], doubts: list[Doubt]) -> int:
    first = records[rows[0]]
    if kinds and kinds[0]:
        return 0 if typed(first.raw) else 1
    said = label(first.raw.strip().strip('"'))[:60]
    again = any(records[n].raw == first.raw for n in rows[1:])
    if again:
        doubts.append(
            Doubt("line 1", "Its value comes again below, so the column was numbered", "read it as the header")
        )
        return 0
    doubts.append(Doubt("line 1", f"“{said}” was taken as the column's header", "read it as data"))
    return 1


def title_doubt(records: Sequence[Record], rows: Sequence[int], start: int, width: int) -> list[Doubt]:
    """A single padded line right above the header could be a title or the names of groups of columns."""
    if start != 1 or rows[1] != rows[0] + 1:
        return []
    title = records[rows[0]]
    if title.width != width or width < 3 or title.filled != 1:
        return []
    text = next(f for f in title.fields if f.strip()).strip()
    # A name over a group of columns tends to share a word with theirs, a title does not.
    shared = set(_WORD.findall(text.casefold())) & set(_WORD.findall(" ".join(records[rows[1]].fields).casefold()))
    if not shared:
        return []
    return [Doubt(f"line {title.line}", f"“{text[:60]}” was left out as a title", "read it as a first header row")]


def labels(head: Sequence[Record], width: int) -> tuple[tuple[str, ...], list[str], list[Doubt]]:
    """One label for each column, what was repaired in them, and what could be otherwise."""
    if not head:
        return tuple(f"column {n}" for n in range(1, width + 1)), [], []
    repairs: list[str] = []
    doubts: list[Doubt] = []
    rows = [list(map(label, r.fields)) for r in head]
    last = rows[-1]
    line = head[-1].line
    if len(last) > width:
        extra = len(last) - width
        while extra and not last[-1]:
            last.pop()
            extra -= 1
        gaps = [n for n, text in enumerate(last) if not text]
        if extra and len(gaps) == extra:
            for n in reversed(gaps):
                last.pop(n)
            repairs.append(
                f"The header has a delimiter too many: {len(gaps)} empty name{'s were' if len(gaps) > 1 else ' was'} left out."
            )
        elif extra:
            doubts.append(
                Doubt(
                    f"line {line}",
                    f"The header has {len(last)} names, most rows have {width} fields",
                    "names stand one column off",
                )
            )
            width = len(last)
        else:
            repairs.append("The header ends with an empty field; it was left out.")
    elif len(last) < width:
        missing = width - len(last)
        names = "name" if missing == 1 else "names"
        said = f"The header has {missing} {names} less than the rows have fields"
        if head[-1].filled:
            doubts.append(Doubt(f"line {line}", said, "another column has no name"))
    as_written = [list(row) for row in rows]
    for at, upper in enumerate(rows[:-1]):
        # A name over a group of columns stands over the first of them only, as merged cells leave it.
        if sum(bool(t) for t in upper) < 2:
            continue
        held = ""
        for n in range(min(len(upper), width)):
            begins = any(n < len(r) and r[n] for r in as_written[:at])
            held = upper[n] or ("" if begins else held)
            if not upper[n] and any(n < len(r) and r[n] for r in rows[at + 1 :]):
                upper[n] = held
    made = []
    for n in range(width):
        parts = [r[n] for r in rows if n < len(r) and r[n]]
        made.append(label(" ".join(parts)))
    return tuple(made), repairs, doubts
