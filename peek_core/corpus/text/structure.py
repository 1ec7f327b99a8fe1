"""Where the table lies in a file: lines above it, header rows, its width.

Owns: reading that off the first records. Refuses to know quotes, encodings, types in SQL, and the rest of the file; what
a header looks like (`row_kinds`) and what it says (`header`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from peek_core.corpus.text import header, row_kinds
from peek_core.corpus.text.cutting import Record
from peek_core.corpus.text.row_kinds import BODY, Kind, data_like, header_like, names_years, sparse, typed
from peek_core.values.dataset import Doubt

LIKE_A_TABLE = 2
"""So many lines above the table, all cut alike by another delimiter, may well be the table."""
_RUN = 3


@dataclass(frozen=True)
class Structure:
    """The table's place in the file, counted in records of the head."""

    width: int
    above: tuple[Record, ...]
    """Records before the header: titles, notes, blank lines."""
    header: tuple[Record, ...]
    labels: tuple[str, ...]
    body: int
    """Index of the first record below the header."""
    kinds: tuple[Kind, ...]
    wordy: tuple[bool, ...]
    """For each column whether it holds no numbers, dates or times at all."""
    comments: bool = False
    """Lines that begin with # are comments."""
    repairs: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def widths(records: Sequence[Record]) -> int:
    """The width of the table: that of most records; 1 where the delimiter only stands inside sentences."""
    filled = [r for r in records if r.filled]
    rows = [r for r in filled if not r.raw.startswith("#")] or filled or [r for r in records if not r.blank]
    wide = Counter(r.width for r in rows if r.width > 1)
    if not wide or not _cuts(rows):
        return 1
    most = max(wide.values())
    mode = max(w for w, n in wide.items() if n == most)
    top = _top_run(records, mode)
    if top is None or top >= mode:
        return mode
    # Rows wider than the header: either they all end with a delimiter, or text with a delimiter in it was not quoted.
    as_wide = (wide[top] - 1) / max(1, sum(wide.values()) - 1)
    longer = [r for r in rows if r.width > top]
    loose = sum(any(f.startswith(" ") and f.strip() for f in r.fields[top:]) for r in longer)
    return top if len(longer) == 1 or as_wide >= 0.1 or loose >= 0.9 * len(longer) else mode


def _cuts(rows: Sequence[Record]) -> bool:
    """Whether lines are cut into columns at all, rather than sentences at their commas."""
    cut = [r.width > 1 for r in rows]
    if cut[0]:
        # A header that is cut where no line below it is: a name with a delimiter in it.
        return len(rows) == 1 or any(cut[1:])
    # The first line is not cut, so it names one column, or it is a title: then a table of one width follows.
    if any(width > 2 and len(list(run)) >= 5 for width, run in itertools.groupby(r.width for r in rows)):
        return True
    first = cut.index(True)
    block = [r.width for r in rows[first : first + BODY] if r.width > 1]
    mode = max(block, key=block.count)
    return len(block) >= 2 and block.count(mode) >= 0.6 * (len(rows) - first) and rows[first].width == mode


