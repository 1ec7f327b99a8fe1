"""`peek …`: JSON on stdout, progress on stderr, exit codes as documented; the same workspace as the app."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peek_core import cli_map, settings
from peek_core.book import StoreBook
from peek_core.cli import main
from peek_core.context_map.history import MapEvent
from peek_core.workspace import Workspace
from tests.corpus.workbooks import book

ASK_FIELDS = {
    "run",
    "status",
    "answer",
    "value",
    "table",
    "sql",
    "iterations",
    "look_ups",
    "usage",
    "cost",
    "definitions",
    "map",
    "analyst",
}
MAP_FIELDS = {
    "id",
    "kind",
    "section",
    "text",
    "score",
    "pinned",
    "locked",
    "frozen",
    "author",
    "tokens",
    "evidence",
    "state",
}


class Peek:
    """Runs commands on one data directory."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._data, self._capsys = data, capsys
        self.err = ""

    def __call__(self, *args: str, code: int = 0) -> Any:
        got = main([*args, "--json", "--data-dir", str(self._data)])
        out, self.err = self._capsys.readouterr()
        assert got == code, out + self.err
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def peek(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Peek:
    return Peek(tmp_path / "data", capsys)


def test_load_ask_map_sql_trace(peek: Peek, tickets: Path) -> None:
    (loaded,) = peek("load", str(tickets))
    assert loaded["tables"][0]["rows"] == 100
    assert [c["name"] for c in loaded["tables"][0]["columns"]] == ["id", "channel", "score", "status", "comment"]
    assert set(loaded) == {"dataset", "version", "tables", "doubts"}
    dataset = loaded["dataset"]

    (asked,) = peek("ask", dataset, "Rows with status test don't count. How many tickets are there?")
    assert set(asked) >= ASK_FIELDS
    assert (asked["status"], asked["value"]) == ("answered", 90)
    assert asked["analyst"] == "built-in analyst, no language model"
    assert asked["cost"] is None
    assert asked["map"]["version_after"] > asked["map"]["version_before"]
    assert "turn 1" in peek.err

    (current,) = peek("map", dataset)
    assert all(set(i) == MAP_FIELDS for i in current["items"])
    (proposed,) = [i for i in current["items"] if i["kind"] == "row_exclusion"]
    assert proposed["state"] == "proposed"
    (after,) = peek("map", dataset, "accept", proposed["id"])
    assert [i["state"] for i in after["items"] if i["id"] == proposed["id"]] == ["on"]
    (counted,) = peek("sql", dataset, "SELECT count(*) AS n FROM tickets")
    assert counted == {"columns": ["n"], "rows": [[90]], "row_count": 1, "truncated": False}
    (trace,) = peek("trace", asked["run"])
    assert [c["source"] for c in trace["calls"]][-2:] == ["distill", "chart"]
    (listed,) = peek("datasets")
    assert listed[0]["dataset"] == dataset


def test_map_acts(peek: Peek, tickets: Path) -> None:
    dataset = peek("load", str(tickets), "--dataset", "Dump")[0]["dataset"]
    peek("map", "Dump", "add", "cu", "One row is one ticket.", "--evidence", "SELECT count(*) FROM tickets")
    for act, field in (("pin", "pinned"), ("lock", "locked"), ("freeze", "frozen")):
        (current,) = peek("map", dataset, act, "cu-00001")
        assert current["items"][0][field] is True
    (current,) = peek("map", dataset, "edit", "cu-00001", "One row is one support ticket.")
    assert current["items"][0]["text"] == "One row is one support ticket."
    assert peek("map", dataset, "freeze")[0]["frozen"] is True
    assert peek("map", dataset, "delete", "cu-00001")[0]["items"] == []
    assert "has no item" not in peek.err
    assert peek("map", dataset, "pin", "cu-00001", code=4)[0]["error"] == "There is no item 'cu-00001' in the map"


def test_each_file_is_a_new_dataset_and_a_bad_one_does_not_stop_the_rest(
    peek: Peek, tickets: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "empty.csv"
    bad.touch()
    first, second, third = peek("load", str(tickets), str(bad), str(tickets), code=4)
    assert first["dataset"] != third["dataset"]
    assert second["error"]


def test_all_files_become_tables_of_the_named_dataset_and_later_ones_are_added(peek: Peek, tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("order_no,customer_id\n" + "".join(f"o{n},{n % 9 + 1}\n" for n in range(40)))
    (tmp_path / "customers.json").write_text("".join(f'{{"id": {n}, "name": "n{n}"}}\n' for n in range(1, 10)) + "{\n")
    (tmp_path / "no header.json").write_text("[[1, 2], [3, 4]]")
    first, second = peek("load", str(tmp_path / "orders.csv"), str(tmp_path / "customers.json"), "--dataset", "Shop")
    assert first["dataset"] == second["dataset"] and (first["version"], second["version"]) == (1, 1)
    assert [t["name"] for t in first["tables"]] == ["orders"] and [t["name"] for t in second["tables"]] == ["customers"]
    assert (second["tables"][0]["rows"], second["tables"][0]["rejects"]) == (9, 1)
    assert set(second["tables"][0]) == {
        "name", "rows", "rejects", "columns", "encoding", "dialect", "header_rows", "repairs", "assumptions",
    }  # fmt: skip
    assert second["tables"][0]["columns"][0] == {
        "name": "id",
        "label": "id",
        "type": "BIGINT",
        "nulls": 0,
        "distinct": 9,
    }
    (third,) = peek("load", str(tmp_path / "no header.json"), "--dataset", first["dataset"])
    assert (third["dataset"], third["version"]) == (first["dataset"], 2)
    assert [(t["name"], t["rows"]) for t in third["tables"]] == [("no_header", 2)]
    assert [d["where"] for d in third["doubts"]] == ["no_header: the first list"]
    assert first["doubts"] == second["doubts"] == []
    (counted,) = peek("sql", "Shop", "SELECT count(*) AS n FROM orders JOIN customers ON customer_id = id, no_header")
    assert counted["rows"] == [[80]]
    ((listed,),) = peek("datasets")
    assert (listed["title"], listed["rows"]) == ("Shop", 51)


def test_one_bad_file_leaves_a_dataset_as_it_was(peek: Peek, tickets: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[1,")
    peek("load", str(tickets), "--dataset", "Dump")
    both = peek("load", str(tickets), str(tmp_path / "bad.json"), "--dataset", "Dump", code=4)
    assert [line["where"].split(",")[0] for line in both] == ["bad.json", "bad.json"]
    assert [(d["title"], d["version"], d["rows"]) for d in peek("datasets")[0]] == [("Dump", 1, 100)]


def test_sheets_are_picked_by_name(peek: Peek, tmp_path: Path) -> None:
    path = tmp_path / "plan.xlsx"
    path.write_bytes(book(("One", [["a"], [1], [2]]), ("Two", [["b"], [3]]), ("Off", [["c"], [4]]), hidden=("Off",)))
    assert [t["name"] for t in peek("load", str(path))[0]["tables"]] == ["plan"]
    assert [t["name"] for t in peek("load", str(path), "--sheet", "Two", "--sheet", "Off")[0]["tables"]] == [
        "two",
        "off",
    ]
    assert [t["name"] for t in peek("load", str(path), "--sheet", "*")[0]["tables"]] == ["one", "two"]
    assert "no sheet “Three”" in peek("load", str(path), "--sheet", "Three", code=4)[0]["error"]


def test_ask_with_a_simulated_endpoint(peek: Peek, tickets: Path) -> None:
    """Requests are sent, counted and traced like any other; the simulator itself never answers."""
    dataset = peek("load", str(tickets))[0]["dataset"]
    peek("ask", dataset, "How many tickets?", "--endpoint", "simulator", code=4)
    assert "Nothing of 'tickets' was sent" in peek.err
    (asked,) = peek("ask", dataset, "How many?", "--endpoint", "simulator:deepseek", "--share", "aggregates", code=3)
    assert (asked["analyst"], asked["status"]) == ("simulator", "no_answer")
    assert asked["usage"]["cached"] > 0
    (asked,) = peek("ask", dataset, "How many tickets are there?")
    assert (asked["analyst"], asked["status"]) == ("built-in analyst, no language model", "answered")


def test_an_endpoint_for_one_question_needs_a_model_and_a_profile_there_is(
    peek: Peek, tickets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    peek("ask", dataset, "How many?", "--endpoint", "http://127.0.0.1:9/v1", code=4)
    assert "PEEK_MODEL" in peek.err
    monkeypatch.setenv("PEEK_MODEL", "small")
    peek("ask", dataset, "How many?", "--endpoint", "http://example.com/v1", code=4)
    assert "must start with https://" in peek.err
    with pytest.raises(SystemExit) as usage:
        main(["ask", dataset, "How many?", "--endpoint", "simulator:nobody"])
    assert usage.value.code == 2


def test_exit_codes(peek: Peek, tickets: Path) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    assert peek("ask", dataset, "Wie ist das Wetter?", code=3)[0]["status"] == "no_answer"
    peek("ask", dataset, "   ", code=4)
    peek("ask", "nowhere", "How many?", code=4)
    peek("sql", dataset, "SELECT * FROM nope", code=1)
    peek("sql", dataset, "COPY tickets TO '/tmp/x.csv'", code=1)
    with pytest.raises(SystemExit) as usage:
        main(["map"])
    assert usage.value.code == 2


def test_text_output_has_no_control_characters(peek: Peek, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = tmp_path / "h.csv"
    hostile.write_text("id,note\n1,\x1b[31mred\u202e\n2,plain\n", "utf-8")
    dataset = peek("load", str(hostile))[0]["dataset"]
    assert main(["sql", dataset, "SELECT note FROM h", "--data-dir", str(tmp_path / "data")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_accepting_shows_the_effect_first_and_the_view_is_exported(
    peek: Peek, tickets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    peek("ask", dataset, "Rows with status test don't count. How many tickets are there?")
    assert peek("map", dataset, "export", code=4)[0]["error"].startswith("No definition is on")
    (after,) = peek("map", dataset, "accept", "def-1")
    assert after["accepted"]["effect"]["rows_after"] == 90
    assert after["accepted"]["samples"]["rows"] == [["test", "left out", 10]]
    peek("map", dataset, "off", "def-1")
    assert main(["map", dataset, "accept", "def-1", "--data-dir", str(tmp_path / "data")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "10 rows left out, 90 remain"
    assert lines.index("test    left out    10") < next(n for n, line in enumerate(lines) if line.startswith("version"))

    (exported,) = peek("map", dataset, "export", "--as", "dbt")
    assert list(exported["files"]) == ["tickets.sql", "schema.yml"]
    peek("map", dataset, "export", "--to", str(tmp_path / "out"))
    assert "CREATE OR REPLACE VIEW tickets AS" in (tmp_path / "out" / "curated.sql").read_text("utf-8")


class Told:
    """Runs commands and gives what they print for people."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._data, self._capsys = data, capsys

    def __call__(self, *args: str) -> str:
        assert main([*args, "--data-dir", str(self._data)]) == 0
        return self._capsys.readouterr().out


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    return Told(tmp_path / "data", capsys)


def test_an_answer_is_kept_as_a_reusable_result(peek: Peek, tickets: Path) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    other = peek("load", str(tickets))[0]["dataset"]
    (asked,) = peek("ask", dataset, "How many tickets are there?")
    (after,) = peek("map", dataset, "keep", asked["run"])
    (item,) = [i for i in after["items"] if i["section"] == "rr"]
    assert item["text"].startswith("How many tickets are there? 100") and item["author"] == "person"
    assert peek("map", other, "keep", asked["run"], code=4)[0]["next"] == f"peek map {dataset} keep {asked['run']}"
    assert peek("map", dataset, "keep", code=4)[0]["next"] == "`peek ask` names it at the end."
    (unanswered,) = peek("ask", dataset, "Wie ist das Wetter?", code=3)
    assert peek("map", dataset, "keep", unanswered["run"], code=4)[0]["error"] == "There is no answer to keep"


def test_accepting_says_which_earlier_answers_change(peek: Peek, told: Told, tickets: Path) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    peek("ask", dataset, "How many tickets are there?")
    peek("ask", dataset, "Rows with status test don't count. How many tickets have a score?")
    (after,) = peek("map", dataset, "accept", "def-1")
    assert [(a["question"], a["before"], a["after"]) for a in after["accepted"]["earlier_answers"]][-1] == (
        "How many tickets are there?", "100", "90",
    )  # fmt: skip
    peek("map", dataset, "off", "def-1")
    said = told("map", dataset, "accept", "def-1")
    assert "Earlier answers that would change\n" in said and "  How many tickets are there?: 100 -> 90\n" in said
    assert said.index("100 -> 90") < said.index("\nversion")


def test_where_no_earlier_answer_changes_that_is_said(peek: Peek, told: Told, cities: Path) -> None:
    dataset = peek("load", str(cities))[0]["dataset"]
    peek("ask", dataset, "How many rows are there?")
    assert "No earlier answer changes.\n" in told("map", dataset, "accept", "def-1")


def test_coverage_lists_what_was_looked_at_and_what_never(peek: Peek, told: Told, tickets: Path) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    assert told("map", dataset, "coverage") == "No question has looked at the data yet.\n"
    peek("ask", dataset, "How many tickets came by chat?")
    (data,) = peek("map", dataset, "coverage")
    (table,) = data["tables"]
    assert data["queries"] > 0 and table["table"] == "tickets"
    assert ("channel", ["chat"]) in [(r["column"], r["values"]) for r in table["seen"]]
    assert set(table["never"]) | {r["column"] for r in table["seen"]} == {"id", "channel", "score", "status", "comment"}
    said = told("map", dataset, "coverage").splitlines()
    assert said[1] == f"  table tickets: {len(table['seen'])} of 5 columns"
    assert "    channel (chat)" in said and said[-1] == f"    never: {', '.join(table['never'])}"


def test_what_was_refused_is_listed_and_admitted_by_its_number(
    peek: Peek, told: Told, tickets: Path, tmp_path: Path
) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    assert told("map", dataset, "refused") == "Nothing was refused.\n"
    w = Workspace(settings.read({}, tmp_path / "data"))
    book = StoreBook(w.store, dataset, "peek")
    refused = {"op": "ADD", "section": "cu", "text": "there are 9 tickets", "why": "no query shows it"}
    book.commit(book.current(), book.current(), [MapEvent("refuse", "", refused)])
    w.close()
    ((one,),) = [peek("map", dataset, "refused")[0]["refused"]]
    assert (one["text"], one["why"]) == ("there are 9 tickets", "no query shows it")
    assert told("map", dataset, "refused") == f"{one['id']:>5}  there are 9 tickets\n       no query shows it\n"
    (after,) = peek("map", dataset, "admit", str(one["id"]))
    assert [(i["text"], i["author"]) for i in after["items"]] == [("there are 9 tickets", "person")]
    assert peek("map", dataset, "refused")[0] == {"refused": []}
    assert "lists them" in peek("map", dataset, "admit", str(one["id"]), code=4)[0]["next"]
    assert "is a whole number" in peek("map", dataset, "admit", "cu-00001", code=4)[0]["error"]
    assert peek("map", dataset, "admit", code=4)[0]["error"] == "`admit` needs the number of what was refused"


def test_loading_says_where_a_map_can_not_pay_and_what_reading_found(told: Told, cities: Path) -> None:
    lines = told("load", str(cities), str(cities), "--dataset", "Cities").splitlines()
    assert [line for line in lines if "hardly save" in line] == [lines[-1]]
    assert lines[-1].startswith("  All 120 rows fit one prompt")
    assert "(proposed; found while reading the file; " in told("map", "Cities")


def test_a_question_can_leave_a_definition_out(
    peek: Peek, tickets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    peek("ask", dataset, "Rows with status test don't count. How many tickets are there?")
    peek("map", dataset, "accept", "def-1")
    (asked,) = peek("ask", dataset, "How many tickets are there?")
    assert (asked["value"], asked["left_out"], asked["went_around"]) == (90, [], [])
    (asked,) = peek("ask", dataset, "How many tickets are there?", "--without", "def-1")
    assert (asked["value"], asked["left_out"]) == (100, ["def-1"])
    args = ["ask", dataset, "How many tickets are there?", "--without", "def-1", "--data-dir", str(tmp_path / "data")]
    assert main(args) == 0
    assert "Left out for this question: “rows with status 'test' don't count”." in capsys.readouterr().out


@pytest.fixture
def mapped(peek: Peek, tickets: Path) -> str:
    """A dataset whose map holds two items written by hand."""
    dataset = str(peek("load", str(tickets), "--dataset", "Dump")[0]["dataset"])
    peek("map", dataset, "add", "cr", "100 tickets, one a row", "--evidence", "SELECT count(*) FROM tickets")
    peek("map", dataset, "add", "cu", "One row is one ticket.")
    return dataset


def texts(data: dict[str, Any]) -> list[str]:
    return [i["text"] for i in data["items"] if i["kind"] == "prose"]


def test_undo_and_redo(peek: Peek, mapped: str) -> None:
    assert texts(peek("map", mapped, "undo")[0]) == ["100 tickets, one a row"]
    assert texts(peek("map", mapped, "redo")[0]) == ["100 tickets, one a row", "One row is one ticket."]
    assert peek("map", mapped, "redo", code=4)[0]["error"] == "There is nothing to redo"
    peek("map", mapped, "undo")
    peek("map", mapped, "undo")
    assert peek("map", mapped, "undo", code=4)[0]["error"] == "There is nothing to undo"


def test_the_graveyard_and_back(peek: Peek, told: Told, mapped: str) -> None:
    assert told("map", mapped, "graveyard") == "Nobody left the map.\n"
    peek("map", mapped, "delete", "cu-00002")
    ((left,),) = [peek("map", mapped, "graveyard")[0]["graveyard"]]
    assert (left["id"], left["how"], left["by"], left["version"], left["run"]) == (
        "cu-00002",
        "deleted",
        "person",
        3,
        None,
    )
    assert told("map", mapped, "graveyard").startswith(
        "[cu-00002] One row is one ticket.\n       deleted by the person in version 3, 20"
    )
    assert texts(peek("map", mapped, "revive", "cu-00002")[0]) == ["100 tickets, one a row", "One row is one ticket."]
    assert "lists those that did" in peek("map", mapped, "revive", "cu-00099", code=4)[0]["next"]
    assert peek("map", mapped, "revive", code=4)[0]["error"] == "`revive` needs the id of an item that left"


def test_blame_and_diff_go_word_by_word(peek: Peek, told: Told, mapped: str) -> None:
    peek("map", mapped, "edit", "cu-00002", "One row is one support ticket.")
    peek("map", mapped, "score", "cu-00002", "2")
    lines = told("map", mapped, "blame", "cu-00002").splitlines()
    assert [line.split("  ")[-1] for line in lines if line.startswith("v")] == [
        "born by the person", "edited by the person", "scored by the person",
    ]  # fmt: skip
    assert lines[1] == "    {+One row is one ticket.+}"
    assert lines[3] == "    One row is one {+support +}ticket." and lines[5] == "    0 → 2"
    (blamed,) = peek("map", mapped, "blame", "cr-00001")
    assert [(m["what"], m["evidence"]) for m in blamed["moments"]] == [("born", "SELECT count(*) FROM tickets")]
    assert told("map", mapped, "diff", "2", "4") == (
        "changed    cu-00002  One row is one {+support +}ticket.\nre-scored  cu-00002  [-0-]{+2+}\n"
    )
    (data,) = peek("map", mapped, "diff", "2", "3")
    assert data["changes"][0]["words"] == [["One row is one ", "same"], ["support ", "new"], ["ticket.", "same"]]
    assert told("map", mapped, "diff", "2", "2") == "Nothing differs.\n"
    assert peek("map", mapped, "diff", "2", code=4)[0]["next"] == "peek map DATASET diff 3 5"
    assert "no map version 99" in peek("map", mapped, "diff", "2", "99", code=4)[0]["error"]
    assert peek("map", mapped, "blame", code=4)[0]["error"] == "`blame` needs the id of an item"


def test_what_a_model_sees_has_its_tokens_beside_it(peek: Peek, told: Told, mapped: str) -> None:
    (data,) = peek("map", mapped, "seen")
    assert [r["name"] for r in data["records"]] == ["definitions", "context map"]
    assert len(data["sha256"]) == 64 and sum(r["tokens"] for r in data["records"]) == data["tokens"]
    lines = told("map", mapped, "seen").splitlines()
    assert [line[8:] for line in lines if not line.endswith("---")][:-1] == data["text"].split("\n")
    assert lines[-1].endswith("in all (estimated by o200k)")


def test_a_map_goes_out_in_four_forms_and_comes_back(
    peek: Peek, told: Told, mapped: str, tickets: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for form, name in (("text", "map.txt"), ("json", "map.json"), ("markdown", "map.md"), ("agents", "AGENTS.md")):
        peek("map", mapped, "export", "--as", form, "--to", str(out))
        assert "One row is one ticket." in (out / name).read_text("utf-8")
    assert "100" not in told("map", mapped, "export", "--as", "markdown", "--redacted")
    assert told("map", mapped, "export", "--as", "text").startswith("## Context Roadmap\n[cr-00001] 100 tickets")
    assert "can't be written without values" in peek("map", mapped, "export", "--redacted", code=4)[0]["error"]
    section = (out / "AGENTS.md").read_bytes()
    (out / "AGENTS.md").write_bytes(b"# Mine\r\n" + section + b"after\r\n")
    peek("map", mapped, "delete", "cu-00002")
    peek("map", mapped, "export", "--as", "agents", "--to", str(out))
    merged = (out / "AGENTS.md").read_bytes().decode()
    assert merged.startswith("# Mine\r\n<!-- peek:begin -->") and merged.endswith("<!-- peek:end -->\nafter\r\n")
    assert "One row" not in merged

    other = peek("load", str(tickets))[0]["dataset"]
    (done,) = peek("map", other, "import", str(out / "map.json"))
    assert [(a["id"], a["text"], a["state"]) for a in done["brought"]["added"]] == [
        ("cr-00001", "100 tickets, one a row", "holds"),
        ("cu-00002", "One row is one ticket.", "unverifiable"),
    ]
    assert texts(done) == ["100 tickets, one a row", "One row is one ticket."]
    said = told("map", other, "import", str(out / "map.txt"))
    assert said.startswith("2 passed over\n  passed over: 100 tickets, one a row  (cr-00001 already says this)\n")
    refused = peek("map", other, "import", str(out / "map.md"), code=4)[0]
    assert (refused["where"], refused["error"]) == ("line 1", "'# Context map of Dump' is no line of a context map")
    assert "No such file" in peek("map", other, "import", str(out / "none"), code=4)[0]["error"]
    (out / "bytes").write_bytes(b"\xff\xfe")
    assert "no UTF-8 text" in peek("map", other, "import", str(out / "bytes"), code=4)[0]["error"]
    assert peek("map", other, "import", code=4)[0]["error"] == "`import` needs a file"


def test_a_map_is_copied_to_a_named_dataset(peek: Peek, mapped: str, tickets: Path) -> None:
    other = peek("load", str(tickets), "--dataset", "Next month")[0]["dataset"]
    (done,) = peek("map", mapped, "copy", "--to", "Next month")
    assert [a["text"] for a in done["brought"]["added"]] == ["100 tickets, one a row", "One row is one ticket."]
    assert texts(peek("map", other)[0]) == texts(done)
    assert peek("map", mapped, "copy", code=4)[0]["error"] == "`copy` needs another dataset"
    assert "its own dataset" in peek("map", mapped, "copy", "--to", mapped, code=4)[0]["error"]


def test_under_review_the_agents_edits_wait(peek: Peek, told: Told, tickets: Path) -> None:
    dataset = peek("load", str(tickets))[0]["dataset"]
    assert told("map", dataset, "suggestions") == "No suggestion waits.\n"
    assert peek("map", dataset, "review", "on")[0]["review"] is True
    assert "the agent's edits wait for review" in told("map", dataset)
    peek("ask", dataset, "How many tickets are there?")
    assert [i["id"] for i in peek("map", dataset)[0]["items"]] == ["def-1"], "a definition is a proposal in any case"
    assert peek("map", dataset, "blame", "def-1", code=4)[0]["error"] == "There never was an item 'def-1'"
    waiting = peek("map", dataset, "suggestions")[0]["suggestions"]
    assert waiting and all(s["op"] == "ADD" and s["applies"] for s in waiting)
    assert f"{waiting[0]['id']:>5}  ADD {waiting[0]['section']}  " in told("map", dataset, "suggestions")
    assert texts(peek("map", dataset, "take", str(waiting[0]["id"]))[0]) == [waiting[0]["text"]]
    peek("map", dataset, "undo")
    taken = peek("map", dataset, "take", str(waiting[0]["id"]), "In words of mine.")[0]["items"]
    assert [(i["text"], i["author"]) for i in taken if i["kind"] == "prose"] == [("In words of mine.", "person")]
    for one in waiting[1:2]:
        peek("map", dataset, "turn-down", str(one["id"]))
    if waiting[2:]:
        peek("map", dataset, "turn-down", "all")
    assert peek("map", dataset, "suggestions")[0] == {"suggestions": []}
    assert peek("map", dataset, "take", "all", code=4)[0]["error"] == "No suggestion waits"
    assert "can't stand for all" in peek("map", dataset, "take", "all", "a text", code=4)[0]["error"]
    assert peek("map", dataset, "take", code=4)[0]["error"] == "`take` needs the number of a suggestion, or `all`"
    assert peek("map", dataset, "review", "off")[0]["review"] is False
    assert peek("map", dataset, "review", "maybe", code=4)[0]["error"] == "`review` is on or off, not 'maybe'"


def test_the_help_names_every_act(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["map", "--help"])
    said = capsys.readouterr().out.partition("acts:")[2]
    assert all(act in said for act in cli_map.ACTS)
