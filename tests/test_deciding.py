"""Definitions as a person works with them: seen before they count, left out once, gone around, on a new version, exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from peek_core.book import StoreBook
from peek_core.context_map.definitions import Definition, from_data
from peek_core.context_map.history import MapEvent
from peek_core.errors import NotFound, Refused
from peek_core.providers.scripted import Scripted
from peek_core.workspace import Workspace

CSV = "id,status,opened,closed\n" + "".join(
    f"{n},{'test' if n % 5 == 0 else 'open'},{n % 28 + 1}.3.2024,{f'week {n}' if n % 4 == 0 else f'2024-04-{n % 28 + 1:02}'}\n"
    for n in range(1, 21)
)
COLUMNS = {"id": "BIGINT", "status": "VARCHAR", "opened": "VARCHAR", "closed": "VARCHAR"}
TESTS = {"kind": "row_exclusion", "column": "status", "values": ["test"], "name": "Test rows don't count"}
CLOSED = {"kind": "date_reading", "column": "closed", "reading": "ISO", "name": "closed is a date"}
MONTH = {"kind": "derived", "new_column": "closed_month", "expression": "month(closed)", "name": "month of closing"}
NOTHING = ['{"diagnosis": "", "tags": [], "candidates": []}']


def answer(sql: str) -> list[str]:
    return [
        f"```python\nr = sql({sql!r})\n```",
        "```python\nFINAL(str(r[0]), value=list(r[0].values())[0])\n```",
        *NOTHING,
    ]


@pytest.fixture
def start(open_workspace: Callable[..., Workspace], tmp_path: Path) -> Callable[..., tuple[Workspace, str]]:
    """A dataset whose map holds these proposals as def-1, def-2, …; the model's replies."""

    def begin(*proposals: dict[str, Any], replies: tuple[str, ...] = (), text: str = CSV) -> tuple[Workspace, str]:
        (tmp_path / "t.csv").write_text(text, "utf-8")
        w = open_workspace(Scripted(list(replies)))
        dataset = w.load(tmp_path / "t.csv").id
        columns = {t: dict(c) for t, c in w.shelf.columns(w.shelf.version(w.dataset(dataset))).items()}
        book = StoreBook(w.store, dataset, "peek")
        made = [from_data({"table": "t", **p}, columns) for p in proposals]
        assert all(isinstance(d, Definition) for d in made), made
        kept = tuple(replace(d, id=f"def-{n}") for n, d in enumerate(made, 1) if isinstance(d, Definition))
        base = book.current()
        book.commit(base, replace(base, definitions=kept, next_definition=len(kept) + 1), [MapEvent("propose")])
        return w, dataset

    return begin


def count(w: Workspace, dataset: str, sql: str = "SELECT count(*) FROM t") -> Any:
    return w.sql(dataset, sql).table.rows[0][0]


def test_what_it_would_do_is_seen_before_anything_moves(start: Callable[..., tuple[Workspace, str]]) -> None:
    w, dataset = start(TESTS)
    seen = w.curator(dataset).preview_definition("def-1")
    assert (seen.effect["rows_before"], seen.effect["rows_after"], seen.effect["version"]) == (20, 16, 1)
    assert (seen.samples.columns, seen.samples.rows) == (("before", "after", "n_rows"), (("test", "left out", 4),))
    assert count(w, dataset) == 20
    w.curator(dataset).decide("def-1", "on")
    assert count(w, dataset) == 16
    assert w.map(dataset).active[0].effect == seen.effect


def test_a_second_definition_that_clashes_is_refused_with_both_names(
    start: Callable[..., tuple[Workspace, str]],
) -> None:
    fold = {"kind": "spelling_fold", "column": "status", "mapping": {"test": "trial"}, "name": "test is a trial"}
    other = {**fold, "mapping": {"test": "exam"}, "name": "test is an exam"}
    w, dataset = start(fold, other)
    c = w.curator(dataset)
    c.decide("def-1", "on")
    assert "read 'test' differently" in c.preview_definition("def-2").refused
    with pytest.raises(Refused, match="“test is an exam” and “test is a trial” read 'test' differently"):
        c.decide("def-2", "on")


def test_one_question_leaves_a_definition_out_and_says_so(start: Callable[..., tuple[Workspace, str]]) -> None:
    sql = "SELECT count(*) AS n FROM t"
    w, dataset = start(TESTS, replies=(*answer(sql), *answer(sql)))
    w.curator(dataset).decide("def-1", "on")
    run = w.wait(w.ask(dataset, "Including test rows?", without=("def-1",)), 60)
    assert run.trajectory is not None and run.trajectory.answer is not None
    assert run.trajectory.answer.value == 20
    assert run.summary["left_out"] == [{"id": "def-1", "name": "Test rows don't count"}]
    assert run.summary["definitions"] == []
    told, _ = w.explaining.texts(dataset, w.explaining.calls(run.id)[0])
    assert any("(switched off for this question, NOT applied in the view)" in t for t in told.values())
    again = w.wait(w.ask(dataset, "And without?"), 60)
    assert again.trajectory is not None and again.trajectory.answer is not None
    assert (again.trajectory.answer.value, again.summary["left_out"]) == (16, [])
    assert (again.summary["definitions"][0]["rows_moved"], again.summary["without_definitions"]) == (4, "20")
    assert w.map(dataset).active[0].id == "def-1"


