"""Real difficult files: never wrong without a word, nearly always right, and no cry of wolf over clean ones.

Reads PEEK_BENCH_DATA; the table beside DuckDB and pandas is printed by `python -m tests.bench.reading`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.bench.reading import Case, Found, cases, ours, shape_right, share_of_cells, verdict

DATA = os.environ.get("PEEK_BENCH_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="PEEK_BENCH_DATA names no folder with the difficult files")


@pytest.fixture(scope="module")
def read() -> list[tuple[Case, Found]]:
    return [(case, ours(case.path)) for case in cases(Path(DATA) / "csv_torture")]


def test_no_file_is_read_wrong_without_a_word(read: list[tuple[Case, Found]]) -> None:
    assert [case.path.name for case, found in read if verdict(case, found) == "silent"] == []


MISSTATED = {
    "csvkit_test_latin1.csv": "one row is stated; two lines stand below the header",
    "frictionless_table-infer-iso-8859-7.csv": "two columns are stated; every line has three fields",
    "survey_300mAThree.CSV": "2,501 rows are stated; the file has 2,500 lines and no header",
    "survey_pssave_traindata_m_10_n_10_timelow_15_timehight_30_numofloop_2000.csv": "11 are stated; it has 10 lines",
}
"""Files whose own bytes show another shape than the index states."""


def test_nearly_all_have_the_shape_that_their_source_states(read: list[tuple[Case, Found]]) -> None:
    stated = [(case, found) for case, found in read if case.path.name not in MISSTATED]
    wrong = [case.path.name for case, found in stated if not shape_right(case, found)]
    assert len(wrong) <= 0.05 * len(stated), wrong


def test_cells_are_what_the_source_states(read: list[tuple[Case, Found]]) -> None:
    shares = [share_of_cells(case, found) for case, found in read]
    assert sum(right for right, _ in shares) >= 0.9 * sum(total for _, total in shares)


def test_rightly_read_files_seldom_carry_a_doubt(read: list[tuple[Case, Found]]) -> None:
    right = [(case, found) for case, found in read if verdict(case, found) == "right"]
    doubted = [case.path.name for case, found in right if found.doubts]
    assert len(doubted) <= 0.1 * len(right), doubted


def test_clean_files_carry_none() -> None:
    clean = [p for folder in ("feedback", "dabench", "wtq") for p in sorted(Path(DATA, folder).rglob("*.[ct]sv"))]
    assert len(clean) > 80
    said = {p.name: found.said for p in clean if (found := ours(p)).said}
    assert said == {}


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("airline_tweets_a.csv", 14_640, 6),
        ("airline_tweets_b_excel.csv", 14_640, 13),
        ("googleplaystore_apps.csv", 10_841, 13),
        ("amazon_alexa_reviews.tsv", 3_150, 5),
        ("womens_clothing_reviews_1000.csv", 1_000, 11),
        ("support_tickets_synthetic.csv", 8_469, 16),
    ],
)
def test_feedback_files(name: str, rows: int, columns: int) -> None:
    found = ours(Path(DATA, "feedback", name))
    assert (len(found.rows), len(found.columns)) == (rows, columns)
