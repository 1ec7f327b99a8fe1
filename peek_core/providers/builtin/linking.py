"""Words of a question linked to what they name.

Owns: mentions (columns, values, terms, rows, numbers, periods) and the pattern string the grammar reads, in which each
mention is a letter and a number. Refuses to know: what a question may ask. Nothing misspelt is ever linked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from rapidfuzz import fuzz, process

from peek_core.providers.builtin import periods
from peek_core.providers.builtin.reading import Filter, Rule
from peek_core.providers.builtin.world import World
from peek_core.values.canon import fold

_ROWS = frozenset(
    ("feedback", "row", "record", "entry", "response", "ticket", "comment", "review", "message", "submission", "case")
)
_GENERIC = frozenset(
    re.findall("[a-z]+", "id at on name code no number date time type text value key of the is count total row")
)
SCORES = frozenset(["score", "scored", "scores", "rating", "ratings", "rated", "rates", "rate", "stars", "star"])
"""Words for a column of marks."""
_PERSON = {"customer", "user", "client", "writer", "author", "respondent", "member", "person", "reporter"}
_MONEY = {"revenue", "sales", "turnover"}
_GRAINS = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_REWRITES = (
    (r"[’‘`]", "'"),
    (r"[“”]", '"'),
    (r"n't\b", " not"),
    (r"\b(what|who|where|that|there)'s\b", r"\1 is"),
    (r"'s\b", ""),
    (r"\bcross[- ]?tab\w*", "crosstab"),
    (r"\bpieces? of feedback\b", "feedback"),
    (r"\bday of (?:the )?week\b", "weekday"),
    (r",? both days included", ""),
    (r"\b(of|for|among|by) those (?=with|who|whose)", r"\1 rows "),
    (r"\b(?:writt?en|wrote|writes?|sen[dt]s?) (?:in )?to us\b", "is"),
)


@dataclass(frozen=True)
class Mention:
    """Something named. C column, V value, T term, R rows, N number, P period, G unit of time, X text to search."""

    kind: str
    text: str
    column: str = ""
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For a value: the columns that have it, each with every known spelling."""
    filter: Filter | None = None
    number: float = 0
    period: periods.Period | None = None


@dataclass(frozen=True)
class Linked:
    """A question as pattern and mentions. `words` are the surface words, `unknown` indexes those nothing explains."""

    pattern: str
    mentions: tuple[Mention, ...]


def stem(word: str) -> str:
    """A word without its plural."""
    w = word.lower()
    if w.endswith("ies") and len(w) > 4:
        return w[:-3] + "y"
    if w.endswith(("sses", "xes", "ches", "shes", "uses")):
        return w[:-2]
    return w[:-1] if w.endswith("s") and not w.endswith(("ss", "us", "is")) and (len(w) > 3 or w == "ids") else w


def _words(text: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))]


def _root(phrase: str) -> str:
    """Words cut to what "low ratings", "low raters" and "low rated" share."""
    return " ".join(re.sub(r"(?:ings?|ers?|ed)$", "", stem(w)) if len(w) > 4 else stem(w) for w in _words(phrase))