def test_what_a_question_without_definitions_teaches_must_hold_with_them(
    start: Callable[..., tuple[Workspace, str]],
) -> None:
    claims = [
        {"kind": "item", "section": "cu", "text": f"There are {n} rows.", "evidence": {"sql": "SELECT count(*) FROM t", "expect": [[n]]}}
        for n in (20, 16)
    ]  # fmt: skip
    taught = (
        json.dumps({"diagnosis": "", "tags": [], "candidates": claims}),
        json.dumps({"edits": [{"op": "ADD", "candidate": 0}, {"op": "ADD", "candidate": 1}]}),
    )
    w, dataset = start(TESTS, replies=(*answer("SELECT count(*) AS n FROM t")[:2], *taught))
    w.curator(dataset).decide("def-1", "on")
    w.wait(w.ask(dataset, "How many?", without=("def-1",)), 60)
    assert [i.text for i in w.map(dataset).items] == ["There are 16 rows."]


def test_only_what_is_on_can_be_left_out_and_nothing_that_another_needs(
    start: Callable[..., tuple[Workspace, str]],
) -> None:
    w, dataset = start(TESTS, CLOSED, MONTH)
    with pytest.raises(NotFound):
        w.ask(dataset, "How many?", without=("def-9",))
    with pytest.raises(Refused, match="is not on"):
        w.ask(dataset, "How many?", without=("def-1",))
    c = w.curator(dataset)
    with pytest.raises(Refused, match="can't be accepted: its effect can't be measured"):
        c.decide("def-3", "on")
    c.decide("def-2", "on")
    c.decide("def-3", "on")
    with pytest.raises(Refused, match="“month of closing” needs it"):
        w.ask(dataset, "How many?", without=("def-2",))
    with pytest.raises(Refused, match="“closed is a date” can't go: “month of closing” needs it"):
        c.decide("def-2", "off")
    c.decide("def-3", "off")
    c.decide("def-2", "off")
    assert w.map(dataset).active == ()


def test_dates_are_read_and_the_profile_shows_them(start: Callable[..., tuple[Workspace, str]]) -> None:
    w, dataset = start(CLOSED, MONTH)
    w.curator(dataset).decide("def-1", "on")
    w.curator(dataset).decide("def-2", "on")
    assert w.map(dataset).active[0].effect["values_lost"] == 5
    types = {c.name: c.type for c in w.profile(dataset).tables[0].columns}
    assert (types["closed"], types["closed_month"]) == ("DATE", "BIGINT")
    assert count(w, dataset, "SELECT count(closed_month) FROM t WHERE closed_month = 4") == 15


def test_an_answer_that_goes_around_a_definition_says_so(start: Callable[..., tuple[Workspace, str]]) -> None:
    w, dataset = start(TESTS, replies=tuple(answer("SELECT count(*) AS n FROM raw.main.t")))
    w.curator(dataset).decide("def-1", "on")
    run = w.wait(w.ask(dataset, "All rows?"), 60)
    assert run.summary["went_around"] == [{"id": "def-1", "name": "Test rows don't count", "table": "t"}]
    assert run.summary["definitions"] == []


def test_a_new_version_measures_again_and_holds_back_what_no_longer_fits(
    start: Callable[..., tuple[Workspace, str]], tmp_path: Path
) -> None:
    w, dataset = start(TESTS, CLOSED)
    w.curator(dataset).decide("def-1", "on")
    w.curator(dataset).decide("def-2", "on")
    w.apply_reread(dataset, *w.reread(dataset, {}))
    states = {d.id: (d.state, d.effect["version"]) for d in w.map(dataset).definitions}
    assert states["def-1"] == ("on", 2)
    (tmp_path / "more.csv").write_text("k\n1\n2\n", "utf-8")
    w.load(tmp_path / "more.csv", into=dataset)
    assert w.map(dataset).active[0].effect["version"] == 3
    assert count(w, dataset) == 16


def test_what_no_longer_fits_is_held_back_and_the_rest_goes_on(start: Callable[..., tuple[Workspace, str]]) -> None:
    from peek_core import deciding

    w, dataset = start(TESTS, CLOSED, MONTH)
    c = w.curator(dataset)
    for id in ("def-1", "def-2", "def-3"):
        c.decide(id, "on")
    current = w.map(dataset)
    held = dict(COLUMNS, closed="BIGINT")

    def query(sql: str) -> Any:
        with w.shelf.engine(w.shelf.view(w.shelf.version(w.dataset(dataset)), ())) as engine:
            return engine.query(sql, limit=10).table

    bench = deciding.Bench({"t": {k: v for k, v in held.items() if k != "closed"}}, 2, lambda use: use(query))
    new, events = deciding.remeasured(current, bench)
    assert [d.state for d in new.definitions] == ["on", "held_back", "held_back"]
    assert new.definitions[1].effect["held_back"].startswith("version 2 of the data has no such columns")
    assert [e.name for e in events] == ["measure", "hold_back", "hold_back"]
    assert deciding.remeasured(new, bench) == (new, [])


def test_the_view_is_exported_as_sql_that_gives_the_same_rows(start: Callable[..., tuple[Workspace, str]]) -> None:
    w, dataset = start(TESTS, CLOSED, MONTH)
    c = w.curator(dataset)
    with pytest.raises(Refused, match="No definition is on"):
        c.export_view("sql", "t")
    for id in ("def-1", "def-2", "def-3"):
        c.decide(id, "on")
    expected = w.sql(dataset, "SELECT * FROM t ORDER BY id").table.rows
    version = w.shelf.version(w.dataset(dataset))
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{w.shelf.view(version, ()).corpus}' AS raw (READ_ONLY)")
        connection.execute(c.export_view("sql", "t")["curated.sql"])
        assert tuple(connection.execute("SELECT * FROM t ORDER BY id").fetchall()) == expected
    assert list(c.export_view("dbt", "My export")) == ["t.sql", "schema.yml"]
