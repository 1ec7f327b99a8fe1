"""The question series and its right answers, worked out in plain Python from the generator's rows, never by SQL.

Owns the questions, the work behind each answer and the file `questions.jsonl`. Refuses to know how rows are made and how
they are written: it takes them as they are, with the truth (topic, language) that the generator keeps beside the texts.

A house rule is in force from the question that states it. Answers are JSON values:
number (int or float), share (a fraction 0..1), text, table (a list of rows, null for missing, in the asked order),
none (null: the data cannot say). `tolerance` is absolute; 0 means exactly. Kinds: S asks one table, J needs both,
T needs the texts read.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from sample_corpora.support_tickets.rows import NOT_ASKED, UNKNOWN_CUSTOMER, Corpus, Customer, Ticket, build

QUESTIONS_FILE = Path(__file__).with_name("questions.jsonl")

PRIORITIES = {"P1": "Critical", "P2": "High", "P3": "Normal", "P4": "Low"}
SEGMENTS = {"KMU": "Small business", "ENT": "Enterprise", "ÖFF": "Public sector"}
LATE = 480

# The rules that change rows or values, as the curated view has them. The other planted facts are words and meaning.
COMPILED_RULES = (
    "test_tickets",
    "satisfaction_not_asked",
    "status_spelling",
    "priority_codes",
    "segment_codes",
    "unknown_customer",
)


@dataclass(frozen=True)
class View:
    """Both tables with the rules that are in force."""

    tickets: Sequence[Ticket]
    customers: Sequence[Customer]

    @property
    def by_number(self) -> dict[str, Customer]:
        return {c.customer_no: c for c in self.customers}


def curated(corpus: Corpus, rules: Iterable[str]) -> View:
    """The rows as they stand under these compiled rules. An unknown customer is an empty number."""
    on = frozenset(rules)
    tickets: list[Ticket] = []
    for row in corpus.tickets:
        if "test_tickets" in on and row.queue == "TEST":
            continue
        made = row
        if "satisfaction_not_asked" in on and row.satisfaction == NOT_ASKED:
            made = made._replace(satisfaction=None)
        if "status_spelling" in on and row.status == "erledigt":
            made = made._replace(status="geschlossen")
        if "priority_codes" in on:
            made = made._replace(priority=PRIORITIES[row.priority])
        if "unknown_customer" in on and row.customer_no == UNKNOWN_CUSTOMER:
            made = made._replace(customer_no="")
        tickets.append(made)
    named = "segment_codes" in on
    return View(tickets, [c._replace(segment=SEGMENTS[c.segment]) if named else c for c in corpus.customers])


# How answers are worked out. A work takes the view; `_in` and the others pick and gather its rows.
Work = Callable[[View], Any]
Row = Any
Key = Callable[[Row], Any]


def _ranked(table: dict[Any, Any]) -> list[list[Any]]:
    return [[key, value] for key, value in sorted(table.items(), key=lambda pair: (-pair[1], str(pair[0])))]


def _counts(rows: Iterable[Row], key: Key) -> list[list[Any]]:
    """Rows by key, most first."""
    return _ranked(Counter(map(key, rows)))


def _first(rows: Iterable[Row], key: Key) -> Any:
    return _counts(rows, key)[0][0]


def _grouped(rows: Iterable[Row], key: Key, value: Key) -> dict[Any, list[Any]]:
    held: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        if (said := value(row)) is not None:
            held[key(row)].append(said)
    return held


def _mean(values: Iterable[Any]) -> float:
    said = [value for value in values if value is not None]
    return float(sum(said) / len(said))


def _means(rows: Iterable[Row], key: Key, value: Key) -> list[list[Any]]:
    """The average of what is there, by key, highest first."""
    return _ranked({k: _mean(values) for k, values in _grouped(rows, key, value).items()})


def _share(rows: Iterable[Row], part: Key) -> float:
    found = [bool(part(row)) for row in rows]
    return sum(found) / len(found)


def _euros(row: Ticket) -> float | None:
    return None if row.effort is None else row.effort / 100


def _month(row: Ticket) -> str:
    return f"{row.created:%Y-%m}"


def _in(view: View, month: str) -> list[Ticket]:
    """Tickets created in a month, or a year."""
    return [t for t in view.tickets if _month(t).startswith(month)]


def _replied(view: View) -> list[Ticket]:
    return [t for t in view.tickets if t.first_reply_minutes is not None]


def _late(row: Ticket) -> bool:
    return (row.first_reply_minutes or 0) > LATE


def _joined(view: View) -> list[tuple[Ticket, Customer]]:
    """Tickets with their customers; those whose customer is unknown have none."""
    customers = view.by_number
    return [(t, customers[t.customer_no]) for t in view.tickets if t.customer_no in customers]


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the series."""

    question: str
    answer_kind: str
    work: Work
    tolerance: float = 0.0
    kind: str = "S"
    follow_up: bool = False
    states_rule: str | None = None


