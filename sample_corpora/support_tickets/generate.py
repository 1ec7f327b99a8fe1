"""Writes the corpus as a help desk in Germany exports it: two CSV files as Excel reads them there.

Owns: the text of every cell, the bytes of both files, and the hashes they must have. Refuses to know how rows come about
(see `rows`) and anything about the application.

Windows-1252, semicolons, CRLF between records and LF inside a cell, a line above the header, numbers as 1.234,50,
days first. All of it is meant.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path

from sample_corpora.support_tickets.rows import Corpus, Customer, Ticket, build

TICKETS_FILE, CUSTOMERS_FILE = "tickets.csv", "customers.csv"
SHA256 = {
    TICKETS_FILE: "36be9bfce9b9b50ae7ed75194d125c338a78988124ee8d8662c9e6841a600875",
    CUSTOMERS_FILE: "03b359718bf7ed64485e52129777338e2a1e61b91fc6fbe67edf58273527e3ee",
}
ENCODING = "cp1252"

TICKET_HEADER = (
    "Ticket-Nr.",
    "created",
    "closed",
    "customer_no",
    "queue",
    "priority",
    "status",
    "channel",
    "first_reply_minutes",
    "Effort (EUR)",
    "satisfaction",
    "subject",
    "body",
)
CUSTOMER_HEADER = ("customer_no", "name", "country", "segment", "since", "yearly_revenue_eur")
# Excel pads the line to the table's width, the other system does not.
TICKETS_ABOVE = "Ticketexport" + ";" * (len(TICKET_HEADER) - 1)
CUSTOMERS_ABOVE = "Export vom 15.11.2026"


class CorpusHashError(RuntimeError):
    """The written files are not, byte for byte, those that the answers belong to."""


def _whole(number: int | None) -> str:
    """1234567 as 1.234.567."""
    return "" if number is None else f"{number:,}".replace(",", ".")


def _euros(cents: int | None) -> str:
    """123450 as 1.234,50 €."""
    return "" if cents is None else f"{_whole(cents // 100)},{cents % 100:02d} €"


def _day(day: date | None) -> str:
    return "" if day is None else f"{day.day:02d}.{day.month:02d}.{day.year}"


def _minute(moment: datetime) -> str:
    return f"{_day(moment.date())} {moment.hour:02d}:{moment.minute:02d}"


def ticket_cells(row: Ticket) -> tuple[str, ...]:
    """A ticket as the texts of its cells."""
    return (
        row.ticket_no,
        _minute(row.created),
        _day(row.closed),
        row.customer_no,
        row.queue,
        row.priority,
        row.status,
        row.channel,
        _whole(row.first_reply_minutes),
        _euros(row.effort),
        _whole(row.satisfaction),
        row.subject,
        row.body or "",
    )


def customer_cells(row: Customer) -> tuple[str, ...]:
    """A customer as the texts of its cells."""
    return (row.customer_no, row.name, row.country, row.segment, _day(row.since), _whole(row.yearly_revenue_eur))


def _bytes(above: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    buffer = io.StringIO()
    buffer.write(f"{above}\r\n")
    writer = csv.writer(buffer, delimiter=";", lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue().encode(ENCODING)


def write(folder: Path, corpus: Corpus) -> tuple[Path, ...]:
    """Writes both files into `folder`, which must exist.

    Raises `CorpusHashError` if the bytes are not the ones that the answers were computed from; then nothing is kept.
    """
    made = {
        TICKETS_FILE: _bytes(TICKETS_ABOVE, TICKET_HEADER, map(ticket_cells, corpus.tickets)),
        CUSTOMERS_FILE: _bytes(CUSTOMERS_ABOVE, CUSTOMER_HEADER, map(customer_cells, corpus.customers)),
    }
    for name, data in made.items():
        found = hashlib.sha256(data).hexdigest()
        if found != SHA256[name]:
            raise CorpusHashError(
                f"The generated {name} has sha256 {found}, but {SHA256[name]} was expected: the answers in "
                "questions.jsonl do not belong to this file."
            )
    for name, data in made.items():
        partial = folder / f".{name}.{os.getpid()}.part"
        try:
            partial.write_bytes(data)
            os.replace(partial, folder / name)
        finally:
            partial.unlink(missing_ok=True)
    return tuple(folder / name for name in made)


def generate(folder: Path) -> tuple[Path, ...]:
    """Writes the corpus into `folder` (made if missing), verifies it and returns the paths: tickets, customers.

    Raises `CorpusHashError` naming both hashes if a file differs from the expected one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder, build())
