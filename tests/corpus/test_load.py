"""A load gives the whole new file or leaves nothing."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from peek_core.corpus.load import load_file
from peek_core.errors import Refused, UnreadableFile
from sample_corpora.product_feedback import generate


def test_the_sample_corpus(tmp_path: Path) -> None:
    source = generate.generate(tmp_path)
    stages: list[str] = []
    report = load_file(
        source, tmp_path / "v1.duckdb", label="product_feedback.csv", progress=lambda stage, done: stages.append(stage)
    )
    (table,) = report.tables
    assert (table.name, table.rows, report.rows) == ("product_feedback", 50_000, 50_000)
    assert report.sources[0].sha256 == generate.SHA256 and report.sources[0].size == source.stat().st_size
    types = {c.name: c.type for c in table.columns}
    assert list(types) == list(generate.COLUMNS)
    assert types["app_version"] == "VARCHAR" and types["created_at"] == "TIMESTAMP" and types["channel"] == "VARCHAR"
    assert {types[c] for c in ("feedback_id", "rating", "nps", "monthly_spend")} == {"BIGINT"}
    assert table.repairs == () and report.doubts == ()
    assert table.assumptions == ("app_version: kept as text, because values such as 5.10 would become 5.1.",)
    assert list(dict.fromkeys(stages)) == [
        "reading the file", "finding columns", "checking values", "loading rows", "counting rows", "comparing cells", "writing",
    ]  # fmt: skip
    with duckdb.connect(str(tmp_path / "v1.duckdb"), read_only=True) as con:
        got = con.execute(
            "SELECT count(*) FILTER (channel = 'NA'), max(length(comment)) FROM product_feedback"
        ).fetchone()
    rows = list(generate.build())
    assert got == (sum(row.channel == "NA" for row in rows), max(len(row.comment) for row in rows))


def test_rows_keep_the_order_of_the_file(load: Callable[..., Any]) -> None:
    shelf = load("n,c\n" + "".join(f"{(n * 7919) % 100_003},x\n" for n in range(100_000)))
    assert shelf.sql("SELECT n FROM t LIMIT 1 OFFSET 77777") == [((77_777 * 7919) % 100_003,)]


def test_report_is_of_the_original(load: Callable[..., Any]) -> None:
    content = "id,c\n1,é\n".encode("utf-16")
    shelf = load(content)
    assert shelf.report.sources[0].sha256 == hashlib.sha256(content).hexdigest() and shelf.report.sources[
        0
    ].size == len(content)
    assert shelf.report.sources[0].name == "t" and shelf.report.seconds > 0


def test_a_failed_load_keeps_the_old_file(load: Callable[..., Any]) -> None:
    shelf = load("id,c\n1,a\n")
    with pytest.raises(UnreadableFile):
        load("%PDF-1.7 is no table")
    assert shelf.sql("SELECT * FROM t") == [(1, "a")]


def test_an_interrupted_load_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id,c\n1,a\n")
    folder = tmp_path / "out"
    folder.mkdir()

    def stop(stage: str, done: float | None) -> None:
        if stage == "counting rows":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_file(source, folder / "v1.duckdb", label="t", progress=stop)
    assert list(folder.iterdir()) == []


def test_a_source_that_changes_while_it_is_read(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id,c\n1,a\n")

    def grow(stage: str, done: float | None) -> None:
        if stage == "counting rows":
            source.write_text("id,c\n1,a\n2,b\n")

    with pytest.raises(UnreadableFile, match="changed"):
        load_file(source, tmp_path / "v1.duckdb", label="t", progress=grow)
    assert not (tmp_path / "v1.duckdb").exists()


def test_a_target_folder_that_cannot_be_made(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id,c\n1,a\n")
    with pytest.raises(Refused):
        load_file(source, source / "below" / "v1.duckdb", label="t")


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from peek_core.corpus.load import load_file
from peek_core.errors import PeekError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    load_file(Path(sys.argv[1]), Path(sys.argv[2]), label="t")
except PeekError as error:
    print(error.sentence())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file size")
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_full_disk_is_a_sentence(tmp_path: Path, encoding: str) -> None:
    source = tmp_path / "t.csv"
    text = "id,c\n" + "".join(f"{n},é{n * 7919 % 1_000_003}-{n}\n" for n in range(200_000))
    source.write_text(text, encoding=encoding)
    folder = tmp_path / "out"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(source), str(folder / "v1.duckdb"), "600000"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.startswith("The disk is full"), (done.stdout, done.stderr[-2_000:])
    assert list(folder.iterdir()) == []
