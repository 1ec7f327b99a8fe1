"""Real cases: the figures, the denominators and the words that an answer must carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.providers.builtin.harness import Play, load


def play(table: str, header: Sequence[str], rows: Sequence[Sequence[Any]], today: str = "2026-05-05") -> Play:
    return Play(load(table, header, rows), table, today, accept=False)


def test_a_follow_up_keeps_what_it_does_not_change() -> None:
    scores = [("email", s) for s in (1, 2, 2, 3, 4, 5)] + [("chat", s) for s in (4, 4, 5, 1)]
    p = play("comments", ("id", "channel", "score"), [(i, *r) for i, r in enumerate(scores)])
    asked = ("How many email comments?", "Of those, how many scored 4 or more?", "And for chat?")
    assert [p.ask(q)["value"] for q in asked] == [6, 2, 3]


def test_a_name_in_a_question_is_a_value_of_the_data() -> None:
    agents = ["Christophe"] * 4 + ["Amy"] * 6 + ["Raj"] * 5
    p = play(
        "complaints", ("id", "agent", "comment"), [(i, a, f"text {i} about a long delay") for i, a in enumerate(agents)]
    )
    assert p.ask("How many complaints are about Christophe?")["value"] == 4
    assert p.ask("What do you know about me?")["answer"] is None
    assert p.ask("How many comments are there per agent?")["table"]["rows"] == [
        ["Amy", 6],
        ["Raj", 5],
        ["Christophe", 4],
    ]
    assert not any("user" in i["text"] for i in p.items)


def test_both_spellings_are_counted_and_named() -> None:
    cities = (
        [(f"A{n:02d}", 100) for n in range(1, 21)]
        + [(f"b{n:02d}", 100) for n in range(1, 16)]
        + [("Paris", 111)] * 3
        + [("paris", 50)] * 2
    )
    final = play("orders", ("city", "amount"), cities).ask("Revenue in Paris?")
    assert final["value"] == 433
    assert all(part in final["answer"] for part in ("'Paris'", "'paris'", "333 'Paris' alone", "100 'paris' alone"))


def test_the_item_on_a_column_of_many_values_says_how_many() -> None:
    cities = (
        [(f"A{n:02d}", 100) for n in range(1, 21)]
        + [(f"b{n:02d}", 100) for n in range(1, 16)]
        + [("Paris", 111)] * 3
        + [("paris", 50)] * 2
    )
    p = play("orders", ("city", "amount"), cities)
    p.ask("Revenue in Paris?")
    assert any(i["text"].startswith("column city: 37 values: ") for i in p.items)
    assert [d["mapping"] for d in p.definitions if d["kind"] == "spelling_fold"] == [{"paris": "Paris"}]


def test_a_share_states_its_denominator() -> None:
    p = play("answers", ("id", "would_recommend"), [(i, v) for i, v in enumerate(["yes"] * 4 + ["no"] * 3 + [""] * 3)])
    final = p.ask("What share would recommend us?")
    assert round(final["value"], 1) == 57.1
    assert "57.1 % of the 7 who answered (4 of 7); 40.0 % of all 10" in final["answer"]


def test_a_list_says_its_true_length() -> None:
    p = play("tickets", ("id", "status"), [(i, "open" if i < 1742 else "closed") for i in range(5000)])
    final = p.ask("List the open tickets; how many are there?")
    assert final["value"] == 1742 and final["answer"].startswith("1,742 rows")
    assert final["table"]["row_count"] == 1742 and "LIMIT" not in final["table"]["sql"]


def test_last_month_is_the_calendar_s() -> None:
    days = [(i, f"2023-{1 + i % 10:02d}-15") for i in range(500)] + [
        (500 + i, f"2023-11-{1 + i % 30:02d}") for i in range(120)
    ]
    p = play("complaints", ("id", "day"), days, today="2024-02-10")
    final = p.ask("How many complaints last month?")
    assert final["value"] == 0 and "2023-11-30" in final["answer"]
    assert final["suggestions"] == ["How many complaints in November 2023?"]
    assert p.ask(final["suggestions"][0])["value"] == 120


def test_a_misspelt_name_is_offered_not_answered() -> None:
    p = play("reports", ("id", "reporter"), [(i, n) for i, n in enumerate(["Kevin"] * 3 + ["Karin"] * 2)])
    final = p.ask("Show what Kevib reported.")
    assert final["answer"] is None
    assert "Show what Kevin reported." in final["suggestions"]
    assert p.ask("Show what Kevin reported.")["table"]["row_count"] == 3


def test_negative_amounts_can_be_left_out() -> None:
    p = play("orders", ("id", "amount"), [(1, 10), (2, 30), (3, -20)])
    final = p.ask("Refunds are negative, leave them out. What is the total amount?")
    assert final["value"] == 40 and "20 with the rows where amount < 0" in final["answer"]


def test_values_never_break_the_cell_or_the_query() -> None:
    odd = ["a'b", 'say "hi"', "```python", "x\\n", "FINAL('x')", "né`e"]
    p = play("notes", ("id", "kind"), [(i, v) for i, v in enumerate(odd * 2)])
    assert p.ask("How many notes per kind?")["table"]["row_count"] == 6
    assert p.ask('How many notes with kind "a\'b"?')["value"] == 2
    assert p.ask("Which kinds are there?")["answer"]