def _top_run(records: Sequence[Record], mode: int) -> int | None:
    """Width of the first record that is no title, where the next one could be its row."""
    rows = [r for r in records if not r.blank and not r.raw.startswith("#")]
    for first, second in itertools.pairwise(rows):
        if first.width > 1 and not sparse(first, first.width) and abs(first.width - mode) <= max(1, mode // 2):
            return first.width if second.width in (first.width, mode) or first.width == mode else None
    return None


def find(
    records: Sequence[Record],
    *,
    whole: bool = True,
    width: int | None = None,
    above: int | None = None,
    header_rows: int | None = None,
) -> Structure:
    """The structure that the first records show. `above` and `header_rows` are a person's choice, in lines and rows.

    `whole`: these are all records of the file. Raises nothing; a file of blank records gives a table of one column.
    """
    table = width if width is not None else widths(records)
    comments = table > 1 and any(r.raw.startswith("#") and r.width != table for r in records)
    rows = [n for n, r in enumerate(records) if not (r.blank and table > 1) and not (comments and _comment(r, table))]
    if not rows:
        return Structure(
            max(1, table),
            tuple(records),
            (),
            ("column 1",),
            len(records),
            row_kinds.no_kinds(max(1, table)),
            (False,) * max(1, table),
        )
    kinds = row_kinds.kinds([records[n] for n in rows], table)
    doubts: list[Doubt] = []
    if above is not None:
        start = next((i for i, n in enumerate(rows) if records[n].line > above), len(rows) - 1)
    else:
        start = _start(records, rows, table, kinds)
    count = header_rows if header_rows is not None else header.count_rows(records, rows[start:], table, kinds, doubts)
    head = [records[n] for n in rows[start : start + count]]
    if above is None and count:
        doubts += header.title_doubt(records, rows, start, table)
    labels, repairs, said = header.labels(head, table)
    doubts += said
    table = len(labels)
    kinds = (*kinds, *row_kinds.no_kinds(table))[:table]
    body = rows[start + count - 1] + 1 if count else rows[start]
    wordy = row_kinds.wordy(records[body:], table)
    assumptions = []
    if not count:
        assumptions.append(
            "There is no header: the first line holds values like those below, so columns were numbered."
        )
        if all(kinds) and header_rows is None:
            doubts.append(
                Doubt(
                    "line 1", "It holds numbers like the lines below, so columns were numbered", "read it as the header"
                )
            )
    if count > 1:
        joined = next((text for text in labels if " " in text), labels[0])
        assumptions.append(f"{count} header rows were joined, e.g. “{joined[:60]}”.")
    if count > 2 and header_rows is None:
        doubts.append(Doubt(f"line {head[0].line}", f"{count} lines were read as one header", "some of them as rows"))
    first = rows[start]
    left = [r for r in records[:first] if r.filled]
    if above is None and len(left) >= LIKE_A_TABLE and _cut_alike(left):
        told = f"{len(left)} lines were left out above the table, though another delimiter cuts them alike"
        doubts.append(Doubt(f"line {left[0].line}", told, "they are the table"))
    cut = [r for r in records[:first] if r.filled > 1 and not _comment(r, table)]
    several = cut[0] if cut else None
    # A single line with more fields than the table is a sentence cut at its commas; others may have been rows.
    if several is not None and above is None and (len(cut) > 1 or several.width <= table):
        doubts.append(
            Doubt(
                f"line {several.line}",
                f"“{several.raw[:60]}” was left out as a line above the table",
                "read it as a row",
            )
        )
    return Structure(
        table, tuple(records[:first]), tuple(head), labels, body, kinds, wordy, comments,
        tuple(repairs), tuple(assumptions), tuple(doubts),
    )  # fmt: skip


def _cut_alike(records: Sequence[Record]) -> bool:
    counts = [[r.raw.count(sign) for r in records] for sign in ",;\t|"]
    return any(len(set(some)) == 1 and some[0] > 0 for some in counts) and all(r.width == 1 for r in records)


def _comment(record: Record, width: int) -> bool:
    return record.raw.startswith("#") and record.width != width


def _start(records: Sequence[Record], rows: Sequence[int], width: int, kinds: Sequence[Kind]) -> int:
    """Position in `rows` of the first header row, or of the first row where there is no header."""
    if width == 1:
        return 0
    fits = [records[n].width == width for n in rows]
    likely = (
        i for i, fit in enumerate(fits) if fit and (all(fits[i : i + _RUN]) or header_like(records[rows[i]], kinds))
    )
    at = next(likely, next((i for i, fit in enumerate(fits) if fit), 0))
    if at and any(kinds) and data_like(records[rows[at]], kinds) and not names_years(records[rows[at]], kinds):
        # The line above has another width, yet names this data: a header with a delimiter too many or too few.
        above = records[rows[at - 1]]
        near = abs(above.width - width) <= max(1, width // 4) and above.filled >= max(2, 0.6 * width)
        return at - 1 if near and not sum(map(typed, above.fields)) else at
    while at + 1 < len(rows) and sparse(records[rows[at]], width):
        below = next((i for i in range(at + 1, len(rows)) if not sparse(records[rows[i]], width)), None)
        if below is None or not _is_title(records, rows, at, below, width, kinds):
            break
        at = below
    return at


def _is_title(
    records: Sequence[Record], rows: Sequence[int], at: int, below: int, width: int, kinds: Sequence[Kind]
) -> bool:
    """Whether the sparse rows from `at` to `below` stand above the header rather than being one themselves."""
    next_row = records[rows[below]]
    if any(kinds):
        if width == 2 and below == at + 1 and records[rows[at]].filled == 2:
            return False
        return header_like(next_row, kinds)
    return width > 2 and next_row.width == width
