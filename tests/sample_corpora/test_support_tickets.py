"""The second sample: same bytes, same answers, planted facts that hold; and a European export that reads as meant.

What the loader makes of the files is compared with the generator's own rows and with a workbook of the same rows.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from peek_core import settings
from peek_core.corpus.load import Source, load_files
from peek_core.lab.grading import Verdict, grade
from peek_core.lab.series import planted_found
from peek_core.samples import sample
from peek_core.values.dataset import JoinKey, LoadReport, ReadChoices
from peek_core.workspace import Workspace
from sample_corpora.support_tickets import generate, gold, phrases, rows, twin

CORPUS = sample("support_tickets")

TICKET_TYPES = {
    "ticket_nr": "VARCHAR",
    "created": "TIMESTAMP",
    "closed": "DATE",
    "customer_no": "VARCHAR",
    "queue": "VARCHAR",
    "priority": "VARCHAR",
    "status": "VARCHAR",
    "channel": "VARCHAR",
    "first_reply_minutes": "BIGINT",
    "effort_eur": "DOUBLE",
    "satisfaction": "BIGINT",
    "subject": "VARCHAR",
    "body": "VARCHAR",
}
CUSTOMER_TYPES = {
    "customer_no": "VARCHAR",
    "name": "VARCHAR",
    "country": "VARCHAR",
    "segment": "VARCHAR",
    "since": "DATE",
    "yearly_revenue_eur": "BIGINT",
}


@pytest.fixture(scope="module")
def built() -> rows.Corpus:
    return rows.build()


@pytest.fixture(scope="module")
def golds() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gold.QUESTIONS_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def facts() -> dict[str, dict[str, Any]]:
    about = tomllib.loads(Path(generate.__file__).with_name("corpus.toml").read_text(encoding="utf-8"))
    return {fact["id"]: fact for fact in about["planted"]}


@pytest.fixture(scope="module")
def files(built: rows.Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return generate.write(tmp_path_factory.mktemp("export"), built)


def _load(sources: list[Source], target: Path) -> tuple[LoadReport, dict[str, list[tuple[Any, ...]]]]:
    """What the loader says, and all rows by table in file order."""
    report = load_files(sources, target)
    with duckdb.connect(str(target), read_only=True) as con:
        tables = {t.name: con.execute(f"SELECT * FROM {t.name} ORDER BY rowid").fetchall() for t in report.tables}
    return report, tables


@pytest.fixture(scope="module")
def loaded(
    files: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[LoadReport, dict[str, list[tuple[Any, ...]]]]:
    return _load([Source(path, path.name) for path in files], tmp_path_factory.mktemp("loaded") / "v1.duckdb")


# The files and the answers


def test_the_files_are_the_expected_ones(files: tuple[Path, ...]) -> None:
    """Their hashes are checked on writing; here that the bytes are those of such an export."""
    assert [path.name for path in files] == ["tickets.csv", "customers.csv"]
    assert [entry.name for entry in sorted(files[0].parent.iterdir())] == ["customers.csv", "tickets.csv"]
    for path, above, header in zip(
        files,
        (generate.TICKETS_ABOVE, generate.CUSTOMERS_ABOVE),
        (generate.TICKET_HEADER, generate.CUSTOMER_HEADER),
        strict=True,
    ):
        data = path.read_bytes()
        assert data.startswith(f"{above}\r\n{';'.join(header)}\r\n".encode("cp1252"))
        assert data.endswith(b"\r\n")
        with pytest.raises(UnicodeDecodeError):
            data.decode("utf-8")
    text = files[0].read_bytes().decode("cp1252")
    assert all(sign in text for sign in "äöüÖÜß€„“”’–…Ø½") and '""504""' in text
    assert text.count("\r\n") == rows.TICKETS + 2 < text.count("\n")


def test_different_rows_are_refused_and_not_kept(built: rows.Corpus, tmp_path: Path) -> None:
    with pytest.raises(generate.CorpusHashError) as raised:
        generate.write(tmp_path, rows.Corpus(built.tickets, built.customers[:10]))
    assert generate.SHA256["customers.csv"] in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_questions_file_is_what_the_rows_give(built: rows.Corpus) -> None:
    assert gold.QUESTIONS_FILE.read_text(encoding="utf-8") == gold.dump(gold.compute(built))


def test_shape_of_the_series(golds: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    assert len(golds) >= 50
    assert len({line["id"] for line in golds}) == len({line["question"] for line in golds}) == len(golds)
    kinds = Counter(line["kind"] for line in golds)
    assert kinds["S"] >= 40 and kinds["J"] >= 8 and kinds["T"] >= 3
    assert {line["answer_kind"] for line in golds} == {"number", "share", "text", "table", "none"}
    assert not golds[0]["follow_up"] and sum(line["follow_up"] for line in golds) >= 4
    stated = [line["states_rule"] for line in golds if line["states_rule"]]
    assert len(facts) == 11 and set(stated) <= set(facts) and len(set(stated)) == len(stated)
    # House rules come first.
    assert [line["states_rule"] for line in golds[: len(stated)]] == stated
    assert set(stated) >= set(gold.COMPILED_RULES)
    assert all(0 <= line["answer"] <= 1 for line in golds if line["answer_kind"] == "share")


def test_planted_facts_hold(built: rows.Corpus, facts: dict[str, dict[str, Any]]) -> None:
    tickets, customers = built.tickets, built.customers
    assert (len(tickets), len(customers)) == (rows.TICKETS, rows.CUSTOMERS) == (8_000, 900)
    tests = [t for t in tickets if t.queue in facts["test_tickets"]["values"]]
    assert tests == tickets[-rows.TEST_TICKETS :] and len(tests) == 40

    asked = Counter(t.satisfaction for t in tickets)
    assert set(asked) == {None, 1, 2, 3, 4, 5, *facts["satisfaction_not_asked"]["values"]}
    assert 0.2 < asked[9] / len(tickets) < 0.3
    assert all((t.satisfaction is None) == (t.status in ("offen", "wartet")) for t in tickets)

    status = Counter(t.status for t in tickets)
    ((other, name),) = facts["status_spelling"]["mapping"].items()
    assert set(status) == {"offen", "wartet", other, name} and 0.15 < status[other] / status[name] < 0.5
    assert all((t.closed is None) == (t.status in ("offen", "wartet")) for t in tickets)
    assert {t.priority for t in tickets} == set(facts["priority_codes"]["mapping"]) == set(gold.PRIORITIES)
    assert {c.segment for c in customers} == set(facts["segment_codes"]["mapping"]) == set(gold.SEGMENTS)
    assert facts["priority_codes"]["mapping"] == gold.PRIORITIES
    assert facts["segment_codes"]["mapping"] == gold.SEGMENTS

    (unknown,) = facts["unknown_customer"]["values"]
    known = {c.customer_no for c in customers}
    assert {t.customer_no for t in tickets} - known == {unknown}
    assert 0.01 < sum(t.customer_no == unknown for t in tickets) / len(tickets) < 0.03
    assert all(len(number) == 7 and number.startswith("00") for number in known)

    assert facts["late_reply"]["values"] == [gold.LATE]
    assert all((t.first_reply_minutes is None) == (t.channel == "Telefon") for t in tickets)
    assert len({t.ticket_no for t in tickets}) == len(tickets) and len(known) == len(customers)
    days = [t.created.date() for t in tickets]
    assert days == sorted(days) and (days[0], days[-1]) == (rows.FIRST_DAY, rows.LAST_DAY)
    since = [c.since for c in customers]
    last = facts["one_row_per_customer"]
    assert (min(since), max(since)) == (last["first_day"], last["last_day"]) and max(since) < rows.FIRST_DAY


def test_the_rows_hold_what_breaks_careless_readers(built: rows.Corpus) -> None:
    subjects = {t.subject for t in built.tickets}
    assert subjects >= set(phrases.ODD_SUBJECTS)
    assert {c.name for c in built.customers} >= set(phrases.QUOTED_NAMES)
    bodies = [t.body or "" for t in built.tickets]
    assert sum("\n" in body for body in bodies) > 5_000
    assert any('"' in body and ";" in body and "\n" in body and "€" in body for body in bodies)
    assert 500 < sum(body == "" for body in bodies) < 1_000
    minutes = [t.first_reply_minutes or 0 for t in built.tickets]
    assert max(minutes) > 10_000 and sum(m >= 1_000 for m in minutes) > 300
    assert sum((t.effort or 0) >= 100_000 for t in built.tickets) > 200


def _differs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    def same(a: Any, b: Any) -> bool:
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, int | float) and isinstance(b, int | float):
            return math.isclose(a, b, rel_tol=0, abs_tol=one["tolerance"])
        return bool(a == b)

    return not same(one["answer"], other["answer"])


@pytest.mark.parametrize("rule", gold.COMPILED_RULES)
def test_every_rule_matters(built: rows.Corpus, golds: list[dict[str, Any]], rule: str) -> None:
    assert any(map(_differs, golds, gold.compute(built, ignoring=(rule,))))


def test_forgetting_the_rules_gives_wrong_answers(built: rows.Corpus, golds: list[dict[str, Any]]) -> None:
    careless = gold.compute(built, ignoring=gold.COMPILED_RULES)
    wrong = [a["id"] for a, b in zip(golds, careless, strict=True) if _differs(a, b)]
    assert len(wrong) * 3 >= len(golds), wrong


def test_top_answers_are_not_ties(built: rows.Corpus) -> None:
    view = gold.curated(built, gold.COMPILED_RULES)
    for key in (lambda t: t.customer_no, lambda t: t.queue, lambda t: t.created.weekday()):
        counts = [n for value, n in Counter(map(key, view.tickets)).most_common(3) if value != ""]
        assert counts[0] > counts[1]


# What the loader makes of the files


def test_the_export_reads_as_meant_and_without_a_doubt(
    loaded: tuple[LoadReport, dict[str, list[tuple[Any, ...]]]],
) -> None:
    report = loaded[0]
    tickets, customers = report.tables
    assert (tickets.name, tickets.rows, tickets.rejects) == ("tickets", 8_000, 0)
    assert (customers.name, customers.rows, customers.rejects) == ("customers", 900, 0)
    assert report.doubts == ()
    for table, above in ((tickets, "Ticketexport"), (customers, "Export vom 15.11.2026")):
        assert table.encoding == "Windows-1252"
        assert table.dialect == "semicolon, double quote, header in line 2"
        assert any("1 line above the header left out" in line and f"“{above}”" in line for line in table.repairs)
    assert {c.name: c.type for c in tickets.columns} == TICKET_TYPES
    assert {c.name: c.type for c in customers.columns} == CUSTOMER_TYPES
    assert tuple(c.label for c in tickets.columns) == generate.TICKET_HEADER
    assert tuple(c.label for c in customers.columns) == generate.CUSTOMER_HEADER


def test_the_loader_says_what_it_took_for_granted(
    loaded: tuple[LoadReport, dict[str, list[tuple[Any, ...]]]],
) -> None:
    tickets, customers = (" ".join(table.assumptions) for table in loaded[0].tables)
    for column in ("created", "closed"):
        assert f"{column}: dates read day first" in tickets
    assert "since: dates read day first" in customers
    for said in (tickets, customers):
        assert "customer_no: kept as text" in said and "leading zeros" in said
    assert "first_reply_minutes: signs between thousands read as numbers" in tickets
    assert "Effort (EUR): signs between thousands, decimal commas and currency signs read as numbers" in tickets
    assert "yearly_revenue_eur: signs between thousands read as numbers" in customers


def test_every_value_is_the_generators(
    built: rows.Corpus, loaded: tuple[LoadReport, dict[str, list[tuple[Any, ...]]]]
) -> None:
    tables = loaded[1]
    for got, row in zip(tables["tickets"], built.tickets, strict=True):
        wanted = twin.ticket_values(row)
        assert got == wanted and [type(a) for a in got] == [type(b) for b in wanted], row.ticket_no
    for got, customer in zip(tables["customers"], built.customers, strict=True):
        assert got == tuple(customer), customer.customer_no


def test_the_tables_are_found_to_belong_together(
    loaded: tuple[LoadReport, dict[str, list[tuple[Any, ...]]]],
) -> None:
    (key,) = loaded[0].keys
    assert replace(key, share=0.0) == JoinKey("tickets", "customer_no", "customers", "customer_no", 0.0, True)
    assert 0.99 < key.share < 1  # but for the number that stands for an unknown customer


def test_the_workbook_gives_the_same_tables_cell_by_cell(
    built: rows.Corpus, loaded: tuple[LoadReport, dict[str, list[tuple[Any, ...]]]], tmp_path: Path
) -> None:
    book = twin.write_xlsx(tmp_path / "book", built)
    report, tables = _load([Source(book, book.name, ReadChoices(sheets=("*",)))], tmp_path / "v1.duckdb")
    assert [(t.name, t.rows) for t in report.tables] == [("tickets", 8_000), ("customers", 900)]
    for ours, theirs in zip(loaded[0].tables, report.tables, strict=True):
        assert [(c.name, c.label, c.type, c.nulls, c.distinct) for c in ours.columns] == [
            (c.name, c.label, c.type, c.nulls, c.distinct) for c in theirs.columns
        ]
    assert tables == loaded[1]
    assert (report.doubts, report.keys) == ((), loaded[0].keys)


# What the built-in analyst makes of the questions

Answers = list[tuple[dict[str, Any], Verdict, str]]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, str, Answers]]:
    """The whole series in one conversation; rules that questions state are accepted at once."""
    w = Workspace(settings.read({}, tmp_path_factory.mktemp("analyst")))
    held = w.load_sample(CORPUS.name)
    accepting = replace(w.map_settings(held), auto_accept=True)
    found: Answers = []
    for line in CORPUS.questions:
        view = w.wait(w.ask(held.id, line["question"], map_settings=accepting))
        answer = view.trajectory.answer if view.trajectory else None
        found.append((dict(line), grade(line, view.status, answer), answer.text if answer else ""))
    yield w, held.id, found
    w.close()


def test_the_sample_is_one_dataset_of_two_tables(answered: tuple[Workspace, str, Answers]) -> None:
    w, dataset, _ = answered
    held = w.dataset(dataset)
    assert (held.title, held.as_of, held.options["sample"]) == ("Support tickets", "2026-11-15", "support_tickets")
    assert [t.name for t in w.report(dataset).tables] == ["tickets", "customers"]
    assert w.load_sample(CORPUS.name).id == dataset


def test_it_answers_most_questions_on_one_table_and_none_wrongly(answered: tuple[Workspace, str, Answers]) -> None:
    single = [(line["question"], verdict, text) for line, verdict, text in answered[2] if line["kind"] == "S"]
    assert [(question, text) for question, verdict, text in single if verdict == "wrong"] == []
    assert sum(verdict != "no_answer" for _, verdict, _ in single) >= 0.6 * len(single)


def test_what_it_cannot_do_it_does_not_do(answered: tuple[Workspace, str, Answers]) -> None:
    """Questions over both tables and those on texts: an answer is right, or there is none."""
    wrong = {line["question"] for line, verdict, _ in answered[2] if line["kind"] != "S" and verdict == "wrong"}
    assert wrong == set()


def test_the_planted_facts_stand_in_the_map_or_as_definitions(answered: tuple[Workspace, str, Answers]) -> None:
    w, dataset, _ = answered
    current = w.map(dataset)
    found, missing = planted_found(
        CORPUS.planted, [i.text for i in current.items], [d.as_data() for d in current.active]
    )
    assert len(found) >= 9, missing
    assert [i.id for i in w.curator(dataset).verify().items if i.state in ("drifted", "broken")] == []


def test_the_types_of_the_rows_are_those_of_the_columns(built: rows.Corpus) -> None:
    """The comparisons above mean something only if the generator's own values are typed."""
    first = built.tickets[0]
    assert type(first.created) is datetime and type(first.closed) is date
    assert all(t.closed is None or t.closed - t.created.date() >= timedelta(0) for t in built.tickets)
    assert all(t.closed is None or t.closed <= rows.LAST_DAY for t in built.tickets)
