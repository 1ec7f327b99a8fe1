"""What calls have taken, read from the store without their traces; and a data directory from before sources were kept."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import inspect, text

from peek_core.store.sql_store import SqlStore
from tests.context_pipe.traces import call

RUN = {
    "dataset": "d",
    "version": 1,
    "arm": "peek",
    "map_version": None,
    "question": "?",
    "status": "answered",
    "phase": "done",
    "created": 1.0,
    "owner": "o",
    "patient": 0,
}


def filled(path: Path) -> SqlStore:
    store = SqlStore(f"sqlite:///{path}", lambda: 2_000.0)
    store.add_run(id="r1", analyst="m", **RUN)
    store.add_run(id="r2", analyst="nobody", **RUN)
    made = [
        call(1, input=100, output=10, usd=0.5),
        call(2, input=100, output=0),
        call(3, error="no"),
        call(4, "distill", input=7),
    ]
    for one in made:
        store.add_call("d", one, {}, None)
    return store


def test_sums_by_run_and_source(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.sqlite")
    found = {r.source: (r.requests, r.tokens, r.usd, r.unpriced) for r in store.spent_by_run("d")}
    assert found == {"step": (3, 210, 0.5, 1), "distill": (1, 7, None, 1)}
    assert store.spent_by_run("other") == ()
    assert store.unpriced_since(0.0, "nobody") == 2
    assert store.unpriced_since(0.0, "m") == 0
    assert store.unpriced_since(9_999.0, "nobody") == 0
    priced = store.latest_priced("d")
    assert priced is not None and priced.n == 1
    assert store.latest_priced("other") is None
    assert [h.id for h in store.run_heads("d")] == ["r1", "r2"] and not hasattr(store.run_heads("d")[0], "trajectory")
    assert [h.id for h in store.run_heads("d", "other")] == []
    store.close()


def test_an_older_data_directory_learns_its_sources(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    store = filled(path)
    with store._engine.begin() as c:
        c.execute(text("DROP INDEX call_sums"))
        c.execute(text("ALTER TABLE call DROP COLUMN source"))
        c.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    store.close()
    again = SqlStore(f"sqlite:///{path}", lambda: 2_000.0)
    assert {r.source for r in again.spent_by_run("d")} == {"step", "distill"}
    assert "call_sums" in {i["name"] for i in inspect(again._engine).get_indexes("call")}
    again.close()
