"""From a linked question to a reading, or to nothing.

Owns: heads and follow-ups. A question is a head and modifiers over mentions, and every word must belong to one of them.
Refuses to know: SQL, rows, and how words were linked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from peek_core.providers.builtin.heads import AGGREGATES, Heads
from peek_core.providers.builtin.linking import Linked
from peek_core.providers.builtin.modifiers import COMPARED, MODIFIERS, NoReading
from peek_core.providers.builtin.periods import before
from peek_core.providers.builtin.reading import Filter, Measure, Reading
from peek_core.providers.builtin.world import World

_SHARE = r"(?:share|percentage|percent|proportion|fraction)"
_MEASURE = (
    rf"(?:(?P<agg>{'|'.join(AGGREGATES)}) (?:value )?(?:of )?C(?P<ac>\d+)|C(?P<sc>\d+) score|"
    rf"(?P<cnt>number|count|volume) of (?P<nc>[RCT]\d+)|{_SHARE} of T(?P<st>\d+)|(?P<r>R\d+))"
)
_DROP = (
    r"\b(?:the|an?|please|us|we|our|me|do|does|did|been|there|i|you|can|could|still|currently|"
    r"exactly|altogether|overall|in total|in all|so far|at all|inclusive|right now|in (?:the |"
    r"this )?(?:data|dataset|table|file))\b"
)
_IS = (
    r"\b(?:came|comes?|arrived?|is|are|was|were|falls?|fell|received?|receives|gets?|got|"
    r"submitted|sent|sends?|hear|heard|writes?|written|wrote|to us)\b"
)
LEXICON = frozenset(
    re.findall(r"[a-z]{2,}", " ".join([_DROP, _IS, _SHARE, *COMPARED, *AGGREGATES, *(p.pattern for p, _ in MODIFIERS)]))
) | {
    "how",
    "many",
    "much",
    "what",
    "which",
    "who",
    "show",
    "list",
    "give",
    "tell",
    "need",
    "want",
    "count",
    "number",
    "top",
    "most",
    "frequent",
    "common",
    "trend",
    "compare",
    "moved",
    "changed",
    "developed",
    "crosstab",
    "pivot",
    "columns",
    "column",
    "missing",
    "values",
    "value",
    "outliers",
    "find",
    "highest",
    "lowest",
    "best",
    "worst",
    "people",
    "as",
    "before",
    "different",
    "distinct",
    "mention",
    "only",
    "just",
    "those",
    "these",
    "them",
    "often",
    "score",
    "same",
    "now",
    "then",
    "any",
    "distribution",
    "breakdown",
}


def tidy(pattern: str) -> str:
    """The pattern without words that ask for nothing."""
    p = re.sub(
        r"^(?:(?:please|hi|hello|can you|could you|i want to|i need to|i need|i want|i would like "
        r"to) )*(?:tell|give|show|list|display|see|know)(?: me)?\b(?=.)",
        "show",
        pattern,
    )
    p = re.sub(r"^(?:i need|i want|is there|are there)\b", "show", p)
    p = re.sub(r"\b(?:have|has|had|having)\b", "with", p)
    p = re.sub(
        r"^(?:what is |show )*(?:the |a )?(?:distribution|breakdown) of (?:C(\d+)|(?=R))",
        lambda m: f"count per C{m[1]}" if m[1] else "show ",
        p,
    )
    p = re.sub(_IS, "is", re.sub(_DROP, " ", p))
    return re.sub(r"(?:[ ,;]|\b(?:is|with))+$", "", re.sub(r"\b(is)(?: is)+\b", "is", re.sub(r"\s+", " ", p)).strip())


class Grammar(Heads):
    """Parses patterns of one table."""

    def __init__(self, world: World, linked: Linked, terms: Mapping[str, Filter], last: Reading | None) -> None:
        super().__init__(world, linked, terms, last)
        self.pattern = self._merge(tidy(linked.pattern))
        self.scored: Filter | None = None

    def _merge(self, p: str) -> str:
        """Joins values of one column said in a row, and lets a column beside a value choose what it means."""
        ms = list(self.mentions)

        def beside(m: re.Match[str]) -> str:
            c, v = (m["c"] or m["c2"]), m["v"] or m["v2"]
            options = tuple(o for o in ms[int(v)].options if o[0] == ms[int(c)].column)
            if not options:
                return m[0]
            ms[int(v)] = replace(ms[int(v)], options=options)
            return f"V{v}"

        def join(m: re.Match[str]) -> str:
            a, b = ms[int(m[1])], ms[int(m[2])]
            both = tuple((c, tuple(dict.fromkeys(v + w))) for c, v in a.options for d, w in b.options if c == d)
            if not both or len(both) > 1 or a.options == b.options:
                return m[0].replace(",", ";")
            ms.append(replace(a, options=both, text=f"{a.text}, {b.text}"))
            return f"V{len(ms) - 1}"

        p = re.sub(
            r"\b(?:whose |where )?C(?P<c>\d+) (?:(?:is|of|=|equal to) )?V(?P<v>\d+)|V(?P<v2>\d+) C(?P<c2>\d+)",
            beside,
            p,
        )
        against = "| versus| vs| than" if p.startswith(("compare", "is ")) else ""
        for _ in range(6):
            p = re.sub(rf"\bV(\d+)(?:,? and|,? or|,{against}) V(\d+)", join, p)
        p = re.sub(
            rf"((?:{'|'.join(COMPARED)}) N\d+|between N\d+ and N\d+|N\d+(?: (?:to|or) N\d+| or more| "
            rf"or less)?) C(\d+)\b",
            self._turn,
            p,
        )
        self.mentions = tuple(ms)
        return p.replace(";", ",")

    def _turn(self, m: re.Match[str]) -> str:
        """`more than 3 stars` as `stars more than 3`."""
        return f"C{m[2]} {m[1]}" if self.world.is_number(self._at(m[2]).column) else m[0]

    def parse(self) -> Reading:
        """The reading of the whole pattern, or NoReading."""
        left: list[str] = []
        for pattern, build in HEADS:
            if m := re.match(pattern + (r"(?:\s+|(?=,)|$)" if not pattern.endswith("$") else ""), self.pattern):
                try:
                    return build(
                        self, m, Reading(self.world.name, Measure("count"), time=self._time()), self.pattern[m.end() :]
                    )
                except NoReading as no:
                    left.append(str(no))
        try:
            return self._follow_up()
        except NoReading as no:
            raise NoReading(min([*left, str(no)], key=len)) from None

    # follow-ups -------------------------------------------------------------------------------------------------
    def _follow_up(self) -> Reading:
        """The last reading with one part changed."""
        m = re.match(
            r"(?:(?:and|but|now|what about|how about|same|just|only|those|these|them|then|of (?:those|"
            r"them|these)|is that any different|,)\s*)+(?:how many (?=.))?",
            self.pattern,
        )
        last, rest = self.last, self.pattern[m.end() :] if m else self.pattern
        if not last or not (m or re.match(r"(?:per|by|for each|as) ", self.pattern)):
            raise NoReading(self.pattern_words())
        if re.fullmatch(r"as (?:a )?(?:percentage|share|percent|proportion)", rest):
            added = tuple(f for f in last.filters if f not in (last.base or ()))
            if last.measure.kind != "count" or last.groups or len(added) != 1:
                raise NoReading("of what it should be a percentage")
            return replace(
                last,
                measure=Measure("share", "", added),
                filters=tuple(f for f in last.filters if f not in added),
                base=None,
            )
        if g := re.fullmatch(r"(?:in )?(?:G(\d+) before|previous G(\d+))", rest):
            moved = before(last.period) if last.period and last.period.grain == self._at(g[1] or g[2]).text else None
            return replace(last, period=moved) if moved else self._fail("which period comes before")
        if (g := re.fullmatch(rf"(?:on |by |for |in )?{_MEASURE}", rest)) and not g["r"]:
            return replace(last, measure=self._of(g))
        return self._changed(last, rest, bool(m and re.search(r"only|just|those|them|these", m[0])))

    def _changed(self, last: Reading, rest: str, narrow: bool) -> Reading:
        """The last reading with new filters, groups or another period."""
        new = self.mods(Reading(last.table, Measure("count"), time=last.time), rest)
        if not (new.filters or new.groups or new.period) or len(new.filters) > 1:
            raise NoReading(self.pattern_words())
        mine, part = {f.column for f in new.filters}, last.measure.part
        if last.measure.kind == "share" and {f.column for f in part} == mine and not narrow:
            return replace(last, measure=replace(last.measure, part=new.filters))
        kept = last.filters if narrow else tuple(f for f in last.filters if f.column not in mine)
        return replace(
            last,
            filters=(*kept, *(f for f in new.filters if f not in kept)),
            groups=new.groups or last.groups,
            order=last.order if not new.groups else "",
            period=new.period or last.period,
            base=last.filters if narrow else None,
        )


HEADS: tuple[tuple[str, Callable[[Grammar, re.Match[str], Reading, str], Reading]], ...] = (
    (
        (
            r"(?:about )?(?:how many|how much|(?:show |what is )?(?:number|count) of|count|how often)"
            r"(?: (?:different|distinct|unique) C(?P<d>\d+)| C(?P<c>\d+)(?! (?:N|at|above|below|over|"
            r"under|more|less)))?"
        ),
        Grammar._count,
    ),
    (rf"(?:what |show |is )*{_SHARE} (?:of )?(?P<den>.+?)(?: is (?P<num>.+))?$", Grammar._share),
    (rf"of (?P<den>.+?),? (?:what |which ){_SHARE}(?: of (?:them|those))?(?: is)? (?P<num>.+)$", Grammar._share),
    (rf"(?:what |show |is |how high |how much )*{_MEASURE}", Grammar._measure),
    (
        (
            r"(?:in |on |from )?(?:which|what) (?P<g>[CG]\d+) (?:with |is |people )*(?P<o>most|fewest|"
            r"least)(?: (?:number of |often |frequent )?(?P<m>[RCT]\d+))?"
        ),
        Grammar._top,
    ),
    (
        (
            rf"(?:which|what) (?P<g>[CG]\d+) (?:with |is )*(?P<o>highest|lowest|best|worst|largest|"
            rf"smallest) {_MEASURE}"
        ),
        Grammar._top,
    ),
    (
        (
            r"(?:which|what) (?P<g>C\d+) (?:is |people |customers )*(?P<ac>C\d+) (?P<o>best|worst|"
            r"highest|lowest)(?: on average)?"
        ),
        Grammar._top,
    ),
    (
        (
            rf"(?:what |which |who |show |is )*(?:top (?P<n>N\d+ )?|(?P<n2>N\d+ )?most (?:frequent|"
            rf"common|active|often) )(?P<g>C\d+)(?: by {_MEASURE})?"
        ),
        Grammar._top,
    ),
    (rf"(?:show )?how (?:is |with )*{_MEASURE} (?:moved?|changed?|developed?|evolved?)", Grammar._trend),
    (rf"(?:show |what is |is )*trend (?:of|in|for) {_MEASURE}", Grammar._trend),
    (rf"compare (?P<v>V\d+) (?:on|by|in terms of|in) {_MEASURE}", Grammar._compare),
    (rf"compare {_MEASURE} (?:between|of|for|across|in) (?P<v>V\d+)", Grammar._compare),
    (rf"is {_MEASURE} (?:higher|lower|better|worse) (?:in |for |with )?(?P<v>V\d+)", Grammar._compare),
    (
        (
            rf"(?:show |is )*(?:crosstab|pivot(?: table)?) of (?P<g>[CG]\d+) (?:by|and|against|versus|"
            rf"x) (?P<g2>[CG]\d+)(?: (?:with|of) {_MEASURE})?"
        ),
        Grammar._cross,
    ),
    (
        (
            r"(?:which|what|show)(?: is| all| different| distinct| values? (?:of|in))* C(?P<c>\d+)(?: "
            r"values?)?(?: (?:is|exist|occur|with|,))*$"
        ),
        Grammar._values,
    ),
    (
        (
            r"(?:which|what|how many|show|is|any)(?: columns?)?(?: (?:is|with|contain|any))* "
            r"missing(?: values?)?(?: (?:per|by|in)(?: each)? columns?)?$"
        ),
        Grammar._missing,
    ),
    (r"(?:show|is|any|what|which)(?: (?:is|any))* outliers (?:in|of|for) C(?P<c>\d+)", Grammar._outliers),
    (r"(?:show what|show|find|what|which)(?: all)?(?= R| V| T|$)", Grammar._list),
)
