"""The same two tables as a workbook with typed cells: what the CSV files say must read exactly so.

Owns: the cells of the workbook. Refuses to know how the CSV files are written; it takes the rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sample_corpora.support_tickets.generate import CUSTOMER_HEADER, TICKET_HEADER
from sample_corpora.support_tickets.rows import Corpus, Customer, Ticket, build

FILE_NAME = "support_tickets.xlsx"


def ticket_values(row: Ticket) -> tuple[Any, ...]:
    """A ticket as typed cells: real dates, numbers in euros, None where nothing stands."""
    effort = None if row.effort is None else row.effort / 100
    return (*row[:9], effort, *row[10:13])


def customer_values(row: Customer) -> tuple[Any, ...]:
    """A customer as typed cells."""
    return tuple(row)


def write_xlsx(folder: Path, corpus: Corpus | None = None) -> Path:
    """Writes the workbook into `folder` (made if missing): sheets `tickets` and `customers`, header in row 1."""
    # openpyxl is for tests only: a product without it must still be able to import and make the corpus.
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    made = corpus or build()
    book = Workbook(write_only=True)

    def cell(sheet: Any, value: Any) -> Any:
        if isinstance(value, str):
            text = WriteOnlyCell(sheet, value)
            text.data_type = "s"  # else =SUMME(A1:A9) would become a formula
            return text
        if isinstance(value, date):
            day = WriteOnlyCell(sheet, value)
            day.number_format = "DD.MM.YYYY HH:MM" if isinstance(value, datetime) else "DD.MM.YYYY"
            return day
        return value

    def add(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        sheet = book.create_sheet(title)
        sheet.append(header)
        for row in rows:
            sheet.append([cell(sheet, value) for value in row])

    add("tickets", TICKET_HEADER, map(ticket_values, made.tickets))
    add("customers", CUSTOMER_HEADER, map(customer_values, made.customers))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / FILE_NAME
    book.save(target)
    return target
