"""The question series and its right answers, computed from the generated rows.

Owns the questions, the SQL behind each answer and the file `questions.jsonl`. Refuses to know how the rows are made:
it takes them as they are, with the truth (topic, stance) that the generator keeps beside each comment.

A house rule is in force from the question that states it. Answers are JSON values:
number (int or float), share (a fraction 0..1), text, table (a list of rows, null for missing, in the asked order),
none (null: the data cannot say). `tolerance` is absolute; 0 means exactly.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sample_corpora.product_feedback.generate import COLUMNS, Feedback, build

QUESTIONS_FILE = Path(__file__).with_name("questions.jsonl")

# The rules that change rows or values, as the curated view has them. The other planted facts are words and meaning.
COMPILED_RULES = ("test_rows", "spend_in_cents", "nps_not_asked", "dach_spelling", "plan_codes", "channel_na")


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the series. `sql` runs over views `feedback` (the rules so far) and `said` (comments with truth)."""

    id: str
    question: str
    answer_kind: str
    sql: str
    tolerance: float = 0.0
    kind: str = "S"
    follow_up: bool = False
    states_rule: str | None = None

    def line(self, answer: Any, series: int) -> dict[str, Any]:
        """The question with its right answer, as it stands in the file of its series."""
        return {
            "id": self.id,
            "question": self.question,
            "answer": answer,
            "answer_kind": self.answer_kind,
            "tolerance": self.tolerance,
            "kind": self.kind,
            "follow_up": self.follow_up,
            "series": series,
            "states_rule": self.states_rule,
        }


NPS = "100.0 * (count(*) FILTER (nps BETWEEN 9 AND 10) - count(*) FILTER (nps BETWEEN 0 AND 6)) / count(nps)"
LOW = "count(*) FILTER (rating IN (1, 2)) / count(rating)"
LAST_MONTH = "created_at >= '2026-10-01' AND created_at < '2026-11-01'"
MONTH_BEFORE = "created_at >= '2026-09-01' AND created_at < '2026-10-01'"
# Releases in time order; text order would put 5.10 before 5.2.
BY_RELEASE = "string_split(app_version, '.')[2]::INTEGER"
COMPLAINT = "(stance LIKE 'complaint%' OR stance = 'prefers_classic')"

_HOUSE_RULES = (
    (
        "Rows with status test don't count. How much feedback do we have?",
        "number",
        "SELECT count(*) FROM feedback",
        0.0,
        "test_rows",
    ),
    (
        "monthly_spend is in cents. What is the average monthly spend?",
        "number",
        "SELECT avg(monthly_spend) FROM feedback",
        0.01,
        "spend_in_cents",
    ),
    (
        "NPS 99 means not asked. What is the average NPS?",
        "number",
        "SELECT avg(nps) FROM feedback",
        0.005,
        "nps_not_asked",
    ),
    (
        "D-A-CH is the same region as DACH. How many pieces of feedback came from DACH?",
        "number",
        "SELECT count(*) FROM feedback WHERE region = 'DACH'",
        0.0,
        "dach_spelling",
    ),
    (
        "P1 is Free, P2 is Team and P3 is Enterprise. How many pieces of feedback are there per plan?",
        "table",
        "SELECT plan, count(*) FROM feedback GROUP BY 1 ORDER BY 2 DESC",
        0.0,
        "plan_codes",
    ),
    (
        "In channel, NA means missing. How many are there per channel?",
        "table",
        "SELECT channel, count(*) FROM feedback GROUP BY 1 ORDER BY 2 DESC",
        0.0,
        "channel_na",
    ),
    (
        "A low rating is 1 or 2. What share of ratings are low?",
        "share",
        f"SELECT {LOW} FROM feedback",
        0.0005,
        "low_rating",
    ),
    (
        "A promoter is NPS 9 or 10, a detractor is 0 to 6. What is our NPS score?",
        "number",
        f"SELECT {NPS} FROM feedback",
        0.05,
        "promoter_detractor",
    ),
)

