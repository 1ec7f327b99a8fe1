"""The sample corpus is what its answers say: same bytes, same answers, planted facts that hold and that matter."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sample_corpora.product_feedback import generate, gold

FOLDER = Path(generate.__file__).parent


@pytest.fixture(scope="module")
def rows() -> list[generate.Feedback]:
    return list(generate.build())


@pytest.fixture(scope="module")
def real(rows: list[generate.Feedback]) -> list[generate.Feedback]:
    return [row for row in rows if row.status != "test"]


@pytest.fixture(scope="module")
def golds() -> list[dict[str, Any]]:
    lines = gold.QUESTIONS_FILE.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def corpus() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "corpus.toml").read_text(encoding="utf-8"))


def test_the_file_is_the_expected_one(rows: list[generate.Feedback], tmp_path: Path) -> None:
    path = generate.write_rows(tmp_path, rows)
    assert [entry.name for entry in tmp_path.iterdir()] == ["product_feedback.csv"]
    assert path.read_text(encoding="utf-8").startswith(",".join(generate.COLUMNS) + "\n")


def test_a_different_file_is_refused_and_not_kept(rows: list[generate.Feedback], tmp_path: Path) -> None:
    with pytest.raises(generate.CorpusHashError) as raised:
        generate.write_rows(tmp_path, rows[:10])
    assert generate.SHA256 in str(raised.value)
    assert len([word for word in str(raised.value).replace(",", " ").split() if len(word) == 64]) == 2
    assert list(tmp_path.iterdir()) == []


def test_questions_file_is_what_the_rows_give(rows: list[generate.Feedback]) -> None:
    assert gold.QUESTIONS_FILE.read_text(encoding="utf-8") == gold.dump(gold.compute(rows))


def test_shape_of_the_series(golds: list[dict[str, Any]], corpus: dict[str, Any]) -> None:
    assert len(golds) >= 44
    assert len({line["id"] for line in golds}) == len(golds)
    assert len({line["question"] for line in golds}) == len(golds)
    kinds = Counter(line["kind"] for line in golds)
    assert kinds["S"] >= 34 and kinds["T"] >= 10
    assert {line["answer_kind"] for line in golds} == {"number", "share", "text", "table", "none"}
    assert not golds[0]["follow_up"]
    assert sum(line["follow_up"] for line in golds) >= 8
    planted = {fact["id"] for fact in corpus["planted"]}
    stated = [line["states_rule"] for line in golds if line["states_rule"]]
    assert len(planted) == 10 and set(stated) <= planted and len(set(stated)) == len(stated)
    assert set(stated[:8]) >= set(gold.COMPILED_RULES)
    assert all(0 <= line["answer"] <= 2 for line in golds if line["answer_kind"] == "share")


def test_planted_facts_hold(
    rows: list[generate.Feedback], real: list[generate.Feedback], corpus: dict[str, Any]
) -> None:
    facts = {fact["id"]: fact for fact in corpus["planted"]}
    assert len(rows) == corpus["rows"] == generate.ROWS

    def share(column: str, values: list[Any]) -> float:
        return sum(getattr(row, column) in values for row in rows) / len(rows)

    assert 0.03 < share("status", facts["test_rows"]["values"]) < 0.05
    assert 0.18 < share("nps", facts["nps_not_asked"]["values"]) < 0.22
    assert 0.01 < share("channel", facts["channel_na"]["values"]) < 0.03
    assert {row.nps for row in rows} == {*range(11), 99}
    assert {row.plan for row in rows} == set(facts["plan_codes"]["mapping"])
    regions = Counter(row.region for row in rows)
    ((other, name),) = facts["dach_spelling"]["mapping"].items()
    assert 0.2 < regions[other] / (regions[other] + regions[name]) < 0.3
    assert len(regions) == 7
    assert all((row.rating == "") == (row.channel == "email") for row in rows)
    assert {row.rating for row in rows} == {"", "1", "2", "3", "4", "5"}
    assert len({row.feedback_id for row in rows}) == len(rows) and rows[0].feedback_id == 100_001
    layout = facts["one_row_per_feedback"]
    assert min(row.created_at for row in rows)[:10] == str(layout["first_day"])
    assert max(row.created_at for row in rows)[:10] == str(layout["last_day"])
    assert all((row.app_version == "") == (row.channel in ("email", "phone")) for row in rows)
    spend = {plan: [row.monthly_spend for row in real if row.plan == plan] for plan in ("P1", "P2", "P3")}
    assert all(isinstance(cents, int) for values in spend.values() for cents in values)
    assert max(spend["P1"]) < min(spend["P2"]) and max(spend["P2"]) < min(spend["P3"])
    comments = [row for row in rows if row.comment]
    assert 0.13 < 1 - len(comments) / len(rows) < 0.17
    assert 0.10 < sum(row.language in ("de", "es", "sv") for row in rows) / len(rows) < 0.14
    assert any('"' in row.comment and "\n" not in row.comment for row in rows)
    assert any("\n" in row.comment and "," in row.comment for row in rows)


def test_test_rows_are_unlike_the_others(rows: list[generate.Feedback], real: list[generate.Feedback]) -> None:
    tests = [row for row in rows if row.status == "test"]

    def mean(of: list[generate.Feedback]) -> float:
        return sum(row.monthly_spend for row in of) / len(of)

    assert mean(tests) > 10 * mean(real)
    assert sum(row.region == "North America" for row in tests) / len(tests) > 0.7
    assert {row.rating for row in tests} == {"1", "5"}


def _differs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    def same(a: Any, b: Any) -> bool:
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, int | float) and isinstance(b, int | float):
            return math.isclose(a, b, rel_tol=0, abs_tol=one["tolerance"])
        return bool(a == b)

    return not same(one["answer"], other["answer"])


@pytest.mark.parametrize("ignored", [("test_rows",), gold.COMPILED_RULES])
def test_forgetting_a_rule_gives_wrong_answers(
    rows: list[generate.Feedback], golds: list[dict[str, Any]], ignored: tuple[str, ...]
) -> None:
    careless = gold.compute(rows, ignoring=ignored)
    wrong = [a["id"] for a, b in zip(golds, careless, strict=True) if _differs(a, b)]
    assert len(wrong) * 3 >= len(golds), wrong


@pytest.mark.parametrize("rule", gold.COMPILED_RULES)
def test_every_rule_matters(rows: list[generate.Feedback], golds: list[dict[str, Any]], rule: str) -> None:
    careless = gold.compute(rows, ignoring=(rule,))
    assert sum(map(_differs, golds, careless)) >= 1


def test_top_answers_are_not_ties(rows: list[generate.Feedback]) -> None:
    con = gold.connect(rows)
    gold.create_views(con, gold.COMPILED_RULES)
    top = con.execute("SELECT count(*) FROM feedback GROUP BY customer_id ORDER BY 1 DESC LIMIT 6").fetchall()
    con.close()
    assert top[4] > top[5]
