"""Look-ups: what is asked of the data before a question may be answered.

Owns: the text of every look-up; each is recognised again by exactly this text. Refuses to know: when one is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from peek_core.providers.builtin.query import condition, ident, literal, many
from peek_core.providers.builtin.reading import Filter

LOOK_UP = "/* look-up */ "
STAND_INS = (-1, -9, -99, -999, -9999, 99, 999, 9999, 99999, 999999)
INTERNAL = ("test", "tests", "testing", "dummy", "internal", "demo", "sandbox", "qa")


def values_sql(table: str, column: str, rows: str = "") -> str:
    """Look-up: the distinct values of a column of few values."""
    return (
        f"{LOOK_UP}SELECT {ident(column)} AS value, count(*) AS n FROM {ident(table)}{rows} GROUP "
        f"BY 1 ORDER BY 2 DESC, 1"
    )


def stand_in_sql(table: str, column: str) -> str:
    """Look-up: values at the edge that may stand for a missing one, and the range of all others."""
    c, t, codes = ident(column), ident(table), many(STAND_INS)
    rest = f"FROM {t} WHERE {c} NOT IN {codes}"
    return (
        f"{LOOK_UP}SELECT {c} AS code, count(*) AS n, (SELECT min({c}) {rest}) AS low, (SELECT "
        f"max({c}) {rest}) AS high FROM {t} WHERE {c} IN {codes} GROUP BY 1 ORDER BY 2 DESC, 1"
    )


def internal_sql(table: str, columns: Sequence[str]) -> str:
    """Look-up: rows whose values look like somebody's own tests."""
    each = (
        (
            f"SELECT {literal(c)} AS internal_in, {ident(c)} AS value, count(*) AS n FROM "
            f"{ident(table)} WHERE lower({ident(c)}) IN {many(INTERNAL)} GROUP BY 2"
        )
        for c in columns
    )
    return LOOK_UP + " UNION ALL ".join(each) + " ORDER BY 1, 2"


def find_sql(table: str, columns: Sequence[str], words: Sequence[str]) -> str:
    """Look-up: which columns hold the words, in which spellings, and what is close to them."""
    near = " OR ".join(f"levenshtein(f, {literal(w)}) <= {2 if len(w) > 5 else 1}" for w in words if len(w) > 3)
    each = (
        f"SELECT {literal(c)} AS found_in, {ident(c)} AS value, "
        f"regexp_replace(lower(strip_accents({ident(c)})), '[^\\p{{L}}\\p{{N}}]', '', 'g') AS f, count(*) AS n "
        f"FROM {ident(table)} WHERE {ident(c)} IS NOT NULL GROUP BY 1, 2, 3"
        for c in columns
    )
    return (
        f"{LOOK_UP}SELECT found_in, value, n FROM ({' UNION ALL '.join(each)}) WHERE f IN "
        f"{many(words)}{' OR ' + near if near else ''} ORDER BY n DESC, 1, 2 LIMIT 50"
    )


def never_sql(table: str, there: Filter, column: str) -> str:
    """Look-up: rows that contradict "`column` is missing where `there`", and rows where it is missing elsewhere."""
    at, c = condition(there), ident(column)
    return (
        f"{LOOK_UP}SELECT count(*) FILTER (WHERE {at} AND {c} IS NOT NULL) AS against, count(*) "
        f"FILTER (WHERE {c} IS NULL AND ({at}) IS NOT TRUE) AS elsewhere FROM {ident(table)}"
    )
