"""The follow-up series, asked on the second export, and its right answers, computed from the generated rows.

Owns: the questions, the SQL behind each answer and the file `questions_second.jsonl`. Refuses to know how the rows are
made and how an answer is written (see `gold`).

No question states a house rule: those of the first series that still hold are in force. NPS and spend are taken as the
second export has them. Every question is one that a belief of the first export's time answers wrongly: an old figure,
or a rule that stopped being true.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import duckdb

from sample_corpora.product_feedback.gold import BY_RELEASE, LOW, Question, answer, connect, dump
from sample_corpora.product_feedback.second import COLUMNS, Again, build_second

QUESTIONS_FILE = Path(__file__).with_name("questions_second.jsonl")

STILL_TRUE = ("test_rows", "dach_spelling", "plan_codes", "channel_na")
"""The compiled rules of the first series that are in force."""
STALE = ("spend_in_cents", "nps_not_asked", "email_has_no_rating")
"""Rules of the first series that are no longer true."""

LAST_MONTH = "created_at >= '2026-11-01' AND created_at < '2026-12-01'"
MONTH_BEFORE = "created_at >= '2026-10-01' AND created_at < '2026-11-01'"

# (question, answer kind, SQL, tolerance, follow-up)
_SERIES: tuple[tuple[str, str, str, float, bool], ...] = (
    ("How much feedback do we have?", "number", "SELECT count(*) FROM feedback", 0.0, False),
    ("What is the average monthly spend?", "number", "SELECT avg(monthly_spend) FROM feedback", 0.01, False),
    (
        "How much feedback came in last month?",
        "number",
        f"SELECT count(*) FROM feedback WHERE {LAST_MONTH}",
        0.0,
        False,
    ),
    ("And the month before?", "number", f"SELECT count(*) FROM feedback WHERE {MONTH_BEFORE}", 0.0, True),
    (
        "How many are there per channel?",
        "table",
        "SELECT channel, count(*) FROM feedback GROUP BY 1 ORDER BY 2 DESC",
        0.0,
        False,
    ),
    (
        "Of the feedback whose channel we know, what share came through chat?",
        "share",
        "SELECT count(*) FILTER (channel = 'chat') / count(channel) FROM feedback",
        0.0005,
        False,
    ),
    (
        "How many pieces of feedback are there without a rating?",
        "number",
        "SELECT count(*) - count(rating) FROM feedback",
        0.0,
        False,
    ),
    (
        "What is the average rating by email?",
        "number",
        "SELECT avg(rating) FROM feedback WHERE channel = 'email'",
        0.005,
        False,
    ),
    (
        "How many pieces of feedback are there without an NPS?",
        "number",
        "SELECT count(*) - count(nps) FROM feedback",
        0.0,
        False,
    ),
    (
        "What's the share of low ratings for each app version, oldest version first?",
        "table",
        f"SELECT app_version, {LOW} FROM feedback WHERE app_version IS NOT NULL GROUP BY 1 ORDER BY {BY_RELEASE}",
        0.0005,
        False,
    ),
    (
        "What is the average rating of the newest version?",
        "number",
        "SELECT avg(rating) FROM feedback WHERE app_version = '5.11'",
        0.005,
        False,
    ),
    (
        "Compare Team and Enterprise on average monthly spend.",
        "table",
        "SELECT plan, avg(monthly_spend) FROM feedback WHERE plan IN ('Team', 'Enterprise') GROUP BY 1 ORDER BY 1 DESC",
        0.01,
        False,
    ),
    (
        "What is the average monthly spend with a low rating?",
        "number",
        "SELECT avg(monthly_spend) FROM feedback WHERE rating IN (1, 2)",
        0.01,
        False,
    ),
    (
        "Show the number of pieces of feedback for each month of 2026.",
        "table",
        "SELECT strftime(created_at, '%Y-%m'), count(*) FROM feedback WHERE created_at >= '2026-01-01' "
        "GROUP BY 1 ORDER BY 1",
        0.0,
        False,
    ),
)


def questions() -> tuple[Question, ...]:
    """The whole series, in the order in which it is asked."""
    return tuple(
        Question(f"pf2-{n:02d}", text, kind, sql, tolerance, follow_up=follow_up)
        for n, (text, kind, sql, tolerance, follow_up) in enumerate(_SERIES, start=1)
    )


def create_view(con: duckdb.DuckDBPyConnection, rules: Collection[str]) -> None:
    """(Re)creates `feedback`, typed, under the column names of the first export, with the given rules applied.

    Stale rules can be applied too: `feedback` is then what somebody sees who still believes them.
    """
    region = "CASE region WHEN 'D-A-CH' THEN 'DACH' ELSE region END" if "dach_spelling" in rules else "region"
    plan = "CASE plan WHEN 'P1' THEN 'Free' WHEN 'P2' THEN 'Team' ELSE 'Enterprise' END"
    # Who counts the 99s as not asked finds none, and takes an empty cell for one that was.
    nps = "coalesce(nps, '-1')" if "nps_not_asked" in rules else "nps"
    rating = "CASE WHEN channel <> 'email' THEN rating END" if "email_has_no_rating" in rules else "rating"
    con.execute(f"""
        CREATE OR REPLACE VIEW feedback AS SELECT
          feedback_id::BIGINT AS feedback_id, created_at::TIMESTAMP AS created_at, customer_id, {region} AS region,
          {plan if "plan_codes" in rules else "plan"} AS plan,
          {"nullif(channel, 'NA')" if "channel_na" in rules else "channel"} AS channel, release AS app_version, status,
          ({rating})::INTEGER AS rating, ({nps})::INTEGER AS nps,
          monthly_spend::DOUBLE {"* 0.01" if "spend_in_cents" in rules else ""} AS monthly_spend, comment
        FROM truth {"WHERE status <> 'test'" if "test_rows" in rules else ""}""")


def compute(rows: Iterable[Again], *, rules: Collection[str] = STILL_TRUE) -> list[dict[str, Any]]:
    """The lines of `questions_second.jsonl` for these rows; other `rules` give what somebody answers who holds them."""
    con = connect(rows, COLUMNS)
    try:
        create_view(con, rules)
        return [question.line(answer(con, question), series=2) for question in questions()]
    finally:
        con.close()


def write(rows: Iterable[Again] | None = None) -> Path:
    """Computes all answers and writes `questions_second.jsonl` beside this module."""
    QUESTIONS_FILE.write_text(dump(compute(build_second() if rows is None else rows)), encoding="utf-8", newline="\n")
    return QUESTIONS_FILE


if __name__ == "__main__":
    write()
