"""The seeded generator of the second export: the same survey's file a month later, `product_feedback_2026_11.csv`.

Owns: what happened between the two exports (rows gone, settled and new; how the file is laid out and what its values
mean now), and the hash that the written file must have. Refuses to know: questions and answers (see `gold_second`),
and what somebody may have believed of the first export (`second.toml`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import NamedTuple

from sample_corpora.product_feedback import generate
from sample_corpora.product_feedback.generate import Customer, Feedback, Survey

FILE_NAME = "product_feedback_2026_11.csv"
SHA256 = "38b78368bc3508d1280984e50764539e0b67469b948d49208e3d669a1567c0f3"
SEED = 20261203
NEW_ROWS = 3_914
LEAST_GONE = 140
FIRST_DAY = date(2026, 11, 1)
LAST_DAY = date(2026, 11, 30)
CHANNELS = {"app": 38.0, "web": 27.0, "email": 14.0, "phone": 8.5, "chat": 10.5, "NA": 2.0}

COLUMNS = (
    "created_at",
    "comment",
    "feedback_id",
    "customer_id",
    "plan",
    "region",
    "channel",
    "release",
    "status",
    "nps",
    "rating",
    "monthly_spend",
)
RENAMED = {"release": "app_version"}
"""Column of the second export -> what the first one called it."""


class Again(NamedTuple):
    """One row of the second export. `topic`, `stance` and `language` are the truth behind `comment`, not in the file.

    Empty text means an empty cell, also for an NPS that was not asked. `monthly_spend` is in whole currency units.
    """

    created_at: str
    comment: str
    feedback_id: int
    customer_id: str
    plan: str
    region: str
    channel: str
    release: str
    status: str
    nps: str
    rating: str
    monthly_spend: str
    topic: str
    stance: str
    language: str


def _deleted(rng: Random, customers: Sequence[Customer], rows: Iterable[Feedback]) -> frozenset[str]:
    """Customers who asked to be deleted, with all they ever wrote."""
    wrote = Counter(row.customer_id for row in rows)
    gone: set[str] = set()
    while sum(wrote[one] for one in gone) < LEAST_GONE:
        one = customers[int(rng.random() * len(customers))].customer_id
        if wrote[one]:
            gone.add(one)
    return frozenset(gone)


def _settled(rng: Random, row: Feedback) -> Feedback:
    """A month went by: some of what came since August and was still open is closed now."""
    recent = row.created_at >= "2026-08-01"
    if recent and row.status in ("new", "reviewed") and rng.random() < 0.159:
        return row._replace(status="closed")
    return row


def _as_written(row: Feedback) -> Again:
    return Again(
        created_at=row.created_at,
        comment=row.comment,
        feedback_id=row.feedback_id,
        customer_id=row.customer_id,
        plan=row.plan,
        region=row.region,
        channel=row.channel,
        release=row.app_version,
        status=row.status,
        nps="" if row.nps == 99 else str(row.nps),
        rating=row.rating,
        monthly_spend=f"{row.monthly_spend // 100}.{row.monthly_spend % 100:02d}",
        topic=row.topic,
        stance=row.stance,
        language=row.language,
    )


def build_second(first: Sequence[Feedback] | None = None) -> Iterator[Again]:
    """All rows in file order (oldest first). `first`: the rows of the first export, where they are at hand already."""
    old = list(generate.build()) if first is None else first
    everybody = generate.customers_of(Random(generate.SEED))
    rng = Random(SEED)
    gone = _deleted(rng, everybody, old)
    for row in old:
        if row.customer_id not in gone:
            yield _as_written(_settled(rng, row))
    customers = [one for one in everybody if one.customer_id not in gone]
    moments = generate.moments_of(rng, FIRST_DAY, LAST_DAY, NEW_ROWS)
    survey = Survey(LAST_DAY, CHANNELS, email_is_rated=True)
    for row in generate.answered(rng, customers, moments, survey, generate.FIRST_ID + generate.ROWS):
        yield _as_written(row)


def write_second(folder: Path, rows: Iterable[Again]) -> Path:
    """Writes rows as `product_feedback_2026_11.csv` into `folder`, which must exist; see `generate.write_csv`."""
    return generate.write_csv(folder / FILE_NAME, COLUMNS, rows, SHA256)


def generate_second(folder: Path) -> Path:
    """Writes the second export into `folder` (made if missing), verifies it and returns the path of the CSV.

    Raises `CorpusHashError` naming both hashes if the file differs from the expected one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return write_second(folder, build_second())
