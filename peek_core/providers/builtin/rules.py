"""Rules about the data that a question states.

Owns: the sentences that state a rule, and the rule as data. Refuses to know: questions, and whether a rule is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peek_core.providers.builtin.linking import Linked, Linker, Mention, number_of, stem, value_of
from peek_core.providers.builtin.query import ident
from peek_core.providers.builtin.reading import Filter, Rule

_OUT = (
    r"(?:(?:do|does|should|must|are|is|to|be)* ?(?:not count(?:ed)?|ignored?|excluded?|left "
    r"out|skipped)|leave (?:them|it|those) out)"
)
_DROP = r"(?:please )?(?:ignore|exclude|leave out|skip|drop|do not count|not count)"
_SAME = r"(?:is|means|equals) (?:the same(?: C\d+| thing| value)? as|another spelling of|also written(?: as)?|just)"
_SPEC = (
    r"(?P<c>C\d+ )?(?:(?:is|of|from|between) )?(?P<n>(?:N\d+|V\d+)(?:(?:,| or| and|, or| to) "
    r"(?:N\d+|V\d+))*(?: or (?:more|less|above|below))?|(?:below|above|at least|at most) N\d+)"
)
_TERM = rf"(?:an? )?(?P<t>[a-z][a-z -]*?(?: ?(?:C\d+|R\d+))?) (?:is|are|means|has) (?:an? )?{_SPEC}"
_CENTS = {"cents": 0.01, "cent": 0.01, "pence": 0.01, "thousands": 1000}


def _exact(m: Mention, column: str = "") -> tuple[str, tuple[str, ...]] | None:
    """Column and the very spelling used, where it is known."""
    own = [
        (c, next((v for v in vs if v.casefold() == m.text.casefold()), vs[0]))
        for c, vs in m.options
        if column in ("", c)
    ]
    return (own[0][0], (own[0][1],)) if len(own) == 1 else None


def spec(text: str, column: str, mentions: Sequence[Mention]) -> Filter | None:
    """A stretch or list of numbers, or of values, as a condition."""
    at = [mentions[int(i)] for i in re.findall(r"[NV](\d+)", text)]
    if any(m.kind == "V" for m in at):
        found = [v for m in at if (v := _exact(m, column))]
        same = {c for c, _ in found}
        return (
            Filter(found[0][0], "in", tuple(v for _, vs in found for v in vs))
            if len(found) == len(at) and len(same) == 1
            else None
        )
    numbers = tuple(number_of(m) for m in at)
    signs = (
        {"more": ">=", "above": ">=", "less": "<=", "below": "<="}
        if " or " in text
        else {"below": "<", "above": ">", "least": ">=", "most": "<="}
    )
    op = next((o for w, o in signs.items() if re.search(rf"\b{w}\b", text)), "")
    if not column or not numbers or (op and len(numbers) > 1):
        return None
    return Filter(column, op or ("between" if " to " in text else "in"), numbers)


class RuleReader:
    """Reads one sentence at a time; a later part may rely on the column of an earlier one."""

    def __init__(self, linker: Linker) -> None:
        self.linker = linker

    def read(self, sentence: str) -> list[Rule]:
        """The rules the sentence states; empty if it states none that names what is really there."""
        linked = self.linker.link(sentence.rstrip(" .!"))
        for pattern, build in FORMS:
            if (m := re.fullmatch(pattern, linked.pattern)) and (found := build(self, m, linked, sentence)):
                return [dict(r, table=self.linker.world.name) for r in found]
        return []

    def _value(self, linked: Linked, index: str, column: str = "") -> tuple[str, tuple[str, ...]] | None:
        return _exact(linked.mentions[int(index)], column)

    def _exclude(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        found = self._value(linked, m["v"], linked.mentions[int(m[1])].column if m[1] else "")
        return [{"kind": "row_exclusion", "column": found[0], "values": list(found[1])}] if found else None

    def _negative(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        w = self.linker.world
        below = [c for c, d in w.columns.items() if w.is_number(c) and str(d["minimum"]).startswith("-")]
        column = linked.mentions[int(m[1])].column if m[1] else below[0] if len(below) == 1 else ""
        return (
            [{"kind": "row_exclusion", "column": column, "expression": f"{ident(column)} < 0"}]
            if column in below
            else None
        )

    def _unit(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        column = linked.mentions[int(m[1])].column
        factor = _CENTS.get(m[2])
        return (
            [{"kind": "unit", "column": column, "factor": factor, "unit": "whole units"}]
            if factor and self.linker.world.is_number(column)
            else None
        )

    def _stand_in(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        at = next((m[g] for g in "cde" if m[g]), None)
        column = linked.mentions[int(at)].column if at else ""
        if m["v"]:
            found = self._value(linked, m["v"], column)
            return [{"kind": "sentinel", "column": found[0], "values": list(found[1])}] if found else None
        number = number_of(linked.mentions[int(m["n"])])
        return (
            [{"kind": "sentinel", "column": column, "values": [number]}]
            if column and self.linker.world.is_number(column)
            else None
        )

    def _same(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        one, two = self._value(linked, m[1]), self._value(linked, m[2])
        if not one or not two or one[0] != two[0] or one[1] == two[1]:
            return None
        return [{"kind": "spelling_fold", "column": one[0], "mapping": {one[1][0]: two[1][0]}}]

    def _never(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        there = value_of(linked.mentions[int(m[1])])
        return (
            [
                {
                    "kind": "meaning",
                    "column": linked.mentions[int(m[2])].column,
                    "where": there[0],
                    "values": list(there[1]),
                }
            ]
            if there
            else None
        )

    def _labels(self, m: re.Match[str], linked: Linked, sentence: str) -> list[dict[str, Any]] | None:
        parts = re.split(r", and |,| and ", sentence.rstrip(" .!"))
        pairs = [
            re.fullmatch(r"\s*(?:in \S+ )?(\S+) (?:is|means|stands for|=) (?:an? |the )?(.{1,40})", p, re.IGNORECASE)
            for p in parts
        ]
        codes = [_exact(x) for x in linked.mentions if x.kind == "V"]
        columns = {c[0] for c in codes if c}
        labels = {
            c[1][0]: p[2].strip() for c in codes for p in pairs if c and p and c[1][0].casefold() == p[1].casefold()
        }
        return (
            [{"kind": "code_label", "column": columns.pop(), "mapping": labels}]
            if len(columns) == 1 and len(labels) == len(parts)
            else None
        )

    def _terms(self, m: re.Match[str], linked: Linked, _: str) -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = []
        column = ""
        for part in re.split(r",? and (?=an? |[a-z])|, (?=[a-z])", linked.pattern):
            one = re.fullmatch(_TERM, part.strip())
            if not one:
                return None
            inside = re.search(r"C(\d+)", one["c"] or one["t"])
            column = linked.mentions[int(inside[1])].column if inside else column
            words = re.sub(r"[CR](\d+)", lambda x: stem(linked.mentions[int(x[1])].text), one["t"])
            condition = spec(one["n"], column, linked.mentions)
            if not condition:
                return None
            found.append(
                {
                    "kind": "vocabulary",
                    "term": " ".join(map(stem, words.split())),
                    "column": condition.column,
                    "op": condition.op,
                    "values": list(condition.values),
                }
            )
        return found


Build = Callable[[RuleReader, re.Match[str], Linked, str], list[dict[str, Any]] | None]
FORMS: tuple[tuple[str, Build], ...] = (
    (
        (
            rf"(?:all )?(?:R\d+ )?(?:with |where |whose |of |in )?(?:C(\d+) )?(?:is |= )?V(?P<v>\d+)"
            rf"(?: R\d+)? {_OUT}"
        ),
        RuleReader._exclude,
    ),
    (
        (
            rf"{_DROP} (?:the |all )?(?:R\d+ )?(?:with |where |whose |in )*(?:C(\d+) )?(?:is |= )"
            rf"?V(?P<v>\d+)(?: R\d+)?"
        ),
        RuleReader._exclude,
    ),
    (rf"(?:C(\d+)|[a-z]+) (?:is|are) negative,? (?:so )?(?:{_OUT}|ignore them)", RuleReader._negative),
    (r"C(\d+) (?:is|are) (?:given |stored |measured )?in (\w+)", RuleReader._unit),
    (
        (
            r"(?:in C(?P<c>\d+) ?,? )?(?:C(?P<d>\d+) )?(?:is |of |= )?(?:N(?P<n>\d+)|V(?P<v>\d+))(?: "
            r"in C(?P<e>\d+))? (?:means?|stands? for|is) (?:(?:that|the|question|was|is|were|it|value|"
            r"they) )*(?:missing|unknown|not asked|no answer|not given|not rated|not known|no C\d+|"
            r"nothing)(?: value)?"
        ),
        RuleReader._stand_in,
    ),
    (rf"(?:C\d+ )?V(\d+) {_SAME} (?:C\d+ )?V(\d+)", RuleReader._same),
    (r"V(\d+) and V(\d+) are the same(?: C\d+| thing| value)?", RuleReader._same),
    (r"V(\d+) never (?:has|have|gets?|comes? with) (?:an? |any )?C(\d+)", RuleReader._never),
    (
        (
            r"(?:in C\d+ ?,? )?V\d+ (?:is|means|stands for|=) [^,;]+(?:(?:,| and|, and) V\d+ (?:is|"
            r"means|stands for|=) [^,;]+)*"
        ),
        RuleReader._labels,
    ),
    (
        (
            rf"{_TERM}(?:(?:,| and|, and) (?:an? )?[a-z][a-z -]*? (?:is|are|means) (?:an? )?(?:C\d+ )"
            rf"?N\d+(?: (?:or|to) N\d+)*)*"
        ),
        RuleReader._terms,
    ),
)


def same(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether two rules say the same of the same column."""
    keys = ("kind", "column", "values", "expression", "mapping", "factor", "term")
    return all(_bare(one.get(k)) == _bare(two.get(k)) for k in keys)


def _bare(value: Any) -> Any:
    """Empty is missing, and identifiers mean the same with and without quotes."""
    return value.replace('"', "") if isinstance(value, str) and value else value or None
