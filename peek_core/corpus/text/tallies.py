"""What happened to lines on the way into a table, counted, with the first time as an example, and put into words.

Owns: the wording. Refuses to know how it was decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from peek_core.values.dataset import Doubt

Happening = Literal[
    "blank", "comment", "stray", "joined", "trimmed", "short", "shifted", "longer", "empty", "header", "left"
]
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
# What is said of one line, after its number, and of many, before the example.
_REPAIRS: dict[Happening, tuple[str, str]] = {
    "stray": ("holds quotes inside its text, kept as they stand", "lines hold quotes inside their text, kept as they stand"),
    "joined": ("has more fields than the header; its {d} were kept as text",
               "lines have more fields than the header; their {d} were kept as text"),
    "trimmed": ("has empty fields beyond the last column, left out", "lines have empty fields beyond the last column, left out"),
    "short": ("ends early; its missing fields are empty", "lines end early; their missing fields are empty"),
    "comment": ("is a comment, left out", "lines are comments, left out"),
}  # fmt: skip
_DOUBTS: dict[Happening, tuple[str, str, str]] = {
    "shifted": ("One field is missing", "lines have one field less", "another field of them is missing"),
    "longer": ("Fields beyond the last column were set apart", "lines have fields beyond the last column, set apart",
               "they belong to the columns before"),
    "header": ("It repeats the header; the rows below were read as the same table",
               "lines repeat the header; the rows below were read as the same table", "a table of its own"),
}  # fmt: skip


@dataclass
class _Tally:
    count: int = 0
    line: int = 0
    example: str = ""


@dataclass
class Tallies:
    """Counts by what happened."""

    held: dict[Happening, _Tally] = field(default_factory=dict)

    def add(self, what: Happening, line: int, example: str = "", count: int = 1) -> None:
        tally = self.held.setdefault(what, _Tally(0, line, example))
        tally.count += count

    def count(self, *what: Happening) -> int:
        return sum(self.held[w].count for w in what if w in self.held)

    def repairs(self, delimiter: str) -> list[str]:
        """One sentence for each kind of repair; `delimiter` is that of the file."""
        said = []
        for what, (one, many) in _REPAIRS.items():
            if t := self.held.get(what):
                shown = f": {t.example}" if t.example else ""
                text = (
                    f"Line {t.line:,} {one}{shown}."
                    if t.count == 1
                    else f"{t.count:,} {many}, e.g. line {t.line:,}{shown}."
                )
                said.append(text.replace("{d}", _DELIMITERS.get(delimiter, "delimiters")))
        return said

    def assumptions(self) -> list[str]:
        t = self.held.get("empty")
        if t is None:
            return []
        rows = "row holds" if t.count == 1 else "rows hold"
        return [f"{t.count:,} {rows} only empty cells, e.g. line {t.line:,}."]

    def doubts(self) -> list[Doubt]:
        said = []
        for what, (one, many, alternative) in _DOUBTS.items():
            if t := self.held.get(what):
                text = one if t.count == 1 else f"{t.count:,} {many}"
                said.append(Doubt(f"line {t.line:,}", f"{text}{f': {t.example}' if t.example else ''}", alternative))
        return said


def of_rejects(rejects: Sequence[tuple[int, str, str]]) -> list[Doubt]:
    """One doubt for each of the first reasons for which (line, reason, text) were kept apart."""
    reasons: dict[str, list[int]] = {}
    for line, reason, _ in rejects:
        reasons.setdefault(reason, []).append(line)
    said = []
    for reason, lines in list(reasons.items())[:5]:
        text = f"The line {reason}" if len(lines) == 1 else f"{len(lines):,} lines: each {reason}"
        said.append(
            Doubt(f"line {lines[0]:,}", f"{text}; kept apart as rejected", "correct it in the file and load it again")
        )
    return said
