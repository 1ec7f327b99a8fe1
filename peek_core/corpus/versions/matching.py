"""Which columns of a new export are which known ones, by header, by values, and by rows that both exports have.

Owns: the similarities and what may be acted upon without asking. Refuses to know: files. Rows that both exports have say
most: where the cells of two columns agree row by row, beyond what chance gives (Cohen's kappa, 1960), they are one
column whatever they are called. Without such rows headers and distributions have to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from peek_core.corpus.versions.sketch import Beside, ColumnSketch, TableSketch
from peek_core.values.versions import ColumnMatch, Proposal, TableMatch

PROPOSED = 0.5
"""From this similarity on a pair is proposed."""
LEFT_OVER = 0.34
"""Of what is left then, pairs that nothing else comes near are proposed from here on."""
MARGIN = 0.06
CERTAIN = 0.95
"""From this agreement on a renamed column is taken without asking, if nothing else comes near."""
RIVAL = 0.6
TABLE = 0.4
_ENOUGH = 50
"""Rows side by side that make an agreement."""
_GENERIC = frozenset(("id", "no", "nr", "num", "number", "name", "code", "date", "the", "of", "is"))


@dataclass(frozen=True)
class Judged:
    """One pair: how similar and why. `agreement` over rows side by side, None where there are too few."""

    similarity: float
    why: str
    header: float
    agreement: float | None


def proposed(
    old: Sequence[TableSketch], new: Sequence[TableSketch], besides: Mapping[tuple[str, str], Beside]
) -> Proposal:
    """Each new table as the known one it is most like, or as a further one."""
    matches = [match(o, n, besides.get((o.name, n.name), Beside())) for o in old for n in new]
    taken_old, taken_new = set[str](), set[str]()
    chosen = []
    for m in sorted(matches, key=lambda m: (-m.similarity, m.old, m.new)):
        if m.similarity >= TABLE and m.old not in taken_old and m.new not in taken_new:
            taken_old.add(m.old)
            taken_new.add(m.new)
            chosen.append(m)
    order = [t.name for t in old]
    return Proposal(
        tuple(sorted(chosen, key=lambda m: order.index(m.old))),
        tuple(t.name for t in new if t.name not in taken_new),
        tuple(t.name for t in old if t.name not in taken_old),
    )


def match(old: TableSketch, new: TableSketch, rows: Beside) -> TableMatch:
    """The columns of two tables, each in at most one pair, the most similar pairs first."""
    if not _telling(old, new, rows):
        rows = Beside()
    judged = {(o.name, n.name): judge(o, n, rows) for o in old.columns for n in new.columns}
    by_old, by_new = {c.name: c for c in old.columns}, {c.name: c for c in new.columns}
    place = {c.name: i for i, c in enumerate(old.columns)} | {c.name: i for i, c in enumerate(new.columns)}
    pairs = dict[str, str]()
    order = sorted(judged, key=lambda p: (-judged[p].similarity, abs(place[p[0]] - place[p[1]]), p))
    for least, alone in ((PROPOSED, False), (LEFT_OVER, True)):
        for o, n in order:
            if judged[o, n].similarity < least or o in pairs or n in pairs.values():
                continue
            if not alone or not _rivalled(o, n, judged, pairs):
                pairs[o] = n
    columns = tuple(
        ColumnMatch(
            o,
            n,
            by_new[n].label,
            round(judged[o, n].similarity, 3),
            judged[o, n].why,
            _certain(o, n, judged, rows),
        )
        for o in by_old
        for n in [pairs.get(o)]
        if n is not None
    )
    gone = tuple(o for o in by_old if o not in pairs)
    added = tuple(n for n in by_new if n not in pairs.values())
    found = sum(c.similarity for c in columns)
    similarity = found / max(1, len(old.columns)) if old.columns else 0.0
    # A column that went while an unlike one came may be the same one after all: somebody should look.
    return TableMatch(old.name, new.name, round(similarity, 3), columns, gone, added, not (gone and added))


def _telling(old: TableSketch, new: TableSketch, rows: Beside) -> bool:
    """Whether rows with the same key are the same rows: a number that starts anew in each export pairs strangers."""
    if rows.key is None:
        return False
    pairs = ((o.name, n.name) for o in old.columns for n in new.columns if (o.name, n.name) != rows.key)
    return any((_agreement(o, n, rows) or 0.0) >= 0.5 for o, n in pairs)


def _rivalled(o: str, n: str, judged: Mapping[tuple[str, str], Judged], pairs: Mapping[str, str]) -> bool:
    """Whether another free column comes near either of the two."""
    taken = set(pairs.values())
    rivals = [
        j.similarity for (a, b), j in judged.items() if (a == o) != (b == n) and a not in pairs and b not in taken
    ]
    return max(rivals, default=0.0) > judged[o, n].similarity - MARGIN


def _certain(o: str, n: str, judged: Mapping[tuple[str, str], Judged], rows: Beside) -> bool:
    """Whether nobody needs to be asked: the same header, or cells that agree, and no rival for either."""
    mine = judged[o, n]
    rivals = [j for (a, b), j in judged.items() if (a == o) != (b == n)]
    if any((r.agreement or 0.0) >= RIVAL for r in rivals):
        return False
    if mine.header == 1.0:
        return sum(j.header == 1.0 for (a, b), j in judged.items() if a == o or b == n) == 1 and mine.similarity >= 0.7
    return mine.agreement is not None and mine.agreement >= CERTAIN and rows.rows >= _ENOUGH


def judge(o: ColumnSketch, n: ColumnSketch, rows: Beside) -> Judged:
    """One old column against one new one."""
    header = header_similarity(o.label, n.label)
    agreement = _agreement(o.name, n.name, rows)
    values, how = _values(o, n)
    alike = _likeness(o, n)
    if header == 1.0:
        said = "same header" if o.label == n.label else "same header, written otherwise"
        score = 0.75 + 0.25 * max(values, alike, agreement or 0.0)
    elif agreement is not None and rows.rows >= _ENOUGH:
        said = f"{agreement:.0%} agreement in {rows.rows:,} rows that both have"
        # Values may have been corrected since; headers that have nothing in common need not mean anything.
        score = (
            0.85 * agreement + 0.15 * header if agreement >= 0.3 else 0.35 * agreement + 0.45 * header + 0.1 * values
        )
    else:
        said = how
        score = 0.45 * header + 0.4 * values + 0.15 * alike
        score *= 1.0 if o.kind == n.kind else 0.7
    if header not in (0.0, 1.0) and header >= 0.5:
        said = f"similar header, {said}"
    return Judged(min(1.0, score), said, header, agreement)


def header_similarity(old: str, new: str) -> float:
    """0 to 1; words in any order, `cust` for `customer`, without case and punctuation.

    >>> header_similarity("Customer ID", "customer_id"), header_similarity("cust_id", "Customer ID") > 0.8
    (1.0, True)
    """
    a, b = _words(old), _words(new)
    if "".join(a) == "".join(b):
        return 1.0
    if not a or not b:
        return 0.0
    best = max(_covered(a, b), 0.95 * fuzz.token_sort_ratio(" ".join(a), " ".join(b)) / 100)
    return best if best >= 0.62 else 0.0  # below that it is the alphabet that two words have in common


def _covered(a: Sequence[str], b: Sequence[str]) -> float:
    """How much of the words of both has a counterpart, generic words counting little."""

    def share(mine: Sequence[str], theirs: Sequence[str]) -> float:
        weight = {w: 0.4 if w in _GENERIC else 1.0 for w in mine}
        return sum(weight[w] * max(_same_word(w, t) for t in theirs) for w in mine) / sum(weight[w] for w in mine)

    return 0.95 * min(share(a, b), share(b, a)) + 0.04 * (share(a, b) == share(b, a) == 1.0)


def _same_word(a: str, b: str) -> float:
    if a == b:
        return 1.0
    short, long = sorted((a, b), key=len)
    if len(short) >= 2 and long.startswith(short):
        return 0.92
    return fuzz.ratio(a, b) / 100 if fuzz.ratio(a, b) >= 75 else 0.0


@lru_cache(maxsize=4_096)
def _words(label: str) -> tuple[str, ...]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", label)
    return tuple(w for w in re.split(r"[\W_]+", apart.casefold()) if w)


def _agreement(o: str, n: str, rows: Beside) -> float | None:
    """Cohen's kappa of two columns over the rows side by side; None where nothing can be told from them."""
    if rows.old is None or rows.new is None:
        return None
    pairs = [(a, b) for a, b in zip(rows.old[o], rows.new[n], strict=True) if a is not None or b is not None]
    if len(pairs) < 20:
        return None
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(count * right[value] for value, count in left.items()) / len(pairs) ** 2
    if by_chance > 0.98:
        return None
    same = sum(a == b for a, b in pairs) / len(pairs)
    return max(0.0, (same - by_chance) / (1 - by_chance))


