"""Parquet: the few types of this app, and nothing lost on the way without a word."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from peek_core.corpus.documents import parquet_reader
from peek_core.corpus.load import Source, load_files
from peek_core.errors import PeekError, UnreadableFile
from peek_core.values.dataset import Column, LoadReport, ReadChoices

Load = Callable[..., Any]


@pytest.fixture
def query(load: Load, tmp_path: Path) -> Callable[[str], Any]:
    """Loads the result of a query as DuckDB writes it."""

    def run(select: str) -> Any:
        path = tmp_path / "made.parquet"
        duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
        return load(path.read_bytes(), name="t.parquet")

    return run


def arrow(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def one(shelf: Any, column: str = "v") -> tuple[str, list[Any]]:
    """Type and values of a column."""
    return shelf.types()[column], [row[0] for row in shelf.sql(f"SELECT {column} FROM t")]


@pytest.mark.parametrize(
    ("values", "kind", "arrived", "said"),
    [
        ("1::TINYINT, 2::TINYINT", "BIGINT", [1, 2], ""),
        ("1::UINTEGER, 4294967295::UINTEGER", "BIGINT", [1, 4_294_967_295], ""),
        ("1::UBIGINT, 5::UBIGINT", "BIGINT", [1, 5], ""),
        ("1::UBIGINT, 18446744073709551615::UBIGINT", "VARCHAR", ["1", str(2**64 - 1)], "too many digits"),
        ("0.1::FLOAT, 4.1::FLOAT", "DOUBLE", [0.1, 4.1], "shortest form"),
        ("0.1::DOUBLE, NULL", "DOUBLE", [0.1, None], ""),
        ("0.5::DOUBLE, 'nan'::DOUBLE", "DOUBLE", [0.5, None], "1 value such as NaN and Infinity read as missing"),
        ("'-inf'::FLOAT, 'nan'::FLOAT", "DOUBLE", [None, None], "2 values such as NaN"),
        ("0.10::DECIMAL(18,2), 12.34::DECIMAL(18,2)", "DOUBLE", [0.1, 12.34], "hold every one of them exactly"),
        ("0.1::DECIMAL(30,20), 0.12345678901234567891::DECIMAL(30,20)", "VARCHAR",
         ["0.10000000000000000000", "0.12345678901234567891"], "some of their decimals would be rounded"),
        ("7::DECIMAL(9,0), 8::DECIMAL(9,0)", "BIGINT", [7, 8], ""),
        ("DATE '2024-03-01', NULL", "DATE", [date(2024, 3, 1), None], ""),
        ("TIMESTAMP_MS '2024-03-01 10:00:00', NULL", "TIMESTAMP", [datetime(2024, 3, 1, 10), None], ""),
        ("TIMESTAMPTZ '2024-03-01 10:00:00+02', NULL", "TIMESTAMP", [datetime(2024, 3, 1, 8), None], "read as UTC"),
        ("TIMESTAMP_NS '2024-03-01 10:00:00.000001', NULL", "TIMESTAMP", [datetime(2024, 3, 1, 10, 0, 0, 1), None], ""),
        ("TIMESTAMP_NS '2024-03-01 10:00:00.000001999', NULL", "TIMESTAMP", [datetime(2024, 3, 1, 10, 0, 0, 1), None],
         "1 times finer than a microsecond were cut"),
        ("TIME '10:30:00', NULL", "VARCHAR", ["10:30:00", None], "TIME, kept as text"),
        ("INTERVAL 3 DAY, NULL", "VARCHAR", ["3 days", None], "INTERVAL, kept as text"),
        ("'0f0e0d0c-0000-4000-8000-000000000001'::UUID, NULL", "VARCHAR", ["0f0e0d0c-0000-4000-8000-000000000001", None], ""),
        ("true, NULL", "BOOLEAN", [True, None], ""),
        ("'00501', ''", "VARCHAR", ["00501", ""], ""),
        ("'\\xC3\\xA9'::BLOB, 'a'::BLOB", "VARCHAR", ["é", "a"], "all of them UTF-8"),
        ("'\\xFF'::BLOB, 'a'::BLOB", "VARCHAR", ["\\xFF", "a"], "bytes that are no text"),
        ("[1, 2], NULL", "VARCHAR", ["[1,2]", None], "kept as JSON text"),
        ("MAP {'k': 1}, NULL", "VARCHAR", ['{"k":1}', None], "kept as JSON text"),
    ],
)  # fmt: skip
def test_every_type_becomes_one_that_the_app_knows(
    query: Callable[[str], Any], values: str, kind: str, arrived: list[Any], said: str
) -> None:
    shelf = query(f"SELECT unnest([{values}]) AS v")
    assert one(shelf) == (kind, arrived)
    assert [said in line for line in shelf.table.assumptions] == ([True] if said else [])
    assert shelf.table.columns[0].distinct == len({value for value in arrived if value is not None})


def test_structs_become_columns_one_level_deep(query: Callable[[str], Any]) -> None:
    shelf = query("SELECT 1 AS id, {'name': 'A', 'home': {'city': 'B'}} AS \"User\" UNION ALL SELECT 2, NULL")
    assert [(c.name, c.label) for c in shelf.table.columns] == [
        ("id", "id"), ("user_name", "User.name"), ("user_home", "User.home"),
    ]  # fmt: skip
    assert shelf.sql("SELECT * FROM t ORDER BY id") == [(1, "A", '{"city":"B"}'), (2, None, None)]
    assert "User: its fields became the columns User.name, User.home." in shelf.table.assumptions


def test_names_are_those_of_the_file(load: Load) -> None:
    shelf = load(arrow(**{"A": [1], "a": [2], "": [3], "Größe (cm)": [4], "order": [5]}), name="t.parquet")
    assert [c.label for c in shelf.table.columns] == ["A", "a", "", "Größe (cm)", "order"]
    assert shelf.sql("SELECT a, a_2, column_3, größe_cm, order_ FROM t") == [(1, 2, 3, 4, 5)]


def test_what_others_write(load: Load) -> None:
    shelf = load(
        arrow(
            word=pa.array(["x", "y", None]).dictionary_encode(),
            wide=pa.array([None, 1, 2], pa.decimal256(50, 3)),
            half=pa.array([1.5, None, 2], pa.float16()),
        ),
        name="t",
    )
    assert shelf.types() == {"word": "VARCHAR", "wide": "DOUBLE", "half": "DOUBLE"}
    assert any("more than 38 digits" in line for line in shelf.table.assumptions)
    assert (shelf.table.encoding, shelf.table.rows, shelf.table.columns[0].sample) == ("Parquet", 3, "x")


def test_a_table_without_rows(query: Callable[[str], Any]) -> None:
    shelf = query("SELECT 1 AS id, 'a' AS c WHERE false")
    assert shelf.table.rows == 0 and shelf.types() == {"id": "BIGINT", "c": "VARCHAR"}


def test_a_small_file_that_claims_many_rows_is_refused(
    load: Load, query: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_reader, "SUSPECT", 1_000)
    monkeypatch.setattr(parquet_reader, "MAX_ROWS_PER_BYTE", 10)
    with pytest.raises(UnreadableFile, match="claims 1,000,000 rows"):
        query("SELECT 1 AS id FROM range(1000000)")
    assert query("SELECT 1 AS id FROM range(900)").table.rows == 900


@pytest.mark.parametrize("cut", [20, 0.5, 0.9])
def test_a_cut_file_is_refused_by_its_own_name(load: Load, cut: float) -> None:
    good = arrow(v=list(range(500)))
    with pytest.raises(UnreadableFile, match="t is a damaged Parquet file") as raised:
        load(good[: int(cut if cut > 1 else cut * len(good))], name="secret-folder.parquet")
    assert "secret-folder" not in raised.value.sentence()


@pytest.mark.parametrize("seed", range(30))
def test_a_file_with_changed_bytes_is_a_table_or_a_sentence(load: Load, seed: int) -> None:
    chance = random.Random(seed)
    bad = bytearray(arrow(v=list(range(50)), w=[f"w{n % 7}" for n in range(50)]))
    for _ in range(3):
        bad[chance.randrange(4, len(bad) - 8)] = chance.randrange(256)
    with suppress(PeekError):
        assert load(bytes(bad), name="t.parquet").table.columns


class TestStrings:
    """Parquet knows dates and numbers, so its strings stay text; a person may choose otherwise."""

    @pytest.fixture
    def read(self, tmp_path: Path) -> Callable[..., tuple[LoadReport, Column, list[Any]]]:
        """Loads columns `v`, `v_date` by choices for `v`: the report, how `v` was read, and its typed values."""

        def run(values: list[str | None], way: str = "", **others: str) -> tuple[LoadReport, Column, list[Any]]:
            source, target = tmp_path / "t.parquet", tmp_path / "v1.duckdb"
            source.write_bytes(arrow(v=pa.array(values, pa.string()), v_date=pa.array(range(len(values)), pa.int64())))
            choices = ReadChoices(columns={"v": way, **others} if way or others else {})
            report = load_files([Source(source, "t.parquet", choices)], target)
            with duckdb.connect(str(target), read_only=True) as con:
                rows = con.execute("SELECT * EXCLUDE v_date FROM t").fetchall()
            return report, report.tables[0].columns[0], [row[-1] for row in rows]

        return run

    @pytest.mark.parametrize(
        ("values", "ways"),
        [
            (["03/04/2024", "05/06/2024"], ("day first", "month first")),
            (["13/04/2024", "05/06/2024"], ("day first",)),
            (["2024-04-13", None], ("date",)),
            (["2024-04-13 10:00", ""], ("time",)),
            (["1.234,50", "2,10"], ("number, decimal comma",)),
            (["5", "6"], ("whole number", "number")),
            (["007", "012"], ("whole number",)),
            (["true", "false"], ("true or false",)),
            (["hello", "world"], ()),
            ([], ()),
        ],
    )
    def test_they_stay_text_and_other_ways_are_offered(
        self, read: Callable[..., Any], values: list[str | None], ways: tuple[str, ...]
    ) -> None:
        report, v, got = read(values)
        assert (v.way, v.ways, got) == ("text", ways, values) and v.sample == (values[0] if values else "")
        assert report.doubts == () and report.tables[0].assumptions == ()
        assert report.tables[0].read.columns == {"v": "text"}, "typed columns have no ways"

    @pytest.mark.parametrize(
        ("values", "way", "kind", "typed"),
        [
            (["03/04/2024", "05/06/2024"], "month first", "VARCHAR", [date(2024, 3, 4), date(2024, 5, 6)]),
            (["13/04/2024", "05/06/2024"], "day first", "DATE", [date(2024, 4, 13), date(2024, 6, 5)]),
            (["2024-04-13", None], "date", "DATE", [date(2024, 4, 13), None]),
            (["1.234,50", "2,10"], "number, decimal comma", "DOUBLE", [1234.5, 2.1]),
            (["007", "n/a"], "whole number", "BIGINT", [7, None]),
            (["45000", ""], "Excel date", "DATE", [date(2023, 3, 15), None]),
            (["yes", "no"], "true or false", "BOOLEAN", [True, False]),
            (["5", "6"], "text", "VARCHAR", ["5", "6"]),
        ],
    )
    def test_a_chosen_way_is_followed(
        self, read: Callable[..., Any], values: list[str | None], way: str, kind: str, typed: list[Any]
    ) -> None:
        report, v, got = read(values, way)
        assert (v.type, v.way, got) == (kind, way, typed) and report.doubts == ()
        assert f"v: read as {way}, as chosen." in report.tables[0].assumptions
        assert v.sample == values[0], "the switch shows the text"
        assert way == "text" or "text" in v.ways

    def test_a_chosen_way_that_does_not_fit_all_values_stands_beside(self, read: Callable[..., Any]) -> None:
        values = [*["1"] * 6_000, "many"]
        report, v, got = read(values, "whole number")
        assert v.type == "VARCHAR" and got[0] == 1 and got[-1] is None
        assert "1 value (“many”) cannot be read as whole number; empty in v_number" in report.doubts[0].what

    def test_a_column_beside_never_takes_the_name_of_another(self, read: Callable[..., Any]) -> None:
        report, _, _ = read(["03/04/2024"], "day first")
        assert [c.name for c in report.tables[0].columns] == ["v", "v_date_2", "v_date"]

    @pytest.mark.parametrize("others", [{"v": "Roman"}, {"x": "text"}, {"v_date": "text"}])
    def test_an_unknown_way_or_a_typed_column_is_left_as_it_is(
        self, read: Callable[..., Any], others: dict[str, str]
    ) -> None:
        report, v, got = read(["03/04/2024"])
        again, w, same = read(["03/04/2024"], **others)
        assert (v, got, report.tables, report.doubts) == (w, same, again.tables, again.doubts)
