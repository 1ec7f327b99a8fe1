"""Inspected regions are read off the queries that ran."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.context_map.regions import Region, Regions, by_table, in_words, inspected, joined

COLUMNS = {
    "tickets": {"id": "BIGINT", "channel": "VARCHAR", "created": "DATE", "customer": "BIGINT"},
    "customers": {"id": "BIGINT", "region": "VARCHAR"},
}


@pytest.mark.parametrize(
    ("sql", "seen"),
    [
        ("SELECT count(*) FROM tickets", []),
        ("SELECT * FROM tickets", []),
        ("SELECT channel, count(*) FROM tickets GROUP BY 1", [Region("tickets", "channel")]),
        ("SELECT count(*) FROM tickets WHERE channel = 'web'", [Region("tickets", "channel", ("web",))]),
        ("SELECT count(*) FROM tickets WHERE lower(channel) IN ('web', 'mail')", [Region("tickets", "channel", ("mail", "web"))]),
        ("SELECT count(*) FROM tickets WHERE created BETWEEN DATE '2026-01-01' AND '2026-03-31'",
         [Region("tickets", "created", (), "2026-01-01", "2026-03-31")]),
        ("SELECT count(*) FROM tickets WHERE created >= DATE '2026-02-01'", [Region("tickets", "created", (), "2026-02-01", "2026-02-01")]),
        ("SELECT c.region FROM tickets t JOIN customers c ON t.customer = c.id",
         [Region("customers", "id"), Region("customers", "region"), Region("tickets", "customer")]),
        ("WITH late AS (SELECT id FROM tickets WHERE channel = 'web') SELECT count(*) FROM late",
         [Region("tickets", "channel", ("web",)), Region("tickets", "id")]),
        ("SELECT count(*) FROM raw.main.tickets WHERE channel = 'web'", [Region("tickets", "channel", ("web",))]),
        ("DESCRIBE tickets", []),
        ("SELECT FROM WHERE ((", []),
        ("SELECT x FROM elsewhere WHERE channel = 'web'", []),
    ],
)  # fmt: skip
def test_what_a_query_looked_at(sql: str, seen: list[Region]) -> None:
    assert list(inspected([sql], COLUMNS).seen) == seen


def test_what_several_saw_adds_up() -> None:
    queries = [
        "SELECT count(*) FROM tickets WHERE channel = 'web'",
        "SELECT max(created) FROM tickets WHERE channel = 'mail'",
    ]
    apart = [inspected([q], COLUMNS) for q in queries]
    assert joined(apart) == inspected(queries, COLUMNS)


def test_one_line_tells_what_was_never_looked_at() -> None:
    seen = inspected(["SELECT count(*) FROM tickets WHERE channel = 'web' AND created < '2026-02-01'"], COLUMNS)
    assert in_words(seen, COLUMNS) == (
        "Looked at so far, in 1 query: tickets: channel (web), created (2026-02-01 to 2026-02-01); never id, customer. "
        "customers: nothing yet."
    )
    assert "web" not in in_words(seen, COLUMNS, values=False)
    assert in_words(Regions(), COLUMNS) == "Looked at so far: nothing."


def test_each_table_is_told_with_what_nobody_looked_at_in_the_order_of_its_columns() -> None:
    seen = inspected(["SELECT created FROM tickets WHERE channel = 'web'"], COLUMNS)
    tickets, customers = by_table(seen, COLUMNS)
    assert [(r.column, r.values) for r in tickets.seen] == [("channel", ("web",)), ("created", ())]
    assert (tickets.never, tickets.columns) == (("id", "customer"), 4)
    assert (customers.seen, customers.never) == ((), ("id", "region"))


@given(st.lists(st.text(max_size=60), max_size=5))
def test_no_text_breaks_it(statements: list[str]) -> None:
    inspected(statements, COLUMNS)