def _values(o: ColumnSketch, n: ColumnSketch) -> tuple[float, str]:
    """How many values both have, or how their distributions lie to each other."""
    if not o.values or not n.values:
        return (0.5, "both empty") if not o.values and not n.values else (0.0, "one of them is empty")
    shared = len(o.values & n.values)
    if o.whole and n.whole:
        share = shared / min(len(o.values), len(n.values))
        jaccard = shared / len(o.values | n.values)
        # A column of two or three values is found in many others by chance.
        few = min(1.0, len(o.values | n.values) / 4)
        found = (0.6 * jaccard + 0.4 * share) * (0.6 + 0.4 * few)
        if o.kind == n.kind == "number" and o.quantiles and n.quantiles:
            found = 0.4 * found + 0.6 * _overlap(o.quantiles, n.quantiles)
        return found, f"{shared:,} of {len(o.values | n.values):,} values in common"
    if o.unique and n.unique and o.kind == n.kind != "text" and not shared:
        return 0.6, "both tell rows apart"
    if o.quantiles and n.quantiles and o.kind == n.kind:
        overlap = _overlap(o.quantiles, n.quantiles)
        return overlap, "similar range" if overlap >= 0.5 else "another range"
    share = shared / max(1, min(len(o.values), len(n.values)))
    alike = _shapes(o, n)
    if alike > share:
        return 0.6 * alike, "values of the same form"
    return share, f"{share:.0%} of sampled values in common"


def _shapes(o: ColumnSketch, n: ColumnSketch) -> float:
    """How much the forms of two texts overlap."""
    return sum(min(share, (n.shapes or {}).get(form, 0.0)) for form, share in (o.shapes or {}).items())


def _overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """How much the middle nine tenths of two distributions overlap, by their quantiles: 1 for the same ones."""
    width = max(a[-1], b[-1]) - min(a[0], b[0])
    if width == 0:
        return 1.0
    return max(0.0, 1.0 - 2.5 * sum(abs(x - y) for x, y in zip(a, b, strict=True)) / len(a) / width)


def _likeness(o: ColumnSketch, n: ColumnSketch) -> float:
    """Type, gaps, variety, length and shape."""
    parts = [1.0 if o.kind == n.kind else 0.3, 1.0 - abs(o.filled - n.filled), 1.0 if o.unique == n.unique else 0.2]
    most = max(o.distinct, n.distinct, 1)
    parts.append(min(o.distinct, n.distinct) / most)
    if o.kind == n.kind == "text":
        longer = max(o.length, n.length, 1.0)
        parts.append(min(o.length, n.length) / longer)
        if o.shapes and n.shapes:
            parts.append(_shapes(o, n))
    return sum(parts) / len(parts)
