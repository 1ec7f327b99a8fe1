"""Values across the pipe, names, counts and profiles."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peek_core.engines import codec
from peek_core.engines.duckdb_engine import DuckDBEngine

VALUES: list[tuple[str, Any]] = [
    ("1", 1),
    ("170141183460469231731687303715884105727", 170141183460469231731687303715884105727),
    ("true", True),
    ("NULL", None),
    ("1.5::DECIMAL(4,2)", 1.5),
    ("2.00::DECIMAL(4,2)", 2),
    ("'nan'::DOUBLE", None),
    ("'-inf'::DOUBLE", None),
    ("0.25::FLOAT", 0.25),
    ("'é\"\\'", 'é"\\'),
    ("DATE '2024-02-29'", date(2024, 2, 29)),
    ("TIMESTAMP '2024-02-29 10:11:12.5'", datetime(2024, 2, 29, 10, 11, 12, 500000)),
    ("'infinity'::DATE", date(9999, 12, 31)),
    ("DATE '290000-01-01'", "290000-01-01"),
    ("TIME '10:00:00'", "10:00:00"),
    ("'00000000-0000-0000-0000-000000000001'::UUID", "00000000-0000-0000-0000-000000000001"),
    ("'\\xAA\\x01'::BLOB", "aa01"),
    ("[1, 2]", [1, 2]),
    ("[]", []),
    ("['d', '2024-01-01']", ["d", "2024-01-01"]),
    ("{'a': 1, 'b': [DATE '2024-01-01', NULL]}", {"a": 1, "b": [date(2024, 1, 1), None]}),
    ("MAP {1: 'x'}", {"1": "x"}),
    ("[1.5::DECIMAL(4,2), 2.00]", [1.5, 2]),
    ("'x'::ENUM ('x', 'y')", "x"),
    ("'{\"a\": 1}'::JSON", '{"a": 1}'),
    ("INTERVAL 3 DAYS", "3 days, 0:00:00"),
]


@pytest.mark.parametrize(("sql", "value"), VALUES)
def test_a_value_arrives_as(sql: str, value: Any, engine: DuckDBEngine) -> None:
    (row,) = engine.query(f"SELECT {sql} AS v", limit=1).table.rows
    assert row == (value,)
    assert type(row[0]) is type(value)


def test_timestamps_with_zone_are_utc(engine: DuckDBEngine) -> None:
    (row,) = engine.query("SELECT TIMESTAMPTZ '2024-01-01 00:00:00+02' AS v", limit=1).table.rows
    assert row[0].isoformat() == "2023-12-31T22:00:00+00:00"


def test_names_are_told_apart(engine: DuckDBEngine) -> None:
    table = engine.query("SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a", limit=1).table
    assert len(set(table.columns)) == 4
    assert table.columns[0] == "a" and table.columns[2] == "a_2"
    assert table.types == ("INTEGER",) * 4


@given(st.lists(st.sampled_from(["a", "b", "a_2", "a_3", ""]), max_size=8))
def test_unique_names_are_unique_and_keep_first(names: list[str]) -> None:
    out = codec.unique_names(names)
    assert len(set(out)) == len(names)
    for name in set(names):
        assert out[names.index(name)] == name


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.dates()
    | st.datetimes()
    | st.floats(allow_nan=False, allow_infinity=False)
)


@given(
    st.recursive(_SCALARS, lambda s: st.lists(s, max_size=4) | st.dictionaries(st.text(), s, max_size=4), max_leaves=12)
)
def test_encoding_round_trips(value: Any) -> None:
    assert codec.decode(json.loads(json.dumps(codec.encode(value)))) == value


def test_exports_keep_decimals_exact() -> None:
    assert codec.decode(codec.encode(Decimal("12345678901234567.80"), exact=True)) == Decimal("12345678901234567.80")


def test_counts_past_the_cap_are_true(engine: DuckDBEngine) -> None:
    table = engine.query("SELECT * FROM t", limit=10).table
    assert (len(table.rows), table.row_count, table.truncated) == (10, 4000, True)
    whole = engine.query("SELECT * FROM t", limit=4000).table
    assert (len(whole.rows), whole.row_count, whole.truncated) == (4000, 4000, False)
    none = engine.query("SELECT * FROM t", limit=0).table
    assert (none.rows, none.row_count, none.truncated) == ((), 4000, True)


def test_a_count_by_a_second_statement(engine: DuckDBEngine) -> None:
    table = engine.query("SELECT * FROM range(3000000)", limit=10).table
    assert (len(table.rows), table.row_count) == (10, 3_000_000)


def test_writes_in_scratch(engine: DuckDBEngine) -> None:
    engine.query("CREATE OR REPLACE TABLE scratch.w AS SELECT 1 AS a", limit=1)
    assert engine.query("INSERT INTO scratch.w VALUES (2), (3)", limit=5).table.rows == ((2,),)
    table = engine.query("INSERT INTO scratch.w SELECT range FROM range(10) RETURNING a", limit=2).table
    assert (len(table.rows), table.row_count) == (2, 10)
    assert engine.query("SELECT count(*) FROM w", limit=1).table.rows == ((13,),)
    engine.query("DROP TABLE scratch.w", limit=1)


def test_the_profile_is_of_the_real_run(engine: DuckDBEngine) -> None:
    profile = engine.query("SELECT k, count(*) AS n FROM raw.main.t WHERE id > 5 GROUP BY k", limit=10).profile
    assert profile is not None
    nodes = []
    stack = [profile["tree"]]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack.extend(node["children"])
    (scan,) = [n for n in nodes if n["type"] == "TABLE_SCAN"]
    assert scan["detail"]["Table"] == "raw.main.t"
    assert "id" in str(scan["detail"]["Filters"])
    assert scan["rows"] and scan["rows_scanned"] == 5000
    assert scan["self_ms"] is not None and scan["estimate"] is not None


def test_no_profile_is_none_and_never_an_earlier_one(engine: DuckDBEngine) -> None:
    engine.query("SELECT sum(id) FROM t WHERE k > 2", limit=1)
    assert engine.query("SELECT count(*) FROM raw.main.t", limit=1).profile is None
    assert engine.query("SELECT * FROM range(100000000000)", limit=1).profile is None


def test_pivot_has_rows_and_a_profile(engine: DuckDBEngine) -> None:
    outcome = engine.query("PIVOT t ON k USING count(*) GROUP BY day", limit=5)
    assert outcome.table.row_count == 300
    assert outcome.profile is not None
