"""What differs between two versions: rows by key, values, ranges, and what a spreadsheet did on the way."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peek_core.corpus.load import load_file
from peek_core.corpus.versions.compare import compare
from tests.corpus.versions.conftest import Exports

DATA = os.environ.get("PEEK_BENCH_DATA", "")


def ticket(n: int, status: str = "open", spend: str = "12.50") -> str:
    return f"T-{n:03},{status},{spend}\n"


HEADER = "ticket,status,spend\n"


def test_rows_are_told_apart_by_their_key(exports: Callable[..., Exports]) -> None:
    old = HEADER + "".join(ticket(n) for n in range(100))
    new = HEADER + "".join(ticket(n, "closed" if n < 20 else "open") for n in range(10, 130))
    table = exports(old, new).compared().tables[0]
    assert (table.key, table.added, table.removed, table.changed) == ("ticket", 30, 10, 10)
    status = table.column("status")
    assert status is not None and status.changed == 10
    assert [(v.value, v.before, v.after) for v in status.new_values] == [("closed", 0, 10)]


def test_without_a_key_whole_rows_are_counted(exports: Callable[..., Exports]) -> None:
    table = exports("a,b\nx,1\nx,1\ny,2\n", "a,b\nx,1\ny,2\ny,2\nz,3\n").compared().tables[0]
    assert (table.key, table.added, table.removed, table.changed) == ("", 2, 1, None)
    assert "whole rows" in table.key_said


def test_numbers_that_were_all_multiplied_are_one_finding(exports: Callable[..., Exports]) -> None:
    old = HEADER + "".join(ticket(n, spend=f"{n * 100 + 250}") for n in range(60))
    new = HEADER + "".join(ticket(n, spend=f"{n + 2.5:.2f}") for n in range(60))
    spend = exports(old, new).compared().tables[0].column("spend")
    assert spend is not None and spend.factor == 0.01 and "rescaled" in spend.status
    assert not spend.new_count, "that every value is another one is no news beside it"


def test_without_rows_in_common_a_distribution_that_moved_by_a_factor_is_found(exports: Callable[..., Exports]) -> None:
    old = "ticket,spend\n" + "".join(f"A-{n},{1_000 + n * 37 % 900}\n" for n in range(200))
    new = "ticket,spend\n" + "".join(f"B-{n},{(1_000 + n * 41 % 900) / 100}\n" for n in range(200))
    spend = exports(old, new).compared().tables[0].column("spend")
    assert spend is not None and spend.factor == pytest.approx(0.01, rel=0.2)


def test_columns_come_go_and_change_their_header_and_type(exports: Callable[..., Exports]) -> None:
    old = "ticket,score,age\n" + "".join(f"T-{n:03},{n % 5},{n}\n" for n in range(60))
    new = "ticket,Score!,channel\n" + "".join(f"T-{n:03},{n % 5}.5,web\n" for n in range(60))
    made = {c.name: c.status for c in exports(old, new).compared().tables[0].columns}
    assert made["age"] == "removed" and made["channel"] == "added" and made["ticket"] == ""
    assert made["score"].startswith("renamed, retyped")


def test_leading_zeros_that_a_spreadsheet_took_are_said(exports: Callable[..., Exports]) -> None:
    old = "zip,n\n" + "".join(f"0{n:04},{n % 7}\n" for n in range(60))
    new = "zip,n\n" + "".join(f"{n},{n % 7}\n" for n in range(60))
    column = exports(old, new).compared().tables[0].column("zip")
    assert column is not None and column.damage == "the leading zeros of 60 numbers are gone"


def test_a_moment_only_one_version_has_to_the_second_is_compared_as_both_have_it(
    exports: Callable[..., Exports],
) -> None:
    old = "ticket,seen\n" + "".join(f"T-{n:03},2026-01-01 10:{n:02}:00\n" for n in range(60))
    new = "ticket,seen\n" + "".join(f"T-{n:03},2026-01-01 10:{n:02}:{n:02}\n" for n in range(60))
    table = exports(old, new).compared().tables[0]
    column = table.column("seen")
    assert table.changed == 0 and column is not None and "to the second" in column.damage


def test_tables_come_and_go(exports: Callable[..., Exports]) -> None:
    made = exports({"a.csv": "id,c\n1,x\n"}, {"a.csv": "id,c\n1,x\n", "zzz.csv": "u,v,w\n9,8,7\n"})
    found = made.compared()
    assert found.tables_added == ("zzz",) and found.tables_removed == ()


@pytest.mark.skipif(not DATA, reason="PEEK_BENCH_DATA is not set: the airline tweets are needed")
def test_an_export_that_went_through_a_spreadsheet(exports: Callable[..., Exports]) -> None:
    a, b = (Path(DATA, "feedback", f"airline_tweets_{x}.csv").read_text("utf-8", "replace") for x in ("a", "b_excel"))
    table = exports(a, b).compared().tables[0]
    said = {c.name: c.damage for c in table.columns if c.damage}
    assert (table.added, table.removed, table.key) == (0, 0, "tweet_id")
    assert said["tweet_id"] == "only 15 digits are left of 14,640 longer numbers"
    assert "day numbers" in said["tweet_created"] and "begin with a sign" in said["text"]


KEYS = st.lists(st.integers(1, 60), min_size=1, max_size=40, unique=True)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=KEYS, new=KEYS, turned=st.sets(st.integers(1, 60)))
def test_added_removed_and_changed_are_what_sets_say(
    tmp_path_factory: pytest.TempPathFactory, old: list[int], new: list[int], turned: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    before = "key,c\n" + "".join(f"K{n:02},open\n" for n in old)
    after = "key,c\n" + "".join(f"K{n:02},{'done' if n in turned else 'open'}\n" for n in new)
    reports = []
    for name, text in (("a", before), ("b", after)):
        (folder / f"{name}.csv").write_text(text)
        reports.append(load_file(folder / f"{name}.csv", folder / f"{name}.duckdb", label="t.csv"))
    table = compare(folder / "a.duckdb", folder / "b.duckdb", *reports, folder / "spill").tables[0]
    assert Counter(added=table.added, removed=table.removed, changed=table.changed) == Counter(
        added=len(set(new) - set(old)), removed=len(set(old) - set(new)), changed=len(set(old) & set(new) & turned)
    )
