"""Questions and facts of the worth bench. The questions state no rule: who doesn't know the rules answers them wrong.

Gold is a query over the curated view that the definitions make; stale facts are true ones with a value changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """`kind` is number, share (a fraction), text or table, as in lab/grading.py."""

    question: str
    kind: str
    sql: str
    tolerance: float = 0.005


@dataclass(frozen=True)
class Fact:
    """One fact: as prose (section, text), and as a definition where it compiles; `stale` is the prose gone wrong."""

    section: str
    text: str
    definition: dict[str, Any] | None = None
    stale: str = ""


@dataclass(frozen=True)
class Corpus:
    sample: str
    facts: tuple[Fact, ...]
    questions: tuple[Asked, ...]


def _rule(kind: str, table: str, column: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "table": table, "column": column, **more}


_F, _T, _C = "product_feedback", "tickets", "customers"

FEEDBACK = Corpus(
    "product_feedback",
    (
        Fact("cu", "Rows with status 'test' don't count.", _rule("row_exclusion", _F, "status", values=["test"], name="Test rows don't count")),
        Fact("dc", "monthly_spend is in cents.", _rule("unit", _F, "monthly_spend", factor=0.01, unit="EUR", name="Spend in euros"),
             stale="monthly_spend is in euros."),
        Fact("dc", "nps 99 means not asked.", _rule("sentinel", _F, "nps", values=[99], name="99 is not asked")),
        Fact("ps", "region 'D-A-CH' is the same region as 'DACH'.", _rule("spelling_fold", _F, "region", mapping={"D-A-CH": "DACH"}, name="DACH")),
        Fact("dc", "plan P1 is Free, P2 is Team, P3 is Enterprise.",
             _rule("code_label", _F, "plan", mapping={"P1": "Free", "P2": "Team", "P3": "Enterprise"}, name="Plans"),
             stale="plan P1 is Team, P2 is Free, P3 is Enterprise."),
        Fact("ps", "channel 'NA' means missing.", _rule("sentinel", _F, "channel", values=["NA"], name="NA is missing")),
        Fact("dc", "A low rating is 1 or 2.", stale="A low rating is 1, 2 or 3."),
        Fact("dc", "A promoter is nps 9 or 10, a detractor is nps 0 to 6; the NPS score is the share of promoters minus the share of "
                   "detractors, in points.", stale="A promoter is nps 8 to 10, a detractor is nps 0 to 5; the NPS score is the share "
                   "of promoters minus the share of detractors, in points."),
    ),
    (
        Asked("How many pieces of feedback are there?", "number", f"SELECT count(*) FROM {_F}"),
        Asked("How many pieces of feedback came from Enterprise customers?", "number", f"SELECT count(*) FROM {_F} WHERE plan = 'Enterprise'"),
        Asked("What is the average monthly spend in EUR?", "number", f"SELECT avg(monthly_spend) FROM {_F}", 0.01),
        Asked("What is the average NPS?", "number", f"SELECT avg(nps) FROM {_F}"),
        Asked("How many pieces of feedback came from DACH?", "number", f"SELECT count(*) FROM {_F} WHERE region = 'DACH'"),
        Asked("What share of ratings are low?", "share", f"SELECT avg((rating <= 2)::INT) FROM {_F}"),
        Asked("What is our NPS score?", "number", f"SELECT 100 * (avg((nps >= 9)::INT) - avg((nps <= 6)::INT)) FROM {_F}", 0.1),
        Asked("How many pieces of feedback per plan?", "table", f"SELECT plan, count(*) FROM {_F} GROUP BY 1"),
        Asked("Which region gives the most feedback?", "text", f"SELECT region FROM {_F} GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"),
        Asked("What is the average rating of Team customers?", "number", f"SELECT avg(rating) FROM {_F} WHERE plan = 'Team'"),
        Asked("What is the average NPS in DACH?", "number", f"SELECT avg(nps) FROM {_F} WHERE region = 'DACH'"),
        Asked("How many different regions are there?", "number", f"SELECT count(DISTINCT region) FROM {_F}"),
        Asked("What is the highest monthly spend in EUR?", "number", f"SELECT max(monthly_spend) FROM {_F}", 0.01),
        Asked("How many pieces of feedback have no channel?", "number", f"SELECT count(*) FROM {_F} WHERE channel IS NULL"),
        Asked("How many pieces of feedback came in October 2026?", "number",
              f"SELECT count(*) FROM {_F} WHERE created_at >= '2026-10-01' AND created_at < '2026-11-01'"),
        Asked("How many promoters are there?", "number", f"SELECT count(*) FROM {_F} WHERE nps >= 9"),
        Asked("What share of Free customers' ratings are low?", "share", f"SELECT avg((rating <= 2)::INT) FROM {_F} WHERE plan = 'Free'"),
        Asked("How many customers gave feedback?", "number", f"SELECT count(DISTINCT customer_id) FROM {_F}"),
        Asked("What is the total monthly spend in EUR of Enterprise feedback?", "number",
              f"SELECT sum(monthly_spend) FROM {_F} WHERE plan = 'Enterprise'", 0.5),
        Asked("How many pieces of feedback came by phone?", "number", f"SELECT count(*) FROM {_F} WHERE channel = 'phone'"),
        Asked("What is the average rating per region?", "table", f"SELECT region, avg(rating) FROM {_F} GROUP BY 1", 0.01),
        Asked("How many answers to the NPS question do we have?", "number", f"SELECT count(nps) FROM {_F}"),
    ),
)  # fmt: skip

TICKETS = Corpus(
    "support_tickets",
    (
        Fact("cu", "Tickets in queue 'TEST' don't count.", _rule("row_exclusion", _T, "queue", values=["TEST"], name="Test tickets don't count")),
        Fact("dc", "satisfaction 9 means not asked.", _rule("sentinel", _T, "satisfaction", values=[9], name="9 is not asked")),
        Fact("ps", "status 'erledigt' is the same as 'geschlossen'.",
             _rule("spelling_fold", _T, "status", mapping={"erledigt": "geschlossen"}, name="Closed")),
        Fact("dc", "priority P1 is Critical, P2 is High, P3 is Normal, P4 is Low.",
             _rule("code_label", _T, "priority", mapping={"P1": "Critical", "P2": "High", "P3": "Normal", "P4": "Low"}, name="Priorities"),
             stale="priority P4 is Critical, P3 is High, P2 is Normal, P1 is Low."),
        Fact("dc", "segment KMU is Small business, ENT is Enterprise, ÖFF is Public sector.",
             _rule("code_label", _C, "segment", mapping={"KMU": "Small business", "ENT": "Enterprise", "ÖFF": "Public sector"}, name="Segments"),
             stale="segment ENT is Small business, KMU is Enterprise, ÖFF is Public sector."),
        Fact("ps", "customer_no '0000000' means that the customer is unknown.",
             _rule("sentinel", _T, "customer_no", values=["0000000"], name="Unknown customer")),
        Fact("dc", "A late reply is first_reply_minutes above 480.", stale="A late reply is first_reply_minutes above 240."),
        Fact("dc", "A good satisfaction is 4 or 5.", stale="A good satisfaction is 3, 4 or 5."),
    ),
    (
        Asked("How many tickets are there?", "number", f"SELECT count(*) FROM {_T}"),
        Asked("What is the average satisfaction?", "number", f"SELECT avg(satisfaction) FROM {_T}"),
        Asked("How many tickets are geschlossen?", "number", f"SELECT count(*) FROM {_T} WHERE status = 'geschlossen'"),
        Asked("How many critical tickets are there?", "number", f"SELECT count(*) FROM {_T} WHERE priority = 'Critical'"),
        Asked("How many tickets per priority?", "table", f"SELECT priority, count(*) FROM {_T} GROUP BY 1"),
        Asked("How many replies were late?", "number", f"SELECT count(*) FROM {_T} WHERE first_reply_minutes > 480"),
        Asked("What share of replies were late?", "share", f"SELECT avg((first_reply_minutes > 480)::INT) FROM {_T}"),
        Asked("What share of the satisfaction answers are good?", "share", f"SELECT avg((satisfaction >= 4)::INT) FROM {_T}"),
        Asked("How many tickets have a satisfaction answer?", "number", f"SELECT count(satisfaction) FROM {_T}"),
        Asked("How many tickets come from unknown customers?", "number", f"SELECT count(*) FROM {_T} WHERE customer_no IS NULL"),
        Asked("How many customers are public sector?", "number", f"SELECT count(*) FROM {_C} WHERE segment = 'Public sector'"),
        Asked("How many customers per segment?", "table", f"SELECT segment, count(*) FROM {_C} GROUP BY 1"),
        Asked("How many different customers opened tickets?", "number", f"SELECT count(DISTINCT customer_no) FROM {_T}"),
        Asked("What is the average satisfaction of high priority tickets?", "number",
              f"SELECT avg(satisfaction) FROM {_T} WHERE priority = 'High'"),
        Asked("How many tickets per queue?", "table", f"SELECT queue, count(*) FROM {_T} GROUP BY 1"),
        Asked("How many different statuses are there?", "number", f"SELECT count(DISTINCT status) FROM {_T}"),
        Asked("What is the total effort in EUR?", "number", f"SELECT sum(effort_eur) FROM {_T}", 0.5),
        Asked("How many tickets were opened by enterprise customers?", "number",
              f"SELECT count(*) FROM {_T} t JOIN {_C} c USING (customer_no) WHERE c.segment = 'Enterprise'"),
        Asked("What is the average satisfaction of small business customers?", "number",
              f"SELECT avg(t.satisfaction) FROM {_T} t JOIN {_C} c USING (customer_no) WHERE c.segment = 'Small business'"),
        Asked("Which customer_no opened the most tickets?", "text",
              f"SELECT customer_no FROM {_T} WHERE customer_no IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"),
        Asked("How many tickets were opened in October 2026?", "number",
              f"SELECT count(*) FROM {_T} WHERE created >= '2026-10-01' AND created < '2026-11-01'"),
        Asked("How many low priority tickets are still open (status offen)?", "number",
              f"SELECT count(*) FROM {_T} WHERE priority = 'Low' AND status = 'offen'"),
    ),
)  # fmt: skip

CORPORA = (FEEDBACK, TICKETS)
