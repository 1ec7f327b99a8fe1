"""Join keys are suggested by values, and never where chance would do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from peek_core.corpus.keys import suggest_keys
from peek_core.corpus.load import Source, load_files
from peek_core.values.dataset import JoinKey

Found = Callable[..., tuple[JoinKey, ...]]


@pytest.fixture
def keys() -> Found:
    """Suggestions for tables given as queries."""

    def run(**tables: str) -> tuple[JoinKey, ...]:
        with duckdb.connect() as con:
            for name, query in tables.items():
                con.execute(f"CREATE TABLE {name} AS {query}")
            return suggest_keys(con, list(tables))

    return run


CUSTOMERS = "SELECT range AS id, 'name ' || range AS name FROM range(1, 1001)"


def test_an_id_is_found_by_name_and_values(keys: Found) -> None:
    (key,) = keys(
        orders="SELECT range AS order_no, range % 1000 + 1 AS customer_id FROM range(5000)", customers=CUSTOMERS
    )
    assert key == JoinKey("orders", "customer_id", "customers", "id", 1.0, True)


@pytest.mark.parametrize("name", ["rating", "quantity", "customer_age", "nps"])
def test_small_numbers_among_many_ids_are_chance(keys: Found, name: str) -> None:
    orders = f"SELECT 'o' || range AS ref, range % 5 + 1 AS {name} FROM range(500)"
    assert keys(orders=orders, customers=CUSTOMERS) == ()


def test_two_tables_that_both_count_their_rows_are_not_joined_by_them(keys: Found) -> None:
    assert keys(orders="SELECT range AS id FROM range(1, 901)", customers=CUSTOMERS) == ()


def test_numbers_far_apart_are_no_chance(keys: Found) -> None:
    ids = "SELECT range * 7919 + 13 AS id FROM range(1000)"
    (key,) = keys(calls="SELECT (range * 3 % 1000) * 7919 + 13 AS who FROM range(300)", people=ids)
    assert (key.left_column, key.right_column, key.share) == ("who", "id", 1.0)


def test_codes_in_text_are_found_without_names(keys: Found) -> None:
    codes = "SELECT unnest(['DE', 'FR', 'IT', 'ES']) AS code, 1 AS v"
    (key,) = keys(sales="SELECT unnest(['DE', 'DE', 'FR', 'IT']) AS land", countries=codes)
    assert key == JoinKey("sales", "land", "countries", "code", 1.0, True)


def test_digits_in_text_are_chance_too(keys: Found) -> None:
    orders = "SELECT (range % 5 + 1)::VARCHAR AS stars FROM range(500)"
    assert keys(orders=orders, items="SELECT range::VARCHAR AS id FROM range(1, 101)") == ()


@pytest.mark.parametrize(("missing", "found"), [(10, True), (11, False)])
def test_nine_tenths_of_the_values_have_to_be_there(keys: Found, missing: int, found: bool) -> None:
    orders = f"SELECT 'c' || range AS customer FROM range({100 - missing}) UNION ALL SELECT 'x' || range FROM range({missing})"
    made = keys(orders=orders, customers="SELECT 'c' || range AS code FROM range(100)")
    assert bool(made) == found and (not found or made[0].share == 0.9)


def test_two_values_are_too_few(keys: Found) -> None:
    assert keys(a="SELECT unnest(['x', 'y', 'x']) AS c", b="SELECT unnest(['x', 'y', 'z']) AS d") == ()


def test_the_right_is_unique_or_nearly_and_says_so(keys: Found) -> None:
    orders = "SELECT 'c' || range % 100 AS customer FROM range(1000)"
    once = "SELECT 'c' || range AS code FROM range(100)"
    (key,) = keys(orders=orders, customers=f"{once} UNION ALL SELECT 'c1'")
    assert key.unique_right is False
    assert keys(orders=orders, customers=f"{once} UNION ALL {once}") == ()


def test_types_have_to_agree(keys: Found) -> None:
    assert keys(orders="SELECT range::VARCHAR AS customer_id FROM range(1, 900)", customers=CUSTOMERS) == ()


def test_names_that_agree_come_first_and_each_pair_stands_once(keys: Found) -> None:
    skus = "SELECT 'p' || range AS sku, 'p' || range AS label FROM range(50)"
    made = keys(sales="SELECT 'p' || range % 50 AS sku, 'p' || range % 50 AS thing FROM range(500)", products=skus)
    assert [(k.left_column, k.right_column) for k in made] == [("sku", "sku"), ("thing", "sku")]
    both = keys(a="SELECT 'p' || range AS sku FROM range(50)", b="SELECT 'p' || range AS sku FROM range(50)")
    assert len(both) == 1


def test_long_texts_missing_values_and_empty_tables(keys: Found) -> None:
    assert (
        keys(
            a="SELECT repeat('x', 90) || range AS c FROM range(9)",
            b="SELECT repeat('x', 90) || range AS c FROM range(9)",
        )
        == ()
    )
    assert keys(a="SELECT NULL::VARCHAR AS c FROM range(9)", b="SELECT 'x' AS c WHERE false") == ()
    assert keys(a="SELECT 'x' || range AS c FROM range(9)") == ()


def test_a_load_suggests_keys_between_all_tables_of_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text("".join(f'{{"code": "c{n}", "name": "n"}}\n' for n in range(50)))
    (tmp_path / "calls.json").write_text("".join(f'{{"who": "c{n % 50}"}}\n' for n in range(200)))
    first = load_files([Source(tmp_path / "people.json", "people.json")], tmp_path / "v1.duckdb")
    assert first.keys == ()
    second = load_files(
        [Source(tmp_path / "calls.json", "calls.json")], tmp_path / "v2.duckdb", base=tmp_path / "v1.duckdb"
    )
    assert second.keys == (JoinKey("calls", "who", "people", "code", 1.0, True),)