_HOUSE_RULES = (
    Question(
        "Tickets in queue TEST don't count. How many tickets do we have?",
        "number",
        lambda v: len(v.tickets),
        states_rule="test_tickets",
    ),
    Question(
        "Satisfaction 9 means not asked. What is the average satisfaction?",
        "number",
        lambda v: _mean(t.satisfaction for t in v.tickets),
        0.005,
        states_rule="satisfaction_not_asked",
    ),
    Question(
        "erledigt is the same status as geschlossen. How many tickets are geschlossen?",
        "number",
        lambda v: sum(t.status == "geschlossen" for t in v.tickets),
        states_rule="status_spelling",
    ),
    Question(
        "P1 is Critical, P2 is High, P3 is Normal and P4 is Low. How many tickets are there per priority?",
        "table",
        lambda v: _counts(v.tickets, lambda t: t.priority),
        states_rule="priority_codes",
    ),
    Question(
        "KMU is Small business, ENT is Enterprise and ÖFF is Public sector. How many customers are there per segment?",
        "table",
        lambda v: _counts(v.customers, lambda c: c.segment),
        states_rule="segment_codes",
    ),
    Question(
        "customer_no 0000000 means unknown. How many tickets have no customer_no?",
        "number",
        lambda v: sum(not t.customer_no for t in v.tickets),
        states_rule="unknown_customer",
    ),
    Question(
        "Late means first_reply_minutes above 480. Of the tickets with a reply, what share is late?",
        "share",
        lambda v: _share(_replied(v), _late),
        0.0005,
        states_rule="late_reply",
    ),
    Question(
        "A good satisfaction is 4 or 5. How many tickets have a good satisfaction?",
        "number",
        lambda v: sum(t.satisfaction in (4, 5) for t in v.tickets),
        states_rule="good_satisfaction",
    ),
    Question(
        "Telefon never has a reply. How many tickets are there without a reply?",
        "number",
        lambda v: len(v.tickets) - len(_replied(v)),
        states_rule="calls_have_no_reply",
    ),
)