# (question, answer kind, SQL, tolerance, kind, follow-up)
_SERIES: tuple[tuple[str, str, str, float, str, bool], ...] = (
    ("And for Nordics?", "number", f"SELECT {NPS} FROM feedback WHERE region = 'Nordics'", 0.05, "S", True),
    (
        "How many different customers have written to us?",
        "number",
        "SELECT count(DISTINCT customer_id) FROM feedback",
        0.0,
        "S",
        False,
    ),
    (
        "Which region sends us the most feedback?",
        "text",
        "SELECT region FROM feedback GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "S",
        False,
    ),
    (
        "What is the average rating in each region?",
        "table",
        "SELECT region, avg(rating) FROM feedback GROUP BY 1 ORDER BY 2 DESC",
        0.005,
        "S",
        False,
    ),
    (
        "How much feedback came in last month?",
        "number",
        f"SELECT count(*) FROM feedback WHERE {LAST_MONTH}",
        0.0,
        "S",
        False,
    ),
    ("And the month before?", "number", f"SELECT count(*) FROM feedback WHERE {MONTH_BEFORE}", 0.0, "S", True),
    (
        "Only those with a comment.",
        "number",
        f"SELECT count(comment) FROM feedback WHERE {MONTH_BEFORE}",
        0.0,
        "S",
        True,
    ),
    (
        "As a percentage?",
        "share",
        f"SELECT count(comment) / count(*) FROM feedback WHERE {MONTH_BEFORE}",
        0.0005,
        "S",
        True,
    ),
    (
        "Do people prefer the new dashboard or the classic dashboard?",
        "text",
        "SELECT CASE stance WHEN 'prefers_classic' THEN 'classic' ELSE 'new' END FROM said "
        "WHERE topic = 'dashboard' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "T",
        False,
    ),
    (
        "How clear is that? What share of the people who compare the two prefers it?",
        "share",
        "SELECT count(*) FILTER (stance = 'prefers_classic') / count(*) FROM said WHERE topic = 'dashboard'",
        0.03,
        "T",
        True,
    ),
    (
        "Of the feedback whose channel we know, what share came through the app?",
        "share",
        "SELECT count(*) FILTER (channel = 'app') / count(channel) FROM feedback",
        0.0005,
        "S",
        False,
    ),
    (
        "And by phone?",
        "share",
        "SELECT count(*) FILTER (channel = 'phone') / count(channel) FROM feedback",
        0.0005,
        "S",
        True,
    ),
    (
        "Email never has a rating. How many pieces of feedback are there without a rating?",
        "number",
        "SELECT count(*) - count(rating) FROM feedback",
        0.0,
        "S",
        False,
    ),
    (
        "Show the number of pieces of feedback for each month of 2026.",
        "table",
        "SELECT strftime(created_at, '%Y-%m'), count(*) FROM feedback WHERE created_at >= '2026-01-01' "
        "GROUP BY 1 ORDER BY 1",
        0.0,
        "S",
        False,
    ),
    (
        "How has the average rating moved from month to month this year?",
        "table",
        "SELECT strftime(created_at, '%Y-%m'), avg(rating) FROM feedback WHERE created_at >= '2026-01-01' "
        "GROUP BY 1 ORDER BY 1",
        0.005,
        "S",
        False,
    ),
    (
        "Who are our five most frequent writers? Give me customer ids and counts.",
        "table",
        "SELECT customer_id, count(*) FROM feedback GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
        0.0,
        "S",
        False,
    ),
    (
        "What's the share of low ratings for each app version, oldest version first?",
        "table",
        f"SELECT app_version, {LOW} FROM feedback WHERE app_version IS NOT NULL GROUP BY 1 ORDER BY {BY_RELEASE}",
        0.0005,
        "S",
        False,
    ),
    (
        "What is the average rating of the newest version?",
        "number",
        "SELECT avg(rating) FROM feedback WHERE app_version = '5.10'",
        0.005,
        "S",
        False,
    ),
    (
        "Which version did people rate worst on average?",
        "text",
        "SELECT app_version FROM feedback WHERE app_version IS NOT NULL GROUP BY 1 ORDER BY avg(rating) LIMIT 1",
        0.0,
        "S",
        False,
    ),
    (
        "What do people with that version complain about most?",
        "text",
        f"SELECT topic FROM said WHERE app_version = '5.9' AND {COMPLAINT} GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "T",
        True,
    ),
    (
        "Compare Team and Enterprise on average rating.",
        "table",
        "SELECT plan, avg(rating) FROM feedback WHERE plan IN ('Team', 'Enterprise') GROUP BY 1 ORDER BY 1 DESC",
        0.005,
        "S",
        False,
    ),
    (
        "And on average monthly spend?",
        "table",
        "SELECT plan, avg(monthly_spend) FROM feedback WHERE plan IN ('Team', 'Enterprise') GROUP BY 1 ORDER BY 1 DESC",
        0.01,
        "S",
        True,
    ),
    (
        "What's the top complaint about onboarding?",
        "text",
        "SELECT replace(stance, 'complaint_', '') FROM said WHERE topic = 'onboarding' AND stance LIKE 'complaint%' "
        "GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "T",
        False,
    ),
    (
        "I need a cross-tab of region by plan with the number of pieces of feedback.",
        "table",
        "SELECT region, plan, count(*) FROM feedback GROUP BY 1, 2 ORDER BY 1, 2",
        0.0,
        "S",
        False,
    ),
    (
        "How many are still new, so nobody has looked at them?",
        "number",
        "SELECT count(*) FROM feedback WHERE status = 'new'",
        0.0,
        "S",
        False,
    ),
    (
        "What percentage of the feedback is closed?",
        "share",
        "SELECT count(*) FILTER (status = 'closed') / count(*) FROM feedback",
        0.0005,
        "S",
        False,
    ),
    (
        "Is that any different for Enterprise?",
        "share",
        "SELECT count(*) FILTER (status = 'closed') / count(*) FROM feedback WHERE plan = 'Enterprise'",
        0.0005,
        "S",
        True,
    ),
    (
        "How many entries have no comment at all?",
        "number",
        "SELECT count(*) - count(comment) FROM feedback",
        0.0,
        "S",
        False,
    ),
    (
        "About how many comments ask for a dark mode?",
        "number",
        "SELECT count(*) FROM said WHERE topic = 'dark_mode'",
        60.0,
        "T",
        False,
    ),
    ("How often did we not ask for the NPS?", "number", "SELECT count(*) - count(nps) FROM feedback", 0.0, "S", False),
    (
        "Give me the NPS score per plan.",
        "table",
        f"SELECT plan, {NPS} FROM feedback GROUP BY 1 ORDER BY 2 DESC",
        0.05,
        "S",
        False,
    ),
    (
        "Just UK & Ireland.",
        "table",
        f"SELECT plan, {NPS} FROM feedback WHERE region = 'UK & Ireland' GROUP BY 1 ORDER BY 2 DESC",
        0.05,
        "S",
        True,
    ),
    (
        "Which regions do we have in the data?",
        "table",
        "SELECT DISTINCT region FROM feedback ORDER BY 1",
        0.0,
        "S",
        False,
    ),
    (
        "In which month did we hear the most from the Nordics?",
        "text",
        "SELECT strftime(created_at, '%Y-%m') FROM feedback WHERE region = 'Nordics' GROUP BY 1 "
        "ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "S",
        False,
    ),
    (
        "By what percentage did that grow over the month before?",
        "share",
        f"SELECT count(*) FILTER ({LAST_MONTH}) / count(*) FILTER ({MONTH_BEFORE}) - 1 FROM feedback "
        "WHERE region = 'Nordics'",
        0.0005,
        "S",
        True,
    ),
    (
        "Which region has the largest share of billing complaints among its comments?",
        "text",
        "SELECT region FROM said GROUP BY 1 ORDER BY count(*) FILTER (topic = 'billing') / count(*) DESC LIMIT 1",
        0.0,
        "T",
        False,
    ),
    (
        "Do low raters spend less? Average monthly spend with a low rating, and with any other rating.",
        "table",
        "SELECT CASE WHEN rating IN (1, 2) THEN 'low' ELSE 'other' END, avg(monthly_spend) FROM feedback "
        "WHERE rating IS NOT NULL GROUP BY 1 ORDER BY 1",
        0.01,
        "S",
        False,
    ),
    (
        "How many pieces of feedback arrived from 1 to 15 August 2026, both days included?",
        "number",
        "SELECT count(*) FROM feedback WHERE created_at >= '2026-08-01' AND created_at < '2026-08-16'",
        0.0,
        "S",
        False,
    ),
    (
        "On which weekday do we get the most?",
        "text",
        "SELECT dayname(created_at) FROM feedback GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "S",
        False,
    ),
    (
        "How many detractors did DACH have in the third quarter of 2026?",
        "number",
        "SELECT count(*) FROM feedback WHERE region = 'DACH' AND nps BETWEEN 0 AND 6 "
        "AND created_at >= '2026-07-01' AND created_at < '2026-10-01'",
        0.0,
        "S",
        False,
    ),
    (
        "What share of the NPS answers from DACH in that quarter is that?",
        "share",
        "SELECT count(*) FILTER (nps BETWEEN 0 AND 6) / count(nps) FROM feedback WHERE region = 'DACH' "
        "AND created_at >= '2026-07-01' AND created_at < '2026-10-01'",
        0.0005,
        "S",
        True,
    ),
    (
        "How much feedback came from Latin America?",
        "number",
        "SELECT count(*) FROM feedback WHERE region = 'Latin America'",
        0.0,
        "S",
        False,
    ),
    ("What is the average age of the people who write to us?", "none", "SELECT NULL", 0.0, "S", False),
    (
        "What do people praise most?",
        "text",
        "SELECT topic FROM said WHERE stance = 'praise' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "T",
        False,
    ),
    (
        "Who asks for single sign-on most often, Free, Team or Enterprise?",
        "text",
        "SELECT plan FROM said WHERE topic = 'sso' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        0.0,
        "T",
        False,
    ),
    (
        "What share of the comments about our support team is positive?",
        "share",
        "SELECT count(*) FILTER (stance = 'praise') / count(*) FROM said WHERE topic = 'support'",
        0.03,
        "T",
        False,
    ),
    (
        "How many comments are in German, roughly?",
        "number",
        "SELECT count(*) FROM said WHERE language = 'de'",
        125.0,
        "T",
        False,
    ),
    ("And Spanish?", "number", "SELECT count(*) FROM said WHERE language = 'es'", 110.0, "T", True),
)


