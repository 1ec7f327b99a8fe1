"""Distinct values are counted exactly or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from peek_core.corpus import distinct
from peek_core.corpus.distinct import distinct_counts


@pytest.mark.parametrize("columns", [1, 3, 7, 59, 61, 300])
@pytest.mark.parametrize("rows", [0, 1, 1_000])
def test_every_width_counts_alike(columns: int, rows: int) -> None:
    names = [f"c {n}" for n in range(columns)]
    wanted = ", ".join(f'nullif(range % {n + 2}, 1) AS "c {n}"' for n in range(columns))
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT {wanted} FROM range({rows})")
        expected = [len({n % (c + 2) for n in range(rows)} - {1}) for c in range(columns)]
        assert distinct_counts(con, "t", names, rows) == expected


def test_a_long_table_counts_only_columns_that_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "EXACT_ROWS", 20_000)
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT range AS id, range % 7 AS few, NULL::BIGINT AS none, range // 9 AS some FROM range(30000)"
        )
        names = ["id", "few", "none", "some"]
        assert distinct_counts(con, "t", names, 30_000) == [None, 7, 0, 3_334]
        monkeypatch.setattr(distinct, "ESTIMATED_ROWS", 25_000)
        monkeypatch.setattr(distinct, "EXACT_DISTINCT", 1_000)
        assert distinct_counts(con, "t", names, 30_000) == [None, 7, 0, None]


def test_a_load_counts_them_without_missing_values(load: Callable[..., Any]) -> None:
    shelf = load("id,word\n1,a\n2,b\n3,\n4,a\n")
    assert [(c.name, c.nulls, c.distinct) for c in shelf.table.columns] == [("id", 0, 4), ("word", 1, 2)]
