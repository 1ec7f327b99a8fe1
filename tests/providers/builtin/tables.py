"""Three made-up tables and the questions asked of them.

Owns: rows, questions and the SQL of their right answers. Refuses to know: the analyst.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import duckdb

from tests.providers.builtin.harness import load

TODAY = {"tickets": "2026-06-10", "reviews": "2025-03-20", "survey": "2026-02-02"}
_SUMMARIES = (
    "printer does not print in the hall",
    "cannot log in since this morning",
    "the screen stays black after the update",
    "vpn drops every hour",
    "please reset my password again",
    "mail arrives late on the phone",
)
_TEXTS = (
    "great value for the money",
    "broke after two weeks of use",
    "battery lasts a whole day",
    "the box was damaged on arrival",
    "would buy it again",
    "too loud for a small room",
)


def _tickets() -> Iterator[tuple[Any, ...]]:
    rng = Random(14)
    for n in range(1200):
        opened = datetime(2025, 9, 1) + timedelta(minutes=300 * n + n * n // 9)
        status = rng.choice(["open", "closed", "closed", "in progress", "waiting"])
        team = rng.choice(["Network", "Hardware", "Apps", "Field Service", "Security", "Identity", "Field service"])
        agent = rng.choice(["Ana Ruiz", "Bo Lind", "Chen Wei", "Dora Klein", "Emil Berg", "Farah Aziz", "Gus O'Hara"])
        yield (
            n + 1,
            opened.strftime("%Y-%m-%d %H:%M:%S"),
            team,
            rng.choice(["urgent", "high", "normal", "low"]),
            status,
            agent,
            rng.choice([5, 12, 30, 75, 240, 999]),
            rng.choice(["yes", "no", "no", ""]),
            f"{rng.choice(_SUMMARIES)} ({n})" if n % 9 else "",
        )


def _reviews() -> Iterator[tuple[Any, ...]]:
    rng = Random(5)
    for n in range(800):
        day = datetime(2024, 1, 1) + timedelta(hours=13 * n)
        yield (
            f"R{n:04d}",
            day.strftime("%Y-%m-%d"),
            rng.choice(["Kettle", "Toaster", "Desk Lamp", "Fan", "Radio", "Heater", "Mixer"]),
            rng.choice([1, 2, 3, 4, 5, 5, ""]),
            rng.choice(["true", "false"]),
            rng.choice(["Spain", "Brazil", "Norway", "brazil", "Chile", "Peru", "Japan"]),
            rng.randrange(40),
            f"{rng.choice(_TEXTS)} {n}" if n % 5 else "",
        )


def _survey() -> Iterator[tuple[Any, ...]]:
    rng = Random(6)
    for n in range(500):
        yield (
            f"P{n:03d}",
            rng.randrange(19, 66),
            rng.choice(["Sales", "Finance", "R&D", "Legal", "test"]),
            rng.choice([1, 4, 6, 7, 8, 9, 10, 99]),
            rng.choice(["yes", "no", ""]),
            rng.choice(["full", "part"]),
            (datetime(2025, 11, 1) + timedelta(days=n % 80)).strftime("%Y-%m-%d"),
            f"remark number {n} about the new canteen" if n % 3 else "",
        )


def tickets() -> duckdb.DuckDBPyConnection:
    return load(
        "tickets",
        ("ticket_id", "opened_at", "team", "priority", "status", "agent", "reply_minutes", "reopened", "summary"),
        _tickets(),
    )


def reviews() -> duckdb.DuckDBPyConnection:
    return load(
        "reviews",
        ("review_id", "posted", "product", "stars", "verified", "country", "helpful_votes", "review_text"),
        _reviews(),
    )


def survey() -> duckdb.DuckDBPyConnection:
    return load(
        "survey",
        ("respondent", "age", "department", "satisfaction", "would_recommend", "contract", "answered_on", "remark"),
        _survey(),
    )


MAKE = {"tickets": tickets, "reviews": reviews, "survey": survey}
T, R, S = "tickets", "reviews", "survey"
CASES: tuple[tuple[str, str, str], ...] = (
    (T, "How many tickets are there?", "SELECT count(*) FROM tickets"),
    (T, "How many tickets are open?", "SELECT count(*) FROM tickets WHERE status = 'open'"),
    (T, "how many open tickets do we have", "SELECT count(*) FROM tickets WHERE status = 'open'"),
    (
        T,
        "How many urgent tickets are in progress?",
        "SELECT count(*) FROM tickets WHERE status = 'in progress' AND priority = 'urgent'",
    ),
    (T, "Number of tickets per priority", "SELECT priority, count(*) FROM tickets GROUP BY 1"),
    (
        T,
        "How many tickets did the Network team get in March 2026?",
        (
            "SELECT count(*) FROM tickets WHERE team = 'Network' AND opened_at >= '2026-03-01' AND "
            "opened_at < '2026-04-01'"
        ),
    ),
    (T, "Tickets per month", "SELECT strftime(opened_at, '%Y-%m'), count(*) FROM tickets GROUP BY 1"),
    (
        T,
        "How many tickets came in last month?",
        ("SELECT count(*) FROM tickets WHERE opened_at >= '2026-05-01' AND opened_at < '2026-06-01'"),
    ),
    (T, "How many tickets since April?", "SELECT count(*) FROM tickets WHERE opened_at >= '2026-04-01'"),
    (T, "What share of tickets is closed?", "SELECT 100 * count(*) FILTER (status = 'closed') / count(*) FROM tickets"),
    (
        T,
        "What percentage of urgent tickets are closed?",
        ("SELECT 100 * count(*) FILTER (status = 'closed') / count(*) FROM tickets WHERE priority = 'urgent'"),
    ),
    (
        T,
        "What share of tickets were reopened?",
        "SELECT 100 * count(*) FILTER (reopened = 'yes') / count(reopened) FROM tickets",
    ),
    (T, "How many tickets were reopened?", "SELECT count(*) FROM tickets WHERE reopened = 'yes'"),
    (T, "Which agent has the most tickets?", "SELECT agent FROM tickets GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"),
    (
        T,
        "Top 3 agents by number of tickets",
        "SELECT agent, count(*) FROM tickets GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3",
    ),
    (T, "How many tickets does Gus O'Hara have?", "SELECT count(*) FROM tickets WHERE agent = 'Gus O''Hara'"),
    (
        T,
        "Which tickets of Bo Lind are open?",
        "SELECT count(*) FROM tickets WHERE agent = 'Bo Lind' AND status = 'open'",
    ),
    (T, "Average reply minutes for urgent tickets", "SELECT avg(reply_minutes) FROM tickets WHERE priority = 'urgent'"),
    (
        T,
        "What is the median reply minutes per priority?",
        "SELECT priority, median(reply_minutes) FROM tickets GROUP BY 1",
    ),
    (T, "How many tickets have no summary?", "SELECT count(*) FROM tickets WHERE summary IS NULL"),
    (T, "How many tickets with reply minutes above 60?", "SELECT count(*) FROM tickets WHERE reply_minutes > 60"),
    (
        T,
        "How many tickets have reply minutes between 10 and 80?",
        "SELECT count(*) FROM tickets WHERE reply_minutes BETWEEN 10 AND 80",
    ),
    (T, "How many different agents are there?", "SELECT count(DISTINCT agent) FROM tickets"),
    (T, "How many tickets mention vpn?", "SELECT count(*) FROM tickets WHERE summary ILIKE '%vpn%'"),
    (T, "Crosstab of priority by status", "SELECT priority, status, count(*) FROM tickets GROUP BY 1, 2"),
    (
        T,
        "Compare Apps and Hardware on average reply minutes",
        ("SELECT team, avg(reply_minutes) FROM tickets WHERE team IN ('Apps', 'Hardware') GROUP BY 1"),
    ),
    (T, "How many tickets excluding closed?", "SELECT count(*) FROM tickets WHERE status <> 'closed'"),
    (T, "Which priorities are there?", "SELECT DISTINCT priority FROM tickets"),
    (
        T,
        "How many tickets are there for Field Service?",
        "SELECT count(*) FROM tickets WHERE team ILIKE 'field service'",
    ),
    (
        T,
        "In which month did we get the most tickets?",
        ("SELECT strftime(opened_at, '%Y-%m') FROM tickets GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"),
    ),
    (
        T,
        "How many tickets in Q1 2026 per team?",
        ("SELECT team, count(*) FROM tickets WHERE opened_at >= '2026-01-01' AND opened_at < '2026-04-01' GROUP BY 1"),
    ),
    (
        T,
        "Reply minutes 999 means unknown. What is the average reply minutes?",
        "SELECT avg(reply_minutes) FROM tickets WHERE reply_minutes <> 999",
    ),
    (
        T,
        "Ignore tickets with status waiting. How many tickets are there?",
        "SELECT count(*) FROM tickets WHERE status <> 'waiting'",
    ),
    (
        T,
        "An important ticket is priority urgent or high. How many important tickets are open?",
        "SELECT count(*) FROM tickets WHERE priority IN ('urgent', 'high') AND status = 'open'",
    ),
    (
        T,
        "How many low priority tickets are waiting?",
        "SELECT count(*) FROM tickets WHERE priority = 'low' AND status = 'waiting'",
    ),
    (R, "How many reviews are there?", "SELECT count(*) FROM reviews"),
    (R, "What is the average rating?", "SELECT avg(stars) FROM reviews"),
    (R, "Average stars per product", "SELECT product, avg(stars) FROM reviews GROUP BY 1"),
    (
        R,
        "Which product has the best average rating?",
        "SELECT product FROM reviews GROUP BY 1 ORDER BY avg(stars) DESC LIMIT 1",
    ),
    (
        R,
        "Which product has the lowest average stars?",
        "SELECT product FROM reviews GROUP BY 1 ORDER BY avg(stars) LIMIT 1",
    ),
    (
        R,
        "How many reviews of the Desk Lamp are verified?",
        "SELECT count(*) FROM reviews WHERE product = 'Desk Lamp' AND verified",
    ),
    (R, "What share of reviews is verified?", "SELECT 100 * count(*) FILTER (verified) / count(verified) FROM reviews"),
    (R, "How many reviews came from Brazil?", "SELECT count(*) FROM reviews WHERE country ILIKE 'brazil'"),
    (
        R,
        "How many reviews are from Norway or Chile?",
        "SELECT count(*) FROM reviews WHERE country IN ('Norway', 'Chile')",
    ),
    (R, "How many reviews with stars of 4 or more?", "SELECT count(*) FROM reviews WHERE stars >= 4"),
    (R, "How many reviews have no stars?", "SELECT count(*) FROM reviews WHERE stars IS NULL"),
    (R, "Maximum helpful votes for the Kettle", "SELECT max(helpful_votes) FROM reviews WHERE product = 'Kettle'"),
    (R, "Total helpful votes per country", "SELECT country, sum(helpful_votes) FROM reviews GROUP BY 1"),
    (R, "How many reviews were written in 2024?", "SELECT count(*) FROM reviews WHERE year(posted) = 2024"),
    (R, "Reviews per quarter", "SELECT concat(year(posted), '-Q', quarter(posted)), count(*) FROM reviews GROUP BY 1"),
    (
        R,
        "How has the average rating changed over time?",
        ("SELECT strftime(posted, '%Y-%m'), avg(stars) FROM reviews GROUP BY 1 HAVING count(stars) > 0"),
    ),
    (
        R,
        "A poor review is stars 1 or 2. How many poor reviews did the Toaster get?",
        "SELECT count(*) FROM reviews WHERE product = 'Toaster' AND stars IN (1, 2)",
    ),
    (R, "How many reviews mention battery?", "SELECT count(*) FROM reviews WHERE review_text ILIKE '%battery%'"),
    (R, "What is the most common product?", "SELECT product FROM reviews GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"),
    (
        R,
        "List the reviews of the Fan in Peru",
        "SELECT count(*) FROM reviews WHERE product = 'Fan' AND country = 'Peru'",
    ),
    (R, "How many reviews without a review text?", "SELECT count(*) FROM reviews WHERE review_text IS NULL"),
    (
        S,
        "What share would recommend us?",
        ("SELECT 100 * count(*) FILTER (would_recommend = 'yes') / count(would_recommend) FROM survey"),
    ),
    (S, "What is the average age in each department?", "SELECT department, avg(age) FROM survey GROUP BY 1"),
    (S, "How many people answered?", ""),
    (S, "How many respondents are in R&D?", "SELECT count(*) FROM survey WHERE department = 'R&D'"),
    (
        S,
        "Rows with department test don't count. How many responses are there?",
        "SELECT count(*) FROM survey WHERE department <> 'test'",
    ),
    (
        S,
        "Satisfaction 99 means not asked. What is the average satisfaction per contract?",
        "SELECT contract, avg(satisfaction) FROM survey WHERE satisfaction <> 99 GROUP BY 1",
    ),
    (
        S,
        "How many responses between 2025-12-01 and 2025-12-31?",
        "SELECT count(*) FROM survey WHERE answered_on BETWEEN '2025-12-01' AND '2025-12-31'",
    ),
    (S, "How many responses with age over 50?", "SELECT count(*) FROM survey WHERE age > 50"),
    (S, "What is the average age of those with contract part?", "SELECT avg(age) FROM survey WHERE contract = 'part'"),
    (
        S,
        "How many would recommend us per department?",
        "SELECT department, count(*) FROM survey WHERE would_recommend = 'yes' GROUP BY 1",
    ),
    (
        S,
        "Which department has the highest average age?",
        "SELECT department FROM survey GROUP BY 1 ORDER BY avg(age) DESC LIMIT 1",
    ),
    (
        S,
        "Of the respondents in Legal, what share would recommend us?",
        (
            "SELECT 100 * count(*) FILTER (would_recommend = 'yes') / count(would_recommend) FROM "
            "survey WHERE department = 'Legal'"
        ),
    ),
    (
        S,
        "Show responses per week",
        ("SELECT strftime(date_trunc('week', answered_on), '%Y-%m-%d'), count(*) FROM survey GROUP BY 1"),
    ),
    (S, "What is the minimum age for Finance?", "SELECT min(age) FROM survey WHERE department = 'Finance'"),
    (S, "What percentage of responses have a remark?", "SELECT 100 * count(remark) / count(*) FROM survey"),
    (
        S,
        "What share of responses is from Sales for each contract?",
        ("SELECT contract, 100 * count(*) FILTER (department = 'Sales') / count(department) FROM survey GROUP BY 1"),
    ),
)
MUST_ABSTAIN: tuple[tuple[str, str], ...] = (
    (T, "How many tickets were closed last month?"),
    (T, "How many tickets did not get closed because of the vendor?"),
    (T, "Why are there so many open tickets?"),
    (T, "Which agent is the fastest?"),
    (T, "How many tickets were solved within 30 minutes?"),
    (T, "What are the main problems?"),
    (T, "Wie viele Tickets sind offen?"),
    (T, "Ile zgłoszeń jest otwartych?"),
    (T, ""),
    (T, "asdf qwer zxcv"),
    (T, "Delete all tickets"),
    (T, "How many tickets are open or urgent?"),
    (T, "How many more tickets are open than closed?"),
    (T, "How many tickets per agent are open and what is the average reply time?"),
    (T, "What is the average status?"),
    (T, "How many tickets did Bob Lind have?"),
    (T, "Average reply minutes of agents with more than 100 tickets"),
    (T, "Is the Network team overworked?"),
    (T, "How many tickets neither open nor closed?"),
    (T, "Show the trend"),
    (T, "How many tickets were not reopened twice?"),
    (T, "How many tickets were reopened in April 2026?"),
    (T, "How many tickets mention vpn and are open?"),
    (R, "How many Kettle reviews mention battery or box?"),
    (R, "Which product is the best?"),
    (R, "Do people like the kettle?"),
    (R, "What do people say about the toaster?"),
    (R, "How many reviews are about delivery?"),
    (R, "How many reviews are positive?"),
    (R, "What is the average price?"),
    (R, "How many reviews from Brasilia?"),
    (R, "Which product improved most since 2024?"),
    (R, "What is the correlation between stars and helpful votes?"),
    (R, "How many reviews have 5 stars but no text?"),
    (S, "Are older people happier?"),
    (S, "How many people left the company?"),
    (S, "What is the average?"),
    (S, "How satisfied are we?"),
    (S, "What share would not recommend us?"),
    (S, "Summarise the remarks"),
    (S, "How many answered twice?"),
    (S, "What is the median salary?"),
    (S, "Which department is the unhappiest?"),
)
