"""Spellings that differ in case, blanks or Unicode form alone are found; nothing else is, and nothing is merged."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from peek_core.corpus.load import load_file
from peek_core.values.dataset import LoadReport


def _read(folder: Path, values: Sequence[str]) -> LoadReport:
    source = folder / "t.csv"
    with source.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("k", "v"), *((value, n) for n, value in enumerate(values))])
    return load_file(source, folder / "v1.duckdb", label="t.csv")


@pytest.mark.parametrize(
    ("values", "mapping"),
    [
        (["Paris"] * 3 + ["paris"] * 2 + ["Rome"], {"paris": "Paris"}),
        (["New York", "New York", "New  York", "new york"], {"New  York": "New York", "new york": "New York"}),
        (["Köln", "Köln", unicodedata.normalize("NFD", "Köln")], {unicodedata.normalize("NFD", "Köln"): "Köln"}),
        (["north", "north", "north ", "south"], {"north ": "north"}),
        (["b2b", "B2B"], {"b2b": "B2B"}),
        (["Paris", "Pariss", "Lyon", "LYO"], None),
        (["a", "A", "b", "B"], None),
        (["Nice app, I like it very much indeed, truly", "nice app, i like it very much indeed, truly"] * 5, None),
        (["US", "UK", "", "n/a"], None),
    ],
    ids=["case", "blanks", "unicode-form", "trailing", "a-tie", "typos", "single-letters", "sentences", "nothing"],
)
def test_what_folds(tmp_path: Path, values: list[str], mapping: dict[str, str] | None) -> None:
    report = _read(tmp_path, values)
    assert [dict(s.mapping) for s in report.spellings] == ([mapping] if mapping else [])


def test_what_was_read_stays_as_it_was_written(tmp_path: Path) -> None:
    report = _read(tmp_path, ["Paris", "Paris", "paris"])
    assert report.tables[0].columns[0].distinct == 2


def test_columns_of_many_values_hold_no_names(tmp_path: Path) -> None:
    assert _read(tmp_path, [f"{word}{n}" for n in range(2_600) for word in ("Key", "key")]).spellings == ()
