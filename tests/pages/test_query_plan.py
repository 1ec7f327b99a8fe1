"""The plan of a query on the page: words, table, chart; nothing where there is nothing, hostile text as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts import charts
from peek_core.values.query_plan import NO_PROFILE, NOTHING_UNUSUAL
from peek_core.values.trajectory import SqlRecord, Table
from tests.pages.test_pages import data_dir, open_app, prepared, said

__all__ = ["data_dir"]
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
NASTY = "<img src=x onerror=alert(1)>&lt;b&gt;</div> %{label} `*_$x$"


def draw() -> None:
    import streamlit as st

    from pages.parts import query_plan

    query_plan.show(st.session_state["record"])


def drawn(profile: Any, table: Table | None = None) -> AppTest:
    at = AppTest.from_function(draw, default_timeout=30)
    at.session_state["record"] = SqlRecord("q1", "SELECT 1", 0.0123, table, profile=profile)
    at.run()
    assert not at.exception
    return at


def figure(at: AppTest) -> dict[str, Any]:
    (chart,) = at.get("plotly_chart")
    return json.loads(chart.proto.spec)["data"][0]  # type: ignore[no-any-return]


def test_words_table_and_chart_of_one_run() -> None:
    at = drawn(json.loads((GOLDEN / "query_plan.json").read_text("utf-8")), Table(("n",), ((1,),), 1))
    text = said(at)
    assert "1 row, 12.3 ms" in text and "1,000,000 rows read" in text
    assert (
        text.index("full scan") < text.index("estimate ×20 too high")
        and "contains(comment, &#x27;complaint&#x27;)" in text
    )
    frame = at.dataframe[0].value
    assert list(frame["Operator"].str.strip()) == [
        "UNGROUPED_AGGREGATE", "PROJECTION", "HASH_JOIN", "SEQ_SCAN", "FILTER", "SEQ_SCAN",
    ]  # fmt: skip
    assert list(frame["Estimate was"])[-2:] == ["×50 too high", "×20 too high"]
    assert frame["Share of time"].sum() == pytest.approx(100)
    cells = figure(at)
    assert cells["parents"] == ["", "0", "1", "2", "2", "4"] and cells["branchvalues"] == "total"
    assert cells["values"][0] == round(1000 * frame["Self ms"].sum())
    assert "5,000 rows, 100,000 expected, estimate ×20 too high" in cells["hovertext"][5]


def test_nothing_unusual_and_unknown_is_a_dash() -> None:
    tree = {"name": "UNION", "type": "UNION", "self_ms": None, "rows": 0, "children": [{"name": "X", "self_ms": 1.0}]}
    at = drawn({"tree": tree})
    assert NOTHING_UNUSUAL in said(at) and "– rows, 12.3 ms" in said(at) and "peak memory –" in said(at)
    frame = at.dataframe[0].value
    assert frame["Rows"].isna().all() and frame["Estimate"].isna().all() and list(frame["Estimate was"]) == ["–", "–"]


def test_without_times_there_is_no_chart_and_without_a_profile_one_sentence() -> None:
    timeless = drawn({"tree": {"name": "X", "rows": 1}})
    assert not timeless.get("plotly_chart") and "holds no times" in said(timeless)
    nothing = drawn(None)
    assert NO_PROFILE in said(nothing) and not nothing.dataframe


def test_many_operators_scroll_and_many_findings_are_counted() -> None:
    scan = {"name": "SEQ_SCAN", "type": "TABLE_SCAN", "self_ms": 1.0, "rows": 50_000, "estimate": 9, "children": []}
    at = drawn({"tree": {"name": "UNION", "type": "UNION", "self_ms": 0.0, "children": [scan] * 150}, "left_out": 60})
    assert "and 144 more" in said(at) and "60 more operators were not kept" in said(at)


def test_hostile_names_and_details_are_drawn_as_text() -> None:
    detail = {"Table": NASTY, "Filters": [NASTY], "Projections": [NASTY, "\u202e\x1b[31m"]}
    scan = {"name": NASTY, "type": "TABLE_SCAN", "self_ms": 9.0, "rows": 5, "rows_scanned": 500_000, "detail": detail}
    at = drawn({"tree": {"name": "PROJECTION", "type": "PROJECTION", "self_ms": 1.0, "rows": 5, "children": [scan]}})
    assert "<img" not in said(at) and "&lt;img src=x onerror=alert(1)&gt;" in said(at)
    cells = figure(at)
    for text in (*cells["labels"], *(line for hint in cells["hovertext"] for line in hint.split("<br>"))):
        assert "<" not in text and ">" not in text and "\x1b" not in text and "\u202e" not in text


def test_the_icicle_is_as_deep_as_the_plan_and_no_child_outgrows_its_parent() -> None:
    cells = [(None, "A", 10, 1, ""), (0, "B", 9, 0, ""), (1, "C", 9, 9, "")]
    fig = charts.icicle(cells)
    assert fig.layout.height == 90
    for i, (_, _, total, own, _) in enumerate(cells):
        assert total == own + sum(t for parent, _, t, _, _ in cells if parent == i)


def test_the_explain_page_shows_the_plan_of_a_real_run(data_dir: Path, tickets: Path) -> None:
    dataset, run = prepared(data_dir, tickets)
    at = open_app("explain", dataset=dataset, run=run, tab="Run")
    assert not at.exception
    assert NOTHING_UNUSUAL in said(at) and "summed over threads" in said(at)
    assert "SEQ_SCAN" in "".join(at.dataframe[0].value["Operator"])
