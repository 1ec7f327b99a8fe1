"""From JSON records to rows of text cells, and what kind of values every column was seen to hold.

Owns: flattening, what a JSON value becomes as text, and counting what that loses. Refuses to know how records lie in
a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import Any

from peek_core.corpus.names import label
from peek_core.corpus.text.dialect import MAX_COLUMNS
from peek_core.corpus.typed import types
from peek_core.corpus.wording import count, some
from peek_core.errors import UnreadableFile

WHOLE, LARGE, FRACTION, TRUTH, TEXT, NESTED = (1 << n for n in range(6))
"""Kinds of values. LARGE is a whole number that a DOUBLE may not hold exactly."""
BEYOND = 1 << 6
"""A whole number that no BIGINT holds."""
_SAY = {WHOLE: "numbers", FRACTION: "numbers", TRUTH: "true or false", TEXT: "text", NESTED: "lists or objects"}
_INT64, _EXACT = 1 << 63, 1 << 53
_UNFIT = re.compile("[\0\ud800-\udfff]")
# Only numbers of so many digits may be rounded when read; all others need no second look.
_LONG_NUMBER = re.compile(r"[:,\[]\s*-?[\d.]{17}", re.ASCII)


@dataclass
class JsonColumn:
    """A key of the records; `inside` is the key of the object it lies in, if it lies in one."""

    inside: str | None
    label: str
    kinds: int = 0
    examples: dict[int, str] = field(default_factory=dict)
    """One value of each kind, as text."""
    empty: int = 0
    """Texts without a sign."""

    def settle(self) -> tuple[str, tuple[str, ...]]:
        """Its type by all its values, and what was assumed for it; text may still turn out to be dates."""
        numbers = WHOLE | LARGE
        if not self.kinds:
            return types.VARCHAR, ()
        if not self.kinds & ~numbers:
            return types.BIGINT, ()
        if not self.kinds & ~(WHOLE | FRACTION):
            return types.DOUBLE, ()
        if self.kinds == TRUTH:
            return types.BOOLEAN, ()
        if self.kinds == TEXT:
            return types.VARCHAR, ()
        if self.kinds == NESTED:
            said = f"lists and objects such as {self.examples[NESTED][:60]} were kept as JSON text"
        elif not self.kinds & ~(numbers | BEYOND):
            said = f"kept as text, because whole numbers such as {self.examples[BEYOND][:60]} have too many digits"
        elif not self.kinds & ~(numbers | BEYOND | FRACTION):
            long = self.examples[BEYOND if self.kinds & BEYOND else LARGE]
            said = f"kept as text, because as decimal numbers whole ones such as {long[:60]} would be rounded"
        else:
            kinds = {
                _SAY[min(kind, WHOLE) if kind & (numbers | BEYOND) else kind]: e for kind, e in self.examples.items()
            }
            shown = " and ".join(f"{kind} (such as {example[:40]})" for kind, example in kinds.items())
            said = f"values of several kinds, {shown}, were all read as text"
        return types.VARCHAR, (f"{self.label}: {said}.",)


class Records:
    """Turns one record after the other into cells; the columns are the union of all keys, in order of appearance."""

    def __init__(self) -> None:
        self.columns: list[JsonColumn] = []
        self._at: dict[int | str | tuple[str, str], int] = {}
        self._dirty = False
        self._empty: dict[str, int] = {}
        self.duplicates, self.duplicate = 0, ""
        self.no_numbers = 0
        self.rounded, self.rounding = 0, ""
        self.unfit = 0
        self.flat: dict[str, int] = {}
        """Keys whose objects became columns, and how many objects."""
        self._quick = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._no_number)
        self._careful = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._no_number, parse_float=self._float
        )

    def decoder(self, raw: str) -> json.JSONDecoder:
        """The decoder for this text, which may be a whole file or one line of it."""
        self._dirty = "\\u" in raw
        return self._careful if _LONG_NUMBER.search(raw) else self._quick

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            seen: set[str] = set()
            twice = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
            self.duplicates += len(twice)
            self.duplicate = self.duplicate or self.clean(twice[0])
        return made

    def _no_number(self, word: str) -> None:
        self.no_numbers += 1

    def _float(self, written: str) -> float:
        number = float(written)
        if isfinite(number) and Decimal(written) != Decimal(repr(number)):
            self.rounded += 1
            self.rounding = self.rounding or written[:60]
        return number

    def cells(self, record: Mapping[str, Any] | Sequence[Any]) -> list[str | None]:
        """The cells of one record, as many as there are columns by now.

        Raises `ValueError` for what JSON cannot say and `UnreadableFile` where there are too many columns.
        """
        row: list[str | None] = [None] * len(self.columns)
        put = self._put
        if not isinstance(record, Mapping):
            for n, value in enumerate(record):
                put(row, n, value)
            return row
        for key, value in record.items():
            if type(value) is not dict:
                put(row, key, value)
            elif value:
                self.flat[key] = self.flat.get(key, 0) + 1
                for inner, deep in value.items():
                    put(row, (key, inner), deep)
            else:
                self._empty[key] = self._empty.get(key, 0) + 1
        return row

    def _put(self, row: list[str | None], name: int | str | tuple[str, str], value: Any) -> None:
        """Puts one value into its column. In one piece, because it runs for every value of a file."""
        at = self._at.get(name)
        if at is None:
            at = self._add(name)
            row.append(None)
        if value is None:
            return
        type_ = type(value)
        if type_ is str:
            kind, cell = TEXT, self.clean(value) if self._dirty else value
            if not cell:
                self.columns[at].empty += 1
        elif type_ is int:
            kind = WHOLE if -_EXACT < value < _EXACT else LARGE if -_INT64 <= value < _INT64 else BEYOND
            cell = str(value)
        elif type_ is bool:
            kind, cell = TRUTH, "true" if value else "false"
        elif type_ is float:
            if not isfinite(value):
                self.no_numbers += 1
                return
            kind, cell = FRACTION, repr(value)
        else:
            made = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            kind, cell = NESTED, self.clean(made)
        row[at] = cell
        column = self.columns[at]
        if not column.kinds & kind:
            column.kinds |= kind
            column.examples[kind] = cell

    def _add(self, name: int | str | tuple[str, str]) -> int:
        if len(self.columns) == MAX_COLUMNS:
            raise UnreadableFile(
                f"The records have more than {MAX_COLUMNS:,} different keys",
                next="Usually keys hold data. Turn the file so that every record has the same few keys.",
            )
        if isinstance(name, int):
            shown = f"column {name + 1}"
        else:
            shown = label(self.clean(name if isinstance(name, str) else ".".join(name)))
        self._at[name] = len(self.columns)
        self.columns.append(JsonColumn(name[0] if isinstance(name, tuple) else None, shown))
        return len(self.columns) - 1

    def clean(self, text: str) -> str:
        """The text without what no database keeps: halves of surrogate pairs, and NUL."""
        if self._dirty and _UNFIT.search(text):
            self.unfit += len(_UNFIT.findall(text))
            return _UNFIT.sub(lambda found: "" if found[0] == "\0" else "\ufffd", text)
        return text

    def close(self) -> None:
        """No more records: keys that only ever held empty objects become columns of missing values."""
        for key in self._empty:
            if key not in self._at and key not in self.flat:
                self._add(key)

    def repairs(self) -> Iterator[str]:
        """What was lost or changed, in sentences."""
        if self.duplicates:
            keys = count(self.duplicates, "key stood", "keys stood")
            yield f"{keys} twice in one object, such as “{self.duplicate[:60]}”; the last value was kept."
        if self.no_numbers:
            values = count(self.no_numbers, "value")
            yield f"{values} such as NaN and Infinity, which are no numbers, read as missing."
        if self.rounded:
            numbers = count(self.rounded, "number has", "numbers have")
            yield f"{numbers} more digits than can be kept, such as {self.rounding}; rounded."
        if self.unfit:
            yield f"{count(self.unfit, 'sign')} that are no characters (NUL, half a pair) removed or replaced."

    def assumptions(self) -> Iterator[str]:
        """What was assumed for objects, in sentences; what was assumed for single columns is with them."""
        for key, objects in self.flat.items():
            made = [c.label for c in self.columns if c.inside == key]
            yield f"{self.clean(label(key))[:60]}: {count(objects, 'object')} became the columns {some(made, 4)}."
        if self._empty:
            objects_were = count(sum(self._empty.values()), "empty object was", "empty objects were")
            key = self.clean(label(next(iter(self._empty))))
            yield f"{objects_were} read as missing, such as in {key[:60]}."
