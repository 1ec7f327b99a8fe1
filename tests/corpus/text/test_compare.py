"""A loaded table is held against the file by another reader: sampled rows always, every cell where asked for."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest

from peek_core.corpus.load import Source, load_files
from peek_core.corpus.text.compare import ROWS, compared, copied_rows

ROW_COUNT = 25_000


def _file(folder: Path, spoil: str = "") -> Path:
    target = folder / "t.csv"
    lines = [f'{n},"word {n}, quoted",{n * 0.5}' for n in range(ROW_COUNT)]
    target.write_text("id,said,half\n" + "\n".join(lines) + f"\n{spoil}", encoding="utf-8")
    return target


def _compared(source: Path, folder: Path, *, every: bool) -> int | None:
    return load_files([Source(source, "t.csv", every_cell=every)], folder.with_suffix(".duckdb")).tables[0].compared


@pytest.mark.parametrize("spoil", ["", '25000,"he said "no" twice",1.5\n'], ids=["clean", "mended"])
def test_a_load_tells_how_many_rows_were_compared(tmp_path: Path, spoil: str) -> None:
    source = _file(tmp_path, spoil)
    assert _compared(source, tmp_path / "a", every=False) in range(ROWS - 100, ROWS + 1)
    assert _compared(source, tmp_path / "b", every=True) == ROW_COUNT + bool(spoil)


def test_formats_that_hold_typed_cells_are_not_compared(tmp_path: Path) -> None:
    source = tmp_path / "t.json"
    source.write_text('[{"a": 1}]')
    assert load_files([Source(source, "t.json", every_cell=True)], tmp_path / "v1.duckdb").tables[0].compared is None


@pytest.mark.parametrize("damaged", [0, 20_000])
def test_one_wrong_cell_among_all_is_found(tmp_path: Path, damaged: int) -> None:
    copy = tmp_path / "copy.csv"
    with copy.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows((n, f"a\nb{n}") for n in range(ROW_COUNT))
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT range AS id, 'a\nb' || range AS said FROM range({ROW_COUNT})")
    expressions = ["id::BIGINT", "said"]
    assert compared(con, "t", ["id", "said"], expressions, copied_rows(copy, 2, every=True)) == ROW_COUNT
    con.execute(f"UPDATE t SET said = 'another' WHERE id = {damaged}")
    assert compared(con, "t", ["id", "said"], expressions, copied_rows(copy, 2, every=True)) is None


def test_a_field_longer_than_pythons_own_limit_is_compared(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text('id,said\n1,"' + "x" * 300_000 + '"\n2,"he said "no" twice"\n', encoding="utf-8")
    assert _compared(source, tmp_path / "out", every=True) == 2