def questions() -> tuple[Question, ...]:
    """The whole series, in the order in which it is asked."""
    made = [
        Question(f"pf-{n:02d}", text, kind, sql, tolerance, states_rule=rule)
        for n, (text, kind, sql, tolerance, rule) in enumerate(_HOUSE_RULES, start=1)
    ]
    for n, (text, answer_kind, sql, tolerance, kind, follow_up) in enumerate(_SERIES, start=len(made) + 1):
        rule = "email_has_no_rating" if text.startswith("Email never has a rating.") else None
        made.append(Question(f"pf-{n:02d}", text, answer_kind, sql, tolerance, kind, follow_up, rule))
    return tuple(made)


def connect(rows: Iterable[Sequence[Any]], columns: Sequence[str] = COLUMNS) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the table `truth`: the file's columns as text, and topic, stance and language."""
    con = duckdb.connect()
    names = (*columns, "topic", "stance", "language")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "truth.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        con.execute(
            "CREATE TABLE truth AS SELECT * FROM read_csv($1, header=false, auto_detect=false, delim=',', quote='\"', "
            "escape='\"', new_line='\\n', columns=$2)",
            [str(path), dict.fromkeys(names, "VARCHAR")],
        )
    return con


def create_views(con: duckdb.DuckDBPyConnection, rules: Iterable[str]) -> None:
    """(Re)creates `feedback` (typed, with the given compiled rules applied) and `said` (comments with the truth)."""
    on = frozenset(rules)
    region = "CASE region WHEN 'D-A-CH' THEN 'DACH' ELSE region END" if "dach_spelling" in on else "region"
    plan = (
        "CASE plan WHEN 'P1' THEN 'Free' WHEN 'P2' THEN 'Team' ELSE 'Enterprise' END" if "plan_codes" in on else "plan"
    )
    con.execute(f"""
        CREATE OR REPLACE VIEW feedback AS SELECT
          feedback_id::BIGINT AS feedback_id, created_at::TIMESTAMP AS created_at, customer_id, {region} AS region,
          {plan} AS plan, {"nullif(channel, 'NA')" if "channel_na" in on else "channel"} AS channel, app_version,
          status,
          rating::INTEGER AS rating, {"nullif(nps::INTEGER, 99)" if "nps_not_asked" in on else "nps::INTEGER"} AS nps,
          monthly_spend::BIGINT {"/ 100.0" if "spend_in_cents" in on else ""} AS monthly_spend, comment,
          topic, stance, language
        FROM truth {"WHERE status <> 'test'" if "test_rows" in on else ""}""")
    con.execute("CREATE OR REPLACE VIEW said AS SELECT * FROM feedback WHERE comment IS NOT NULL")


