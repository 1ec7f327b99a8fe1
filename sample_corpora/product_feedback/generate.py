"""The seeded generator of `product_feedback.csv`.

Owns the rows: which columns there are, which structure is planted, and the hash that the written file must have.
Refuses to know the questions and their answers (see `gold`) and anything about the application.

Only `random.Random.random()` is used, because its sequence is promised to stay the same between Python versions;
`choice`, `shuffle` and `gauss` are not, and the file is verified by hash.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

from sample_corpora.drawing import Weighted, pick
from sample_corpora.product_feedback import phrases

FILE_NAME = "product_feedback.csv"
SHA256 = "793ee74976cd1639ee3df558902844a389aca58ed4a2e5ac0c8df17a6a229bdb"
ROWS = 50_000
SEED = 20261115
FIRST_ID = 100_001
FIRST_DAY = date(2025, 5, 1)
LAST_DAY = date(2026, 10, 31)

COLUMNS = (
    "feedback_id",
    "created_at",
    "customer_id",
    "region",
    "plan",
    "channel",
    "app_version",
    "status",
    "rating",
    "nps",
    "monthly_spend",
    "comment",
)


class CorpusHashError(RuntimeError):
    """The written file is not, byte for byte, the one that the answers belong to."""


class Feedback(NamedTuple):
    """One row. `topic`, `stance` and `language` are the truth behind `comment` and are not written to the file.

    Empty text means an empty cell. `monthly_spend` is in cents; `nps` 99 means that the question was not asked.
    """

    feedback_id: int
    created_at: str
    customer_id: str
    region: str
    plan: str
    channel: str
    app_version: str
    status: str
    rating: str
    nps: int
    monthly_spend: int
    comment: str
    topic: str
    stance: str
    language: str


class Customer(NamedTuple):
    customer_id: str
    region: str
    plan: str
    spend: int


class Survey(NamedTuple):
    """What the survey was like while rows came in."""

    last_day: date
    """Of the export: what is older by then is rather closed."""
    channels: Mapping[str, float]
    email_is_rated: bool = False


_REGIONS = {
    "North America": 30.0,
    "UK & Ireland": 18.0,
    "DACH": 20.0,
    "Nordics": 11.0,
    "Southern Europe": 12.0,
    "APAC": 9.0,
}
_LANGUAGE = {"DACH": ("de", 0.31), "Nordics": ("sv", 0.33), "Southern Europe": ("es", 0.42)}
_PLANS = {
    "North America": {"P1": 48.0, "P2": 36.0, "P3": 16.0},
    "UK & Ireland": {"P1": 50.0, "P2": 39.0, "P3": 11.0},
    "DACH": {"P1": 36.0, "P2": 40.0, "P3": 24.0},
    "Nordics": {"P1": 45.0, "P2": 44.0, "P3": 11.0},
    "Southern Europe": {"P1": 63.0, "P2": 31.0, "P3": 6.0},
    "APAC": {"P1": 57.0, "P2": 30.0, "P3": 13.0},
}
CHANNELS = {"app": 43.0, "web": 31.0, "email": 15.0, "phone": 9.0, "NA": 2.0}
# Release dates. 5.10 comes after 5.9, which neither text order nor number order gives. 5.11 is of the second export.
_RELEASES = (
    (date(2025, 3, 1), "5.0"),
    (date(2025, 8, 11), "5.1"),
    (date(2025, 12, 3), "5.2"),
    (date(2026, 4, 14), "5.9"),
    (date(2026, 8, 18), "5.10"),
    (date(2026, 11, 9), "5.11"),
)
_HOURS = Weighted({h: 1.0 + (8.0 if 8 <= h <= 17 else 3.0 if 18 <= h <= 22 else 0.0) for h in range(24)})

# (topic, stance) -> share of comments before any region, plan, version or channel effect.
_TOPICS: dict[phrases.Stance, float] = {
    ("dashboard", "prefers_classic"): 8.6,
    ("dashboard", "prefers_new"): 4.9,
    ("onboarding", "complaint_import"): 5.2,
    ("onboarding", "complaint_length"): 2.7,
    ("onboarding", "complaint_invite"): 1.6,
    ("onboarding", "praise"): 2.4,
    ("billing", "complaint_double_charge"): 3.1,
    ("billing", "complaint_invoice"): 3.6,
    ("price", "complaint"): 5.5,
    ("sync", "complaint"): 4.2,
    ("login", "complaint"): 4.4,
    ("crash", "complaint"): 3.3,
    ("speed", "complaint"): 5.0,
    ("speed", "praise"): 3.6,
    ("support", "praise"): 6.6,
    ("support", "complaint"): 3.2,
    ("dark_mode", "request"): 3.9,
    ("sso", "request"): 1.8,
    ("export", "request"): 2.8,
    ("ease_of_use", "praise"): 15.5,
    ("general", "neutral"): 11.1,
}


def _topic_weights(region: str, plan: str, version: str, channel: str) -> Weighted[phrases.Stance]:
    """The planted structure: who says what, and when."""
    weights = dict(_TOPICS)

    def scale(topic: str, factor: float, stance_start: str = "") -> None:
        for key in weights:
            if key[0] == topic and key[1].startswith(stance_start):
                weights[key] *= factor

    if version == "5.9":  # the release that broke sync
        scale("sync", 5.0)
        scale("crash", 2.2)
        scale("ease_of_use", 0.6)
    elif version == "5.10":
        scale("speed", 1.8, "praise")
        scale("sync", 0.6)
    if region == "DACH":
        scale("billing", 2.3)
    elif region == "Southern Europe":
        scale("price", 1.9)
    elif region == "Nordics":
        scale("support", 1.5, "praise")
    if plan == "P3":
        scale("sso", 5.0)
        scale("price", 0.4)
        scale("dashboard", 1.3)
    elif plan == "P1":
        scale("billing", 0.25)
        scale("price", 1.3)
        scale("sso", 0.15)
        scale("onboarding", 1.3)
    if channel != "app":
        scale("crash", 0.35)
    return Weighted(weights)


# stance -> weights of the ratings 1..5
_RATINGS = {
    "complaint": Weighted({1: 30.0, 2: 32.0, 3: 24.0, 4: 11.0, 5: 3.0}),
    "request": Weighted({1: 4.0, 2: 12.0, 3: 36.0, 4: 36.0, 5: 12.0}),
    "praise": Weighted({1: 1.0, 2: 2.0, 3: 9.0, 4: 38.0, 5: 50.0}),
    "neutral": Weighted({1: 4.0, 2: 9.0, 3: 39.0, 4: 34.0, 5: 14.0}),
    "prefers_classic": Weighted({1: 13.0, 2: 27.0, 3: 34.0, 4: 20.0, 5: 6.0}),
    "prefers_new": Weighted({1: 1.0, 2: 4.0, 3: 15.0, 4: 42.0, 5: 38.0}),
}
_REGION_DRIFT = {"DACH": -0.22, "Nordics": 0.20, "APAC": -0.08, "Southern Europe": 0.06}
_PLAN_DRIFT = {"P1": -0.10, "P2": 0.0, "P3": 0.28}


def customers_of(rng: Random) -> list[Customer]:
    """All customers, the same ones in every export made from the same seed."""
    regions = Weighted(_REGIONS)
    plans = {region: Weighted(weights) for region, weights in _PLANS.items()}
    made = []
    for number in range(1, 6_401):
        region = regions.draw(rng)
        plan = plans[region].draw(rng)
        if plan == "P1":
            spend = 0 if rng.random() < 0.8 else 100 * (1 + int(rng.random() * 9))
        elif plan == "P2":
            spend = 1_900 + 5 * int(rng.random() * 1_600)
        else:
            spend = 24_000 + 25 * int(rng.random() * rng.random() * 7_000)
        made.append(Customer(f"C-{number:05d}", region, plan, spend))
    return made


def moments_of(rng: Random, first: date, last: date, rows: int) -> list[datetime]:
    """The moments of rows, oldest first: volume more than doubles over the first export, weekends are quiet."""
    span = (LAST_DAY - FIRST_DAY).days + 1
    weights: dict[date, float] = {}
    for offset in range((first - FIRST_DAY).days, (last - FIRST_DAY).days + 1):
        day = FIRST_DAY + timedelta(days=offset)
        weight = 1.0 + 1.4 * offset / span
        weight *= (1.06, 1.12, 1.04, 1.0, 0.93, 0.42, 0.38)[day.weekday()]
        if day.month == 12 and day.day > 20:
            weight *= 0.5
        if date(2026, 4, 16) <= day <= date(2026, 4, 27):  # the days after 5.9
            weight *= 1.7
        weights[day] = weight
    days = Weighted(weights)
    moments = []
    for _ in range(rows):
        day = days.draw(rng)
        hour = _HOURS.draw(rng)
        second = int(rng.random() * 3_600)
        moments.append(datetime(day.year, day.month, day.day, hour, second // 60, second % 60))
    moments.sort()
    return moments


def _version(rng: Random, day: date) -> str:
    newest = max(i for i, (released, _) in enumerate(_RELEASES) if released <= day)
    age = (day - _RELEASES[newest][0]).days
    # Some clients update late: 60 % on the new version at once, nearly all after ten weeks.
    late = 0.4 - 0.36 * min(age, 70) / 70
    return _RELEASES[newest - 1][1] if newest and rng.random() < late else _RELEASES[newest][1]


def _typo(rng: Random, text: str) -> str:
    at = 1 + int(rng.random() * max(1, len(text) - 2))
    if rng.random() < 0.5:
        return text[:at] + text[at + 1 :]
    return text[: at - 1] + text[at : at + 1] + text[at - 1 : at] + text[at + 1 :]


def _comment(rng: Random, topic: str, stance: str, language: str) -> str:
    core = pick(rng, phrases.PHRASES[(topic, stance)][language])
    style = rng.random()
    if style < 0.28 or topic == "general":  # short
        text = core
    elif style < 0.92:
        text = pick(rng, phrases.OPENERS[language]) + core + pick(rng, phrases.TAILS[language])
    else:  # long: the same thing said twice, in other words
        again = pick(rng, phrases.PHRASES[(topic, stance)][language])
        text = f"{pick(rng, phrases.OPENERS[language])}{core}. {again[0].upper()}{again[1:]}"
        text += pick(rng, phrases.TAILS[language])
    twist = rng.random()
    if twist < 0.10:
        text = _typo(rng, text)
    elif twist < 0.17:
        happy = stance in ("praise", "prefers_new")
        text = f"{text} {pick(rng, phrases.POSITIVE_EMOJI if happy else phrases.NEGATIVE_EMOJI)}"
    elif twist < 0.30:
        text = text[0].upper() + text[1:]
    elif twist < 0.33:
        text = text.upper()
    elif twist < 0.36:
        text = text + " "
    return text


def _nps(rng: Random, felt: float) -> int:
    score = int(felt * 2.05 + rng.random() * 4.4 - 1.5)
    return max(0, min(10, score))


def build() -> Iterator[Feedback]:
    """All rows in file order (oldest first), the same on every run and platform."""
    rng = Random(SEED)
    customers = customers_of(rng)
    moments = moments_of(rng, FIRST_DAY, LAST_DAY, ROWS)
    return answered(rng, customers, moments, Survey(LAST_DAY, CHANNELS), FIRST_ID)


def answered(
    rng: Random, customers: Sequence[Customer], moments: Iterable[datetime], survey: Survey, first_id: int
) -> Iterator[Feedback]:
    """One row for each moment, in their order; ids count upwards from `first_id`."""
    nordic = [c for c in customers if c.region == "Nordics"]
    american = [c for c in customers if c.region == "North America"]
    channels = Weighted(dict(survey.channels))
    topics: dict[tuple[str, str, str, bool], Weighted[phrases.Stance]] = {}
    for number, moment in enumerate(moments):
        day = moment.date()
        is_test = rng.random() < 0.04
        # A few customers write much more often than the rest.
        pool = customers
        if is_test and rng.random() < 0.8:
            pool = american
        elif (day.year, day.month) == (2026, 10) and rng.random() < 0.13:
            pool = nordic
        who = pool[int(rng.random() * rng.random() * len(pool))]
        region = "D-A-CH" if who.region == "DACH" and rng.random() < 0.25 else who.region
        channel = ("web" if rng.random() < 0.8 else "app") if is_test else channels.draw(rng)
        version = "" if channel in ("email", "phone") else _version(rng, day)
        language, share = _LANGUAGE.get(who.region, ("en", 0.0))
        language = language if rng.random() < share else "en"
        key = (who.region, who.plan, version if version in ("5.9", "5.10") else "", channel == "app")
        if key not in topics:
            topics[key] = _topic_weights(who.region, who.plan, version, channel)
        topic, stance = topics[key].draw(rng)
        kind = stance if stance in _RATINGS else stance.split("_")[0]
        felt = _RATINGS[kind].draw(rng)
        drift = _REGION_DRIFT.get(who.region, 0.0) + _PLAN_DRIFT[who.plan] + (-0.25 if version == "5.9" else 0.0)
        if drift and rng.random() < abs(drift):
            felt = max(1, min(5, felt + (1 if drift > 0 else -1)))
        asked = rng.random() >= 0.20
        nps = _nps(rng, felt) if asked else 99
        age = (survey.last_day - day).days
        settled = rng.random()
        status = "closed" if settled < min(0.72, 0.05 + age / 150) else "reviewed" if settled < 0.88 else "new"
        if who.plan == "P3" and status != "closed" and rng.random() < 0.3:  # the account managers see to these
            status = "closed"
        spend = who.spend
        comment = ""
        if rng.random() >= 0.15:
            comment = _comment(rng, topic, stance, language)
        if is_test:
            status = "test"
            felt = 5 if rng.random() < 0.62 else 1
            nps = 10 if rng.random() < 0.7 else 0
            spend = 999_900
            comment = pick(rng, phrases.TEST_COMMENTS)
            topic, stance, language = "test", "test", "en"
        elif rng.random() < 0.0006:
            comment = pick(rng, phrases.ODD_COMMENTS)
            topic, stance, language = "odd", "neutral", "en"
        if not comment:
            topic, stance, language = "", "", ""
        yield Feedback(
            feedback_id=first_id + number,
            created_at=moment.strftime("%Y-%m-%d %H:%M:%S"),
            customer_id=who.customer_id,
            region=region,
            plan=who.plan,
            channel=channel,
            app_version=version,
            status=status,
            rating="" if channel == "email" and not survey.email_is_rated else str(felt),
            nps=nps,
            monthly_spend=spend,
            comment=comment,
            topic=topic,
            stance=stance,
            language=language,
        )


def write_rows(folder: Path, rows: Iterable[Feedback]) -> Path:
    """Writes rows as `product_feedback.csv` into `folder`; see `write_csv`."""
    return write_csv(folder / FILE_NAME, COLUMNS, rows, SHA256)


def write_csv(target: Path, header: Sequence[str], rows: Iterable[Sequence[object]], sha256: str) -> Path:
    """Writes the rows' first cells, as many as the header has (UTF-8, LF, minimal quoting). The folder must exist.

    Raises `CorpusHashError` if the bytes are not the ones that the answers were computed from; then nothing is kept.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(row[: len(header)] for row in rows)
    data = buffer.getvalue().encode("utf-8")
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CorpusHashError(
            f"The generated {target.name} has sha256 {found}, but {sha256} was expected: the sample's answers do not "
            "belong to this file."
        )
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def generate(folder: Path) -> Path:
    """Writes the corpus into `folder` (made if missing), verifies it and returns the path of the CSV.

    Raises `CorpusHashError` naming both hashes if the file differs from the expected one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return write_rows(folder, build())
