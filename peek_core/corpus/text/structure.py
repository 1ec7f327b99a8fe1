"""Where the table lies in a file: lines above it, header rows, its width.

Owns: reading that off the first records. Refuses to know quotes, encodings, types in SQL, and the rest of the file.

What tells a header from data are the columns that hold numbers, dates or times below: a header row holds words there.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from peek_core.corpus.names import label
from peek_core.corpus.text.cutting import Record
from peek_core.corpus.typed.types import MISSING_WORDS
from peek_core.values.dataset import Doubt

MAX_HEADER_ROWS = 8
LIKE_A_TABLE = 2
"""So many lines above the table, all cut alike by another delimiter, may well be the table."""
_BODY = 300
_RUN = 3
_TYPED = re.compile(
    r"[-+(]*\s?(?:[$€£¥]|[A-Z]{3}\s)?\s?[-+]?[.,]?\d[\d.,:/'\u00a0\u202f -]*(?:[eE][+-]?\d+)?\s?(?:%|€|\$|£|¥|[A-Z]{3})?\)?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|true|false",
    re.ASCII,
)
_WORD = re.compile(r"\w{4,}")
_YEAR = re.compile(r"(?:19|20)\d\d")
Kind = Literal["", "value", "year"]
"""What a column holds: words, or numbers, dates or times, or of these only years."""


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


def neutral(cell: str) -> bool:
    """Says nothing about its column: empty, a word for missing, or only signs such as ****."""
    text = cell.strip()
    return not text or text.lower() in MISSING_WORDS or not any(c.isalnum() for c in text)


def typed(cell: str) -> bool:
    """Looks like a number, a date or a time."""
    return bool(_TYPED.fullmatch(cell.strip()))


def sparse(record: Record, width: int) -> bool:
    """So little filled that it is rather a title or a note than a row."""
    return record.filled <= max(1, width // 12)


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
    block = [r.width for r in rows[first : first + _BODY] if r.width > 1]
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
            _words(max(1, table)),
            (False,) * max(1, table),
        )
    kinds = _kinds([records[n] for n in rows], table)
    doubts: list[Doubt] = []
    if above is not None:
        start = next((i for i, n in enumerate(rows) if records[n].line > above), len(rows) - 1)
    else:
        start = _start(records, rows, table, kinds)
    count = header_rows if header_rows is not None else _header_rows(records, rows[start:], table, kinds, doubts)
    head = [records[n] for n in rows[start : start + count]]
    if above is None and count:
        doubts += _title_doubt(records, rows, start, table)
    labels, repairs, said = _labels(head, table)
    doubts += said
    table = len(labels)
    kinds = (*kinds, *_words(table))[:table]
    body = rows[start + count - 1] + 1 if count else rows[start]
    wordy = _wordy(records[body:], table)
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


def _words(width: int) -> tuple[Kind, ...]:
    none: Kind = ""
    return (none,) * width


def _cut_alike(records: Sequence[Record]) -> bool:
    counts = [[r.raw.count(sign) for r in records] for sign in ",;\t|"]
    return any(len(set(some)) == 1 and some[0] > 0 for some in counts) and all(r.width == 1 for r in records)


def _comment(record: Record, width: int) -> bool:
    return record.raw.startswith("#") and record.width != width


def _kinds(rows: Sequence[Record], width: int) -> tuple[Kind, ...]:
    """Which columns hold numbers, dates or times: nearly all cells of the lower rows do."""
    fitting = [r for r in rows if r.width == width and not (width > 2 and sparse(r, width))]
    # Far enough down to be below any header, yet in a short table at least its last row.
    body = fitting[max(1, min(len(fitting) - 1, -(-2 * len(fitting) // 3), MAX_HEADER_ROWS)) :][:_BODY]
    found: list[Kind] = []
    for n in range(width):
        cells = [r.fields[n] for r in body if not neutral(r.fields[n])]
        valued = cells and sum(map(typed, cells)) >= 0.8 * len(cells)
        years = valued and sum(bool(_YEAR.fullmatch(c.strip())) for c in cells) >= 0.8 * len(cells)
        found.append("year" if years else "value" if valued else "")
    return tuple(found)


def _wordy(rows: Sequence[Record], width: int) -> tuple[bool, ...]:
    fitting = [r.fields for r in rows if r.width == width]
    cells = [[f[n] for f in fitting if not neutral(f[n])] for n in range(width)]
    return tuple(bool(column) and not any(map(typed, column)) for column in cells)


def _data_like(record: Record, kinds: Sequence[Kind]) -> bool:
    """Holds a number, date or time where its column does."""
    return any(kind and typed(cell) for kind, cell in zip(kinds, record.fields, strict=False))


def _words_over(record: Record, kinds: Sequence[Kind]) -> bool:
    """Holds a word where its column holds numbers, dates or times."""
    return any(
        k and any(map(str.isalpha, c)) and not neutral(c) and not typed(c)
        for k, c in zip(kinds, record.fields, strict=False)
    )


def _years(record: Record, kinds: Sequence[Kind]) -> bool:
    """Columns named by years, such as `region,2024,2025`: they differ, rise, and all else are words."""
    over = [(k, c.strip()) for k, c in zip(kinds, record.fields, strict=False) if k and typed(c)]
    numbers = [c for _, c in over]
    return (
        len(numbers) > 1
        and all(k != "year" and _YEAR.fullmatch(c) for k, c in over)
        and numbers == sorted(set(numbers))
        and (len(numbers) > 2 or any(not neutral(c) and not typed(c) for c in record.fields))
    )


def _header_like(record: Record, kinds: Sequence[Kind]) -> bool:
    if _years(record, kinds):
        return True
    return not _data_like(record, kinds) and (_words_over(record, kinds) or not any(kinds))


def _start(records: Sequence[Record], rows: Sequence[int], width: int, kinds: Sequence[Kind]) -> int:
    """Position in `rows` of the first header row, or of the first row where there is no header."""
    if width == 1:
        return 0
    fits = [records[n].width == width for n in rows]
    likely = (
        i for i, fit in enumerate(fits) if fit and (all(fits[i : i + _RUN]) or _header_like(records[rows[i]], kinds))
    )
    at = next(likely, next((i for i, fit in enumerate(fits) if fit), 0))
    if at and any(kinds) and _data_like(records[rows[at]], kinds) and not _years(records[rows[at]], kinds):
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
        return _header_like(next_row, kinds)
    return width > 2 and next_row.width == width


def _header_rows(
    records: Sequence[Record], rows: Sequence[int], width: int, kinds: Sequence[Kind], doubts: list[Doubt]
) -> int:
    first = records[rows[0]]
    if width == 1:
        return _one_column(records, rows, kinds, doubts)
    if not any(kinds):
        below = [records[n] for n in rows[1:_BODY]]
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
    while count < min(MAX_HEADER_ROWS, len(rows)) and _header_like(records[rows[count]], kinds):
        count += 1
        if _years(records[rows[count - 1]], kinds):
            break
    if count == 0 and not _data_like(first, kinds):
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


def _title_doubt(records: Sequence[Record], rows: Sequence[int], start: int, width: int) -> list[Doubt]:
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


def _labels(head: Sequence[Record], width: int) -> tuple[tuple[str, ...], list[str], list[Doubt]]:
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
