"""`peek …`: the same workspace without a browser.

Owns: arguments, what is printed where, exit codes. Refuses to know: how anything is done. Results go to stdout,
progress to stderr. Exit codes: 0 answered or done, 1 failed, cancelled or out of budget, 2 usage, 3 no answer,
4 refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from peek_core import cli_explain, cli_lab, cli_load, cli_map, cli_text, cli_versions, settings
from peek_core.cli_curate import LOOKS, brought_data, brought_text
from peek_core.comparison import Arms, Comparisons, played
from peek_core.context_pipe.catalog import CONFIGURATIONS
from peek_core.errors import NotFound, PeekError, Refused
from peek_core.lab.ablations import ABLATIONS
from peek_core.providers.simulator import PROFILES, Simulator
from peek_core.samples import NAMES, sample
from peek_core.settings import EndpointSettings, Settings
from peek_core.values.call_trace import STEP
from peek_core.values.canon import plain
from peek_core.values.dataset import Dataset
from peek_core.values.run_view import RunView
from peek_core.workspace import Workspace

EXIT = {"answered": 0, "partly": 0, "no_answer": 3}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    args = _parser().parse_args(argv)
    try:
        return int(args.do(args))
    except PeekError as failure:
        if args.json:
            print(json.dumps({"error": failure.what, "where": failure.where, "next": failure.next}, ensure_ascii=False))
        print(failure.sentence(), file=sys.stderr)
        return 4 if isinstance(failure, Refused) else 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="peek", description="Question one dataset again and again.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, do: Callable[[argparse.Namespace], int], help: str, **more: Any) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help, **more)
        made.add_argument("--json", action="store_true", help="print JSON on stdout")
        made.add_argument(
            "--data-dir", type=Path, metavar="DIR", help="where datasets and maps are kept (PEEK_DATA_DIR)"
        )
        made.set_defaults(do=do)
        return made

    def assembled(made: argparse.ArgumentParser) -> None:
        made.add_argument(
            "--endpoint",
            type=_endpoint,
            metavar="URL",
            help="answer with this endpoint (PEEK_BASE_URL), or with `simulator[:PROFILE]`: an endpoint inside this command "
            f"that caches and counts like a real one and never answers; {', '.join(PROFILES)}",
        )
        made.add_argument("--configuration", choices=list(CONFIGURATIONS), help="how requests are assembled")

    load = command("load", _load, "Read files, each into a new dataset or all into one; one line a file.")
    load.add_argument("files", nargs="+", type=Path, metavar="FILE")
    load.add_argument("--dataset", metavar="NAME", help="make all files tables of this dataset, new or there already")
    load.add_argument("--into", metavar="DATASET", help="the next export of this dataset: its columns are recognised")
    load.add_argument(
        "--match",
        action="append",
        default=[],
        metavar="NEW=OLD",
        help="with --into: a column's known name, may be repeated",
    )
    load.add_argument("--yes", action="store_true", help="with --into: take every match as it is proposed")
    load.add_argument(
        "--sheet",
        action="append",
        metavar="NAME",
        help="sheet of a workbook to read, may be repeated; '*' for all visible",
    )
    load.add_argument(
        "--compare-all",
        action="store_true",
        help="after loading, compare every cell of a text file with the file, not only those of 10,000 rows",
    )
    command("datasets", _datasets, "List the datasets.")
    versions = command("versions", _versions, "List the versions of a dataset, or delete one.")
    versions.add_argument("dataset")
    versions.add_argument("--delete", type=int, metavar="N", help="delete version N; says first what depends on it")
    versions.add_argument("--yes", action="store_true", help="delete without asking")
    differ = command("diff", _diff, "Print what a version changed, and what follows for the map and earlier answers.")
    differ.add_argument("dataset")
    differ.add_argument(
        "--from", dest="before", type=int, metavar="N", help="the version before, unless another is named"
    )
    differ.add_argument("--to", dest="after", type=int, metavar="N", help="the newest version, unless another is named")
    ask = command("ask", _ask, "Ask a question and print the answer.")
    ask.add_argument("dataset")
    ask.add_argument("question")
    ask.add_argument(
        "--share",
        choices=["schema_only", "aggregates", "sample_rows"],
        help="what of this dataset may go to the model endpoint",
    )
    ask.add_argument(
        "--without", action="append", default=[], metavar="ID", help="leave this definition out for this question"
    )
    ask.add_argument(
        "--version",
        type=int,
        metavar="N",
        help="ask this version of the data, with the map as it stood; teaches nothing",
    )
    assembled(ask)
    mapped = command(
        "map",
        _map,
        "Print the context map, or change it.",
        epilog=cli_map.ACTS_SAID,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mapped.add_argument("dataset")
    mapped.add_argument("act", nargs="?", choices=cli_map.ACTS, metavar="ACT", help="one of the acts below")
    mapped.add_argument("id", nargs="?", metavar="ID", help="item, definition, or what else the act names first")
    mapped.add_argument("text", nargs="?", metavar="TEXT", help="what the act names second")
    mapped.add_argument("--evidence", metavar="SQL", help="query whose present result proves the text")
    mapped.add_argument(
        "--as",
        dest="form",
        choices=cli_map.FORMS,
        default="sql",
        help="what `export` writes: the curated view as sql or dbt, or the map in another form",
    )
    mapped.add_argument("--redacted", action="store_true", help="`export` the map without its values")
    mapped.add_argument(
        "--to", metavar="WHERE", help="folder `export` writes its files to, instead of stdout; dataset `copy` copies to"
    )
    sql = command("sql", _sql, "Run one query on the dataset's curated view.")
    sql.add_argument("dataset")
    sql.add_argument("query")
    sql.add_argument("--limit", type=int, default=100)
    explain = command("explain", _explain, "Print what a question would send first. Sends nothing.")
    explain.add_argument("dataset")
    explain.add_argument("question")
    explain.add_argument("--without", action="append", default=[], metavar="ID", help="leave this definition out")
    explain.add_argument("--texts", action="store_true", help="print the text of every section too")
    assembled(explain)
    trace = command("trace", _trace, "Print EXPLAIN ANALYZE of every model request of a run.")
    trace.add_argument("run")
    trace.add_argument("--plans", action="store_true", help="print the plan of every query too")
    replay = command("replay", _replay, "Plan a stored model request again and compare its bytes. Sends nothing.")
    replay.add_argument("call", help="the id `trace --json` gives")
    replay.add_argument("--today", action="store_true", help="with the statistics of now")
    lab = command("lab", _lab, "Run one of the pipeline's experiments on simulated providers. Asks no model.")
    lab.add_argument("act", choices=["ablate"])
    lab.add_argument(
        "experiment", choices=list(ABLATIONS), help="; ".join(f"{a.name}: {a.about}" for a in ABLATIONS.values())
    )
    lab.add_argument("--provider", action="append", metavar="PROFILE", help=f"{', '.join(PROFILES)}; may be repeated")
    lab.add_argument("--seeds", type=int, default=5, metavar="N", help="sessions an arm")
    lab.add_argument("--turns", type=int, default=None, metavar="N", help="turns a session, 60 unless said")
    demo = command("demo", _demo, "Play the sample's question series with and without the map.")
    demo.add_argument("--questions", type=int, default=None, metavar="N", help="only the first N questions")
    command("app", _app, "Open the app in a browser.")
    return parser


def _endpoint(given: str) -> str:
    kind, _, profile = given.partition(":")
    if kind == "simulator" and profile and profile not in PROFILES:
        raise argparse.ArgumentTypeError(f"the simulator has no profile {profile!r}; there are {', '.join(PROFILES)}")
    return given


@contextlib.contextmanager
def _settings(args: argparse.Namespace) -> Iterator[Settings]:
    """The settings of one command, with its --endpoint; a simulator runs as long as the command."""
    kind, _, profile = (getattr(args, "endpoint", None) or "").partition(":")
    env = os.environ | ({"PEEK_BASE_URL": args.endpoint} if kind else {})
    made = settings.read(env, args.data_dir)
    if kind == "simulator":
        with Simulator(PROFILES[profile or "plain"]) as simulator:
            yield replace(made, endpoint=_simulated(simulator.base_url, profile or "plain"))
        return
    if kind and made.endpoint is None:
        raise Refused("No model is named for this endpoint", next="Put its name into PEEK_MODEL.")
    yield made


def _simulated(base_url: str, profile: str) -> EndpointSettings:
    """An endpoint whose window and cache rules are those of the simulated provider."""
    window = PROFILES[profile].window
    # A truncating server says nothing of its window; that is what it is there to show.
    known = None if profile == "local" else window
    return EndpointSettings(base_url, "simulator", window=known, cache=profile)


@contextlib.contextmanager
def _open(args: argparse.Namespace) -> Iterator[Workspace]:
    with _settings(args) as made:
        workspace = Workspace(made)
        try:
            yield workspace
        finally:
            workspace.close()


def _print(args: argparse.Namespace, data: Any, text: str) -> None:
    print(json.dumps(plain(data), ensure_ascii=False) if args.json else text, flush=True)


def _load(args: argparse.Namespace) -> int:
    with _open(args) as w:
        return cli_load.load(args, w, lambda data, text: _print(args, data, text))


def _datasets(args: argparse.Namespace) -> int:
    with _open(args) as w:
        rows = [
            {
                "dataset": d.id,
                "title": d.title,
                "version": d.version,
                "rows": w.report(d.id).rows,
                "created": d.created,
                "questions": len(w.runs(d.id, limit=1_000)),
            }
            for d in w.datasets()
        ]
    _print(args, rows, cli_text.dataset_lines(rows))
    return 0


def _versions(args: argparse.Namespace) -> int:
    with _open(args) as w:
        dataset = w.dataset(args.dataset)
        if args.delete is not None:
            _print(args, *cli_versions.delete(w, dataset, args.delete, args.yes))
        else:
            _print(args, *cli_versions.versions(w, dataset))
    return 0


def _diff(args: argparse.Namespace) -> int:
    with _open(args) as w:
        _print(args, *cli_versions.diff(w, w.dataset(args.dataset), args.before, args.after, cli_load.stage))
    return 0


def _ask(args: argparse.Namespace) -> int:
    with _open(args) as w:
        dataset = w.dataset(args.dataset)
        if args.share:
            w.endpoints.share(dataset.id, args.share)
        run = w.ask(
            dataset.id,
            args.question,
            without=args.without,
            configuration=args.configuration,
            version=args.version,
        )
        try:
            view = _follow(w, run)
        except KeyboardInterrupt:
            w.cancel(run)
            view = w.wait(run, timeout_s=10)
        _print(args, cli_explain.answer(w, view), cli_text.answer(view, w.map(dataset.id)))
    return EXIT.get(view.status, 1)


def _follow(w: Workspace, run: str) -> RunView:
    """Print progress until the run has learned."""
    seen = 0
    while True:
        view = w.wait(run, timeout_s=0.2)
        for event in w.events(run, seen):
            seen = event.seq
            line = cli_text.progress(event)
            if line:
                print(line, file=sys.stderr)
        if not view.active:
            return view


def _map(args: argparse.Namespace) -> int:
    with _open(args) as w:
        dataset = w.dataset(args.dataset)
        if args.act in LOOKS:
            _print(args, *LOOKS[args.act](w, dataset.id, args.id, args.text))
        elif args.act == "export":
            to = Path(args.to) if args.to else None
            files = cli_map.exported(w, dataset, args.form, to, redacted=args.redacted)
            _print(args, {"files": files}, cli_text.files_text(files, to))
        elif args.act == "coverage":
            queries, tables = cli_map.coverage(w, dataset.id)
            _print(args, {"queries": queries, "tables": tables}, cli_text.coverage(queries, tables))
        elif args.act == "refused":
            kept = w.curator(dataset.id).refused()
            _print(args, {"refused": cli_map.refused_data(kept)}, cli_text.refused(kept))
        elif args.act in ("import", "copy"):
            changed, done = cli_map.bring(w, dataset, args)
            data = {**cli_map.map_data(w, changed), "brought": brought_data(done)}
            _print(args, data, f"{brought_text(done)}\n{cli_text.map_text(done.map, data)}")
        else:
            _changed_map(args, w, dataset)
    return 0


def _changed_map(args: argparse.Namespace, w: Workspace, dataset: Dataset) -> None:
    """Do the act, if one is named, and print the map as it is then."""
    done = cli_map.change(w, dataset.id, args) if args.act else None
    if done is not None and not args.json:
        print(cli_text.preview(done.preview, done.earlier), flush=True)
    # The act may have turned a dial of the map.
    data = cli_map.map_data(w, w.dataset(dataset.id))
    if done is not None:
        data["accepted"] = done.as_data()
    _print(args, data, cli_text.map_text(w.map(dataset.id), data))


def _sql(args: argparse.Namespace) -> int:
    with _open(args) as w:
        table = w.sql(w.dataset(args.dataset).id, args.query, limit=args.limit).table
    data = {"columns": table.columns, "rows": table.rows, "row_count": table.row_count, "truncated": table.truncated}
    _print(args, data, cli_text.table_text(table))
    return 0


def _explain(args: argparse.Namespace) -> int:
    with _open(args) as w:
        dataset = w.dataset(args.dataset).id
        said = cli_explain.explain(
            w, dataset, args.question, without=args.without, configuration=args.configuration, texts=args.texts
        )
        _print(args, *said)
    return 0


def _trace(args: argparse.Namespace) -> int:
    with _open(args) as w:
        _print(args, *cli_explain.trace(w, args.run, plans=args.plans))
    return 0


def _replay(args: argparse.Namespace) -> int:
    with _open(args) as w:
        data, text = cli_explain.replay(w, args.call, today=args.today)
        _print(args, data, text)
    return 0 if data["same"] else 1


def _lab(args: argparse.Namespace) -> int:
    text, tables = cli_lab.ablate(args.experiment, args.provider or ["openai", "deepseek"], args.seeds, args.turns)
    _print(args, {"experiment": args.experiment, "seeds": args.seeds, "tables": tables}, text)
    return 0


def _demo(args: argparse.Namespace) -> int:
    corpus = sample(NAMES[0])
    with _open(args) as w:
        w.endpoints.use(None)
        dataset = w.load_sample(corpus.name, cli_load.stage)
        questions = corpus.questions[: args.questions]
        comparisons, id = Comparisons(w), w.new_id()[-8:]
        arms = Arms(id)
        lines: dict[str, list[Any]] = {arms.with_map: [], arms.without: []}

        def answered(arm: str, run: RunView) -> None:
            line = questions[len(lines[arm])]
            calls = [c for c in w.explaining.calls(run.id) if c.source == STEP]
            lines[arm].append(played(line, run, (sum(c.explain.tokens for c in calls), len(calls))))
            if arm == arms.with_map and not args.json:
                print(cli_text.demo_line(lines[arm][-1], w.map(dataset.id, arm)), flush=True)

        comparisons.play(dataset.id, id, questions, lambda: False, answered)
        current = w.map(dataset.id, arms.with_map)
        data = {
            "analyst": w.endpoints.analyst(),
            "as_of": corpus.as_of,
            "with_map": lines[arms.with_map],
            "without_map": lines[arms.without],
            "map": [i.line() for i in current.items],
            "definitions": [d.as_data() for d in current.definitions],
        }
        _print(
            args, data, cli_text.demo_summary(lines[arms.with_map], lines[arms.without], current, w.endpoints.analyst())
        )
    return 0


def _app(args: argparse.Namespace) -> int:
    import os
    import subprocess

    entry = Path(__file__).resolve().parents[1] / "app.py"
    if not entry.exists():
        raise NotFound("app.py is not beside this package", next="Start the app from a checkout.")
    env = dict(os.environ) | ({"PEEK_DATA_DIR": str(args.data_dir)} if args.data_dir else {})
    return subprocess.call([sys.executable, "-m", "streamlit", "run", str(entry)], env=env, cwd=entry.parent)


if __name__ == "__main__":
    sys.exit(main())
