"""The kinds of definition and their order of application; a definition's rule in words.

Owns: the value `Definition`, the order, what people and prompts are told of it. Refuses to know: SQL, who proposed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

DefinitionKind = Literal[
    "date_reading", "sentinel", "spelling_fold", "code_label", "unit", "derived", "label_column", "row_exclusion"
]
DefinitionState = Literal["proposed", "on", "off", "rejected", "held_back"]
ORDER: tuple[DefinitionKind, ...] = (
    "date_reading",
    "sentinel",
    "spelling_fold",
    "code_label",
    "unit",
    "derived",
    "label_column",
    "row_exclusion",
)
"""Of application. Value kinds each see what the kind before made of the column; `derived` and `label_column` see the
columns as all value kinds left them, never each other; `row_exclusion` looks at the values as they stand in the raw
table, so that what counts as a row depends on no other definition."""
ORDER_SAID = (
    "Applied in this order: dates are read, missing values, spellings, code labels, units, derived columns, label "
    "columns. Rows are left out by the values that stand in the file."
)
MAPPED = ("spelling_fold", "code_label")
ADDED = ("derived", "label_column")
"""Kinds that make a column instead of changing one."""
PAIRS_SHOWN = 3
Scalar = str | int | float | bool
_LITERAL = re.compile(r"'[^']*'|(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True)
class Definition:
    """One rule about one table.

    row_exclusion and sentinel use `values`, or row_exclusion an `expression` that says which rows; spelling_fold and
    code_label use `mapping` (from value to value); unit uses `factor` (what a raw value is multiplied by) and `unit`
    (its name); date_reading uses `reading` and `type`; derived makes `new_column` from `expression` (and has no
    `column`); label_column makes `new_column` from `column` by `mapping` and `otherwise`.
    """

    id: str
    kind: DefinitionKind
    table: str
    column: str
    name: str
    values: tuple[Scalar, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    factor: float | None = None
    unit: str = ""
    reading: str = ""
    """How the text is to be read as a date: one of `dates.WAYS`, or a strptime format."""
    type: str = ""
    """What a date_reading makes: DATE or TIMESTAMP."""
    new_column: str = ""
    expression: str = ""
    otherwise: str | None = None
    """The label of values the mapping does not name; None leaves them without."""
    state: DefinitionState = "proposed"
    author: str = "agent"
    question: str = ""
    run: str = ""
    effect: Mapping[str, Any] = field(default_factory=dict)
    """Measured on one dataset version: rows_before, rows_after, values_changed, values_lost, version; `held_back` says
    why it no longer fits."""

    @property
    def rule(self) -> str:
        """The rule in one line, for people and for the prompt's definitions block."""
        quoted = ", ".join(repr(v) if isinstance(v, str) else str(v) for v in self.values)
        match self.kind:
            case "date_reading":
                what = "timestamps" if self.type == "TIMESTAMP" else "dates"
                how = f"written {self.reading}" if "%" in self.reading else self.reading
                return f"{self.column} is read as {what}, {how}"
            case "sentinel":
                return f"{self.column} = {quoted} is missing"
            case "unit":
                return f"{self.column} × {self.factor:g} is in {self.unit}" if self.factor else ""
            case "derived":
                return f"{self.new_column} = {self.expression}"
            case "label_column":
                rest = f", otherwise {self.otherwise!r}" if self.otherwise is not None else ""
                return f"{self.new_column} labels {self.column}: {_pairs(self.mapping, PAIRS_SHOWN)}{rest}"
            case "row_exclusion" if self.expression:
                return f"rows where {self.expression} don't count"
            case "row_exclusion":
                return f"rows with {self.column} = {quoted} don't count"
            case _:
                return f"{self.column}: {_pairs(self.mapping, len(self.mapping))}"

    @property
    def shown(self) -> str:
        """The column of the view it is about."""
        return self.new_column if self.kind in ADDED else self.column

    @property
    def stated(self) -> bool:
        """Whether the question it was proposed in states it: every value it speaks of, or its unit, stands there."""
        said = f" {self.question.casefold()} "
        spoken = [*map(str, self.values), *self.mapping, *([self.unit] if self.unit else [])]
        spoken += [t.strip("'") for t in _LITERAL.findall(self.expression)]
        return bool(self.question and spoken) and all(
            re.search(rf"(?<!\w){re.escape(t.casefold())}(?!\w)", said) for t in spoken
        )

    def same_rule(self, other: Definition) -> bool:
        """True when both say the same of the same column."""
        return _content(self) == _content(other)

    def as_data(self) -> dict[str, Any]:
        """What a prompt may know of it."""
        labels = self.kind == "label_column"
        data = {
            "id": self.id,
            "kind": self.kind,
            "table": self.table,
            "column": self.column,
            "name": self.name,
            "values": list(self.values),
            "mapping": dict(list(self.mapping.items())[: PAIRS_SHOWN if labels else None]),
            "factor": self.factor,
            "unit": self.unit,
            "state": self.state,
        }
        own: dict[str, dict[str, Any]] = {
            "row_exclusion": {"expression": self.expression},
            "date_reading": {"reading": self.reading, "type": self.type},
            "derived": {"new_column": self.new_column, "expression": self.expression},
            "label_column": {
                "new_column": self.new_column,
                "otherwise": self.otherwise,
                "pairs": len(self.mapping),
            },
        }
        return data | own.get(self.kind, {})


def _pairs(mapping: Mapping[str, str], most: int) -> str:
    said = ", ".join(f"{a!r} → {b!r}" for a, b in list(mapping.items())[:most])
    return said if len(mapping) <= most else f"{said}, … ({len(mapping):,} values)"


def _content(d: Definition) -> tuple[Any, ...]:
    values = tuple(sorted(map(str, d.values)))
    own = (d.reading, d.type, d.new_column, d.expression, d.otherwise)
    return (d.kind, d.table, d.column, values, tuple(sorted(d.mapping.items())), d.factor, *own)


def in_order(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """In the order of application; those of one kind as they came."""
    return tuple(sorted(definitions, key=lambda d: ORDER.index(d.kind)))


@dataclass(frozen=True)
class Line:
    """A definition's line in the prompt: what it is called, its rule, and what has to be said beside."""

    head: str
    rule: str
    remark: str

    @property
    def whole(self) -> str:
        return f"{self.head}: {self.rule}{self.remark}"


def lines(definitions: Sequence[Definition], without: Sequence[str] = ()) -> list[Line]:
    """One for each that is compiled into the view, only proposed, or switched off for this question (`without`)."""
    found = []
    for d in definitions:
        whose = "stated by the person" if d.stated else "proposed from the data"
        remark = "" if d.state == "on" else f" ({whose}, NOT applied in the view)"
        if d.id in without:
            remark = " (switched off for this question, NOT applied in the view)"
        if d.state in ("on", "proposed") or d.id in without:
            found.append(Line(f"[{d.id}] {d.name}", d.rule, remark))
    return found
