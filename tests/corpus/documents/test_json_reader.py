"""JSON: every record arrives with every key that any record has, and what could not be read is kept and counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peek_core.corpus.documents import json_reader, json_scan
from peek_core.errors import UnreadableFile

Load = Callable[..., Any]


def lines(*records: Any) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def said(shelf: Any) -> str:
    table = shelf.table
    return "\n".join([*table.repairs, *table.assumptions, *(doubt.what for doubt in shelf.report.doubts)])


def test_a_key_that_only_late_records_have_and_a_broken_line(load: Load) -> None:
    records = "".join(f'{{"id": {n}, "text": "t{n}"}}\n' for n in range(1, 25_001))
    broken = '{"id": 25002, "text": "bro'
    shelf = load(
        records + '{"id": 25001, "text": "x", "csat": 2}\n' + broken + '\n{"id": 25003, "csat": 4}\n', name="t.jsonl"
    )
    assert (shelf.table.rows, shelf.table.rejects) == (25_002, 1)
    assert shelf.sql("SELECT count(csat), avg(csat) FROM t") == [(2, 3.0)]
    assert shelf.sql("SELECT * FROM rejects.t") == [(25_002, "Unterminated string starting at column 23", broken)]
    assert (
        "1 record was rejected, the first in line 25,002: Unterminated string starting at column 23."
        in shelf.table.repairs
    )


def test_types_are_those_of_all_values(load: Load) -> None:
    shelf = load(
        lines(
            {
                "i": 1,
                "f": 1,
                "b": True,
                "s": "x",
                "code": "00501",
                "digits": "5",
                "day": "2024-03-01",
                "moment": "2024-03-01",
            },
            {
                "i": 2**62,
                "f": 2.5,
                "b": False,
                "s": "",
                "code": "1",
                "digits": "6",
                "day": "2024-03-02",
                "moment": "2024-03-02T10:00:00",
            },
            {"i": None, "f": None, "b": None, "s": None, "code": None, "digits": None, "day": None, "moment": None},
        )
    )
    assert shelf.types() == {
        "i": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN", "s": "VARCHAR", "code": "VARCHAR", "digits": "VARCHAR", "day": "DATE",
        "moment": "TIMESTAMP",
    }  # fmt: skip
    assert shelf.sql("SELECT * FROM t") == [
        (1, 1.0, True, "x", "00501", "5", date(2024, 3, 1), datetime(2024, 3, 1)),
        (2**62, 2.5, False, "", "1", "6", date(2024, 3, 2), datetime(2024, 3, 2, 10)),
        (None,) * 8,
    ]
    assert shelf.table.repairs == () and [c.nulls for c in shelf.table.columns] == [1] * 8
    assert [c.distinct for c in shelf.table.columns] == [2] * 8


def test_numbers_that_no_column_holds_exactly_stay_text(load: Load) -> None:
    shelf = load('{"big": 18446744073709551616, "mixed": 9007199254740993}\n{"big": 1, "mixed": 0.5}\n')
    assert shelf.sql("SELECT * FROM t") == [("18446744073709551616", "9007199254740993"), ("1", "0.5")]
    assert "big: kept as text, because whole numbers such as 18446744073709551616 have too many digits." in said(shelf)
    assert (
        "mixed: kept as text, because as decimal numbers whole ones such as 9007199254740993 would be rounded."
        in said(shelf)
    )


def test_digits_that_are_rounded_are_said(load: Load) -> None:
    shelf = load('[{"v": 0.1234567890123456789}, {"v": 0.5}, {"v": 0.1000000000000000}]')
    assert shelf.sql("SELECT v FROM t") == [(0.12345678901234568,), (0.5,), (0.1,)]
    assert "1 number has more digits than can be kept, such as 0.1234567890123456789; rounded." in shelf.table.repairs


def test_objects_become_columns_one_level_deep(load: Load) -> None:
    shelf = load(
        lines(
            {"id": 1, "user": {"name": "A", "home": {"city": "B", "no": 1.50}}, "tags": ["x", "y"], "meta": {}},
            {"id": 2, "user": {"name": "C", "age": 7}, "tags": [], "meta": {}},
        )
    )
    assert [c.label for c in shelf.table.columns] == ["id", "user.name", "user.home", "tags", "user.age", "meta"]
    assert shelf.sql("SELECT * FROM t") == [
        (1, "A", '{"city":"B","no":1.5}', '["x","y"]', None, None),
        (2, "C", None, "[]", 7, None),
    ]
    assert "user: 2 objects became the columns user.name, user.home, user.age." in shelf.table.assumptions
    assert "2 empty objects were read as missing, such as in meta." in shelf.table.assumptions
    assert (
        'user.home: lists and objects such as {"city":"B","no":1.5} were kept as JSON text.' in shelf.table.assumptions
    )


def test_columns_of_several_kinds_are_text_and_say_so(load: Load) -> None:
    shelf = load(lines({"v": 1}, {"v": "one"}, {"v": True}, {"v": 1.0}))
    assert shelf.sql("SELECT v FROM t") == [("1",), ("one",), ("true",), ("1.0",)]
    assert shelf.table.assumptions == (
        "v: values of several kinds, numbers (such as 1.0) and text (such as one) and true or false (such as true), "
        "were all read as text.",
    )


def test_keys_that_stand_twice_and_words_that_are_no_numbers_are_counted(load: Load) -> None:
    shelf = load('{"a": 1, "a": 2, "b": NaN}\n{"a": 3, "b": {"c": 1, "c": 2}}\n{"a": -Infinity, "b": null}\n')
    assert shelf.sql("SELECT a FROM t") == [(2,), (3,), (None,)]
    assert "2 keys stood twice in one object, such as “a”; the last value was kept." in shelf.table.repairs
    assert "2 values such as NaN and Infinity, which are no numbers, read as missing." in shelf.table.repairs


def test_signs_that_are_no_characters_are_replaced_and_counted(load: Load) -> None:
    shelf = load('{"a\\ud800": "x\\u0000y\\udfff"}\n{"b": "\\ud83d\\ude00"}\n')
    assert shelf.sql("SELECT * FROM t") == [("xy\ufffd", None), (None, "😀")]
    assert shelf.table.columns[0].label == "a\ufffd" and "3 signs that are no characters" in said(shelf)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_encoding_and_line_end(load: Load, encoding: str, newline: str) -> None:
    content = newline.join(['{"id": 1, "c": "Café"}', "", '{"id": 2, "c": "Grün\\r\\n"}', ""])
    shelf = load(content.encode(encoding))
    assert shelf.sql("SELECT * FROM t") == [(1, "Café"), (2, "Grün\r\n")]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ('[{"id": 1, "c": "a"}, {"id": 2}]', "JSON, one list"),
        ('[\n  {"id": 1,\n   "c": "a"},\n  {"id": 2}\n]\n', "JSON, one list"),
        ('{"page": 1, "rows": [{"id": 1, "c": "a"}, {"id": 2}], "tags": []}', "JSON, list “rows”"),
        ('{\n "rows": [\n  {"id": 1, "c": "a"},\n  {"id": 2}\n ]\n}', "JSON, list “rows”"),
        ('[["id", "c"], [1, "a"], [2, null]]', "JSON, one list"),
        ('["id", "c"]\n[1, "a"]\n[2, null]\n', "JSON Lines"),
        ('{"id": 1, "c": "a"}\n{"id": 2}\n', "JSON Lines"),
    ],
)
def test_every_form_of_a_list_of_records(load: Load, content: str, form: str) -> None:
    shelf = load(content, name="t.txt")
    assert shelf.sql("SELECT * FROM t") == [(1, "a"), (2, None)] and shelf.table.dialect == form


def test_what_stands_beside_the_list_is_named(load: Load) -> None:
    shelf = load('{"page": 1, "rows": [{"id": 1}], "next": null}')
    assert shelf.table.assumptions == ("The records are those of the list “rows”; left out: page, next.",)


def test_lists_of_other_lengths_and_without_a_header(load: Load) -> None:
    shelf = load("[[1, 2], [3], [4, 5, 6]]")
    assert shelf.sql("SELECT * FROM t") == [(1, 2, None), (3, None, None), (4, 5, 6)]
    assert [c.label for c in shelf.table.columns] == ["column 1", "column 2", "column 3"]
    assert [doubt.alternative for doubt in shelf.report.doubts] == ["read it as the header"]
    assert "2 lists are of another length than the first; what lacks was read as missing." in shelf.table.repairs


def test_one_record_alone(load: Load) -> None:
    assert load('{\n "id": 1,\n "c": "a"\n}\n').sql("SELECT * FROM t") == [(1, "a")]


def test_what_is_no_record_is_rejected_with_its_line(load: Load) -> None:
    shelf = load('{"a": 1}\n[1]\n7\n\n{"a": 2,}\n{"a": ' + "[" * 2_000 + "\n" + '{"a": ' + "9" * 5_000 + "}\n")
    rejects = shelf.sql("SELECT line, reason, length(text) FROM rejects.t")
    assert [line for line, _, _ in rejects] == [2, 3, 5, 6, 7] and shelf.table.rejects == 5
    assert [reason for _, reason, _ in rejects][:2] == ["a list where the others are objects", "not an object"]
    assert rejects[3][1] == "nested too deeply" and max(length for _, _, length in rejects) == 2_000
    shelf = load('[\n {"a": 1},\n 7,\n {"a": 2}\n]')
    assert shelf.sql("SELECT line, text FROM rejects.t") == [(3, "7")] and shelf.table.rows == 2


def test_a_line_too_long_is_rejected_alone(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_scan, "MAX_RECORD", 100)
    shelf = load(lines({"a": 1}, {"a": "x" * 500}, {"a": 2}))
    assert shelf.sql("SELECT a FROM t") == [(1,), (2,)]
    assert shelf.sql("SELECT line FROM rejects.t") == [(2,)]


@pytest.mark.parametrize(
    ("content", "what", "where"),
    [
        ('[{"a": 1},\n {"a" 2}]', "broken", "line 2, column 7"),
        ('[{"a": 1}\n {"a": 2}]', "broken", "line 2, column 2"),
        ('[{"a": 1}] [', "broken", "line 1, column 12"),
        ('{"rows": [{"a": 1}', "broken", "line 1, column 19"),
        ("[" * 100_000, "nested too deeply", ""),
        ('{"a": [{"x": 1}], "b": [{"x": 1}]}', "several lists of records: a, b", ""),
        ('{"a": {"x": 1}, "b": {"x": 2}}', "no list of records", ""),
        ("[]", "no record", ""),
        ("[1, 2]", "no record", "line 1: not an object"),
        ("{}\n{}\n", "No record", ""),
        ('{"a" 1}\n{"a" 2}\n', "broken", "line 1, column 6"),
    ],
)
def test_what_holds_no_records_is_refused_by_place(load: Load, content: str, what: str, where: str) -> None:
    with pytest.raises(UnreadableFile, match=what) as raised:
        load(content, name="t.json")
    assert raised.value.where == where and raised.value.next


def test_a_large_document_is_refused_with_advice(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "MAX_DOCUMENT", 100)
    records = [{"id": n} for n in range(50)]
    with pytest.raises(UnreadableFile, match="can't be read") as raised:
        load(json.dumps(records))
    assert "one record per line" in raised.value.next
    assert load(lines(*records)).table.rows == 50


def test_a_record_with_a_text_of_millions_of_signs(load: Load) -> None:
    assert load(lines({"a": "ü" * 3_000_000}, {"a": "b"})).sql("SELECT length(a) FROM t") == [(3_000_000,), (1,)]


def test_text_that_only_looks_like_json_stays_text(load: Load) -> None:
    assert load("[id],[name]\n1,a\n2,b\n", name="t.csv").table.rows == 2
    assert load("{id};name\n1;a\n2;b\n", name="t.csv").table.rows == 2


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
# A text with a letter in it is never a date.
values = st.one_of(st.none(), texts.map(lambda text: "x" + text), st.just(""))
records = st.lists(
    st.fixed_dictionaries(
        {}, optional={"a": st.integers(-(2**63), 2**63 - 1), "b": st.floats(allow_nan=False, allow_infinity=False),
                      "c": values, "d": st.booleans(), "ü e": values}
    ),
    min_size=1, max_size=12,
).filter(any)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=records)
def test_any_flat_records_arrive_cell_for_cell(load: Load, records: list[dict[str, Any]]) -> None:
    shelf = load(lines(*records), name="t.jsonl")
    labels = [c.label for c in shelf.table.columns]
    assert labels == list(dict.fromkeys(key for record in records for key in record))
    assert shelf.sql("SELECT * FROM t") == [tuple(record.get(key) for key in labels) for record in records]
