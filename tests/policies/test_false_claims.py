"""Forty candidates about the sample corpus, twenty of them false: none of the false ones with evidence gets in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from peek_core.providers.scripted import Scripted
from peek_core.workspace import Workspace

T = "product_feedback"
LOOK = f'```python\nr = sql("SELECT count(*) AS n FROM {T}")\n```'
ANSWER = "```python\nFINAL(f\"{r[0]['n']} rows.\", value=r[0]['n'])\n```"

TRUE: list[tuple[str, str]] = [
    ("{0:,} rows, one per feedback_id", f"SELECT count(*), count(DISTINCT feedback_id) FROM {T}"),
    ("created_at runs from {0} to {1}", f"SELECT min(created_at)::DATE::VARCHAR, max(created_at)::DATE::VARCHAR FROM {T}"),
    ("status is one of 'closed', 'new', 'reviewed', 'test'", f"SELECT DISTINCT status FROM {T} ORDER BY 1"),
    ("{0:,} rows have the status 'test'", f"SELECT count(*) FROM {T} WHERE status = 'test'"),
    ("rating runs from {0} to {1}", f"SELECT min(rating), max(rating) FROM {T}"),
    ("rating is missing exactly where channel is 'email'", f"SELECT count(*) FROM {T} WHERE (rating IS NULL) <> (channel = 'email')"),
    ("nps runs from {0} to {1}", f"SELECT min(nps), max(nps) FROM {T}"),
    ("{0:,} rows have nps 99, outside the scale", f"SELECT count(*) FROM {T} WHERE nps = 99"),
    ("region has {0} spellings", f"SELECT count(DISTINCT region) FROM {T}"),
    ("region is spelled 'D-A-CH' in {0:,} rows and 'DACH' in {1:,}",
     f"SELECT count(*) FILTER (region = 'D-A-CH'), count(*) FILTER (region = 'DACH') FROM {T}"),
    ("plan is coded 'P1', 'P2', 'P3'", f"SELECT DISTINCT plan FROM {T} ORDER BY 1"),
    ("channel says 'NA' in {0:,} rows", f"SELECT count(*) FROM {T} WHERE channel = 'NA'"),
    ("monthly_spend is at most {0:,}", f"SELECT max(monthly_spend) FROM {T}"),
    ("monthly_spend is a whole number throughout", f"SELECT count(*) FROM {T} WHERE monthly_spend % 1 <> 0"),
    ("{0:,} customers gave feedback", f"SELECT count(DISTINCT customer_id) FROM {T}"),
    ("customer_id begins with 'C-' everywhere", f"SELECT count(*) FROM {T} WHERE customer_id NOT LIKE 'C-%'"),
    ("{0:.1f} % of comments are empty", f"SELECT avg((comment IS NULL)::INT) FROM {T}"),
    ("the busiest channel is 'app'", f"SELECT channel FROM {T} GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"),
    ("plan P3 has {0:,} rows", f"SELECT count(*) FROM {T} WHERE plan = 'P3'"),
    ("no comment is longer than {0} characters", f"SELECT max(length(comment)) FROM {T}"),
]  # fmt: skip

FALSE: list[tuple[str, str, Any]] = [
    # What the query is said to give is not what it gives.
    ("50,001 rows in all", f"SELECT count(*) FROM {T}", [[50001]]),
    ("created_at ends on 2026-12-31", f"SELECT max(created_at)::DATE::VARCHAR FROM {T}", [["2026-12-31"]]),
    ("rating runs from 0 to 10", f"SELECT min(rating), max(rating) FROM {T}", [[0, 10]]),
    ("plan is coded 'P1' or 'P2'", f"SELECT DISTINCT plan FROM {T} ORDER BY 1", [["P1"], ["P2"]]),
    ("channel is never missing", f"SELECT count(*) FROM {T} WHERE channel = 'NA'", [[0]]),
    ("feedback_id repeats", f"SELECT count(*) - count(DISTINCT feedback_id) FROM {T}", [[12]]),
    ("the busiest channel is 'email'", f"SELECT channel FROM {T} GROUP BY 1 ORDER BY count(*) DESC LIMIT 1", [["email"]]),
    ("nobody writes a comment", f"SELECT count(comment) FROM {T}", [[0]]),
    ("no row came in 2026", f"SELECT count(*) FROM {T} WHERE year(created_at) = 2026", []),
    # The query fails.
    ("sentiment is always filled", f"SELECT count(*) FROM {T} WHERE sentiment IS NULL", [[0]]),
    ("the table tickets is empty", "SELECT count(*) FROM tickets", [[0]]),
    ("rows can be removed", f"DELETE FROM {T}", []),
    ("half a query", f"SELECT count(* FROM {T}", [[1]]),
    # The query is right, but the text says something else.
    ("49,000 rows in all", f"SELECT count(*) FROM {T}", None),
    ("nps 98 stands outside the scale in {0:,} rows", f"SELECT count(*) FROM {T} WHERE nps = 99", None),
    ("status is one of 'closed', 'open', 'test'", f"SELECT DISTINCT status FROM {T} ORDER BY 1", None),
    ("{0:,} rows came by 'fax'", f"SELECT count(*) FROM {T} WHERE channel = 'phone'", None),
    # Nothing of the data was looked at, or the room for error is as wide as the claim.
    ("there are 12 regions", "SELECT 12", [[12]]),
    ("there are 14 regions", "WITH x AS (SELECT 14 AS n) SELECT n FROM x", [[14]]),
    ("70,000 rows, give or take", f"SELECT count(*) FROM {T}", "wide"),
]  # fmt: skip


def item(text: str, sql: str, expect: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "item", "section": "cu", "text": text, "evidence": {"sql": sql, "expect": expect, **more}}


def written(text: str, rows: list[list[Any]]) -> str:
    """The claim with what its query gives."""
    cells = [cell * 100 if "%" in text and isinstance(cell, float) else cell for row in rows for cell in row]
    return text.format(*cells) if "{" in text else text


def test_of_twenty_false_claims_none_gets_in_and_the_true_ones_do(open_workspace: Callable[..., Workspace]) -> None:
    assert (len(TRUE), len(FALSE)) == (20, 20)
    w = open_workspace()
    dataset = w.load_sample(T).id

    def rows(sql: str) -> list[list[Any]]:
        return [list(row) for row in w.sql(dataset, sql).table.rows]

    right = [item(written(text, rows(sql)), sql, rows(sql)) for text, sql in TRUE]
    wrong = []
    for text, sql, expect in FALSE:
        if expect == "wide":
            wrong.append(item(text, sql, [[70_000]], tolerance=0.5))
        else:
            given = rows(sql) if expect is None else expect
            wrong.append(item(written(text, given), sql, given))
    candidates = [one for pair in zip(right, wrong, strict=True) for one in pair]
    told = json.dumps({"diagnosis": "d", "tags": [], "candidates": candidates})
    charted = json.dumps({"edits": [{"op": "ADD", "candidate": n} for n in range(40)], "definitions": []})
    w = open_workspace(Scripted([LOOK, ANSWER, told, charted]))
    w.set_map(dataset, budget=4_000)
    w.wait(w.ask(dataset, "How many?"), 120)
    texts = {i.text for i in w.map(dataset).items}
    assert texts.isdisjoint(one["text"] for one in wrong)
    assert [one["text"] for one in right if one["text"] not in texts] == []
    assert {i.state for i in w.map(dataset).items} == {"holds"}
    why = [json.loads(e.body)["why"] for e in w.store.map_events(dataset, "peek") if e.name == "refuse"]
    assert len(why) == 20
