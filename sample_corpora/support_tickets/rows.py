"""The seeded rows of the corpus, as typed values.

Owns: which columns there are and which structure is planted. Refuses to know how rows are written (see `generate`) and
which questions are asked of them (see `gold`).

Only `random.Random.random()` is used, because its sequence is promised to stay the same between Python versions, and
sums of minutes and money are whole numbers: the files are verified by hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from random import Random
from typing import NamedTuple

from sample_corpora.drawing import Weighted, pick
from sample_corpora.support_tickets import phrases

TICKETS = 8_000
CUSTOMERS = 900
TEST_TICKETS = 40
"""They come last, from the acceptance test of a form."""
SEED = 20261115
FIRST_DAY = date(2025, 9, 1)
LAST_DAY = date(2026, 11, 14)
UNKNOWN_CUSTOMER = "0000000"
NOT_ASKED = 9


class Customer(NamedTuple):
    """One row of customers.csv. Revenue is in whole euros; None where it is not known."""

    customer_no: str
    name: str
    country: str
    segment: str
    since: date
    yearly_revenue_eur: int | None


class Ticket(NamedTuple):
    """One row of tickets.csv. `topic` and `language` are the truth behind the texts and are not written.

    None means an empty cell. `effort` is in cents.
    """

    ticket_no: str
    created: datetime
    closed: date | None
    customer_no: str
    queue: str
    priority: str
    status: str
    channel: str
    first_reply_minutes: int | None
    effort: int | None
    satisfaction: int | None
    subject: str
    body: str | None
    topic: str
    language: str


class Corpus(NamedTuple):
    """Both tables in file order."""

    tickets: list[Ticket]
    customers: list[Customer]


_COUNTRIES = Weighted(
    {"Deutschland": 46.0, "Österreich": 17.0, "Schweiz": 14.0, "Niederlande": 9.0, "Dänemark": 7.0, "Polen": 7.0}
)
_SEGMENTS = Weighted({"KMU": 62.0, "ENT": 21.0, "ÖFF": 17.0})
_GERMAN = ("Deutschland", "Österreich", "Schweiz")
_CHANNELS = Weighted({"E-Mail": 46.0, "Telefon": 24.0, "Portal": 21.0, "Chat": 9.0})
_HOURS = Weighted({h: 1.0 + (9.0 if 8 <= h <= 16 else 3.0 if h in (7, 17, 18) else 0.0) for h in range(6, 22)})
_QUEUES = {"Technik": 34.0, "Rechnung": 26.0, "Versand": 19.0, "Rückgabe": 12.0, "Konto": 9.0}
_PRIORITIES = {
    "KMU": Weighted({"P1": 3.0, "P2": 14.0, "P3": 56.0, "P4": 27.0}),
    "ENT": Weighted({"P1": 11.0, "P2": 31.0, "P3": 45.0, "P4": 13.0}),
    "ÖFF": Weighted({"P1": 4.0, "P2": 17.0, "P3": 61.0, "P4": 18.0}),
}
# Minutes until the first reply: up to these, and now and then much longer.
_REPLY = {"P1": 90, "P2": 360, "P3": 900, "P4": 2_400}
# Days until a ticket is closed.
_SOLVED = {"P1": 3, "P2": 9, "P3": 18, "P4": 34}
_RATE = {"KMU": 2_350, "ENT": 3_125, "ÖFF": 2_740}
"""Cents for a quarter of an hour."""


def _customers(rng: Random) -> list[Customer]:
    made: dict[str, Customer] = {}
    number = 1_200
    for n in range(CUSTOMERS):
        number += 1 + int(rng.random() * 90)
        country, segment = _COUNTRIES.draw(rng), _SEGMENTS.draw(rng)
        since = date(2009, 3, 2) + timedelta(days=int((1 - rng.random() * rng.random()) * 6_026))
        revenue: int | None = None
        if rng.random() >= 0.08:
            most = {"KMU": 6_000, "ENT": 160_000, "ÖFF": 40_000}[segment]
            revenue = 500 * (60 + int(rng.random() * rng.random() * most))
        name = phrases.QUOTED_NAMES[n // 200] if n % 200 == 150 else _name(rng, country, segment)
        while name in made:
            name = _name(rng, country, segment)
        made[name] = Customer(f"{number:07d}", name, country, segment, since, revenue)
    return list(made.values())


def _name(rng: Random, country: str, segment: str) -> str:
    parts = phrases.NAMES[country]
    town = pick(rng, parts.towns)
    if segment == "ÖFF":
        return f"{pick(rng, parts.public)} {town}"
    made = [pick(rng, parts.trades), pick(rng, parts.families)]
    if country not in _GERMAN:
        made.reverse()
    return " ".join([*made, town, pick(rng, parts.forms)])


def _moments(rng: Random) -> list[datetime]:
    """When the tickets came in, oldest first: more and more, hardly any on Sundays, a wave after Christmas."""
    span = (LAST_DAY - FIRST_DAY).days + 1
    weights: dict[date, float] = {}
    for offset in range(span):
        day = FIRST_DAY + timedelta(days=offset)
        weight = (1.0 + 0.8 * offset / span) * (1.30, 1.12, 1.04, 1.0, 0.86, 0.24, 0.12)[day.weekday()]
        weights[day] = weight * (1.5 if date(2026, 1, 2) <= day <= date(2026, 1, 23) else 1.0)
    days = Weighted(weights)
    made = []
    for _ in range(TICKETS - TEST_TICKETS):
        day = days.draw(rng)
        made.append(datetime(day.year, day.month, day.day, _HOURS.draw(rng), int(rng.random() * 60)))
    made.sort()
    return made


def _queue(rng: Random, day: date, country: str) -> str:
    weights = dict(_QUEUES)
    if country == "Österreich":  # invoices there are wrong more often
        weights["Rechnung"] *= 1.9
    if date(2026, 1, 2) <= day <= date(2026, 1, 31):
        weights["Rückgabe"] *= 2.6
    return Weighted(weights).draw(rng)


def _reply(rng: Random, channel: str, priority: str) -> int | None:
    """Minutes until the first reply; a call has none."""
    if channel == "Telefon":
        return None
    if channel == "Chat":
        return 1 + int(rng.random() * 14)
    minutes = 3 + int(rng.random() * rng.random() * _REPLY[priority])
    return minutes * (3 + int(rng.random() * 4)) if rng.random() < 0.16 else minutes


def _status(rng: Random, created: date, priority: str) -> tuple[str, date | None]:
    done = created + timedelta(days=int(rng.random() * rng.random() * _SOLVED[priority]))
    if done > LAST_DAY or rng.random() < 0.012:
        return ("wartet" if rng.random() < 0.4 else "offen"), None
    # The old help desk wrote "erledigt"; some agents still do.
    old = rng.random() < (0.55 if created < date(2026, 3, 1) else 0.06)
    return ("erledigt" if old else "geschlossen"), done


def _effort(rng: Random, segment: str, priority: str, status: str) -> int | None:
    """Cents; nothing is booked while a ticket is open."""
    if status == "offen":
        return None
    if rng.random() < 0.18:
        return 0
    quarters = 1 + int(rng.random() * rng.random() * (90 if priority in ("P1", "P2") else 22))
    material = 95 + int(rng.random() * 48_000) if rng.random() < 0.12 else 0
    return quarters * _RATE[segment] + material


def _satisfaction(rng: Random, status: str, reply: int | None, queue: str) -> int | None:
    if status in ("offen", "wartet"):
        return None
    if rng.random() < 0.27:
        return NOT_ASKED
    felt = 4.7 - (1.3 if (reply or 0) > 480 else 0.0) - (0.5 if queue in ("Rechnung", "Rückgabe") else 0.0)
    return max(1, min(5, int(felt + rng.random() * 2.4 - 1.2)))


class _Texts:
    """Subject and body of one ticket."""

    def __init__(self, rng: Random, language: str) -> None:
        self._rng, self._language = rng, language
        euros, cents = 5 + int(rng.random() * rng.random() * 4_000), int(rng.random() * 100)
        thousands = f"{euros // 1_000}.{euros % 1_000:03d}" if euros >= 1_000 else str(euros)
        self._filled = {
            "order": f"B-{10_000 + int(rng.random() * 90_000)}",
            "amount": f"{thousands},{cents:02d} €" if language == "de" else f"€{euros:,}.{cents:02d}",
            "part": pick(rng, phrases.PARTS if language == "de" else phrases.PARTS_EN),
            "name": pick(rng, phrases.PEOPLE),
        }

    def subject(self, said: phrases.Said) -> str:
        """One line."""
        text = pick(self._rng, said[self._language]).format(**self._filled)
        return f"{'AW' if self._language == 'de' else 'RE'}: {text}" if self._rng.random() < 0.09 else text

    def body(self, said: phrases.Said) -> str:
        """Greeting, matter and closing, often over several lines."""
        greeting = pick(self._rng, phrases.GREETINGS[self._language])
        core = pick(self._rng, said[self._language])
        closing = pick(self._rng, phrases.CLOSINGS[self._language])
        if not greeting:
            core = core[0].upper() + core[1:]
        return (greeting + core + closing).format(**self._filled)


def _ticket(rng: Random, number: int, created: datetime, customers: Sequence[Customer]) -> Ticket:
    # A few customers write much more often than the rest, and some never.
    who = customers[int(rng.random() * rng.random() * 0.93 * len(customers))]
    unknown = rng.random() < 0.022
    queue = _queue(rng, created.date(), who.country)
    priority, channel = _PRIORITIES[who.segment].draw(rng), _CHANNELS.draw(rng)
    reply = _reply(rng, channel, priority)
    status, closed = _status(rng, created.date(), priority)
    effort = _effort(rng, who.segment, priority, status)
    satisfaction = _satisfaction(rng, status, reply, queue)
    topics = [topic for q, topic in phrases.SUBJECTS if q == queue]
    topic = topics[int(rng.random() ** 1.4 * len(topics))]
    language = "de" if rng.random() < (0.94 if who.country in _GERMAN else 0.08) else "en"
    texts = _Texts(rng, language)
    subject = texts.subject(phrases.SUBJECTS[queue, topic])
    body = texts.body(phrases.BODIES[queue, topic]) if rng.random() >= (0.3 if channel == "Telefon" else 0.02) else None
    if rng.random() < 0.002:
        subject = pick(rng, phrases.ODD_SUBJECTS)
    return Ticket(
        ticket_no=f"T{number:06d}",
        created=created,
        closed=closed,
        customer_no=UNKNOWN_CUSTOMER if unknown else who.customer_no,
        queue=queue,
        priority=priority,
        status=status,
        channel=channel,
        first_reply_minutes=reply,
        effort=effort,
        satisfaction=satisfaction,
        subject=subject,
        body=body,
        topic=topic,
        language=language,
    )


def _test_ticket(rng: Random, number: int, minute: int, customers: Sequence[Customer]) -> Ticket:
    created = datetime(2026, 11, 14, 10) + timedelta(minutes=4 * minute)
    return Ticket(
        ticket_no=f"T{number:06d}",
        created=created,
        closed=created.date(),
        customer_no=customers[0].customer_no,
        queue="TEST",
        priority="P1",
        status="geschlossen",
        channel="Portal",
        first_reply_minutes=1,
        effort=999_999,
        satisfaction=5,
        subject=pick(rng, phrases.TEST_SUBJECTS),
        body=None,
        topic="test",
        language="de",
    )


def build() -> Corpus:
    """All rows of both tables, the same on every run and platform."""
    rng = Random(SEED)
    customers = _customers(rng)
    # Who writes often is not who came first.
    writers = sorted(customers, key=lambda c: (int(c.customer_no) * 7_919) % 10_007)
    first = 201_734
    moments = _moments(rng)
    tickets = [_ticket(rng, first + n, moment, writers) for n, moment in enumerate(moments)]
    after = first + len(tickets)
    tickets += [_test_ticket(rng, after + n, n, writers) for n in range(TEST_TICKETS)]
    return Corpus(tickets, customers)