class Linker:
    """Links the words of sentences for one table."""

    def __init__(self, world: World, rules: Sequence[Rule] = ()) -> None:
        self.world, self.values, self.terms = world, world.values(), world.terms(rules)
        self.roots = {_root(t): t for t in self.terms}
        self.names, self.alias = self._aliases()
        own = stem(_words(world.name)[-1])
        others = {stem(_words(name)[-1]) for name in world.other_tables}
        # "How many tickets" is no question about customers where another table is called so.
        self.rows = (_ROWS | {own}) - (others - {own})

    def _aliases(self) -> tuple[dict[str, str], dict[str, str]]:
        """Full names, and shorter names that only one column can mean."""
        full: dict[str, set[str]] = {}
        short: dict[str, set[str]] = {}
        for c, d in self.world.columns.items():
            for words in (_words(c), _words(d["label"] or c)):
                full.setdefault(" ".join(map(stem, words)), set()).add(c)
                for w in {stem(w) for w in words} - _GENERIC:
                    short.setdefault(w, set()).add(c)
        kinds = ((SCORES, self.world.is_number, SCORES | {"csat", "grade"}), (_PERSON, lambda c: True, _PERSON))
        for asked, fits, inside in (*kinds, (_MONEY, self.world.is_number, _MONEY | {"amount", "spend", "price"})):
            found = {
                c for c in self.world.columns if fits(c) and {stem(w) for w in _words(c)} & {stem(w) for w in inside}
            }
            for w in asked:
                short.setdefault(stem(w), found) if stem(w) not in full else None
        one = [{k: next(iter(v)) for k, v in names.items() if len(v) == 1} for names in (full, short)]
        return one[0], one[1]

    def days(self) -> tuple[date, date]:
        """First and last day of the data, by its one column of dates; today where there is none."""
        c = self.world.columns[self.world.times[0]] if self.world.times else {}
        try:
            return date.fromisoformat(str(c["minimum"])[:10]), date.fromisoformat(str(c["maximum"])[:10])
        except (KeyError, ValueError):
            return self.world.today, self.world.today

    def link(self, text: str) -> Linked:
        """The sentence as a pattern over its mentions."""
        for old, new in _REWRITES:
            text = re.sub(old, new, text, flags=re.IGNORECASE)
        text, search = _take_search(text)
        marked, found = periods.extract(text.lower(), self.world.today, *self.days())
        tokens = re.findall(r'"[^"]*"|\'[^\']+\'(?!\w)|[^\s,;?!()"]+|[,;]', marked)
        tokens = [t.rstrip(".:") if t[0] not in "\"'" else t for t in tokens]
        out: list[str] = []
        mentions: list[Mention] = []
        i = 0
        while i < len(tokens):
            size, m = self._longest(
                tokens, i, mentions if (out and out[-1][:1].isupper()) or out[-1:] == ["is"] else []
            )
            if re.fullmatch(r"P\d+", tokens[i]):
                size, m = 1, Mention("P", tokens[i], period=found[int(tokens[i][1:])])
            elif search and tokens[i] == "x0":
                size, m = 1, Mention("X", search)
            if m:
                out += ["total"] if m.kind == "C" and tokens[i] in _MONEY else []
                out.append(f"{m.kind}{len(mentions)}")
                mentions.append(m)
            elif tokens[i].strip("\"'"):
                out.append(tokens[i].strip("\"'"))
            i += size
        return Linked(" ".join(out).replace(" ,", ","), tuple(mentions))

    def _longest(self, tokens: list[str], i: int, last: list[Mention]) -> tuple[int, Mention | None]:
        for n in range(min(6, len(tokens) - i), 0, -1):
            m = self._mention(tokens[i : i + n], last)
            if m:
                return n, m
        return 1, None

    def _mention(self, words: list[str], last: list[Mention]) -> Mention | None:
        text = " ".join(words)
        plain = text.strip("\"'")
        names = " ".join(stem(w) for w in _words(plain))
        if text == plain and names in self.names:
            column = self.names[names]
            key = (
                self.world.columns[column]["distinct"] == self.world.table["rows"]
                and names != plain
                and self.world.times != [column]
            )
            return Mention("R" if key and self.world.is_text(column) else "C", plain, column)
        if text == plain and (term := self.roots.get(_root(plain))):
            return Mention("T", term, filter=self.terms[term])
        options = self.values.get(fold(plain), {}) if fold(plain) and "," not in words[-1:] + words[:1] else {}
        if re.fullmatch(r"[\d.,]+", plain) or (
            text == plain and plain in _COMMON
        ):  # a figure or a function word needs its column beside it
            options = {c: v for c, v in options.items() if last and last[-1].column == c and plain in v}
        if options:
            return Mention("V", plain, options=tuple((c, tuple(v)) for c, v in options.items()))
        if len(words) == 1 and text == plain:
            return self._word(plain, last)
        return None

    def _word(self, w: str, last: list[Mention]) -> Mention | None:
        s = stem(w)
        if re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?", w):
            return Mention("N", w, number=float(w.replace(",", "")))
        if w in _NUMBERS[2:]:
            return Mention("N", w, number=_NUMBERS.index(w))
        if s in self.rows or (s == "complaint" and not any({*_words(c)} & SCORES for c in self.world.columns)):
            return Mention("R", w)
        if s in self.alias and not (last and last[-1].kind == "C" and s == "score"):
            return Mention("C", w, self.alias[s])
        did = [c for c in self.world.columns if w.endswith("ed") and _root(c) == _root(w)]
        if len(did) == 1:  # "reported" of a column `reporter`
            return Mention("C", w, did[0])
        grain = _GRAINS.get(w, s)
        if grain in ("day", "week", "month", "quarter", "year", "weekday") and self.world.times:
            return Mention("G", grain)
        adjective = [
            t for t in self.terms if len(t.split()) > 1 and t.split()[0] == w and stem(t.split()[-1]) in self.names
        ]
        return Mention("T", adjective[0], filter=self.terms[adjective[0]]) if len(adjective) == 1 else None

    def nearest(self, word: str) -> list[str]:
        """Known names close to a word that is not one, best first."""
        known = {v: v for cs in self.values.values() for vs in cs.values() for v in vs} | {
            c.replace("_", " "): "" for c in self.world.columns
        }
        return [
            name
            for name, _, _ in process.extract(
                word, list(known), scorer=fuzz.ratio, limit=2, score_cutoff=75, processor=str.casefold
            )
        ]


def _take_search(text: str) -> tuple[str, str]:
    """`mentioning dark mode` becomes `mention X0`, and the words apart; unquoted, at most three plain words."""
    m = re.search(
        r"\bmention(?:s|ing|ed)?(?: the words?)? (\"[^\"]+\"|'[^']+'|.+?)"
        r"(?=[?.!,]*$| (?:in|from|per|by|last|since|during|for)\b)",
        text,
        re.IGNORECASE,
    )
    plainly = m and m[1][0] not in "\"'" and (len(m[1].split()) > 3 or _JOINS & set(m[1].casefold().split()))
    if not m or plainly:
        return text, ""
    return text[: m.start()] + "mention X0" + text[m.end() :], m[1].strip("\"'")


_JOINS = frozenset(
    ("and", "or", "but", "not", "with", "without", "that", "which", "who", "is", "are", "were", "was", "have", "has")
)
_COMMON = frozenset(
    ("no", "yes", "all", "other", "none", "any", "most", "not", "of", "in", "on", "and", "or", "is", "it", "the", "a")
)


def value_of(m: Mention) -> tuple[str, tuple[str, ...]] | None:
    """The one column and spellings a value stands for; None when several columns have it."""
    return m.options[0] if len(m.options) == 1 else None


def number_of(m: Mention) -> Any:
    """A number as a whole one where it is."""
    return int(m.number) if m.number.is_integer() else m.number
