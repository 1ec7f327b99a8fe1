"""What is known of a dataset: tables, columns, how it was read, and its profile.

Owns: the shapes of load reports and profiles. Refuses to know: files, engines and prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column as read. `name` is the safe SQL identifier, `label` the header as it stood in the file."""

    name: str
    label: str
    type: str
    """DuckDB type name: VARCHAR, BIGINT, DOUBLE, DATE, TIMESTAMP, BOOLEAN."""
    nulls: int
    distinct: int | None = None
    """Distinct non-null values; None where it was not counted."""
    sample: str = ""
    """One non-null value, at most 60 characters."""
    way: str = ""
    """How its text was read, in the words of corpus/typed/types.py, e.g. `day first`; empty for typed columns of Parquet and
    for one that stands beside its text."""
    ways: tuple[str, ...] = ()
    """Other ways its values allow, for a person to choose."""


@dataclass(frozen=True)
class ReadChoices:
    """How one file or sheet is to be read, where a person settled it; None or missing: as it was found."""

    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    skip: int | None = None
    """Lines above the header."""
    header_rows: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column name -> way of reading it."""
    sheets: tuple[str, ...] = ()
    """Sheets of a workbook to load; empty: the one proposed."""


@dataclass(frozen=True)
class SourceFile:
    """One uploaded file. `sha256` and `size` (bytes) are of the original."""

    name: str
    sha256: str
    size: int
    choices: ReadChoices = field(default_factory=ReadChoices)
    kept: str = ""
    """Name of the compressed original inside the data directory; empty where it was not kept."""
    path: str = ""
    """Where it lay on the server, for files loaded by path."""


@dataclass(frozen=True)
class TableReport:
    """One table as read from one file or sheet."""

    name: str
    rows: int
    columns: tuple[Column, ...]
    rejects: int = 0
    encoding: str = "utf-8"
    dialect: str = ""
    """In words, e.g. `semicolon, double quote, header in line 1`; for a workbook the sheet's name."""
    header_rows: int = 1
    repairs: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    source: str = ""
    """Name of the file it came from."""
    read: ReadChoices = field(default_factory=ReadChoices)
    """The whole reading as it was done, every field filled that means something for this kind of file."""
    compared: int | None = None
    """Rows whose cells were compared with the file after loading; None where the format needs no such check."""


@dataclass(frozen=True)
class Doubt:
    """A reading that could really be otherwise."""

    where: str
    what: str
    alternative: str


@dataclass(frozen=True)
class JoinKey:
    """Two columns whose values suggest that rows of `left_table` belong to rows of `right_table`."""

    left_table: str
    left_column: str
    right_table: str
    right_column: str
    share: float
    """Share of the distinct values on the left that the right has too."""
    unique_right: bool
    """Whether no value on the right stands twice, so that a join adds no rows."""


@dataclass(frozen=True)
class Spellings:
    """Spellings of one column that differ in case, blanks or Unicode form alone: spelling -> the most frequent one."""

    table: str
    column: str
    mapping: Mapping[str, str]


@dataclass(frozen=True)
class LoadReport:
    """How one upload, of one or more files, was read."""

    sources: tuple[SourceFile, ...]
    tables: tuple[TableReport, ...]
    doubts: tuple[Doubt, ...] = ()
    seconds: float = 0.0
    keys: tuple[JoinKey, ...] = ()
    """Between all tables of the file, those it already had included."""
    spellings: tuple[Spellings, ...] = ()

    @property
    def rows(self) -> int:
        return sum(t.rows for t in self.tables)


@dataclass(frozen=True)
class TopValue:
    """A value of a column and how many rows have it; the text is cut at 60 characters."""

    value: str
    count: int


@dataclass(frozen=True)
class Bin:
    """One bar of a histogram: from `start` to below `end` (the last one includes it), as text, and its rows."""

    start: str
    end: str
    count: int


@dataclass(frozen=True)
class ColumnProfile:
    """What the agent is told of a column, free of the map's budget."""

    name: str
    label: str
    type: str
    nulls: int
    distinct: int | None
    minimum: str | None
    maximum: str | None
    top: tuple[TopValue, ...] = ()
    complete: bool = False
    """True when `top` lists every value the column has."""
    average_length: float | None = None
    free_text: bool = False
    unique: bool = False
    """A candidate key: filled in every row, and different in each."""
    bins: tuple[Bin, ...] = ()
    """Histogram of numbers and dates with many values."""
    languages: tuple[tuple[str, float], ...] = ()
    """Guess from a sample of a free text: language and share."""
    personal: str = ""
    """Guess from a sample: the kind of personal data, e.g. `e-mail addresses`."""
    period: str = ""
    """`day` or `month`: in what the gaps of a date column are counted."""
    periods: int | None = None
    """Periods between the first and the last date."""
    empty_periods: int | None = None
    """Those of them without a row."""


@dataclass(frozen=True)
class TableProfile:
    """One table or view: its name, row count and columns."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]

    def column(self, name: str) -> ColumnProfile | None:
        return next((c for c in self.columns if c.name == name), None)


@dataclass(frozen=True)
class Profile:
    """Profile of all tables of one (version, view)."""

    tables: tuple[TableProfile, ...]

    def table(self, name: str) -> TableProfile | None:
        return next((t for t in self.tables if t.name == name), None)


@dataclass(frozen=True)
class Dataset:
    """The recurring thing. `version` is its current one; `title` is what the person calls it."""

    id: str
    title: str
    created: float
    version: int
    as_of: str | None = None
    """ISO date used as today by a sample corpus's demo; None means the real clock."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def asked_on(self) -> str | None:
        """ISO date used as today on this version; None means the real clock. A sample's next export has its own."""
        held: str | None = self.options.get("as_of", {}).get(str(self.version), self.as_of)
        return held


@dataclass(frozen=True)
class DatasetVersion:
    """One upload of a dataset: where its rows lie and how they were read."""

    dataset: str
    number: int
    created: float
    file: str
    """Name of the immutable DuckDB file inside the data directory's corpora folder."""
    report: LoadReport
