"""How a text file is cut into records and fields.

Owns: delimiter, quote and escape, and DuckDB's forced reading of them. Refuses to know encodings, types and tables.

clevercsv proposes (https://clevercsv.readthedocs.io: the dialect under which rows have one pattern and cells have
types); of the files at hand DuckDB's sniffer got a third wrong, silently where rows change their width.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import clevercsv

from peek_core.corpus.names import literal
from peek_core.corpus.text.cutting import Cutter, Record
from peek_core.corpus.text.decode import Text
from peek_core.corpus.text.structure import widths
from peek_core.errors import UnreadableFile
from peek_core.values.dataset import ReadChoices

MAX_COLUMNS = 16_384
# One column: a delimiter that no text holds, so that nothing is cut.
NO_DELIMITER = "\x1f"
_HEAD = 1 << 18
_SNIFFED = 1 << 16
RECORDS = 500
_JUDGED = 200
# Between escapes that explain the lines equally well.
_PREFERRED = {'"': 2, "\\": 0}
_USUAL = (",", ";", "\t", "|")
_OTHERS = (" ", "^", "~", ":", "\x01", "\x1e", "\xa7", "\xac")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "blank", NO_DELIMITER: "one column"}


@dataclass(frozen=True)
class Dialect:
    """A forced reading for DuckDB. `skip` counts lines before the header; `labels` are headers as people see them."""

    delimiter: str
    quote: str
    escape: str
    newline: str
    skip: int
    header: bool
    labels: tuple[str, ...]

    def read_csv(self, path: Path, columns: Sequence[str]) -> str:
        """The table function that reads every column as text in exactly this dialect and refuses all else.

        Strict mode is the default and must not be named: naming it makes DuckDB 2.0.1 read CRLF files as empty.
        """
        struct = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in columns)
        newline = {"\n": "\\n", "\r\n": "\\r\\n", "\r": "\\r"}[self.newline]
        return (
            f"read_csv({literal(str(path))}, auto_detect=false, delim={literal(self.delimiter)}, "
            f"quote={literal(self.quote)}, escape={literal(self.escape)}, new_line='{newline}', comment='', "
            f"skip={self.skip}, header={'true' if self.header else 'false'}, nullstr='', null_padding=false, "
            f"ignore_errors=false, columns={{{struct}}})"
        )


@dataclass(frozen=True)
class Head:
    """The first records of a file, or of its part after line `skip`, and the cutter that made them."""

    cutter: Cutter
    records: tuple[Record, ...]
    skip: int
    whole: bool
    repairs: tuple[str, ...] = ()

    def words(self) -> str:
        """For example `comma, double quote`."""
        quote = {'"': "double quote", "'": "single quote"}.get(self.cutter.quote, self.cutter.quote)
        escape = {"\\": ", backslash before quotes", self.cutter.quote: ""}.get(
            self.cutter.escape, ", doubled quotes inside"
        )
        return f"{_NAMES.get(self.cutter.delimiter, repr(self.cutter.delimiter))}, {quote}{escape}"


def find(text: Text, choices: ReadChoices, skip: int = 0) -> Head:
    """Cuts the head of a decoded file. Raises `UnreadableFile` for files without records or with too many columns."""
    head, whole = _head(text.path, text.newline, skip)
    repairs: list[str] = []
    told = re.match(r"sep=(.)\r?\n", head) if not skip else None
    if told:  # a line that spreadsheets write for themselves
        skip, head = 1, head[told.end() :]
        repairs.append(f"The first line ({told[0].strip()}) only names the separator; it was not read as data.")
    if not head.strip():
        raise UnreadableFile("The file holds only white space", next="Export the data again.")
    cutter = _cutter(head, text.newline, told[1] if told else choices.delimiter, choices.quote)
    lines = head.split(text.newline)
    if whole and lines[-1] == "":
        lines.pop()
    first = list(islice(cutter.records(lines, text.newline, skip + 1), RECORDS + 1))
    if choices.delimiter is None and cutter.delimiter in _OTHERS and not _convincing(first, cutter):
        cutter = replace(cutter, delimiter=_fallback(head, text.newline))
        first = list(islice(cutter.records(lines, text.newline, skip + 1), RECORDS + 1))
    if choices.delimiter is None and widths(first) == 1:
        cutter = replace(cutter, delimiter=NO_DELIMITER)
    # Where quotes are out of place the width of all others tells how a line was meant.
    records = list(islice(cutter.records(lines, text.newline, skip + 1, widths(first)), RECORDS + 1))
    if (not whole or len(records) > RECORDS) and len(records) > 1:
        records.pop()  # may be cut short
        whole = False
    widest = max(r.width for r in records)
    if widest > MAX_COLUMNS:
        raise UnreadableFile(
            f"The file has {widest:,} columns; at most {MAX_COLUMNS:,} can be read",
            next="Leave out columns, or turn the table so that columns become rows.",
        )
    return Head(cutter, tuple(records), skip, whole, tuple(repairs))


def _head(path: Path, newline: str, skip: int) -> tuple[str, bool]:
    """The first 256 kB after line `skip` as text, and whether that is all of it."""
    with path.open(encoding="utf-8-sig", newline=newline) as file:
        for _ in range(skip):
            file.readline()
        head = file.read(_HEAD)
        return head, not file.read(1)


def _cutter(head: str, newline: str, delimiter: str | None, quote: str | None) -> Cutter:
    """Delimiter, quote and escape: those under which most lines have one width and fewest quotes are out of place."""
    lines = head[:_SNIFFED].split(newline)
    lines = lines[:-1] if len(head) > _SNIFFED and len(lines) > 1 else lines
    sample = newline.join(lines)
    proposed = _proposed(lines, newline) if delimiter is None else delimiter
    delimiters = dict.fromkeys([proposed, *(d for d in _USUAL if delimiter is None and d in sample)])
    tried = [
        (_score(cutter, lines, newline, d == proposed), cutter)
        for d in delimiters
        for q in ([quote] if quote else ['"', "'"])
        for e in (q, "\\", '"')
        if (q == '"' or q in sample) and _plausible(sample, q, e)
        for cutter in [Cutter(d, q, e)]
    ]
    return max(tried, key=lambda one: one[0])[1]


def _proposed(lines: Sequence[str], newline: str) -> str:
    # Comments would be taken for the only rows that have a pattern.
    kept = [line for line in lines if not line.startswith("#")]
    try:
        found = clevercsv.Sniffer().sniff(
            newline.join(kept if len(kept) > 1 else lines), delimiters=[*_USUAL, *_OTHERS]
        )
    except clevercsv.Error:
        return NO_DELIMITER
    return (found.delimiter if found else "") or NO_DELIMITER


def _plausible(sample: str, quote: str, escape: str) -> bool:
    """Whether the sample gives a reason to try an escape that is not the quote itself."""
    if escape == quote:
        return True
    if escape == "\\":
        return escape + quote in sample
    # Fields in single quotes whose double quotes are doubled all the same.
    runs = [len(run) for run in re.findall('"+', sample)]
    return quote == "'" and len(runs) >= 3 and all(length % 2 == 0 for length in runs)


def _score(cutter: Cutter, lines: Sequence[str], newline: str, proposed: bool) -> tuple[float, float, int, int]:
    """How well a cut explains the lines; the delimiter that clevercsv proposes wins between like ones."""
    cut = [r for r in islice(cutter.records(lines, newline), _JUDGED) if r.filled]
    width = widths(cut) if cut else 1
    cut = [r for r in cut if r.width == width or not r.raw.startswith("#")]
    fitting = sum(r.width == width for r in cut) / max(1, len(cut)) if width > 1 else 0.0
    other = "'" if cutter.quote == '"' else '"'
    # A quote out of place, or one that is left around a field, was meant otherwise.
    strays = sum(r.stray or any(f[:1] == other == f[1:][-1:] for f in r.fields) for r in cut) / max(1, len(cut))
    enclosed = sum(sum(cutter.quoted(r.raw)) for r in cut if cutter.quote in r.raw and not r.stray)
    return (
        round(fitting - strays + 0.05 * proposed + 0.02 * (cutter.escape == '"' != cutter.quote), 3),
        fitting,
        enclosed,
        _PREFERRED.get(cutter.escape, 1) if cutter.escape != cutter.quote else 1,
    )


def _convincing(records: Sequence[Record], cutter: Cutter) -> bool:
    """Whether an unusual delimiter makes a table: nearly all lines of one width, or some with quoted fields."""
    width = widths(records)
    fitting = [r for r in records if r.width == width]
    lines = sum(not r.blank for r in records)
    if width < 2 or not records or records[0].width != width:
        return False
    edge = re.compile(
        f"{re.escape(cutter.delimiter)}{cutter.quote}[^{cutter.quote}]*{cutter.quote}(?:{re.escape(cutter.delimiter)}|$)"
    )
    quoted = sum(bool(edge.search(r.raw)) for r in records)
    return (lines > 2 and len(fitting) >= 0.95 * lines) or (len(fitting) >= 0.4 * lines and quoted >= 0.5 * lines)


def _fallback(head: str, newline: str) -> str:
    """The usual delimiter that stands in the first line, else none."""
    first = next((line for line in head.split(newline) if line.strip()), "")
    counts = {d: first.count(d) for d in _USUAL}
    best = max(counts, key=lambda d: counts[d])
    return best if counts[best] else NO_DELIMITER
