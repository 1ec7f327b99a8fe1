"""Headers become identifiers that need no quotes."""

from __future__ import annotations

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from peek_core.corpus import names
from peek_core.corpus.load import table_name


def test_known_headers() -> None:
    headers = [
        "order",
        "group",
        "3rd_party",
        "location.depth",
        "Rating",
        "rating",
        "Customer ID ",
        "",
        "Größe (cm)",
        "城市",
    ]
    assert names.unique(headers) == (
        "order_", "group_", "c_3rd_party", "location_depth", "rating", "rating_2", "customer_id", "column_8",
        "größe_cm", "城市",
    )  # fmt: skip


def test_labels_keep_the_words_and_lose_the_white_space() -> None:
    assert names.label("  Customer\r\n ID ") == "Customer ID"


def test_a_made_name_does_not_take_a_later_one() -> None:
    assert names.unique(["a", "a", "a_2", "A"]) == ("a", "a_2", "a_2_2", "a_3")


def test_table_names() -> None:
    assert table_name("Product feedback 2026.csv") == "product_feedback_2026"
    assert table_name("v1.2 export") == "v1_2_export"
    assert table_name("!!.xlsx") == "table_1"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=80), min_size=1, max_size=30))
def test_any_headers_work_unquoted(headers: list[str]) -> None:
    made = names.unique(headers)
    assert len({name.lower() for name in made}) == len(headers)
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t ({', '.join(f'{name} INTEGER' for name in made)})")
    con.execute(f"SELECT {', '.join(made)} FROM t WHERE {made[0]} > 1 GROUP BY ALL ORDER BY {made[-1]}")
    con.close()
