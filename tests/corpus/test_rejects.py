"""Rows that could not be read lie beside their table."""

from __future__ import annotations

import duckdb

from peek_core.corpus.rejects import write_rejects


def test_rejects_lie_in_a_table_of_the_same_name() -> None:
    rows = [(n, f"why {n}", "x" * n) for n in range(2_500)]
    with duckdb.connect() as con:
        assert write_rejects(con, "my table", iter(rows)) == 2_500
        assert con.execute('SELECT * FROM rejects."my table"').fetchall() == [(n, w, t[:2_000]) for n, w, t in rows]
        assert write_rejects(con, "other", rows[:1]) == 1
        kinds = con.execute("SELECT typeof(line), typeof(reason), typeof(text) FROM rejects.other").fetchone()
        assert kinds == ("BIGINT", "VARCHAR", "VARCHAR")


def test_without_a_reject_nothing_is_made() -> None:
    with duckdb.connect() as con:
        assert write_rejects(con, "t", []) == 0
        assert con.execute("SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'rejects'").fetchone() == (0,)
