"""The free profile: exact, cut short, the same for tables and views."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from peek_core.corpus import profile as profiles
from peek_core.corpus.load import load_file
from peek_core.corpus.profile import profile
from peek_core.values.dataset import ColumnProfile, Profile, TopValue
from sample_corpora.product_feedback import generate


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


def run(con: duckdb.DuckDBPyConnection, table: str = "t") -> Profile:
    return profile(lambda sql: con.execute(sql).fetchall(), [table])


def column(found: Profile, name: str) -> ColumnProfile:
    got = found.tables[0].column(name)
    assert got is not None
    return got


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("corpus")
    load_file(generate.generate(folder), folder / "v.duckdb", label="product_feedback")
    with duckdb.connect(str(folder / "v.duckdb"), read_only=True) as con:
        yield con


def test_the_sample_corpus(corpus: duckdb.DuckDBPyConnection) -> None:
    started = time.perf_counter()
    found = run(corpus, "product_feedback")
    assert time.perf_counter() - started < 5  # about 0.1 s; here only as a guard against something quadratic
    rows = list(generate.build())
    assert found.tables[0].rows == len(rows)
    nps = column(found, "nps")
    assert nps.complete and nps.distinct == 12 and nps.top[0] == TopValue("99", sum(r.nps == 99 for r in rows))
    region = column(found, "region")
    assert region.complete and sum(value.count for value in region.top) == len(rows)
    customers = column(found, "customer_id")
    assert customers.distinct == len({r.customer_id for r in rows}) and len(customers.top) == profiles.TOP
    assert not customers.complete
    comment = column(found, "comment")
    assert comment.free_text and comment.top == () and comment.minimum is None and comment.average_length
    assert comment.distinct == len({r.comment for r in rows} - {""}) and comment.nulls == sum(
        not r.comment for r in rows
    )
    ids = column(found, "feedback_id")
    assert (ids.distinct, ids.minimum, ids.maximum, ids.top) == (50_000, "100001", "150000", ())
    assert column(found, "created_at").minimum == min(r.created_at for r in rows)
    assert [c.name for c in found.tables[0].columns if c.free_text] == ["comment"]


def test_views_and_qualified_names(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE raw_t AS SELECT range AS n, 'P' || range % 3 AS plan FROM range(90)")
    con.execute("CREATE SCHEMA cur; CREATE VIEW cur.t AS SELECT * FROM raw_t WHERE plan <> 'P2'")
    found = run(con, "cur.t")
    assert found.tables[0].name == "t" and found.tables[0].rows == 60
    assert column(found, "plan").top == (TopValue("P0", 30), TopValue("P1", 30))


def test_labels_are_headers(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (order_ INTEGER)")
    found = profile(lambda sql: con.execute(sql).fetchall(), ["t"], {"order_": "order"})
    assert column(found, "order_").label == "order"


def test_empty_tables_and_empty_columns(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    assert column(run(con), "b") == ColumnProfile("b", "b", "VARCHAR", 0, 0, None, None)
    con.execute("INSERT INTO t VALUES (1, NULL), (2, NULL)")
    assert (column(run(con), "b").nulls, column(run(con), "b").complete) == (2, False)


def test_values_are_cut(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT repeat('x', 500) AS v FROM range(5)")
    got = column(run(con), "v")
    assert got.top == (TopValue("x" * 60, 5),) and got.complete and got.maximum == "x" * 60
    assert got.average_length == 500


@pytest.mark.parametrize(("distinct", "complete"), [(12, True), (13, False)])
def test_twelve_values_are_a_complete_list(con: duckdb.DuckDBPyConnection, distinct: int, complete: bool) -> None:
    con.execute(f"CREATE TABLE t AS SELECT 'v' || range % {distinct} AS v FROM range(1000)")
    got = column(run(con), "v")
    assert got.complete is complete and got.distinct == distinct and len(got.top) == (12 if complete else profiles.TOP)


def test_ties_have_a_fixed_order(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('b'), ('a'), ('c'), ('a'), ('c')) v(v)")
    assert [value.value for value in column(run(con), "v").top] == ["a", "c", "b"]


def test_long_tables_count_exactly_or_not_at_all(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "EXACT_ROWS", 1_000)
    monkeypatch.setattr(profiles, "EXACT_DISTINCT", 500)
    con.execute("CREATE TABLE t AS SELECT range AS id, range % 97 AS k FROM range(20000)")
    assert (column(run(con), "id").distinct, column(run(con), "k").distinct) == (None, 97)


def test_awkward_names_and_wide_tables(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT " + ", ".join(f'{n} AS "c ""{n}"' for n in range(250)))
    found = run(con)
    assert len(found.tables[0].columns) == 250 and found.tables[0].columns[249].top == (TopValue("249", 1),)


def test_small_free_text(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 'the parcel came ' || range || ' days late' AS c, 'United Kingdom' AS r FROM range(9)"
    )
    found = run(con)
    assert column(found, "c").free_text and not column(found, "r").free_text


def test_paths_are_not_relations(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(duckdb.Error):
        run(con, f"'{tmp_path / 't.csv'}'")


def test_keys_are_columns_filled_and_different_in_every_row(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT n AS id, n % 3 AS k, CASE WHEN n > 0 THEN n END AS holed FROM range(50) r(n)")
    assert [c.name for c in run(con).tables[0].columns if c.unique] == ["id"]


def test_histograms_count_every_value_once(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT n * 0.5 AS x, DATE '2024-01-01' + n::INT AS d, n % 4 AS few, 7 AS one FROM range(400) r(n)"
    )
    found = run(con)
    for name in ("x", "d"):
        bins = column(found, name).bins
        assert len(bins) == profiles.BINS and sum(b.count for b in bins) == 400
    assert (column(found, "x").bins[0].start, column(found, "x").bins[-1].end) == ("0", "199.5")
    assert column(found, "d").bins[0].start == "2024-01-01"
    assert column(found, "few").bins == () and column(found, "one").bins == ()


def test_gaps_are_counted_in_days_then_in_months(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (DATE '2024-01-01', DATE '2023-01-15'), "
        "(DATE '2024-01-04', DATE '2023-03-15'), (DATE '2024-01-04', DATE '2024-02-01')) v(short, long)"
    )
    short, long = column(run(con), "short"), column(run(con), "long")
    assert (short.period, short.periods, short.empty_periods) == ("day", 4, 2)
    assert (long.period, long.periods, long.empty_periods) == ("month", 14, 11)


def test_the_guesses_of_the_sample_corpus(corpus: duckdb.DuckDBPyConnection) -> None:
    comment = column(run(corpus, "product_feedback"), "comment")
    assert comment.languages[0][0] == "English" and comment.personal == ""
