"""Pairs of exports of one source, as they return month after month: renamed, reordered, rewritten.

Owns: the tables, what happens between two exports of one, and the truth about it. Refuses to know how columns are matched.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

Maker = Callable[[Random, int], str]
WORDS = [
    "slow",
    "export",
    "crash",
    "login",
    "invoice",
    "nice",
    "team",
    "sync",
    "dark",
    "mode",
    "price",
    "support",
    "broken",
    "again",
    "thanks",
    "import",
    "great",
    "fails",
]
START = datetime(2026, 1, 1)


def _date(form: str, spread: int = 250) -> Maker:
    return lambda r, n: (START + timedelta(days=r.randrange(spread), seconds=r.randrange(86_400))).strftime(form)


def _one_of(*values: str, weights: tuple[float, ...] | None = None) -> Maker:
    return lambda r, n: r.choices(values, weights)[0]


def _text(low: int, high: int) -> Maker:
    return lambda r, n: " ".join(r.choice(WORDS) for _ in range(r.randint(low, high))).capitalize()


@dataclass(frozen=True)
class Kind:
    """A column as sources have it: names it goes by, how cells are made, other ways to write the same cell."""

    names: tuple[str, ...]
    make: Maker
    rewritten: tuple[Callable[[str], str], ...] = ()


def _comma(cell: str) -> str:
    return cell.replace(".", ",")


def _german(cell: str) -> str:
    return datetime.strptime(cell, "%Y-%m-%d").strftime("%d.%m.%Y")


def _american(cell: str) -> str:
    return datetime.strptime(cell, "%Y-%m-%d %H:%M:%S").strftime("%m/%d/%Y %H:%M:%S")


def _serial(cell: str) -> str:
    return str((datetime.strptime(cell, "%Y-%m-%d %H:%M:%S") - datetime(1899, 12, 30)).total_seconds() / 86_400)


def _yes(cell: str) -> str:
    return {"true": "TRUE", "false": "FALSE"}.get(cell, cell)


KINDS = (
    Kind(("customer_id", "Customer ID", "cust_id", "CustomerNo", "client"), lambda r, n: f"C-{r.randrange(2_000):05d}"),
    Kind(("created_at", "Created", "date_created", "created on", "submitted"), _date("%Y-%m-%d %H:%M:%S"), (_american, _serial)),
    Kind(("closed_on", "Closed", "date_closed", "resolved", "done on"), _date("%Y-%m-%d"), (_german,)),
    Kind(("region", "Region", "market", "sales region", "area"),
         _one_of("DACH", "Nordics", "UK & Ireland", "APAC", "North America", weights=(5, 2, 3, 2, 6))),
    Kind(("plan", "Plan", "subscription", "plan_code", "tier"), _one_of("P1", "P2", "P3", weights=(5, 3, 1))),
    Kind(("status", "Status", "state", "ticket status", "stage"), _one_of("new", "open", "closed", "test", weights=(2, 3, 9, 1))),
    Kind(("channel", "Channel", "source", "came in by", "medium"), _one_of("app", "web", "email", "phone", "", weights=(5, 4, 2, 1, 1))),
    Kind(("priority", "Priority", "prio", "urgency", "severity"), _one_of("low", "normal", "high", weights=(3, 6, 2))),
    Kind(("rating", "Rating", "stars", "score", "satisfaction"), _one_of("1", "2", "3", "4", "5", "", weights=(2, 2, 3, 5, 5, 2))),
    Kind(("nps", "NPS", "nps_score", "recommend", "would recommend"), lambda r, n: str(min(10, int(r.gauss(7, 2.5))) if r.random() < 0.8 else 99)),
    Kind(("amount", "Amount", "order_value", "total", "net amount"), lambda r, n: f"{r.lognormvariate(3, 1):.2f}", (_comma,)),
    Kind(("quantity", "Quantity", "qty", "units", "count"), lambda r, n: str(1 + int(r.expovariate(0.5)))),
    Kind(("response_hours", "Response Hours", "resp_hrs", "first reply h", "reply time"), lambda r, n: f"{r.expovariate(0.1):.1f}", (_comma,)),
    Kind(("age", "Age", "customer_age", "years", "age in years"), lambda r, n: str(int(r.gauss(41, 12)))),
    Kind(("comment", "Comment", "comments", "feedback text", "what they said"), _text(5, 18)),
    Kind(("subject", "Subject", "title", "ticket title", "headline"), _text(2, 5)),
    Kind(("product", "Product", "product_name", "item", "article"), _one_of("Notes", "Boards", "Mail", "Drive", "Calendar", "Chat")),
    Kind(("version", "Version", "app_version", "release", "build"), _one_of("5.0", "5.1", "5.2", "5.9", "5.10")),
    Kind(("country", "Country", "country_code", "land", "nation"), _one_of("DE", "AT", "CH", "SE", "NO", "GB", "IE", "US", "CA", "AU")),
    Kind(("email", "E-mail", "email_address", "contact", "mail"), lambda r, n: f"user{r.randrange(5_000)}@{r.choice(('post', 'mail', 'web'))}.example"),
    Kind(("agent", "Agent", "assigned_to", "owner", "handled by"), _one_of("Ada", "Ben", "Cem", "Dana", "Eli", "Fay", "Gus")),
    Kind(("is_paying", "Paying", "paying_customer", "paid", "has paid"), _one_of("true", "false", weights=(1, 3)), (_yes,)),
    Kind(("language", "Language", "lang", "locale", "spoken"), _one_of("en", "de", "sv", "es", weights=(7, 2, 1, 1))),
    Kind(("latitude", "Latitude", "lat", "geo_lat", "north"), lambda r, n: f"{r.uniform(47, 60):.4f}"),
    Kind(("longitude", "Longitude", "lng", "geo_lng", "east"), lambda r, n: f"{r.uniform(-5, 20):.4f}"),
    Kind(("url", "URL", "page", "page_url", "link"), lambda r, n: f"https://app.example/{r.choice(WORDS)}/{r.randrange(400)}"),
    Kind(("device", "Device", "os", "platform", "client system"), _one_of("iOS", "Android", "Windows", "macOS", "Linux")),
    Kind(("duration_s", "Duration", "call_length", "seconds", "time on call"), lambda r, n: str(int(r.expovariate(1 / 300)))),
)  # fmt: skip
KEYS = ("id", "feedback_id", "Ticket ID", "case number", "record")


@dataclass(frozen=True)
class Pair:
    """Two files and the truth: header of the old file -> header of the new one, or None where it was dropped."""

    old: Path
    new: Path
    truth: Mapping[str, str | None]
    added: tuple[str, ...]
    told: str


def pair(seed: int, folder: Path) -> Pair:
    """A pair of exports. By the seed they share rows or none, and between them columns are renamed, moved, rewritten,
    dropped and added; values are corrected in some rows."""
    r = Random(seed)
    kinds = r.sample(KINDS, r.randint(6, 14))
    rows = r.randint(220, 500)
    overlap = r.choice((0.0, 0.3, 0.9, 0.9))
    keyed = r.random() < 0.8
    first = r.randrange(10_000, 90_000)
    names = [r.choice(k.names) for k in kinds]
    while len(set(map(str.casefold, names))) < len(names):
        names = [r.choice(k.names) for k in kinds]
    cells = [[k.make(r, n) for k in kinds] for n in range(rows)]
    more = [[k.make(r, n) for k in kinds] for n in range(rows)]
    kept = cells[int(rows * (1 - overlap)) :] if overlap else []
    later = [list(row) for row in [*kept, *more[: rows - len(kept) + 40]]]
    ids = [str(first + n) for n in range(rows)]
    later_ids = [*ids[len(ids) - len(kept) :], *(str(first + rows + n) for n in range(len(later) - len(kept)))]
    for row in later[: len(kept)]:  # corrected since
        if r.random() < 0.05:
            at = r.randrange(len(kinds))
            row[at] = kinds[at].make(r, 0)
    new_names = list(names)
    for n in r.sample(range(len(kinds)), r.randint(0, min(4, len(kinds) - 2))):
        taken = {x.casefold() for x in (*new_names, *names)}
        free = [x for x in kinds[n].names if x.casefold() not in taken]
        new_names[n] = r.choice(free) if free else new_names[n]
    for n, kind in enumerate(kinds):
        if kind.rewritten and r.random() < 0.3:
            how = r.choice(kind.rewritten)
            for row in later:
                row[n] = how(row[n]) if row[n] else ""
    dropped = r.sample(range(len(kinds)), r.choice((0, 0, 1, 2)))
    others = [k for k in KINDS if k not in kinds]
    extra = r.sample(others, r.choice((0, 0, 1, 2)))
    extra_names = [
        next((x for x in k.names if x.casefold() not in {y.casefold() for y in (*new_names, *names)}), "")
        for k in extra
    ]
    extra = [k for k, x in zip(extra, extra_names, strict=True) if x]
    extra_names = [x for x in extra_names if x]
    key = r.choice(KEYS)
    new_key = key if r.random() < 0.7 else r.choice(KEYS)
    order = [n for n in range(len(kinds)) if n not in dropped]
    if r.random() < 0.6:
        r.shuffle(order)
    old_file, new_file = folder / f"export_{seed}_a.csv", folder / f"export_{seed}_b.csv"
    _write(
        old_file,
        [*([key] if keyed else []), *names],
        [[*([ids[n]] if keyed else []), *row] for n, row in enumerate(cells)],
    )
    _write(
        new_file,
        [*([new_key] if keyed else []), *(new_names[n] for n in order), *extra_names],
        [
            [*([later_ids[i]] if keyed else []), *(row[n] for n in order), *(k.make(r, i) for k in extra)]
            for i, row in enumerate(later)
        ],
    )
    truth: dict[str, str | None] = {names[n]: None if n in dropped else new_names[n] for n in range(len(kinds))}
    if keyed:
        truth[key] = new_key
    return Pair(
        old_file,
        new_file,
        truth,
        tuple(extra_names),
        f"seed {seed}, {overlap:.0%} of rows shared, {'a key' if keyed else 'no key'}",
    )


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
