"""Loading in a killable process: same result, same refusals, and nothing left after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from peek_core.corpus.load import Source, load_file
from peek_core.corpus.worker import load_in_process
from peek_core.errors import Broken, Cancelled, UnreadableFile
from peek_core.values.canon import plain
from peek_core.values.codec import build
from peek_core.values.dataset import LoadReport

ROOT = Path(__file__).parents[2]


def big(tmp_path: Path, rows: int = 400_000) -> Path:
    source = tmp_path / "big.csv"
    source.write_text("id,c\n" + "".join(f"{n},some text number {n}\n" for n in range(rows)))
    return source


def job(source: Path, target: Path, work: Path) -> bytes:
    one = {"path": str(source), "label": "t", "choices": {}}
    return json.dumps({"sources": [one], "target": str(target), "base": None, "work": str(work)}).encode() + b"\n"


def test_same_report_as_in_process(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id,Größe,v\n1,a,NA\n2,b,5\n3,c,6\n")
    stages: list[str] = []
    there = load_in_process(
        [Source(source, "t")], tmp_path / "a.duckdb", lambda stage, done: stages.append(stage), lambda: False
    )
    here = load_file(source, tmp_path / "b.duckdb", label="t")
    assert there.tables == here.tables and there.doubts == here.doubts and there.sources == here.sources
    assert stages[0] == "finding columns" or "finding columns" in stages
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.duckdb", "b.duckdb", "t.csv"]


def test_reports_survive_json(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id,d\n1,03/01/2024\n")
    report = load_file(source, tmp_path / "v.duckdb", label="t")
    assert build(LoadReport, json.loads(json.dumps(plain(report)))) == report and report.doubts


def test_refusals_cross_the_border(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_bytes(b"id,c\n1,a\n2,\xe9\n3,\xc3\xa9\n")
    with pytest.raises(UnreadableFile) as raised:
        load_in_process([Source(source, "t")], tmp_path / "v.duckdb", lambda stage, done: None, lambda: False)
    assert raised.value.where == "line 3" and raised.value.next
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("stage", ["reading the file", "checking values", "loading rows"])
def test_cancel_leaves_nothing(tmp_path: Path, stage: str) -> None:
    source = big(tmp_path)
    folder = tmp_path / "out"
    folder.mkdir()
    seen: list[str] = []
    started = time.monotonic()
    with pytest.raises(Cancelled):
        load_in_process(
            [Source(source, "t")],
            folder / "v.duckdb",
            lambda name, done: seen.append(name),
            lambda: stage in seen or (stage == "reading the file" and time.monotonic() - started > 0.05),
        )
    assert list(folder.iterdir()) == []


def test_a_worker_that_dies_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "t.csv"
    source.write_text("id,c\n1,a\n")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Broken, match="exit code 1"):
        load_in_process([Source(source, "t")], tmp_path / "v.duckdb", lambda stage, done: None, lambda: False)


def test_the_worker_does_not_inherit_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEEK_API_KEY", "secret")
    seen: list[dict[str, str]] = []
    real = subprocess.Popen

    def spy(*args: object, **kwargs: object) -> object:
        seen.append(dict(kwargs["env"]))  # type: ignore[call-overload]
        return real(*args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", spy)
    source = tmp_path / "t.csv"
    source.write_text("id,c\n1,a\n")
    load_in_process([Source(source, "t")], tmp_path / "v.duckdb", lambda stage, done: None, lambda: False)
    assert len(seen) == 1 and "PEEK_API_KEY" not in seen[0]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently")
def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    source = big(tmp_path)
    folder = tmp_path / "out"
    folder.mkdir()
    worker = subprocess.Popen(
        [sys.executable, "-m", "peek_core.corpus.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert worker.stdout is not None and worker.stdin is not None
    worker.stdin.write(job(source, folder / "v.duckdb", folder / "work"))
    worker.stdin.flush()
    worker.stdout.readline()
    worker.stdin.close()
    assert worker.wait(timeout=10) == 1
    worker.stdout.close()
    assert list(folder.iterdir()) == []