def _plain(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def answer(con: duckdb.DuckDBPyConnection, question: Question) -> Any:
    """The right answer over the views as they stand, as a JSON value."""
    rows = con.execute(question.sql).fetchall()
    if question.answer_kind == "table":
        return [[_plain(value) for value in row] for row in rows]
    return _plain(rows[0][0]) if rows else None


def compute(rows: Iterable[Feedback], *, ignoring: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines of `questions.jsonl` for these rows.

    `ignoring` leaves compiled rules out although they were stated: what somebody answers who forgot them.
    """
    con = connect(rows)
    lines: list[dict[str, Any]] = []
    stated: list[str] = []
    try:
        for question in questions():
            if question.states_rule is not None:
                stated.append(question.states_rule)
            if question.states_rule is not None or not lines:
                create_views(con, (rule for rule in stated if rule not in ignoring))
            lines.append(question.line(answer(con, question), series=1))
    finally:
        con.close()
    return lines


def dump(lines: Iterable[dict[str, Any]]) -> str:
    """The text of `questions.jsonl`: one JSON object a line."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def write(rows: Iterable[Feedback] | None = None) -> Path:
    """Computes all answers and writes `questions.jsonl` beside this module."""
    QUESTIONS_FILE.write_text(dump(compute(build() if rows is None else rows)), encoding="utf-8", newline="\n")
    return QUESTIONS_FILE


if __name__ == "__main__":
    write()