_SERIES = (
    Question(
        "How many different customers have written to us?",
        "number",
        lambda v: len({t.customer_no for t in v.tickets} - {""}),
    ),
    Question("How many tickets came in last month?", "number", lambda v: len(_in(v, "2026-10"))),
    Question("And the month before?", "number", lambda v: len(_in(v, "2026-09")), follow_up=True),
    Question(
        "Only those in Rückgabe.",
        "number",
        lambda v: sum(t.queue == "Rückgabe" for t in _in(v, "2026-09")),
        follow_up=True,
    ),
    Question(
        "As a percentage?",
        "share",
        lambda v: _share(_in(v, "2026-09"), lambda t: t.queue == "Rückgabe"),
        0.0005,
        follow_up=True,
    ),
    Question("Which queue gets the most tickets?", "text", lambda v: _first(v.tickets, lambda t: t.queue)),
    Question(
        "What is the average satisfaction per queue?",
        "table",
        lambda v: _means(v.tickets, lambda t: t.queue, lambda t: t.satisfaction),
        0.005,
    ),
    Question(
        "What is the average effort per queue?",
        "table",
        lambda v: _means(v.tickets, lambda t: t.queue, _euros),
        0.01,
    ),
    Question(
        "And only for Critical?",
        "table",
        lambda v: _means((t for t in v.tickets if t.priority == "Critical"), lambda t: t.queue, _euros),
        0.01,
        follow_up=True,
    ),
    Question("What is the total effort?", "number", lambda v: sum(t.effort or 0 for t in v.tickets) / 100, 0.01),
    Question(
        "What is the median first_reply_minutes per priority?",
        "table",
        lambda v: _ranked(
            {
                k: float(median(said))
                for k, said in _grouped(v.tickets, lambda t: t.priority, lambda t: t.first_reply_minutes).items()
            }
        ),
    ),
    Question("How many tickets are there per channel?", "table", lambda v: _counts(v.tickets, lambda t: t.channel)),
    Question(
        "What share of tickets came through Portal?",
        "share",
        lambda v: _share(v.tickets, lambda t: t.channel == "Portal"),
        0.0005,
    ),
    Question(
        "And by Telefon?",
        "share",
        lambda v: _share(v.tickets, lambda t: t.channel == "Telefon"),
        0.0005,
        follow_up=True,
    ),
    Question(
        "What share of tickets is geschlossen?",
        "share",
        lambda v: _share(v.tickets, lambda t: t.status == "geschlossen"),
        0.0005,
    ),
    Question("How many tickets are still offen?", "number", lambda v: sum(t.status == "offen" for t in v.tickets)),
    Question(
        "Show the number of tickets for each month of 2026.",
        "table",
        lambda v: sorted(_counts(_in(v, "2026"), _month)),
    ),
    Question(
        "How has the average satisfaction moved from month to month this year?",
        "table",
        lambda v: sorted(_means(_in(v, "2026"), _month, lambda t: t.satisfaction)),
        0.005,
    ),
    Question(
        "On which weekday do we get the most tickets?",
        "text",
        lambda v: _WEEKDAYS[_first(v.tickets, lambda t: t.created.weekday())],
    ),
    Question(
        "I need a cross-tab of queue by priority with the number of tickets.",
        "table",
        lambda v: sorted([*key, n] for key, n in _counts(v.tickets, lambda t: (t.queue, t.priority))),
    ),
    Question(
        "How many tickets arrived from 1 to 15 January 2026, both days included?",
        "number",
        lambda v: sum(date(2026, 1, 1) <= t.created.date() <= date(2026, 1, 15) for t in v.tickets),
    ),
    Question(
        "How many tickets in Rückgabe did we get in January 2026?",
        "number",
        lambda v: sum(t.queue == "Rückgabe" for t in _in(v, "2026-01")),
    ),
    Question("How many tickets have no body?", "number", lambda v: sum(t.body is None for t in v.tickets)),
    Question(
        "Compare E-Mail and Portal on average first_reply_minutes.",
        "table",
        lambda v: _means(
            (t for t in v.tickets if t.channel in ("E-Mail", "Portal")),
            lambda t: t.channel,
            lambda t: t.first_reply_minutes,
        ),
        0.01,
    ),
    Question(
        "How many tickets were late per channel?",
        "table",
        lambda v: _counts((t for t in v.tickets if _late(t)), lambda t: t.channel),
    ),
    Question(
        "Which customer has the most tickets?", "text", lambda v: _first(_joined(v), lambda pair: pair[0].customer_no)
    ),
    Question(
        "Which priority has the lowest average satisfaction?",
        "text",
        lambda v: _means(v.tickets, lambda t: t.priority, lambda t: t.satisfaction)[-1][0],
    ),
    Question(
        "How many tickets were closed in October 2026?",
        "number",
        lambda v: sum(t.closed is not None and f"{t.closed:%Y-%m}" == "2026-10" for t in v.tickets),
    ),
    Question(
        "How many Critical tickets came in since 1 October 2026?",
        "number",
        lambda v: sum(t.priority == "Critical" and t.created.date() >= date(2026, 10, 1) for t in v.tickets),
    ),
    Question("How many customers do we have?", "number", lambda v: len(v.customers)),
    Question("How many customers are there per country?", "table", lambda v: _counts(v.customers, lambda c: c.country)),
    Question(
        "How many Enterprise customers are in the Schweiz?",
        "number",
        lambda v: sum(c.segment == "Enterprise" and c.country == "Schweiz" for c in v.customers),
    ),
    Question(
        "What is the average yearly_revenue_eur per segment?",
        "table",
        lambda v: _means(v.customers, lambda c: c.segment, lambda c: c.yearly_revenue_eur),
        0.01,
    ),
    Question(
        "What is the median revenue of customers in Österreich?",
        "number",
        lambda v: median(
            c.yearly_revenue_eur for c in v.customers if c.country == "Österreich" and c.yearly_revenue_eur is not None
        ),
    ),
    Question(
        "How many customers have no yearly_revenue_eur?",
        "number",
        lambda v: sum(c.yearly_revenue_eur is None for c in v.customers),
    ),
    Question(
        "How many customers are there since 2024?",
        "number",
        lambda v: sum(c.since >= date(2024, 1, 1) for c in v.customers),
    ),
    Question("What is the average age of the people who write to us?", "none", lambda v: None),
    Question(
        "How many tickets came from customers in Österreich?",
        "number",
        lambda v: sum(c.country == "Österreich" for _, c in _joined(v)),
        kind="J",
    ),
    Question(
        "How many tickets are there per country?",
        "table",
        lambda v: _counts(_joined(v), lambda pair: pair[1].country),
        kind="J",
    ),
    Question(
        "What is the average satisfaction per segment?",
        "table",
        lambda v: _means(_joined(v), lambda pair: pair[1].segment, lambda pair: pair[0].satisfaction),
        0.005,
        kind="J",
    ),
    Question(
        "How many tickets did Enterprise customers send in October 2026?",
        "number",
        lambda v: sum(c.segment == "Enterprise" and _month(t) == "2026-10" for t, c in _joined(v)),
        kind="J",
    ),
    Question(
        "What did we spend on Enterprise customers, as total effort?",
        "number",
        lambda v: sum(t.effort or 0 for t, c in _joined(v) if c.segment == "Enterprise") / 100,
        0.01,
        kind="J",
    ),
    Question(
        "How many customers have never written a ticket?",
        "number",
        lambda v: len(v.customers) - len({c.customer_no for _, c in _joined(v)}),
        kind="J",
    ),
    Question(
        "In which country is the share of tickets in Rechnung highest?",
        "text",
        lambda v: _means(_joined(v), lambda pair: pair[1].country, lambda pair: pair[0].queue == "Rechnung")[0][0],
        kind="J",
    ),
    Question(
        "Give me the name of the customer with the most tickets.",
        "text",
        lambda v: _first(_joined(v), lambda pair: pair[1].name),
        kind="J",
    ),
    Question(
        "How many tickets mention 504?",
        "number",
        lambda v: sum("504" in f"{t.subject}\n{t.body or ''}" for t in v.tickets),
        kind="T",
    ),
    Question(
        "About how many tickets report a double charge?",
        "number",
        lambda v: sum(t.topic == "double_charge" for t in v.tickets),
        30.0,
        kind="T",
    ),
    Question(
        "What do people in Rückgabe ask about most?",
        "text",
        lambda v: _first((t for t in v.tickets if t.queue == "Rückgabe"), lambda t: t.topic),
        kind="T",
    ),
    Question(
        "What share of the tickets is written in German, roughly?",
        "share",
        lambda v: _share(v.tickets, lambda t: t.language == "de"),
        0.03,
        kind="T",
    ),
)


