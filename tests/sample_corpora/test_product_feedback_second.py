"""The second export is what `second.toml` says of it, each planted item gets the verdict named, the answers are right."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from peek_core.context_map import definitions as defs
from peek_core.context_map.admission import reads_a_table, text_refusal
from peek_core.context_map.definitions import Definition
from peek_core.context_map.evidence import gather, verified
from peek_core.context_map.map import MapItem, MapSection
from peek_core.context_map.slots import slotted
from peek_core.errors import QueryFailed
from peek_core.ports import RunQuery
from peek_core.values.trajectory import Table
from sample_corpora.product_feedback import generate, gold, gold_second, second

FOLDER = Path(second.__file__).parent
ABOUT: dict[str, Any] = tomllib.loads((FOLDER / "second.toml").read_text(encoding="utf-8"))
ITEMS: list[dict[str, Any]] = ABOUT["item"]
CHANGES: dict[str, Any] = ABOUT["changes"]
PROSE = [one for one in ITEMS if one["kind"] == "prose"]
DEFINITIONS = [one for one in ITEMS if one["kind"] == "definition"]
TABLE = "product_feedback"
TYPES = {"created_at": "TIMESTAMP", "feedback_id": "BIGINT", "rating": "BIGINT", "nps": "BIGINT"}
COLUMNS = {column: TYPES.get(column, "VARCHAR") for column in generate.COLUMNS} | {"monthly_spend": "BIGINT"}
NOW = COLUMNS | {"monthly_spend": "DOUBLE"}


def ids(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"argvalues": items, "ids": [one["id"] for one in items]}


class Export:
    """One export as the app has it: `raw.product_feedback`, and the view over it that definitions make."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self.columns = columns
        self._con = duckdb.connect()
        self._con.execute("ATTACH ':memory:' AS raw")
        header = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
        told = {name: columns[second.RENAMED.get(name, name)] for name in header}
        back = ", ".join(f'"{new}" AS {second.RENAMED.get(new, new)}' for new in header)
        self._con.execute(
            f"CREATE TABLE raw.{TABLE} AS SELECT {back} FROM read_csv($1, header=true, auto_detect=false, delim=',', "
            f"quote='\"', escape='\"', new_line='\\n', nullstr='', columns=$2)",
            [str(path), told],
        )
        self.header = header

    def under(self, active: list[Definition]) -> RunQuery:
        """A query function over the view that these definitions make."""
        view = defs.view_sql(TABLE, self.columns, active)
        self._con.execute(f"CREATE OR REPLACE VIEW {TABLE} AS {view}")
        return self.query

    def query(self, sql: str) -> Table:
        try:
            cursor = self._con.execute(sql)
            rows = tuple(cursor.fetchall())
        except duckdb.Error as failure:
            raise QueryFailed(str(failure)) from failure
        return Table(tuple(d[0] for d in cursor.description or ()), rows, len(rows))

    def values(self, sql: str) -> list[Any]:
        return [row[0] if len(row) == 1 else row for row in self.query(sql).rows]


@pytest.fixture(scope="module")
def old_rows() -> list[generate.Feedback]:
    return list(generate.build())


@pytest.fixture(scope="module")
def new_rows(old_rows: list[generate.Feedback]) -> list[second.Again]:
    return list(second.build_second(old_rows))


