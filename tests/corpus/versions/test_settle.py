"""A matched file takes the known names, keeps what it brings nothing for, and says so in its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from peek_core.values.versions import ColumnMatch, Proposal, TableMatch
from tests.corpus.versions.conftest import Exports

RAGGED = "id,a,b,score\n1,x,y,5\n2,x,y,z,w\n3,x,y,3\n4,x,y,1\n"
"""Line 3 fits nowhere."""


def table(*pairs: tuple[str, str], old: str = "feedback", new: str = "feedback") -> TableMatch:
    columns = tuple(ColumnMatch(a, b, b, 1.0, "", True) for a, b in pairs)
    return TableMatch(old, new, 1.0, columns)


def test_matched_columns_take_the_known_names_and_keep_their_headers(exports: Callable[..., Exports]) -> None:
    made = exports({"feedback.csv": "id,region\n1,a\n2,b\n"}, {"november.csv": "Market,id\nc,3\n"})
    report = made.settled(Proposal((table(("id", "id"), ("region", "market"), new="november"),)))
    assert made.rows("SELECT region, id FROM feedback") == [("c", 3)]
    assert [(c.name, c.label) for c in report.tables[0].columns] == [("region", "Market"), ("id", "id")]
    assert report.tables[0].source == "november.csv"


def test_two_names_change_places(exports: Callable[..., Exports]) -> None:
    made = exports("a,b\n1,x\n", "a,b\ny,2\n")
    made.settled(Proposal((table(("a", "b"), ("b", "a")),)))
    assert made.rows("SELECT a, b FROM feedback") == [(2, "y")]


def test_a_new_column_never_takes_the_name_of_a_known_one(exports: Callable[..., Exports]) -> None:
    """`region` went; what is called so now was not taken for it, so queries on the old one must fail, not lie."""
    made = exports("id,region\n1,a\n", "id,region\n2,17\n")
    report = made.settled(Proposal((replace(table(("id", "id")), gone=("region",), added=("region",)),)))
    assert [c.name for c in report.tables[0].columns] == ["id", "region_2"]
    assert made.rows("SELECT region_2 FROM feedback") == [(17,)]


def test_tables_it_brings_nothing_for_are_copied_with_what_was_kept_apart(exports: Callable[..., Exports]) -> None:
    made = exports({"people.csv": RAGGED, "orders.csv": "no,sum\n1,5\n"}, {"orders.csv": "no,sum\n2,6\n"})
    assert made.before.tables[0].rejects == 1
    report = made.settled()
    assert [t.name for t in report.tables] == ["people", "orders"]
    assert {s.name for s in report.sources} == {"people.csv", "orders.csv"}
    assert made.rows("SELECT count(*) FROM people") == [(3,)]
    assert made.rows("SELECT line FROM rejects.people") == [(3,)]


def test_rows_kept_apart_follow_their_table(exports: Callable[..., Exports]) -> None:
    made = exports({"feedback.csv": "id,a,b,score\n1,x,y,4\n"}, {"october.csv": RAGGED})
    made.settled()
    assert made.rows("SELECT line FROM rejects.feedback") == [(3,)]
