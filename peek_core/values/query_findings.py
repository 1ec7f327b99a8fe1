"""What is unusual about a query plan, in plain words, with what to do about it.

Owns: the thresholds and the sentences. Refuses to know: pages, SQL dialects other than the operators it is given, and
whether the answer was right. Every finding rests on counts and times of the one run; nothing is asked of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from peek_core.values.query_operators import OFF, Operator, QueryPlan, Untested, one_line

FindingKind = Literal["estimate", "scan", "join", "sort", "time"]

NOTHING_UNUSUAL = (
    "Nothing unusual: no estimate far off, no large table read for few rows, no join that multiplies rows, "
    "nothing sorted in vain, no operator that held the rest up."
)

SCANNED = 100_000
"""Rows of a scan worth a word. DuckDB reads and tests that many in 0.3 to 2 ms (measured: a comparison, a search in text),
and a row group holds 122,880: below that there is nothing to skip."""
KEPT = 0.10
"""A filter that keeps less than this made most of the reading vain. At one row in ten every row group holds some."""
GROWS = 10
"""Output rows of a join for each row of its larger input: a key that is unique on one side gives 1 at most."""
GROWN_ROWS = 10_000
"""And at least this many rows come out: fewer cost nothing, however they multiplied."""
PAIRS = 1_000_000
"""Pairs a join compared one by one; a million took 2 to 60 ms (measured: sums, texts), and they grow with the square."""
SORTED = 10_000
"""Rows below which sorting everything costs no more than not to."""
TOP = 0.007
"""The share of rows up to which DuckDB makes a top-N of a sort with a LIMIT (measured: 0.7 % yes, 1.2 % no); above it a
whole sort is what it takes for cheaper."""
HELD_UP = 0.60
"""Share of time of one operator from which the rest does not matter: without it the query would take less than half."""
HELD_UP_MS = 100.0
"""And the operators took at least this long; nobody waits for less."""


@dataclass(frozen=True)
class Finding:
    """One thing to know of a plan. All texts may hold SQL and literals of the dataset."""

    kind: FindingKind
    operator: Operator
    tag: str
    """A few words: the finding where there is no room for more."""
    what: str
    """What happened, with its numbers."""
    advice: str
    """What to do, or why there is nothing to do."""
    matters: bool = True
    """False where the plan would have been the same."""


def findings(plan: QueryPlan) -> tuple[Finding, ...]:
    """Everything unusual: what matters first, then by the operator's share of time, then in the plan's order."""
    found = [*_scans(plan), *_joins(plan), *_sorts(plan)]
    told = {f.operator.at for f in found}
    # An estimate without consequences is not worth a second sentence about the same operator.
    found += [f for f in _estimates(plan) if f.matters or not _told(plan, f.operator, told)]
    found += _time(plan, {f.operator.at for f in found if f.matters})
    return tuple(sorted(found, key=lambda f: (not f.matters, -(f.operator.share or 0.0), f.operator.at)))


def _told(plan: QueryPlan, o: Operator, told: set[int]) -> bool:
    while o.at not in told:
        below = plan.children(o)
        if o.kind not in ("filter", "project") or not below:
            return False
        o = below[0]
    return True


def called(o: Operator) -> str:
    """The operator in a sentence: what it does, to what."""
    on = {
        "scan": [*o.said("Table"), *o.said("Function")],
        "filter": o.said("Expression"),
        "join": [*o.said("Conditions"), *o.said("Condition")],
        "aggregate": [g for g in o.said("Groups") if not g.startswith("#")],
        "sort": o.said("Order By"),
        "top": o.said("Order By"),
        "window": o.said("Projections"),
    }.get(o.kind, ())
    name = {
        "scan": "the scan of", "filter": "the filter", "join": "the join on", "aggregate": "the grouping by",
        "sort": "the sort by", "top": "the top rows by", "window": "the window function",
    }.get(o.kind)  # fmt: skip
    text = one_line(" AND ".join(on) if o.kind in ("join", "filter") else ", ".join(on), 80)
    if not text:
        return o.name
    return f"{name} {text} ({o.name})"


def factor(ratio: float) -> str:
    """A ratio of at least one, as ×N."""
    return f"×{ratio:.1f}" if ratio < 9.95 else f"×{ratio:,.0f}"


def times_off(o: Operator) -> str:
    """How far the estimate was from what came: `×40 too low`, `close` below a factor of two, a dash where unknown."""
    if o.off is None:
        return "–"
    if 0.5 < o.off < 2:
        return "close"
    if o.proves_nothing:
        return _UNTESTED[o.untested]
    if o.rows == 0 or o.estimate == 0:
        return "too high, none came" if o.rows == 0 else "too low, none expected"
    return f"{factor(o.off)} too low" if o.off > 1 else f"{factor(1 / o.off)} too high"


_UNTESTED: dict[Untested, str] = {
    "limit": "stopped early",
    "runtime": "filtered while running",
    "asked": "the LIMIT's number",
    "loop": "ran in a loop",
}


def _rows(n: int, word: str = "row") -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.095 else f"{100 * share:.0f} %"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _estimates(plan: QueryPlan) -> Iterator[Finding]:
    """Where an estimate went wrong, not every operator above that inherited it."""
    for o in plan.operators:
        if not o.misjudged or o.rows is None or o.estimate is None or o.off is None or _inherited(plan, o):
            continue
        above = plan.above(o)
        matters = any(a.kind in ("join", "cte") and not _fetches_rows(a) for a in above)
        came = "none came" if o.rows == 0 else f"{o.rows:,} came"
        what = f"{_sentence(called(o))}: {_rows(o.estimate)} expected, {came}."
        if _one_in_five(plan, o):
            what += " DuckDB expects one row in five from a condition it knows nothing of."
        if matters:
            advice = (
                "The order of the joins and the side kept in memory rest on this number. Put this part into a table in "
                "scratch first: DuckDB then knows how many rows it has."
            )
        else:
            advice = "No join stands above it, so the plan would have been the same."
        yield Finding("estimate", o, f"estimate {times_off(o)}", what, advice, matters)


def _fetches_rows(o: Operator) -> bool:
    # After a top-N DuckDB fetches the other columns of the few rows by their number: a join only in form.
    return o.said("Conditions") == ("rowid = rowid",)


def _one_in_five(plan: QueryPlan, o: Operator) -> bool:
    below = plan.children(o)
    before = o.rows_scanned if o.kind == "scan" else below[0].rows if o.kind == "filter" and len(below) == 1 else None
    return before is not None and o.estimate is not None and abs(5 * o.estimate - before) <= 5


def _inherited(plan: QueryPlan, o: Operator) -> bool:
    assert o.off is not None
    for child in _judged(plan, o):
        assert child.off is not None
        same = (child.off > 1) == (o.off > 1)
        further = max(o.off, 1 / o.off) / max(child.off, 1 / child.off)
        if same and further < OFF and (child.misjudged or child.proves_nothing):
            return True
    return False


def _judged(plan: QueryPlan, o: Operator) -> Iterator[Operator]:
    """The nearest operators below with both numbers; one without (a union) is looked through."""
    for child in plan.children(o):
        if child.off is None:
            yield from _judged(plan, child)
        else:
            yield child


def _scans(plan: QueryPlan) -> Iterator[Finding]:
    """Tables read whole for few rows. A scan without a condition is not one: sums and counts need every row."""
    for o in plan.operators:
        read, all_groups = o.rows_scanned, o.row_groups_total
        if o.kind != "scan" or read is None or read <= SCANNED or _cut_short(o):
            continue
        if all_groups is not None and o.row_groups is not None and o.row_groups < all_groups:
            continue
        kept, conditions = _kept(plan, o)
        if kept is None or not conditions or kept >= KEPT * read:
            continue
        table = one_line(", ".join(o.said("Table")), 60) or "the table"
        none = "kept none" if kept == 0 else f"kept {kept:,} ({_percent(kept / read)})"
        yield Finding(
            "scan", o, "full scan",
            f"All {read:,} rows of {table} were read and {none}: {one_line(' AND '.join(conditions), 120)}.",
            "DuckDB skips a block of rows only where a bare column is compared with a constant and the block's smallest "
            "and largest value rule it out, so it helps to compare dates with dates, not with text made of them. A "
            "search in text always reads everything: where it is asked often, a label or derived column is cheaper.",
        )  # fmt: skip


def _cut_short(o: Operator) -> bool:
    """Whether it was not the query's own conditions that left few rows."""
    if o.untested == "runtime" and o.kind == "scan":
        return o.rows != o.rows_scanned  # found while running, but it took nothing away
    return o.untested not in ("", "asked")