def questions() -> tuple[Question, ...]:
    """The whole series, in the order in which it is asked."""
    return (*_HOUSE_RULES, *_SERIES)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


def compute(corpus: Corpus, *, ignoring: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines of `questions.jsonl` for these rows.

    `ignoring` leaves compiled rules out although they were stated: what somebody answers who forgot them.
    """
    lines: list[dict[str, Any]] = []
    stated: list[str] = []
    view = curated(corpus, ())
    for n, question in enumerate(questions(), start=1):
        if question.states_rule is not None:
            stated.append(question.states_rule)
            view = curated(corpus, (rule for rule in stated if rule not in ignoring))
        lines.append(
            {
                "id": f"st-{n:02d}",
                "question": question.question,
                "answer": _plain(question.work(view)),
                "answer_kind": question.answer_kind,
                "tolerance": question.tolerance,
                "kind": question.kind,
                "follow_up": question.follow_up,
                "series": 1,
                "states_rule": question.states_rule,
            }
        )
    return lines


def dump(lines: Iterable[dict[str, Any]]) -> str:
    """The text of `questions.jsonl`: one JSON object a line."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def write(corpus: Corpus | None = None) -> Path:
    """Computes all answers and writes `questions.jsonl` beside this module."""
    text = dump(compute(build() if corpus is None else corpus))
    QUESTIONS_FILE.write_text(text, encoding="utf-8", newline="\n")
    return QUESTIONS_FILE


if __name__ == "__main__":
    write()
