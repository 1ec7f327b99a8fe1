"""The person's own prices file: a row per endpoint and model, which wins over every published table.

Owns: the file's form, its checks and the arithmetic of a row. Refuses to know: published tables.

    [[price]]
    base_url = "http://127.0.0.1:8080/v1"
    model = "qwen3-8b"
    date = 2026-11-30        # when you looked it up
    input = 0.10             # US dollars per million tokens
    output = 0.40
    cached = 0.01            # optional: reading the prefix cache
    write = 0.125            # optional: writing it
    cliff = 128000           # optional: prompt tokens above which the rates of `above` hold for the whole call
    above = { input = 0.20, output = 0.60, cached = 0.02, write = 0.25 }
"""

from __future__ import annotations

import datetime
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peek_core.errors import UnreadableFile
from peek_core.prices.address import plain
from peek_core.values.messages import Usage
from peek_core.values.prices import Cost, Rates

SOURCE = "own prices file"
RATES = ("input", "output", "cached", "write")
KEYS = frozenset({"base_url", "model", "date", "cliff", "above", *RATES})


@dataclass(frozen=True)
class OwnRow:
    """One row: the rates up to the cliff, and above it where the person wrote them down."""

    rates: Rates
    above: Rates | None

    def cost(self, usage: Usage) -> Cost | None:
        """None where input or output is unknown, counts contradict each other, or the prompt is above a cliff whose
        rates nobody wrote down."""
        if usage.input is None or usage.output is None:
            return None
        rates: Rates | None = self.rates
        if self.rates.cliff is not None and usage.input > self.rates.cliff:
            rates = self.above
        cached, written = usage.cached or 0, usage.cache_write or 0
        fresh = usage.input - cached - written
        if rates is None or min(cached, written, fresh, usage.output) < 0:
            return None
        usd = rates.usd(fresh, cached, written, usage.output)
        at_most = usage.cached is None or (cached > 0 and rates.cached is None)
        return Cost(usd, SOURCE, rates.date, at_most)


OwnRows = Mapping[tuple[str, str], OwnRow]


def read(path: Path) -> OwnRows:
    """The file's rows by address and model (small letters); empty where there is no file.

    Raises UnreadableFile, naming the line or the row and key, for whatever can't be meant: a file half understood would
    price calls wrongly without a word.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except OSError as failure:
        raise UnreadableFile(
            f"The prices file can't be opened: {failure.strerror}", where=str(path), next="Check its permissions."
        ) from None
    except UnicodeDecodeError:
        raise UnreadableFile(
            "The prices file is not UTF-8 text", where=str(path), next="Save it as UTF-8 and start again."
        ) from None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise UnreadableFile(
            f"The prices file is not valid TOML: {failure}", where=str(path), next="Correct that line."
        ) from None
    unknown = sorted(set(table) - {"price"})
    if unknown:
        raise _wrong(path, 0, unknown[0], "is not known; rows stand under [[price]]")
    rows = table.get("price", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _wrong(path, 0, "price", "must be rows, each under [[price]] in double brackets")
    found: dict[tuple[str, str], OwnRow] = {}
    for n, row in enumerate(rows, 1):
        key, made = _row(path, n, row)
        if key in found:
            raise _wrong(path, n, "model", "stands in an earlier row of the same base_url too")
        found[key] = made
    return found


def _row(path: Path, n: int, row: Mapping[str, Any]) -> tuple[tuple[str, str], OwnRow]:
    unknown = sorted(set(row) - KEYS)
    if unknown:
        raise _wrong(path, n, unknown[0], f"is not known; known are {', '.join(sorted(KEYS))}")
    base_url, model = (row.get(name) for name in ("base_url", "model"))
    address = plain(base_url) if isinstance(base_url, str) else None
    if address is None:
        raise _wrong(path, n, "base_url", "must be an address that starts with https:// or http://")
    if not isinstance(model, str) or not model.strip():
        raise _wrong(path, n, "model", "must be the model's name as the endpoint knows it")
    date, cliff = _date(path, n, row.get("date")), row.get("cliff")
    if cliff is not None and (not isinstance(cliff, int) or isinstance(cliff, bool) or cliff <= 0):
        raise _wrong(path, n, "cliff", "must be a whole number of tokens above 0")
    above = None
    if "above" in row:
        if cliff is None or not isinstance(row["above"], dict) or set(row["above"]) - set(RATES):
            raise _wrong(path, n, "above", "needs a cliff, and holds input, output, cached and write only")
        above = _rates(path, n, row["above"], "above.", cliff, date)
    return (address, model.strip().lower()), OwnRow(_rates(path, n, row, "", cliff, date), above)


def _rates(path: Path, n: int, row: Mapping[str, Any], prefix: str, cliff: int | None, date: str) -> Rates:
    for name in ("input", "output"):
        if name not in row:
            raise _wrong(path, n, prefix + name, "is missing")
    values: dict[str, float | None] = dict.fromkeys(RATES)
    for name in RATES:
        if name not in row:
            continue
        said = row[name]
        if not isinstance(said, int | float) or isinstance(said, bool) or not math.isfinite(said) or said < 0:
            raise _wrong(path, n, prefix + name, "must be US dollars per million tokens, 0 or more")
        values[name] = float(said)
    return Rates(
        input=values["input"] or 0.0,
        output=values["output"] or 0.0,
        cached=values["cached"],
        write=values["write"],
        cliff=cliff,
        source=SOURCE,
        date=date,
    )


def _date(path: Path, n: int, said: Any) -> str:
    """A TOML date, or text of the same form; a date with a time is neither."""
    try:
        return datetime.date.fromisoformat(said if isinstance(said, str) else str(said)).isoformat()
    except ValueError:
        raise _wrong(path, n, "date", "must be the day you looked the price up, like 2026-11-30") from None


def _wrong(path: Path, n: int, key: str, why: str) -> UnreadableFile:
    where = f"{path}, row {n}, key {key}" if n else f"{path}, key {key}"
    return UnreadableFile(f"In the prices file, {key} {why}", where=where, next="Correct it, or take the row out.")