def _kept(plan: QueryPlan, scan: Operator) -> tuple[int | None, list[str]]:
    """Rows after the scan's own filters and those standing right above it, and the conditions."""
    kept, conditions, below = scan.rows, list(scan.filters), scan
    for o in plan.above(scan):
        if _cut_short(o):
            break
        if o.kind == "filter":
            kept = o.rows
            conditions += o.filters
        elif o.kind != "project" and not (o.said("Join Type") == ("MARK",) and plan.children(o)[0] is below):
            # A MARK join is how `IN (…)` is tested: it takes no rows away, the filter above it does.
            break
        below = o
    return kept, conditions


def _joins(plan: QueryPlan) -> Iterator[Finding]:
    for o in plan.operators:
        if o.kind != "join" or o.rows is None:
            continue
        inputs = [c.rows for c in plan.children(o)]
        if len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
            continue
        larger, pairs = max(inputs[0], inputs[1]), inputs[0] * inputs[1]
        sides = f"{inputs[0]:,} and {_rows(inputs[1])} went in"
        if o.rows > GROWS * max(larger, 1) and o.rows >= GROWN_ROWS:
            yield Finding(
                "join", o, f"join grows {factor(o.rows / max(larger, 1))}",
                f"{_sentence(called(o))}: {sides}, {o.rows:,} came out, {factor(o.rows / max(larger, 1))} the larger side.",
                "Rows are repeated, so sums and counts above count them more than once. Join on a key that is unique on "
                "one side, or group one side first.",
            )  # fmt: skip
        elif o.name in ("BLOCKWISE_NL_JOIN", "NESTED_LOOP_JOIN", "CROSS_PRODUCT") and _all_pairs(inputs[0], inputs[1]):
            yield Finding(
                "join", o, "every pair compared",
                f"{_sentence(called(o))}: {sides}, so {pairs:,} pairs were compared; {o.rows:,} matched.",
                "Nothing in the condition is a plain equality between the two sides. Add one (the same day, the same "
                "customer), or filter both sides first.",
            )  # fmt: skip