@pytest.fixture(scope="module")
def paths(
    old_rows: list[generate.Feedback], new_rows: list[second.Again], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("exports")
    return generate.write_rows(folder, old_rows), second.write_second(folder, new_rows)


@pytest.fixture(scope="module")
def first_export(paths: tuple[Path, Path]) -> Export:
    return Export(paths[0], COLUMNS)


@pytest.fixture(scope="module")
def second_export(paths: tuple[Path, Path]) -> Export:
    return Export(paths[1], NOW)


@pytest.fixture(scope="module")
def both(paths: tuple[Path, Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Both files as text, in one database: tables `old` and `new`."""
    con = duckdb.connect()
    for name, path in zip(("old", "new"), paths, strict=True):
        con.execute(
            f"CREATE TABLE {name} AS SELECT * FROM read_csv($1, header=true, all_varchar=true, delim=',', quote='\"', "
            "escape='\"', nullstr='')",
            [str(path)],
        )
    yield con
    con.close()


def made(item: dict[str, Any], columns: dict[str, str] = COLUMNS) -> Definition:
    found = defs.from_data(item["definition"], {TABLE: columns})
    assert not isinstance(found, str), found
    return replace(found, id=item["id"], state="on")


def one(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    row = con.execute(sql).fetchall()[0]
    return row[0] if len(row) == 1 else row


def test_the_file_is_the_expected_one(paths: tuple[Path, Path], new_rows: list[second.Again], tmp_path: Path) -> None:
    assert paths[1].name == ABOUT["file"] == second.FILE_NAME
    header, _, body = paths[1].read_bytes().partition(b"\n")
    assert header.decode() == ",".join(second.COLUMNS) and b"\r" not in body
    with pytest.raises(generate.CorpusHashError) as raised:
        second.write_second(tmp_path, new_rows[:10])
    assert second.SHA256 in str(raised.value) and list(tmp_path.iterdir()) == []


def test_rows_gone_settled_and_new_are_those_told(both: duckdb.DuckDBPyConnection) -> None:
    assert one(both, "SELECT count(*) FROM new") == ABOUT["rows"]
    gone = "old ANTI JOIN new USING (feedback_id)"
    assert one(both, f"SELECT count(*), count(DISTINCT customer_id) FROM {gone}") == (
        CHANGES["rows_removed"],
        CHANGES["customers_removed"],
    )
    assert one(both, f"SELECT count(*) FROM new WHERE customer_id IN (SELECT customer_id FROM {gone})") == 0
    added = "new ANTI JOIN old USING (feedback_id)"
    assert one(both, f"SELECT count(*), min(feedback_id::INT), max(feedback_id::INT) FROM {added}") == (
        CHANGES["rows_added"],
        generate.FIRST_ID + generate.ROWS,
        generate.FIRST_ID + generate.ROWS + CHANGES["rows_added"] - 1,
    )
    assert one(both, f"SELECT min(created_at)[:7], max(created_at)[:10] FROM {added}") == (
        "2026-11",
        str(CHANGES["last_day"]),
    )
    assert one(both, "SELECT min(created_at)[:10] FROM new") == str(CHANGES["first_day"])
    settled = "SELECT o.status AS was, n.status AS is_now FROM old o JOIN new n USING (feedback_id) WHERE was <> is_now"
    assert one(both, f"SELECT count(*) FROM ({settled})") == CHANGES["rows_changed"]
    assert both.execute(f"SELECT DISTINCT was, is_now FROM ({settled}) ORDER BY ALL").fetchall() == [
        ("new", "closed"),
        ("reviewed", "closed"),
    ]
    kept = [c for c in generate.COLUMNS if c not in ("status", "nps", "monthly_spend", "app_version")]
    same = " AND ".join(f"o.{c} IS NOT DISTINCT FROM n.{c}" for c in kept)
    assert one(
        both,
        f"SELECT count(*) FROM old o JOIN new n USING (feedback_id) WHERE NOT ({same} "
        "AND o.app_version IS NOT DISTINCT FROM n.release AND nullif(o.nps, '99') IS NOT DISTINCT FROM n.nps "
        "AND o.monthly_spend::BIGINT = round(n.monthly_spend::DECIMAL(18, 2) * 100))",
    ) == 0  # fmt: skip


def test_layout_values_and_meaning_changed_as_told(both: duckdb.DuckDBPyConnection) -> None:
    names = [row[0] for row in both.execute("DESCRIBE new").fetchall()]
    was = [row[0] for row in both.execute("DESCRIBE old").fetchall()]
    renamed = {new: old for old, new in CHANGES["renamed"].items()}
    assert names == CHANGES["columns"] == list(second.COLUMNS) and renamed == second.RENAMED
    back = [renamed.get(name, name) for name in names]
    assert sorted(back) == sorted(was) and back != was
    new_name = {old: new for new, old in renamed.items()}
    for column in ("channel", "app_version", "plan", "region", "status", "rating"):
        before = {row[0] for row in both.execute(f"SELECT DISTINCT {column} FROM old").fetchall()}
        now = {row[0] for row in both.execute(f"SELECT DISTINCT {new_name.get(column, column)} FROM new").fetchall()}
        assert now - before == set(CHANGES["new_values"].get(column, ())) and before <= now, column
    share = one(both, "SELECT avg((channel = 'chat')::INT) FROM new WHERE created_at >= '2026-11-01'")
    assert 0.09 < share < 0.11
    assert one(both, "SELECT count(*) FROM new WHERE channel = 'chat' AND created_at < '2026-11-01'") == 0
    assert CHANGES["gone_values"] == {"nps": [99]} and CHANGES["missing_instead"] == {"nps": 99}
    assert one(both, "SELECT count(*) FROM new WHERE nps = '99'") == 0
    assert 0.18 < one(both, "SELECT avg((nps IS NULL)::INT) FROM new WHERE created_at >= '2026-11-01'") < 0.22
    assert one(both, r"SELECT bool_and(regexp_full_match(monthly_spend, '\d+\.\d\d')) FROM new")
    rated = "SELECT count(*) FILTER (rating IS NULL), count(rating) FROM new WHERE channel = 'email' AND created_at"
    assert one(both, f"{rated} < '2026-11-01'")[1] == 0
    assert one(both, f"{rated} >= '2026-11-01'")[0] == 0 < one(both, f"{rated} >= '2026-11-01'")[1]
    for value in ("status = 'test'", "region = 'D-A-CH'", "plan = 'P1'", "channel = 'NA'"):
        assert one(both, f"SELECT count(*) FROM new WHERE {value} AND created_at >= '2026-11-01'") > 0


def test_the_items_are_twelve_that_change_and_twelve_that_hold_of_all_kinds() -> None:
    assert len(ITEMS) == len({item["id"] for item in ITEMS}) == 24
    assert Counter(item["truth"] for item in ITEMS) == {"changes": 12, "holds": 12}
    for truth in ("changes", "holds"):
        assert {item["section"] for item in PROSE if item["truth"] == truth} == {"cr", "cu", "dc", "ps", "rr"}
    assert {item["definition"]["kind"] for item in DEFINITIONS} >= {
        "row_exclusion", "sentinel", "unit", "spelling_fold", "code_label", "derived"}  # fmt: skip
    for item in ITEMS:
        right = {"holds", "on"} if item["truth"] == "holds" else {"drifted", "broken", "held_back"}
        assert item["expect"] and set(item["expect"]) <= right, item["id"]


def _planted(item: dict[str, Any], query: RunQuery) -> MapItem:
    evidence = gather(item["evidence"], query, 1)
    template = slotted(item["text"], evidence.expect, item["evidence"]).template
    return MapItem("x", MapSection(item["section"]), item["text"], evidence=evidence, template=template, state="holds")


@pytest.mark.parametrize("item", **ids(PROSE))
def test_a_prose_item_is_shown_by_the_first_export_and_judged_rightly_on_the_second(
    item: dict[str, Any], first_export: Export, second_export: Export
) -> None:
    """Over the raw table, and with definitions on: all of them first, then those that still fit, or still all."""
    known = [made(one) for one in DEFINITIONS]
    fitting = [made(one, NOW) for one in DEFINITIONS if one["truth"] == "holds"]
    assert text_refusal(item["text"]) is None and reads_a_table(item["evidence"])
    told = []
    for before, after in (([], []), (known, fitting), (known, known)):
        planted = _planted(item, first_export.under(before))
        assert planted.evidence is not None
        assert slotted(item["text"], planted.evidence.expect, item["evidence"]).loose == ()
        assert verified(planted, first_export.under(before), 1).state == "holds"
        now = verified(planted, second_export.under(after), 2)
        assert now.state in item["expect"], now.detail
        assert (now.text == item["text"]) == (now.state != "drifted")
        told.append(now.state)
    assert len(set(told)) == 1


@pytest.mark.parametrize("item", **ids(DEFINITIONS))
def test_a_definition_fits_the_first_export_and_its_values_are_there_or_gone_on_the_second(
    item: dict[str, Any], first_export: Export, second_export: Export
) -> None:
    first_export.under([]), second_export.under([])
    found = []
    for export in (first_export, second_export):
        effect = defs.measure(made(item, export.columns), [], export.columns, export.query, 1)
        assert not isinstance(effect, str), effect
        found.append((effect["values_changed"] + effect["rows_before"] - effect["rows_after"]) / effect["rows_before"])
    before, now = found
    assert before > 0
    if item["definition"]["kind"] == "unit":
        column = item["definition"]["column"]
        typical = [e.values(f"SELECT median({column}) FROM raw.{TABLE}")[0] for e in (first_export, second_export)]
        assert typical[1] < typical[0] * CHANGES["unit"]["factor"] * 2
    elif item["truth"] == "changes":
        assert now == 0
    else:
        assert 0.8 < now / before < 1.25


def test_definitions_can_stand_beside_one_another() -> None:
    known = [made(item) for item in DEFINITIONS]
    assert [defs.conflict(d, [o for o in known if o is not d]) for d in known] == [None] * len(known)


def test_questions_file_is_what_the_rows_give(new_rows: list[second.Again]) -> None:
    text = gold_second.QUESTIONS_FILE.read_text(encoding="utf-8")
    assert text == gold.dump(gold_second.compute(new_rows))
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["id"] for line in lines] == [f"pf2-{n:02d}" for n in range(1, 15)]
    assert {line["kind"] for line in lines} == {"S"} and {line["series"] for line in lines} == {2}
    assert not lines[0]["follow_up"] and not any(line["states_rule"] for line in lines)
    assert set(lines[0]) == set(json.loads(gold.QUESTIONS_FILE.read_text(encoding="utf-8").partition("\n")[0]))


@pytest.fixture(scope="module")
def truth(new_rows: list[second.Again]) -> Iterator[duckdb.DuckDBPyConnection]:
    con = gold.connect(new_rows, second.COLUMNS)
    yield con
    con.close()


@pytest.fixture(scope="module")
def right() -> list[Any]:
    lines = gold_second.QUESTIONS_FILE.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["answer"] for line in lines]


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= tolerance
    return bool(a == b)


def test_every_answer_differs_from_the_one_of_the_first_export(
    old_rows: list[generate.Feedback], right: list[Any]
) -> None:
    con = gold.connect(old_rows)
    gold.create_views(con, gold.COMPILED_RULES)
    for question, answer in zip(gold_second.questions(), right, strict=True):
        assert not _same(gold.answer(con, question), answer, question.tolerance), question.question
    con.close()


@pytest.mark.parametrize(
    ("rules", "least"),
    [
        ((*gold_second.STILL_TRUE, "spend_in_cents"), 3),
        ((*gold_second.STILL_TRUE, "nps_not_asked"), 1),
        ((*gold_second.STILL_TRUE, "email_has_no_rating"), 2),
        (gold_second.STILL_TRUE[1:], 10),
        (("test_rows", "dach_spelling", "channel_na"), 1),
        (("test_rows", "dach_spelling", "plan_codes"), 1),
    ],
)
def test_a_stale_rule_believed_or_a_true_one_forgotten_gives_wrong_answers(
    truth: duckdb.DuckDBPyConnection, right: list[Any], rules: tuple[str, ...], least: int
) -> None:
    gold_second.create_view(truth, rules)
    wrong = [
        question.id
        for question, answer in zip(gold_second.questions(), right, strict=True)
        if not _same(gold.answer(truth, question), answer, question.tolerance)
    ]
    assert len(wrong) >= least, wrong


def test_the_corpus_names_its_second_export() -> None:
    corpus = tomllib.loads((FOLDER / "corpus.toml").read_text(encoding="utf-8"))
    assert corpus["second"] == ABOUT["generator"] and corpus["second_as_of"] == ABOUT["as_of"]
    assert ABOUT["questions"] == gold_second.QUESTIONS_FILE.name
    assert set(ABOUT["still_true"]) | set(ABOUT["no_longer_true"]) == set(corpus["house_rules"])