def _all_pairs(left: int, right: int) -> bool:
    # One row against a million is how a scalar subquery runs: the pairs are then no more than the rows.
    return left * right >= PAIRS and left * right > GROWS * max(left, right)


def _sorts(plan: QueryPlan) -> Iterator[Finding]:
    """Sorts and window functions over everything, where few rows of it were wanted."""
    for o in plan.operators:
        if o.kind not in ("sort", "window"):
            continue
        taken = [c.rows for c in plan.children(o)]
        if len(taken) != 1 or taken[0] is None or taken[0] < SORTED:
            continue
        wanted = _wanted(plan, o)
        if wanted is None or wanted.rows is None or wanted.rows > TOP * taken[0]:
            continue
        by = "the LIMIT" if wanted.kind == "limit" else "the filter above"
        what = f"{taken[0]:,} rows, and {by} kept {wanted.rows:,} of them."
        if o.kind == "sort":
            yield Finding(
                "sort", o, "sorts everything",
                f"{_sentence(called(o))} sorted {what}",
                "With a constant LIMIT directly after ORDER BY, and no OFFSET or window function in between, DuckDB keeps "
                "only the top rows instead of sorting all.",
            )  # fmt: skip
        else:
            function = one_line(", ".join(o.said("Projections")), 80) or o.name
            yield Finding(
                "sort", o, "window over everything",
                f"{function} was worked out for {what}",
                "ORDER BY with a LIMIT gives the first rows without it; for the first of each group filter on "
                "row_number(), which DuckDB turns into a top-N.",
            )  # fmt: skip


def _wanted(plan: QueryPlan, o: Operator) -> Operator | None:
    """The operator that threw most rows of `o` away: a LIMIT, or a filter on a window; None where all are used."""
    least: Operator | None = None
    for above in plan.above(o):
        if above.kind == "limit" or (above.kind == "filter" and o.kind == "window"):
            least = above
        elif above.kind != "project" and above.name != "STREAMING_WINDOW":
            break
    return least


_HELD_UP_ADVICE = {
    "scan": "Read fewer columns, or filter on a column the rows are ordered by; a pattern or a function is run for "
    "every row it reads.",
    "filter": "Its condition is worked out for every row: put a cheap one before it, or keep its result as a derived column.",
    "project": "Its expressions are worked out for every row: filter first, or keep the result as a derived column.",
    "join": "Filter or group each side before joining.",
    "aggregate": "Fewer groups, or shorter ones: grouping by a code is quicker than by a long text.",
    "sort": "Group or filter before sorting, or add a LIMIT.",
    "top": "Filter before taking the top rows.",
    "window": "Filter before it, or group first and look at the groups.",
}


def _time(plan: QueryPlan, told: set[int]) -> Iterator[Finding]:
    """The operator that held the rest up, unless it is among those told of already."""
    if plan.operator_ms is None or plan.operator_ms < HELD_UP_MS or len(plan.operators) < 2:
        return
    for o in plan.operators:
        if o.share is not None and o.share >= HELD_UP and o.at not in told:
            yield Finding(
                "time", o, f"{100 * o.share:.0f} % of the time",
                f"{_sentence(called(o))} took {100 * o.share:.0f} % of the time of all operators.",
                _HELD_UP_ADVICE.get(o.kind, "The other operators hardly matter."),
            )  # fmt: skip
